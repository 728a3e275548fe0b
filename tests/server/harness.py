"""A whole server in this process, its clock in the test's hands."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from mockvllm.clock import ManualClock
from mockvllm.server.app import build_app
from mockvllm.server.backend import Backend
from mockvllm.server.build import build_backend
from mockvllm.settings import load
from mockvllm.testing.transport import InProcessTransport

CHAT = "/v1/chat/completions"


@dataclass
class InProcess:
    """`client` talks to the application without sockets; `advance` moves its clock, and lets everybody run."""

    client: httpx.AsyncClient
    backend: Backend

    async def advance(self, seconds: float) -> None:
        assert isinstance(self.backend.clock, ManualClock)
        await settle()
        self.backend.clock.advance(seconds)
        await settle()

    async def journal(self, wanted: str) -> dict[str, Any]:
        response = await self.client.get(f"/mock/requests/{wanted}")
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


@asynccontextmanager
async def in_process(
    *flags: str, client: tuple[str, int] = ("127.0.0.1", 50000), environ: Mapping[str, str] | None = None
) -> AsyncIterator[InProcess]:
    settings, environment = load(["--clock", "manual", "--disable-uvicorn-access-log", *flags], environ or {})
    backend = build_backend(settings, environment, asyncio.get_running_loop())
    transport = InProcessTransport(build_app(backend).asgi, client)
    async with httpx.AsyncClient(transport=transport, base_url="http://mock") as http:
        yield InProcess(http, backend)


def chat(content: str = "hola", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": content}], **fields}


def events(text: str) -> list[Any]:
    """The JSON of each event; `[DONE]` as it is."""
    data = [event.removeprefix("data: ") for event in text.split("\n\n") if event]
    return [json.loads(item) if item != "[DONE]" else item for item in data]


def content(text: str) -> str:
    chunks = [event for event in events(text) if event != "[DONE]"]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
