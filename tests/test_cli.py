import subprocess
import sys


def mockvllm(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mockvllm", *args], capture_output=True, text=True, timeout=60)


def test_version_is_printed() -> None:
    assert mockvllm("--version").stdout.startswith("mockvllm ")


def test_an_unknown_command_is_named_and_exits_2() -> None:
    run = mockvllm("sevre")
    assert run.returncode == 2
    assert "no such command: sevre" in run.stderr


def test_who_stops_reading_gets_no_traceback() -> None:
    command = f"{sys.executable} -m mockvllm serve --help=all | head -n 1"
    run = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
