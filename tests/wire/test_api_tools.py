"""Tool calls and reasoning in the shapes of /v1/responses and /v1/messages."""

import json
from typing import Any

import pytest
from api_client import Event, events, kinds, messages_api, responses_api, stream, whole

from mockvllm.server.messages import MessagesServing
from mockvllm.server.responses import ResponsesServing
from mockvllm.wire.messages_api_blocks import Blocks

PARSERS = {"tool_call_parser": "hermes"}
THINKING = {"reasoning_parser": "qwen3"}
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}}


def call(name: str, **arguments: Any) -> str:
    return f'<tool_call> {{"name": "{name}", "arguments": {json.dumps(arguments)}}} </tool_call>'


def messages(profile: str = "0.33", **options: Any) -> MessagesServing:
    return messages_api(profile, **PARSERS, **options)


def responses(profile: str = "0.33", **options: Any) -> ResponsesServing:
    return responses_api(profile, **PARSERS, **options)


def saying(text: str, **fields: Any) -> dict[str, Any]:
    return {"mock": {"say": text}, "tools": [{"name": "f", "input_schema": SCHEMA}], **fields}


def responding(text: str, **fields: Any) -> dict[str, Any]:
    tools = [{"type": "function", "name": "f", "parameters": SCHEMA}]
    return {"mock": {"say": text}, "tools": tools, **fields}


# --- messages ---------------------------------------------------------------------------------------------------------


def blocks(found: list[Event]) -> list[dict[str, Any]]:
    """The blocks that a stream adds up to, each opened, filled and closed under its index."""
    built: list[dict[str, Any]] = []
    opened = False
    for event in found:
        if event["type"] == "content_block_start":
            assert not opened and event["index"] == len(built)
            built.append(dict(event["content_block"]))
            opened = True
        elif event["type"] == "content_block_delta":
            assert opened and event["index"] == len(built) - 1
            _grow(built[-1], event["delta"])
        elif event["type"] == "content_block_stop":
            assert opened and event["index"] == len(built) - 1
            opened = False
    assert not opened
    return [_known(block) for block in built]


def _grow(block: dict[str, Any], delta: dict[str, Any]) -> None:
    kind = delta.pop("type")
    if kind == "input_json_delta":
        block["json"] = block.get("json", "") + delta["partial_json"]
    else:
        ((name, text),) = delta.items()
        block[name] = block.get(name, "") + text


def _known(block: dict[str, Any]) -> dict[str, Any]:
    """Without what is random."""
    if "json" in block:
        block["input"] = json.loads(block.pop("json"))
    return {name: value for name, value in block.items() if name not in ("id", "signature")}


@pytest.mark.parametrize(
    "said",
    [
        "Voy. " + call("f", x=1),
        call("f", x=1) + " " + call("g", x=2),
        "nada que llamar",
        call("f"),
    ],
)
def test_a_stream_of_blocks_adds_up_to_the_whole_message(said: str) -> None:
    answer = whole(messages(), **saying(said, max_tokens=99))
    found = stream(messages(), **saying(said, max_tokens=99))
    assert blocks(found) == [_known(block) for block in answer["content"]]
    (last,) = (event for event in found if event["type"] == "message_delta")
    assert last["delta"]["stop_reason"] == answer["stop_reason"]
    assert answer["stop_reason"] == ("tool_use" if "tool_call" in said else "end_turn")


def test_calls_have_ids_of_their_own() -> None:
    answer = whole(messages(), **saying(call("f", x=1) + " " + call("f", x=1), max_tokens=99))
    first, second = answer["content"]
    assert first["id"] != second["id"]
    assert first["id"].startswith("chatcmpl-tool-")


def test_one_call_if_they_may_not_be_parallel() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    fields = saying(call("f", x=1) + " " + call("g", x=2), max_tokens=99, tool_choice=choice)
    assert [block["name"] for block in whole(messages(), **fields)["content"]] == ["f"]


def test_thinking_is_signed_and_before_the_text() -> None:
    serving = messages(**THINKING)
    fields: dict[str, Any] = {"mock": {"say": "a ver </think> Hola"}}
    thinking, text = whole(serving, **fields)["content"]
    assert (thinking["thinking"], text["text"]) == ("a ver ", " Hola")
    assert len(thinking["signature"]) == 32
    found = stream(serving, **fields)
    assert blocks(found) == [{"type": "thinking", "thinking": "a ver "}, {"type": "text", "text": " Hola"}]
    signatures = [e["delta"] for e in found if e["type"] == "content_block_delta" and "signature" in e["delta"]]
    assert len(signatures) == 1


def test_text_behind_a_call_waits_until_its_block_is_closed() -> None:
    open_call = Blocks()
    begun = open_call.call(0, "t", "f") + open_call.arguments(0, "{}")
    assert open_call.text("y ") + open_call.text("más") == b""
    assert open_call.arguments(1, "otra") == b""
    rest = open_call.close()
    assert kinds(events(begun + rest)) == [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ]
    assert b'"text":"y m\xc3\xa1s"},"index":1' in rest
    assert open_call.close() == b""


# --- responses --------------------------------------------------------------------------------------------------------


def known_items(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without ids, and without the status of reasoning, which a stream tells and a whole body does not."""
    hidden = ("id", "call_id")
    return [
        {n: v for n, v in item.items() if n not in hidden and (n, item["type"]) != ("status", "reasoning")}
        for item in output
    ]


@pytest.mark.parametrize("profile", ["0.33", "0.32", "0.30"])
@pytest.mark.parametrize(
    ("said", "types"),
    [
        ("Voy. " + call("f", x=1), ["message", "function_call"]),
        (call("f", x=1) + " " + call("g", x=2), ["function_call", "function_call"]),
        ("a ver </think> Voy. " + call("f", x=1), ["reasoning", "message", "function_call"]),
        ("a ver </think> Hola", ["reasoning", "message"]),
        ("sin parar", ["reasoning"]),
    ],
)
def test_a_stream_of_items_adds_up_to_the_whole_response(profile: str, said: str, types: list[str]) -> None:
    thinks = types[0] == "reasoning"
    serving = responses(profile, **(THINKING if thinks else {}))
    answer = whole(serving, **responding(said))
    assert [item["type"] for item in answer["output"]] == types
    found = stream(serving, **responding(said))
    final = found[-1]["response"]
    assert known_items(final["output"]) == known_items(answer["output"])
    assert final["usage"] == answer["usage"]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    added = [event for event in found if event["type"] == "response.output_item.added"]
    done = [event for event in found if event["type"] == "response.output_item.done"]
    assert [e["output_index"] for e in added] == [e["output_index"] for e in done] == list(range(len(types)))
    assert [e["item"]["id"] for e in added] == [e["item"]["id"] for e in done]


def test_reasoning_tokens_are_counted() -> None:
    usage = whole(responses(**THINKING), **responding("una dos tres </think> cuatro"))["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == 3


def test_reasoning_can_be_left_out() -> None:
    serving = responses(**THINKING)
    fields = responding("a ver </think> Hola", include_reasoning=False)
    (message,) = whole(serving, **fields)["output"]
    assert message["content"][0]["text"] == " Hola"
    assert not [kind for kind in kinds(stream(serving, **fields)) if "reasoning" in kind]


@pytest.mark.parametrize(("profile", "part"), [("0.33", "content_part"), ("0.30", "reasoning_part")])
def test_what_a_part_of_reasoning_is_called(profile: str, part: str) -> None:
    found = kinds(stream(responses(profile, **THINKING), **responding("a ver </think> Hola")))
    assert found[3] == f"response.{part}.added"


@pytest.mark.parametrize(("profile", "status"), [("0.33", "incomplete"), ("0.32", "completed")])
def test_the_item_that_is_cut(profile: str, status: str) -> None:
    fields = responding("Voy. " + call("f", x=1, y=[1, 2, 3]), max_output_tokens=7)
    *_, done, last = stream(responses(profile), **fields)
    assert [item["status"] for item in last["response"]["output"]] == ["completed", status]
    assert done["item"]["arguments"] == last["response"]["output"][1]["arguments"]


def test_a_call_s_id_is_the_same_wherever_it_is_shown() -> None:
    for profile, same in (("0.33", True), ("0.30", False)):
        *_, done, last = stream(responses(profile), **responding(call("f", x=1)))
        (item,) = last["response"]["output"]
        assert (done["item"]["call_id"] == item["call_id"]) is same
        assert item["call_id"].startswith("chatcmpl-tool-")


def test_a_parser_that_finds_nothing_leaves_no_item() -> None:
    assert whole(responses(), **responding(""))["output"] == []
    assert kinds(stream(responses(), **responding("")))[-1] == "response.completed"
