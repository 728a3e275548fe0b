"""`--uds` and the TLS files: what is wrong is one line that names flag and path, and a socket's file comes and goes."""

import errno
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import support
from server.harness import CHAT, chat

from mockvllm.server.tls import check_tls
from mockvllm.server.unix_socket import unix_socket
from mockvllm.settings import SettingsError, load


def stale(path: Path) -> None:
    """What a killed server leaves behind."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def test_the_file_is_there_as_long_as_the_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix_socket(str(path)) as sock:
        sock.listen()
        assert path.is_socket()
    assert not path.exists()


def test_a_stale_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    stale(path)
    with unix_socket(str(path)) as sock, socket.socket(socket.AF_UNIX) as client:
        sock.listen()
        client.connect(str(path))
    assert not path.exists()


def test_another_s_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix_socket(str(path)):
        path.rename(tmp_path / "old")
        stale(path)
    assert path.is_socket()
    with unix_socket(str(path)):
        path.unlink()


@pytest.mark.parametrize("backlog", [0, 5])
def test_a_path_in_use_is_an_address_in_use_however_busy_it_is(backlog: int, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with unix_socket(path) as sock:
        sock.listen(backlog)
        with (
            socket.socket(socket.AF_UNIX) as other,
            pytest.raises(OSError, match=r"--uds .*/s: Address already") as found,
        ):
            other.connect(path)
            with unix_socket(path):
                pass
        assert found.value.errno == errno.EADDRINUSE
        assert Path(path).is_socket()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing/s", "No such file or directory"),
        ("file", "there is a file that is no socket"),
        (".", "there is a file that is no socket"),
        ("x" * 200, "AF_UNIX path too long"),
        ("file/s", "Not a directory"),
    ],
)
def test_a_path_that_cannot_be_one(name: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SettingsError, match=f"^--uds {tmp_path / name}: {why}$"), unix_socket(str(tmp_path / name)):
        pass
    assert (tmp_path / "file").read_text() == "precious"


def refusal(*flags: str) -> tuple[int, str]:
    run = subprocess.run(support.mockvllm("serve", *flags), capture_output=True, text=True, timeout=30)
    return run.returncode, run.stderr


@contextmanager
def serving(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    argv = support.mockvllm("serve", "--uds", str(path), "--ttft-ms", "1", "--itl-ms", "1")
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not accepts(path):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        support.stop(process)


def accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def test_a_server_on_a_unix_socket_from_its_start_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "s"
    stale(path)
    with serving(path) as process:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://mock") as client:
            assert client.post(CHAT, json=chat(max_tokens=2)).status_code == 200
            assert len(client.get("/mock/requests").json()["requests"]) == 1
        message = f"mockvllm serve: error: cannot listen on --uds {path}: Address already in use\n"
        assert refusal("--uds", str(path)) == (1, message)
    assert process.returncode == 0
    assert not path.exists()


def test_a_wrong_path_ends_with_2(tmp_path: Path) -> None:
    path = tmp_path / "no" / "s"
    assert refusal("--uds", str(path)) == (2, f"mockvllm serve: error: --uds {path}: No such file or directory\n")


def tls(*flags: str) -> None:
    check_tls(load([*flags], {})[0])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("Debian package: openssl")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    subject = ["-subj", "/CN=localhost", "-days", "2"]
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, *subject]
    subprocess.run(new, check=True, capture_output=True)
    return cert, key


def test_a_certificate_and_its_key_are_fine(pair: tuple[str, str]) -> None:
    tls()
    tls("--ssl-certfile", pair[0], "--ssl-keyfile", pair[1])


def test_files_that_are_missing_are_named_by_their_flag(pair: tuple[str, str], tmp_path: Path) -> None:
    cert, key = pair
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(SettingsError, match=f"^--ssl-certfile {missing}: No such file or directory$"):
        tls("--ssl-certfile", missing, "--ssl-keyfile", key)
    with pytest.raises(SettingsError, match=f"^--ssl-keyfile {missing}: No such file or directory$"):
        tls("--ssl-certfile", cert, "--ssl-keyfile", missing)
    status, message = refusal("--ssl-certfile", missing)
    assert (status, message) == (2, f"mockvllm serve: error: --ssl-certfile {missing}: No such file or directory\n")


def test_files_that_are_something_else_are_named(pair: tuple[str, str]) -> None:
    cert, key = pair
    for flags in (["--ssl-certfile", key, "--ssl-keyfile", cert], ["--ssl-certfile", cert]):
        with pytest.raises(SettingsError, match=f"--ssl-certfile {flags[1]}.*: no certificate with its key"):
            tls(*flags)


def test_a_server_with_a_certificate_speaks_tls(pair: tuple[str, str]) -> None:
    port = support.free_port()
    argv = support.mockvllm("serve", "--host", "127.0.0.1", "--port", str(port))
    process = subprocess.Popen(
        [*argv, "--ssl-certfile", pair[0], "--ssl-keyfile", pair[1]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        trusting = ssl.create_default_context(cafile=pair[0])
        with httpx.Client(transport=httpx.HTTPTransport(verify=trusting, retries=9)) as client:
            assert client.get(f"https://localhost:{port}/health").status_code == 200
    finally:
        support.stop(process)
