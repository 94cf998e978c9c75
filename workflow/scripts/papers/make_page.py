"""Make the page of an experiment: scores, figures, data and settings."""

from pathlib import Path
from typing import Any

from textgamut.report.experiment_page import write_page
from textgamut.run.script import run
from textgamut.views.page import read_page


def make_page(settings: dict[str, Any], html: Path) -> dict[str, Any]:
    return {"bytes": write_page(html, read_page(settings))}


if __name__ == "__main__":
    run(make_page)
