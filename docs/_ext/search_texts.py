"""Sphinx extension: gives the search the texts of all pages, for excerpts on a site that is opened from disk.

Sphinx fetches each page that it found, which browsers refuse for files. `_static/search.js` uses these texts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils.nodes import document
    from sphinx.application import Sphinx

FILE = "search_texts.js"


def load_on_search_page(
    app: Sphinx, pagename: str, template: str, context: Any, doctree: document | None
) -> None:
    """Load the texts where they are needed."""
    if pagename == "search":
        app.add_js_file(FILE)
        app.add_js_file("search.js")


def write_texts(app: Sphinx, exception: Exception | None) -> None:
    """Write the text of each page as a script."""
    if exception is None and app.builder.name == "html":
        texts = {
            name: " ".join(app.env.get_doctree(name).astext().split()) for name in sorted(app.env.found_docs)
        }
        content = f"const PAGE_TEXTS = {json.dumps(texts)};\n"
        Path(app.outdir, "_static", FILE).write_text(content, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("html-page-context", load_on_search_page)
    app.connect("build-finished", write_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
