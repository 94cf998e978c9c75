"""Print scores and rankings to the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from textgamut.catalogue import METRICS
from textgamut.catalogue.family import FAILS_NOTE
from textgamut.catalogue.gate import Outcome
from textgamut.config.metrics import RANKINGS
from textgamut.errors import printable
from textgamut.inference.gates import FAIL, Check, NamedFailure
from textgamut.metrics.rows import ALL, YARDSTICK, Row
from textgamut.metrics.support_scores import OF_GROUPS
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import Ranking, front_table, orders_table
from textgamut.rankings.ufg_depth import UfgDepth
from textgamut.report.comparison import (
    cells_of,
    facts_against,
    facts_of,
    first_pairs,
    models_table,
    pairs_table,
)
from textgamut.report.gate import (
    IN_SUMMARY,
    check_name,
    check_numbers,
    excerpt,
    headline,
    in_group,
    outcome_text,
)
from textgamut.report.names import shortened
from textgamut.report.places import certain_places, front_text, rank_text

LONGEST = 80
"""Maximum number of characters of the name of a method."""
MOST = 30
"""Maximum number of methods that are printed; the files contain all of them."""

MOST_PAIRS = 15
"""Maximum number of pairs of models that are printed: all pairs of six models."""


def print_scores(
    rows: Sequence[Row],
    humans: Mapping[str, Mapping[str, float]],
    verdict: Sequence[str],
    references: int,
    generated: int,
    computed_with: str | None,
) -> None:
    """Print a verdict, and scores as tables: one for all texts and, if there are groups, one for the groups.

    Args:
        rows: One row per metric and group.
        humans: Name of each set of human texts, the yardstick first -> metric -> value.
        verdict: Sentences.
        references: Number of reference texts.
        generated: Number of generated texts.
        computed_with: Label of the embedder and, unless it is English, the language; None for neither.
    """
    console = _console(120)
    console.print(Text(facts_against(generated, rows, references, computed_with), style="bold"))

    if verdict:
        _print_sentences(console, verdict)
        console.print()
    named, human = next(iter(humans.items()), ("", {}))
    beside_it = {"": [], YARDSTICK: ["human texts"]}.get(named, ["references"])
    whole = _table("metric", "value", *beside_it, "95 % interval", "reads as")
    for row in rows:
        if row["group"] == ALL:
            name, metric = row["metric"], METRICS[row["metric"]]
            beside = [f"{human[name]:.4f}" if name in human else "—"] if humans else []
            cells = (name, f"{row['value']:.4f}", *beside, _uncertainty(row))
            whole.add_row(*(Text(cell) for cell in cells), Text(metric.reads_as + metric.mark, style="dim"))
    console.print(whole)
    _print_fails_note(console, [row["metric"] for row in rows])

    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["group"] != ALL:
            values.setdefault(row["group"], {})[row["metric"]] = row["value"]
    if values:
        groups = _table("group", *OF_GROUPS)
        for group, found in values.items():
            of_group = (f"{found[name]:.4f}" if name in found else "—" for name in OF_GROUPS)
            groups.add_row(Text(printable(group)), *(Text(cell) for cell in of_group))
        console.print()
        console.print(groups)


def print_comparison(
    scores: pd.DataFrame,
    differences: pd.DataFrame,
    verdicts: Mapping[str, Sequence[str]],
    references: int,
    computed_with: str | None,
) -> None:
    """Print verdicts, and the scores of several models as tables: models, groups, and differences.

    Metrics that do not fit next to each other are printed below each other.

    Args:
        scores: As ``report.comparison.models_table``.
        differences: As ``report.comparison.pairs_table``.
        verdicts: Model -> sentences; an empty name for those of pairs.
        references: Number of reference texts.
        computed_with: Label of the embedder and, unless it is English, the language; None for neither.
    """
    console = _console(120)
    console.print(Text(printable(facts_of(scores, references, computed_with)), style="bold"))
    for name, sentences in verdicts.items():
        if sentences:
            console.print(Text(printable(name or "Between models"), style="bold"))
            _print_sentences(console, sentences if name else first_pairs(sentences, MOST_PAIRS))
            console.print()
    table = models_table(scores)
    metrics = [name for name in METRICS if name in table]
    whole = table[table["group"] == ALL]
    number = {name: str(i) for i, name in enumerate(whole["model"], start=1)}
    _print_columns(
        console,
        [("", list(number.values())), ("model", list(number))],
        [
            (f"{name} {METRICS[name].arrow}".rstrip() + METRICS[name].mark, cells_of(whole, name))
            for name in metrics
        ],
    )
    _print_fails_note(console, metrics)
    groups = table[table["group"] != ALL]
    if len(groups):
        console.print()
        _print_columns(
            console,
            [("group", list(groups["group"])), ("model", list(groups["model"]))],
            [(name, cells_of(groups, name)) for name in OF_GROUPS],
        )
    notes = {
        "_low": "[ ]: 95 % interval",
        "_sd": "±: deviation over k-means seeds, not over samples of texts",
    }
    shown = [note for part, note in notes.items() if any(str(name).endswith(part) for name in table)]
    if shown:
        console.print(", ".join(shown), style="dim", markup=False)
    if len(differences):
        pairs = pairs_table(differences)
        title = "\nDifferences, with 95 % intervals; verdicts: p below 0.05 after Holm's correction"
        console.print(Text(title, style="bold"))
        few = pairs.head(MOST_PAIRS)
        _print_columns(
            console,
            [("", list(few["model_1"].map(number) + " - " + few["model_2"].map(number)))],
            [(_of_texts(name), cells_of(few, name, "+")) for name in METRICS if name in few],
        )
        if len(pairs) > MOST_PAIRS:
            more = f"... and {len(pairs) - MOST_PAIRS:,} more pairs, which --output and --json contain"
            console.print(more, style="dim", highlight=False)


def _print_sentences(console: Console, sentences: Iterable[str]) -> None:
    for sentence in sentences:
        console.print(Text(printable(sentence)))


def _print_fails_note(console: Console, metrics: Iterable[str]) -> None:
    if any(METRICS[name].fails for name in metrics):
        console.print(f"{FAILS_NOTE} (docs/reference/sanity.md)", style="dim", highlight=False)


def _of_texts(metric: str) -> str:
    return f"{metric} of a text" if METRICS[metric].level == "both" else metric


def _print_columns(
    console: Console, names: Sequence[tuple[str, list[str]]], columns: Sequence[tuple[str, Sequence[str]]]
) -> None:
    """Print a table as one or several blocks of as many columns as fit, each with the columns of names."""
    shown = [(header, [printable(name) for name in cells]) for header, cells in names]
    most = console.width // 3 // max(1, len(shown) - 1)
    room = console.width - sum(min(max(map(cell_len, cells)), most) + 2 for _, cells in shown)
    blocks: list[list[tuple[str, Sequence[str]]]] = []
    left = 0
    for header, cells in columns:
        width = max(map(cell_len, [header, *cells])) + 2
        if not blocks or width > left:
            blocks.append([])
            left = room + 2
        blocks[-1].append((header, cells))
        left -= width
    for place, block in enumerate(blocks):
        table = _table()
        for header, _ in shown:
            table.add_column(header, max_width=most, overflow="fold")
        for header, _ in block:
            table.add_column(header, justify="left", no_wrap=True)
        for row in zip(*(cells for _, cells in [*shown, *block]), strict=True):
            table.add_row(*map(Text, row))
        if place:
            console.print()
        console.print(table)


def _uncertainty(row: Row) -> str:
    if "low" in row:
        return f"{row['low']:.3f} to {row['high']:.3f}"
    return f"± {row['deviation']:.4f} (k-means seeds only)" if "deviation" in row else ""


def print_ranking(ranking: Ranking, scores: MethodScores) -> None:
    """Print a ranking as tables: methods, pairs, agreement, orders.

    Args:
        ranking: Ranking of ``scores``.
        scores: Scores of the methods.
    """
    console = _console(160)
    methods = ranking.methods
    console.print(f"{len(methods):,} methods on {ranking.prompts:,} prompts\n", highlight=False)
    found = [name for name in RANKINGS if name in methods]
    names = [
        (name, f"{name} {'↑' if up else '↓'}")
        for name, up in zip(scores.criteria, scores.higher, strict=True)
    ]
    table = _table("", "method")
    for name in found:
        table.add_column(RANKINGS[name], justify="right", no_wrap=True)
    for _, label in names:
        table.add_column(Text(printable(label)), justify="right", no_wrap=True)
    table.add_column("Pareto")
    labels = shortened(map(str, methods["method"].head(MOST)), LONGEST)
    for place, row in enumerate(methods.head(MOST).to_dict("records"), start=1):
        cells = [f"{_number(row[name])} ({rank_text(row, name)})" for name in found]
        cells += [_number(row[name]) for name, _ in names]
        table.add_row(str(place), Text(labels[place - 1]), *cells, "front" if row["pareto"] else "")
    console.print(table)
    if len(methods) > MOST:
        console.print(f"... and {len(methods) - MOST:,} more", style="dim", highlight=False)
    certain = certain_places(methods)
    interval = ", with its 95 % interval over resamples of the prompts" if certain else ""
    console.print(f"In parentheses: the rank by it{interval}. Criteria: means over the prompts.", style="dim")
    if certain:
        console.print(certain, highlight=False)

    pairs = ranking.pairs
    console.print(
        f"\nOf {pairs.pairs:,} ordered pairs, the first dominates on all prompts in {pairs.always:,}, on "
        f"more than 90 % in {pairs.mostly:,}, never in {pairs.never:,}",
        highlight=False,
    )
    if len(ranking.agreement):
        table = _table("agreement", "", "Spearman", "Kendall")
        for row in ranking.agreement.to_dict("records"):
            table.add_row(
                row["ranking_1"], row["ranking_2"], _number(row["spearman"]), _number(row["kendall"])
            )
        console.print()
        console.print(table)
    if ranking.depth is not None:
        _print_orders(console, ranking.depth, ranking.compared)
    if ranking.front:
        console.print()
        console.print(Text(printable(front_text(front_table(ranking.front)))))
    for note in ranking.notes:
        console.print(Text(printable(f"note: {note}")))


def _print_orders(console: Console, depth: UfgDepth, methods: Sequence[str]) -> None:
    """Print the deepest and the shallowest orders of some methods."""
    orders = orders_table(depth, [f"({i})" for i in range(1, len(methods) + 1)])
    which = "; ".join(f"({i}) {name}" for i, name in enumerate(shortened(methods, LONGEST), start=1))
    resampled = "deepest" in orders
    table = _table("depth", *["deepest in"] * resampled, "prompts", "order")
    shown = orders if len(orders) <= 6 else pd.concat([orders.head(4), orders.tail(2)])
    for row in shown.to_dict("records"):
        share = [f"{100 * row['deepest']:.1f} % of resamples"] if resampled else []
        table.add_row(_number(row["depth"]), *share, f"{row['count']:,}", row["order"])
    console.print()
    console.print(Text(f"Orders of the best {len(methods)}, {len(orders)} in all: {which}"))
    console.print(table)


def print_gate(
    outcome: Outcome, checks: Sequence[Check], failures: Sequence[NamedFailure], said: Sequence[str]
) -> None:
    """Print the result of a gate: its outcome, what failed, with texts, and all tests.

    Args:
        outcome: The outcome.
        checks: All tests.
        failures: What failed or has changed, by name.
        said: How the gate was made.
    """
    console = _console(120)
    console.print(Text(headline(outcome, checks), style="bold"))
    for of in failures:
        _print_sentences(console, [in_group(of)])
        for text in of.texts[:IN_SUMMARY] if of.fails else ():
            console.print(Text(printable(f"    {text.side} {text.row}: {excerpt(text.text)}"), style="dim"))
    console.print()
    table = _table("metric", "baseline", "candidate", "drop", "at most", "margin", "p", "")
    for check in checks:
        style = "bold" if check.outcome == FAIL else "" if check.outcome else "dim"
        cells = (check_name(check), *check_numbers(check), outcome_text(check))
        table.add_row(*(Text(printable(cell)) for cell in cells), style=style)
    console.print(table)
    _print_sentences(console, [of for of in said if not of.startswith("Warning")])


def _console(width: int) -> Console:
    """Return a console that has the given width if the output is a pipe or a file."""
    console = Console()
    if not console.is_terminal:
        console.width = width
    return console


def _table(*headers: str) -> Table:
    return Table(*headers, box=None, pad_edge=False, header_style="dim")


def _number(value: Any) -> str:
    return "—" if pd.isna(value) else f"{value:.4g}"
