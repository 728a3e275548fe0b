"""The lessons: each is executed, its figures are printed by its commands, and both languages run the same commands."""

import re
from pathlib import Path

import pytest
from blocks import FENCE, blocks
from session import Session

LESSONS = Path(__file__).parents[2] / "docs" / "lessons"
PAGES = sorted(LESSONS.glob("[0-9][0-9]-*.md"))
NUMBER = re.compile(r"(?<![\w.,/-])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/])")
WORDS = re.compile(r"`[^`]*`|Llama [\d.]+|Qwen\d|vLLM [\d.]+|et al\. \d+|\(#[^)]*\)|^#.*$", re.MULTILINE)

on_every_lesson = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
on_every_text = pytest.mark.parametrize(
    "page", [*PAGES, *sorted(LESSONS.glob("es/[0-9]*.md"))], ids=lambda page: f"{page.parent.name}-{page.stem}"
)


@on_every_lesson
def test_what_the_lesson_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run(blocks(page))


@on_every_lesson
def test_the_spanish_lesson_runs_the_same_commands(page: Path) -> None:
    spanish = LESSONS / "es" / page.name
    assert [(block.language, block.text) for block in blocks(spanish)] == [
        (block.language, block.text) for block in blocks(page)
    ]


@on_every_text
def test_every_figure_in_the_text_stands_in_a_block(page: Path) -> None:
    """Small whole numbers may be words of the language; all others must have been computed."""
    shown = set(NUMBER.findall(" ".join(block.text for block in blocks(page))))
    prose = WORDS.sub("", FENCE.sub("", page.read_text("utf-8")))
    told = {number for number in NUMBER.findall(prose) if "." in number or len(number) > 1}
    assert told - shown - {"10"} == set()


def test_every_lesson_is_in_the_index_of_its_language() -> None:
    for folder in (LESSONS, LESSONS / "es"):
        index = (folder / "README.md").read_text("utf-8")
        assert set(re.findall(r"\]\((\d\d-[\w-]+\.md)\)", index)) == {page.name for page in PAGES}
