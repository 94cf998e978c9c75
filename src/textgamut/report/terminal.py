"""A ranking, printed."""

from __future__ import annotations

from typing import Any

import pandas as pd

from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import RANKINGS, Ranking, orders_table

MOST = 30
"""Methods, and orders, that are printed; all of them are in the files."""


def print_ranking(ranking: Ranking, scores: MethodScores) -> None:
    """Print a ranking as tables."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = 160
    methods = ranking.methods
    console.print(f"{len(methods):,} methods on {ranking.prompts:,} prompts\n", highlight=False)
    found = [name for name in RANKINGS if name in methods]
    names = [
        (name, f"{name} {'↑' if up else '↓'}")
        for name, up in zip(scores.criteria, scores.higher, strict=True)
    ]
    table = Table("", "method", box=None, pad_edge=False, header_style="dim")
    for name in found:
        table.add_column(RANKINGS[name], justify="right", no_wrap=True)
    for _, label in names:
        table.add_column(Text(label), justify="right", no_wrap=True)
    table.add_column("Pareto")
    for place, row in enumerate(methods.head(MOST).to_dict("records"), start=1):
        cells = [f"{_number(row[name])} ({row[f'rank_{name}']})" for name in found]
        cells += [_number(row[name]) for name, _ in names]
        table.add_row(str(place), Text(str(row["method"])), *cells, "front" if row["pareto"] else "")
    console.print(table)
    if len(methods) > MOST:
        console.print(f"... and {len(methods) - MOST:,} more", style="dim", highlight=False)
    console.print("In parentheses: the rank by it. Criteria: means over the prompts.", style="dim")

    pairs = ranking.pairs
    console.print(
        f"\nOf {pairs.pairs:,} ordered pairs, the first dominates on all prompts in {pairs.always:,}, on "
        f"90 % or more in {pairs.mostly:,}, never in {pairs.never:,}",
        highlight=False,
    )
    if len(ranking.agreement):
        table = Table("agreement", "", "Spearman", "Kendall", box=None, pad_edge=False, header_style="dim")
        for row in ranking.agreement.to_dict("records"):
            table.add_row(
                row["ranking_1"], row["ranking_2"], _number(row["spearman"]), _number(row["kendall"])
            )
        console.print()
        console.print(table)
    if ranking.depth is not None:
        orders = orders_table(ranking.depth, [f"({i})" for i in range(1, len(ranking.compared) + 1)])
        which = "; ".join(f"({i}) {name}" for i, name in enumerate(ranking.compared, start=1))
        table = Table("depth", "prompts", "order", box=None, pad_edge=False, header_style="dim")
        shown = orders if len(orders) <= 6 else pd.concat([orders.head(4), orders.tail(2)])
        for row in shown.to_dict("records"):
            table.add_row(_number(row["depth"]), f"{row['count']:,}", row["order"])
        console.print()
        console.print(Text(f"Orders of the best {len(ranking.compared)}, {len(orders)} in all: {which}"))
        console.print(table)
    for note in ranking.notes:
        console.print(Text(f"note: {note}"))


def _number(value: Any) -> str:
    return "—" if pd.isna(value) else f"{value:.4g}"
