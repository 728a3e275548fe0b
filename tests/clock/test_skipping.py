"""Virtual time for whoever wants to move on by himself."""

from hypothesis import given
from hypothesis import strategies as st

from mockvllm.clock import VirtualClock

INFINITY = float("inf")


def test_the_next_deadline_is_the_first_that_was_not_cancelled() -> None:
    clock, seen = VirtualClock(), []
    first = clock.call_at(1.0, lambda: None)
    clock.call_at(2.0, lambda: None)
    clock.call_at(0.5, lambda: seen.append(clock.next_deadline()))
    first.cancel()
    clock.run()
    assert seen == [2.0]
    assert clock.next_deadline() == INFINITY


def test_what_happens_soon_is_due_now() -> None:
    clock, seen = VirtualClock(), []

    def at_once() -> None:
        clock.call_soon(lambda: None)
        seen.append((clock.next_deadline(), clock.skip_to(1.5)))

    clock.call_at(1.0, at_once)
    clock.run()
    assert seen == [(1.0, False)]


def test_the_end_of_a_run_is_a_deadline() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(
        1.0, lambda: seen.append((clock.next_deadline(), clock.skip_to(4.0), clock.skip_to(2.5), clock.now()))
    )
    clock.run(until=4.0)
    assert seen == [(4.0, False, True, 2.5)]
    assert clock.now() == 4.0


@given(st.lists(st.integers(0, 20), max_size=10), st.integers(0, 20))
def test_nothing_is_skipped_over(deadlines: list[int], target: int) -> None:
    clock, seen = VirtualClock(), []
    for when in deadlines:
        clock.call_at(when, lambda: seen.append(clock.now()))
    skipped = clock.skip_to(target)
    assert skipped == all(when > target for when in deadlines)
    assert clock.now() == (target if skipped else 0)
    clock.run()
    assert seen == sorted(deadlines)
