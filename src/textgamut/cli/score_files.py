"""Files that ``textgamut score --output`` writes: a page, tables, a figure, and how they were made."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.cli.common import utf8, writable
from textgamut.report.figures.style import FORMATS

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.scoring.results import Comparison

logger = logging.getLogger(__name__)


def output_names(support: bool) -> list[str]:
    """Return the files that ``--output`` writes, relative to its folder."""
    figures = [f"precision-recall.{suffix}" for suffix in FORMATS] if support else []
    return ["index.html", "scores.csv", *figures, "differences.csv", "deviations.csv", "settings.json"]


def write_output(
    folder: Path,
    comparison: Comparison,
    files: Sequence[Path],
    settings: Mapping[str, Any],
    messages: Sequence[str],
) -> None:
    """Write the page, the tables, the figure and how all of it was made."""
    from textgamut.files import to_csv
    from textgamut.report.experiment_page import write_page
    from textgamut.report.figures.style import render

    scores, differences = comparison.to_frame(), comparison.differences
    contents = {
        "scores.csv": to_csv(_scores_file(comparison, scores)),
        "differences.csv": to_csv(differences),
        "deviations.csv": to_csv(comparison.deviations),
        "settings.json": _record(comparison, files, settings),
    }
    if "precision" in set(scores["metric"]):
        figure = comparison.plot()
        contents |= {f"precision-recall.{suffix}": render(figure, suffix) for suffix in FORMATS}
    title = f"Generated texts against {utf8(Path(files[0].name))}"
    page = comparison.page(title, [f"Warning: {of}." for of in messages])
    with writable(folder):
        write_page(folder / "index.html", page, contents)
    logger.info("written: %s", folder)


def _scores_file(comparison: Comparison, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores in the layout that those of experiments have."""
    from textgamut.report.tables import SCORES

    embedder = comparison.material.options.embedder if comparison.material.embedder else None
    single: dict[str, Any] = {
        "task": None,
        "decoding": None,
        "embedder": embedder,
        "runs": 1,
        "seeds": 1,
        "draws": 1,
    }
    return scores.astype({"k": "Int64"}).assign(**single)[SCORES]


def _record(comparison: Comparison, files: Sequence[Path], settings: Mapping[str, Any]) -> bytes:
    """Return what the scores were computed from and with, as JSON."""
    import json

    from textgamut.datasets.row_files import STANDARD_INPUT
    from textgamut.files import digest, provenance
    from textgamut.sources.fetch import pinned

    sources = comparison.material.resolved.sources
    content = {
        "command": "textgamut score",
        "settings": settings,
        "language": comparison.material.texts.language,
        "files": {utf8(file): digest(file) for file in files if file != STANDARD_INPUT},
        "checkpoints": {name: pinned(source) for name, source in sources.items()},
        **provenance(),
    }
    return f"{json.dumps(content, indent=2)}\n".encode()
