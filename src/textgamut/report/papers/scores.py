"""Tables and figures of the scores of sets of texts (PR).

Each function takes the settings of a target (see ``workflow.targets.target_settings``) and its tidy scores
(see ``report.tables``), of which some or all rows may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from textgamut.metrics.catalogue import METRICS
from textgamut.metrics.scores.rows import ALL
from textgamut.report.figures.models import ModelStyle
from textgamut.report.figures.precision_recall import precision_recall_figure
from textgamut.report.papers.result import Entry, PaperResult, PaperTable, in_printed_order
from textgamut.report.tables import variance_table

REVISION = 1
"""Increase when the same scores produce a different table or figure."""

NO_NUMBERS = "The paper shows this figure without numbers, so there are no published values."

Settings = Mapping[str, Any]


def metrics_by_model(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Make a table with metrics as rows and models as columns (PR Table 1).

    Values are means over the runs of a model, with their sample standard deviation. Runs in which a reference
    model's texts are compared with themselves are left out.
    """
    printed, metrics = settings["published"], settings["target"]["metrics"]
    runs = comparable_runs(settings, scores)
    labels = labels_of(settings)
    columns = in_printed_order(labels.values(), printed.get("columns", []))
    rows = []
    for metric in metrics:
        ours = means_by_label(runs[runs["metric"] == metric], labels)
        rows.append([entry_of(ours.get(label, ()), printed, metric, label) for label in columns])
    names = [METRICS[metric].label for metric in metrics]
    table = PaperTable(names, columns, rows, decimals=printed.get("decimals", 3))
    return PaperResult(table, notes=(*_notes_of_runs(runs), *_notes_of_references(settings)))


def precision_recall(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Plot recall against precision, and list the means (PR Figure 1)."""
    runs = comparable_runs(settings, scores)
    labels = labels_of(settings)
    styles = {slug: ModelStyle(**style) for slug, style in settings["models"].items()}
    metrics = ("precision", "recall")
    found = {metric: means_by_label(runs[runs["metric"] == metric], labels) for metric in metrics}
    rows = list(dict.fromkeys(labels.values()))
    entries = [[Entry(*found[metric].get(label, ())) for metric in metrics] for label in rows]
    table = PaperTable(rows, [METRICS[metric].label for metric in metrics], entries, "Model")
    figure = precision_recall_figure(runs, styles, settings["target"]["title"]) if len(runs) else None
    return PaperResult(table, figure, (*_notes_of_runs(runs), NO_NUMBERS))


def variance(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Tabulate the standard deviations over seeds and draws, averaged over models (PR Table B.5)."""
    printed = settings["published"]
    columns = {"Varying Q": "Q", "Varying P": "P", "Varying P and Q": "P and Q"}
    scores = scores[scores["group"] == ALL]
    found = variance_table(scores).set_index(["metric", "varying"]) if len(scores) else pd.DataFrame()
    rows = []
    for metric in ("precision", "recall"):
        row = []
        for column, varying in columns.items():
            ours = found.loc[(metric, varying), ["mean", "sd"]] if len(found) else ()
            row.append(entry_of([known(value) for value in ours], printed, metric, column))
        rows.append(row)
    table = PaperTable(["√Var(Precision)", "√Var(Recall)"], list(columns), rows)
    note = "±: standard deviation over the models of their standard deviations over runs."
    return PaperResult(table, notes=(note,))


def labels_of(settings: Settings) -> dict[str, str]:
    """Return the paper's name of each model: slug -> label."""
    return {slug: style["label"] for slug, style in settings["models"].items()}


def comparable_runs(settings: Settings, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of all texts, without the runs in which texts are compared with themselves."""
    scores = scores[scores["group"] == ALL]
    for task, entry in settings["tasks"].items():
        if entry["kind"] == "creative":
            of = entry["references"]
            same = (scores["task"] == task) & (scores["model"] == of["model"])
            same &= (scores["decoding"] == of["decoding"]) & (scores["seed"] == scores["draw"])
            scores = scores[~same.fillna(value=False)]
    return scores


def means_by_label(
    values: pd.DataFrame, labels: Mapping[str, str]
) -> dict[str, tuple[float] | tuple[float, float]]:
    """Return the mean and, of two or more runs, the sample standard deviation of each model, by its label."""
    found: dict[str, tuple[float] | tuple[float, float]] = {}
    for slug, runs in values.sort_values(["seed", "draw"]).groupby("model"):
        mean = float(runs["value"].mean())
        found[labels[str(slug)]] = (mean, float(runs["value"].std(ddof=1))) if len(runs) > 1 else (mean,)
    return found


def entry_of(ours: Sequence[float | None], printed: Mapping[str, Any], row: str, column: str) -> Entry:
    """Return an entry with the published value of a row and a column.

    Args:
        ours: Our value and its spread; empty if there is none.
        printed: ``columns``, and for each row a list of values or ``mean`` and ``sd`` with a list each.
        row: Key of the row.
        column: Label of the column.
    """
    entry = Entry(*ours)
    if row not in printed or column not in printed["columns"]:
        return entry
    place, values = printed["columns"].index(column), printed[row]
    if isinstance(values, Mapping):
        return entry._replace(paper=values["mean"][place], paper_spread=values["sd"][place])
    return entry._replace(paper=values[place])


def known(value: Any) -> float | None:
    """Return a value of a table as a number, None for NaN."""
    return None if pd.isna(value) else float(value)


def _notes_of_runs(runs: pd.DataFrame) -> list[str]:
    if runs.empty:
        return []
    seeds, draws = runs["seed"].nunique(), runs["draw"].nunique()
    return [
        f"±: standard deviation over runs: {seeds} generation seed{'s' * (seeds > 1)}, "
        f"{draws} draw{'s' * (draws > 1)} of references."
    ]


def _notes_of_references(settings: Settings) -> list[str]:
    notes = []
    for entry in settings["tasks"].values():
        if entry["kind"] == "creative":
            model = entry["references"]["model"]
            label = settings["models"].get(model, {}).get("label", model)
            notes.append(
                f"The references are texts of {label}. Its own entry compares different generation seeds; no "
                "set of texts is compared with itself."
            )
    return notes
