"""Dotted flags and human numbers: the rules, on any input."""

import json
from argparse import ArgumentTypeError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.settings.values import human_int
from mockvllm.settings.words import fold, plain

KEYS = st.text("abcxyz_", min_size=1, max_size=4)
LEAVES = st.none() | st.booleans() | st.integers() | st.lists(st.integers(), max_size=3)
OBJECTS = st.recursive(LEAVES, lambda inner: st.dictionaries(KEYS, inner, min_size=1, max_size=3), max_leaves=8)


def dotted(value: Any, path: str) -> list[str]:
    if isinstance(value, dict):
        return [word for key, inner in value.items() for word in dotted(inner, f"{path}.{key}")]
    return [path, json.dumps(value)]


@given(st.dictionaries(KEYS, OBJECTS, min_size=1, max_size=3))
def test_any_object_given_by_its_keys_is_the_object(value: dict[str, Any]) -> None:
    flag, text = fold(dotted(value, "--x"))
    assert (flag, json.loads(text)) == ("--x", value)


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--x.a", "1", "--x.b.c=two"], {"a": 1, "b": {"c": "two"}}),
        (["--x.a+", "v", "--x.a+=w,z"], {"a": ["v", "w", "z"]}),
        (["--x.a", "80g", "--x.b", "1K", "--x.c", "1.5K"], {"a": 80 * 10**9, "b": 1024, "c": "1.5K"}),
        (["--x.a", "1", "--x.a.b", "2"], {"a": {"b": 2}}),
        (["--x.a", "true", "--x.b", "-0.5"], {"a": True, "b": -0.5}),
    ],
)
def test_dotted_forms(words: list[str], value: dict[str, Any]) -> None:
    flag, text = fold(words)
    assert (flag, json.loads(text)) == ("--x", value)


def test_other_words_stay_in_front_and_values_with_dots_are_values() -> None:
    words = ["m.v1", "--path=./a.b", "--y.k", "1", "--ttft-ms", "-0.5", "--host", "10.0.0.1"]
    assert fold(words) == ["m.v1", "--path=./a.b", "--ttft-ms", "-0.5", "--host", "10.0.0.1", "--y", '{"k": 1}']


def test_underscores_are_dashes_in_names_only() -> None:
    words = ["--max_model_len", "a_b", "--x_y.k_1", "--name=a_b", "-x_y"]
    assert plain(words) == ["--max-model-len", "a_b", "--x-y.k_1", "--name=a_b", "-x_y"]


@given(st.integers(0, 10**6), st.sampled_from("kmgt"))
def test_small_suffixes_are_powers_of_1000_and_large_ones_of_1024(number: int, suffix: str) -> None:
    power = "kmgt".index(suffix) + 1
    assert human_int(f"{number}{suffix}") == number * 1000**power
    assert human_int(f"{number}{suffix.upper()}") == number * 1024**power
    assert human_int(str(number)) == number


@pytest.mark.parametrize("text", ["1.5M", "k", "1kk", "1 k", "", "1e3", "٣٤x"])
def test_other_numbers_are_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        human_int(text)
