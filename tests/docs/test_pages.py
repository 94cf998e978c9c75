"""The README and the tutorials: all that they tell a reader to do is done, in a copy of the project."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from docs.reader import Reader
from helpers import GIVE_UP, ROOT
from nbclient import NotebookClient

PAGES = [
    "docs/tutorials/score.md",  # makes the files that the next two use
    "README.md",  # runs the demo, which the last two use
    "docs/tutorials/compare.md",
    "docs/tutorials/rank.md",
    "docs/tutorials/table.md",
    "docs/explanation/n-and-k.md",
]
DRAWN = {"README.md", "docs/tutorials/rank.md", "docs/tutorials/table.md"}
"""Pages with numbers of texts that a model draws, which differ between machines."""
ELSEWHERE = ("make test", "source .venv", "snakemake --profile")
"""Commands that CI, its clone, and tests/slurm run."""
NOT_COPIED = (
    ".git",
    ".venv*",
    "_build",
    "logs",
    ".snakemake",
    ".*_cache",
    "__pycache__",
    "*.parquet",
    "report.html",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project as it is after `git clone`, with this environment."""
    folder = tmp_path_factory.mktemp("docs") / "textgamut"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    for name in ("data", "results"):
        shutil.rmtree(folder / name)
        folder.joinpath(name).mkdir()
    folder.joinpath(".venv").symlink_to(sys.prefix)
    for name in ("pyproject.toml", "constraints.txt"):
        os.utime(folder / name, (0, 0))  # so that `make` does not install the copy into this environment
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_works(folder: Path, page: str) -> None:
    Reader(folder, ELSEWHERE).follow(ROOT / page, exact=page not in DRAWN)


def test_the_example_notebook_runs(folder: Path) -> None:
    """In a kernel, after the tutorials have fetched the articles: every result is shown as what it is."""
    notebook: Any = nbformat.read(ROOT / "docs/notebooks/score.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not [cell for cell in notebook.cells if cell.get("outputs")]  # outputs are not committed
    NotebookClient(
        notebook, timeout=3 * GIVE_UP, resources={"metadata": {"path": str(folder / "docs/notebooks")}}
    ).execute()
    shown: list[Any] = [
        next((of.data for of in cell.outputs if of.output_type == "execute_result"), {})
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    _, result, warned, missed, comparison, figure, differences = shown
    assert "is worse than that of human texts" in result["text/html"]
    assert "recall" in result["text/html"]
    assert "N = 200 is below 1000" in warned["text/plain"]
    assert "neighbour_text" in missed["text/html"]
    assert "astray" in comparison["text/html"]
    assert figure["image/svg+xml"].startswith("<?xml")
    assert "p_holm" in differences["text/html"]
    widgets = [
        of
        for of in notebook.cells[3].outputs
        if "application/vnd.jupyter.widget-view+json" in of.get("data", {})
    ]
    assert widgets  # the bars


def test_ci_runs_the_tests_of_the_readme() -> None:
    assert "\nmake test " in (ROOT / "README.md").read_text()
    assert " make test\n" in (ROOT / ".ci/run").read_text()
