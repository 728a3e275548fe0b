"""The image, built from the Dockerfile and run for real, without a daemon (scripts/image)."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import support

ROOT = Path(__file__).parents[2]
SCRIPT = str(ROOT / "scripts" / "image")
KEY = "let-me-in"
LARGEST_MB = 260  # half of it is Debian with Python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="root alone can build an image in a chroot"),
    *(
        pytest.mark.skipif(shutil.which(program) is None, reason=f"needs Debian's package {program}")
        for program in ("buildah", "debootstrap")
    ),
]


def image(*args: str) -> str:
    return subprocess.run([SCRIPT, *args], check=True, capture_output=True, text=True, timeout=600).stdout


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    """The configuration of the freshly built image, as Docker words it."""
    subprocess.run([SCRIPT, "build"], check=True, timeout=600)
    inspected = json.loads(image("buildah", "inspect", "--type", "image", "localhost/mockvllm"))
    return dict(inspected["Docker"]["config"])


@pytest.fixture
def container(config: dict[str, Any]) -> Iterator[support.Service]:
    """The image, run with flags behind its entry point."""
    port = support.free_port()
    flags = ["--port", str(port), "--ttft-ms", "50", "--itl-ms", "5", "--control-key", KEY]
    with support.service([SCRIPT, "run", *flags], port) as running:
        yield running


def server_pid(script: int) -> int:
    """The innermost process below `script`: what a container would call its first."""
    listing = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
    child_of = {int(parent): int(pid) for pid, parent in (line.split() for line in listing.splitlines())}
    pid = script
    while pid in child_of:
        pid = child_of[pid]
    return pid


def chat(url: str, **fields: Any) -> httpx.Response:
    body = {"messages": [{"role": "user", "content": "hola"}], **fields}
    return httpx.post(f"{url}/v1/chat/completions", json=body, timeout=10)


def test_it_declares_its_port_its_health_and_no_command(config: dict[str, Any]) -> None:
    assert config["Entrypoint"] == ["mockvllm", "serve"]
    assert not config["Cmd"]
    assert list(config["ExposedPorts"]) == ["8000/tcp"]
    assert config["Healthcheck"]["Test"][0] == "CMD"


def test_it_answers_and_streams_from_outside(container: support.Service) -> None:
    assert chat(container.url).json()["usage"]["completion_tokens"] == 13
    streamed = chat(container.url, stream=True, max_tokens=4).text
    assert streamed.count('"content":') == 5  # the role, four words
    assert streamed.endswith("data: [DONE]\n\n")


def test_it_listens_on_every_address(container: support.Service) -> None:
    assert httpx.get(f"http://127.0.0.9:{container.port}/health").status_code == 200


def test_its_health_check_tells_a_server_from_none(container: support.Service) -> None:
    def health(port: int) -> int:
        argv = [SCRIPT, "health", "-e", f"HEALTH_URL=http://127.0.0.1:{port}/health"]
        return subprocess.run(argv, capture_output=True, timeout=60).returncode

    assert health(container.port) == 0
    assert health(support.free_port()) != 0


def test_it_is_not_root_and_ends_within_a_second_of_sigterm(container: support.Service) -> None:
    pid = server_pid(container.process.pid)
    assert Path(f"/proc/{pid}").stat().st_uid == 65532
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 1.0
    while Path(f"/proc/{pid}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}/exe").exists()


def test_the_control_key_opens_the_journal(container: support.Service) -> None:
    chat(container.url, max_tokens=2)
    headers = {"Authorization": f"Bearer {KEY}"}
    entries = httpx.get(f"{container.url}/mock/requests", headers=headers).json()["requests"]
    assert [entry["completion_tokens"] for entry in entries] == [2]


def test_it_is_small_and_holds_nothing_of_the_machine_that_built_it(config: dict[str, Any]) -> None:
    images = json.loads(image("buildah", "images", "--json", "localhost/mockvllm"))
    assert float(images[0]["size"].removesuffix(" MB")) < LARGEST_MB
    names = [variable.partition("=")[0] for variable in config["Env"]]
    assert sorted(names) == ["HEALTH_URL", "PATH", "PYTHONUNBUFFERED"]
    container = image("buildah", "from", "--pull-never", "localhost/mockvllm").strip()
    try:
        root = Path(image("buildah", "mount", container).strip())
        assert not (root / "etc" / "pip.conf").exists()
        assert not list((root / "mnt").iterdir())
        assert not list(root.glob("opt/mockvllm/lib/python3*/site-packages/pip"))
    finally:
        image("buildah", "rm", container)
