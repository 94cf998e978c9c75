"""Tables and figures of the scores of sets of texts (PR).

Each function takes the settings of a target (see ``workflow.targets.target_settings``) and its tidy scores
(see ``report.tables``), of which some or all rows may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.config.target_shapes import Bars, Correlations, MetricsByModel, SweepFigure, Variance
from textgamut.metrics.divergence import f_beta
from textgamut.metrics.rows import ALL
from textgamut.report.figures.bars import bars_figure
from textgamut.report.figures.lines import curves_figure, metric_lines
from textgamut.report.figures.model_styles import ModelStyle
from textgamut.report.figures.precision_recall import precision_recall_figure
from textgamut.report.figures.text_figures import correlation_figure
from textgamut.report.papers.result import Entry, PaperResult, PaperTable, in_printed_order
from textgamut.report.papers.target_settings import Settings, TargetSettings
from textgamut.report.tables import variance_table

REVISION = 3
"""Increase when the same scores produce a different table or figure."""

CONSTANT = "—: one of the metrics is constant, or fewer than three values have both."
NO_NUMBERS = "The paper shows this figure without numbers, so there are no published values."

SUPPORT = {"precision": "Precision", "recall": "Recall"}
CURVES = {"precision-recall curve": ("alpha", "beta"), "divergence frontier": ("x", "y")}
F_NOTE = (
    "F-scores: the best values along each curve. Along the precision-recall curve, F_1/8 weights precision "
    "and F_8 recall 8 times. Along the frontier they have no such meaning: missing parts of the references "
    "lower F_1/8, texts unlike them lower F_8."
)
F_SCORES = [f"{name}, {kind}" for kind in CURVES for name in ("F_1/8", "F_8")]
_SYMBOLS = {"n": "N", "k": "k"}


def metrics_by_model(settings: TargetSettings[MetricsByModel], scores: pd.DataFrame) -> PaperResult:
    """Make a table with metrics as rows and models as columns (PR Table 1).

    Values are means over the runs of a model, with their sample standard deviation. Runs in which a reference
    model's texts are compared with themselves are left out.
    """
    printed, metrics = settings.published, settings.target.metrics
    runs = comparable_runs(settings, scores)
    labels = labels_of(settings).values()
    columns = in_printed_order(labels, printed.get("columns", []))
    values = dict(_by_label(settings, runs))
    rows = []
    for metric in metrics:
        ours = {label: _mean_entry(_values(of, metric)) for label, of in values.items()}
        rows.append([with_paper(ours.get(label, Entry()), printed, metric, label) for label in columns])
    names = [heading(metric) for metric in metrics]
    absent = [column for column in columns if column not in labels]
    table = PaperTable(names, columns, rows, decimals=printed.get("decimals", 3), absent=absent)
    notes = (*_notes_of_runs(settings, runs, metrics), *_notes_of_references(settings))
    return PaperResult(table, notes=notes)


def precision_recall(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Plot recall against precision, and list the means (PR Figure 1)."""
    runs = comparable_runs(settings, scores)
    table = _table_of_means(settings, runs, SUPPORT)
    named = runs.assign(embedder=settings.embedder)
    figure = (
        precision_recall_figure(named, settings.models, settings.target.title, ellipses=True)
        if len(runs)
        else None
    )
    return PaperResult(table, figure, (*_notes_of_runs(settings, runs, SUPPORT), NO_NUMBERS))


def bars(settings: TargetSettings[Bars], scores: pd.DataFrame) -> PaperResult:
    """Plot metrics as bars with error bars, one group for each model (PR Figures 2 and B.2)."""
    metrics, errors = settings.target.metrics, settings.target.errors
    runs = comparable_runs(settings, scores)
    table = _table_of_means(settings, runs, metrics)
    counts = {label: of.drop_duplicates(["seed", "draw"]) for label, of in _by_label(settings, runs)}

    def bar(label: str, entry: Entry) -> tuple[float, float] | None:
        if not isinstance(entry.ours, float):
            return None
        scale = math.sqrt(len(counts[label])) if errors == "standard error" else 1.0
        return entry.ours, (entry.spread or 0.0) / scale

    values = {
        name: [bar(label, row[place]) for label, row in zip(table.rows, table.entries, strict=True)]
        for place, name in enumerate(table.columns)
    }
    notes = _notes_of_runs(settings, runs, metrics)
    note = f"Bars: means; error bars: one {errors} over the runs, cut at 1."
    figure = bars_figure(values, table.rows, settings.target.title, note) if len(runs) else None
    return PaperResult(table, figure, (*notes, f"Error bars: one {errors}.", NO_NUMBERS))


def sweep(settings: TargetSettings[SweepFigure], sweeps: pd.DataFrame) -> PaperResult:
    """Plot precision and recall against N, k or both (PR Figures 6 and B.1)."""
    [task] = settings.tasks.values()
    runs = _wide(sweeps, SUPPORT)
    held = {"n": ("k", task["k"]), "k": ("n", task["sweep"]["k_at"] or task["n"])}
    columns, rows, entries = [], [], []
    for varied in settings.target.vary:
        fixed, value = held[varied]
        some = runs[runs[fixed] == value]
        columns.append((varied, some, f"{_SYMBOLS[varied]} ({_SYMBOLS[fixed]} = {value})"))
        for (model, number), of in some.groupby(["model", varied]):
            prefix = f"{labels_of(settings)[model]}, " if runs["model"].nunique() > 1 else ""
            rows.append(f"{prefix}{_SYMBOLS[varied]} = {number} ({_SYMBOLS[fixed]} = {value})")
            entries.append([_mean_entry(of[metric]) for metric in SUPPORT])
    table = PaperTable(rows, list(SUPPORT.values()), entries)
    notes = (*_notes_of_runs(settings, sweeps, SUPPORT), NO_NUMBERS)
    note = f"{settings.embedder}. {_bands(table)}".strip()
    figure = metric_lines(columns, SUPPORT, settings.models, settings.target.title, note)
    return PaperResult(table, figure if len(runs) else None, notes)


def correlations(settings: TargetSettings[Correlations], scores: pd.DataFrame) -> PaperResult:
    """Compute Pearson correlations between metrics, over the means of all methods (PR Figures 7 and A.5)."""
    target, printed = settings.target, settings.published
    chat = {slug for slug, style in settings.models.items() if style.chat}
    scores = scores[scores["group"] == ALL]
    means = scores.groupby(["task", "model", "decoding", "metric"])["value"].mean().unstack("metric")
    means = means.reindex(columns=list(dict.fromkeys([*target.rows, *target.columns])))
    pre_trained = means[~means.index.get_level_values("model").isin(list(chat))]
    found = pd.DataFrame(index=target.rows, columns=target.columns, dtype=float)
    for column in target.columns:
        some = pre_trained if column in target.pre_trained_only else means
        for row in target.rows:
            found.loc[row, column] = some[row].corr(some[column], min_periods=3)
    names = printed.get("labels", {})

    def label(metric: str) -> str:
        return str(names.get(metric, heading(metric)))

    entries = [
        [with_paper(Entry(known(found.loc[row, column])), printed, row, column) for column in target.columns]
        for row in target.rows
    ]
    rows, columns = [label(row) for row in target.rows], [label(column) for column in target.columns]
    both = ", each over those with both metrics" if means.isna().any(axis=None) else ""
    notes = [
        f"Pearson correlations over {len(means)} methods{both}: a model with a decoding setting in a task."
    ]
    if target.pre_trained_only:
        left_out = ", ".join(map(label, target.pre_trained_only))
        notes.append(
            f"Without the instruction-tuned models, as in the paper: {left_out} ({len(pre_trained)} methods)."
        )
    figure = None
    if found.notna().any(axis=None):
        if found.isna().any(axis=None):
            notes.append(CONSTANT)
        named = {metric: label(metric) for metric in found.index.union(found.columns)}
        figure = correlation_figure(found, settings.target.title, " ".join(notes), named)
    return PaperResult(PaperTable(rows, columns, entries, decimals=2), figure, tuple(notes))


def examples(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Plot precision and recall against the number of in-context examples (PR Figure 8)."""
    numbers = {task: entry["examples"] for task, entry in settings.tasks.items()}
    scores = scores[scores["group"] == ALL]
    runs = _wide(scores, SUPPORT)
    runs = runs.assign(examples=runs["task"].map(numbers))
    labels = labels_of(settings)
    columns = [
        f"{name}, n = {number}" for name in SUPPORT.values() for number in sorted(set(numbers.values()))
    ]
    rows = []
    for slug in labels:
        of_model = runs[runs["model"] == slug]
        rows.append(
            [
                _mean_entry(of_model.loc[of_model["examples"] == number, metric])
                for metric in SUPPORT
                for number in sorted(set(numbers.values()))
            ]
        )
    table = PaperTable(list(labels.values()), columns, rows, "Model")
    label = "in-context examples"
    lines = [("examples", runs, label)]
    figure = metric_lines(lines, SUPPORT, settings.models, settings.target.title, _bands(table))
    notes = (*_notes_of_runs(settings, scores, SUPPORT), NO_NUMBERS)
    return PaperResult(table, figure if len(runs) else None, notes)


def curves(settings: Settings, curves: list[dict[str, Any]]) -> PaperResult:
    """Plot precision-recall curve and divergence frontier of each model (PR Figure A.3)."""
    labels = labels_of(settings)
    shown: dict[str, dict[str, Any]] = {}
    for cell in curves:  # in the order of the seeds
        shown.setdefault(labels[cell["model"]], cell)
    rows, entries = [], []
    for name in labels.values():
        scores = _f_scores(shown[name]) if name in shown else {}
        rows.append(name)
        entries.append([Entry(scores.get(column)) for column in F_SCORES])
    notes = (
        "Curves of the first seed and the first draw of references, from one k-means clustering.",
        F_NOTE,
        NO_NUMBERS,
    )
    figure = curves_figure(
        {
            "Precision-recall curve": {name: (cell["alpha"], cell["beta"]) for name, cell in shown.items()},
            "Divergence frontier (MAUVE)": {name: (cell["x"], cell["y"]) for name, cell in shown.items()},
        },
        [("precision", "recall"), ("exp(-c KL(Q || R))", "exp(-c KL(P || R))")],
        settings.target.title,
        notes[0],
    )
    table = PaperTable(rows, F_SCORES, entries, _corner(settings))
    return PaperResult(table, figure if shown else None, notes)


def f_scores(settings: Settings, curves: list[dict[str, Any]]) -> PaperResult:
    """Plot F_1/8 and F_8 of both curves, for one model after the other (PR Figure A.4)."""
    labels = labels_of(settings)
    found = pd.DataFrame(
        [{"model": cell["model"]} | _f_scores(cell) for cell in curves], columns=["model", *F_SCORES]
    )
    entries = [[_mean_entry(found.loc[found["model"] == slug, name]) for name in F_SCORES] for slug in labels]
    table = PaperTable(list(labels.values()), F_SCORES, entries, _corner(settings))
    runs = found["model"].value_counts().max()
    over = f"±: standard deviation over {_seeds(settings, runs)}" if runs > 1 else "One run of each"
    notes = (f"{over}, with the first draw of references.", F_NOTE, NO_NUMBERS)
    places = found["model"].map({slug: place for place, slug in enumerate(labels, start=1)})
    lines = pd.concat(
        [
            pd.DataFrame(
                {
                    "model": kind,
                    "place": places,
                    "f_1_8": found[f"F_1/8, {kind}"],
                    "f_8": found[f"F_8, {kind}"],
                }
            )
            for kind in CURVES
        ]
    )
    styles = {kind: ModelStyle(kind, kind, False) for kind in CURVES}
    order = ", ".join(f"{place}: {label}" for place, label in enumerate(labels.values(), start=1))
    columns = [("place", lines, "candidate distribution")]
    metrics = {"f_1_8": "F_1/8", "f_8": "F_8"}
    figure = metric_lines(
        columns, metrics, styles, settings.target.title, f"{order}. {_bands(table)}".strip()
    )
    return PaperResult(table, figure if len(found) else None, notes)


def embedder_correlations(settings: Settings, scores: pd.DataFrame) -> PaperResult:
    """Correlate precision and recall between the first embedder and each other (PR Table B.1)."""
    printed, labels = settings.published, settings.embedders
    scores = scores[(scores["group"] == ALL) & scores["metric"].isin(list(SUPPORT))]
    keys = ["task", "model", "decoding", "metric", "embedder"]
    means = scores.groupby(keys)["value"].mean().unstack("embedder").reindex(columns=list(labels))
    first = next(iter(labels))
    rows = []
    for metric in SUPPORT:
        of = means[means.index.get_level_values("metric") == metric]
        rows.append(
            [
                with_paper(Entry(known(of[first].corr(of[slug], min_periods=3))), printed, metric, label)
                for slug, label in labels.items()
            ]
        )
    methods = len(means) // len(SUPPORT)
    note = f"Pearson correlations with the values of {labels[first]}, over {methods} methods."
    table = PaperTable(list(SUPPORT.values()), list(labels.values()), rows, decimals=2)
    return PaperResult(table, notes=(note,))


def tokens_per_word(settings: Settings, tokens: Mapping[str, float]) -> PaperResult:
    """Tabulate the tokens per word of the tokenizers of some models (PR Table B.2)."""
    printed, column = settings.published, "Average Tokens per Word"
    rows, entries = [], []
    for slug, style in settings.models.items():
        rows.append(style.label)
        entries.append([with_paper(Entry(tokens.get(slug)), printed, style.family, column)])
    note = "The sum of the tokens over the sum of the words (NLTK) of all texts."
    return PaperResult(PaperTable(rows, [column], entries, "Tokenizer"), notes=(note,))


def variance(settings: TargetSettings[Variance], scores: pd.DataFrame) -> PaperResult:
    """Tabulate the standard deviations over seeds and draws, averaged over models (PR Table B.5)."""
    printed = settings.published
    columns = {"Varying Q": "Q", "Varying P": "P", "Varying P and Q": "P and Q"}
    scores = scores[scores["group"] == ALL]
    average = settings.target.average
    found = (
        variance_table(scores, average).set_index(["metric", "varying"]) if len(scores) else pd.DataFrame()
    )
    rows = []
    for metric in ("precision", "recall"):
        row = []
        for column, varying in columns.items():
            ours = found.loc[(metric, varying), ["mean", "sd"]] if len(found) else ()
            row.append(with_paper(Entry(*map(known, ours)), printed, metric, column))
        rows.append(row)
    table = PaperTable(["√Var(Precision)", "√Var(Recall)"], list(columns), rows)
    notes = ["±: standard deviation over the models of their standard deviations over runs."]
    if average == "variances":
        notes.insert(
            0, "Ours: the root of the mean variance; in the last column, of two runs that share nothing."
        )
    return PaperResult(table, notes=tuple(notes))


def heading(metric: str) -> str:
    """Return the label of a metric with a capital letter, as the papers print it."""
    label = METRICS[metric].label
    return label[0].upper() + label[1:]


def labels_of(settings: Settings) -> dict[str, str]:
    """Return the paper's name of each model: slug -> label."""
    return {slug: style.label for slug, style in settings.models.items()}


def comparable_runs(settings: Settings, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of all texts, without the runs in which texts are compared with themselves."""
    scores = scores[scores["group"] == ALL]
    for task, entry in settings.tasks.items():
        if entry["kind"] == "creative":
            of = entry["references"]
            same = (scores["task"] == task) & (scores["model"] == of["model"])
            same &= (scores["decoding"] == of["decoding"]) & (scores["seed"] == scores["draw"])
            scores = scores[~same.fillna(value=False)]
    return scores


def with_paper(entry: Entry, printed: Mapping[str, Any], row: str, column: str) -> Entry:
    """Return an entry with the published value of a row and a column, if there is one.

    Args:
        entry: Our value.
        printed: ``columns``, and for each row a list of values or ``mean`` and ``sd`` with a list each.
        row: Key of the row.
        column: Label of the column.
    """
    if row not in printed or column not in printed["columns"]:
        return entry
    place, values = printed["columns"].index(column), printed[row]
    if isinstance(values, Mapping):
        return entry._replace(paper=values["mean"][place], paper_spread=values["sd"][place])
    return entry._replace(paper=values[place])


def known(value: Any) -> float | None:
    """Return a value of a table as a number, None for NaN."""
    return None if pd.isna(value) else float(value)


def _by_label(settings: Settings, runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the runs of each model that has any, with its label."""
    labels = labels_of(settings)
    return [(label, of) for slug, label in labels.items() if len(of := runs[runs["model"] == slug])]


def _values(runs: pd.DataFrame, metric: str) -> pd.Series[Any]:
    """Return the values of a metric over the runs, in the order of seeds and draws."""
    return runs[runs["metric"] == metric].sort_values(["task", "seed", "draw"])["value"]


def _mean_entry(values: pd.Series[Any]) -> Entry:
    """Return mean and sample standard deviation of the values; a single value has no deviation."""
    if values.empty:
        return Entry()
    return Entry(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)


def _table_of_means(settings: Settings, runs: pd.DataFrame, metrics: Iterable[str]) -> PaperTable:
    """Return a table with one row for each model and one column for each metric."""
    found = dict(_by_label(settings, runs))
    rows = list(dict.fromkeys(labels_of(settings).values()))
    entries = [
        [_mean_entry(_values(found[label], metric)) if label in found else Entry() for metric in metrics]
        for label in rows
    ]
    return PaperTable(rows, [heading(metric) for metric in metrics], entries, _corner(settings))


def _corner(settings: Settings) -> str:
    """Return the heading of the rows: subsets of human texts are candidates, not models."""
    return "Candidates" if _of_subsets(settings) else "Model"


def _of_subsets(settings: Settings) -> bool:
    return all(entry["kind"] == "subsets" for entry in settings.tasks.values())


def _seeds(settings: Settings, count: int) -> str:
    """Name a number of seeds; for subsets, they draw human texts."""
    s = "s" if count > 1 else ""
    return f"{count} draw{s} of candidates" if _of_subsets(settings) else f"{count} generation seed{s}"


def _bands(table: PaperTable) -> str:
    """Return what the bands of a figure are, if there are any."""
    spread = any(entry.spread is not None for row in table.entries for entry in row)
    return "Bands: one standard deviation over the runs." if spread else ""


def _wide(scores: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Return one row for each run, N and k, with a column for each metric."""
    keys = ["task", "model", "decoding", "seed", "draw", "n", "k"]
    scores = scores[scores["metric"].isin(list(metrics))].sort_values([*keys, "metric"])
    return (
        scores.pivot_table("value", keys, "metric", sort=False).reindex(columns=list(metrics)).reset_index()
    )


def _f_scores(cell: Mapping[str, Any]) -> dict[str, float]:
    """Return F_1/8 and F_8 of both curves of a cell, by the names of ``F_SCORES``."""
    return {
        f"{name}, {kind}": f_beta(np.clip(cell[x], 0, 1), np.clip(cell[y], 0, 1), b)
        for kind, (x, y) in CURVES.items()
        for name, b in (("F_1/8", 1 / 8), ("F_8", 8))
    }


def _notes_of_runs(settings: Settings, runs: pd.DataFrame, metrics: Iterable[str]) -> list[str]:
    """Return what the spreads are over, and the intervals of single runs, which share texts and vary less."""
    runs = runs[runs["metric"].isin(list(metrics))]
    if runs.empty:
        return []
    seeds, draws = runs["seed"].nunique(), runs["draw"].nunique()
    over = f"{_seeds(settings, seeds)}, {draws} draw{'s' * (draws > 1)} of references."
    notes = [f"±: standard deviation over runs: {over}" if seeds * draws > 1 else f"One run of each: {over}"]
    half = ((runs["high"] - runs["low"]) / 2).astype(float)
    for metric, widths in half.groupby(runs["metric"], sort=False):
        if widths.notna().any():
            notes.append(
                f"{heading(str(metric))}: 95 % interval of a single run ± {widths.mean():.3f} on average."
            )
    return notes


def _notes_of_references(settings: Settings) -> list[str]:
    notes = []
    for entry in settings.tasks.values():
        if entry["kind"] == "creative":
            model = entry["references"]["model"]
            label = settings.models[model].label if model in settings.models else model
            notes.append(
                f"The references are texts of {label}. Its own entry leaves out the run whose texts are the "
                "references, since no set of texts is compared with itself."
            )
    return notes
