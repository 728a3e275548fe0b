"""One page, executed from top to bottom as its reader would.

* ```` ```console ````: each `$ command` is run by bash in an empty folder, and prints what is shown (shown.py says what
  `...` stands for). `mockvllm serve` and `mockvllm proxy` keep running until the page ends or the same port is wanted
  again; `mockvllm chat` asks port 8000 unless it is told another `--url`.
* ```` ```python ````: run as a script; a ```` ```text ```` block right behind it is its output.
* Other blocks are for reading.

The ports of a page (`localhost:8000`, `--port 9000`) become free ones.
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Self

import support
from blocks import Block, Command, commands
from shown import matches

SERVICES = {"serve": 8000, "proxy": 8001}
PORT = re.compile(r"(?<=localhost:)\d+|(?<=127\.0\.0\.1:)\d+|(?<=--port )\d+")
SECONDS = 60.0


class Session(contextlib.ExitStack):
    """The folder a page works in, its free ports and its running services."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._ports: dict[str, int] = {}
        self._services: dict[int, contextlib.ExitStack] = {}

    def run(self, page: list[Block]) -> Self:
        for block, following in pairwise([*page, Block("", "", 0)]):
            if block.language == "console":
                for command in commands(block):
                    self._command(command, block.line)
            elif block.language == "python":
                expected = following.text if following.language == "text" else None
                self._script([sys.executable, "-c", self._real(block.text)], expected, block.line)
        return self

    def _real(self, text: str) -> str:
        return PORT.sub(lambda port: str(self._port(port[0])), text)

    def _port(self, written: str) -> int:
        if written not in self._ports:
            self._ports[written] = support.free_port()
        return self._ports[written]

    def _command(self, command: Command, line: int) -> None:
        words = shlex.split(command.text, comments=True)
        if words[0] == "mockvllm" and words[1:2] and words[1] in SERVICES and "--help" not in words:
            assert not command.output.strip(), f"line {line}: the output of a service is not looked at"
            self._serve(shlex.split(self._real(command.text), comments=True))
        else:
            text = command.text
            if words[:2] == ["mockvllm", "chat"] and "--url" not in words:
                text = text.replace("mockvllm chat", "mockvllm chat --url http://localhost:8000")
            self._script(["bash", "-euo", "pipefail", "-c", self._real(text)], command.output, line)

    def _serve(self, words: list[str]) -> None:
        if "--port" not in words:
            words += ["--port", str(self._port(str(SERVICES[words[1]])))]
        port = int(words[words.index("--port") + 1])
        self._services.pop(port, contextlib.ExitStack()).close()
        stack = self._services[port] = self.enter_context(contextlib.ExitStack())
        stack.enter_context(support.service(support.mockvllm(*words[1:], "--host", "127.0.0.1"), port))

    def _script(self, argv: list[str], expected: str | None, line: int) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        run = subprocess.run(
            argv, cwd=self.folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=SECONDS
        )
        assert run.returncode == 0, f"line {line}: exit {run.returncode}\n{argv[-1]}\n{run.stdout}{run.stderr}"
        if expected is not None:
            self._compare(expected, run.stdout, line)

    def _compare(self, expected: str, printed: str, line: int) -> None:
        expected = self._real(expected)
        assert matches(expected, printed), (
            f"line {line}: the page shows\n{expected}\nand the command printed\n{printed}"
        )
