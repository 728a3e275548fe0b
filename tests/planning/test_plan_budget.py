"""`mockvllm plan budget`: the lesson's figures, the same rules on other inputs, and what it refuses."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from figures import refusal, run, show
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

REFUSED = "This model's maximum context length is 8192 tokens. However, "


@pytest.mark.parametrize(
    ("profile", "prompt", "max_tokens", "expected"),
    [
        ("0.30", 2000, 1024, 1024),
        ("0.32", 2000, 1024, 1024),
        ("0.30", 7500, 1024, "for a total of 8524 tokens"),
        ("0.32", 7500, 1024, 692),
        ("0.30", 2000, "none", 6192),
        ("0.32", 2000, "none", 6192),
        ("0.30", 8300, 256, "for a total of 8556 tokens"),
        ("0.32", 8300, 256, "your prompt contains 8300 input tokens, which exceeds this limit even without any output"),
        ("0.33", 8300, 256, "your prompt contains 8300 input tokens, which exceeds this limit even without any output"),
        ("0.33", 8193, "none", "your prompt contains at least 8193 input tokens"),
    ],
)
def test_the_lessons_window(profile: str, prompt: int, max_tokens: object, expected: int | str) -> None:
    window = show("plan", "budget", "--profile", profile, "--prompt", prompt, "--max-tokens", max_tokens)["window"]
    if isinstance(expected, int):
        assert window == {"accepted": True, "max_new_tokens": expected, "message": None}
    else:
        assert (window["accepted"], window["max_new_tokens"]) == (False, None)
        assert window["message"].startswith(REFUSED)
        assert expected in window["message"]
        assert window["message"].endswith(f"(parameter=input_tokens, value={prompt})")


@given(
    profile=st.sampled_from(["0.30", "0.32", "0.33"]), prompt=st.integers(1, 3000),
    wanted=st.none() | st.integers(1, 3000), length=st.integers(1, 3000),
)  # fmt: skip
@settings(max_examples=60)
def test_other_windows_follow_the_same_rule(profile: str, prompt: int, wanted: int | None, length: int) -> None:
    window = show(
        "plan", "budget", "--profile", profile, "--prompt", prompt, "--max-tokens", wanted or "none",
        "--max-model-len", length,
    )["window"]  # fmt: skip
    needed = prompt + (wanted or 1) if profile == "0.30" else prompt + 1
    accepted = needed <= length and (wanted or 0) <= length
    assert window["accepted"] == accepted
    assert window["max_new_tokens"] == (min(length - prompt, wanted or length) if accepted else None)
    assert (window["message"] is None) == accepted


def test_without_max_tokens_a_prompt_asks_for_all_that_fits() -> None:
    assert show("plan", "budget", "--prompt", 2000)["window"]["max_new_tokens"] == 6192


def test_the_lessons_price() -> None:
    figures = show("plan", "budget")
    assert figures["cost"] == pytest.approx(0.0075)
    assert f"{figures['output_cost_share']:.0%} {figures['output_token_share']:.0%}" == "33% 11%"


@given(
    prompt=st.integers(1, 4000), wanted=st.integers(1, 4000),
    price_in=st.floats(0, 1000), price_out=st.floats(0.001, 1000),
)  # fmt: skip
@settings(max_examples=25)
def test_other_prices_follow_the_same_rule(prompt: int, wanted: int, price_in: float, price_out: float) -> None:
    figures = show(
        "plan", "budget", "--prompt", prompt, "--max-tokens", wanted, "--price-in", price_in, "--price-out", price_out
    )
    total = prompt * price_in / 1e6 + wanted * price_out / 1e6
    assert figures["cost"] == pytest.approx(total)
    assert figures["output_cost_share"] == pytest.approx(wanted * price_out / 1e6 / total)
    assert figures["output_token_share"] == pytest.approx(wanted / (prompt + wanted))


def test_a_refused_request_costs_nothing_and_says_why() -> None:
    assert show("plan", "budget", "--prompt", 9000)["cost"] is None
    out = run("plan", "budget", "--prompt", 9000).out
    assert "400 This model's maximum context length is 8192 tokens." in out


@pytest.mark.parametrize(
    ("language", "fertility", "tokens", "dollars", "seconds", "megabytes"),
    [
        ("en", 1.23, 246, 0.00246, 9.8, 81),
        ("es", 1.61, 322, 0.00322, 12.9, 106),
        ("Spanish", 1.61, 322, 0.00322, 12.9, 106),
    ],
)
def test_the_lessons_languages(
    language: str, fertility: float, tokens: int, dollars: float, seconds: float, megabytes: int
) -> None:
    figures = show("plan", "budget", "--words", 200, "--language", language)
    assert figures["fertility"] == fertility
    text = figures["text"]
    assert (text["tokens"], text["cost"]) == (tokens, pytest.approx(dollars))
    assert (round(text["seconds"], 1), round(text["kv_bytes"] / 1e6)) == (seconds, megabytes)


def test_any_other_language_by_its_fertility() -> None:
    text = show(
        "plan", "budget", "--words", 50, "--fertility", 2.5, "--itl-ms", 20, "--kv-bytes-per-token", 1000,
        "--price-out", 4,
    )["text"]  # fmt: skip
    assert text == {"words": 50, "tokens": 125, "cost": 0.0005, "seconds": 2.5, "kv_bytes": 125_000}


@pytest.mark.parametrize(
    ("language", "characters", "words", "estimate", "by_words"), [("es", 174, 29, 66, 47), ("en", 176, 30, 67, 37)]
)
def test_the_lessons_estimate(language: str, characters: int, words: int, estimate: int, by_words: int) -> None:
    figures = show("plan", "budget", "--language", language)
    assert figures["estimate"] == estimate
    chat = figures["chat"]
    assert (chat["messages"], chat["characters"], chat["words"], chat["by_words"]) == (2, characters, words, by_words)
    assert (chat["tokens"], chat["estimate_error"]) == (None, None)


@given(texts=st.lists(st.text(min_size=1), min_size=1, max_size=5))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_other_chats_follow_the_same_rule(tmp_path: Path, texts: list[str]) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([{"role": "user", "content": text} for text in texts]), "utf-8")
    figures = show("plan", "budget", "--messages", path)
    assert figures["estimate"] == math.ceil(len("".join(texts)) / 3) + 4 * len(texts)
    assert figures["chat"]["by_words"] == round(1.61 * sum(len(text.split()) for text in texts))


def test_a_whole_request_and_content_parts(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    parts = [{"type": "text", "text": "123456"}, {"type": "image_url", "image_url": {"url": "x"}}]
    path.write_text(json.dumps({"model": "m", "messages": [{"role": "user", "content": parts}, {"content": None}]}))
    assert show("plan", "budget", "--messages", path)["estimate"] == 2 + 8


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A tokenizer of single characters, with a chat template that adds four of them a message and one at the end."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    characters = {character: index for index, character in enumerate("abcdefghijklmnopqrstuvwxyz #")}
    built = Tokenizer(models.WordLevel(characters, unk_token="#"))
    built.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    built.save(str(tmp_path / "tokenizer.json"))
    template = "{% for m in messages %}##{{ m.content }}##{% endfor %}{% if add_generation_prompt %}#{% endif %}"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}), "utf-8")
    return tmp_path


def test_the_error_of_the_estimate_against_a_tokenizer(tokenizer: Path) -> None:
    path = tokenizer / "messages.json"
    path.write_text(json.dumps([{"role": "user", "content": "abcdef"}, {"role": "user", "content": "abc"}]), "utf-8")
    figures = show("plan", "budget", "--messages", path, "--tokenizer", tokenizer)
    assert figures["estimate"] == 3 + 8
    assert figures["chat"]["tokens"] == 9 + 2 * 4 + 1
    assert figures["chat"]["estimate_error"] == pytest.approx(11 / 18 - 1)
    assert "18 (the estimate is -39% off)" in run("plan", "budget", "--messages", path, "--tokenizer", tokenizer).out


def test_without_a_template_the_texts_are_counted(tokenizer: Path) -> None:
    (tokenizer / "tokenizer_config.json").unlink()
    assert show("plan", "budget", "--tokenizer", tokenizer)["chat"]["tokens"] == 174


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--profile", "0.29"], "no profile '0.29': choose from 0.30, 0.32, 0.33"),
        (["--language", "tlh"], "--language tlh: only en, es were measured"),
        (["--max-tokens", "0"], "'--max-tokens': must be a positive whole number, not 0"),
        (["--max-tokens", "all"], "'--max-tokens': must be a number, not all"),
        (["--prompt", "-3"], "'--prompt': must be a positive whole number, not -3"),
        (["--price-in", "-1"], "'--price-in': must not be negative, but is -1"),
        (["--price-out", "nan"], "'--price-out': must be a number, not nan"),
        (["--fertility", "0"], "'--fertility': must be a number above 0, not 0"),
        (["--messages", "/"], "/: is a directory, not a file"),
        (["--tokenizer", "/"], "--tokenizer /: no tokenizer.json in /"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("plan", "budget", *words)


@pytest.mark.parametrize("value", [[], {}, {"messages": []}, "hello", [1], [{"content": 1}], {"messages": ["hi"]}])
def test_what_is_no_chat_is_refused(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps(value), "utf-8")
    assert f"{path}: " in refusal("plan", "budget", "--messages", path)
