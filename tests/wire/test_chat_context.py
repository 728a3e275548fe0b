"""The window as vLLM counts it, in both ways."""

import pytest
from chat_client import prepare, refusal, whole, words
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.wire.context import Asked, Window
from mockvllm.wire.errors import APIError


def message(error: pytest.ExceptionInfo[APIError]) -> str:
    return error.value.message


@given(st.integers(1, 200), st.none() | st.integers(1, 100), st.booleans())
def test_a_prompt_fits_or_is_told_the_sum(num_tokens: int, tokens: int | None, reserves_output: bool) -> None:
    window = Window(100, reserves_output=reserves_output)
    budget = 100 - (tokens or 0) if reserves_output else 100
    ask = Asked("max_tokens", tokens, None)
    if num_tokens <= budget:
        window.check_tokens(ask, num_tokens)
        assert window.max_tokens(ask, num_tokens) == min(100 - num_tokens, 100 if tokens is None else tokens)
        return
    with pytest.raises(APIError) as error:
        window.check_tokens(ask, num_tokens)
    least = "at least " if num_tokens == budget + 1 else ""
    assert f"{least}{num_tokens} input tokens" in message(error)
    assert (f"for a total of {least}{num_tokens + (tokens or 0)} tokens" in message(error)) is reserves_output


@given(st.integers(0, 100), *[st.none() | st.integers(1, 120)] * 3)
def test_the_smallest_limit_holds(prompt: int, asked: int | None, default: int | None, override: int | None) -> None:
    window = Window(100, default_max_tokens=default, override_max_tokens=override)
    wanted = default if asked is None else asked
    limits = [100 - prompt, wanted or 1000, override or 1000]
    assert window.max_tokens(Asked("max_tokens", asked, None), prompt) == min(limits)


def test_texts_of_too_many_characters_are_not_tokenized() -> None:
    window = Window(8192, max_chars_per_token=73)
    window.check_text(Asked("max_tokens", None, None), "a" * 598016)
    with pytest.raises(APIError) as error:
        window.check_text(Asked("max_tokens", None, None), "a" * 598017)
    assert message(error) == (
        "This model's maximum context length is 8192 tokens. However, your prompt contains 598017 characters "
        "(more than 598016 characters, which is the upper bound for 8192 input tokens). "
        "Please reduce the length of the input prompt. (parameter=input_text, value=598017)"
    )
    window.check_text(Asked("max_tokens", None, 5), "a" * 598017)


def test_0_30_words_the_same_with_the_output() -> None:
    with pytest.raises(APIError) as error:
        Window(8192, 73, reserves_output=True).check_text(Asked("max_tokens", 3, None), "a" * 600_000)
    assert message(error) == (
        "This model's maximum context length is 8192 tokens. However, you requested 3 output tokens and your prompt "
        "contains 600000 characters (more than 597797 characters, which is the upper bound for 8189 input tokens). "
        "Please reduce the length of the input prompt or the number of requested output tokens. "
        "(parameter=input_text, value=600000)"
    )


@pytest.mark.parametrize(
    ("profile", "truncate", "side", "tokens"),
    [
        ("0.33", 3, None, "h i j"),
        ("0.33", 3, "right", "a b c"),
        ("0.33", 3, "left", "h i j"),
        ("0.33", 50, None, "a b c d e f g h i j"),
        ("0.33", -1, None, "b c d e f g h i j"),
        ("0.30", -1, None, "e f g h i j"),
    ],
)
def test_prompts_are_cut_on_the_side_that_is_asked_for(
    profile: str, truncate: int, side: str | None, tokens: str
) -> None:
    serving = words(profile, max_model_len=100 if truncate == 50 else 10)
    messages = [{"role": "user", "content": "a b c d e f g h i j"}]
    prepared = prepare(serving, messages=messages, max_tokens=4, truncate_prompt_tokens=truncate, truncation_side=side)
    ids = list(prepared.choices[0].prompt_token_ids)
    assert serving.config.tokenizer.decode(ids).split() == tokens.split()


def test_a_prompt_that_fills_the_window_leaves_nothing_to_say() -> None:
    serving = words(max_model_len=3)
    messages = [{"role": "user", "content": "uno dos tres"}]
    assert refusal(serving, messages=messages).message == (
        "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"
    )
    assert whole(serving, messages=[{"role": "user", "content": "uno dos"}])["choices"][0]["finish_reason"] == "length"


def test_0_30_counts_the_output_into_the_window() -> None:
    messages = [{"role": "user", "content": "a " * 90}]
    assert prepare(words("0.32", max_model_len=100), messages=messages, max_tokens=20).choices[0].max_tokens == 10
    error = refusal(words("0.30", max_model_len=100), messages=messages, max_tokens=20)
    assert "you requested 20 output tokens and your prompt contains at least 81 input tokens" in error.message
    assert "for a total of at least 101 tokens" in error.message


def test_the_newer_field_wins_and_the_given_one_is_named() -> None:
    serving = words(max_model_len=100)
    assert prepare(serving, max_tokens=5, max_completion_tokens=7).choices[0].max_tokens == 7
    assert refusal(serving, max_completion_tokens=101).param == "max_completion_tokens"
