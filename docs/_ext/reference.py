"""Sphinx extension: writes what the reference includes into docs/reference/generated, from the code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import calibration_tables
import command_line
import configuration
import errata_tables
import gate_tables
import language_tables
import metrics_tables
import paper_tables
import shipped

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def pages() -> dict[str, str]:
    """Return all generated files: name without suffix -> Markdown."""
    return {
        "command-line": command_line.commands(),
        "metrics": metrics_tables.families(),
        "calibration-level": calibration_tables.level(),
        "calibration-differing": calibration_tables.differing(),
        "calibration-coverage": calibration_tables.coverage(),
        "calibration-planned": calibration_tables.planned(),
        "sanity-checks": metrics_tables.checks(),
        "sanity-results": metrics_tables.results(),
        "sanity-cheats": metrics_tables.cheats(),
        **gate_tables.tables(),
        **language_tables.tables(),
        **{f"configuration-{name}": text for name, text in configuration.pages().items()},
        **{f"shipped-{name}": text for name, text in shipped.entries_tables().items()},
        **errata_tables.tables(),
        **{f"papers-{name}": text for name, text in paper_tables.targets().items()},
    }


def write_pages(app: Sphinx) -> None:
    """Write the files that changed, so that only their pages are read again."""
    folder = Path(app.srcdir) / "reference/generated"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
