"""Compute the scores of several models, family by family."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, Family
from textgamut.errors import SmallSampleWarning
from textgamut.scoring.check import Texts, for_each
from textgamut.scoring.material import Material
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved
from textgamut.scoring.results import Comparison, ScoreResult

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.metrics.rows import Scores


def compute(texts: Texts, options: Options, resolved: Resolved) -> Comparison:
    """Load the weights, and compute the scores.

    Args:
        texts: The texts.
        options: The options, checked.
        resolved: What they name.

    Raises:
        ModelError: If a checkpoint cannot be loaded.

    Warns:
        UserWarning: As ``textgamut.score``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallSampleWarning)  # said once, for all families and models
        features, places = _embedded(texts, resolved)
        material = Material(texts, options, resolved, features)
        found: dict[str, dict[str, Scores]] = {}
        for name, family in FAMILIES.items():
            if name in options.metrics:
                found[name] = _scores(family, material)
    return _results(material, found, places)


def _embedded(texts: Texts, resolved: Resolved) -> tuple[list[Any], list[Any]]:
    """Return the features of the references and of each model, and their places on a map."""
    if resolved.embedder is None:
        return [], [None] * (len(texts.generated) + 1)
    import numpy as np

    from textgamut.features.embed import embed
    from textgamut.features.projection import project_features
    from textgamut.models.devices import choose_device

    every = [text for side in (texts.reference, *texts.generated.values()) for text in side]
    vectors = embed(every, resolved.embedder_folder, resolved.embedder, choose_device()).vectors
    bounds = len(texts.reference) + texts.count * np.arange(len(texts.generated))
    return np.split(vectors, bounds), np.split(project_features([vectors]), bounds)


def _scores(family: Family, material: Material) -> dict[str, Scores]:
    """Return the scores of each model by a family."""
    common = material.common(family)
    if MODEL in family.reads:
        common[MODEL] = _scoring_model(material.resolved)
    return for_each(
        material.texts.generated,
        lambda name: family.score(common | material.own(family, name) | {"groups": material.groups(name)}),
    )


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


def _results(
    material: Material, found: Mapping[str, Mapping[str, Scores]], places: Sequence[Any]
) -> Comparison:
    """Put together the scores and the texts of each model."""
    from textgamut.report.explorer_chunks import GeneratedSet, TextSet

    texts, embedder = material.texts, material.resolved.embedder
    label = None if embedder is None else embedder.label
    references = tuple(texts.reference)
    groups = {column: side for column, (side, _) in texts.labels.items()}
    human = TextSet(_frame(references), _groups(groups, references), places[0])
    results = {}
    for place, (name, generated) in enumerate(texts.generated.items(), start=1):
        scores = [of_models[name] for of_models in found.values()]
        columns = {metric: values for of in scores for metric, values in (of.columns or {}).items()}
        prompt = {} if texts.prompts is None else {"prompt": [of or "" for of in texts.prompts[name]]}
        labels = {column: of[name] for column, (_, of) in texts.labels.items()}
        frame = _frame(generated).assign(**prompt, **columns)
        known = GeneratedSet(frame, _groups(labels, generated), places[place])
        rows = tuple(row for of in scores for row in of.rows)
        support: Any = found["support"][name] if "support" in found else None
        results[name] = ScoreResult(
            rows, material.options.k, label, references, tuple(generated), support, human, known, material
        )
    return Comparison(results, material)


def _frame(texts: Sequence[str]) -> pd.DataFrame:
    """Return texts as a table, with an id for each: its row."""
    import pandas as pd

    ids = [f"row-{row}" for row in range(1, len(texts) + 1)]
    return pd.DataFrame({"id": ids, "text": list(texts)})


def _groups(labels: Mapping[str, Sequence[str | None]], texts: Sequence[str]) -> pd.DataFrame:
    """Return the labels of texts as a table, with a column for each group column."""
    import pandas as pd

    return pd.DataFrame(dict(labels), index=range(len(texts)), dtype="str")
