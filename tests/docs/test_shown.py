import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown import matches

texts = st.text("ab ", max_size=12).map(str.strip).filter(bool)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("", ""),
        ("one two", "one\n   two\n"),
        ("{...}", "{}"),
        ("a ... c", "a b b c"),
        ("0....", "0.461"),
        ("0.... s", "0.461 s"),
        ("1\n...\n4", "1\n2\n3\n4"),
        ("1\n...\n2", "1\n2"),
        ("1...\n...\n2", "1 and a half\n2"),
        ("...\n1\n...", "1"),
    ],
)
def test_what_is_the_same(shown: str, printed: str) -> None:
    assert matches(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("one", ""),
        ("", "one"),
        ("one two", "onetwo"),
        ("a ... c", "a b d"),
        ("a...a", "a"),
        ("x ... b ... b", "x b"),
        ("1\n...\n4", "1\n2\n3"),
        ("0....", "1.461"),
    ],
)
def test_what_is_not(shown: str, printed: str) -> None:
    assert not matches(shown, printed)


@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_it_is_the_obvious_pattern(pieces: list[str], printed: str) -> None:
    pattern = re.compile(".*".join(re.escape(re.sub(" +", " ", piece)) for piece in pieces), re.DOTALL)
    assert matches("...".join(pieces), printed) == bool(pattern.fullmatch(re.sub(" +", " ", printed)))
