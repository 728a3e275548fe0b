"""Our own servers, started as the recorded ones were."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mockvllm import profiles
from mockvllm.conformance.exchange import ExchangeError, send
from mockvllm.conformance.recordings import Case, Request

START_S = 60.0
STOP_S = 5.0
TOKEN_MS = "10"
KV_BLOCKS = "4096"
HEALTH = Request("GET", "/health", (), None)


class CannotRunError(ValueError):
    """There is no server to ask."""


def flags(case: Case, model: Path) -> list[str]:
    """The recorded flags, and ours: the recorded model's directory, its script, its pool of blocks; a faster pace."""
    pool = dict(case.env).get("FAKE_KV_BLOCKS", KV_BLOCKS)
    ours = ["--tokenizer", str(model), "--hf-config-path", str(model), "--num-gpu-blocks-override", pool]
    ours += ["--answer", "repeat", "--ttft-ms", TOKEN_MS, "--itl-ms", TOKEN_MS, "--profile", profile_of(case.version)]
    return [*case.flags, *ours, *(() if "--generation-config" in case.flags else ("--generation-config", str(model)))]


def profile_of(version: str) -> str:
    """The profile that follows `version` (0.33.0). Raises CannotRunError if none does."""
    name = version.rpartition(".")[0]
    if name not in profiles.NAMES:
        raise CannotRunError(f"no profile follows vLLM {version}: there are {', '.join(profiles.NAMES)}")
    return name


@contextmanager
def started(case: Case, model: Path) -> Iterator[str]:
    """The URL of a server for this case and those of its configuration; it ends with the block.

    Raises CannotRunError with the last lines of its output when it does not come up.
    """
    port = _free_port()
    argv = [sys.executable, "-m", "mockvllm", "serve", *flags(case, model), "--host", "127.0.0.1", "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=os.environ | case.environ
        )
        try:
            url = f"http://127.0.0.1:{port}"
            if not _comes_up(process, url):
                log.seek(0)
                raise CannotRunError(
                    f"no server with {' '.join(case.flags)}: {log.read().decode(errors='replace')[-400:]}"
                )
            yield url
        finally:
            _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _comes_up(process: subprocess.Popen[bytes], url: str) -> bool:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return send(url, HEALTH, timeout=STOP_S).status == 200
        except ExchangeError:
            time.sleep(0.05)
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
