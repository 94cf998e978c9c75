"""Compute the scores of several models, family by family."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, Family
from textgamut.errors import SmallSampleWarning
from textgamut.language import with_language
from textgamut.metrics.rows import HUMANS, USED_REFERENCES, YARDSTICK
from textgamut.progress import report, step
from textgamut.scoring.check import Texts, for_each
from textgamut.scoring.material import Material
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved
from textgamut.scoring.results import Comparison, ScoreResult

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.features.embed import Features
    from textgamut.metrics.rows import Scores

SAME_KIND = 0.01
"""Smallest p-value of the MMD between used and held-out references at which these are a yardstick."""
PERMUTATIONS = 999
"""Number of permutations of that test."""


def compute(
    texts: Texts, options: Options, resolved: Resolved, known: Mapping[str, Features] | None = None
) -> Comparison:
    """Load the weights, and compute the scores.

    Args:
        texts: The texts.
        options: The options, checked.
        resolved: What they name.
        known: Features of the references that are used and of each model, if they are known.

    Raises:
        ModelError: If a checkpoint cannot be loaded.

    Warns:
        UserWarning: As ``textgamut.score``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)  # said once, for all families and models
        features = _embedded(texts, resolved) if known is None else dict(known)
        no_yardstick = _without_yardstick(texts, features)
        if no_yardstick:
            texts = replace(texts, held_out=[])
            features.pop(YARDSTICK, None)
        material = Material(texts, options, resolved, features, no_yardstick, compute)
        found: dict[str, dict[str, Scores]] = {}
        for name, family in FAMILIES.items():
            if name in options.metrics:
                with step(f"scoring {name}"):
                    found[name] = _scores(family, material)
    return _results(material, found)


def _embedded(texts: Texts, resolved: Resolved) -> dict[str, Features]:
    """Return the features of the references that are used, of each model and of the held-out texts."""
    if resolved.embedder is None:
        return {}
    names = [USED_REFERENCES, *texts.generated, *([YARDSTICK] if texts.held_out else [])]
    found = embed_sets({name: texts.of(name) for name in names}, resolved)
    found[USED_REFERENCES].check_script("references", resolved.embedder.label)
    return found


def embed_sets(sets: Mapping[str, Sequence[str]], resolved: Resolved) -> dict[str, Features]:
    """Return the features of sets of texts, computed or from the cache."""
    from textgamut.features.cache import cached_features

    assert resolved.embedder is not None
    return cached_features(sets, resolved.embedder_folder, resolved.embedder)


def _without_yardstick(texts: Texts, features: Mapping[str, Features]) -> str:
    """Return why there is no yardstick; an empty string if there is."""
    n = texts.compared
    if not texts.held_out:
        have = len(texts.reference)
        return f"held-out human texts of N = {n:,} need {2 * n:,} references, and there are {have:,}"
    if YARDSTICK in features:
        from textgamut.metrics.distance import mmd

        sides = features[USED_REFERENCES].vectors, features[YARDSTICK].vectors
        p = mmd(*sides, permutations=PERMUTATIONS)["gaussian"].p
        if p < SAME_KIND:
            return (
                "the references are not in random order or not of one kind: those that are compared and "
                f"those held out differ (MMD, p = {p:.3f})"
            )
    return ""


def _scores(family: Family, material: Material) -> dict[str, Scores]:
    """Return the scores of each model by a family, and those of human texts."""
    common = material.common(family)
    if MODEL in family.reads:
        common[MODEL] = _scoring_model(material.resolved)

    done, total = itertools.count(1), len(material.texts.generated) + len(material.humans(family))

    def of(name: str) -> Scores:
        own = material.own(family, name)
        scores: Scores = family.score(common | own)
        rows = material.with_intervals(family, name, scores, common)
        report(next(done), total, "sets of texts")
        return replace(scores, rows=rows)

    found = for_each(material.texts.generated, of)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with human texts is no fault of a model
        return found | {name: of(name) for name in material.humans(family)}


def _scoring_model(resolved: Resolved) -> Any:
    import torch

    from textgamut.models.checkpoints import load_causal_model
    from textgamut.models.devices import choose_device
    from textgamut.models.log_likelihood import ScoringModel

    assert resolved.scorer is not None
    network = load_causal_model(
        resolved.scorer_folder, torch.float32, choose_device(), adapter=resolved.adapter
    )
    return ScoringModel(network, resolved.scorer_tokenizer, resolved.scorer.batch_size)


def _results(material: Material, found: Mapping[str, Mapping[str, Scores]]) -> Comparison:
    """Put together the scores and the texts of each model, and of human texts."""
    from textgamut.report.explorer_chunks import GeneratedSet, TextSet

    texts, places = material.texts, _places(material.features)
    used = texts.of(USED_REFERENCES)
    groups = _groups(texts.labels_of(USED_REFERENCES), used)
    human = TextSet(_frame(used, texts.language), groups, places.get(USED_REFERENCES))
    humans: dict[str, ScoreResult] = {}
    results: dict[str, ScoreResult] = {}
    for name in (*HUMANS, *texts.generated):
        scores = [of_sets[name] for of_sets in found.values() if name in of_sets]
        if not scores:
            continue
        own = texts.of(name)
        columns = {metric: values for of in scores for metric, values in (of.columns or {}).items()}
        asked = (texts.prompts or {}).get(name)
        prompt = {} if asked is None else {"prompt": [of or "" for of in asked]}
        frame = _frame(own, texts.language).assign(**prompt, **columns)
        known = GeneratedSet(frame, _groups(texts.labels_of(name), own), places.get(name))
        support: Any = found.get("support", {}).get(name)
        (results if name in texts.generated else humans)[name] = ScoreResult(
            name,
            tuple(row for of in scores for row in of.rows),
            tuple(own),
            support,
            human,
            known,
            humans,
            material,
        )
    return Comparison(results, material)


def _places(features: Mapping[str, Features]) -> dict[str, Any]:
    """Return the places of texts on a map of all sets."""
    if not features:
        return {}
    import numpy as np

    from textgamut.features.projection import project_features

    sets = [of.vectors for of in features.values()]
    bounds = np.cumsum([len(of) for of in sets])[:-1]
    return dict(zip(features, np.split(project_features(sets), bounds), strict=True))


def _frame(texts: Sequence[str], language: str) -> pd.DataFrame:
    """Return texts in a language as a table, with an id for each: its row."""
    import pandas as pd

    ids = [f"row-{row}" for row in range(1, len(texts) + 1)]
    return with_language(pd.DataFrame({"id": ids, "text": list(texts)}), language)


def _groups(labels: Mapping[str, Sequence[str | None]], texts: Sequence[str]) -> pd.DataFrame:
    """Return the labels of texts as a table, with a column for each group column."""
    import pandas as pd

    return pd.DataFrame(dict(labels), index=range(len(texts)), dtype="str")
