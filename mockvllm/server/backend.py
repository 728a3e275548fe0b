"""What the routes share: one engine on one clock, its listeners, and the settings they were made from."""

import logging
from dataclasses import dataclass, field

from mockvllm.clock import Clock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Request, RequestOutput
from mockvllm.profiles import Profile
from mockvllm.server.chat import ChatServing
from mockvllm.server.journal import Journal
from mockvllm.server.kv_events import KVEvents
from mockvllm.server.kv_transfer import KVTransfer
from mockvllm.server.messages import MessagesServing
from mockvllm.server.metrics import Metrics
from mockvllm.server.responses import ResponsesServing
from mockvllm.settings import Environment, Settings
from mockvllm.settings.derive import Derived
from mockvllm.wire.errors import internal_error

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Backend:
    """Made once a server, inside its event loop."""

    settings: Settings
    environment: Environment
    derived: Derived
    profile: Profile
    clock: Clock
    driver: Driver
    journal: Journal
    metrics: Metrics
    chat: ChatServing
    messages: MessagesServing
    responses: ResponsesServing
    kv_events: dict[int, KVEvents] = field(default_factory=dict)  # by data-parallel rank
    kv_transfer: KVTransfer | None = None
    num_open_requests: int = 0

    def close(self) -> None:
        """What is queued for others is sent, and their sockets are closed."""
        for events in self.kv_events.values():
            events.publisher.close()
        if self.kv_transfer is not None:
            self.kv_transfer.close()


def deliver(outputs: list[RequestOutput], now: float) -> None:
    """Hand each result to the choice that owns the request. A defect in one exchange ends that one alone."""
    for output in outputs:
        choice = output.request.owner
        if choice is None:  # its exchange ended with an earlier result of this very update
            continue
        try:
            choice.exchange.deliver(choice, output)
        except Exception:
            log.exception("the answer of %s could not be written", output.request.request_id)
            choice.exchange.fail()


def fail(request: Request) -> None:
    """The engine gave a request up."""
    if request.owner is not None:
        request.owner.exchange.give_up(internal_error())
