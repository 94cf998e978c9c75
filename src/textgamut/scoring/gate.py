"""Decide whether texts got worse, against the texts of a baseline."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from textgamut import validation
from textgamut.catalogue import FAMILIES
from textgamut.catalogue.gate import (
    COPYING,
    FAILURES,
    FAMILIES_OF_GATE,
    GATE_METRICS,
    GUARDS,
    WATCHED,
    family_of,
    unguardable,
)
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.inference.gates import checks
from textgamut.language import AUTO, language_of
from textgamut.metrics.rows import group_name
from textgamut.progress import FOR_DEVELOPERS, step
from textgamut.scoring.baseline_file import check_facts, facts
from textgamut.scoring.compute import embed_sets
from textgamut.scoring.gate_copies import corpora_of, human_ratios, with_copies
from textgamut.scoring.gate_files import Given, Layout, read_sides
from textgamut.scoring.gate_measures import measure, text_columns
from textgamut.scoring.gate_results import GateResult
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, TRAINING, GateSettings, Side
from textgamut.scoring.options import Options, with_options
from textgamut.scoring.resolve import Resolved, check_options, resolve

SPLIT_SEED = 0
"""Seed of the half of the baseline that is the reference if there are no human texts."""
SWAPPED = 0.5
"""Share of the candidate's texts that are references above which the files must have been swapped."""
LONGER = 10
"""Ratio of the numbers of texts above which two files can hardly belong together."""


@with_options("metrics", "bootstrap")
def gate(
    baseline: Given,
    candidate: Given,
    reference: Given | None = None,
    *,
    margins: Mapping[str, float] | None = None,
    alpha: float = 0.05,
    fail_on: Iterable[str] = (),
    looks: int = 1,
    group: str | None = None,
    training: Given | None = None,
    layout: Layout | None = None,
    **options: Any,
) -> GateResult:
    """Decide whether the texts of a candidate are worse than those of a baseline.

    Each guarded metric is tested by resamples of the texts. It passes if the upper end of the one-sided
    interval of its drop, at level alpha, is below its margin. It fails if it does not pass and its drop is
    proved: the p-value, corrected for all that can fail the gate, is below alpha. So equal models fail in at
    most a share alpha of all gates. Else one cannot tell, and the result says how many texts would tell.

    Args:
        baseline: Texts of the model to compare with, a :class:`Side` with what belongs to them, or the path
            of a file, which may be a recorded baseline.
        candidate: Texts of the model that may be worse, likewise.
        reference: Human texts. Without them, a random half of the baseline is the reference, and the other
            half is compared.
        margins: Metric -> largest drop that passes, in its units; changes or extends the defaults.
        alpha: Probability that equal models fail, in (0, 0.5).
        fail_on: Names of failures, such as ``drift``, whose watched metrics also fail the gate.
        looks: Number of gates over which alpha is spent: each fails at level alpha / looks.
        group: A group column of all sides. Each of its groups has a gate of its own besides that of all.
        training: Texts that must not be copied, besides the references: a side or a path, as well. All are
            embedded.
        layout: Where files have the texts, their prompts and more. Defaults to tables with a column ``text``.
        options: As listed there.

    Returns:
        The outcome, all tests, and the failures by name.

    Raises:
        TypeError: If there is no such option.
        DataError: If an argument has the wrong type or is out of range, or there are too few texts.
        ConfigError: If a metric, a failure, an embedder or a model does not exist.
        SourceError: If a checkpoint cannot be downloaded or found.
        ModelError: If a checkpoint cannot be loaded.

    Examples:
        >>> result = textgamut.gate(old_texts, new_texts, human_texts)  # doctest: +SKIP
        >>> result.outcome, result.failures  # doctest: +SKIP
    """
    from textgamut.report.bars import bars, in_notebook

    given: dict[str, Given] = {BASELINE: baseline, CANDIDATE: candidate}
    given |= {name: of for name, of in ((REFERENCE, reference), (TRAINING, training)) if of is not None}
    settings = check_settings({} if margins is None else margins, alpha, fail_on, looks)
    if group is not None and not isinstance(group, str):
        raise DataError(f"group: expected the name of a column, found {validation.described(group)}")
    if layout is None:
        layout = Layout(group=group)
    validation.instance("layout", layout, Layout, "a Layout")
    with bars() if in_notebook() else nullcontext(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in FOR_DEVELOPERS:
            warnings.simplefilter("ignore", category)
        sides, recorded = read_sides(given, layout)
        checked, resolved, _ = check_gate(sides, settings, Options(**options), recorded, str(baseline))
        found = run_gate(sides, settings, checked, resolved, group)
    messages = list(dict.fromkeys(str(of.message) for of in caught))
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=2)
    return replace(found, warnings=messages)


def check_settings(
    margins: Mapping[str, float], alpha: float, fail_on: Iterable[str], looks: int
) -> GateSettings:
    """Check what a gate guards.

    Raises:
        ConfigError: If a metric or a failure does not exist, or a metric cannot be guarded.
        DataError: If a number is out of range.
    """
    for name, margin in validation.mapping("margins", margins, "metric -> margin").items():
        if name not in GATE_METRICS:
            raise ConfigError(f"margins: no metric {name!r}; {nearest(str(name), list(GATE_METRICS))}")
        if reason := unguardable(name):
            raise ConfigError(f"margins: {name!r} {reason}")
        if validation.number(f"margins: {name}", margin) < 0:
            raise DataError(f"margins: {name} = {margin:g}: must be 0 or more")
    names = validation.texts("fail_on", fail_on)
    for name in names:
        if name not in {of.name for of in FAILURES}:
            raise ConfigError(f"fail_on: no failure {name!r}; {nearest(name, [of.name for of in FAILURES])}")
    level = validation.number("alpha", alpha)
    if not 0 < level < 0.5:
        raise DataError(f"alpha = {alpha}: must be above 0 and below 0.5")
    watched = {metric for of in FAILURES if of.name in names for metric in of.metrics if metric in WATCHED}
    return GateSettings(
        margins={of.metric: of.margin for of in GUARDS}
        | {name: float(margin) for name, margin in margins.items()},
        alpha=level,
        failing=sorted(watched - set(margins)),
        looks=validation.integer("looks", looks, 1),
        asked=tuple(margins),
    )


def check_gate(
    sides: Mapping[str, Side],
    settings: GateSettings,
    options: Options,
    recorded: Mapping[str, Any] | None,
    where: str,
) -> tuple[Options, Resolved, dict[str, Any]]:
    """Check the options of a gate, and find what they name.

    Args:
        sides: The sides.
        settings: What is guarded.
        options: The options.
        recorded: The facts of a recorded baseline; None for another one.
        where: Path of the baseline, for messages.

    Returns:
        The options, what they name, and the facts that are recorded with a baseline.

    Raises:
        TextgamutError: As ``textgamut.gate``, and if the candidate would be measured in another way than the
            recorded baseline.
    """
    if recorded is not None and options.language == AUTO:
        options = replace(options, language=recorded["language"])
    options = check_gate_options(options, settings, sides.values())
    _check_sides(sides, options.k)
    texts = sides.get(REFERENCE, sides[BASELINE]).texts
    language = language_of(texts) if options.language == AUTO else options.language
    options = replace(options, language=language)
    resolved = resolve(options)
    common = facts(options, resolved)
    if recorded is not None:
        check_facts(where, recorded, common)
    return options, resolved, common


def check_gate_options(options: Options, settings: GateSettings, sides: Iterable[Side]) -> Options:
    """Check the options, and return them with the families that the guarded metrics need."""
    families = [*FAMILIES_OF_GATE]
    known = all(side.known for side in sides)
    for name in settings.margins:
        family = family_of(name)
        if family is not None and family.name not in (*families, COPYING):
            families.append(family.name)
    if not known:  # digests tell whether texts are equal, and no more
        families = [name for name in families if FAMILIES[name].of_features or name == "defects"]
    return check_options(replace(options, metrics=families, bootstrap=0), with_prompts=False)


def run_gate(
    sides: Mapping[str, Side],
    settings: GateSettings,
    options: Options,
    resolved: Resolved,
    group: str | None,
) -> GateResult:
    """Embed the texts and test all metrics, of all texts and of each group.

    Args:
        sides: ``baseline``, ``candidate`` and, if there are human texts, ``reference``, and, if there are
            texts that must not be copied, ``training``.
        settings: What is guarded.
        options: The options, checked.
        resolved: What they name.
        group: The group column; None for no groups.

    Raises:
        DataError: If there are too few texts, or sides seem to be swapped.
    """
    _check_sides(sides, options.k)
    sides = embedded(sides, resolved)
    human = sides.get(REFERENCE)
    corpora = corpora_of(sides)
    whole = {name: side for name, side in sides.items() if name != TRAINING}
    with step("looking for copies"):
        for name in (BASELINE, CANDIDATE):
            whole[name] = with_copies(whole[name], corpora, options.language)
    if human is None:
        baseline = whole[BASELINE]
        order = np.random.default_rng(SPLIT_SEED).permutation(len(baseline.texts)).tolist()
        for name, rows in zip((REFERENCE, BASELINE), np.array_split(order, 2), strict=True):
            whole[name] = baseline.take(sorted(rows.tolist()))
    groups = dict(_groups(whole, group))
    level = settings.level / (1 + len(groups))
    tested, values = measure(whole, settings, level, options, resolved)
    tests, skipped = list(values), []
    for name, of_group in groups.items():
        if min(len(side.texts) for side in of_group.values()) <= 4 * options.k:
            skipped.append(name)
            continue
        with warnings.catch_warnings(), step(name):
            warnings.simplefilter("ignore")  # all texts have warned
            _, in_group = measure(of_group, settings, level, options, resolved)
        tests += [test._replace(of=test.of._replace(group=name)) for test in in_group]
    if skipped:
        warnings.warn(
            f"no gate for {', '.join(skipped)}: it needs more than {4 * options.k} texts", stacklevel=2
        )
    ratios = human_ratios(corpora)
    tests = [test._replace(human=ratios.get(test.of.metric, np.nan)) for test in tests]
    found = checks(tests, settings.margins, settings.alpha, settings.failing, settings.looks)
    return GateResult(tuple(found), settings, replace(tested, humans=human is not None, corpora=corpora))


def embedded(sides: Mapping[str, Side], resolved: Resolved) -> dict[str, Side]:
    """Return the sides with their features."""
    missing = {name: side.texts for name, side in sides.items() if side.features is None}
    found = embed_sets(missing, resolved) if missing else {}
    return {
        name: replace(side, features=found[name]) if name in found else side for name, side in sides.items()
    }


def recordable(sides: Mapping[str, Side], options: Options, digests: bool) -> dict[str, Side]:
    """Return the baseline with the metrics of its texts, the references and the training texts.

    Args:
        sides: Sides with features.
        options: The options, checked, with a language.
        digests: Whether digests are recorded in place of texts.
    """
    baseline = sides[BASELINE]
    kept = {
        BASELINE: replace(baseline, columns=text_columns(baseline.texts, options.language, options.refusals))
    }
    kept |= {name: side for name, side in sides.items() if name in (REFERENCE, TRAINING)}
    return {name: side.digested() for name, side in kept.items()} if digests else kept


def _check_sides(sides: Mapping[str, Side], k: int) -> None:
    """Check that there are enough texts, and that the sides are what they are said to be."""
    for name, side in sides.items():
        if name == TRAINING:
            if not side.texts:
                raise DataError(f"{name}: there are no texts")
            continue
        least = 4 * k * (2 if name == BASELINE and REFERENCE not in sides else 1)
        if len(side.texts) <= least:
            raise DataError(f"{name}: a gate needs more than {least} texts, found {len(side.texts)}")
    if CANDIDATE not in sides:  # the baseline is only recorded
        return
    sizes = {name: len(sides[name].texts) for name in (BASELINE, CANDIDATE)}
    if max(sizes.values()) > LONGER * min(sizes.values()):
        said = " and ".join(f"{count:,} of the {name}" for name, count in sizes.items())
        raise DataError(f"there are {said} texts: two sets of so different size hardly belong together")
    if REFERENCE not in sides:
        return
    human = {*sides[REFERENCE].digested().texts} - {""}
    for name in (BASELINE, CANDIDATE):
        own = sides[name].digested().texts
        if sum(text in human for text in own) > SWAPPED * len(own):
            raise DataError(
                f"most texts of the {name} are references, too: are the human texts given as {name}?"
            )


def _groups(sides: Mapping[str, Side], column: str | None) -> Iterator[tuple[str, dict[str, Side]]]:
    """Yield the sides of each group; references without the column are those of all groups."""
    if column is None:
        return
    labels = {name: side.groups.get(column) for name, side in sides.items()}
    for name in (BASELINE, CANDIDATE):
        if labels[name] is None:
            raise DataError(f"group: the {name} has no column {column!r}")
    of_sides = [{of for of in labels[name] or () if of is not None} for name in (BASELINE, CANDIDATE)]
    if alone := of_sides[0] ^ of_sides[1]:
        warnings.warn(f"group: only one side has texts of {', '.join(sorted(alone))}", stacklevel=3)
    for label in sorted(of_sides[0] & of_sides[1]):
        yield (
            group_name(column, label),
            {
                name: side
                if (own := labels[name]) is None
                else side.take([row for row, of in enumerate(own) if of == label])
                for name, side in sides.items()
            },
        )
