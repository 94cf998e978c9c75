"""All rankings of the same methods, for ``textgamut rank`` and the workflow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut.config.metrics import Q_TEXT_CRITERIA, RANKINGS
from textgamut.draws import draw_prompt_ids
from textgamut.errors import DataError, TextgamutError
from textgamut.rankings.agreement import agreement
from textgamut.rankings.bradley_terry import BradleyTerry, Separation, fit_bradley_terry
from textgamut.rankings.dominance import (
    DominanceCounts,
    DominanceSummary,
    dominance_counts,
    dominance_orders,
    dominance_summary,
    dominance_table,
    pareto_front,
)
from textgamut.rankings.gsd_front import LEVEL, GsdFront, gsd_front
from textgamut.rankings.method_scores import MethodScores, prompt_means, wide_method_scores
from textgamut.rankings.qtext import dominant_counts, q_text, q_text_limits
from textgamut.rankings.rank_intervals import (
    LEAST_PROMPTS,
    MOST_WITHOUT,
    Counts,
    balances,
    percentiles,
    rank_percentiles,
    resampled_q_text,
    resampled_worths,
)
from textgamut.rankings.ufg_depth import UfgDepth, ufg_depth

REVISION = 3
"""Increase when the same scores produce different rankings."""

DIGITS = 10
"""Number of decimals of a score that determine its rank."""
COLUMNS = {"method", "prompt", "pareto", "strength", "strength_se", "missing"} | {
    f"{rank}{name}{end}" for rank in ("", "rank_") for name in RANKINGS for end in ("", "_low", "_high")
}
"""Columns of a ranking; a criterion must have a different name."""


@dataclass(frozen=True)
class Ranking:
    """Methods, ranked in all ways that their scores allow."""

    methods: pd.DataFrame
    """One row per method, the best first, by dominance. Columns:
    ``method``; the mean of each criterion; ``missing``, the number of prompts on which the method lacks a
    criterion, which counts as the worst value; ``pareto``, whether no other method dominates its means;
    ``dominance``, wins minus losses as a share of all comparisons, in [-1, 1]; if they exist, ``worth`` with
    ``strength`` and ``strength_se`` (Bradley-Terry), and ``q_text`` (mean over the prompts, 0 to 100);
    ``rank_dominance``, ``rank_worth`` and ``rank_q_text``, 1 for the best. Equal scores share the smallest
    rank. With resamples, also ``{x}_low`` and ``{x}_high``, the 95 % intervals of these scores and ranks, see
    ``rankings.rank_intervals``; a rank is certain if both ends are the same. All pairs are compared equally
    often, so that ranks by worth are those by net dominance, also where worths have no intervals."""
    dominance: pd.DataFrame
    """Pairs: ``method_1``, ``method_2``, ``wins`` (prompts on which 1 dominates 2), ``share``."""
    agreement: pd.DataFrame
    """``ranking_1``, ``ranking_2``, ``spearman``, ``kendall``, ``methods``."""
    winners: pd.DataFrame
    """``of`` (method, ...), ``which`` (most or least), ``label``, ``count``, ``proportion``: the number of
    prompts on which the label has the highest or lowest Q*Text (MC Tables 12 to 19); empty without Q*Text."""
    pairs: DominanceSummary
    """Numbers of ordered pairs whose first method dominates always, mostly or never (MC appendix C)."""
    prompts: int
    compared: list[str]
    """The best methods, in the order of the table; the depth and the front belong to them."""
    depth: UfgDepth | None
    front: GsdFront | None
    """Generalised stochastic dominance between the compared methods; None without swaps."""
    notes: list[str]
    """Results that could not be computed, with the reasons."""


def rank_methods(
    scores: MethodScores,
    depth_of: int = 4,
    kinds: Mapping[str, Mapping[str, str]] | None = None,
    resample: Callable[[int], Counts] | None = None,
    swap: Callable[[int], NDArray[np.bool_]] | None = None,
    cardinal: Sequence[str] = (),
    steps: int | None = None,
) -> Ranking:
    """Rank methods by dominance, worth, Q*Text, and the depth of their orders (MC sections 4 and 5).

    Args:
        scores: Scores of each method on each prompt.
        depth_of: Number of best methods that the depth and the front compare.
        kinds: Additional labels by which winners are counted: kind, for example model -> method -> label.
        resample: Function that draws resamples of a number of prompts: how often each is in each resample.
            If it is given, scores and ranks have intervals.
        swap: Function that draws the swaps of the front's test: on which of a number of prompts the texts of
            two methods are exchanged, in each permutation. Without it, there is no front.
        cardinal: As for ``rankings.gsd_front.gsd_front``.
        steps: As for ``rankings.gsd_front.gsd_front``.

    Returns:
        The rankings. They do not depend on the order of prompts and methods. A ranking that does not exist
        for these scores is left out, and a note states the reason: for example, the worth if a method always
        wins, Q*Text if one of its criteria is missing, the depth if its search is too large.

    Raises:
        TextgamutError: If a criterion has no value at all, or the name of a column of the ranking.
    """
    scores = _in_order(scores)
    notes: list[str] = []
    oriented = scores.oriented
    counts = dominance_counts(oriented)
    columns = _means_columns(scores, notes)
    comparisons = len(scores.prompts) * (len(scores.methods) - 1)
    columns["dominance"] = (counts.wins.sum(axis=1) - counts.wins.sum(axis=0)) / comparisons
    if fit := _fit(counts, scores.methods, notes):
        columns |= {"worth": [*fit.worth.values()], "strength": [*fit.strength.values()]}
        columns["strength_se"] = [*fit.standard_errors.values()]

    winners = pd.DataFrame(columns=["of", "which", "label", "count", "proportion"])
    try:
        values = _q_text_of(scores)
        columns["q_text"] = values.mean(axis=0)
        labels = {kind: [of[method] for method in scores.methods] for kind, of in (kinds or {}).items()}
        winners = _winners(values, {"method": scores.methods, **labels})
    except TextgamutError as error:
        notes.append(f"no Q*Text: {error}")

    resamples = None
    if resample and len(scores.prompts) < LEAST_PROMPTS:
        notes.append(f"no intervals: fewer than {LEAST_PROMPTS} prompts say little about new ones")
    elif resample:
        resamples = resample(len(scores.prompts))
        columns |= _intervals(scores, fit, resamples, "q_text" in columns, notes)

    methods = _ranked(columns)
    compared = list(methods["method"][:depth_of])
    best = oriented[:, [scores.methods.index(method) for method in compared]]
    depth = _depth(best, resamples, notes)
    front = None
    try:
        if swap:
            front = gsd_front(best, compared, scores.criteria, swap(len(best)), cardinal, steps)
    except TextgamutError as reason:
        notes.append(f"no {reason}")
    return Ranking(
        methods,
        dominance_table(counts, scores.methods),
        _agreements(methods),
        winners,
        dominance_summary(counts),
        len(scores.prompts),
        compared,
        depth,
        front,
        notes,
    )


def _fit(counts: DominanceCounts, names: Sequence[str], notes: list[str]) -> BradleyTerry | None:
    """Return the worths; None, and a note, if they do not exist."""
    try:
        return fit_bradley_terry(counts.wins, counts.ties, names)
    except Separation as error:
        notes.append(f"no worth: {error}")
        return None


def _ranked(columns: Mapping[str, object]) -> pd.DataFrame:
    """Return the table of the methods with their ranks, in the order of the best ranking."""
    methods = pd.DataFrame(columns)
    scores = [name for name in RANKINGS if name in columns]
    for name in scores:
        # Worths give the same order, but not where they are too small to be told apart.
        of = methods["dominance" if name == "worth" else name]
        # Rounded: the scores of equally good methods may differ in the last bits.
        ranks = methods[f"rank_{name}"] = of.round(DIGITS).rank(ascending=False, method="min").astype(int)
        if f"rank_{name}_low" in methods:  # equal scores are rarely equal in resamples
            methods[f"rank_{name}_low"] = np.minimum(methods[f"rank_{name}_low"], ranks)
            methods[f"rank_{name}_high"] = np.maximum(methods[f"rank_{name}_high"], ranks)
    last = [
        f"{rank}{name}{end}" for rank in ("", "rank_") for name in scores for end in ("", "_low", "_high")
    ]
    shown = [name for name in methods if name not in last] + [name for name in last if name in methods]
    return methods[shown].sort_values(["rank_dominance", "method"], ignore_index=True)


def _intervals(
    scores: MethodScores, fit: BradleyTerry | None, resamples: Counts, q_text_exists: bool, notes: list[str]
) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
    """Return the columns of the intervals of all scores and ranks, and note what has none."""
    oriented = scores.oriented
    net, ties = balances(oriented)
    found = {"dominance": resamples @ net / (len(net) * (len(scores.methods) - 1))}
    if fit:
        found["worth"] = resampled_worths(fit, oriented, net, ties, resamples)
    if q_text_exists:
        found["q_text"] = resampled_q_text(scores, resamples)
    columns: dict[str, NDArray[np.float64] | NDArray[np.int64]] = {}
    for name, values in found.items():
        if without := int(np.isnan(values).any(axis=1).sum()):
            notes.append(
                f"{RANKINGS[name]} does not exist in {without:,} of {len(values):,} resamples of the "
                f"prompts: its intervals leave them out, or do not exist above {100 * MOST_WITHOUT:.0f} %"
            )
        ranks = rank_percentiles(found["dominance"] if name == "worth" else values, DIGITS)
        for column, ends in {name: percentiles(values), f"rank_{name}": ranks}.items():
            if ends:
                columns |= {f"{column}_low": ends[0], f"{column}_high": ends[1]}
    return {
        name: ends.astype(np.int64) if name.startswith("rank_") else ends for name, ends in columns.items()
    }


def _agreements(methods: pd.DataFrame) -> pd.DataFrame:
    """Return the agreement of the rankings that exist; empty for a single one."""
    found = {label: methods[f"rank_{name}"] for name, label in RANKINGS.items() if name in methods}
    if len(found) == 1:
        return pd.DataFrame(columns=["ranking_1", "ranking_2", "spearman", "kendall", "methods"])
    return agreement(pd.DataFrame(found))


def _means_columns(scores: MethodScores, notes: list[str]) -> dict[str, object]:
    """Return the columns of the means, their Pareto front, and missing values, of which a note is made."""
    means = _means(scores)
    columns: dict[str, object] = {"method": scores.methods}
    columns |= {name: means[:, place] for place, name in enumerate(scores.criteria)}
    columns["missing"] = missing = np.isnan(scores.values).any(axis=2).sum(axis=0)
    if missing.any():
        notes.append(
            "empty, or too short for a criterion, and so the worst on it: "
            f"{missing.sum()} of {len(scores.prompts) * len(scores.methods)} texts"
        )
    best_up = np.where(scores.higher, means, -means)
    columns["pareto"] = pareto_front(np.where(np.isnan(best_up), -np.inf, best_up))
    return columns


def _means(scores: MethodScores) -> NDArray[np.float64]:
    """Return the mean (M, C) of each method and criterion; NaN where all texts are empty."""
    # Sorted, so that methods with the same values have the same mean to the last bit; NaN are last.
    flat = pd.DataFrame(np.sort(scores.values, axis=0).reshape(len(scores.prompts), -1))
    return flat.mean().to_numpy().reshape(scores.values.shape[1:])


def _q_text_of(scores: MethodScores) -> NDArray[np.float64]:
    """Return Q*Text (P, M) of each method on each prompt.

    Raises:
        TextgamutError: If it does not exist for these scores.
    """
    if absent := [name for name in Q_TEXT_CRITERIA if name not in scores.criteria]:
        raise DataError(f"it needs {', '.join(Q_TEXT_CRITERIA)}; there is no {', '.join(absent)}")
    perplexity, coherence, diversity = (
        scores.values[:, :, scores.criteria.index(name)].ravel() for name in Q_TEXT_CRITERIA
    )
    return q_text(perplexity, coherence, diversity).reshape(scores.values.shape[:2])


def _depth(oriented: NDArray[np.float64], resamples: Counts | None, notes: list[str]) -> UfgDepth | None:
    """Return the depth of the orders of some methods, and note why it or its resamples do not exist."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            depth = ufg_depth(dominance_orders(oriented), resamples)
    except (TextgamutError, UserWarning) as reason:
        notes.append(f"no depth: {reason}")
        return None
    if depth.deepest is None and resamples is not None:
        notes.append(f"no resamples of the depth: {depth.n_premises:,} sets of orders are too many")
    return depth


def rank_texts(
    texts: Mapping[str, pd.DataFrame],
    names: Mapping[tuple[str, str], str],
    higher: Sequence[str],
    lower: Sequence[str],
    prompts: Mapping[str, int] | None = None,
    **options: Any,
) -> tuple[MethodScores, Ranking]:
    """Rank methods by the metrics of the single texts of one or more tasks.

    Args:
        texts: Table of each task; see :func:`method_scores.prompt_means`.
        names: Name of the method of each (model, decoding).
        higher: Criteria with higher is better.
        lower: Criteria with lower is better.
        prompts: Task -> number of prompts that all methods have, if some have more, which are left out.
        options: As for :func:`rank_methods`.

    Returns:
        The scores, in the order of the texts, and the rankings.

    Raises:
        TextgamutError: As :func:`method_scores.wide_method_scores` and :func:`rank_methods`.
    """
    notes, compared = [], dict(texts)
    for task, n in (prompts or {}).items():
        ids = texts[task]["prompt_id"].unique()
        compared[task] = texts[task][texts[task]["prompt_id"].isin(draw_prompt_ids(ids, task, n))]
        notes.append(f"{task}: compared on {n} of {len(ids)} prompts, those that all methods have")
    means = prompt_means(compared, names, [*higher, *lower])
    scores = wide_method_scores(means.table, higher, lower, missing_as_worst=True)
    ranking = rank_methods(scores, **options)
    if means.incomplete:
        notes.append(
            f"{means.incomplete} single texts are empty, or too short for a criterion: no part in their "
            "prompt's mean"
        )
    return scores, replace(ranking, notes=[*ranking.notes, *notes])


def q_text_of_texts(
    texts: Mapping[str, pd.DataFrame], names: Mapping[tuple[str, str], str]
) -> dict[str, NDArray[np.float64]]:
    """Score single texts by Q*Text, on the scale of the ranking of the same tasks (MC Table 4).

    The criteria are scaled by their lowest and highest values in the ranking. These are values of ranked
    methods only, so that human texts change no score. A text beyond them, such as a human one, counts as the
    lowest or highest. With one text per method and prompt, the means of the scores are those of the ranking.

    Args:
        texts: Table of each task: ``model``, ``decoding``, ``prompt_id`` and the criteria.
        names: Name of the method of each ranked (model, decoding).

    Returns:
        Task -> scores in [0, 100], in the order of its table.

    Raises:
        TextgamutError: If a criterion is missing, or as :func:`qtext.q_text`.
    """
    for task, table in texts.items():
        if absent := [name for name in Q_TEXT_CRITERIA if name not in table]:
            raise DataError(f"Q*Text of {task}: there is no {', '.join(absent)}")
    ranked = prompt_means(texts, names, Q_TEXT_CRITERIA).table
    limits = q_text_limits(ranked["perplexity"], ranked["coherence"], ranked["diversity"])
    return {
        task: q_text(table["perplexity"], table["coherence"], table["diversity"], limits=limits)
        for task, table in texts.items()
    }


def ranking_tables(ranking: Ranking) -> dict[str, pd.DataFrame]:
    """Return all tables of a ranking: name -> table.

    They are ``ranking``, ``agreement``, ``winners``, ``orders``, ``front``, ``dominance``, and ``pairs``: one
    row with the number of ``prompts`` and the numbers of pairs of ``Ranking.pairs``.
    """
    depth = ranking.depth
    return {
        "ranking": ranking.methods,
        "agreement": ranking.agreement,
        "winners": ranking.winners,
        "orders": orders_table(depth, ranking.compared),
        "front": front_table(ranking.front),
        "dominance": ranking.dominance,
        "pairs": pd.DataFrame([{"prompts": ranking.prompts, **asdict(ranking.pairs)}]),
    }


def orders_table(depth: UfgDepth | None, methods: Sequence[str]) -> pd.DataFrame:
    """List the observed orders of some methods, the deepest first; the table is empty without a depth.

    Returns:
        ``order``: its dominances, for example "A > B; A > C", or "nothing dominates"; ``count`` of prompts;
        ``depth``, in [0, 1]; with resamples, ``deepest``, the share of them in which it is the deepest.
    """
    rows: list[list[object]] = []
    for order, count, value in (
        () if depth is None else zip(depth.orders, depth.counts, depth.depth, strict=True)
    ):
        pairs = [f"{methods[i]} > {methods[j]}" for i, j in zip(*np.nonzero(order), strict=True) if i != j]
        rows.append(["; ".join(pairs) or "nothing dominates", int(count), float(value)])
    table = pd.DataFrame(rows, columns=["order", "count", "depth"])
    if depth is not None and depth.deepest is not None:
        table["deepest"] = depth.deepest
    return table.sort_values(["depth", "count", "order"], ascending=[False, False, True], ignore_index=True)


def front_table(front: GsdFront | None) -> pd.DataFrame:
    """List the ordered pairs of the compared methods; the table is empty without a front.

    Returns:
        ``method``; ``on_front``, whether no other one dominates it; ``certain``, whether the test rejects for
        each competitor that it dominates the method, at level 5 %; ``competitor``; ``least``, the smallest
        difference of their mean utilities, in [-1, 0], 0 if the competitor dominates; ``p``;
        ``permutations``; ``scales``: how criteria are compared.
    """
    columns = ["method", "on_front", "certain", "competitor", "least", "p", "permutations", "scales"]
    rows: list[list[object]] = []
    if front:
        scales = f"differences of {', '.join(front.cardinal)}" if front.cardinal else "orders only"
        scales += "" if front.steps is None else f", in {front.steps} steps"
        certain = front.largest_p <= LEVEL
        for place, method in enumerate(front.methods):
            for other, competitor in enumerate(front.methods):
                if other != place:
                    pair = (other, place)
                    values = [float(front.least[pair]), float(front.p[pair]), int(front.permutations[pair])]
                    about = [method, bool(front.on_front[place]), bool(certain[place])]
                    rows.append([*about, competitor, *values, scales])
    return pd.DataFrame(rows, columns=columns)


def _in_order(scores: MethodScores) -> MethodScores:
    """Sort prompts and methods by name, so that no sum depends on their order."""
    for place, name in enumerate(scores.criteria):
        if name in COLUMNS:
            raise DataError(f"criterion {name!r} has the name of a column of the ranking: rename it")
        if np.isnan(scores.values[:, :, place]).all():
            raise DataError(f"criterion {name!r} has no value on any prompt: leave it out")
    prompts = sorted(range(len(scores.prompts)), key=scores.prompts.__getitem__)
    methods = sorted(range(len(scores.methods)), key=scores.methods.__getitem__)
    return replace(
        scores,
        prompts=[scores.prompts[i] for i in prompts],
        methods=[scores.methods[i] for i in methods],
        values=scores.values[np.ix_(prompts, methods)],
    )


def _winners(values: NDArray[np.float64], kinds: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    frames = [
        dominant_counts(values, labels, least=not most).assign(of=kind, which="most" if most else "least")
        for kind, labels in kinds.items()
        for most in (True, False)
    ]
    return pd.concat(frames, ignore_index=True)[["of", "which", "label", "count", "proportion"]]
