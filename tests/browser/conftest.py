"""A real Chromium, and pages of made texts that it opens from disk."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.made_pages import (
    HOSTILE,
    made_ranking,
    made_task,
    named_task,
    write_made_page,
    write_scored_page,
)
from playwright.sync_api import Browser, Page, sync_playwright

from textgamut.language import with_language
from textgamut.report.explorer_chunks import ExplorerTask


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Skip where Chromium is not installed, or fail where TEXTGAMUT_REQUIRE_BROWSER wants it."""
    program = shutil.which("chromium")
    if program is None:
        message = "no chromium on this machine: tests/browser/install.sh installs it"
        if os.environ.get("TEXTGAMUT_REQUIRE_BROWSER"):
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages by name: one file, a folder, hostile texts, and 50,000 texts of 44 and of 280 words."""
    folder = tmp_path_factory.mktemp("pages")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small samples
        small = [made_task(60), made_task(20, "other", cells=1)]
        sides = made_task(40, human_prompts=True)
        many = made_task(12_500)
        _lengthen(many, 12)
        large = write_made_page(folder / "large/index.html", [many])
        _lengthen(many, 78)
        long = write_made_page(folder / "long/index.html", [many])
        return {
            "small": write_made_page(folder / "small/index.html", small, [made_ranking()]),
            "folder": write_made_page(folder / "folder/index.html", small, [made_ranking()], most_inline=0),
            "hostile": write_made_page(
                folder / "hostile/index.html", [made_task(60, hostile=HOSTILE)], [made_ranking()]
            ),
            "named": write_made_page(folder / "named/index.html", [named_task()]),
            "samples": write_made_page(folder / "samples/index.html", [made_task(20, samples=5)]),
            "scored": write_scored_page(folder / "scored/index.html"),
            "arabic": write_made_page(folder / "arabic/index.html", [_arabic(made_task(20))]),
            "sides": write_made_page(folder / "sides/index.html", [sides]),
            "rankings": write_made_page(
                folder / "rankings/index.html", [], [made_ranking("first"), made_ranking("second")]
            ),
            "large": large,
            "long": long,
        }


def _arabic(task: ExplorerTask) -> ExplorerTask:
    for texts in (task.human, *task.cells):
        texts.texts["text"] = [f"كان الطقس جميلا، ومشينا {row} ساعات." for row in range(len(texts.texts))]
        with_language(texts.texts, "ar")
    return task


def _lengthen(task: ExplorerTask, times: int) -> None:
    for texts in (task.human, *task.cells):
        texts.texts["text"] += " and so on" * times


class Opened:
    """A page that is open in the browser, and what it must not do."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page, self.path = page, path
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda found: self.errors.append(found.text) if found.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, address: str = "") -> Opened:
        self.page.goto("about:blank")
        self.page.goto(f"file://{self.path}{address}")
        if self.page.locator("#x-status").count():
            self.wait("showing")
        if self.page.locator("#x-criteria").count():
            self.page.locator("#x-outcomes button").first.wait_for()
        return self

    def wait(self, status: str) -> None:
        """Wait until the number of shown texts begins like this."""
        self.page.wait_for_function(
            "want => document.querySelector('#x-status').textContent.startsWith(want)", arg=status
        )

    def listed(self) -> list[str]:
        """Return the ids of the texts that are listed."""
        return self.page.locator("#x-list .x-item bdi:nth-of-type(2)").all_inner_texts()

    def address(self) -> str:
        """Return the address once it has the state."""
        self.page.wait_for_timeout(300)
        return self.page.url.partition("#")[2]


@pytest.fixture
def browse(chromium: Browser, made: dict[str, Path]) -> Iterator[Any]:
    """Open one of the made pages; at the end of the test, there were no errors and no network requests."""
    opened: list[Opened] = []

    def start(name: str, address: str = "", **options: Any) -> Opened:
        context = chromium.new_context(viewport={"width": 1360, "height": 1000}, **options)
        opened.append(Opened(context.new_page(), made[name]))
        return opened[-1].go(address)

    yield start
    for one in opened:
        assert one.errors == []
        assert all(url.startswith(("file:", "data:", "about:")) for url in one.requests)
        one.page.context.close()
