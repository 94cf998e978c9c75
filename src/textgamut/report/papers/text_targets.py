"""Tables and figures of the metrics of single texts, and of the labels of a dataset (NW).

Each function takes the settings of a target (see ``workflow.targets.target_settings``) and a table with one
row per text: task, model, decoding, seed and metrics. Some or all rows and metrics may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.config.target_shapes import (
    LabelCounts,
    TextCorrelations,
    TextDeviationsFigure,
    TextMeans,
    TextParameterFigure,
)
from textgamut.config.task_kinds import HUMAN
from textgamut.errors import DataError
from textgamut.report.figures.text_bars import text_bars_figure
from textgamut.report.figures.text_figures import correlation_figure
from textgamut.report.papers.result import Entry, PaperResult, PaperTable, in_printed_order
from textgamut.report.papers.score_targets import CONSTANT, known, with_paper
from textgamut.report.papers.target_settings import Settings, TargetSettings
from textgamut.report.tables import rescaled

REVISION = 3
"""Increase when the same texts produce a different table or figure."""

PARAMETERS = {"top_p": "Top-p", "top_k": "Top-k", "temperature": "Temp"}
UNKNOWN = "unknown"
"""Label of texts without one."""

Line = Mapping[str, Any]
"""A row that the paper prints: ``model``, metrics and, where printed, parameters and ``window``, a task."""


@dataclass(frozen=True, eq=False)
class Method:
    """A method in a task: one of our rows."""

    label: str
    """The paper's name."""
    task: str
    model: str
    decoding: str
    parameters: Mapping[str, float | None]
    """Its decoding parameters among ``PARAMETERS``."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Task, model and decoding."""
        return self.task, self.model, self.decoding

    def setting(self, name: str) -> str | None:
        """Return a decoding parameter, or the window, as text."""
        if name == "window":
            return self.task
        return _number(self.parameters[name]) if name in self.parameters else None


def text_means(settings: TargetSettings[TextMeans], texts: pd.DataFrame) -> PaperResult:
    """Tabulate means over texts, with methods as rows (NW Tables 3 and 4, appendix).

    The paper's rows are first, in its order; then follow ours that it does not have.
    """
    target, printed = settings.target, settings.published
    metrics, extra = target.metrics, [*map(str, target.parameters)]
    if extra and len(target.tasks) > 1:
        extra.append("window")
    methods, lines = methods_of(settings, target.human), printed.get("rows", [])
    summary = _summary(texts, metrics)
    rows, entries = [], []
    for line, method in _in_printed_lines(methods, lines):
        rows.append(line["model"] if line else unique_label(method, methods) if method else "")
        written = method if method and method.key in summary.index else None
        shown = (_setting(written, line, name) for name in extra)
        entries.append([*_means(summary, written, line, metrics), *shown])
    columns = [_label(printed, name) for name in [*metrics, *extra]]
    ours = {method.label.casefold() for method in methods}
    absent = [label for label in dict.fromkeys(rows[: len(lines)]) if label.casefold() not in ours]
    described = [_label(printed, name) for name in extra]
    table = PaperTable(rows, columns, entries, "Model", printed.get("decimals", 3), absent, described)
    return PaperResult(table, notes=_notes(texts, metrics))


def text_parameter(settings: TargetSettings[TextParameterFigure], texts: pd.DataFrame) -> PaperResult:
    """Plot metrics against one decoding parameter, while the others are held (NW Figures 1 to 3)."""
    target, printed = settings.target, settings.published
    metrics, parameter = target.metrics, target.parameter
    methods = sorted(methods_of(settings), key=lambda of: of.parameters[parameter] or 0)
    summary = _summary(texts, metrics)
    lines = {of: line for line, of in _in_printed_lines(methods, printed.get("rows", [])) if of}
    rows = [f"{PARAMETERS[parameter]} = {of.setting(parameter)}" for of in methods]
    entries = [_means(summary, of, lines[of], metrics) for of in methods]
    columns = [_label(printed, name) for name in metrics]
    others = [name for name in PARAMETERS if name != parameter]
    held = " and ".join(f"{PARAMETERS[name]} = {methods[0].setting(name)}" for name in others)
    note = f"{methods[0].label}, with {held}."
    figure = text_bars_figure(
        _wide(methods, summary, rows), dict(zip(metrics, columns, strict=True)), target.title,
        f"{note} Above: means, rescaled by the paper's ranges, others by least and greatest; error bars: one "
        "standard deviation, cut at the axes. Below: standard deviations, rescaled by least and greatest. "
        "0.5 if least and greatest are equal.",
    )  # fmt: skip
    table = PaperTable(rows, columns, entries, "", printed.get("decimals", 3))
    return PaperResult(table, figure if len(summary) else None, (note, *_notes(texts, metrics)))


def text_correlations(settings: TargetSettings[TextCorrelations], texts: pd.DataFrame) -> PaperResult:
    """Compute Pearson correlations between metrics, over single texts (NW Figure 4)."""
    target, printed = settings.target, settings.published
    metrics = target.metrics
    found = texts.reindex(columns=metrics).astype(float).corr(min_periods=3)
    values = {"columns": printed.get("columns", []), **printed.get("rows", {})}
    entries = [
        [with_paper(Entry(known(found.loc[row, column])), values, row, column) for column in metrics]
        for row in metrics
    ]
    names = [_label(printed, name) for name in metrics]
    note = f"Pearson correlations over {len(texts):,} generated texts, each over those with both metrics."
    shown = found.dropna(how="all").dropna(how="all", axis="columns")
    labels = dict(zip(metrics, names, strict=True))
    figure = correlation_figure(shown, target.title, note, labels) if len(shown) else None
    table = PaperTable(names, names, entries, decimals=printed.get("decimals", 3))
    return PaperResult(table, figure, (note, CONSTANT) if found.isna().any(axis=None) else (note,))


def text_deviations(settings: TargetSettings[TextDeviationsFigure], texts: pd.DataFrame) -> PaperResult:
    """Plot the standard deviations of metrics over the texts of each method (NW Figure 5)."""
    target, printed = settings.target, settings.published
    metrics = target.metrics
    methods = methods_of(settings)
    names = [unique_label(of, methods) for of in methods]
    wide = _wide(methods, _summary(texts, metrics), names)
    shades = pd.DataFrame({name: rescaled(wide, name, deviations=True) for name in metrics})
    wide["overall"] = shades.mean(axis=1)
    entries = [
        [Entry(known(row[name])) for name in [*(f"{metric}_sd" for metric in metrics), "overall"]]
        for _, row in wide.iterrows()
    ]
    columns = [_label(printed, name) for name in metrics]
    table = PaperTable(names, [*columns, "mean, rescaled"], entries, "Model")
    order = wide.dropna(subset="overall").sort_values("overall", ascending=False, kind="stable")["label"]
    notes = [
        "Standard deviations over the texts of each method, in the unit of the metric. Last column: mean of "
        "the deviations, each rescaled from the least (0) to the greatest (1) of the methods, 0.5 if all are "
        "equal.",
        f"From greatest to least: {' > '.join(order)}.",
    ]
    if in_paper := printed.get("order_of_deviations"):
        notes.append(f"In the paper, which prints no deviations: {' > '.join(in_paper)}.")
        first = [next((i for i, of in enumerate(order) if of.startswith(name)), -1) for name in in_paper]
        if -1 not in first:
            notes.append(f"Ours have {'the same' if first == sorted(first) else 'another'} order.")
    figure = text_bars_figure(
        wide, dict(zip(metrics, columns, strict=True)), target.title,
        "Standard deviations over the texts of each method, rescaled from the least to the greatest, 0.5 if "
        "equal.",
        means=False,
    )  # fmt: skip
    return PaperResult(table, figure if len(order) else None, (*notes, *_notes_of_gaps(texts, metrics)))


def label_counts(settings: TargetSettings[LabelCounts], labels: pd.DataFrame) -> PaperResult:
    """Count the texts of a dataset with each label (NW Table 1).

    Raises:
        DataError: If the dataset has no such column.
    """
    printed, column = settings.published, settings.target.column
    if len(labels) and column not in labels:
        raise DataError(f"{settings.target.dataset}: the texts have no column {column!r}")
    columns = printed.get("columns", ["texts", "percent"])
    values = {"columns": columns, **printed.get("rows", {})}
    spelled = {name.casefold(): name for name in printed.get("rows", {})}
    found = labels[column].fillna(UNKNOWN).astype(str) if len(labels) else pd.Series(dtype=str)
    counts = found.map(lambda label: spelled.get(label.casefold(), label)).value_counts()
    rows = in_printed_order(
        sorted(counts.index, key=lambda label: (-counts[label], label)), [*spelled.values()]
    )
    entries = []
    for label in rows:
        count = int(counts.get(label, 0))
        ours = (count, 100 * count / len(labels)) if len(labels) else (None, None)
        entries.append(
            [with_paper(Entry(value), values, label, name) for value, name in zip(ours, columns, strict=True)]
        )
    table = PaperTable(rows, columns, entries, printed.get("corner", ""), printed.get("decimals", 1))
    return PaperResult(table, notes=(f"{len(labels):,} texts.",))


def methods_of(settings: Settings, human: str | None = None) -> list[Method]:
    """Return the methods of a target in each of its tasks, and last the human texts if they have a label."""
    cells = dict.fromkeys((task, model, decoding) for task, model, decoding, _ in settings.cells)
    methods = []
    for task, model, decoding in cells:
        entry = settings.decodings[decoding]
        parameters = {name: entry[name] for name in PARAMETERS if name in entry}
        methods.append(Method(method_label(settings, model, decoding), task, model, decoding, parameters))
    if human:
        methods += [Method(human, task, HUMAN, HUMAN, {}) for task in settings.tasks]
    return methods


def method_label(settings: Settings, model: str, decoding: str) -> str:
    """Return the paper's name of a method or, if it has none, of its model."""
    return str(settings.labels.get(f"{model}/{decoding}", settings.models[model].label))


def unique_label(method: Method, methods: Sequence[Method]) -> str:
    """Return a label that is unique among the methods."""
    alike = [other for other in methods if other.label == method.label]
    parts = [method.label]
    if len({other.decoding for other in alike}) > 1:
        parts.append(method.decoding)
    if len({other.task for other in alike}) > 1:
        parts.append(method.task)
    return ", ".join(parts)


def _in_printed_lines(
    methods: Sequence[Method], printed: Sequence[Line]
) -> list[tuple[Line | None, Method | None]]:
    """Pair the printed rows with ours, in their order; then follow ours that are not printed.

    A printed row belongs to the method with its label, window and decoding parameters. If both the paper and
    the experiment have a single method with this label, the parameters may differ (a served model has no
    top-k).
    """
    pairs: list[tuple[Line | None, Method | None]] = []
    for line in printed:
        alike = [of for of in methods if _fits(line, of.label, of.task)]
        same = [of for of in alike if all(of.parameters.get(name) == line.get(name) for name in PARAMETERS)]
        rivals = [other for other in printed if _fits(line, other["model"], other.get("window"))]
        match = same or (alike if len(rivals) == 1 else [])
        pairs.append((line, match[0] if len(match) == 1 else None))
    taken = {of for _, of in pairs}
    return [*pairs, *((None, of) for of in methods if of not in taken)]


def _fits(line: Line, label: str, window: str | None) -> bool:
    return bool(line["model"].casefold() == label.casefold() and line.get("window", window) == window)


def _summary(texts: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return mean and sample deviation, ``{metric}_sd``, over the texts of each (task, model, decoding)."""
    keys = ["task", "model", "decoding"]
    values = texts.reindex(columns=[*keys, *metrics]).astype(dict.fromkeys(metrics, float))
    methods = values.groupby(keys, sort=False)
    deviations = methods.std(ddof=1).add_suffix("_sd")
    return methods.mean().join(deviations)


def _wide(methods: Sequence[Method], summary: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    """Return one row for each method, with its label."""
    rows = summary.reindex(pd.MultiIndex.from_tuples([of.key for of in methods]))
    return rows.reset_index(drop=True).assign(label=list(labels))


def _means(
    summary: pd.DataFrame, method: Method | None, line: Line | None, metrics: Sequence[str]
) -> list[Entry]:
    """Return the entries of a row: means with deviations, and the published means."""
    values: Any = summary.loc[[method.key]].iloc[0] if method and method.key in summary.index else {}
    return [
        Entry(known(values.get(name)), known(values.get(f"{name}_sd")), line.get(name) if line else None)
        for name in metrics
    ]


def _setting(method: Method | None, line: Line | None, name: str) -> Entry:
    """Return the entry of a decoding parameter or of the window: ours, and the printed one if it differs."""
    ours = method.setting(name) if method else None
    printed = line.get(name) if line else None
    if printed is not None:
        printed = printed if name == "window" else _number(printed)
    return Entry(ours, paper=None if ours == printed else printed)


def _number(value: float | None) -> str:
    return "all" if value is None else format(value, "g")


def _label(printed: Mapping[str, Any], name: str) -> str:
    """Return the heading of a column, as printed if it is."""
    own = METRICS[name].label if name in METRICS else PARAMETERS.get(name, name)
    return str(printed.get("labels", {}).get(name, own))


def _notes(texts: pd.DataFrame, metrics: Sequence[str]) -> tuple[str, ...]:
    if texts.empty:
        return ()
    sizes = sorted(texts.groupby(["task", "model", "decoding"]).size())
    each = " to ".join(f"{size:,}" for size in dict.fromkeys([sizes[0], sizes[-1]]))
    return (
        f"Means over the texts of a method ({each}). ±: standard deviation over these texts; the paper "
        "prints means only.",
        *_notes_of_gaps(texts, metrics),
    )


def _notes_of_gaps(texts: pd.DataFrame, metrics: Sequence[str]) -> list[str]:
    """Say how many texts have no value of a metric, for example because they are empty."""
    gaps = {name: int(texts[name].isna().sum()) for name in metrics if name in texts}
    found = [f"{METRICS[name].label} ({count:,})" for name, count in gaps.items() if 0 < count < len(texts)]
    return [f"Texts without a value, which are left out: {', '.join(found)}."] if found else []
