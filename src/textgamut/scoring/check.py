"""Check the texts, their labels and their prompts, and cut all models to as many texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from textgamut import validation
from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import GROUPS, K
from textgamut.errors import DataError, nearest, printable
from textgamut.language import AUTO, check_defined, described, language_of, main_script, script_of
from textgamut.metrics.rows import HUMANS, USED_REFERENCES, YARDSTICK
from textgamut.scoring.options import Options

T = TypeVar("T")

DRAW_SEED = 0
"""Seed of the draw of held-out texts: files are often sorted by topic or date."""


@dataclass(frozen=True)
class Texts:
    """The texts to score."""

    reference: list[str]
    """The references."""
    generated: dict[str, list[str]]
    """Model -> its texts, as many for all models."""
    labels: dict[str, tuple[list[str | None], dict[str, list[str | None]]]]
    """Group column -> label of each reference, and model -> label of each text."""
    prompts: dict[str, list[str | None]] | None
    """Model -> prompt of each text; None if there are no prompts."""
    clusters: dict[str, list[str | None]] | None
    """Model -> cluster of each text; None if there are no clusters."""
    compared: int
    """Number of texts of each side that metrics of two sides compare: the first ones."""
    language: str
    """Language of the texts, which decides where words end and which metrics are defined."""
    held_out: list[int]
    """Rows of the held-out references, as many as are compared; empty if there are not enough."""

    def of(self, name: str) -> list[str]:
        """Return the texts of a model, or human ones."""
        if name == YARDSTICK:
            return [self.reference[row] for row in self.held_out]
        return self.reference[: self.compared] if name == USED_REFERENCES else self.generated[name]

    def labels_of(self, name: str) -> dict[str, list[str | None]]:
        """Return the labels of these texts in each group column."""
        if name == YARDSTICK:
            return {column: [side[row] for row in self.held_out] for column, (side, _) in self.labels.items()}
        if name == USED_REFERENCES:
            return {column: side[: self.compared] for column, (side, _) in self.labels.items()}
        return {column: of[name] for column, (_, of) in self.labels.items()}


def check_texts(
    reference_texts: Iterable[str],
    generated_texts: Mapping[str, Iterable[str]],
    options: Options,
    groups: Mapping[str, tuple[Iterable[Any], Mapping[str, Iterable[Any]]]] | None,
    prompts: Mapping[str, Iterable[str | None]] | None,
    clusters: Mapping[str, Iterable[Any]] | None = None,
) -> Texts:
    """Check the texts and what belongs to them.

    Args:
        reference_texts: As for ``textgamut.compare``.
        generated_texts: As for ``textgamut.compare``.
        options: The options, checked.
        groups: As for ``textgamut.compare``.
        prompts: As for ``textgamut.compare``.
        clusters: As for ``textgamut.compare``.

    Raises:
        DataError: If anything is not valid.

    Warns:
        UserWarning, SmallSampleWarning: As ``textgamut.score``, about the numbers and lengths of texts.
    """
    import numpy as np

    reads = {read for family in options.metrics for read in FAMILIES[family].reads}
    reference = _texts("reference_texts", reference_texts)
    generated = _of_models("generated_texts", generated_texts, _texts)
    for name in set(HUMANS) & set(generated):
        raise DataError(f"generated_texts: {name!r} is the name of human texts: give the model another one")
    m = min(map(len, generated.values()))
    n = _compared(options.n, reference, generated)
    if K in reads and options.k >= n:
        raise DataError(f"k = {options.k} needs more than {options.k} texts per side, found {n}")
    labels = _labels_of(groups, reference, generated, n if GROUPS in reads else None)
    asked = None if prompts is None else _of_models("prompts", prompts, _labels, generated)
    of_clusters = None if clusters is None else _of_models("clusters", clusters, _labels, generated)
    if options.n is not None:
        m = n
    elif m < max(map(len, generated.values())):
        warnings.warn(
            f"models differ in their number of texts: all cut to the first {m}, the fewest", stacklevel=3
        )
    spare = len(reference) - n
    drawn = np.random.default_rng(DRAW_SEED).permutation(spare)[:n] if spare >= n else ()

    def cut(of_models: Mapping[str, list[T]]) -> dict[str, list[T]]:
        return {name: values[:m] for name, values in of_models.items()}

    texts = Texts(
        reference,
        cut(generated),
        {column: (side, cut(of)) for column, (side, of) in labels.items()},
        None if asked is None else cut(asked),
        None if of_clusters is None else cut(of_clusters),
        n,
        _language_of(reference, generated, options),
        [n + int(row) for row in sorted(drawn)],
    )
    _warn(texts, options)
    return texts


def _language_of(reference: Sequence[str], generated: Mapping[str, Sequence[str]], options: Options) -> str:
    """Return the language of the texts, in which all families must be defined.

    Warns:
        UserWarning: If the texts of a model are mostly in another script than the references.
    """
    if options.language == AUTO:
        language = language_of(reference)
        for name, texts in generated.items():
            if (script := main_script(texts)) not in (None, script_of(language)):
                warnings.warn(
                    f"the texts of {printable(name)} are mostly in {script} script, and the references in "
                    f"{described(language)}",
                    stacklevel=4,
                )
    else:
        language = options.language
    for name in options.metrics:
        check_defined(f"metrics: {name}", language, FAMILIES[name].languages)
    return language


def _compared(asked: int | None, reference: Sequence[str], generated: Mapping[str, Sequence[str]]) -> int:
    """Return how many texts of each side are compared."""
    fewest = min((len(texts), name) for name, texts in generated.items())
    if asked is None:
        return min(len(reference), fewest[0])
    if asked > len(reference):
        raise DataError(f"n = {asked}: there are only {len(reference)} references")
    if asked > fewest[0]:
        of = f" of model {fewest[1]!r}" if len(generated) > 1 else ""
        raise DataError(f"n = {asked}: there are only {fewest[0]} generated texts{of}")
    return asked


def _labels_of(
    groups: object, reference: list[str], generated: dict[str, list[str]], compared: int | None
) -> dict[str, tuple[list[str | None], dict[str, list[str | None]]]]:
    """Check the labels, and that the first texts have any if ``compared``, their number, is given."""
    labels = {}
    for column, (of_references, of_generated) in group_columns(groups).items():
        where = f"groups: {column!r}"
        own = _labels(where, of_references, reference)
        of_models = _of_models(where, of_generated, _labels, generated)
        for name, of_model in of_models.items() if compared else ():
            if not any(label is not None for side in (own, of_model) for label in side[:compared]):
                model = f" of model {name!r}" if len(generated) > 1 else ""
                raise DataError(f"{where}{model}: no text has a group")
        labels[column] = own, of_models
    return labels


def _warn(texts: Texts, options: Options) -> None:
    """Warn of few or unused texts, different lengths, and texts on both sides or more than once."""
    from textgamut.features.reduce import warn_of_size
    from textgamut.metrics.lengths import check_lengths
    from textgamut.metrics.overlap import check_overlap

    n, families = texts.compared, [FAMILIES[name] for name in options.metrics]
    compared = any(family.of_draws for family in families)
    if compared:
        warn_of_size(n, stacklevel=5)
        if n < len(texts.reference) and not texts.held_out and options.n is None:
            warnings.warn(
                f"{len(texts.reference)} references and {n} generated texts: both cut to the first {n}",
                stacklevel=4,
            )
    if any(family.of_features for family in families):
        for_each(
            texts.generated,
            lambda name: check_lengths(texts.of(USED_REFERENCES), texts.generated[name], texts.language),
        )
    if compared:
        within = not any(K in family.reads for family in families)  # support warns of it itself
        for_each(
            texts.generated,
            lambda name: check_overlap(texts.reference[:n], texts.generated[name][:n], within),
        )


def for_each(models: Iterable[str], work: Callable[[str], T]) -> dict[str, T]:
    """Call a function with each model; warnings that not all models cause begin with the model's name."""
    done: dict[str, T] = {}
    found: dict[str, dict[tuple[str, type[Warning]], None]] = {}
    for name in models:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done[name] = work(name)
        found[name] = dict.fromkeys((str(warning.message), warning.category) for warning in caught)
    shared = [
        warning for warning in next(iter(found.values())) if all(warning in of for of in found.values())
    ]
    for message, category in shared:
        warnings.warn(message, category, stacklevel=4)
    for name, of_model in found.items():
        for message, category in of_model:
            if (message, category) not in shared:
                warnings.warn(f"{printable(name)}: {message}", category, stacklevel=4)
    return done


def _of_models(
    where: str, given: Mapping[str, Any], check: Callable[..., list[T]], *more: Mapping[str, Sequence[str]]
) -> dict[str, list[T]]:
    """Check what is given for each model, with the name of the model in messages if there are several."""
    if not isinstance(given, Mapping):
        raise DataError(f"{where}: expected a dictionary by model, found {type(given).__name__}")
    if not given:
        raise DataError(f"{where}: there are no models")
    for texts in more:
        for name in given:
            if name not in texts:
                raise DataError(f"{where}: unknown model {name!r}; {nearest(str(name), texts)}")
        for name in texts:
            if name not in given:
                raise DataError(f"{where}: nothing is given for model {name!r}")
    found = {}
    for name, values in given.items():
        if not isinstance(name, str):
            raise DataError(f"{where}: the name of a model is not a string but of type {type(name).__name__}")
        validation.characters(f"{where}: the name of the model {name!a}", name)
        of_model = f"{where} of model {name!r}" if len(given) > 1 else where
        found[name] = check(of_model, values, *(texts[name] for texts in more))
    return found


def group_columns(groups: object) -> dict[str, tuple[Any, Any]]:
    """Return the labels of references and generated texts for each group column."""
    found = {}
    given = validation.mapping("groups", {} if groups is None else groups, "name -> labels of each side")
    for column, sides in given.items():
        if not isinstance(column, str) or not isinstance(sides, tuple | list) or len(sides) != 2:
            raise DataError(
                f"groups: {column!r}: expected a name and a pair, the labels of references and of generated "
                f"texts, found {validation.described(sides)}"
            )
        validation.characters(f"groups: {column!a}", column)
        found[column] = (sides[0], sides[1])
    return found


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    found = validation.texts(name, texts)
    if len(found) < 2:
        raise DataError(f"{name}: at least two texts are needed, not {len(found)}")
    return found


def _labels(name: str, labels: Iterable[Any], texts: Sequence[str]) -> list[str | None]:
    found = validation.labels(name, labels)
    if len(found) != len(texts):
        raise DataError(f"{name}: {len(found)} values for {len(texts)} texts")
    return found
