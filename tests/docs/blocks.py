"""The fenced blocks of a page, and the commands of a `console` block."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """What stands behind `$`, with its continuation lines, and the output shown below it."""

    text: str
    output: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(found["language"], found["text"], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    """`$ command` lines, each with the lines up to the next one. After a `\\` or inside quotes a command goes on."""
    lines = block.text.splitlines()
    while lines:
        first = lines.pop(0)
        assert first.startswith("$ "), f"line {block.line}: a console block starts with a command, not {first!r}"
        text = first.removeprefix("$ ")
        while lines and not _is_whole(text):
            text += "\n" + lines.pop(0)
        output = []
        while lines and not lines[0].startswith("$ "):
            output.append(lines.pop(0))
        yield Command(text, "\n".join(output))


def _is_whole(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return not text.endswith("\\")
