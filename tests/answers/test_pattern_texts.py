"""Texts for regular expressions: they match, they differ, and what is no expression gives none."""

import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockvllm.answers.pattern_texts import texts
from mockvllm.answers.structured_pattern import without_assertions, without_lookaheads


def first(pattern: str, number: int = 1, more: int = 0) -> list[str]:
    return list(islice(texts(pattern, more), number))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("a|bcd|", ""),
        (r"^\d{4}-\d{2}$", "0000-00"),
        ("[^a-z0-9A-Z]", " "),
        (r"[\]\-x-z]{2}[+--]", "xx+"),
        (r"(?:ab){2,}?c*", "abab"),
        (r"([ab])\1{2}(c)\2", "aaacc"),
        (r"(?<year>\d)-(?P<x>[x])\k<year>\k<x>", "0-x0x"),
        (r"\w\s\S\D\.\/\t\n", "a aa./\t\n"),
        (r"\x41\u0042\u{43}", "ABC"),
        (r"\p{Lu}\P{L}\p{Letter}\p{N}", "A0a0"),
        (r"[\u4e00-\u9fa5]", "\u4e10"),
        (r"(?i)x(?s:.)", "xa"),
        (r"\bfoo\b$", "foo"),
        ("a{,3}", "a{,3}"),
    ],
)
def test_the_first_is_short(pattern: str, text: str) -> None:
    assert first(pattern) == [text]


@pytest.mark.parametrize("pattern", ["(", ")", "a)", "[a", "\\", "(?=a", "a{5000}", "(a{100}){100}", "(" * 9000])
def test_what_cannot_be_read_gives_none(pattern: str) -> None:
    assert first(pattern) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(?!000|666)[0-8][0-9]{2}-(?!00)[0-9]{2}$",
        r"^(?=.*[A-Z])(?=.*\d)(?=.*[^\w\s]).{8,}$",
        r"^(?=.{3})[a-z]+$",
        r"^(?!\.)(?!.*\.\.)[a-z.]+@[a-z]+\.[a-z]{2,}$",
        r"^(?!a)(?!.*b)\w$",
    ],
)
def test_one_of_the_first_matches_where_a_pattern_looks_around(pattern: str) -> None:
    tried = first(pattern, 9) + first(pattern, 3, more=2)
    assert any(re.search(pattern, text) for text in tried), tried


LETTERS = st.text("abcxyz0-_ ", min_size=1, max_size=3).map(re.escape)
CLASSES = st.sampled_from(["[a-c]", "[^a]", r"\d", r"\w", r"\S", ".", r"[\d_]", "[-a]", "[^a-z]"])
TIMES = st.sampled_from(["", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?"])
PATTERNS = st.recursive(
    LETTERS | CLASSES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda ways: f"({'|'.join(ways)})"),
        st.tuples(inner, TIMES).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(PATTERNS, st.integers(0, 3))
def test_all_match_where_nothing_looks_around(pattern: str, more: int) -> None:
    found = first(pattern, 5, more)
    assert found
    assert len(set(found)) == len(found)
    for text in found:
        assert re.fullmatch(pattern, text), (pattern, text)


def test_more_of_everything() -> None:
    assert first("a+b*c{1,2}d?", more=2) == ["aaabbccd"]


@settings(deadline=None)
@given(PATTERNS)
def test_what_does_not_look_around_stays_as_it_is(pattern: str) -> None:
    assert without_assertions(pattern) == pattern
    schema = {"properties": {"a": {"pattern": pattern}}, "anyOf": [{"pattern": 5}], "enum": [{"pattern": "(?=x)"}]}
    plain = {**schema, "pattern": "^x"}
    schema["pattern"] = f"^(?!{pattern})x"
    assert without_lookaheads(schema) == plain


@pytest.mark.parametrize(
    ("pattern", "plain"),
    [
        (r"a(?=b(c[)]\)))d", "ad"),
        (r"(?<=\$)\d+(?<!0)\b", r"\d+"),
        (r"[(?=]\(?=\\b", r"[(?=]\(?=\\b"),
        (r"^(?:(?!x)y)*$", "^(?:y)*$"),
    ],
)
def test_lookarounds_are_left_out(pattern: str, plain: str) -> None:
    assert without_assertions(pattern) == plain
