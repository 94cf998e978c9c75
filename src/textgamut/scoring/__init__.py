"""Score generated texts against reference texts in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any

from textgamut.progress import FOR_DEVELOPERS
from textgamut.report.bars import bars, in_notebook
from textgamut.scoring.check import check_texts, group_columns
from textgamut.scoring.compute import compute
from textgamut.scoring.options import Options, with_options
from textgamut.scoring.resolve import check_options, resolve
from textgamut.scoring.results import Comparison, ScoreResult


@with_options()
def score(
    reference_texts: Iterable[str],
    generated_texts: Iterable[str],
    *,
    groups: Mapping[str, tuple[Iterable[Any], Iterable[Any]]] | None = None,
    prompts: Iterable[str | None] | None = None,
    clusters: Iterable[Any] | None = None,
    **options: Any,
) -> ScoreResult:
    """Score generated texts against reference texts.

    Args:
        reference_texts: Human texts, at least two: a list, a pandas Series or another iterable.
        generated_texts: Generated texts, at least two. Metrics that compare the two sides use the first N
            texts of each, where N is the size of the smaller side.
        groups: Name -> (label of each reference, label of each generated text), with None for texts
            without a label. The support metrics are also computed for each label.
        prompts: Prompt of each generated text, or None for texts without one. If given, likelihood scores
            the texts as continuations of their prompts. Required for ``"completions"``.
        clusters: Cluster of each generated text, such as its author or template, or None for a text of its
            own. Texts of a cluster depend on each other; tests and intervals take them as a whole.
        options: As listed there.

    Returns:
        The scores. They are computed on a GPU if one is available, and are deterministic.

    Raises:
        TypeError: If there is no such option.
        DataError: If an argument has the wrong type or is out of range, a text is not a string, a side has
            fewer than two texts, or a sequence and its texts differ in length.
        ConfigError: If a family, an embedder or a model does not exist, or a required option is missing.
        SourceError: If a checkpoint cannot be downloaded or found.
        ModelError: If a checkpoint cannot be loaded.

    Warns:
        UserWarning: If the sides differ in size or their texts in length, texts are on both sides or more
            than once on one side, they are too short for a metric, or the embedder's ``modules.json`` states
            another pooling.
        SmallSampleWarning: If fewer than 1000 texts of each side are compared.

    Examples:
        >>> result = textgamut.score(reference_texts, generated_texts)  # doctest: +SKIP
        >>> result.precision, result.intervals["precision"].low  # doctest: +SKIP
        >>> result.missed.generated[0].text  # doctest: +SKIP
        >>> result.to_html("page.html")  # doctest: +SKIP
    """
    alone = _scored(
        reference_texts,
        {"generated": generated_texts},
        {name: (of, {"generated": labels}) for name, (of, labels) in group_columns(groups).items()},
        None if prompts is None else {"generated": prompts},
        None if clusters is None else {"generated": clusters},
        Options(**options),
    )
    return alone.results["generated"]


@with_options()
def compare(
    reference_texts: Iterable[str],
    generated_texts: Mapping[str, Iterable[str]],
    *,
    groups: Mapping[str, tuple[Iterable[Any], Mapping[str, Iterable[Any]]]] | None = None,
    prompts: Mapping[str, Iterable[str | None]] | None = None,
    clusters: Mapping[str, Iterable[Any]] | None = None,
    **options: Any,
) -> Comparison:
    """Score the texts of several models against the same references.

    All models are cut to the first texts, as many as the smallest one has, because most metrics depend on the
    number of texts. Metrics that compare the two sides use the first N texts of each side, where N is the
    size of the smallest of all sets. So each model has the scores that :func:`score` gives for as many texts.
    What both models must share for a fair test (one PCA, one clustering, one length) is used for their
    differences only.

    Args:
        reference_texts: As for :func:`score`.
        generated_texts: Name of each model -> its texts.
        groups: Name of each group column -> (label of each reference, name of each model -> label of each of
            its texts), with None for texts without a label.
        prompts: Name of each model -> prompt of each of its texts, or None for texts without one.
        clusters: Name of each model -> cluster of each of its texts, such as its author or template, or None
            for a text of its own. Texts of a cluster depend on each other; tests and intervals take them as a
            whole.
        options: As listed there.

    Returns:
        The scores of each model, and the differences between models.

    Raises:
        TypeError: As :func:`score`.
        DataError: As :func:`score`.
        ConfigError: As :func:`score`.
        SourceError: As :func:`score`.
        ModelError: As :func:`score`.

    Warns:
        UserWarning, SmallSampleWarning: As :func:`score`.

    Examples:
        >>> comparison = textgamut.compare(reference_texts, {"a": texts_a, "b": texts_b})  # doctest: +SKIP
        >>> comparison.results["a"].precision, comparison.results["b"].precision  # doctest: +SKIP
        >>> comparison.differences  # doctest: +SKIP
    """
    return _scored(reference_texts, generated_texts, groups, prompts, clusters, Options(**options))


def _scored(
    reference_texts: Iterable[str],
    generated_texts: Mapping[str, Iterable[str]],
    groups: Any,
    prompts: Any,
    clusters: Any,
    options: Options,
) -> Comparison:
    """Do what :func:`compare` says, with bars in a notebook; keep warnings, and raise them at its caller."""
    with bars() if in_notebook() else nullcontext(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in FOR_DEVELOPERS:
            warnings.simplefilter("ignore", category)
        checked = check_options(options, with_prompts=prompts is not None)
        texts = check_texts(reference_texts, generated_texts, checked, groups, prompts, clusters)
        found = compute(texts, checked, resolve(checked))
    found.warnings.extend(dict.fromkeys(str(warning.message) for warning in caught))
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=3)
    return found
