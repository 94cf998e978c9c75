"""Tables and figures of the rankings of methods (MC).

Each function takes the settings of a target (see ``workflow.targets.target_settings``) and what it reads. A
ranking is its tables by name, see ``rankings.ranking.ranking_tables``, and its ``notes``; it is empty if it
does not exist yet.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.config.target_shapes import AgreementFigure, Continuations, Winners, Worths
from textgamut.config.task_kinds import HUMAN
from textgamut.errors import TextgamutError
from textgamut.language import words_end_of
from textgamut.rankings.agreement import agreement as rank_correlations
from textgamut.rankings.bradley_terry import Separation, fit_bradley_terry
from textgamut.rankings.dominance import merged_by_position
from textgamut.rankings.ranking import DIGITS, q_text_of_texts
from textgamut.report.figures.hasse import hasse_figure
from textgamut.report.figures.scatter import scatter_figure
from textgamut.report.papers.mc_labels import MethodLabels, method_labels
from textgamut.report.papers.result import Entry, PaperResult, PaperTable, in_printed_order
from textgamut.report.papers.target_settings import Settings, TargetSettings
from textgamut.text import WordsEnd, cut_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

REVISION = 3
"""Increase when the same rankings produce a different table or figure."""

MOST_PAIRS = 50
"""Maximum number of pairs in a table besides those that the paper prints."""

_BY = {"worth": "Estimated worth parameter", "dominance": "Net dominance"}
"""Column that methods are ranked by -> its label."""

TEXT = ["model", "decoding", "seed", "id"]
"""Columns that identify a text of a task."""

RankingTables = Mapping[str, Any]


def best_and_worst(settings: Settings, ranking: RankingTables) -> PaperResult:
    """Name the first and the last by each of the three approaches (MC Table 2)."""
    printed, labels = settings.published, _names(settings)
    columns = ["Extended Bradley-Terry Model", "Union-Free Generic Depth", "Q*Text"]
    methods, orders = _table(ranking, "ranking"), _table(ranking, "orders")
    entries = []
    for end, place in (("best", 0), ("worst", -1)):
        by_depth = _order(orders["order"].iloc[place], labels) if len(orders) else None
        ours = [_extreme(methods, "worth", end, labels), by_depth, _extreme(methods, "q_text", end, labels)]
        paper = printed.get(end, [None] * len(columns))
        entries.append([Entry(own, paper=of) for own, of in zip(ours, paper, strict=True)])
    notes = [
        "Union-free generic depth: the deepest and the shallowest observed order of the "
        f"{settings.depth_of} methods with the greatest worth."
    ]
    table = PaperTable(["Best", "Worst"], columns, entries)
    return PaperResult(table, notes=(*notes, *_reasons(ranking, "worth", "depth", "Q*Text")))


def worths(
    settings: TargetSettings[Worths],
    ranking: RankingTables,
    dominance: Sequence[pd.DataFrame] = (),
) -> PaperResult:
    """Rank the methods by worth, or by net dominance if the worth does not exist (MC Tables 3, 8 to 11).

    Args:
        settings: Settings of the target.
        ranking: The ranking of all tasks.
        dominance: Counts of dominance of each task, to be added by position; empty if the counts are those of
            the ranking.
    """
    printed, labels = settings.published, _names(settings)
    methods, paper = _table(ranking, "ranking"), _printed_ranks(printed)
    paper_worths = dict(zip(printed.get("best", ()), printed.get("worths", ()), strict=False))
    by = "worth" if "worth" in methods or methods.empty else "dominance"
    names = [labels[method] for method in methods["method"]] if len(methods) else []
    ranks: dict[str, int] = dict(zip(names, methods.get(f"rank_{by}", ()), strict=True))
    values: dict[str, float] = dict(zip(names, methods.get(by, ()), strict=True))
    columns, by_name, notes = ["Rank", _BY[by]], ranks, [*_reasons(ranking, "worth")]
    if dominance:
        columns.append("Rank, counts added by name")
        try:
            prompts = int(_table(ranking, "pairs")["prompts"].iloc[0])
            by, values = "worth", _worths_by_position(dominance, printed["orders"], labels, prompts)
        except Separation as error:
            ranks, values, notes = {}, {}, [*notes, f"Counts added by position: {error}."]
        else:
            order = pd.Series(values).round(DIGITS).rank(ascending=False, method="min")
            ranks = dict(zip(values, map(int, order), strict=True))
        columns[1] = _BY["worth"]
    entries = {
        row: [
            Entry(ranks.get(row), paper=paper.get(row)),
            Entry(values.get(row), paper=paper_worths.get(row) if by == "worth" else None),
            *([Entry(by_name.get(row))] if dominance else []),
        ]
        for row in in_printed_order(list(ranks)[: settings.target.first], list(paper))
    }
    both = [label for label in paper if label in ranks]
    if len(both) > 2:
        rho = _correlations([ranks[label] for label in both], [paper[label] for label in both])[0]
        notes.insert(
            0, f"Spearman's correlation with the paper's order: {rho:.3f}, over {len(both)} methods."
        )
    if by == "dominance":
        notes.append(
            "Ranked by net dominance: the share of comparisons with another method on a prompt that are won, "
            "less the share of those lost."
        )
    absent = _absent(paper, labels)
    table = PaperTable(list(entries), columns, list(entries.values()), "Method", decimals=6, absent=absent)
    return PaperResult(table, notes=tuple(notes))


def _worths_by_position(
    dominance: Sequence[pd.DataFrame],
    orders: Sequence[Sequence[str]],
    labels: Mapping[str, str],
    prompts: int,
) -> dict[str, float]:
    """Return the worth of each method, the greatest first, from counts that are added by position.

    Methods that the experiment lacks are left out of the orders.

    Raises:
        Separation: If there is no worth.
    """
    known = set(labels.values())
    orders = [[label for label in order if label in known] for order in orders]
    names = ["method_1", "method_2"]
    tables = [counts.assign(**{name: counts[name].map(labels) for name in names}) for counts in dominance]
    counts = merged_by_position(tables, orders, prompts)
    worth = fit_bradley_terry(counts.wins, counts.ties, orders[-1]).worth
    return {label: worth[label] for label in sorted(worth, key=worth.__getitem__, reverse=True)}


def dominating_pairs(settings: Settings, ranking: RankingTables) -> PaperResult:
    """List the pairs where one dominates on all prompts, and count pairs (MC Tables 5 to 7)."""
    printed, labels = settings.published, _names(settings)
    dominance, pairs = _table(ranking, "dominance"), _table(ranking, "pairs")
    paper = {f"{first} > {second}": wins for first, second, wins in printed.get("pairs", ())}
    ours: dict[str, int] = {}
    always: list[str] = []
    if len(dominance) and len(pairs):
        prompts = int(pairs["prompts"][0])
        firsts, seconds = dominance["method_1"].map(labels), dominance["method_2"].map(labels)
        found = (firsts + " > " + seconds).to_numpy()
        wins = dominance["wins"].to_numpy()
        wanted = np.isin(found, list(paper)) | (wins == prompts)
        ours = dict(zip(found[wanted], map(int, wins[wanted]), strict=True))
        always = [label for label, count in ours.items() if count == prompts and label not in paper]
    rows = [*paper, *always[:MOST_PAIRS]]
    entries = [[Entry(ours.get(row), paper=paper.get(row))] for row in rows]
    threshold = printed.get("threshold")
    own = pairs.iloc[0].to_dict() if len(pairs) else {}
    counts = {
        "Ordered pairs": (own.get("pairs"), printed.get("of")),
        "… of which the first dominates on all prompts": (own.get("always"), len(paper) or None),
        "… on more than 90 % of the prompts": (own.get("mostly"), None),
    }
    if threshold is not None:
        above = int((dominance["wins"] > threshold).sum()) if len(dominance) else None
        counts[f"… on more than {threshold:,} prompts"] = (above, printed.get("mostly"))
    counts["… on no prompt"] = (own.get("never"), printed.get("never"))
    entries += [[Entry(None if value is None else int(value), paper=of)] for value, of in counts.values()]
    notes = [f"{own['prompts']:,} prompts."] if own else []
    if len(always) > MOST_PAIRS:
        notes.append(f"{len(always) - MOST_PAIRS:,} more pairs dominate on all prompts and are not shown.")
    known = set(labels.values())
    absent = [row for row in paper if not set(row.split(" > ")) <= known]
    corner = "Method 1 > Method 2, which it dominates"
    table = PaperTable([*rows, *counts], ["Count"], entries, corner, absent=absent)
    return PaperResult(table, notes=tuple(notes))


def winners(settings: TargetSettings[Winners], ranking: RankingTables) -> PaperResult:
    """Count the prompts on which a method, model, ... has the best or worst Q*Text (MC Tables 12 to 19)."""
    target, printed = settings.target, settings.published
    labels = _labels_of(settings, target.of)
    columns = printed.get("columns", ["Count", "Proportion (%)"])
    scale = 100 if "%" in columns[1] else 1
    paper = printed.get("counts", {})
    found = _table(ranking, "winners")
    ours: dict[str, float] = {}
    if len(found):
        found = found[(found["of"] == "method") & (found["which"] == target.which)]
        counts = found["count"].groupby(found["label"].map(labels), sort=True).sum()
        counts = counts.sort_values(ascending=False, kind="stable")
        ours = dict.fromkeys((label for label in paper if label in labels.values()), 0.0) | counts.to_dict()
    total = sum(ours.values())
    entries = []
    rows = in_printed_order(ours, list(paper))
    for row in rows:
        count, of = ours.get(row), paper.get(row, [None, None])
        if count is None:
            entries.append([Entry(paper=value) for value in of])
            continue
        whole = round(count, DIGITS)
        number = int(whole) if whole == int(whole) else whole
        entries.append([Entry(number, paper=of[0]), Entry(scale * count / total, paper=of[1])])
    what = "highest" if target.which == "most" else "lowest"
    notes = [f"Prompts on which a text has the {what} Q*Text; methods with the same value share a prompt."]
    notes += [f"{total:,.0f} prompts."] if total else []
    decimals = printed.get("decimals", 0)
    absent = _absent(paper, labels)
    table = PaperTable(rows, columns, entries, target.of.capitalize(), decimals, absent)
    return PaperResult(table, notes=(*notes, *_reasons(ranking, "Q*Text")))


def orders(settings: Settings, ranking: RankingTables) -> PaperResult:
    """Draw the deepest and the shallowest order of the best methods (MC Figure 2)."""
    printed, labels = settings.published, _names(settings)
    found, methods = _table(ranking, "orders"), _table(ranking, "ranking")
    ends = {"deepest": "Deepest order", "shallowest": "Shallowest order"}
    frequent = ["Most frequent order", "Second most frequent order", "Third most frequent order"]
    counts = printed.get("frequent", [None] * 3)
    paper = [printed.get(end, [None] * 3) for end in ends] + [[None, None, count] for count in counts]
    ours: list[list[Any]] = [[None] * 3 for _ in paper]
    figure, notes = None, []
    if len(found):
        names = list(methods["method"].head(settings.depth_of))
        compared = [labels[name] for name in names]
        lines = found[["order", "depth", "count"]].to_numpy().tolist()
        by_count = sorted(lines, key=lambda line: -line[2])
        for place, (order, depth, count) in enumerate([lines[0], lines[-1], *by_count[:3]]):
            ours[place] = [_order(order, labels), depth, count]
        prompts = sum(count for *_, count in lines)
        notes = [f"Orders of {', '.join(compared)} on {prompts:,} prompts, {len(lines)} of them distinct."]
        captions = [
            f"{name.split()[0]}: depth {depth:.3f}, {count} of {prompts:,} prompts"
            for name, (_, depth, count) in zip(ends.values(), ours[:2], strict=True)
        ]
        matrices = np.array([_matrix(line[0], names) for line in (lines[0], lines[-1])])
        figure = hasse_figure(matrices, captions, compared, settings.target.title)
    entries = [
        [Entry(own, paper=of) for own, of in zip(line, printed_line, strict=True)]
        for line, printed_line in zip(ours, paper, strict=True)
    ]
    table = PaperTable([*ends.values(), *frequent], ["Order", "Depth", "Prompts"], entries)
    return PaperResult(table, figure, (*notes, *_reasons(ranking, "depth")))


def agreement(settings: TargetSettings[AgreementFigure], ranking: RankingTables) -> PaperResult:
    """Plot the ranks by worth against those by Q*Text, with a colour for each group (MC Figures 3 and 4)."""
    by, methods = settings.target.by, _table(ranking, "ranking")
    labels = _labels_of(settings, by)
    columns = ["Methods", "Spearman", "Kendall", "Mean rank by worth", "Mean rank by Q*Text"]
    rows = ["All methods", *dict.fromkeys(labels.values())]
    entries = [[Entry() for _ in columns] for _ in rows]
    figure = None
    if {"rank_worth", "rank_q_text"} <= set(methods):
        group = methods["method"].map(labels)
        points = {}
        for place, row in enumerate(rows):
            of = methods if place == 0 else methods[group == row]
            ranks = of["rank_worth"].tolist(), of["rank_q_text"].tolist()
            values = [len(of), *_correlations(*ranks), *map(float, map(np.mean, ranks))]
            entries[place] = [Entry(value) for value in values]
            if place:
                points[row] = ranks
        note = "A dot is a method; rank 1 is the best."
        names = ("Rank by worth (Bradley-Terry)", "Rank by Q*Text")
        figure = scatter_figure(points, names, settings.target.title, note, diagonal=True)
    table = PaperTable(rows, columns, entries, by.capitalize(), decimals=2)
    return PaperResult(table, figure, tuple(_reasons(ranking, "worth", "Q*Text")))


def continuations(
    settings: TargetSettings[Continuations],
    ranked: Mapping[str, pd.DataFrame],
    continuations: pd.DataFrame,
    prompts: pd.DataFrame,
) -> PaperResult:
    """Show the texts of some methods after one prompt, with their Q*Text (MC Table 4).

    Args:
        settings: Settings of the target.
        ranked: Task -> the metrics of its single texts.
        continuations: ``model``, ``decoding``, ``seed``, ``id``, ``prompt_id``, ``text`` of the shown methods
            and of the human texts, for the first task.
        prompts: ``task``, ``id`` and ``base`` of the prompts, in their order.
    """
    printed, words = settings.published, settings.target.words
    labels = _names(settings)
    paper: dict[str, float] = printed.get("q_text", {})
    names = {(model, decoding): name for model, decoding, name in settings.methods}
    task = next(iter(settings.tasks))
    notes = []
    found: dict[str, tuple[str, float | None]] = {}
    prompt = _prompt(prompts[prompts["task"] == task], continuations, printed.get("prompt"))
    if prompt is not None:
        scores: dict[tuple[Any, ...], float] = {}
        if len(ranked) == len(settings.tasks):
            try:
                values = q_text_of_texts(ranked, names)[task]
                own = ranked[task].assign(q_text=values)
                own = own.loc[own["prompt_id"] == prompt["id"], [*TEXT, "q_text"]]
                scores = {tuple(key): float(value) for *key, value in own.to_numpy().tolist()}
            except TextgamutError as error:
                notes.append(f"No Q*Text: {error}.")
        texts = continuations[continuations["prompt_id"] == prompt["id"]]
        for *key, text in texts.drop_duplicates(["model", "decoding"])[[*TEXT, "text"]].to_numpy().tolist():
            label = "Human" if key[0] == HUMAN else labels[names[key[0], key[1]]]
            found[label] = _shown(text, words, words_end_of(continuations)), scores.get(tuple(key))
        notes.insert(0, f"Prompt: {prompt['base']}")
        if not str(prompt["base"]).startswith(printed.get("prompt", "")):
            notes.insert(1, "The paper's prompt is not among these; this is the first one.")
    added = sorted(set(found) - set(paper), key=lambda label: (-(found[label][1] or 0.0), label))
    others = added if len(added) < 5 else [*added[:2], *added[-2:]]
    rows = in_printed_order(others, list(paper))
    empty: tuple[str | None, float | None] = (None, None)
    entries = [
        [Entry(found.get(row, empty)[0]), Entry(found.get(row, empty)[1], paper=paper.get(row))]
        for row in rows
    ]
    if added:
        which = "two with the highest and two with the lowest" if len(others) < len(added) else "all, by"
        notes.append(
            "Below the methods of the paper: of our other methods with these decoding settings, "
            f"{which} Q*Text on this prompt."
        )
    notes.append(
        f"Texts are cut after {words} words (…). Q*Text is that of the whole text, on the scale of the "
        f"ranking of {', '.join(settings.tasks)}."
    )
    absent = _absent(paper, {**labels, HUMAN: "Human"})
    table = PaperTable(rows, ["Text", "Q*Text"], entries, "Decoding Method", decimals=2, absent=absent)
    return PaperResult(table, notes=tuple(notes))


def tuned_parameters(settings: Settings, tuning: pd.DataFrame) -> PaperResult:
    """Show the parameters of Q*Text that were tuned to human ratings (MC Table 21)."""
    printed = settings.published
    rows = {
        "weights": "Metric Weights",
        "targets": "Gaussian Target Values",
        "penalties": "Gaussian Penalty Strength",
    }
    singular = {"weights": "weight", "targets": "target", "penalties": "penalty"}
    ours: dict[Any, float] = {}
    if len(tuning):
        ours = tuning.set_index(["parameter", "criterion"])["value"].astype(float).to_dict()
    entries = [
        [
            Entry(ours.get((singular[row], criterion)), paper=of)
            for criterion, of in zip(Q_TEXT_CRITERIA, printed.get(row, [None] * 3), strict=True)
        ]
        for row in rows
    ]
    table = PaperTable(
        list(rows.values()), [name.capitalize() for name in Q_TEXT_CRITERIA], entries, "Parameter"
    )
    return PaperResult(table, notes=tuple(_tuned(tuning)))


def ratings(settings: Settings, tuning: pd.DataFrame, rated: pd.DataFrame) -> PaperResult:
    """Plot Q*Text against human ratings, with a colour for each strategy (MC Figure 5)."""
    labels = _labels_of(settings, "strategy")
    columns = ["Texts", "Mean rating", "Mean Q*Text, tuned", "Spearman"]
    rows = ["All texts", *dict.fromkeys(labels.values())]
    entries = [[Entry() for _ in columns] for _ in rows]
    figure, notes = None, _tuned(tuning)
    if len(rated):
        group = rated["method"].map(labels)
        points = {}
        for place, row in enumerate(rows):
            of = rated if place == 0 else rated[group == row]
            both = of["rating"].tolist(), of["q_text"].tolist()
            means = [float(np.mean(values)) if values else None for values in both]
            entries[place] = [Entry(value) for value in (len(of), *means, _correlations(*both)[0])]
            if place and len(of):
                points[row] = both
        names = ("Human rating", "Q*Text, tuned")
        note = " ".join(["A dot is a text.", *notes])
        figure = scatter_figure(points, names, settings.target.title, note)
    return PaperResult(PaperTable(rows, columns, entries, "Strategy", decimals=2), figure, tuple(notes))


def _table(ranking: RankingTables, name: str) -> pd.DataFrame:
    found = ranking.get(name)
    return found if isinstance(found, pd.DataFrame) else pd.DataFrame()


def _reasons(ranking: RankingTables, *shown: str) -> list[str]:
    """Return the notes of a ranking: why what is shown may not exist, and which texts lack a criterion."""
    hidden = {"worth", "depth", "Q*Text"} - set(shown)
    return [
        f"{note[:1].upper()}{note[1:]}."
        for note in ranking.get("notes", ())
        if note.split(":")[0] not in {f"no {name}" for name in hidden}
    ]


def _labels(settings: Settings) -> dict[str, MethodLabels]:
    """Return the paper's labels of each method, by its name in the ranking."""
    models, decodings, table = settings.models, settings.decodings, settings.name
    return {
        name: method_labels(models[model].label, decodings[decoding], table)
        for model, decoding, name in settings.methods
    }


class _Names(dict[str, str]):
    """Name of a method in a ranking -> a label. A method that has left the experiment keeps its name."""

    def __missing__(self, name: str) -> str:
        return name


def _names(settings: Settings) -> _Names:
    """Return the paper's name of each method; ambiguous names get the ranking's name appended."""
    found = {name: labels.method(settings.name) for name, labels in _labels(settings).items()}
    times = collections.Counter(found.values())
    shown = {name: label if times[label] == 1 else f"{label} [{name}]" for name, label in found.items()}
    return _Names(shown)


def _labels_of(settings: Settings, kind: str) -> _Names:
    """Return the model, strategy, hyperparameters or name of each method."""
    if kind == "method":
        return _names(settings)
    return _Names({name: getattr(labels, kind) or "none" for name, labels in _labels(settings).items()})


def _absent(paper: Iterable[str], labels: Mapping[str, str]) -> list[str]:
    known = set(labels.values())
    return [label for label in paper if label not in known]


def _printed_ranks(printed: Mapping[str, Any]) -> dict[str, int]:
    """Return the rank of each printed method; the worst are counted from the end."""
    best, worst = printed.get("best", []), printed.get("worst", [])
    last = printed.get("methods", len(best))
    ranks = {label: rank for rank, label in enumerate(best, start=1)}
    return ranks | {label: rank for rank, label in enumerate(worst, start=last - len(worst) + 1)}


def _extreme(methods: pd.DataFrame, score: str, end: str, labels: Mapping[str, str]) -> str | None:
    """Return the methods with the best or worst score, without those after the third."""
    if f"rank_{score}" not in methods:
        return None
    ranks = methods[f"rank_{score}"]
    names = [
        labels[name] for name in methods["method"][ranks == (ranks.min() if end == "best" else ranks.max())]
    ]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _order(order: str, labels: Mapping[str, str]) -> str:
    """Return a line of ``ranking.orders_table`` with the paper's names."""
    pairs = [pair.split(" > ", 1) for pair in order.split("; ")]
    if not all(len(pair) == 2 and set(pair) <= set(labels) for pair in pairs):
        return order  # nothing dominates
    return "; ".join(f"{labels[first]} > {labels[second]}" for first, second in pairs)


def _matrix(order: str, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return the matrix of a line of ``ranking.orders_table``: whether i dominates or is j."""
    pairs = set(order.split("; "))
    return np.array([[one == other or f"{one} > {other}" in pairs for other in names] for one in names])


def _correlations(one: Sequence[float], other: Sequence[float]) -> tuple[float | None, float | None]:
    """Return Spearman's and Kendall's correlation; None for fewer than three values or a constant."""
    if len(one) < 3:
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a constant: the correlation is nan
        found = rank_correlations({"one": one, "other": other})
    first, second = found[["spearman", "kendall"]].iloc[0]
    return (None if np.isnan(first) else float(first)), (None if np.isnan(second) else float(second))


def _prompt(prompts: pd.DataFrame, texts: pd.DataFrame, begin: str | None) -> dict[str, Any] | None:
    """Return the prompt that begins so, or the first prompt with texts; None without any."""
    if texts.empty or prompts.empty:
        return None
    known = prompts[prompts["id"].isin(texts["prompt_id"])]
    wanted = known[known["base"].str.startswith(begin)] if begin else known
    chosen = wanted if len(wanted) else known
    return {"id": chosen["id"].iloc[0], "base": chosen["base"].iloc[0]} if len(chosen) else None


def _shown(text: str, words: int, words_end: WordsEnd) -> str:
    text = text.strip()
    begin = cut_words(text, words, words_end)
    return f"{begin} …" if begin != text else text or "(empty)"


def _tuned(tuning: pd.DataFrame) -> list[str]:
    if tuning.empty:
        return []
    line = tuning[tuning["parameter"] == "spearman"].iloc[0]
    return [
        f"Spearman's correlation of Q*Text with the ratings: {line['value']:.3f}, with the initial "
        f"parameters {line['start']:.3f}. It is optimistic, as the parameters were tuned to these ratings."
    ]
