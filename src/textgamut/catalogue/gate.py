"""What ``textgamut gate`` tests: guarded metrics with their margins, and what a failure is called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import (
    DIVERSITY,
    FEATURES,
    LANGUAGE,
    PROMPT_IDS,
    TEXT_SCORES,
    TEXTS,
    UNITS,
    Family,
    FamilySettings,
    Metric,
)

OF_TEXTS = Family(
    name="texts",
    description="means of metrics of single texts",
    work="Testing means",
    settings=FamilySettings,
    reads=(TEXT_SCORES,),
    scorer="",
    resampled="textgamut.metrics.two_sets:prepare_means",
    revisions=(),
    metrics=(
        *(metric for metric in METRICS.values() if metric.level != "set"),
        *(
            Metric(
                name=name,
                label=f"NNDR to {of}",
                meaning=f"distance to the nearest of the {of}, over that to the second nearest",
                definition="of features of unit length; equal texts count once",
                range=(0, 1),
                better="higher",
                level="text",
                source="Lowe 2004, section 7.1",
            )
            for name, of in (("nndr_training", "training texts"), ("nndr_references", "references"))
        ),
    ),
)
"""Metrics of single texts, whose means a gate tests by resamples: of rare values, such as refusals, Student's
t holds for large samples only."""

OF_ANSWERS = Family(
    name="answers",
    description="whether a prompt has different answers",
    work="Testing answers",
    settings=FamilySettings,
    reads=(TEXTS, PROMPT_IDS),
    scorer="",
    resampled="textgamut.metrics.defects_resamples:prepare_answers",
    revisions=(),
    metrics=(
        Metric(
            name="distinct_answers",
            label="different answers",
            meaning="share of the pairs of a prompt's texts that differ, as a mean over prompts",
            definition="texts are equal if they differ in white space only; empty ones are left out",
            range=(0, 1),
            better="higher",
            role=DIVERSITY,
            source="-",
        ),
    ),
)
"""Texts of a prompt, which a gate compares if prompts have several."""

OF_TWO_SETS = Family(
    name="two sets",
    description="what tells two sets of texts apart, without references",
    work="Testing two sets",
    settings=FamilySettings,
    reads=(FEATURES, TEXTS, UNITS, LANGUAGE),
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
        Metric(
            name="nearest_across",
            label="nearest texts of the other set",
            meaning="texts whose nearest one is of the other set, less those with one of their own",
            definition="each weighs 1 - NNDR, so that much nearer ones than the next count most",
            range=(-1, 1),
            better="lower",
            source="Schilling 1986, weighted",
        ),
    ),
)

DIFFERENCES = frozenset(metric.name for metric in OF_TWO_SETS.metrics)
"""Metrics that are differences of two sets themselves."""
GATE_FAMILIES = (OF_TEXTS, OF_ANSWERS, OF_TWO_SETS)
"""Families of a gate alone, besides those of the catalogue."""
GATE_METRICS = METRICS | {
    metric.name: replace(metric, family="")
    for family in GATE_FAMILIES
    for metric in family.metrics
    if metric.name not in METRICS
}
"""Metrics that a gate can test, by name."""


@dataclass(frozen=True)
class Guard:
    """A metric that must not get worse by more than a margin."""

    metric: str
    margin: float
    """Largest drop that passes, in units of the metric."""
    reason: str
    """Why this margin."""
    optional: bool = False
    """Whether it is left out where there is nothing to measure it with."""


GUARDS = (
    Guard("precision", 0.1, "a tenth of the texts may leave the support of the references"),
    Guard("recall", 0.1, "a tenth of what humans write may be lost"),
    Guard("mauve", 0.2, "about four standard deviations of equal models, N = 400"),
    Guard("f_1_8", 0.1, "a tenth of the texts may be unlike the references, as clusters see it"),
    Guard("f_8", 0.1, "a tenth of what humans write may be lost, as clusters see it"),
    Guard("vendi_ratio", 0.1, "a tenth of the effective number of different texts may be lost"),
    Guard("self_bleu", 0.05, "phrases are shared as by texts of two related topics in place of many"),
    Guard("distinct_texts", 0.03, "three of a hundred texts may repeat others"),
    Guard(
        "distinct_answers", 0.1, "a tenth of the pairs of a prompt's answers may become equal", optional=True
    ),
    Guard("repetition_4", 0.05, "one of twenty 4-grams of a text may repeat an earlier one"),
    Guard("empty_texts", 0.03, "three of a hundred texts may be empty"),
    Guard("unfinished_texts", 0.1, "a tenth of the texts may break off"),
    Guard("refusals", 0.03, "three of a hundred texts may be refusals"),
    Guard("copied_words", 0.03, "three of a hundred words may be copied", optional=True),
    Guard(
        "nndr_training",
        0.02,
        "one of twenty texts may be reworded, which lowers its NNDR by about 0.35",
        optional=True,
    ),
)
"""What a gate guards unless told otherwise: ``copied_words`` if there is something to copy,
``nndr_training`` if there are training texts, and ``distinct_answers`` if prompts have several texts."""
OPTIONAL = tuple(of.metric for of in GUARDS if of.optional)
"""Guarded metrics that need more than two files of texts."""


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
        ("f_8", "recall", "vendi_ratio", "self_bleu", "distinct_texts", "distinct_answers"),
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
    Failure(
        "copying",
        ("nndr_training", "nndr_references", "nearest_across", "copied_words", "copied_across"),
        {},
        "texts are copied from others",
    ),
    Failure("drift", ("set_distance", "topic_distance", "mauve"), {}, "the texts are about other things"),
    Failure("length", ("text_words",), {}, "the texts have another length"),
    Failure("language", ("foreign_letters",), {}, "the texts have letters of other scripts"),
)
"""Names of failures, in the order in which a report has them."""

WATCHED = (
    "set_distance",
    "topic_distance",
    "copied_across",
    "nearest_across",
    "nndr_references",
    "text_words",
    "foreign_letters",
)
"""Metrics that name what has changed, and fail only if asked to."""

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
    """Return the family of the catalogue that computes a metric; None if only a gate has it."""
    return FAMILIES.get(GATE_METRICS[metric].family)


def unguardable(metric: str) -> str | None:
    """Return why a metric cannot have a margin, as the end of a sentence; None if it can."""
    family = family_of(metric)
    if GATE_METRICS[metric].better is None:
        named = [of.name for of in FAILURES if metric in of.metrics and metric in WATCHED]
        return "has no worse end" + (f": to fail if it differs, use {_fail_on(named[0])}" if named else "")
    if metric in DIFFERENCES:
        return f"is a difference of two sets itself: to fail by it, use {_fail_on(COPYING)}"
    if family is not None and (PROMPT_IDS in family.reads or not family.in_score):
        return "cannot be computed by a gate, which reads texts and features only"
    return None


def _fail_on(name: str) -> str:
    return f"--fail-on {name} (of an experiment, fail_on: [{name}])"
