"""The control API under `/mock/`: for loopback peers, and for whoever has `--control-key`."""

import hmac
import ipaddress
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, HTTPException, Query, Request
from fastapi.responses import JSONResponse

from mockvllm.clock import LiveClock, ManualClock
from mockvllm.server.asgi import Scope, header
from mockvllm.server.backend import Backend
from mockvllm.server.journal_view import summary, whole
from mockvllm.server.layers.auth import bearer
from mockvllm.server.protocol import connection

LIMIT = 100  # entries in a list, unless it is asked for more: each takes some 30 us of the loop


def is_loopback(peer: str | None) -> bool:
    """IPv4 within IPv6 too. Unix sockets have no peer address: whoever may open the socket is local."""
    if peer is None:
        return True
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def is_local(scope: Scope) -> bool:
    """Whether the client is on this machine, and so is everybody between: a forwarded address is only a claim, which
    whoever connects makes, or whoever he forwards."""
    handle = connection(scope)
    peers = [peer[0] if peer else None for peer in (scope.get("client"), handle.protocol.client if handle else None)]
    hops = (value.decode("latin-1").split(",") for name, value in scope["headers"] if name == b"x-forwarded-for")
    return all(map(is_loopback, [*peers, *(hop.strip() for several in hops for hop in several)]))


def guard(key: str | None) -> Any:
    """A dependency that answers 403 to anybody else, and says how the door is opened."""

    def allowed(request: Request) -> None:
        given = bearer(header(request.scope, b"authorization"))
        if key and hmac.compare_digest(given, key.encode()):
            return
        if not is_local(request.scope):
            detail = (
                "the control API is open to loopback peers, or with --control-key KEY and Authorization: Bearer KEY"
            )
            raise HTTPException(403, detail)

    return Depends(allowed)


def router(backend: Backend) -> APIRouter:
    scale = backend.clock.scale if isinstance(backend.clock, LiveClock) else None
    routes = APIRouter(prefix="/mock", include_in_schema=False, dependencies=[guard(backend.settings.control_key)])

    @routes.get("/requests")
    async def requests(state: str | None = None, limit: Annotated[int, Query(ge=0)] = LIMIT) -> JSONResponse:
        """The newest that are in this state, newest last."""
        found = (entry for entry in reversed(backend.journal) if state is None or entry.state == state)
        return JSONResponse({"requests": [summary(entry) for entry in islice(found, limit)][::-1]})

    @routes.get("/requests/{wanted}")
    async def request(wanted: str) -> JSONResponse:
        entry = backend.journal.find(wanted)
        if entry is None:
            raise HTTPException(404, f"no request {wanted!r} in the journal (it keeps the last {backend.journal.size})")
        return JSONResponse(whole(entry, backend.journal.block_size, scale))

    @routes.post("/reset")
    async def reset() -> dict[str, bool]:
        """Empty the journal. Requests that are under way go on."""
        backend.journal.clear()
        return {"reset": True}

    @routes.get("/clock")
    async def now() -> dict[str, float]:
        return {"now": backend.clock.now()}

    @routes.post("/clock")
    async def advance(advance_s: Annotated[float, Body(embed=True)]) -> dict[str, float]:
        """Move a manual clock by so many seconds."""
        if not isinstance(backend.clock, ManualClock):
            raise HTTPException(409, "only a manual clock can be advanced: start with --clock manual")
        if not 0 <= advance_s < float("inf"):
            raise HTTPException(400, f"advance_s must be a number of seconds from 0 on, got {advance_s}")
        return {"now": backend.clock.advance(advance_s)}

    return routes
