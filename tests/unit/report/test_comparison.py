"""Tables of several models: one row per model, and every name escaped."""

from __future__ import annotations

import pandas as pd

from textgamut.report.comparison import cells_of, first_pairs, models_table, pairs_table

SCORES = pd.DataFrame(
    [
        ("b", "all", "precision", 0.7, 0.6, 0.8, 0.05),
        ("b", "all", "mauve", 0.9, None, None, 0.01),
        ("b", "topic=x", "precision", 0.5, None, None, None),
        ("<a>\x1b", "all", "precision", 0.2, 0.1, 0.3, 0.05),
        ("<a>\x1b", "all", "distinct_2", 0.4, None, None, None),
    ],
    columns=["model", "group", "metric", "value", "low", "high", "deviation"],
)
DIFFERENCES = pd.DataFrame(
    [
        ("all", "precision", "b", "<a>", 0.5, 0.3, 0.7, "better"),
        ("all", "recall", "b", "<a>", -0.1, None, None, "cannot tell"),
        ("topic=x", "recall", "b", "<a>", -0.7, None, None, "worse"),
    ],
    columns=["group", "metric", "model_1", "model_2", "tested", "low", "high", "verdict"],
)


def test_models_are_rows_in_their_order_and_groups_come_last() -> None:
    table = models_table(SCORES)
    assert list(table) == [
        "model", "group", "precision", "precision_low", "precision_high", "mauve", "mauve_sd", "distinct_2"
    ]  # fmt: skip
    assert table[["model", "group"]].to_numpy().tolist() == [
        ["b", "all"],
        ["<a>\x1b", "all"],
        ["b", "topic=x"],
    ]
    assert list(cells_of(table, "precision")) == ["0.700 [0.600, 0.800]", "0.200 [0.100, 0.300]", "0.500"]
    assert list(cells_of(table, "mauve")) == ["0.900 ± 0.010", "—", "—"]


def test_the_table_of_differences_has_a_row_for_each_pair() -> None:
    table = pairs_table(DIFFERENCES)
    assert table[["model_1", "model_2"]].to_numpy().tolist() == [["b", "<a>"]]
    assert list(cells_of(table, "precision", "+")) == ["+0.500 [+0.300, +0.700] better"]
    assert list(cells_of(table, "recall", "+")) == ["-0.100"]


def test_sentences_on_pairs_that_are_left_out_are_counted() -> None:
    sentences = [f"pair {i}" for i in range(1203)]
    assert first_pairs(sentences, 1203) == sentences
    assert first_pairs(sentences, 2) == [
        *sentences[:2],
        "... and 1,201 more; the table of differences has all pairs.",
    ]
