"""`mockvllm serve`: from settings to a listening server."""

import asyncio
import gc
import resource
import sys
from socket import socket

import uvicorn
import uvloop

from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.server.lifecycle import Server, listen
from mockvllm.server.protocol import Protocol
from mockvllm.settings import Environment, Settings

GC_THRESHOLDS = (50_000, 50, 1_000)


def run(settings: Settings, environment: Environment) -> int:
    """Serve until told to stop. Returns the exit status: 1 when the address cannot be had, with a line that names it."""
    try:
        sock = listen(settings.host, settings.port, settings.uds)
    except OSError as error:
        print(f"mockvllm: {error.strerror}", file=sys.stderr)
        return 1
    raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, environment, sock))
    return 0


async def serve(settings: Settings, environment: Environment, sock: socket) -> None:
    backend = build_backend(settings, environment, asyncio.get_running_loop())
    config = uvicorn.Config(
        build_app(backend),
        http=Protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=True,
        log_level=settings.uvicorn_log_level,
        timeout_keep_alive=environment.VLLM_HTTP_TIMEOUT_KEEP_ALIVE,
        ssl_keyfile=settings.ssl_keyfile,
        ssl_certfile=settings.ssl_certfile,
    )
    tune_collector()
    await Server(config, backend.driver.stop, settings.shutdown_timeout).serve([sock])


def raise_file_limit() -> None:
    """As many open connections as the machine allows: the soft limit is often 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def tune_collector() -> None:
    """A full collection stalls every stream for 27-170 ms: what start-up made is left out of it, and it comes rarely."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
