"""Stop strings token by token against a look at the whole text."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers.output import NO_STOP, Output, StopRules
from mockvllm.answers.script import Script, Speech

TEXTS = st.lists(st.text("abñ🙂", max_size=4), min_size=1, max_size=12)
STOPS = st.lists(st.text("abñ🙂", min_size=1, max_size=5), min_size=1, max_size=4)


def output(texts: Sequence[str], rules: StopRules = NO_STOP, end_ids: frozenset[int] = frozenset()) -> Output:
    """An output over tokens 0, 1, 2, ... of these texts."""
    return Output(Script(Speech(enumerate(texts), str.encode), None, {}), rules, end_ids)


def reference(texts: Sequence[str], rules: StopRules) -> tuple[str, str | None, int]:
    """(text, stop string, tokens) by looking at the whole text after every token."""
    whole = ""
    for count, text in enumerate(texts, 1):
        known, whole = whole, whole + text
        ends = [
            (end, place, stop)
            for place, stop in enumerate(rules.stop)
            for end in range(len(known) + 1, len(whole) + 1)
            if whole[:end].endswith(stop)
        ]
        if ends and count > rules.min_tokens:
            end, _, stop = min(ends)
            return whole[: end if rules.include else end - len(stop)], stop, count
    return whole, None, len(texts)


@given(TEXTS, STOPS, st.booleans(), st.integers(0, 4), st.integers(1, 3))
def test_stop_strings_are_found_as_in_the_whole_text(
    texts: list[str], stop: list[str], include: bool, min_tokens: int, step: int
) -> None:
    rules = StopRules(stop, include, min_tokens)
    said = output(texts, rules)
    pieces = []
    for start in range(0, len(texts), step):
        said.advance(min(step, len(texts) - start))
        last = start + step >= len(texts)
        pieces.append(said.collect(finished=last or said.stop_reason is not None).text)
        if said.stop_reason is not None:
            break
    assert ("".join(pieces), said.stop_reason, said.num_tokens) == reference(texts, rules)


@given(TEXTS, STOPS)
def test_what_may_become_a_stop_string_is_held_back(texts: list[str], stop: list[str]) -> None:
    said = output(texts, StopRules(stop))
    whole, sent = "", ""
    for text in texts:
        whole += text
        said.advance(1)
        if said.stop_reason is not None:
            return
        sent += said.collect().text
        assert sent == whole[: max(0, len(whole) - max(map(len, stop)) + 1)]


@given(TEXTS)
def test_without_stop_strings_every_token_leaves_at_once(texts: list[str]) -> None:
    said = output(texts)
    for index, text in enumerate(texts):
        said.advance(1)
        delta = said.collect()
        assert (delta.text, delta.start, delta.token_ids) == (text, index, [index])


def test_tokens_behind_a_stop_string_are_not_said() -> None:
    said = output(["uno ", "dos ", "tres"], StopRules(["os"]))
    said.advance(3)
    delta = said.collect(finished=True)
    assert (delta.text, delta.token_ids, said.num_tokens) == ("uno d", [0, 1], 2)


def test_a_stop_token_is_counted_but_not_shown() -> None:
    said = output(["hola", "<fin>"], end_ids=frozenset([1]))
    assert said.ends_silently("stop", 2)
    assert not said.ends_silently("length", 2)
    assert not said.ends_silently("stop", 1)
    said.advance(2, silent_end=True)
    delta = said.collect(finished=True)
    assert (delta.text, delta.token_ids) == ("hola", [0, 1])


def test_a_stop_token_is_shown_if_stop_strings_are_included() -> None:
    assert not output(["hola", "<fin>"], StopRules(include=True), frozenset([1])).ends_silently("stop", 2)


def test_a_stop_string_completed_by_the_token_before_the_stop_token_counts() -> None:
    said = output(["hola", "<fin>"], StopRules(["la"]), frozenset([1]))
    said.advance(2, silent_end=True)
    assert (said.stop_reason, said.num_tokens, said.collect(finished=True).text) == ("la", 1, "ho")
