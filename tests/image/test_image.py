"""The image, built from the Dockerfile and run for real, without a daemon (scripts/image)."""

import contextlib
import json
import os
import shutil
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
PROGRAMS = {"buildah": "buildah", "debootstrap": "debootstrap", "ip": "iproute2", "pgrep": "procps", "curl": "curl"}
KEY = "let-me-in"
PEER = "192.0.2.1"  # RFC 5737: an address that nobody has
LARGEST_MB = 260  # half of it is Debian with Python

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="root alone can build an image in a chroot"),
    *(
        pytest.mark.skipif(shutil.which(program) is None, reason=f"needs Debian's package {package}")
        for program, package in PROGRAMS.items()
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


@pytest.fixture(scope="module")
def container(config: dict[str, Any]) -> Iterator[support.Service]:
    """The image on this machine's network, with flags behind its entry point."""
    port = support.free_port()
    with support.service([SCRIPT, "run", "--port", str(port), "--ttft-ms", "50", "--itl-ms", "5"], port) as running:
        yield running


@pytest.fixture(scope="module")
def bridged(config: dict[str, Any]) -> Iterator[list[str]]:
    """`docker run IMAGE --control-key KEY`: a network of its own, the image's port, peers that are not loopback.

    Gives the words in front of a command that runs in that network.
    """
    name = f"mockvllm-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        ip("netns", "add", name)
        stack.callback(ip, "netns", "del", name)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{PEER}/24", "dev", "lo")
        inside = ["ip", "netns", "exec", name]
        running = stack.enter_context(subprocess.Popen([*inside, SCRIPT, "run", "--control-key", KEY]))
        stack.callback(support.stop, running)
        yield inside


def ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, timeout=10)


def first_process(script: int) -> int:
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


def status(inside: list[str], path: str, *options: str) -> int:
    patience = ["--retry", "50", "--retry-connrefused", "--retry-delay", "1", "--max-time", "60"]
    argv = [*inside, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *patience, *options]
    run = subprocess.run([*argv, f"http://{PEER}:8000{path}"], capture_output=True, text=True, timeout=90)
    return int(run.stdout)


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


def test_without_flags_it_serves_every_address_on_its_port(bridged: list[str]) -> None:
    assert status(bridged, "/v1/models") == 200


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], 403), (["-H", "Authorization: Bearer other"], 403), (["-H", f"Authorization: Bearer {KEY}"], 200)],
)
def test_the_control_key_opens_the_journal_to_who_has_it(bridged: list[str], options: list[str], expected: int) -> None:
    assert status(bridged, "/mock/requests", *options) == expected


def test_its_health_check_tells_a_server_from_none(bridged: list[str]) -> None:
    assert status(bridged, "/health") == 200
    assert subprocess.run([*bridged, SCRIPT, "health"], timeout=60).returncode == 0
    elsewhere = ["-e", "HEALTH_URL=http://127.0.0.1:9000/health"]
    assert subprocess.run([*bridged, SCRIPT, "health", *elsewhere], capture_output=True, timeout=60).returncode != 0


def test_its_server_is_not_root(container: support.Service) -> None:
    assert Path(f"/proc/{first_process(container.process.pid)}").stat().st_uid == 65532


def test_it_is_small_and_holds_nothing_of_the_machine_that_built_it(config: dict[str, Any]) -> None:
    images = json.loads(image("buildah", "images", "--json", "localhost/mockvllm"))
    assert float(images[0]["size"].removesuffix(" MB")) < LARGEST_MB
    names = [variable.partition("=")[0] for variable in config["Env"]]
    assert sorted(names) == ["HEALTH_URL", "PATH", "PYTHONUNBUFFERED"]
    root = Path(image("buildah", "mount", "mockvllm").strip())
    assert not (root / "etc" / "pip.conf").exists()
    assert not list((root / "mnt").iterdir())
    assert not list(root.glob("opt/mockvllm/lib/python3*/site-packages/pip"))


def test_it_ends_within_a_second_of_sigterm(config: dict[str, Any]) -> None:
    port = support.free_port()
    with support.service([SCRIPT, "run", "--port", str(port)], port) as running:
        server = Path(f"/proc/{first_process(running.process.pid)}/exe")
        running.process.terminate()
        deadline = time.monotonic() + 1.0
        while server.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not server.exists()
