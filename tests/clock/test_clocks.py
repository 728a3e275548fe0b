"""Every clock keeps the same promises: absolute deadlines, in order, never early."""

import asyncio
import time

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.clock import LiveClock, ManualClock, VirtualClock


def test_virtual_time_jumps_from_deadline_to_deadline() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(5.0, lambda: seen.append(("late", clock.now())))
    clock.call_at(2.0, lambda: clock.call_at(3.0, lambda: seen.append(("nested", clock.now()))))
    clock.run()
    assert seen == [("nested", 3.0), ("late", 5.0)]


def test_what_must_happen_soon_happens_before_time_moves() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(1.0, lambda: clock.call_soon(lambda: seen.append(clock.now())))
    clock.call_at(1.5, lambda: seen.append(clock.now()))
    clock.run()
    assert seen == [1.0, 1.5]


def test_a_cancelled_deadline_does_not_happen() -> None:
    clock, seen = VirtualClock(), []
    clock.call_at(1.0, lambda: seen.append("cancelled")).cancel()
    clock.call_at(2.0, lambda: seen.append("kept"))
    clock.run()
    assert seen == ["kept"]


@given(st.lists(st.floats(0, 100), max_size=30))
def test_deadlines_come_by_time_and_then_by_order_of_calls(times: list[float]) -> None:
    clock, seen = VirtualClock(), []
    for index, when in enumerate(times):
        clock.call_at(when, lambda index=index: seen.append(index))
    clock.run()
    assert seen == sorted(range(len(times)), key=lambda index: (times[index], index))


async def test_a_manual_clock_moves_only_by_hand() -> None:
    clock, seen = ManualClock(asyncio.get_running_loop()), []
    clock.call_at(0.3, lambda: seen.append("due"))
    clock.call_soon(lambda: seen.append("soon"))
    await asyncio.sleep(0)
    assert seen == ["soon"]
    assert clock.advance(0.29) == pytest.approx(0.29)
    assert seen == ["soon"]
    clock.advance(0.02)
    assert seen == ["soon", "due"]
    with pytest.raises(ValueError, match="-1"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="nan"):
        clock.advance(float("nan"))


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_a_live_clock_is_never_early_and_can_be_scaled(scale: float) -> None:
    async def run() -> None:
        clock = LiveClock(asyncio.get_running_loop(), scale)
        woken = asyncio.Event()
        began = time.monotonic()
        deadline = clock.now() + 0.0504 * scale
        clock.call_at(deadline, woken.set)
        await woken.wait()
        assert clock.now() >= deadline
        assert 0.0503 <= time.monotonic() - began < 0.5

    uvloop.run(run())
