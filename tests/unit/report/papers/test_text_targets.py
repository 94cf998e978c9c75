"""Tables and figures of single texts: rows of the paper and ours, differences, gaps, scales."""

from __future__ import annotations

import itertools
from typing import Any

import pandas as pd
import pytest
from helpers import ROOT, make_target

from textgamut.catalogue import METRICS
from textgamut.config.yaml import read_yaml
from textgamut.errors import DataError
from textgamut.report.papers.result import Entry, PaperResult
from textgamut.report.published import published
from textgamut.workflow.target_files import read_files

TYPED = ROOT.parent / "shared/published/nw.yaml"
COLUMNS = [
    "flesch", "essay", "entity_overlap", "sbert", "information_density", "gunning_fog", "text_distinct_2",
    "repetition_4",
]  # fmt: skip
GPT_2 = {"label": "GPT-2", "family": "GPT-2", "chat": False}
BLOOM = {"label": "BLOOM", "family": "BLOOM", "chat": False}
ADDED = {"label": "Added", "family": "Added", "chat": False}


def sampling(**parameters: float) -> dict[str, Any]:
    return {"strategy": "sampling", "top_p": 1.0, "top_k": None, "temperature": 0.9} | parameters


DECODINGS = {
    "p-0.9": sampling(top_p=0.9, top_k=50),
    "p-1": sampling(top_k=50),
    "k-20": sampling(top_k=20),
    "served": sampling(),
    "greedy": {"strategy": "greedy"},
}


def settings(shape: str, name: str, cells: list[tuple[str, str, str]], **target: Any) -> dict[str, Any]:
    """Settings of a target of NW with cells (task, model, decoding), of one seed."""
    tasks = list(dict.fromkeys(task for task, _, _ in cells))
    metrics = {"metrics": COLUMNS} if shape.startswith("text-") else {}
    return {
        "name": name,
        "published": published("nw", name),
        "labels": {"gpt-3/served": "GPT-3 with penalty"},
        "target": {"shape": shape, "title": "A title", "tasks": tasks} | metrics | target,
        "cells": [[*cell, 1] for cell in cells],
        "models": {"gpt2-xl": GPT_2, "bloom": BLOOM, "added": ADDED, "gpt-3": ADDED},
        "decodings": DECODINGS,
        "tasks": {task: {"kind": "prompted", "seeds": [1]} for task in tasks},
    }  # fmt: skip


def texts(**flesch: list[float | None]) -> pd.DataFrame:
    """One row for each value, by "task/model/decoding"; all other metrics are a tenth of it."""
    return pd.DataFrame(
        [
            dict(zip(("task", "model", "decoding"), cell.split("/"), strict=True))
            | {name: value if name == "flesch" or value is None else value / 10 for name in COLUMNS}
            for cell, values in flesch.items()
            for value in values
        ],
        columns=["task", "model", "decoding", *COLUMNS],
    )


NOTHING = texts()


def lines(result: PaperResult) -> list[tuple[str, Entry]]:
    """Return the first entry of each row with its label."""
    return list(zip(result.table.rows, (row[0] for row in result.table.entries), strict=True))


def table_3(cells: list[tuple[str, str, str]], found: pd.DataFrame, **target: Any) -> PaperResult:
    return make_target(settings("text-means", "table_3", cells, **target), {"texts": found})


class TestTable3:
    CELLS = [("new", "gpt2-xl", "k-20"), ("new", "gpt-3", "served"), ("new", "added", "k-20")]
    TEXTS = texts(
        **{
            "new/gpt2-xl/k-20": [50, 60, 70],
            "new/human/human": [52, None],
            "new/gpt-3/served": [40],
            "new/added/k-20": [10, 10],
        }
    )

    def test_the_paper_s_rows_come_first_in_its_order_and_then_ours(self) -> None:
        result = table_3(self.CELLS, self.TEXTS, human="Wikipedia")
        assert result.table.rows == [
            "Bart", "T5", "GPT-2", "GPT-3 Curie", "OPT-66B", "GLM", "BLOOM", "GPT-3 With Penalty",
            "GPT-3 Davinci", "Wikipedia", "Added",
        ]  # fmt: skip
        found = dict(lines(result))
        assert found["GPT-2"] == (60, 10, 60.456, None)
        assert found["GPT-2"].difference == pytest.approx(-0.456)
        assert found["GPT-3 With Penalty"] == (40, None, 50.161, None)
        assert found["Wikipedia"] == (52, None, 52.646, None)
        assert found["Bart"] == (None, None, 30.503, None)
        assert found["Added"] == (10, 0, None, None)
        assert result.table.absent == [
            "Bart",
            "T5",
            "GPT-3 Curie",
            "OPT-66B",
            "GLM",
            "BLOOM",
            "GPT-3 Davinci",
        ]

    def test_headings_are_those_in_print_with_their_arrows(self) -> None:
        columns = table_3(self.CELLS, self.TEXTS).table.columns
        assert (columns[0], columns[-1]) == ("FK-Score (↓)", "Rep_n (↓)")
        assert sum("↓" in column for column in columns) == 2

    def test_notes_tell_what_the_deviations_are_and_why_rows_are_empty(self) -> None:
        notes = " ".join(table_3(self.CELLS, self.TEXTS, human="Wikipedia").notes)
        assert "±: standard deviation over these texts; the paper prints means only" in notes
        assert "BART and T5 were fine-tuned by the authors" in notes
        assert "Texts without a value, which are left out: Flesch (1)" in notes

    def test_without_texts_the_paper_s_values_stay(self) -> None:
        result = table_3(self.CELLS, NOTHING, human="Wikipedia")
        assert len(result.table.rows) == 11
        assert {entry.ours for row in result.table.entries for entry in row} == {None}
        assert dict(lines(result))["GPT-2"].paper == 60.456

    def test_a_metric_that_is_not_computed_leaves_its_column_empty(self) -> None:
        found = table_3(self.CELLS, self.TEXTS.drop(columns="essay")).table
        row = found.entries[found.rows.index("GPT-2")]
        assert row[1] == (None, None, 5.048, None)
        assert row[2].ours == pytest.approx(6)

    def test_methods_with_the_same_name_are_told_apart_and_not_paired(self) -> None:
        cells = [("new", "gpt2-xl", "k-20"), ("new", "gpt2-xl", "p-1")]
        found = texts(**{"new/gpt2-xl/k-20": [50], "new/gpt2-xl/p-1": [70]})
        result = table_3(cells, found)
        assert dict(lines(result))["GPT-2"].ours is None
        assert result.table.rows[-2:] == ["GPT-2, k-20", "GPT-2, p-1"]


PARAMETERS = ["top_p", "top_k", "temperature"]


def test_table_4_has_new_beside_old_with_the_settings_last() -> None:
    cells = [(task, "gpt2-xl", name) for task in ("new", "old") for name in ("p-0.9", "p-1")]
    found = texts(**{"old/gpt2-xl/p-0.9": [60, 62], "new/gpt2-xl/p-1": [50]})
    result = make_target(
        settings("text-means", "table_4", cells, parameters=PARAMETERS), {"texts": found}
    )  # fmt: skip
    assert result.table.columns[-4:] == ["Top-p", "Top-k", "Temp", "Wiki time"]
    assert result.table.rows == ["GPT-2"] * 10
    assert result.table.values == 10 * len(COLUMNS)  # settings are no results
    assert [entry.ours for entry in result.table.entries[1][-4:]] == ["0.9", "50", "0.9", "old"]
    assert {entry.paper for entry in result.table.entries[1][-4:]} == {None}
    assert result.table.entries[1][0] == pytest.approx((61, 2**0.5, 61.651, None))
    assert result.table.entries[4][0].ours == 50
    assert [entry.paper for entry in result.table.entries[-1][-4:]] == ["1", "500", "0.9", "old"]
    assert result.table.entries[-1][0] == (None, None, 57.756, None)


def test_the_appendix_finds_rows_by_their_settings_and_those_of_single_models_by_name() -> None:
    cells = [
        ("new", "gpt2-xl", "p-1"),
        ("new", "gpt-3", "served"),
        ("old", "bloom", "k-20"),
        ("new", "added", "greedy"),
    ]
    found = texts(**{f"{'/'.join(cell)}": [50.0 + place] for place, cell in enumerate(cells)})
    result = make_target(
        settings("text-means", "table_appendix", cells, parameters=PARAMETERS), {"texts": found}
    )
    assert len(result.table.rows) == 53
    assert result.table.rows[-2:] == ["BLOOM", "Added"]  # the paper's BLOOM is of new articles
    ours = {place: row for place, row in enumerate(result.table.entries[:51]) if row[0].ours is not None}
    assert {result.table.rows[place]: row[0][::2] for place, row in ours.items()} == {
        "GPT-2": (50, 59.574), "GPT-3 with penalty": (51, 50.161),
    }  # fmt: skip
    served = result.table.entries[result.table.rows.index("GPT-3 with penalty")]
    assert [(entry.ours, entry.paper) for entry in served[-3:-1]] == [("all", "20"), ("0.9", None)]
    assert [entry.ours for entry in result.table.entries[-1][-4:]] == [None, None, None, "new"]


def test_a_figure_of_a_parameter_has_the_means_of_the_appendix_beside_ours() -> None:
    cells = [("new", "gpt2-xl", "p-1"), ("new", "gpt2-xl", "p-0.9")]
    found = texts(**{"new/gpt2-xl/p-1": [40, 50], "new/gpt2-xl/p-0.9": [30, 30]})
    chosen = settings("text-parameter", "figure_1", cells, parameter="top_p")
    result = make_target(chosen, {"texts": found})
    assert lines(result) == [
        ("Top-p = 0.9", (30, 0, 60.711, None)),
        ("Top-p = 1", (45, pytest.approx(50**0.5), 59.574, None)),
    ]
    assert result.notes[0] == "GPT-2, with Top-k = 50 and Temp = 0.9."
    assert result.figure is not None
    above, below = result.figure.axes
    heights = [bars[0].get_height() for bars in itertools.islice(above.containers, 0, None, 2)]
    assert heights == pytest.approx([0, 0.5])  # Flesch, from 30 to 60
    assert [bars[0].get_height() for bars in below.containers] == [0, 1]
    lines_of: Any = above.collections[1]
    low, high = lines_of.get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(50**0.5 / 30)
    assert make_target(chosen, {"texts": NOTHING}).figure is None


def test_correlations_have_the_printed_matrix_with_its_asymmetric_cell() -> None:
    found = texts(**{"new/gpt2-xl/p-1": [1.0, 2.0, 4.0]}).assign(sbert=[3.0, 2.0, 0.0], essay=1.0)
    result = make_target(
        settings("text-correlations", "figure_4", [("new", "gpt2-xl", "p-1")]), {"texts": found}
    )
    assert result.table.rows == result.table.columns
    entries = {
        (row, column): entry
        for row, of in zip(COLUMNS, result.table.entries, strict=True)
        for column, entry in zip(COLUMNS, of, strict=True)
    }
    assert entries["flesch", "sbert"].ours == pytest.approx(-1)
    assert entries["flesch", "sbert"].paper == -0.106
    assert entries["flesch", "essay"] == (None, None, -0.074, None)  # ours is constant
    assert entries["flesch", "information_density"].paper == 0.179
    assert entries["information_density", "flesch"].paper == -0.179
    assert result.figure is not None
    assert len(result.figure.axes[0].get_xticks()) == len(COLUMNS) - 1


def test_deviations_are_rescaled_and_ordered_as_in_figure_5() -> None:
    cells = [("new", "gpt2-xl", "k-20"), ("new", "bloom", "k-20"), ("new", "added", "k-20")]
    found = texts(**{"new/gpt2-xl/k-20": [49, 51], "new/bloom/k-20": [40, 60], "new/added/k-20": [45, 55]})
    result = make_target(settings("text-deviations", "figure_5", cells), {"texts": found})
    assert [entry.ours for _, entry in lines(result)] == pytest.approx([2**0.5, 200**0.5, 50**0.5])
    assert [row[-1].ours for row in result.table.entries] == pytest.approx([0, 1, 4 / 9])
    assert "From greatest to least: BLOOM > Added > GPT-2." in result.notes
    assert any(note.endswith("GPT-3 > GPT-2 > BART > T5.") for note in result.notes)
    assert not any("Ours have" in note for note in result.notes)  # not all of these
    chosen = settings("text-deviations", "figure_5", cells)
    for order, told in ((["BLOOM", "Added"], "the same"), (["GPT-2", "Added"], "another")):
        chosen["published"] = {"order_of_deviations": order}
        assert f"Ours have {told} order." in make_target(chosen, {"texts": found}).notes
    assert result.figure is not None
    [axes] = result.figure.axes
    assert [bars[0].get_height() for bars in axes.containers] == pytest.approx([0, 1, 4 / 9])


class TestLabels:
    SETTINGS = settings("label-counts", "table_1", [], dataset="new-wiki", column="entity_type")

    def test_labels_are_counted_in_the_paper_s_order(self) -> None:
        labels = ["taxon", "human", "human", "other", None, "other", "other", "human settlement"]
        result = make_target(self.SETTINGS, {"labels": pd.DataFrame({"entity_type": labels})})
        table = result.table
        assert table.rows == ["Human", "Taxon", "Media", "Event", "Human Settlement", "other", "unknown"]
        assert table.columns == ["Occurrence", "Percentage"]
        assert table.entries[0] == [(2, None, 1328, None), (25, None, 44.2, None)]
        assert table.entries[2] == [(0, None, 239, None), (0, None, 8.0, None)]
        assert table.entries[-1] == [(1, None, None, None), (12.5, None, None, None)]

    def test_without_texts_the_paper_s_values_stay(self) -> None:
        table = make_target(self.SETTINGS, {"labels": read_files({"labels": []})["labels"]}).table
        assert table.entries[0] == [(None, None, 1328, None), (None, None, 44.2, None)]

    def test_a_missing_column_is_named(self) -> None:
        with pytest.raises(DataError, match="new-wiki: the texts have no column 'entity_type'"):
            make_target(self.SETTINGS, {"labels": pd.DataFrame({"topic": ["a"]})})


@pytest.mark.skipif(not TYPED.exists(), reason=f"{TYPED} does not exist")
def test_no_published_value_differs_from_those_typed_from_the_paper() -> None:
    typed = read_yaml(TYPED)
    table_1 = typed["table_1"]
    rows = {name.casefold(): values for name, values in published("nw", "table_1")["rows"].items()}
    assert rows == {name.casefold(): values for name, values in table_1.items() if name != "columns"}

    def values(line: dict[str, Any], names: list[str]) -> list[Any]:
        return [line[name] for name in names]

    table_3 = {name.casefold(): found for name, found in typed["table_3"].items()}
    columns = table_3.pop("columns")
    ours = published("nw", "table_3")["rows"]
    assert {line["model"].casefold(): values(line, columns) for line in ours} == table_3
    table_4 = typed["table_4"]
    ours = published("nw", "table_4")["rows"]
    assert [values(line, table_4["columns"]) for line in ours] == table_4["rows"]
    assert {line["model"] for line in ours} == {"GPT-2"}
    ours = published("nw", "table_appendix")["rows"]
    assert ours == typed["appendix"]
    assert len(ours) == 51
    matrix = published("nw", "figure_4")
    assert matrix["columns"] == typed["figure_4"]["columns"]
    for place, row in enumerate(typed["figure_4"]["upper_triangle"]):
        assert matrix["rows"][matrix["columns"][place]][place:] == row


def test_printed_names_are_those_of_metrics() -> None:
    for name in ("table_3", "table_4", "table_appendix", "figure_4"):
        known = {*METRICS, "model", "window", *PARAMETERS}
        assert set(published("nw", name)["labels"]) <= known
        rows = published("nw", name)["rows"]
        assert {key for row in rows for key in (row if isinstance(row, dict) else [])} <= known
