"""An exchange between a real engine and a socket that is now writable and now not. No sockets, no sleeping."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from server.harness import chat, content, events

from mockvllm.clock import ManualClock
from mockvllm.server.backend import Backend
from mockvllm.server.build import build_backend
from mockvllm.server.exchange import Stream, Whole
from mockvllm.server.journal import Entry
from mockvllm.settings import load

JSON = [(b"content-type", b"application/json")]


class Valve:
    """A sink that a test opens and closes."""

    def __init__(self) -> None:
        self.open = True
        self.writes: list[bytes] = []
        self.ended = False
        self._when_ready: Callable[[], None] | None = None

    def ready(self, when_ready: Callable[[], None]) -> bool:
        if not self.open:
            self._when_ready = when_ready
        return self.open

    def write(self, payload: bytes, last: bool) -> None:
        assert self.open
        assert not self.ended
        self.writes.append(payload)
        self.ended = last

    def abort(self) -> None:
        self.ended = True

    def reopen(self) -> None:
        self.open = True
        if self._when_ready is not None:
            when_ready, self._when_ready = self._when_ready, None
            when_ready()

    @property
    def text(self) -> str:
        return b"".join(self.writes).decode()


@pytest.fixture
async def backend() -> Backend:
    flags = ["--clock", "manual", "--ttft-ms", "10", "--itl-ms", "10", "--answer", "repeat"]
    return build_backend(*load(flags, {}), asyncio.get_running_loop())


def begin(backend: Backend, **fields: Any) -> tuple[Valve, Stream, Entry]:
    body = json.dumps(chat(stream=True, stream_options={"include_usage": True}, **fields)).encode()
    entry = Entry(backend.clock.now, "POST", "/", [], body)
    prepared = backend.chat.prepare(body, JSON, entry.accepted)
    entry.admit(prepared)
    valve = Valve()
    stream = Stream(prepared, backend.driver, entry, valve)
    stream.start()
    return valve, stream, entry


def advance(backend: Backend, tokens: int) -> None:
    assert isinstance(backend.clock, ManualClock)
    backend.clock.advance(tokens * 0.010)


async def test_tokens_that_pile_up_come_as_one_event(backend: Backend) -> None:
    valve, _, entry = begin(backend, max_tokens=20)
    advance(backend, 3)
    assert [len(events(write.decode())) for write in valve.writes] == [2, 1, 1]
    valve.open = False
    advance(backend, 7)
    assert len(valve.writes) == 3
    valve.reopen()
    assert content(valve.writes[3].decode()) == " mañana y llega en dos o tres"
    assert len(events(valve.writes[3].decode())) == 1
    advance(backend, 10)
    assert valve.ended
    assert entry.tokens_written == 20
    assert events(valve.text)[-2]["usage"]["completion_tokens"] == 20


async def test_an_end_that_nobody_could_read_yet_comes_with_the_rest(backend: Backend) -> None:
    valve, _, entry = begin(backend, max_tokens=5, n=2, temperature=1)
    advance(backend, 2)
    valve.open = False
    advance(backend, 10)
    assert entry.state == "finished"
    assert not valve.ended
    valve.reopen()
    chunks = events(valve.text)
    reasons = [(choice["index"], choice["finish_reason"]) for chunk in chunks[:-1] for choice in chunk["choices"]]
    assert [pair for pair in reasons if pair[1]] == [(0, "length"), (1, "length")]
    assert (chunks[-2]["usage"]["completion_tokens"], chunks[-1]) == (10, "[DONE]")
    assert valve.ended


@pytest.mark.parametrize("closed_after", [0, 1, 3])
async def test_a_stop_string_ends_the_request_though_nobody_reads(backend: Backend, closed_after: int) -> None:
    valve, _, entry = begin(backend, max_tokens=400, stop=["llega"], n=2, temperature=1)
    advance(backend, closed_after)
    valve.open = False
    advance(backend, 50)
    assert entry.state == "finished"
    assert [record.num_output_tokens for record in entry.records()] == [6, 6]
    assert backend.driver.core.engine.num_running == 0
    valve.reopen()
    chunks = events(valve.text)
    for index in (0, 1):
        mine = [c for chunk in chunks[:-1] for c in chunk["choices"] if c["index"] == index]
        assert "".join(c["delta"]["content"] for c in mine) == "Tu pedido sale mañana y "
        assert (mine[-1]["finish_reason"], mine[-1]["stop_reason"]) == ("stop", "llega")
    assert (chunks[-2]["usage"]["completion_tokens"], chunks[-1]) == (12, "[DONE]")


async def test_a_defect_in_one_answer_ends_that_one_alone(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broken, stream, entry = begin(backend, max_tokens=9)
    healthy, _, _ = begin(backend, max_tokens=9)
    advance(backend, 2)

    def fail(*args: object) -> bytes:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(stream, "answer", type("Answer", (), {"chunks": fail, "can_stop": False})())
    advance(backend, 20)
    assert broken.ended
    assert entry.state == "failed"
    assert "a bug" in caplog.text
    assert content(healthy.text) == "Tu pedido sale mañana y llega en dos o"


async def test_tokens_that_wait_for_their_event_are_counted_with_it(backend: Backend) -> None:
    valve, _, entry = begin(backend, max_tokens=13, stream_interval=5)
    advance(backend, 40)
    assert valve.ended
    assert entry.tokens_written == 13
    assert [num_tokens for _, num_tokens, _ in entry.writes()][:2] == [1, 5]


async def test_a_stop_string_ends_the_request_on_its_token_though_many_are_due(backend: Backend) -> None:
    valve, _, entry = begin(backend, max_tokens=40, stop=["sale"])
    advance(backend, 60)
    backend.driver.wake()
    assert valve.ended
    (record,) = entry.records()
    assert (record.finish_reason, record.num_output_tokens, entry.tokens_written) == ("stop", 3, 3)


async def test_the_siblings_of_a_broken_answer_do_not_break_the_tick(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, stream, _ = begin(backend, max_tokens=9, n=3, temperature=1)
    healthy, _, _ = begin(backend, max_tokens=9)
    advance(backend, 1)

    def fail(*args: object) -> bytes:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(stream, "answer", type("Answer", (), {"chunks": fail, "can_stop": False})())
    advance(backend, 20)
    assert broken.ended
    assert content(healthy.text) == "Tu pedido sale mañana y llega en dos o"


async def test_a_whole_answer_waits_for_a_peer_that_still_reads_the_one_before(backend: Backend) -> None:
    body = json.dumps(chat(max_tokens=3)).encode()
    entry = Entry(backend.clock.now, "POST", "/", [], body)
    prepared = backend.chat.prepare(body, JSON, entry.accepted)
    entry.admit(prepared)
    valve = Valve()
    valve.open = False
    Whole(prepared, backend.driver, entry, valve).start()
    advance(backend, 20)
    assert valve.writes == []
    valve.reopen()
    assert valve.ended
    assert json.loads(valve.text)["choices"][0]["message"]["content"] == "Tu pedido sale"
