"""Figure of the sanity checks: every verdict has a sign and its number, and bytes repeat."""

from __future__ import annotations

import math

from made_scores import small_print

from textgamut.metrics.sanity.sanity_checks import CHECKS, Verdict
from textgamut.report.figures.sanity import sanity_figure
from textgamut.report.figures.style import render

VERDICTS = [
    Verdict("responds", "mauve", "both", True, -1.0, "wrong topics"),
    Verdict("dropped", "mauve", "both", False, -0.034, "25%"),
    Verdict("responds", "precision", "fidelity", True, -1.0, "wrong topics"),
    Verdict("dropped", "precision", "fidelity", None, math.nan, "why"),
    Verdict("responds", "_own$", "diversity", False, -1.0, "few texts repeated"),
    Verdict("dropped", "_own$", "diversity", True, 12.34, "50%"),
    Verdict("moved", "_own$", "diversity", True, 1234.5, "back 1"),
]


def strings(figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_each_cell_has_a_sign_and_its_number() -> None:
    figure = sanity_figure(VERDICTS, "Title with $ and _")
    shown = strings(figure)
    assert [shown.count(sign) for sign in "✓✗—"] == [4, 2, 1]
    for number in ("-0.03", "+12", ">999"):
        assert any(number in text for text in shown)
    assert "-1.00" not in shown  # always so by definition
    assert "nan" not in shown
    assert render(figure, "svg") == render(sanity_figure(VERDICTS, "Title with $ and _"), "svg")


def test_rows_are_metrics_by_role_and_columns_checks_in_their_order() -> None:
    axes = sanity_figure(VERDICTS, "t").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["precision", "_own$", "MAUVE"]
    labels = {check.name: check.label for check in CHECKS}
    names = ["responds", "dropped", "moved"]
    assert [label.get_text() for label in axes.get_xticklabels()] == [labels[name] for name in names]
    assert {"fidelity", "diversity", "both"} <= set(strings(axes.figure))
    assert "✗ failed" in small_print(axes.figure)


def test_nothing_checked_says_so() -> None:
    assert "No metric" in strings(sanity_figure([], "t"))[0]
