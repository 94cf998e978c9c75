"""The documentation as `make docs` builds it, opened from disk in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote_plus

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers import ROOT
from playwright.sync_api import Browser, Page

SITE = ROOT / "docs/_build/html"
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def pages() -> list[Path]:
    """The pages of the site; skip where it has not been built."""
    found = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
    if not found:
        pytest.skip("no documentation: make docs")
    return found


@contextmanager
def reader(browser: Browser, width: int = 1360, scheme: str = "light") -> Iterator[tuple[Page, list[str]]]:
    """A page of a browser, and the faults that it notices: errors of scripts, and requests to the network."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, faults = context.new_page(), []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
    page.on("request", lambda asked: None if asked.url.startswith("file:") else faults.append(asked.url))
    yield page, faults
    context.close()


def test_every_page_opens_from_disk_without_a_network(chromium: Browser, pages: list[Path]) -> None:
    with reader(chromium, width=360) as (page, faults):
        for path in pages:
            page.goto(path.as_uri())
            assert page.evaluate(SIDEWAYS) <= 0, path
            assert not faults, path


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("recall", "Precision and recall of text"),
        ("batch_invariant", "Configuration files"),
        ("confidence interval", "Glossary"),
        ("baseline", "Glossary"),
        ("mode collapse", "Glossary"),
        ("llama-2-7b: wrong checksum: expected sha256 0123, but the download has 4567", "Troubleshooting"),
        ("tasks.stories: k = 8 needs more than 8 texts on each side, but n = 8", "Troubleshooting"),
    ],
)
def test_the_search_works_from_disk(chromium: Browser, pages: list[Path], words: str, found: str) -> None:
    with reader(chromium) as (page, faults):
        page.goto((SITE / "index.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        page.locator("ul.search li", has_text=found).first.wait_for()
        excerpt = page.locator("ul.search li", has_text=found).locator("p.context").first
        assert len(excerpt.inner_text()) > 40
        assert not faults


def test_an_excerpt_is_where_the_words_stand_together(chromium: Browser, pages: list[Path]) -> None:
    message = "tasks.stories: k = 8 needs more than 8 texts on each side, but n = 8"
    with reader(chromium) as (page, _):
        page.goto(f"{(SITE / 'search.html').as_uri()}?q={quote_plus(message)}")
        first = page.locator("ul.search li").first
        first.locator("p.context").wait_for()
        assert "Troubleshooting" in first.inner_text()
        assert "needs more than 4 texts on each side" in first.inner_text()


def test_the_search_says_that_nothing_was_found(chromium: Browser, pages: list[Path]) -> None:
    with reader(chromium) as (page, faults):
        page.goto(f"{(SITE / 'search.html').as_uri()}?q=qwertzuiop+asdfghjkl")
        page.get_by_text("did not match any documents").wait_for()
        assert not faults


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "tutorials/score", "reference/metrics"])
def test_axe_finds_no_serious_fault(chromium: Browser, pages: list[Path], name: str, scheme: str) -> None:
    with reader(chromium, scheme=scheme) as (page, _):
        page.goto((SITE / f"{name}.html").as_uri())
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
        found = Axe().run(page).response["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert not serious, [
            (fault["id"], [node["html"] for node in fault["nodes"]][:5]) for fault in serious
        ]
