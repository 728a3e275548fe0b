"""Starting commands for a test: on a free port, ready once HTTP is answered, ended with the test.

    with support.serve("--ttft-ms", "50") as server:
        httpx.get(f"{server.url}/health")

The fixture `serve` (conftest.py) does the same for the length of one test.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

START_SECONDS = 30.0
STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Service:
    """A running command: where it listens (`http://127.0.0.1:PORT`), its process, all that it printed so far."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def output(self) -> str:
        return self.log.read_text(errors="replace")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def mockvllm(command: str, *flags: str) -> list[str]:
    """The argv of one of our commands, run by the interpreter of the tests."""
    return [sys.executable, "-m", "mockvllm", command, *flags]


@contextlib.contextmanager
def serve(*flags: str, env: Mapping[str, str] | None = None) -> Iterator[Service]:
    """`mockvllm serve` on 127.0.0.1 and a free port."""
    port = free_port()
    argv = mockvllm("serve", *flags, "--host", "127.0.0.1", "--port", str(port))
    with service(argv, port, env=env) as running:
        yield running


@contextlib.contextmanager
def proxy(upstream: str, *flags: str) -> Iterator[Service]:
    """`mockvllm proxy` in front of `upstream` (a URL), on 127.0.0.1 and a free port."""
    port = free_port()
    argv = mockvllm("proxy", "--upstream", upstream, *flags, "--host", "127.0.0.1", "--port", str(port))
    with service(argv, port) as running:
        yield running


@contextlib.contextmanager
def service(argv: Sequence[str], port: int, env: Mapping[str, str] | None = None) -> Iterator[Service]:
    """Run `argv` until the block ends; entered once 127.0.0.1:`port` answers HTTP, whatever the status.

    Raises RuntimeError with the output when the command ends, or stays silent, before that.
    """
    with tempfile.NamedTemporaryFile(prefix="mockvllm-test-", suffix=".log") as log:
        process = _start(argv, log, env)
        running = Service(f"http://127.0.0.1:{port}", process, Path(log.name))
        try:
            _await_http(running)
            yield running
        finally:
            stop(process)


def _start(argv: Sequence[str], log: IO[bytes], env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"} | dict(env or {})
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)


def _await_http(running: Service) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False, timeout=5.0) as client:
        while time.monotonic() < deadline:
            if running.process.poll() is not None:
                raise RuntimeError(f"ended with {running.process.returncode} before it served:\n{running.output()}")
            with contextlib.suppress(httpx.TransportError):
                client.get(f"{running.url}/health")
                return
            time.sleep(0.02)
    raise RuntimeError(f"no answer on {running.url} within {START_SECONDS:.0f} s:\n{running.output()}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """End it with SIGTERM; what an open stream holds back (as vLLM does) ends with SIGKILL."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
