"""The documents: links lead somewhere, and the YAML of a page is a valid configuration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.reader import SAVED, blocks
from helpers import ROOT
from markdown_it import MarkdownIt

from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.loading import load_config, load_registry

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / ".github").rglob("*.md"),
        *(ROOT / "data").glob("*.md"),
        *(ROOT / "results").glob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.md") if not {"_build", "generated"} & {*path.parts}),
    ]
)


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    tokens = MarkdownIt().parse(page.read_text("utf-8"))
    headings = [
        "".join(child.content for child in tokens[place + 1].children or [])
        for place, token in enumerate(tokens)
        if token.type == "heading_open"
    ]
    return {slug(heading) for heading in headings}


def links(page: Path) -> list[str]:
    """Return the targets of the links and images of a page that are not in the web."""
    tokens = MarkdownIt().enable("table").parse(page.read_text("utf-8"))
    parts = [child for token in tokens for child in token.children or []]
    found = [str(part.attrs.get("href") or part.attrs.get("src") or "") for part in parts]
    return [target for target in found if target and not re.match(r"[a-z]+:", target)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        # Sphinx checks the others: they can be on a part of the page that is generated.
        if anchor and target.suffix == ".md" and "{include}" not in target.read_text("utf-8"):
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_configuration_on_a_page_is_valid(page: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    texts: dict[str, str] = {}
    for block in blocks(page):
        if block.language == "yaml" and (path := SAVED.match(block.text)):
            texts[path[1]] = texts.get(path[1], "") + block.text
    for name, text in texts.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    for name in texts:
        registry = Path(name).stem
        if registry in REGISTRIES:
            load_registry(registry, (tmp_path / name).parent)
        elif name.startswith("config/"):
            load_config(tmp_path / name)


def test_the_readme_is_short() -> None:
    assert (ROOT / "README.md").stat().st_size < 8192
