"""What ``textgamut gate`` tests: guarded metrics with their margins, and what a failure is called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import FEATURES, LANGUAGE, TEXT_SCORES, TEXTS, Family, FamilySettings, Metric

OF_TEXTS = Family(
    name="texts",
    description="means of metrics of single texts",
    work="Testing means",
    settings=FamilySettings,
    reads=(TEXT_SCORES,),
    scorer="",
    resampled="textgamut.metrics.two_sets:prepare_means",
    revisions=(),
    metrics=tuple(metric for metric in METRICS.values() if metric.level != "set"),
)
"""Metrics of single texts, whose means a gate tests by resamples: of rare values, such as refusals, Student's
t holds for large samples only."""

OF_TWO_SETS = Family(
    name="two sets",
    description="what tells two sets of texts apart, without references",
    work="Testing two sets",
    settings=FamilySettings,
    reads=(FEATURES, TEXTS, LANGUAGE),
    scorer="",
    resampled="textgamut.metrics.two_sets:prepare_two_sets",
    revisions=(),
    metrics=(
        Metric(
            name="set_distance",
            label="MMD of the two sets",
            meaning="distance of the distributions of features",
            range=(0, inf),
            better=None,
            source="Gretton et al. 2012",
        ),
        Metric(
            name="topic_distance",
            label="topics",
            meaning="share of the texts whose topic, a cluster of features, differs",
            range=(0, 1),
            better=None,
            source="-",
        ),
        Metric(
            name="copied_across",
            label="8-grams of the other set",
            meaning="texts of the other set that share 8 words with a text, less those of its own",
            range=(-inf, inf),
            better="lower",
            source="-",
        ),
    ),
)

GATE_METRICS = METRICS | {metric.name: replace(metric, family="") for metric in OF_TWO_SETS.metrics}
"""Metrics that a gate can test, by name."""


@dataclass(frozen=True)
class Guard:
    """A metric that must not get worse by more than a margin."""

    metric: str
    margin: float
    """Largest drop that passes, in units of the metric."""
    reason: str
    """Why this margin."""


GUARDS = (
    Guard("precision", 0.1, "a tenth of the texts may leave the support of the references"),
    Guard("recall", 0.1, "a tenth of what humans write may be lost"),
    Guard("mauve", 0.2, "about four standard deviations of equal models, N = 400"),
    Guard("f_1_8", 0.1, "a tenth of the texts may be unlike the references, as clusters see it"),
    Guard("f_8", 0.1, "a tenth of what humans write may be lost, as clusters see it"),
    Guard("vendi_ratio", 0.1, "a tenth of the effective number of different texts may be lost"),
    Guard("self_bleu", 0.05, "phrases are shared as by texts of two related topics in place of many"),
    Guard("distinct_texts", 0.03, "three of a hundred texts may repeat others"),
    Guard("repetition_4", 0.05, "one of twenty 4-grams of a text may repeat an earlier one"),
    Guard("empty_texts", 0.03, "three of a hundred texts may be empty"),
    Guard("unfinished_texts", 0.1, "a tenth of the texts may break off"),
    Guard("refusals", 0.03, "three of a hundred texts may be refusals"),
    Guard("copied_words", 0.03, "three of a hundred words may be copied"),
)
"""What a gate guards unless told otherwise; ``copied_words`` if there is a corpus to copy from."""


@dataclass(frozen=True)
class Failure:
    """A failure with a name."""

    name: str
    metrics: tuple[str, ...]
    """Any of these must be worse or, of metrics without a better end, differ."""
    unless_failed: dict[str, str]
    """Of these metrics, a worse one shows the failure only if the other one does not fail."""
    says: str
    """What it means, in a few words."""


FAILURES = (
    Failure(
        "collapse",
        ("f_8", "recall", "vendi_ratio", "self_bleu", "distinct_texts"),
        {"f_8": "f_1_8", "recall": "precision", "vendi_ratio": "precision"},
        "the texts are less varied",
    ),
    Failure(
        "degeneration",
        ("repetition_4", "empty_texts", "unfinished_texts"),
        {},
        "texts repeat themselves, are empty or break off",
    ),
    Failure("refusals", ("refusals",), {}, "texts refuse to answer"),
    Failure("copying", ("copied_words", "copied_across"), {}, "texts are copied from others"),
    Failure("drift", ("set_distance", "topic_distance", "mauve"), {}, "the texts are about other things"),
    Failure("length", ("text_words",), {}, "the texts have another length"),
    Failure("language", ("foreign_letters",), {}, "the texts have letters of other scripts"),
)
"""Names of failures, in the order in which a report has them."""

WATCHED = ("set_distance", "topic_distance", "copied_across", "text_words", "foreign_letters")
"""Metrics that are tested for equality: they name what has changed, and fail only if asked to."""

COPYING = "copying"
"""The family that needs a corpus, which a gate has apart from the references."""
FAMILIES_OF_GATE = tuple(
    name
    for name, family in FAMILIES.items()
    if name != COPYING and {of.name for of in family.metrics} & {*WATCHED, *(of.metric for of in GUARDS)}
)
"""Families that a gate computes: those of guarded and watched metrics."""

Outcome = Literal["pass", "fail", "cannot tell"]


def family_of(metric: str) -> Family | None:
    """Return the family of the catalogue that computes a metric; None if it is one of two sets."""
    return FAMILIES.get(GATE_METRICS[metric].family)
