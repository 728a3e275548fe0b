"""A whole server in this process that takes no time to answer, and what must hold of every answer."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx

from mockvllm.server.app import build_app
from mockvllm.server.backend import Backend
from mockvllm.server.build import build_backend
from mockvllm.settings import load
from mockvllm.testing.transport import InProcessTransport

FLAGS = ("--ttft-ms", "0", "--itl-ms", "0", "--max-model-len", "256", "--disable-uvicorn-access-log", "--no-control")
PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
POOLING = ("--runner", "pooling", "--hf-overrides", '{"hidden_size": 16, "is_matryoshka": true}')
HANG = 10.0
"""Seconds after which an answer is taken for one that never comes; the longest takes a tenth of that."""
MOST_CHOICES = 3
_ENDS = ("[DONE]", "message_stop", "response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True)
class Asked:
    """One request; `body`: bytes as they are sent."""

    method: str
    path: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    query: str = ""


class Application:
    def __init__(self, *flags: str) -> None:
        settings, environment = load([*FLAGS, *flags], {})
        self._backend: Backend = build_backend(settings, environment, asyncio.get_running_loop())
        self._client = httpx.AsyncClient(
            transport=InProcessTransport(build_app(self._backend).asgi), base_url="http://mock"
        )

    async def send(self, asked: Asked) -> httpx.Response:
        """The answer. TimeoutError: it hangs."""
        url = httpx.URL("http://mock").copy_with(raw_path=f"{asked.path}{asked.query}".encode())
        sent = self._client.request(asked.method, url, content=asked.body, headers=asked.headers)
        return await asyncio.wait_for(sent, HANG)

    async def idle(self) -> bool:
        """Nobody is in the engine any more, some moments after the last answer."""
        engine = self._backend.driver.core.engine
        for _ in range(1000):
            if not engine.num_running and not engine.num_waiting:
                return True
            await asyncio.sleep(0.001)
        return False


def few_choices(body: Any) -> Any:
    """The same request with no more choices than a test can wait for."""
    wanted = body.get("n") if isinstance(body, dict) else None
    return {**body, "n": MOST_CHOICES} if isinstance(wanted, int | float) and wanted > MOST_CHOICES else body


def check(asked: Asked, answer: httpx.Response) -> None:
    """It is an answer: no failure of the server's, JSON where it says so, and a stream that ends as it should."""
    assert answer.status_code < 500 or _may_fail(asked.path, answer), (asked, answer.status_code, answer.text)
    kind = answer.headers.get("content-type", "")
    if kind.startswith("application/json"):
        found = json.loads(answer.content)
        if answer.status_code >= 400:
            assert "error" in found or "detail" in found, (asked, found)
    elif kind.startswith("text/event-stream"):
        assert any(end in _last_event(answer.text) for end in (*_ENDS, '"error"')), (asked, answer.text[-500:])


def _may_fail(path: str, answer: httpx.Response) -> bool:
    """As in vLLM where nothing can scale; and what is not modelled says so."""
    if path.rstrip("/") == "/scale_elastic_ep":
        return answer.status_code == 500
    return answer.status_code == 501 and answer.json()["error"]["type"] == "NotImplementedError"


def _last_event(text: str) -> str:
    assert text.endswith("\n\n")
    return text.removesuffix("\n\n").rpartition("\n\n")[2]
