"""What is measured: the families of metrics, a file for each, and this index.

Settings, rules, ``textgamut.score``, the command line, tables, figures, the documentation and the schema are
made from it. A new family is its mathematics in ``metrics``, a file here, and a line below.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from importlib import import_module

from textgamut.catalogue.family import BOTH, DIVERSITY, FIDELITY, Family, Metric

MODULES = (
    "support",
    "divergence",
    "vendi",
    "distance",
    "completions",
    "judged_completions",
    "length",
    "ngram",
    "compression",
    "defects",
    "copying",
    "likelihood",
    "readability",
    "entities",
    "similarity",
    "essay",
    "judge",
)
"""The files of the families, in the order in which experiments list them."""

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (import_module(f"textgamut.catalogue.{name}").FAMILY for name in MODULES)
}
"""Families by name."""

METRICS: dict[str, Metric] = {
    metric.name: replace(metric, family=family.name)
    for of_texts in (False, True)
    for family in FAMILIES.values()
    for metric in family.metrics
    if (family.of_texts or metric.level == "text") == of_texts
}
"""Metrics by name, in the order of a table's columns: metrics of sets, then metrics of single texts."""


ANSWERING = (
    *("precision", "recall", "mauve", "f_1_8", "f_8"),
    *("mmd_gaussian_p", "vendi_ratio", "self_bleu", "text_words"),
)
"""The metrics that answer the questions of docs/reference/sanity.md, which tables show first."""

INSTEAD = {FIDELITY: ("f_1_8", "mauve"), DIVERSITY: ("f_8",), BOTH: ("mauve",)}
"""Role -> metrics that fail fewer sanity checks than others, the more specific first."""


def instead_of(name: str) -> Metric | None:
    """Return the metric to read instead of one that fails sanity checks; None if it fails none."""
    metric = METRICS[name]
    others = INSTEAD.get(metric.role or BOTH, ())
    better = [METRICS[other] for other in others if len(METRICS[other].fails) < len(metric.fails)]
    return better[0] if better else None


def metrics_of(family: str) -> list[str]:
    """Return the names of a family's metrics, in the order of a table's columns."""
    return [metric.name for metric in METRICS.values() if metric.family == family]


def text_metrics_of(family: str) -> list[str]:
    """Return the names of a family's metrics of single texts, in the order of ``texts.parquet``.

    Metrics of level ``text`` come before those of level ``both``.
    """
    of_texts = [METRICS[name] for name in metrics_of(family) if METRICS[name].level != "set"]
    return [metric.name for metric in sorted(of_texts, key=lambda metric: metric.level == "both")]


def feature_families() -> list[str]:
    """Return the families of the features of generated texts."""
    return [name for name, family in FAMILIES.items() if family.of_features]


def compared_families() -> list[str]:
    """Return the families that compare the features of as many references and generated texts."""
    return [name for name, family in FAMILIES.items() if family.of_draws]


def scored_families() -> list[str]:
    """Return the families that ``textgamut score`` computes from two files of texts."""
    return [name for name, family in FAMILIES.items() if family.in_score]


def leading_metrics(tested: Collection[str]) -> list[str]:
    """Return the first tested metric of sets of each role: of features or, without any, of wording.

    Args:
        tested: Names of the tested metrics.
    """
    names = [name for name in METRICS if name in tested and METRICS[name].level == "set"]
    of_features = [name for name in names if not FAMILIES[METRICS[name].family].of_wording]
    roles = [
        [name for name in of_features or names if METRICS[name].role == role]
        for role in (FIDELITY, DIVERSITY)
    ]
    return [of_role[0] for of_role in roles if of_role]
