"""Every page is executed, its links lead somewhere, and the index names it."""

import re
from pathlib import Path

import pytest
from blocks import blocks
from session import Session

from mockvllm.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)(?P<path>[^)#\s]+)?(?:#(?P<anchor>[^)\s]+))?\)")

on_every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@on_every_page
def test_what_the_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        session.run(blocks(page))


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@on_every_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text("utf-8")):
        target = (page.parent / link["path"]) if link["path"] else page
        assert target.exists(), f"{page.name}: {link[0]}"
        assert not link["anchor"] or link["anchor"] in anchors(target), f"{page.name}: {link[0]}"


def test_the_index_names_every_page() -> None:
    named = {link["path"] for link in LINK.finditer((DOCS / "README.md").read_text("utf-8"))}
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} <= named


def test_the_index_names_every_command() -> None:
    named = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(COMMANDS)
