"""/v1/responses without tools or reasoning: the shape of answers."""

import json
from typing import Any

import pytest
from api_client import Event, events, kinds, prepare, refusal, responses_api, stream, whole
from hypothesis import given
from hypothesis import strategies as st
from wire_harness import run

from mockvllm.wire.usage import UsageRules

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
LOGPROBS = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}


def text_of(found: list[Event]) -> str:
    return "".join(event["delta"] for event in found if event["type"] == "response.output_text.delta")


def test_a_whole_response_shows_what_holds() -> None:
    answer = whole(responses_api(), request_id="r1", temperature=1, user="u", metadata={"a": "b"}, instructions="breve")
    assert answer["id"] == "resp_r1"
    assert (answer["object"], answer["created_at"], answer["model"]) == ("response", 7, "m")
    assert (answer["temperature"], answer["top_p"], answer["presence_penalty"]) == (1.0, 1.0, 0.0)
    assert (answer["max_output_tokens"], answer["instructions"]) == (8190, "breve")
    assert (answer["user"], answer["metadata"]) == ("u", {"a": "b"})
    assert (answer["tool_choice"], answer["tools"], answer["background"]) == ("none", [], False)
    (message,) = answer["output"]
    assert message["content"] == [{"annotations": [], "text": SENTENCE, "type": "output_text", "logprobs": None}]


@pytest.mark.parametrize(
    ("profile", "event", "item"),
    [
        ("0.33", "response.incomplete", "incomplete"),
        ("0.32", "response.completed", "completed"),
        ("0.30", "response.completed", "completed"),
    ],
)
def test_a_cut_answer_says_so_as_its_release_does(profile: str, event: str, item: str) -> None:
    serving = responses_api(profile)
    answer = whole(serving, max_output_tokens=2)
    assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert answer["output"][0]["status"] == item
    *_, done, last = stream(serving, max_output_tokens=2)
    assert (last["type"], last["response"]["status"]) == (event, "incomplete")
    assert done["item"]["status"] == last["response"]["output"][0]["status"] == item


def test_a_stream_is_numbered_and_complete() -> None:
    found = stream(responses_api(), max_output_tokens=50)
    assert kinds(found) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * 13,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert text_of(found) == found[-4]["text"] == SENTENCE
    assert found[-1]["response"]["output"] == [found[-2]["item"]]
    assert found[-1]["response"]["usage"]["output_tokens"] == 13
    ids = {event["item_id"] for event in found if "item_id" in event}
    assert ids == {found[-2]["item"]["id"]}


def test_members_stand_in_order_the_type_behind_them() -> None:
    for event in stream(responses_api(), max_output_tokens=2):
        *members, last = event
        assert members == sorted(members)
        assert last == "type"


def test_the_items_of_0_30_have_other_ids_when_all_is_said() -> None:
    *_, done, last = stream(responses_api("0.30"))
    assert len(done["item"]["id"]) == 16
    assert done["item"]["summary"] == []
    (item,) = last["response"]["output"]
    assert item["id"].startswith("msg_")
    assert "summary" not in item


def test_what_comes_first_does_not_wait_for_a_token() -> None:
    prepared = prepare(responses_api(), stream=True)
    created, in_progress = events(prepared.answer.begin())
    assert (created["type"], in_progress["type"]) == ("response.created", "response.in_progress")
    assert created["response"] == in_progress["response"]
    assert (created["response"]["status"], created["response"]["usage"]) == ("in_progress", None)
    assert kinds(events(prepared.answer.chunks(0, 1)))[0] == "response.output_item.added"


def test_an_engine_that_refuses_cuts_the_stream_off() -> None:
    prepared = prepare(responses_api(), (b"x-data-parallel-rank", b"7"), stream=True)
    assert prepared.failure is not None
    assert prepared.answer.cut_by_failure
    assert kinds(events(prepared.answer.failure(prepared.failure))) == ["response.created", "response.in_progress"]
    assert refusal(responses_api(), (b"x-data-parallel-rank", b"7")).status == 400


def test_nothing_said_is_a_message_without_content() -> None:
    silent: dict[str, Any] = {"mock": {"say": ""}}
    (item,) = whole(responses_api(), **silent)["output"]
    assert item["content"] == []
    found = stream(responses_api(), **silent)
    assert kinds(found) == ["response.created", "response.in_progress", "response.completed"]
    assert found[-1]["response"]["output"][0]["content"] == []


@given(st.text(max_size=60).filter(lambda said: "‹" not in said), st.integers(1, 5))  # stands for "<" in a script
def test_a_stream_adds_up_to_the_whole_however_its_tokens_are_merged(said: str, together: int) -> None:
    serving = responses_api()
    fields: dict[str, Any] = {"mock": {"say": said}, "max_output_tokens": 999}
    expected = whole(serving, **fields)
    prepared = prepare(serving, stream=True, **fields)
    payload, left = prepared.answer.begin(), expected["usage"]["output_tokens"]
    while left > together:
        payload += prepared.answer.merged(0, together)
        left -= together
    payload += prepared.answer.finish(0, left, "stop", None) + prepared.answer.close()
    found = events(payload)
    assert text_of(found) == "".join(part["text"] for part in expected["output"][0]["content"]) == said
    assert found[-1]["response"]["usage"] == expected["usage"]
    assert [event["sequence_number"] for event in found] == list(range(len(found)))


@pytest.mark.parametrize(("profile", "written"), [("0.33", {"cache_write_tokens": 4}), ("0.30", {})])
def test_usage_always_shows_what_was_cached(profile: str, written: dict[str, int]) -> None:
    prepared = prepare(responses_api(profile, usage=UsageRules(block_size=4)), input="a b c d e f g h i")
    prepared.choices[0].num_cached_tokens = 4
    usage = json.loads(run(prepared))["usage"]
    details = {"cached_tokens": 4, **written, "input_tokens_per_turn": [], "cached_tokens_per_turn": []}
    assert usage["input_tokens_details"] == details
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (9, 13, 22)


def test_log_probabilities_if_they_are_asked_for() -> None:
    answer = whole(responses_api(), max_output_tokens=2, **LOGPROBS)
    first, second = answer["output"][0]["content"][0]["logprobs"]
    assert (first["token"], first["bytes"], first["logprob"]) == ("Tu", [84, 117], -0.25)
    assert [top["token"] for top in second["top_logprobs"]] == [" pedido", " sale"]
    assert answer["top_logprobs"] == 2
    found = stream(responses_api(), max_output_tokens=2, **LOGPROBS)
    deltas = [event["logprobs"] for event in found if event["type"] == "response.output_text.delta"]
    assert [list(entry) for (entry,) in deltas] == [["token", "logprob", "top_logprobs"]] * 2
    assert found[-1]["response"]["output"][0]["content"][0]["logprobs"] == [first, second]


@pytest.mark.parametrize(
    "fields",
    [{"top_logprobs": 3}, {"include": ["reasoning.encrypted_content"]}, {**LOGPROBS, "top_logprobs": None}],
)
def test_log_probabilities_must_be_included(fields: dict[str, Any]) -> None:
    answer = whole(responses_api(), **fields)
    assert answer["top_logprobs"] is None
    assert answer["output"][0]["content"][0]["logprobs"] is None


def test_prompt_and_answer_as_they_were() -> None:
    for answer in (
        whole(responses_api(), input="una dos", max_output_tokens=2, enable_response_messages=True),
        stream(responses_api(), input="una dos", max_output_tokens=2, enable_response_messages=True)[-1]["response"],
    ):
        (asked,), (said,) = answer["input_messages"], answer["output_messages"]
        assert (asked["message"], len(asked["tokens"]), asked["type"]) == ("una dos", 2, "raw_message_tokens")
        assert (said["message"], len(said["tokens"]), said["type"]) == ("Tu pedido", 2, "raw_message_tokens")


def test_metrics_if_the_server_shows_them() -> None:
    serving = responses_api(usage=UsageRules(per_request_metrics=True))
    answer = whole(serving)
    assert list(answer)[list(answer).index("frequency_penalty") + 1] == "metrics"
    assert "metrics" not in stream(serving)[0]["response"]
    assert "metrics" not in whole(responses_api())


@pytest.mark.parametrize(
    ("profile", "shown"),
    [
        (
            "0.33",
            {
                "prompt_cache_options": {
                    "mode": "implicit",
                    "ttl": "30m",
                    "comparison_response_id": None,
                    "prewarm": True,
                },
                "prompt_cache_key": "k",
                "prompt_cache_retention": "24h",
                "safety_identifier": "s",
            },
        ),
        ("0.32", {}),
        ("0.30", {}),
    ],
)
def test_what_only_0_33_repeats(profile: str, shown: dict[str, Any]) -> None:
    asked = {
        "prompt_cache_options": {"prewarm": True},
        "prompt_cache_key": "k",
        "prompt_cache_retention": "24h",
        "safety_identifier": "s",
    }
    answer = whole(responses_api(profile), **asked)
    assert {name: answer[name] for name in asked if name in answer} == shown


def test_objects_are_shown_with_all_their_options() -> None:
    schema = {"type": "object"}
    answer = whole(
        responses_api(),
        reasoning={"effort": "low"},
        text={"format": {"type": "json_schema", "name": "n", "schema": schema}},
        tools=[{"type": "function", "name": "f", "parameters": schema}],
        tool_choice={"type": "function", "name": "f"},
        mock={"say": "{}"},
    )
    none = {"context": None, "generate_summary": None, "mode": None, "summary": None}
    assert answer["reasoning"] == {"effort": "low", **none}
    format = {"name": "n", "schema": schema, "type": "json_schema", "description": None, "strict": None}
    assert answer["text"] == {"format": format, "verbosity": None}
    assert answer["tool_choice"] == {"name": "f", "type": "function"}
    (tool,) = answer["tools"]
    assert list(tool) == [
        "name",
        "parameters",
        "strict",
        "type",
        "allowed_callers",
        "async",
        "defer_loading",
        "description",
        "output_schema",
    ]
