"""`prefill_schedule_interval`: with k > 1, prompts may be computed only in every k-th step while somebody decodes."""

from collections.abc import Iterable

from mockvllm.engine.output import SchedulerOutput
from mockvllm.engine.request import Request


class PrefillInterval:
    """vLLM 0.33.0. Held: fewer than `interval` executed steps, the coming one included, lie since the last that carried
    prefill, some running request decodes, and the last pass that was not held left nobody waiting."""

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._steps_since_prefill: int | None = None
        self._left_waiting = False
        self._prefilling: list[Request] = []
        self._admitted_prefill = False
        self.held = False

    def begin(self, running: Iterable[Request]) -> None:
        """Decides whether prefill is held in the schedule() call that begins."""
        running = list(running)
        self._prefilling = [request for request in running if request.is_prefill_chunk]
        self._admitted_prefill = False
        since = self._steps_since_prefill
        too_soon = since is not None and since + 1 < self._interval
        self.held = too_soon and not self._left_waiting and len(self._prefilling) < len(running)

    def admitted(self, num_tokens_to_compute: int) -> None:
        """A request got its seat."""
        self._admitted_prefill |= num_tokens_to_compute > 1

    def end(self, output: SchedulerOutput, num_left_waiting: int | None) -> None:
        """Counts the step that was just scheduled, unless it is empty. None: nobody could be admitted in it."""
        if num_left_waiting is not None and not self.held:
            self._left_waiting = num_left_waiting > 0
        if not output.total_num_scheduled_tokens:
            return
        if self._admitted_prefill or any(request in output.requests for request in self._prefilling):
            self._steps_since_prefill = 0
        elif self._steps_since_prefill is not None:
            self._steps_since_prefill += 1
