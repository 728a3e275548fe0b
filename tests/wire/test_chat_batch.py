"""/v1/chat/completions/batch: one choice a conversation."""

import json
from typing import Any

import pytest
from chat_client import JSON, words_config
from wire_harness import run

from mockvllm.server.batch import BatchServing
from mockvllm.wire.errors import APIError
from mockvllm.wire.usage import UsageRules

SERVING = BatchServing(words_config(answer="repeat", usage=UsageRules(True, True)))


def conversation(*contents: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": content} for content in contents]


TWO = [conversation("hola"), conversation("que tal", "[[eos]]")]


def prepare(**fields: Any) -> Any:
    return SERVING.prepare(json.dumps({"messages": TWO, "request_id": "r", **fields}).encode(), [JSON], 0.0)


def whole(**fields: Any) -> Any:
    return json.loads(run(prepare(**fields)))


def refusal(**fields: Any) -> APIError:
    with pytest.raises(APIError) as error:
        prepare(**fields)
    return error.value


def test_every_conversation_has_its_choice() -> None:
    body = whole(max_tokens=20)
    assert body["object"] == "chat.completion"
    assert [choice["index"] for choice in body["choices"]] == [0, 1]
    assert [choice["finish_reason"] for choice in body["choices"]] == ["length", "stop"]
    assert body["usage"]["prompt_tokens"] == 1 + 3
    assert body["usage"]["completion_tokens"] == 20 + 14
    assert [request.request_id for request in prepare().choices] == ["chatcmpl-r_0", "chatcmpl-r_1"]


def test_nothing_is_told_of_prompts_caches_and_times() -> None:
    body = whole(messages=[conversation("hola")], max_tokens=1, return_token_ids=True, prompt_logprobs=1)
    assert body["usage"]["prompt_tokens_details"] is None
    assert (body["metrics"], body["prompt_token_ids"], body["prompt_logprobs"]) == (None, None, None)
    assert len(body["choices"][0]["token_ids"]) == 1


def test_who_asks_for_a_stream_gets_its_last_events_in_a_body() -> None:
    prepared = prepare(stream=True, max_tokens=3)
    assert not prepared.stream
    body = json.loads(run(prepared))
    assert [choice["message"]["content"] for choice in body["choices"]] == [" sale", " sale"]
    assert body["usage"]["completion_tokens"] == 2


def test_an_echo_is_of_each_conversation_s_own_end() -> None:
    continued = [[*one, {"role": "assistant", "content": f"eco {i} "}] for i, one in enumerate(TWO)]
    fields = {"echo": True, "add_generation_prompt": False, "continue_final_message": True, "max_tokens": 1}
    contents = [choice["message"]["content"] for choice in whole(messages=continued, **fields)["choices"]]
    assert contents == ["eco 0 Tu", "eco 1 Tu"]


def test_null_is_as_if_not_sent_and_what_is_not_named_goes_on() -> None:
    body = whole(max_tokens=9, length_penalty=None, n=None, stop=["sale"], min_tokens=1, request_id=None)
    assert [choice["stop_reason"] for choice in body["choices"]] == ["sale", "sale"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"use_beam_search": True, "n": 2}, "use_beam_search"),
        ({"n": 2, "messages": 5}, "n"),
        ({"messages": []}, "body.messages"),
        ({"messages": [[]]}, "body.messages.0"),
        ({"messages": conversation("hola")}, "body.messages.0"),
        ({"tool_choice": "auto"}, "body.tool_choice"),
        ({"model": "x"}, "model"),
        ({"max_tokens": 9000}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"logprobs": True, "top_logprobs": 21, "stream": True}, "logprobs"),
    ],
)
def test_refusals(fields: dict[str, Any], param: str) -> None:
    assert refusal(**fields).param == param


def test_a_conversation_of_its_own_is_refused_for_all() -> None:
    assert refusal(messages=[TWO[0], conversation("a " * 9000)]).param == "input_tokens"
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    assert refusal(messages=[TWO[0], image]).message == "m is not a multimodal model"
