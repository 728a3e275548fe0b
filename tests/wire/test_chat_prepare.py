"""From a request to the engine: what is asked of it, who decides what is said, and what the journal learns."""

import json
from typing import Any

import pytest
from chat_client import HOLA, JSON, prepare, refusal, stream, text_of, whole, words

from mockvllm.engine import RepetitionDetection
from mockvllm.wire.errors import APIError

SAY = [{"role": "user", "content": "[[say]]desde el prompt[[/say]]"}]
HEADER = (b"x-mock-script", b'{"say": "desde la cabecera"}')


def test_the_engine_gets_what_the_request_says() -> None:
    fields: dict[str, Any] = {
        "max_tokens": 9,
        "min_tokens": 2,
        "priority": -3,
        "stop_token_ids": [77],
        "ignore_eos": True,
        "cache_salt": "sal",
        "repetition_detection": {"max_pattern_size": 5, "min_count": 2},
        "prompt_logprobs": 1,
    }
    (request,) = prepare(words(), now=3.5, **fields).choices
    assert (request.max_tokens, request.min_tokens, request.priority, request.arrival_time) == (9, 2, -3, 3.5)
    assert (list(request.stop_token_ids), request.ignore_eos, request.cache_salt) == ([77], True, "sal")
    assert request.repetition_detection == RepetitionDetection(5, 0, 2)
    assert request.skip_reading_prefix_cache
    assert len(request.prompt_token_ids) == 1


def test_what_the_request_does_not_say_is_usual() -> None:
    (request,) = prepare(words(max_model_len=50)).choices
    assert (request.max_tokens, request.priority, request.eos_token_id) == (49, 0, 1)
    assert not (request.stop_token_ids or request.ignore_eos or request.skip_reading_prefix_cache)


def test_choices_are_engine_requests_of_their_own() -> None:
    prepared = prepare(words(answer="random"), n=3)
    assert [request.request_id for request in prepared.choices] == [f"{i}_chatcmpl-r" for i in range(3)]
    assert len({tuple(request.outputs.tokens(0, 10)) for request in prepared.choices}) == 3


@pytest.mark.parametrize(
    ("headers", "field", "id"),
    [((), "campo", "chatcmpl-campo"), (((b"x-request-id", b"cabecera"),), "campo", "chatcmpl-cabecera")],
)
def test_ids_come_from_the_header_then_the_field(headers: tuple[Any, ...], field: str, id: str) -> None:
    assert prepare(words(), *headers, request_id=field).request_id == id


def test_ids_are_sixteen_random_hex_digits_otherwise() -> None:
    ids = {words().prepare(json.dumps({"messages": HOLA}).encode(), [JSON], 0.0).request_id for _ in range(50)}
    assert len(ids) == 50
    assert all(id.startswith("chatcmpl-") and len(id) == 25 and int(id[9:], 16) >= 0 for id in ids)


def test_the_header_s_priority_goes_before_the_field() -> None:
    (request,) = prepare(words(), (b"x-vllm-priority", b"-5"), priority=2).choices
    assert request.priority == -5
    (request,) = prepare(words(), (b"x-vllm-priority", b"alta"), priority=2).choices
    assert request.priority == 2


def test_a_rank_that_there_is_not_is_refused() -> None:
    serving = words(data_parallel_size=2)
    assert prepare(serving, (b"x-data-parallel-rank", b"1")).choices
    error = refusal(serving, (b"x-data-parallel-rank", b"5"))
    assert error.message == "data_parallel_rank 5 is out of range [0, 2)."


@pytest.mark.parametrize(
    ("headers", "fields", "text", "script"),
    [
        ((), {}, "Tu pedido", {"source": "default", "answer": "repeat"}),
        ((), {"messages": SAY}, "desde el", {"source": "say", "answer": "text"}),
        ((), {"messages": SAY, "mock": {"say": "desde el cuerpo"}}, "desde el", {"source": "body", "answer": "text"}),
        ((HEADER,), {"messages": SAY, "mock": {"say": "x"}}, "desde la", {"source": "header", "answer": "text"}),
        ((), {"mock": {}}, "Tu pedido", {"source": "body", "answer": "eos"}),
    ],
)
def test_header_body_and_prompt_decide_in_this_order(
    headers: tuple[Any, ...], fields: dict[str, Any], text: str, script: dict[str, str]
) -> None:
    prepared = prepare(words(answer="repeat"), *headers, **fields)
    outputs = prepared.choices[0].outputs
    outputs.tokens(0, 2)
    assert "".join(outputs.speech.texts[:2]) == text
    assert prepared.script == script


def test_directives_can_be_switched_off() -> None:
    prepared = prepare(words(directives=False), HEADER, messages=SAY, mock={"say": "x"})
    assert prepared.script == {"source": "default", "answer": "sentence"}


def test_only_the_last_user_message_directs() -> None:
    later = [
        *SAY,
        {"role": "assistant", "content": "[[say]]no[[/say]]"},
        *HOLA,
        {"role": "system", "content": "[[eos]]"},
    ]
    assert prepare(words(), messages=later).script["source"] == "default"


@pytest.mark.parametrize(
    ("headers", "fields", "message"),
    [
        (((b"x-mock-script", b"{bad"),), {}, "X-Mock-Script holds no JSON"),
        (((b"x-mock-script", b"[]"),), {}, "X-Mock-Script must be a JSON object"),
        (((b"x-mock-script", b'{"a": 1}'),), {}, "X-Mock-Script: unknown key 'a'"),
        ((), {"mock": 5}, "mock must be a JSON object, got 5"),
        ((), {"mock": {"crash": 5}}, "mock: unknown key 'crash'"),
        ((), {"messages": [{"role": "user", "content": "[[mock {]]"}]}, "[[mock ...]] holds no JSON"),
        ((), {"messages": [{"role": "user", "content": "[[mock " + "[" * 100_000}]}, "[[mock ...]] holds no JSON"),
    ],
)
def test_a_script_that_cannot_be_read_is_a_bad_request(
    headers: tuple[Any, ...], fields: dict[str, Any], message: str
) -> None:
    error = refusal(words(), *headers, **fields)
    assert (error.status, error.type) == (400, "BadRequestError")
    assert error.message.startswith(message)


@pytest.mark.parametrize(
    ("fields", "text", "finish_reason", "stop_reason"),
    [
        ({"logit_bias": {"ID": 100}, "max_tokens": 2}, " sale sale", "length", None),
        ({"logit_bias": {"ID": -100}, "max_tokens": 3}, "Tu pedido mañana", "length", None),
        ({"allowed_token_ids": ["ID"], "max_tokens": 2}, " sale sale", "length", None),
        ({"bad_words": ["sale"], "max_tokens": 3}, "Tu pedido mañana", "length", None),
        ({"stop_token_ids": ["ID"]}, "Tu pedido", "stop", "ID"),
        ({"stop_token_ids": ["ID"], "include_stop_str_in_output": True}, "Tu pedido sale", "stop", "ID"),
        ({"stop_token_ids": ["ID"], "min_tokens": 4, "max_tokens": 5}, "Tu pedido mañana y llega", "length", None),
    ],
)
def test_sampling_parameters_shape_what_is_said(
    fields: dict[str, Any], text: str, finish_reason: str, stop_reason: Any
) -> None:
    serving = words(answer="repeat")
    (sale,) = serving.config.tokenizer.encode(" sale")
    body = json.loads(json.dumps({**fields, "stop_reason": stop_reason}).replace('"ID"', f'"{sale}"'))
    wanted = int(body.pop("stop_reason")) if stop_reason else None
    (choice,) = whole(serving, **body)["choices"]
    assert choice["message"]["content"] == text
    assert (choice["finish_reason"], choice["stop_reason"]) == (finish_reason, wanted)


@pytest.mark.parametrize("seed", [0, 7, -1])
def test_a_seed_makes_random_answers_repeatable(seed: int) -> None:
    def answers(**fields: Any) -> list[str]:
        serving = words(answer="random")
        bodies = [whole(serving, request_id=request_id, **fields) for request_id in ("uno", "dos")]
        return [body["choices"][0]["message"]["content"] for body in bodies]

    first, second = answers(seed=seed)
    assert first == second
    first, second = answers(seed=None)
    assert first != second


def test_the_server_s_defaults_hold_where_the_request_is_silent() -> None:
    serving = words(default_sampling={"max_tokens": 3, "skip_special_tokens": False, "temperature": 0.0})
    assert whole(serving)["usage"]["completion_tokens"] == 3
    assert whole(serving, max_tokens=5)["usage"]["completion_tokens"] == 5
    assert refusal(serving, n=2).message == "n must be 1 when using greedy sampling, got 2."
    assert whole(words(override_max_tokens=2), max_tokens=5)["usage"]["completion_tokens"] == 2


def test_a_prompt_that_is_no_text_is_a_bad_request(model: Any) -> None:
    from mockvllm.answers.hf_tokenizer import HFTokenizer

    lone = b'{"messages": [{"role": "user", "content": "a\\ud800b"}]}'
    assert words().prepare(lone, [JSON], 0.0).choices
    with pytest.raises(APIError) as error:
        words(tokenizer=HFTokenizer(model)).prepare(lone, [JSON], 0.0)
    assert (error.value.status, error.value.type) == (400, "BadRequestError")


def test_a_lone_surrogate_that_is_echoed_is_replaced() -> None:
    chunks = stream(words(answer="echo"), messages=[{"role": "user", "content": "a\ud800b"}])
    assert text_of(chunks) == "a\ufffdb"


def test_aliases_answer_in_the_first_name() -> None:
    serving = words(model_names=("uno", "dos"))
    assert whole(serving, model="dos")["model"] == "uno"
    assert prepare(serving, model="dos").model == "dos"
