"""The POST of /v1/responses: as any that generates, unless the response is to be made in the background."""

from starlette.responses import Response

from mockvllm.server.backend import Backend
from mockvllm.server.exchange import Exchange, Stream, Whole
from mockvllm.server.generation import Generation
from mockvllm.server.journal import Entry
from mockvllm.server.responses_store import Recording
from mockvllm.wire.jsontext import compact
from mockvllm.wire.prepared import Prepared


class ResponsesGeneration(Generation):
    needs_task = True

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend, backend.responses.prepare)
        self._store = backend.responses.store

    def detached(self, entry: Entry, prepared: Prepared) -> Response | None:
        """A background response is answered as it stands, or followed; it ends, whoever leaves."""
        queued = self._store.queued(prepared.request_id)
        if queued is None:
            return None
        recording = Recording()
        kind: type[Exchange] = Stream if prepared.stream else Whole
        exchange = kind(prepared, self._backend.driver, entry, recording)
        self._store.run(prepared.request_id, recording, exchange.leave)
        exchange.start()
        if not prepared.stream:
            return Response(compact(queued), media_type="application/json")
        from mockvllm.server.event_stream import EventStream

        return EventStream(recording.follow())
