"""The server goes on when nobody reads what it prints."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest
import support

from mockvllm.console import say


@pytest.mark.parametrize("num_lines", [1, 3, 9])
def test_a_server_whose_output_nobody_reads_goes_on_in_silence(num_lines: int, tmp_path: Path) -> None:
    port, errors = support.free_port(), tmp_path / "errors"
    argv = support.mockvllm("serve", "--host", "127.0.0.1", "--port", str(port))
    with errors.open("wb") as stderr, subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr) as process:
        try:
            assert process.stdout is not None
            for _ in range(num_lines):
                assert process.stdout.readline()
            process.stdout.close()
            with httpx.Client(transport=httpx.HTTPTransport(retries=9), base_url=f"http://127.0.0.1:{port}") as client:
                assert [client.get("/health").status_code for _ in range(5)] == [200] * 5
        finally:
            process.terminate()
        assert process.wait(5) == 0
    printed = errors.read_text()
    assert "Application startup complete" in printed
    assert "Traceback" not in printed
    assert "Broken pipe" not in printed


def test_what_is_said_is_there_at_once_until_the_reader_leaves() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream:
        say(stream, "one\n")
        assert os.read(reader, 100) == b"one\n"
        os.close(reader)
        say(stream, "two\n")
        say(stream, "three\n")
