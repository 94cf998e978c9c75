"""How much the completions of one prompt differ, within a model and between models.

All measures compare texts of the same prompt only and average over prompts, so that each prompt counts the
same, no matter how many completions it has.

Sources: Jiang et al. 2025, "Artificial Hivemind" (cosine within and between models); Zhang et al. 2025,
"NoveltyBench", arXiv 2504.05228 (distinct_k); Shypula et al. 2025, arXiv 2504.12522 (effective diversity).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut import validation
from textgamut.catalogue.completions import SAME_COMPLETION
from textgamut.errors import DataError
from textgamut.metrics.prompts import first_of, partition, repeated, rows_of
from textgamut.metrics.rows import Scores, computed_rows
from textgamut.metrics.vendi import conditional_vendi

REVISION = 1
"""Increase when the same features produce different values."""

ROUNDING = 1e-12
"""How far below the threshold a cosine may be, so that equal rows count as the same at threshold 1."""


def pairwise_cosine(features: ArrayLike, prompts: Sequence[Hashable]) -> float:
    """Compute the mean cosine similarity of the completions of one prompt: how much a model repeats itself.

    The mean over the prompts with two or more completions of the mean over all pairs of different
    completions of that prompt (intra-model repetition of Jiang et al. 2025). 1 minus it is the semantic
    diversity of Zhang et al. 2025, "Verbalized sampling", except that they set negative cosines to 0. Time is
    linear in N: the sum over pairs follows from the sum of the unit vectors.

    Args:
        features: (N, d) features, normalised to unit length here.
        prompts: (N,) the prompt of each row, anything hashable. Prompts with one completion do not count.

    Returns:
        The similarity, in [-1, 1]: 1 for the same direction for each prompt, 0 for orthogonal completions.
        Independent of the order of the rows, up to rounding.

    Raises:
        DataError: If the features are not a matrix with a row for each prompt, a row is zero or not finite,
            or no prompt has two completions.
    """
    by_prompt = _of_prompts(features, prompts)
    return _mean([_mean_cosine(units) for units in repeated(by_prompt).values()])


def between_cosine(
    features_a: ArrayLike,
    prompts_a: Sequence[Hashable],
    features_b: ArrayLike,
    prompts_b: Sequence[Hashable],
) -> float:
    """Compute the mean cosine similarity of the completions of two models: how much they are alike.

    The mean over the prompts of both models of the mean over all pairs with one completion of either model
    (inter-model homogeneity of Jiang et al. 2025). Time is linear in N + M.

    Args:
        features_a: (N, d) features of the first model, normalised to unit length here.
        prompts_a: (N,) the prompt of each row.
        features_b: (M, d) features of the second model.
        prompts_b: (M,) the prompt of each row. Prompts of one model only do not count.

    Returns:
        The similarity, in [-1, 1]. Symmetric: swapping the models has no effect.

    Raises:
        DataError: If the features are not two matrices of the same width with a row for each prompt, a row is
            zero or not finite, or the models have no prompt in common.
    """
    a = _of_prompts(features_a, prompts_a, ("features_a", "prompts_a"))
    b = _of_prompts(features_b, prompts_b, ("features_b", "prompts_b"))
    _check_widths({"features_a": a, "features_b": b})
    if not a.keys() & b.keys():
        raise DataError("prompts_a, prompts_b: the two models have no prompt in common")
    return _between(_centres(a), _centres(b))


def cosine_matrix(
    sets: Mapping[str, tuple[ArrayLike, Sequence[Hashable]]],
) -> tuple[list[str], NDArray[np.float64]]:
    """Compute how much each of several models repeats itself, and how much each two are alike.

    Args:
        sets: Name of a model -> (N, d) features and (N,) prompts. N may differ between models.

    Returns:
        The names of the m models, and an (m, m) symmetric matrix with ``pairwise_cosine`` on the diagonal and
        ``between_cosine`` off it, in [-1, 1]. NaN on the diagonal if no prompt has two completions, and off
        it if the two models have no prompt in common.

    Raises:
        DataError: If there is no model, the features of a model are not a matrix with a row for each prompt,
            a row is zero or not finite, or two models have features of different widths.
    """
    validation.mapping("sets", sets, "name of a model -> features and prompts")
    if not sets:
        raise DataError("sets: the similarity of models needs at least one model")
    found = {}
    for name, of_model in sets.items():
        if not isinstance(of_model, tuple | list) or len(of_model) != 2:
            raise DataError(f"sets: {name}: must be a pair (features, prompts)")
        found[name] = _of_prompts(*of_model, (f"sets: {name}: features", f"sets: {name}: prompts"))
    _check_widths(found)
    matrix = np.full((len(found), len(found)), np.nan)
    for place, by_prompt in enumerate(found.values()):
        several = [_mean_cosine(units) for units in by_prompt.values() if len(units) > 1]
        matrix[place, place] = _mean(several) if several else np.nan
    centres = [_centres(by_prompt) for by_prompt in found.values()]
    for i, j in itertools.combinations(range(len(found)), 2):
        if centres[i].keys() & centres[j].keys():
            matrix[i, j] = matrix[j, i] = _between(centres[i], centres[j])
    return list(found), matrix


def texts_of_methods(
    cells: Iterable[tuple[str, int, NDArray[np.floating], Iterable[str]]],
    human: str,
    references: tuple[NDArray[np.floating], Iterable[str]],
    prompts_per_seed: bool,
) -> dict[str, tuple[NDArray[np.floating], list[str]]]:
    """Put together the texts of each method, and the human texts if they are after the same prompts.

    Args:
        cells: Of each cell: the name of its method, its seed, (N, d) features, and the prompts of the texts.
        human: Name of the human texts.
        references: (M, d) features and prompts of the human texts.
        prompts_per_seed: Whether a prompt of one seed is another one with the same name in the next seed.

    Returns:
        Name -> features and prompts, as for ``cosine_matrix``.
    """
    runs: dict[str, list[tuple[NDArray[np.floating], list[str]]]] = {}
    for name, seed, features, prompts in cells:
        named = [f"seed {seed}: {prompt}" if prompts_per_seed else prompt for prompt in prompts]
        runs.setdefault(name, []).append((features, named))
    asked = {prompt for of_method in runs.values() for _, prompts in of_method for prompt in prompts}
    features, own = references[0], list(references[1])
    if asked & set(own):
        runs[human] = [(features, own)]
    return {
        name: (np.concatenate([array for array, _ in sets]), [prompt for _, ids in sets for prompt in ids])
        for name, sets in runs.items()
    }


def distinct_completions(
    features: ArrayLike, prompts: Sequence[Hashable], threshold: float, k: int | None = None
) -> float:
    """Compute the mean number of different completions among the first k of a prompt.

    This is distinct_k of NoveltyBench (Zhang et al. 2025) with a stand-in for its judgement of what is the
    same: there, a classifier trained on human labels decides whether two completions are equivalent. Here,
    they are if their cosine similarity is at least ``threshold``, which depends on the embedder and does not
    know, for example, that two answers of opposite meaning differ. So values are only comparable at the same
    embedder and threshold, and not with the published ones. ``metrics.judged_completions`` asks a served
    model instead. Another difference: in the paper, a completion is compared with a random member of each
    class; here, with its first, so that the value is not random.

    Args:
        features: (N, d) features, normalised to unit length here.
        prompts: (N,) the prompt of each row. The completions of a prompt are in the order of the rows.
        threshold: Cosine similarity from which on two completions are the same, in [-1, 1].
        k: Number of completions of each prompt, at least 2. Defaults to the smallest number of completions of
            the prompts with two or more. Prompts with fewer than k completions do not count.

    Returns:
        The number of classes, in [1, k]: 1 if all completions of each prompt are the same. Depends on the
        order of the completions of a prompt, as similarity is not transitive.

    Raises:
        DataError: If the features are not a matrix with a row for each prompt, a row is zero or not finite, a
            setting is out of range, or no prompt has k completions.
    """
    if not -1 <= (threshold := validation.number("threshold", threshold)) <= 1:
        raise DataError(f"threshold = {threshold}: must be a cosine similarity from -1 to 1")
    by_prompt = _of_prompts(features, prompts)
    return _mean([_classes(units, threshold) for units in first_of(by_prompt, k).values()])


def score(
    features: ArrayLike,
    prompt_ids: Sequence[Hashable],
    threshold: float = SAME_COMPLETION,
    first: int | None = None,
    quality: Mapping[str, Any] | None = None,
    text_scores: Mapping[str, NDArray[np.float64]] | None = None,
) -> Scores:
    """Compute how much the completions of one prompt differ.

    Args:
        features: (N, d) features of the texts.
        prompt_ids: (N,) the prompt of each text.
        threshold: Cosine from which on two completions count as the same for distinct_k.
        first: Number k of completions for distinct_k. Defaults to the fewest that a prompt has.
        quality: ``metric``, ``at_least`` and ``at_most``: the bar above which a text must be to count for the
            effective diversity. Without it, this is not computed.
        text_scores: Metric of the bar -> (N,) its values.

    Warns:
        UserWarning: If a metric cannot be computed and has no row, because prompts have one completion.
    """
    metrics: dict[str, Callable[[], float]] = {
        "completion_cosine": lambda: pairwise_cosine(features, prompt_ids),
        "conditional_vendi": lambda: conditional_vendi(features, prompt_ids),
        "distinct_completions": lambda: distinct_completions(features, prompt_ids, threshold, first),
    }
    if quality:
        above = passes(text_scores or {}, **quality)
        metrics["effective_diversity"] = lambda: effective_diversity(features, prompt_ids, above)
    return Scores(computed_rows(len(prompt_ids), metrics))


def passes(
    text_scores: Mapping[str, NDArray[np.float64]],
    metric: str,
    at_least: float | None = None,
    at_most: float | None = None,
) -> NDArray[np.bool_]:
    """Return which texts are above the bar of quality; a text without a value is not.

    Args:
        text_scores: Metric -> (N,) its values.
        metric: The metric of the bar.
        at_least: Smallest value that passes, or None.
        at_most: Largest value that passes, or None.

    Raises:
        DataError: If the metric has no values.

    Warns:
        UserWarning: If no text passes.
    """
    if metric not in text_scores:
        raise DataError(f"the bar of quality needs {metric}, which is not in the scores of the texts")
    values = np.asarray(text_scores[metric], dtype=float)
    bounds = {"of at least": at_least, "of at most": at_most}
    low = -np.inf if at_least is None else at_least
    high = np.inf if at_most is None else at_most
    with np.errstate(invalid="ignore"):
        passing: NDArray[np.bool_] = (values >= low) & (values <= high)
    if not passing.any():
        bar = " and ".join(f"{what} {value:g}" for what, value in bounds.items() if value is not None)
        known = values[~np.isnan(values)]
        found = f"their values are {known.min():g} to {known.max():g}" if len(known) else "none has a value"
        warnings.warn(f"no text has {metric} {bar}, the bar of quality: {found}", stacklevel=2)
    return passing


def _classes(units: NDArray[np.float64], threshold: float) -> int:
    same = units @ units.T >= threshold - ROUNDING
    return len(set(partition(lambda i, j: bool(same[i, j]), len(units))))


def effective_diversity(features: ArrayLike, prompts: Sequence[Hashable], passes: NDArray[np.bool_]) -> float:
    """Compute the diversity of the completions of one prompt that are good enough.

    The mean over prompts of the mean over all pairs of completions of 1 - cosine similarity if both pass the
    bar of quality, and 0 otherwise. It is large only if many completions pass and these differ. After the
    pairwise effective semantic diversity of Shypula et al. 2025, which compares the meanings of valid
    completions (of programs: their output); the cosine of features stands in for that. Time is linear in N.

    Args:
        features: (N, d) features, normalised to unit length here.
        prompts: (N,) the prompt of each row.
        passes: bool (N,), which completions pass the bar of quality.

    Returns:
        The diversity, in [0, 2]: 0 if no prompt has two different completions that pass, 1 if all pass and
        are orthogonal. If all pass, 1 - ``pairwise_cosine``.

    Raises:
        DataError: If the features are not a matrix with a row for each prompt, a row is zero or not finite,
            ``passes`` are not N booleans, or no prompt has two completions.
    """
    prompts = validation.values("prompts", prompts, "prompts")
    passes = validation.array("passes", passes, "texts", kinds="b")
    if len(passes) != len(prompts):
        raise DataError(
            f"passes: must be {len(prompts)} booleans, one for each of the prompts, not {len(passes)}"
        )
    rows = rows_of(prompts)
    values = []
    for prompt, units in repeated(_of_prompts(features, prompts)).items():
        good = units[passes[rows[prompt]]]
        pairs, good_pairs = math.comb(len(units), 2), math.comb(len(good), 2)
        values.append((1 - _mean_cosine(good)) * good_pairs / pairs if good_pairs else 0.0)
    return _mean(values)


def _of_prompts(
    features: ArrayLike, prompts: Sequence[Hashable], names: tuple[str, str] = ("features", "prompts")
) -> dict[Hashable, NDArray[np.float64]]:
    """Return the features of the completions of each prompt, with unit length, after checks."""
    name, of_prompts = names
    array = validation.array(name, features, "texts", "dimensions").astype(np.float64)
    prompts = validation.values(of_prompts, prompts, "prompts")
    if len(array) != len(prompts):
        raise DataError(f"{name}: {len(array)} rows, but {len(prompts)} {of_prompts}")
    largest = np.abs(array).max(axis=1, initial=0)
    for what, bad in (("not finite", ~np.isfinite(largest)), ("zero", largest == 0)):
        if bad.any():
            raise DataError(f"{name}: row {bad.argmax()} is {what} ({bad.sum()} such rows)")
    array = array / largest[:, None]  # otherwise, squares of very large or small numbers leave the range
    array /= np.linalg.norm(array, axis=1, keepdims=True)
    return {prompt: array[rows] for prompt, rows in rows_of(prompts).items()}


def _check_widths(sets: Mapping[str, Mapping[Hashable, NDArray[np.float64]]]) -> None:
    widths = {name: units.shape[1] for name, of in sets.items() for units in itertools.islice(of.values(), 1)}
    if len(set(widths.values())) > 1:
        shown = ", ".join(f"{name} {width}" for name, width in widths.items())
        raise DataError(f"features of the models have different numbers of dimensions: {shown}")


def _mean_cosine(units: NDArray[np.float64]) -> float:
    """Return the mean cosine of all pairs of different rows, at least one, in linear time."""
    total = units.sum(axis=0)
    # Subtract the squared lengths as rounded, so that their errors cancel.
    cosine = (total @ total - np.vdot(units, units)) / (len(units) * (len(units) - 1))
    return float(np.clip(cosine, -1, 1))


def _centres(by_prompt: dict[Hashable, NDArray[np.float64]]) -> dict[Hashable, NDArray[np.float64]]:
    return {prompt: units.mean(axis=0) for prompt, units in by_prompt.items()}


def _between(a: dict[Hashable, NDArray[np.float64]], b: dict[Hashable, NDArray[np.float64]]) -> float:
    """Return the mean over shared prompts of the product of the mean vectors: the mean over all pairs."""
    return _mean([float(np.clip(centre @ b[prompt], -1, 1)) for prompt, centre in a.items() if prompt in b])


def _mean(values: Sequence[float]) -> float:
    # The exact sum does not depend on the order of the prompts.
    return math.fsum(values) / len(values)
