"""`mockvllm serve`: from settings to a listening server."""

import asyncio
import gc
import resource
import sys
import time
from datetime import datetime
from socket import socket

import uvicorn
import uvloop

from mockvllm.server.app import Application, build_app
from mockvllm.server.backend import Backend
from mockvllm.server.build import build_backend
from mockvllm.server.lifecycle import Server, listen
from mockvllm.server.log_format import LogFormat, stream_of
from mockvllm.server.protocol import protocol_of
from mockvllm.server.startup_log import Startup, address, startup_records, write
from mockvllm.server.tls import check_tls
from mockvllm.settings import Environment, Settings, SettingsError

GC_THRESHOLDS = (50_000, 50, 1_000)


def run(settings: Settings, environment: Environment) -> int:
    """Serve until told to stop. Returns the exit status: 1 when the address cannot be had, 2 for settings that cannot
    be, each with one line that names it."""
    try:
        check_tls(settings)
        with listen(settings.host, settings.port, settings.uds) as sock:
            raise_file_limit()
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(serve(settings, environment, sock))
    except SettingsError as error:
        return complain(str(error), 2)
    except OSError as error:
        return complain(str(error.strerror), 1)
    return 0


def complain(text: str, status: int) -> int:
    sys.stderr.write(f"mockvllm serve: error: {text}\n")
    return status


async def serve(settings: Settings, environment: Environment, sock: socket) -> None:
    began = time.monotonic()
    backend = build_backend(settings, environment, asyncio.get_running_loop())
    application = build_app(backend)
    print_startup(backend, application, sock, time.monotonic() - began)
    config = uvicorn.Config(
        application.asgi,
        http=protocol_of(application.taskless_paths),
        interface="asgi3",  # the layers are no coroutine functions, by which uvicorn would know it
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=True,
        log_level=settings.uvicorn_log_level,
        timeout_keep_alive=environment.VLLM_HTTP_TIMEOUT_KEEP_ALIVE,
        ssl_keyfile=settings.ssl_keyfile,
        ssl_certfile=settings.ssl_certfile,
    )
    tune_collector()
    try:
        await Server(config, backend.driver.stop, settings.shutdown_timeout).serve([sock])
    finally:
        backend.close()


def print_startup(backend: Backend, application: Application, sock: socket, seconds: float) -> None:
    """vLLM's lines, from the logo to the routes."""
    settings, environment = backend.settings, backend.environment
    stream = stream_of(environment)
    startup = Startup(
        settings,
        environment,
        backend.derived,
        backend.profile,
        num_gpu_blocks=backend.driver.core.engine.config.num_gpu_blocks,
        address=address(settings, sock.getsockname()[1] if not settings.uds else 0),
        routes=application.routes,
        default_sampling_params=backend.chat.config.default_sampling,
        seconds=seconds,
    )
    write(startup_records(startup), LogFormat.of(settings, environment, stream.isatty()), stream, datetime.now())


def raise_file_limit() -> None:
    """As many open connections as the machine allows: the soft limit is often 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def tune_collector() -> None:
    """A full collection stalls every stream for 27-170 ms: it comes rarely, and without what start-up made."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
