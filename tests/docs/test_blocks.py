"""The runner itself: what it finds on a page, and that a page that is wrong fails."""

from pathlib import Path

import pytest
from blocks import Block, Command, blocks, commands
from session import Session

PAGE = """
Text.

```console
$ echo one \\
  two
one ...
$ echo '{
  "a": 1}'
{ "a": 1}
$ true
```

```sh
exit 1
```

```python
print("localhost:8000" == "localhost:" + "8000")
```
```text
False
```
"""


@pytest.fixture
def page(tmp_path: Path) -> list[Block]:
    (tmp_path / "page.md").write_text(PAGE)
    return blocks(tmp_path / "page.md")


def run(folder: Path, language: str, text: str, *more: Block) -> None:
    with Session(folder) as session:
        session.run([Block(language, text, 1), *more])


def test_blocks_know_their_language_and_line(page: list[Block]) -> None:
    assert [(block.language, block.line) for block in page] == [
        ("console", 4),
        ("sh", 14),
        ("python", 18),
        ("text", 21),
    ]


def test_a_console_block_is_commands_with_their_output(page: list[Block]) -> None:
    assert list(commands(page[0])) == [
        Command("echo one \\\n  two", "one ..."),
        Command("echo '{\n  \"a\": 1}'", '{ "a": 1}'),
        Command("true", ""),
    ]


def test_a_page_that_is_right_passes(page: list[Block], tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run(page)


@pytest.mark.parametrize(
    ("language", "text", "reason"),
    [
        ("console", "$ echo one\ntwo", "the page shows\ntwo"),
        ("console", "$ echo one", "the page shows"),
        ("console", "$ exit 3", "exit 3"),
        ("console", "echo", "starts with a command"),
        ("python", "raise SystemExit(4)", "exit 4"),
    ],
)
def test_a_page_that_is_wrong_fails(tmp_path: Path, language: str, text: str, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        run(tmp_path, language, text)


def test_the_output_of_a_script_is_compared(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the page shows"):
        run(tmp_path, "python", "print(1)", Block("text", "2", 3))


def test_a_line_of_dots_stands_for_any_lines_even_none(tmp_path: Path) -> None:
    run(tmp_path, "console", "$ seq 3\n1\n...\n3\n$ seq 2\n1\n...\n2\n$ seq 2\n...\n1\n2\n...")
    with pytest.raises(AssertionError, match="the page shows"):
        run(tmp_path, "console", "$ seq 3\n1\n...\n2")


def test_a_port_is_the_same_one_all_over_a_page(tmp_path: Path) -> None:
    run(tmp_path, "console", "$ echo localhost:7000\nlocalhost:7000\n$ [ localhost:7000 != localhost:7001 ]")
