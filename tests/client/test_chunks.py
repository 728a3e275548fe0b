"""The chunk walker: what real vLLM streams say, what counts as a token event, and chunks that nobody should send."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_streams import SSE, transcript
from hypothesis import given
from hypothesis import strategies as st
from mockvllm_client.chunks import Answer, Said, ToolCall, is_token_event
from mockvllm_client.transcript import End, Transcript

TWINS = [json.loads(line) for line in (Path(__file__).parents[1] / "data/client/twins.jsonl").read_text().splitlines()]


def whole(body: str) -> Transcript:
    noted = Transcript(streamed=False)
    noted.open(0.1, 200, {"content-type": "application/json"})
    noted.feed(0.2, body.encode())
    noted.close(0.2, End.COMPLETE)
    return noted


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin["case"])
def test_a_stream_says_what_the_whole_body_says(twin: dict[str, str]) -> None:
    streamed, body = transcript([(0.2, twin["stream"].encode())]).answer, whole(twin["whole"]).answer
    message = json.loads(twin["whole"])["choices"][0]["message"]
    assert streamed.first.text == body.first.text == (message["content"] or "")
    assert streamed.first.reasoning == body.first.reasoning == (message["reasoning"] or "")
    assert [(call.name, call.arguments) for call in streamed.first.tool_calls.values()] == [
        (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())
    ]
    assert streamed.first.finish_reason == body.first.finish_reason
    assert (streamed.done, streamed.malformed, streamed.error) == (True, 0, None)


CHAT: list[tuple[Any, bool, bool]] = [  # delta of the first choice, a token event in 0.33, one in 0.30 and 0.32
    ({"role": "assistant", "content": ""}, False, True),
    ({"content": "Tu"}, True, True),
    ({"content": ""}, True, True),
    ({"content": None}, False, True),
    ({}, False, True),
    (None, False, True),
    ({"role": "assistant", "content": "Tu"}, True, True),
    ({"reasoning": "hm"}, True, True),
    ({"reasoning_content": "hm"}, True, True),
    ({"reasoning": ""}, False, True),
    ({"tool_calls": [{"index": 0}]}, True, True),
    ({"tool_calls": []}, False, True),
    ({"function_call": {"name": "f"}}, True, True),
]


@pytest.mark.parametrize(("delta", "in_033", "in_032"), CHAT)
def test_token_events_of_chat(delta: Any, in_033: bool, in_032: bool) -> None:
    chunk = {"choices": [{"index": 0, "delta": delta}]}
    assert is_token_event(chunk) is in_033
    assert is_token_event(chunk, role_chunk_counts=True) is in_032


def test_only_the_first_choice_decides() -> None:
    first, second = {"index": 0, "delta": {}}, {"index": 1, "delta": {"content": "a"}}
    assert not is_token_event({"choices": [first, second]})
    assert is_token_event({"choices": [second, first]})


@pytest.mark.parametrize(("text", "counts"), [("a", True), ("", True)])
def test_every_completion_chunk_with_a_choice_counts(text: str, counts: bool) -> None:
    assert is_token_event({"choices": [{"index": 0, "text": text}]}) is counts


@pytest.mark.parametrize("chunk", [{}, {"choices": []}, {"choices": None}, {"choices": "x"}, {"choices": [None, 1]}])
def test_a_chunk_without_choices_is_no_token_event(chunk: dict[str, Any]) -> None:
    assert not is_token_event(chunk)
    assert not is_token_event(chunk, role_chunk_counts=True)


def said(payload: Any) -> tuple[Said, Answer]:
    answer = Answer()
    return answer.take(json.dumps(payload)), answer


def test_the_usage_chunk_has_no_choice_and_the_walker_does_not_mind() -> None:
    heard, answer = said({"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 13, "total_tokens": 17}})
    assert (heard.kind, heard.is_token) == ("usage", False)
    assert answer.usage == {"prompt_tokens": 4, "completion_tokens": 13, "total_tokens": 17}
    with pytest.raises(IndexError):  # what the hasty client meets
        json.loads('{"choices":[]}')["choices"][0]


def test_usage_null_does_not_hide_the_usage_before_it() -> None:
    answer = Answer()
    answer.take('{"choices":[],"usage":{"total_tokens":3}}')
    answer.take('{"choices":[],"usage":null}')
    assert answer.usage == {"total_tokens": 3}


@pytest.mark.parametrize(
    ("data", "kind"),
    [("[DONE]", "done"), (" [DONE] ", "done"), ("", "empty"), ("{", "malformed"), ("[1]", "malformed"),
     ("3", "malformed"), ("null", "malformed"), ("[" * 100_000, "malformed"), ("{}", "other")],
)  # fmt: skip
def test_data_that_is_no_chunk(data: str, kind: str) -> None:
    answer = Answer()
    assert answer.take(data).kind == kind
    assert answer.malformed == (kind == "malformed")
    assert answer.done == (kind == "done")


@pytest.mark.parametrize(
    ("error", "noted"),
    [({"message": "boom", "code": 500}, {"message": "boom", "code": 500}),
     ("Unauthorized", {"message": "Unauthorized"}), (["odd"], {"message": '["odd"]'})],
)  # fmt: skip
def test_errors_of_any_shape(error: Any, noted: dict[str, Any]) -> None:
    heard, answer = said({"error": error})
    assert (heard.kind, answer.error) == ("error", noted)


def test_calls_without_an_index_are_told_apart_by_their_place() -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b", "function": {"name": "g"}}]
    _, answer = said({"choices": [{"delta": {"tool_calls": calls}}]})
    assert list(answer.first.tool_calls.values()) == [ToolCall("a", "f", "{}"), ToolCall("b", "g", "")]


def test_choices_are_kept_apart_and_text_is_that_of_choice_0() -> None:
    answer = Answer()
    heard = [
        answer.take(json.dumps({"choices": [{"index": index, "delta": {"content": text}}]}))
        for index, text in [(0, "a"), (1, "x"), (0, "b")]
    ]
    assert [(one.choice, one.text) for one in heard] == [(0, "a"), (1, ""), (0, "b")]
    assert {index: choice.text for index, choice in answer.choices.items()} == {0: "ab", 1: "x"}


def test_token_id_0_is_a_stop_reason() -> None:
    _, answer = said({"choices": [{"delta": {}, "finish_reason": "stop", "stop_reason": 0}]})
    assert answer.first.stop_reason == 0


KEYS = ("choices", "delta", "message", "content", "tool_calls", "function", "index", "usage", "error", "text")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_json_breaks_the_walker(payload: Any) -> None:
    heard, answer = said(payload)
    assert (heard.kind == "malformed") is not isinstance(payload, dict)
    assert answer.first.text.startswith(heard.text)


def test_the_headers_of_the_recordings_are_those_of_a_stream() -> None:
    assert transcript([], headers=SSE).content_type == "text/event-stream"
