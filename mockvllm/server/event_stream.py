"""sse-starlette's response with vLLM's headers. Imported on first use: it hooks itself into uvicorn's signals."""

from sse_starlette import EventSourceResponse
from sse_starlette.sse import AppStatus, ContentStream

AppStatus.enable_automatic_graceful_drain = False  # leaving is the server's business, and vLLM's streams are not ended


class EventStream(EventSourceResponse):
    """Events are written as they are, with no pings and no header but the content type, as vLLM's StreamingResponse."""

    def __init__(self, content: ContentStream) -> None:
        super().__init__(content, sep="\n", ping=0)
        self.raw_headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
