"""What a gate measures of a baseline and a candidate, and how it tests it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import FEATURES, LANGUAGE, PROMPT_IDS, TEXT_SCORES, TEXTS, UNITS
from textgamut.catalogue.gate import (
    FAMILIES_OF_GATE,
    GATE_FAMILIES,
    GATE_METRICS,
    OF_ANSWERS,
    OF_TEXTS,
    OF_TWO_SETS,
    OPTIONAL,
    WATCHED,
)
from textgamut.inference.gates import Measured, untested
from textgamut.inference.set_differences import Run, set_differences
from textgamut.metrics.defects import distinct_answers
from textgamut.metrics.rows import ALL, LEAST_PROMPTS, USED_REFERENCES, Columns
from textgamut.scoring.check import Texts, check_texts
from textgamut.scoring.compute import compute
from textgamut.scoring.gate_sides import (
    BASELINE,
    CANDIDATE,
    REFERENCE,
    ComparedSides,
    GateSettings,
    Side,
)

if TYPE_CHECKING:
    from textgamut.features.embed import Features
    from textgamut.inference.differences import Difference
    from textgamut.metrics.statistic import Key
    from textgamut.scoring.options import Options
    from textgamut.scoring.resolve import Resolved
    from textgamut.scoring.results import ScoreResult

CUT_SHORT = ("length", "max_tokens", "max_output_tokens", "model_length", "incomplete")
"""Reasons of an end, as servers and harnesses name them, that leave a text unfinished."""


def measure(
    sides: Mapping[str, Side],
    settings: GateSettings,
    level: float,
    options: Options,
    resolved: Resolved,
) -> tuple[ComparedSides, list[Measured]]:
    """Return the texts with their scores, and the tests of all metrics.

    Args:
        sides: ``baseline``, ``candidate`` and ``reference``, with features.
        settings: What is guarded.
        level: The smallest level that a p-value is compared with.
        options: The options, checked.
        resolved: What they name.
    """
    both = {name: sides[name] for name in (BASELINE, CANDIDATE)}
    reference, known = sides[REFERENCE], all(side.known for side in sides.values())
    shown = dict(both) if known else {name: side.digested() for name, side in both.items()}
    prompts, clusters = (
        {name: getattr(side, what) for name, side in shown.items()}
        if all(getattr(side, what) is not None for side in shown.values())
        else None
        for what in ("prompts", "clusters")
    )
    with warnings.catch_warnings():
        if not known:
            warnings.simplefilter("ignore")  # of texts that are not known
        texts = check_texts(
            reference.texts, {name: of.texts for name, of in shown.items()}, options, None, prompts, clusters
        )
    m, n = len(texts.generated[BASELINE]), texts.compared
    features = {name: _first(of, m) for name, of in both.items()} | {USED_REFERENCES: _first(reference, n)}
    comparison = compute(replace(texts, held_out=[]), options, resolved, features)
    material = comparison.material
    columns = {name: _columns(side, comparison.results[name], known) for name, side in both.items()}
    wanted = {*settings.margins, *WATCHED}
    values = {name: result.values for name, result in comparison.results.items()}
    apart: dict[Key, float] = {
        name: values[BASELINE][name] - values[CANDIDATE].get(name, np.nan) for name in values[BASELINE]
    }
    found = [
        of
        for family in (FAMILIES[name] for name in options.metrics if FAMILIES[name].tested)
        for of in material.set_differences(family, BASELINE, CANDIDATE, apart, level)
    ]
    found += _of_gate(material, columns, wanted, known, level)
    means = {name: {of: float(np.nanmean(v)) for of, v in own.items()} for name, own in columns.items()}
    if several_answers(texts.prompts):
        for name, asked in (texts.prompts or {}).items():
            means[name]["distinct_answers"] = distinct_answers(texts.generated[name], asked)
    by_metric = {of.metric: of for of in found if of.group == ALL}
    absent = {name for name in OPTIONAL if not any(name in of for of in means.values())}
    wanted -= absent - set(settings.asked)
    tests = []
    for name in (of for of in GATE_METRICS if of in wanted and GATE_METRICS[of].defined_in(texts.language)):
        one, other = (means[of].get(name, values[of].get(name, np.nan)) for of in both)
        guarded = name in settings.margins and (known or name in means[BASELINE])
        if name in by_metric or guarded or name in settings.asked:
            tests.append(Measured(by_metric.get(name, untested(name, m)), one, other))
    return ComparedSides(comparison, columns, sides), tests


def _first(side: Side, count: int) -> Features:
    assert side.features is not None
    return side.features._replace(vectors=side.features.vectors[:count])


def _columns(side: Side, result: ScoreResult, scored: bool) -> Columns:
    """Return the metrics of single texts of a side.

    Args:
        side: The side.
        result: Its scores.
        scored: Whether these are of texts, not of digests.
    """
    material, frame = result.material, result.generated.texts
    texts, language = side.texts[: len(result.generated_texts)], material.texts.language
    found: Columns = {}
    if side.known and scored:
        found = {name: frame[name].to_numpy(dtype=np.float64) for name in METRICS if name in frame}
    elif side.known:
        found = text_columns(texts, language, material.options.refusals)
    found |= {name: of[: len(texts)] for name, of in side.columns.items()}
    if side.finishes is not None:
        found["unfinished_texts"] = np.array([of in CUT_SHORT for of in side.finishes[: len(texts)]], float)
    return {name: of for name, of in found.items() if np.isfinite(of).any()}


def text_columns(texts: Sequence[str], language: str, refusals: Sequence[str] = ()) -> Columns:
    """Return the metrics of single texts that a gate tests: metric -> a value for each text."""
    found: Columns = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of texts without a value
        for name in FAMILIES_OF_GATE:
            if not FAMILIES[name].of_features:
                values = {"texts": texts, "language": language, "refusals": refusals, "tokenizer": None}
                found |= FAMILIES[name].score(values).columns or {}
    return found


def several_answers(prompts: Mapping[str, Sequence[str | None]] | None) -> bool:
    """Return whether each side has enough prompts with several texts, to test whether these differ."""
    return prompts is not None and all(
        sum(count > 1 for prompt, count in Counter(own).items() if prompt is not None) >= LEAST_PROMPTS
        for own in prompts.values()
    )


def _moved(texts: Texts) -> dict[str, list[Hashable]]:
    """Return what is moved as a whole with each text of both sides; None for a text of its own.

    Texts of both sides with the same prompt are, and others of different sides are not.
    """
    sides = (BASELINE, CANDIDATE)
    none = {side: [None] * len(texts.generated[side]) for side in sides}
    prompts, clusters = texts.prompts or none, texts.clusters or none
    paired = not set(prompts[BASELINE]).isdisjoint(set(prompts[CANDIDATE]) - {None})
    found: dict[str, list[Hashable]] = {}
    for side in sides:
        labels = [
            ("prompt", prompt) if cluster is None else ("cluster", cluster)
            for prompt, cluster in zip(prompts[side], clusters[side], strict=True)
        ]
        where = "" if paired else side
        found[side] = [None if label == ("prompt", None) else (where, *label) for label in labels]
    return found


def _of_gate(
    material: Any, columns: Mapping[str, Columns], wanted: Collection[str], known: bool, level: float
) -> list[Difference]:
    """Test what only a gate does: means of metrics of single texts, answers of a prompt, and two sets."""
    asked, units = material.texts.prompts, _moved(material.texts)
    names = [of for of in columns[BASELINE] if of in columns[CANDIDATE] and of in wanted]
    own: dict[str, list[dict[str, Any]]] = {family.name: [] for family in GATE_FAMILIES}
    for side in (BASELINE, CANDIDATE):
        texts, vectors = material.texts.of(side), material.features[side].vectors
        own[OF_TEXTS.name].append({TEXTS: texts, TEXT_SCORES: {of: columns[side][of] for of in names}})
        own[OF_ANSWERS.name].append({TEXTS: texts, PROMPT_IDS: asked[side] if asked else ()})
        moved = {UNITS: units[side]}
        own[OF_TWO_SETS.name].append({FEATURES: vectors} | moved | ({TEXTS: texts} if known else {}))
    prompts, clusters = (
        None if of is None else (of[BASELINE], of[CANDIDATE]) for of in (asked, material.texts.clusters)
    )
    common = {TEXTS: None, LANGUAGE: material.texts.language}
    found = []
    possible = {OF_TEXTS.name: bool(names), OF_ANSWERS.name: several_answers(asked)}
    for family in GATE_FAMILIES:
        if possible.get(family.name, True):
            first, second = own[family.name]
            run = Run((first, second), common, prompts, clusters=clusters)
            found += set_differences(family, [run], (BASELINE, CANDIDATE), {}, level=level)
    return found
