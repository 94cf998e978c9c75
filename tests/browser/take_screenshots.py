"""Take the screenshots of the demo's page that the documents show: docs/images/page*.png.

make demo && .venv/bin/python tests/browser/take_screenshots.py
"""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "results/papers/demo/index.html").as_uri()
FINDING = (
    "#texts?task=news&order=words+up&off.model=human+texts&metric=words&range.words=%3A54"
    "&point=0%2Carticle-2678%2F0"
)
PAIR = "#texts?task=news&tab=pair&pair=0%2C2&query=2678"
CRITERIA = (
    "#criteria?ranking=decoding&x=perplexity&y=diversity"
    "&first=contrastive-k4-a0.6-64&second=temperature-0.7-64"
)


def take(browser: Browser, name: str, address: str, width: int, height: int, scheme: str = "light") -> None:
    """Write docs/images/{name}.png."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(PAGE + address)
    page.locator("#x-list .x-item").first.wait_for(state="attached")
    page.wait_for_timeout(1000)
    page.screenshot(path=ROOT / f"docs/images/{name}.png")
    context.close()


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, "page", FINDING, 1360, 900)
        take(browser, "page-pair", PAIR, 1000, 620)
        take(browser, "page-criteria", CRITERIA, 1000, 900)
        for scheme in ("light", "dark"):
            for width, height in ((360, 740), (768, 900), (1360, 900)):
                take(browser, f"page-{width}-{scheme}", "#texts?task=news", width, height, scheme)
        browser.close()


if __name__ == "__main__":
    main()
