"""What the tests say in words: of a model against human texts, and of two models.

Words are chosen by the role of a metric, which the catalogue declares, and only if a test supports them. The
first tested metric of features of each role is the leading one. If it also fails sanity checks, its verdict
never stands alone: the other metrics of its role, and the wording of the texts, must agree, or the verdict
says that they do not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.catalogue import FAMILIES, METRICS, leading_metrics
from textgamut.catalogue.family import BOTH, DIVERSITY, FIDELITY, Metric
from textgamut.inference.differences import CANNOT_TELL, verdict
from textgamut.metrics.rows import ALL
from textgamut.text import counted

if TYPE_CHECKING:
    import pandas as pd

REVISION = 3
"""Increase when the same tests produce other sentences."""

TELLING = 1.96 + 0.84
"""Deviations of a difference that a test at 5 % sees in four of five cases."""
MOST_VISIBLE = 0.2
"""Smallest visible difference of a metric from 0 to 1, above which there are too few texts to tell."""

MOST_CUT = 0.05
"""Share of texts longer than the embedder reads, above which a verdict begins with it."""

MOST_GROUPS, MOST_CHANGED = 5, 3
"""Maximum number of groups, and of verdicts that change with the embedder, that a sentence names."""

BELOW, ABOVE, TOO_FEW = "below", "above", "too few texts"

SIDES = {"worse": 0, "better": 1}
"""Verdict on the first of two models -> the place of the worse one."""

MEANS = {
    FIDELITY: "part of what it writes is unlike what humans write",
    DIVERSITY: "it misses part of what humans write",
}
"""Role of a leading metric -> what a value says that is worse than that of human texts."""

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Verdict:
    """What the tests say of a model."""

    sentences: tuple[str, ...]
    """The verdict in words."""
    findings: Mapping[str, str]
    """Leading metric -> ``below``, ``above`` or ``cannot tell`` (from human texts), or ``too few texts``."""


def visible_difference(deviation: float) -> float:
    """Return the smallest difference that a test at 5 % sees in four of five cases.

    Args:
        deviation: Standard deviation of the difference between sets that do not differ.
    """
    return TELLING * deviation


def human_verdict(
    rows: Sequence[Row], model: Mapping[str, float], human: Mapping[str, float], embedder: str | None
) -> Verdict:
    """Say how a model's texts differ from as many human texts.

    Args:
        rows: The rows of the table of differences of this model, first, and human texts.
        model: Metric -> value of the model.
        human: Metric -> value of human texts.
        embedder: Label of the embedder.
    """
    tested = {str(row["metric"]): row for row in rows}
    tested = {name: row for name, row in tested.items() if name in model and name in human}
    found = findings(list(tested.values()))
    sentences = [
        _against_humans(METRICS[name], tested[name], model[name], human[name], of, embedder)
        for name, of in found.items()
    ]
    alike = [name for name, of in found.items() if of != BELOW]
    doubts, beside = _doubts(alike, tested, model, human), _wording(tested, model, human)
    if beside:
        doubts.append(f"its texts {' and '.join(beside)}")
    labels = " and ".join(METRICS[name].label for name in alike)
    if alike and doubts:
        alone = f"{labels} alone {'does' if len(alike) == 1 else 'do'} not show"
        sentences.append(f"But {', and '.join(doubts)}: {alone} that its texts are like human texts.")
    elif any(METRICS[name].fails for name in alike):
        computed = any(FAMILIES[METRICS[name].family].of_wording for name in tested)
        sentences.append(
            "Lengths and wording cannot be told from those of human texts, either."
            if computed
            else f"Lengths and repetition were not computed, without which {labels} can mislead."
        )
    elif beside:
        sentences.append(f"Its texts {' and '.join(beside)}.")
    return Verdict(tuple(sentences), found)


def findings(rows: Sequence[Row]) -> dict[str, str]:
    """Return what the tests of the leading metrics say: metric -> :func:`finding`.

    Args:
        rows: The rows of the table of differences of a model, first, and human texts.
    """
    tested = {str(row["metric"]): row for row in rows}
    return {name: finding(tested[name]) for name in leading_metrics(tested)}


def with_cut(whole: Verdict, cut: Mapping[str, str], words: int) -> Verdict:
    """Add to a verdict what the tests say of texts that are cut to one length.

    Args:
        whole: The verdict on whole texts.
        cut: The findings on the cut texts.
        words: Their number of words.
    """
    changed = [
        f"{METRICS[name].label} ({found}, in place of {whole.findings[name]})"
        for name, found in cut.items()
        if name in whole.findings and found != whole.findings[name]
    ]
    if not cut:
        return whole
    changes = f"changes: {', '.join(changed)}" if changed else "is the same"
    says = f"On texts cut to {words:,} words, the verdict {changes}."
    return replace(whole, sentences=(*whole.sentences, says))


def partly_read(texts: float, references: float, embedder: str) -> list[str]:
    """Return a sentence if an embedder does not read many texts to their end.

    Args:
        texts: Share of a model's texts that are longer than the embedder reads.
        references: The same of the references.
        embedder: Label of the embedder.
    """
    shares = ((texts, "its texts"), (references, "the references"))
    found = [f"{share:.0%} of {what}" for share, what in shares if share > MOST_CUT]
    if not found:
        return []
    return [f"{' and '.join(found)} are longer than {embedder} reads: features are of their beginnings."]


def lost_roles(verdict: Verdict) -> set[str]:
    """Return the roles of the leading metrics that are worse than those of human texts."""
    return {str(METRICS[name].role) for name, found in verdict.findings.items() if found == BELOW}


def lost_to_others(differences: pd.DataFrame, names: Collection[str]) -> dict[str, set[str]]:
    """Return which models are worse than others: name -> the roles of the leading metrics.

    Args:
        differences: The table of differences.
        names: The models; other pairs are left out.
    """
    found: dict[str, set[str]] = {}
    for row in differences[differences["group"] == ALL].to_dict("records"):
        pair = row["model_1"], row["model_2"]
        tested = {str(of["metric"]) for of in of_pair(differences, *pair)}
        if set(pair) <= set(names) and row["metric"] in leading_metrics(tested) and row["verdict"] in SIDES:
            loser = pair[SIDES[row["verdict"]]]
            found.setdefault(loser, set()).add(str(METRICS[row["metric"]].role))
    return found


def finding(row: Row) -> str:
    """Return what a test says of a model's value against that of human texts.

    Args:
        row: A row of the table of differences.
    """
    metric = METRICS[row["metric"]]
    if told(row):
        below = (row["tested"] < 0) == (metric.better != "lower")
        return BELOW if below else ABOVE
    few = metric.range == (0, 1) and not visible_difference(row["deviation"]) <= MOST_VISIBLE
    return TOO_FEW if few else CANNOT_TELL


def told(row: Row) -> bool:
    """Return whether a row of the table of differences tells two sets apart."""
    return verdict(row["metric"], row["difference"], row["tested"], row["p_holm"]) != CANNOT_TELL


def pair_verdicts(differences: pd.DataFrame, names: Collection[str]) -> list[str]:
    """Say how each two models differ in the leading metrics, and how many metrics tell them apart.

    Args:
        differences: The table of differences.
        names: The models; other pairs are left out.

    Returns:
        A sentence for each pair that differs in a leading metric, and one for all others.
    """
    pairs = dict.fromkeys(zip(differences["model_1"], differences["model_2"], strict=True))
    said, alike = [], 0
    labels: dict[str, None] = {}
    for pair in pairs:
        if pair[0] not in names or pair[1] not in names:
            continue
        tested = {str(row["metric"]): row for row in of_pair(differences, *pair)}
        leading = leading_metrics(tested)
        labels |= dict.fromkeys(METRICS[name].label for name in leading)
        every = of_pair(differences, *pair, groups=True)
        in_groups = any(told(row) for row in every if row["group"] != ALL and row["metric"] in leading)
        if in_groups or any(told(tested[name]) for name in leading):
            more = group_verdict(differences, *pair) if in_groups else []
            said.append(" ".join([_of_pair(tested, leading), *more]))
        else:
            alike += 1
    if alike and labels:
        others = "pair" if not said else "other pair"
        which = f"The {others}" if alike == 1 else f"The {alike:,} {others}s"
        said.append(f"{which} of models cannot be told apart in {' and '.join(labels)}.")
    return said


def group_verdict(differences: pd.DataFrame, first: str, second: str) -> list[str]:
    """Say in which groups a set of texts differs from another one in the leading metrics.

    Args:
        differences: The table of differences.
        first: Name of the set that the sentences are about.
        second: Name of the other set.
    """
    rows = [row for row in of_pair(differences, first, second, groups=True) if row["group"] != ALL]
    said, alike = [], []
    for name in leading_metrics({str(row["metric"]): row for row in rows}):
        label, own = METRICS[name].label, [row for row in rows if row["metric"] == name]
        found = sorted(filter(told, own), key=_clearness)
        where = [f"{row['verdict']} in {row['group']} ({_signed(row)})" for row in found[:MOST_GROUPS]]
        if not found:
            alike.append(label)
            continue
        if len(found) > MOST_GROUPS:
            where.append(f"differs in {len(found) - MOST_GROUPS} others")
        left = len(own) - len(found)
        rest = f"; it cannot be told apart in {counted(left, 'other')}" if left else ""
        said.append(f"By group, {label} is {', '.join(where)}{rest}.")
    if alike:
        said.append(f"By group, {' and '.join(alike)} cannot be told apart in any.")
    return said


def embedder_agreement(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Tabulate the verdicts on the same texts with several embedders.

    Args:
        tables: Label of each embedder -> its table of differences.

    Returns:
        One row per pair and metric of features that all tables have: ``metric``, ``model_1``, ``model_2``, a
        column of verdicts for each embedder, and ``agree``, whether they are the same.
    """
    import pandas as pd

    keys = ["metric", "model_1", "model_2"]
    columns = []
    for label, table in tables.items():
        of_features = [FAMILIES[METRICS[name].family].of_features for name in table["metric"]]
        own = table[np.array(of_features, dtype=bool) & (table["group"] == ALL).to_numpy(dtype=bool)]
        columns.append(own.set_index(keys)["verdict"].rename(label))
    found = pd.concat(columns, axis=1, join="inner")
    return found.assign(agree=found.nunique(axis=1) == 1).reset_index()


def embedder_verdict(agreement: pd.DataFrame) -> str:
    """Say which verdicts in the leading metrics depend on the embedder.

    Args:
        agreement: Table of :func:`embedder_agreement`.
    """
    leading = leading_metrics(set(agreement["metric"]))
    rows = agreement[agreement["metric"].isin(leading)]
    labels = [str(name) for name in agreement if name not in ("metric", "model_1", "model_2", "agree")]
    which = f"{counted(len(rows), 'verdict')} in {' and '.join(METRICS[of].label for of in leading)}"
    changed = [
        f"{METRICS[row['metric']].label} of {row['model_1']} against {row['model_2']} "
        f"({', '.join(f'{label}: {row[label]}' for label in labels)})"
        for row in rows[~rows["agree"]].to_dict("records")
    ]
    if not changed:
        return f"The embedders {' and '.join(labels)} agree in {which}."
    more = f", and {len(changed) - MOST_CHANGED} others" if len(changed) > MOST_CHANGED else ""
    verb = "changes" if len(changed) == 1 else "change"
    return f"Of {which}, {len(changed)} {verb} with the embedder: {'; '.join(changed[:MOST_CHANGED])}{more}."


def _of_pair(tested: Mapping[str, Row], leading: Sequence[str]) -> str:
    row = tested[leading[0]]
    parts = [
        f"is {tested[name]['verdict']} in {METRICS[name].label} ({_signed(tested[name])})"
        if told(tested[name])
        else f"cannot be told apart in {METRICS[name].label}"
        for name in leading
    ]
    found = sum(map(told, tested.values()))
    pair = f"{row['model_1']} against {row['model_2']}"
    return f"{pair}: {', '.join(parts)}; {found} of {len(tested)} metrics tell them apart."


def _against_humans(
    metric: Metric, row: Row, value: float, human: float, found: str, embedder: str | None
) -> str:
    """Return the sentence of a leading metric."""
    name = metric.label.capitalize() if metric.label.islower() else metric.label
    if embedder and not FAMILIES[metric.family].of_wording:
        name += f" ({embedder})"
    own, theirs, visible = map(_number, (value, human, visible_difference(row["deviation"])))
    if found == TOO_FEW:
        seen = f"only a difference of {visible} would be seen"
        return f"{name}: {own} against {theirs} of human texts: too few texts to tell ({seen})."
    if found == CANNOT_TELL:
        seen = f"a difference of {visible} would be seen"
        return f"{name} cannot be told from that of human texts: {own} and {theirs} ({seen})."
    if found == ABOVE:
        return f"{name} {own} is better than that of human texts, {theirs}: {_signed(row)}."
    assert metric.role is not None
    means = MEANS[metric.role]
    return f"{name} {own} is worse than that of human texts, {theirs}: {_signed(row)}: {means}."


def _doubts(
    alike: Sequence[str], tested: Mapping[str, Row], model: Mapping[str, float], human: Mapping[str, float]
) -> list[str]:
    """Return which other metrics of features are worse, where the leading ones are not."""
    roles = {METRICS[name].role for name in alike}
    others = [
        name
        for name in tested
        if METRICS[name].level == "set"
        and METRICS[name].role in roles | {BOTH}
        and METRICS[name].better
        and not FAMILIES[METRICS[name].family].of_wording
        and name not in alike
    ]
    worse = [name for name in others if finding(tested[name]) == BELOW]
    if not (alike and worse):
        return []
    clearest = min(worse, key=lambda name: _clearness(tested[name]))
    verb = "is" if len(worse) == 1 else "are"
    which = f"{len(worse)} of {len(others)} other metrics {verb} worse than those of human texts"
    return [f"{which} ({_values(clearest, model, human)})"]


def _wording(tested: Mapping[str, Row], model: Mapping[str, float], human: Mapping[str, float]) -> list[str]:
    """Return how a model's texts differ from human texts in length, repetition and predictability."""
    found: dict[str, str] = {}
    for other, row in tested.items():
        metric = METRICS[other]
        if not metric.says or not told(row):
            continue
        says = metric.says[row["tested"] > 0]
        if says not in found or _clearness(row) < _clearness(tested[found[says]]):
            found[says] = other
    return [f"{says} ({_values(other, model, human)})" for says, other in found.items()]


def _clearness(row: Row) -> tuple[float, float]:
    """Return a key that is smaller the more clearly two sets are told apart."""
    return row["p"], -abs(row["tested"]) / (row["deviation"] or math.inf)


def _values(name: str, model: Mapping[str, float], human: Mapping[str, float]) -> str:
    return f"{METRICS[name].label} {_number(model[name])} against {_number(human[name])}"


def _signed(row: Row) -> str:
    return f"{row['tested']:+.3g} [{row['low']:+.3g}, {row['high']:+.3g}]"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def of_pair(differences: pd.DataFrame, first: str, second: str, groups: bool = False) -> list[dict[Any, Any]]:
    """Return the rows of a table of differences of two sets, the first in this order.

    Args:
        differences: The table.
        first: Name of the first set.
        second: Name of the second set.
        groups: Whether the rows of groups are among them.
    """
    chosen = (differences["model_1"] == first) & (differences["model_2"] == second)
    if not groups:
        chosen &= differences["group"] == ALL
    return differences[chosen].to_dict("records")
