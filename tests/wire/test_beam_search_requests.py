"""`use_beam_search`: which sampling parameters it knows, and how its beams are sent."""

from typing import Any

import chat_client
import pytest
from completion_client import completions, refusal, whole

SERVING = completions(answer="repeat")
CHAT = chat_client.words(answer="repeat")


def beams(**fields: Any) -> list[str]:
    return [choice["text"] for choice in whole(SERVING, use_beam_search=True, **fields)["choices"]]


def test_every_beam_is_a_choice() -> None:
    assert beams(n=2, max_tokens=3) == ["TuTuTu", "TuTu Tu"]
    assert beams(n=1, max_tokens=2) == ["TuTu"]
    assert len(beams(n=10, max_tokens=2, prompt=["a", "b"])) == 20
    assert beams(n=2, max_tokens=2, echo=True, prompt="uno") == ["unoTuTu", "unoTu Tu"]


def test_what_it_does_not_know_changes_nothing() -> None:
    unknown = {
        "stop": ["Tu"],
        "stop_token_ids": [1],
        "min_tokens": 2,
        "top_p": 9,
        "presence_penalty": 9,
        "bad_words": ["Tu"],
    }
    assert beams(n=2, max_tokens=3, **unknown) == ["TuTuTu", "TuTu Tu"]
    assert beams(n=2, max_tokens=2, temperature=0) == ["TuTu", "Tu Tu"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 11}, "Requested sample logprobs of 22, which is greater than max allowed: 20"),
        ({"temperature": -1}, "temperature must be non-negative"),
        ({"n": 0}, "beam_width must be at least 1, got 0."),
        ({"n": 16385}, "beam_width must be at most 16384, got 16385. To increase this limit"),
    ],
)
def test_what_it_knows_is_checked(fields: dict[str, Any], message: str) -> None:
    assert refusal(SERVING, use_beam_search=True, **fields).message.startswith(message)


def test_a_beam_that_ends_before_it_began_says_its_end_token() -> None:
    body = whole(SERVING, use_beam_search=True, prompt='[[mock {"say": ""}]]', max_tokens=2, return_token_ids=True)
    choice = body["choices"][0]
    assert (choice["text"], choice["finish_reason"]) == ("", "stop")
    assert choice["token_ids"] == [SERVING.config.tokenizer.eos_token_id]
    assert beams(prompt='[[mock {"say": ""}]]', max_tokens=2, ignore_eos=True, skip_special_tokens=False) == [
        "<|eot_id|><|eot_id|>"
    ]


@pytest.mark.parametrize(
    ("profile", "status", "param"), [("0.30", 500, None), ("0.32", 400, "echo"), ("0.33", 400, "echo")]
)
def test_an_echo_with_log_probabilities_cannot_be(profile: str, status: int, param: str | None) -> None:
    error = refusal(completions(profile), use_beam_search=True, echo=True, logprobs=1)
    assert (error.status, error.param) == (status, param)


def test_a_chat_streams_each_beam_as_one_event() -> None:
    chunks = chat_client.stream(CHAT, use_beam_search=True, n=2, max_tokens=3)
    deltas = [chunk["choices"][0] for chunk in chunks[:-1]]
    assert [choice["delta"] for choice in deltas] == [
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": ""},
        {"content": "TuTuTu"},
        {"content": "TuTu Tu"},
    ]
    assert [choice["finish_reason"] for choice in deltas] == [None, None, "length", "length"]
