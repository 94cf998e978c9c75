"""Tables for LaTeX and Markdown: every text is literal, and columns are merged as on the page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from textgamut.report.papers.result import Entry, PaperTable
from textgamut.report.papers.target_page import plain_table
from textgamut.report.table_formats import FORMATS, ShownTable, latex_table, latex_text, markdown_table

FRAME = pd.DataFrame(
    {"model": ["a_1 & b", "c|d"], "precision": [0.5, None], "precision_sd": [0.125, None], "runs": [2, 1]}
)
HOSTILE = "\\input{x} $1$ 50 % #1 _a_ ^b ~c {d} | `e` <f> [g](h) *i*\nnext"


def test_tables_for_papers_are_latex_and_markdown() -> None:
    shown = ShownTable(FRAME, "Scores of x", "A note.")
    assert FORMATS["tex"](shown) == (
        "\\begin{table}\n\\caption{Scores of x A note.}\n\\begin{tabular}{lrr}\n\\toprule\n"
        "model & precision & runs \\\\\n\\midrule\n"
        "a\\_1 \\& b & 0.500 $\\pm$ 0.125 & 2 \\\\\n"
        "c|d & --- & 1 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )
    assert FORMATS["md"](shown) == (
        "**Scores of x A note.**\n\n"
        "| model | precision | runs |\n| --- | ---: | ---: |\n"
        "| a\\_1 & b | 0.500 ± 0.125 | 2 |\n| c\\|d | — | 1 |\n"
    )
    assert "<table>" in FORMATS["html"](shown)


def test_texts_are_literal_in_latex() -> None:
    text = latex_text(HOSTILE)
    assert text.startswith("\\textbackslash{}input\\{x\\} \\$1\\$ 50 \\% \\#1 \\_a\\_ ")
    assert "\n" not in text
    assert latex_text("precision ↑ †") == "precision $\\uparrow$ $\\dagger$"


def test_texts_are_literal_in_markdown() -> None:
    table = markdown_table([(HOSTILE, False)], [[HOSTILE]], HOSTILE)
    tokens = MarkdownIt().enable("table").parse(table)
    shown = ["".join(child.content for child in token.children) for token in tokens if token.type == "inline"]
    assert shown == [HOSTILE.replace("\n", " ")] * 3


def test_the_table_of_a_paper_has_both_values() -> None:
    table = PaperTable(["r"], ["c", "d"], [[Entry(0.5, 0.1, 0.25), Entry(None)]], "Model", decimals=2)
    columns, rows = plain_table(table)
    assert columns == [("Model", False), ("c", True), ("d", False)]
    assert rows == [["r", "0.500 ± 0.100 (0.25)", "—"]]
    assert "0.500 $\\pm$ 0.100 (0.25)" in latex_table(columns, rows, "Table 1")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_reads_the_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame({HOSTILE: [HOSTILE], "precision ↑ †": [0.5]})
    body = FORMATS["tex"](ShownTable(frame, HOSTILE))
    text = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + body + "\\end{document}"
    (tmp_path / "t.tex").write_text(text)
    subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)
