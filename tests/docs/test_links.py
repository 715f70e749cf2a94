"""Links lead somewhere, and figures name the command that makes them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.pages import PAGES, README, ROOT


def anchors(page: Path) -> set[str]:
    """The anchors that a Markdown viewer gives to the headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def figure_sections() -> list[tuple[str, str]]:
    text = README.read_text(encoding="utf-8")
    return re.findall(r"<!-- figures: ([a-z -]+) -->\n(.*?)<!-- /figures -->", text, re.DOTALL)


@pytest.mark.parametrize(("name", "body"), figure_sections(), ids=lambda value: value[:12].strip())
def test_figures_stand_beside_the_command_that_makes_them(name: str, body: str) -> None:
    if not re.search(r"\d", body):
        return
    commands = re.findall(r"`([^`]*\b((?:tests|deploy)/[\w/.]+\.py)[^`]*)`", body)
    assert commands, f"figures: {name}"
    for _, script in commands:
        assert (ROOT / script).is_file(), script


def test_tables_of_figures_stand_in_those_sections_only() -> None:
    text = re.sub(r"<!-- figures: .*?<!-- /figures -->", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    rows = [line for line in text.splitlines() if re.search(r"\|.*\d+(\.\d+)? ?(ms|s|MB|%) *\|", line)]
    assert rows == []


def test_no_page_names_a_path_of_somebodys_machine() -> None:
    for page in (*PAGES, *(ROOT / "deploy").glob("*")):
        if page.is_file():
            assert not re.search(r"/home/(?!pi\b)\w", page.read_text("utf-8")), page
