from typing import Any

import pytest
from completion_client import choices_of, completions, stream, whole

SERVING = completions(answer="repeat")
TOKENIZER = SERVING.config.tokenizer


def logprobs(**fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = whole(SERVING, **fields)["choices"][0]["logprobs"]
    return found


@pytest.mark.parametrize("top", [0, 1, 3])
def test_lists_run_in_step_and_offsets_count_characters(top: int) -> None:
    found = logprobs(max_tokens=3, logprobs=top)
    assert found["tokens"] == ["Tu", " pedido", " sale"]
    assert found["text_offset"] == [0, 2, 9]
    assert found["token_logprobs"] == [-0.25] * 3
    candidates = [("Tu", -0.25), (" Tu", -1.5), (" pedido", -2.0)][: max(top, 1)]
    assert list(found["top_logprobs"][0].items()) == candidates


def test_an_echo_has_those_of_its_tokens_but_the_first() -> None:
    choice = whole(SERVING, echo=True, logprobs=2, max_tokens=1)["choices"][0]
    found = choice["logprobs"]
    assert found["tokens"] == ["uno", " dos", "Tu"]
    assert found["text_offset"] == [0, 3, 7]
    assert found["token_logprobs"] == [None, -0.5, -0.25]
    assert found["top_logprobs"] == [None, {" dos": -0.5, " Tu": -1.5}, {"Tu": -0.25, " Tu": -1.5}]
    assert [entry and len(entry) for entry in choice["prompt_logprobs"]] == [None, 2]
    assert "Tu" not in logprobs(echo=True, logprobs=2, max_tokens=0)["tokens"]


def test_a_prompt_s_may_be_asked_for_alone() -> None:
    choice = whole(SERVING, prompt=["uno dos", "tres"], prompt_logprobs=0, max_tokens=1)["choices"]
    (dos,) = TOKENIZER.encode(" dos")
    assert choice[0]["prompt_logprobs"] == [None, {str(dos): {"logprob": -0.5, "rank": 1, "decoded_token": " dos"}}]
    assert choice[1]["prompt_logprobs"] == [None]
    assert choice[0]["logprobs"] is None


@pytest.mark.parametrize("echo", [False, True])
@pytest.mark.parametrize(("profile", "held"), [("0.33", [0, 2]), ("0.32", [0, 2]), ("0.30", [0, 0])])
def test_offsets_go_on_from_token_to_token_or_in_0_30_from_what_was_sent(
    profile: str, held: list[int], echo: bool
) -> None:
    serving = completions(profile, answer="repeat")
    choices = choices_of(stream(serving, max_tokens=2, logprobs=1, echo=echo, stop=["zz" * 20]))
    offsets = [offset for choice in choices for offset in choice["logprobs"]["text_offset"]]
    before = [0, 3] if echo else []
    prompt = 7 if echo else 0
    assert offsets == [*before, *(prompt + offset for offset in held)]
    assert choices[0]["text"] == ("uno dos" if echo else "")


def test_one_event_with_several_tokens_lists_them_all() -> None:
    first, last = choices_of(stream(SERVING, max_tokens=3, logprobs=1, stream_interval=9))
    assert first["logprobs"]["text_offset"] == [0]
    assert (last["logprobs"]["tokens"], last["logprobs"]["text_offset"]) == ([" pedido", " sale"], [2, 9])


def test_named_tokens_are_all_listed() -> None:
    ids = [*TOKENIZER.encode(" llega"), *TOKENIZER.encode(" y")]
    (top,) = logprobs(max_tokens=1, logprobs=0, logprob_token_ids=ids)["top_logprobs"]
    assert list(top) == ["Tu", " llega", " y"]


def test_tokens_may_be_shown_as_ids_and_count_so() -> None:
    found = logprobs(max_tokens=2, logprobs=1, return_tokens_as_token_ids=True)
    names = [f"token_id:{TOKENIZER.encode(text)[0]}" for text in ("Tu", " pedido")]
    assert (found["tokens"], found["text_offset"]) == (names, [0, len(names[0])])
    assert list(found["top_logprobs"][1]) == [names[1]]


def test_all_of_the_vocabulary_is_asked_for_and_none_is_listed() -> None:
    serving = completions(max_logprobs=-1)
    found = whole(serving, max_tokens=1, logprobs=-1, prompt="uno", logit_bias={})["choices"][0]["logprobs"]
    assert (found["tokens"], found["top_logprobs"]) == (["Tu"], [{}])
