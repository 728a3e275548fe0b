import asyncio
from collections.abc import Callable, Iterator

import httpx
import pytest
from application import PARSERS, POOLING, Application, Asked, check
from hypothesis import settings

Ask = Callable[[Asked], httpx.Response]
"""Sends a request; the answer has been checked."""

settings.register_profile(
    "long", max_examples=1000
)  # pytest --hypothesis-profile long tests/fuzz: some 20,000 requests


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    """A generating server with parsers, a pooling one for embeddings. In the end nobody is left in their engines."""
    with asyncio.Runner() as runner:
        generating, pooling = (runner.run(_start(flags)) for flags in (PARSERS, POOLING))

        def send(asked: Asked) -> httpx.Response:
            server = pooling if asked.path == "/v1/embeddings" else generating
            answer = runner.run(server.send(asked))
            check(asked, answer)
            return answer

        yield send
        assert runner.run(generating.idle())
        assert runner.run(pooling.idle())


async def _start(flags: tuple[str, ...]) -> Application:
    """Inside of the event loop that it belongs to."""
    return Application(*flags)
