"""/v1/completions: prompts and choices, echo, log-probabilities, token ids, usage; without sockets."""

from typing import Any

import pytest
from completion_client import choices_of, completions, prepare, stream, whole

from mockvllm.wire.usage import UsageRules

SERVING = completions(answer="repeat")
TOKENIZER = SERVING.config.tokenizer


def ids(text: str) -> list[int]:
    return list(TOKENIZER.encode(text))


def texts(chunks: list[Any], index: int = 0) -> list[str]:
    return [choice["text"] for choice in choices_of(chunks, index)]


def test_sixteen_tokens_unless_said_otherwise() -> None:
    for fields in ({}, {"max_tokens": None}):
        body = whole(SERVING, **fields)
        assert body["usage"] == {
            "prompt_tokens": 2,
            "total_tokens": 18,
            "completion_tokens": 16,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
        }
        assert body["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("prompt", "lengths"),
    [
        ("uno dos tres", [3]),
        (["uno", "uno dos"], [1, 2]),
        (ids("uno dos"), [2]),
        ([ids("uno"), ids("uno dos tres")], [1, 3]),
    ],
)
@pytest.mark.parametrize("n", [1, 3])
def test_each_prompt_has_n_choices_and_counts_once(prompt: Any, lengths: list[int], n: int) -> None:
    body = whole(SERVING, prompt=prompt, n=n, max_tokens=2)
    assert [choice["index"] for choice in body["choices"]] == list(range(n * len(lengths)))
    assert {choice["text"] for choice in body["choices"]} == {"Tu pedido"}
    assert body["usage"]["prompt_tokens"] == sum(lengths)
    assert body["usage"]["completion_tokens"] == 2 * n * len(lengths)
    requests = prepare(SERVING, prompt=prompt, n=n).choices
    prompts = [f"cmpl-r-{i}" for i in range(len(lengths))]
    expected = prompts if n == 1 else [f"{choice}_{one}" for one in prompts for choice in range(n)]
    assert [request.request_id for request in requests] == expected
    assert [request.num_prompt_tokens for request in requests] == [length for length in lengths for _ in range(n)]


def test_each_prompt_has_its_own_directive_and_its_own_end() -> None:
    body = whole(SERVING, prompt=["[[say]]hola[[/say]]", "[[eos]]", "nada"], max_tokens=20)
    assert [choice["finish_reason"] for choice in body["choices"]] == ["stop", "stop", "length"]
    assert body["choices"][0]["text"] == "hola"
    assert body["usage"]["completion_tokens"] == 2 + 14 + 20


def test_tokens_may_hold_a_directive_and_are_echoed_as_text() -> None:
    assert whole(SERVING, prompt=ids("[[say]]hola[[/say]]"))["choices"][0]["text"] == "hola"
    assert whole(SERVING, prompt=ids("uno dos"), echo=True, max_tokens=1)["choices"][0]["text"] == "uno dosTu"
    echoing = completions(answer="echo")
    assert whole(echoing, prompt=list(echoing.config.tokenizer.encode("uno dos")))["choices"][0]["text"] == "uno dos"


def test_a_stream_says_a_token_an_event_and_ends_with_the_fingerprint() -> None:
    chunks = stream(SERVING, max_tokens=3)
    assert texts(chunks) == ["Tu", " pedido", " sale"]
    assert ["system_fingerprint" in chunk for chunk in chunks[:-1]] == [False, False, True]
    assert [choice["finish_reason"] for choice in choices_of(chunks)] == [None, None, "length"]
    assert chunks[0]["object"] == "text_completion"
    assert chunks[-1] == "[DONE]"


@pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
def test_which_keys_an_event_has_depends_on_the_release(profile: str) -> None:
    first = stream(completions(profile), max_tokens=1)[0]
    newest = profile == "0.33"
    assert ("kv_transfer_params" in first) is newest
    assert ("weight_versions" in first["choices"][0]) is newest


def test_an_echo_comes_before_the_first_token_of_every_choice() -> None:
    chunks = stream(SERVING, prompt=["uno", "dos tres"], n=2, echo=True, max_tokens=2)
    assert [texts(chunks, index) for index in range(4)] == [["unoTu", " pedido"]] * 2 + [["dos tresTu", " pedido"]] * 2
    shown = [choice["prompt_token_ids"] for choice in choices_of(chunks, 2)]
    assert shown == [ids("dos tres"), None]


@pytest.mark.parametrize("streamed", [False, True])
def test_nothing_but_an_echo_costs_one_token(streamed: bool) -> None:
    if streamed:
        chunks = stream(SERVING, echo=True, max_tokens=0, stream_options={"include_usage": True})
        choice, usage = chunks[0]["choices"][0], chunks[-2]["usage"]
    else:
        body = whole(SERVING, echo=True, max_tokens=0)
        choice, usage = body["choices"][0], body["usage"]
    assert (choice["text"], choice["finish_reason"], usage["completion_tokens"]) == ("uno dos", "length", 1)


def test_who_wants_token_ids_has_the_prompt_by_them_alone() -> None:
    body = whole(SERVING, echo=True, return_token_ids=True, max_tokens=1)["choices"][0]
    assert (body["text"], body["prompt_token_ids"], body["token_ids"]) == ("Tu", ids("uno dos"), ids("Tu"))
    first, second = choices_of(stream(SERVING, return_token_ids=True, max_tokens=2))
    assert (first["prompt_token_ids"], first["token_ids"]) == (ids("uno dos"), ids("Tu"))
    assert (second["prompt_token_ids"], second["token_ids"]) == (None, ids(" pedido"))
    assert whole(SERVING, echo=True, max_tokens=1)["choices"][0]["prompt_token_ids"] is None


def test_usage_in_a_stream_is_the_choice_s_own_until_the_last() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = stream(SERVING, prompt=["uno", "dos tres"], max_tokens=2, stream_options=options)
    per_choice = [
        [chunk["usage"] for chunk in chunks[:-2] if chunk["choices"][0]["index"] == index] for index in range(2)
    ]
    assert [[usage["total_tokens"] for usage in usages] for usages in per_choice] == [[2, 3], [3, 4]]
    assert set(per_choice[0][0]) == {"prompt_tokens", "total_tokens", "completion_tokens"}
    assert chunks[-2]["usage"] == {"prompt_tokens": 3, "total_tokens": 7, "completion_tokens": 4}
    assert all("system_fingerprint" not in chunk for chunk in chunks[:-2])


def test_what_was_cached_is_told_of_the_last_prompt() -> None:
    serving = completions(usage=UsageRules(prompt_tokens_details=True, per_request_metrics=True))
    prepared = prepare(serving, prompt=["uno", "dos"], max_tokens=1)
    prepared.choices[1].num_cached_tokens = 16
    for index in range(2):
        prepared.answer.finish(index, 1, "length", None)
    assert b'"prompt_tokens_details":{"cached_tokens":16,"created_cache_tokens":null,' in prepared.answer.body()
    assert whole(serving, prompt=["uno", "dos"], max_tokens=1)["metrics"] is None
    assert whole(serving, max_tokens=1)["metrics"] is not None


def test_weights_are_told_by_the_last_event() -> None:
    choices = choices_of(stream(SERVING, max_tokens=2, return_weight_versions=True))
    assert [choice["weight_versions"] for choice in choices] == [None, [{"version": "default", "start": 0, "end": 2}]]
    whole_choice = whole(SERVING, max_tokens=2, return_weight_versions=True)["choices"][0]
    assert whole_choice["weight_versions"] == choices[-1]["weight_versions"]


def test_the_client_s_id_is_the_response_s() -> None:
    assert prepare(SERVING, (b"x-request-id", b"mine")).request_id == "cmpl-mine"
    assert prepare(SERVING).request_id == "cmpl-r"
    assert prepare(SERVING, request_id="").request_id.startswith("cmpl-")
