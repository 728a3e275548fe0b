"""The only source of "now" and of deadlines: whoever decides when something is said asks a clock, and tests step it."""

from mockvllm.clock.live import LiveClock
from mockvllm.clock.manual import ManualClock
from mockvllm.clock.protocol import Clock, Timer
from mockvllm.clock.virtual import VirtualClock

__all__ = ["Clock", "LiveClock", "ManualClock", "Timer", "VirtualClock"]
