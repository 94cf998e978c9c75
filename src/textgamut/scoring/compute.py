"""Compute the scores of several models, family by family."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, Family
from textgamut.errors import SmallSampleWarning
from textgamut.scoring.check import Texts, for_each
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
        found: dict[str, dict[str, Scores]] = {}
        for name, family in FAMILIES.items():
            if name in options.metrics:
                found[name] = _scores(family, texts, options, resolved, features)
    label = None if resolved.embedder is None else resolved.embedder.label
    return _results(texts, options, label, found, places)


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


def _scores(
    family: Family, texts: Texts, options: Options, resolved: Resolved, features: Sequence[Any]
) -> dict[str, Scores]:
    """Return the scores of each model by a family."""
    common: dict[str, Any] = {
        name: field.get_default()
        for name, field in family.settings.model_fields.items()
        if not field.is_required()
    } | {
        "k": options.k,
        "bootstrap": options.bootstrap,
        "seeds": options.kmeans_seeds,
        "tokenizer": resolved.tokenizer,
        "references": texts.reference,
        "reference_features": features[0] if features else None,
    }
    if MODEL in family.reads:
        common[MODEL] = _scoring_model(resolved)
    own = {
        name: _own(family, texts, name, features[place] if features else None)
        for place, name in enumerate(texts.generated, start=1)
    }
    if not family.joint:
        return for_each(own, lambda name: family.score(common | own[name]))
    every = {read: [of[read] for of in own.values()] for read in next(iter(own.values()))}
    scores = iter(family.score(common | every, joint=True))
    return for_each(own, lambda name: next(scores))


def _own(family: Family, texts: Texts, name: str, features: Any) -> dict[str, Any]:
    """Return what a family reads of a model; one that compares completions, of the texts with a prompt."""
    generated = texts.generated[name]
    asked = None if texts.prompts is None else texts.prompts[name]
    groups = {column: (side, of[name]) for column, (side, of) in texts.labels.items()}
    if family.of_prompts and asked is not None:
        rows = [row for row, prompt in enumerate(asked) if prompt]
        generated, asked = [generated[row] for row in rows], [asked[row] for row in rows]
        features = None if features is None else features[rows]
    return {
        "texts": generated,
        "continuations": generated,
        "prompts": None if asked is None else [prompt or "" for prompt in asked],
        "prompt_ids": asked,
        "features": features,
        "groups": groups,
    }


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
    texts: Texts,
    options: Options,
    label: str | None,
    found: Mapping[str, Mapping[str, Scores]],
    places: Sequence[Any],
) -> Comparison:
    """Put together the scores and the texts of each model."""
    from textgamut.report.explorer_chunks import GeneratedSet, TextSet

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
            rows, options.k, label, references, tuple(generated), support, human, known
        )
    return Comparison(results)


def _frame(texts: Sequence[str]) -> pd.DataFrame:
    """Return texts as a table, with an id for each: its row."""
    import pandas as pd

    ids = [f"row-{row}" for row in range(1, len(texts) + 1)]
    return pd.DataFrame({"id": ids, "text": list(texts)})


def _groups(labels: Mapping[str, Sequence[str | None]], texts: Sequence[str]) -> pd.DataFrame:
    """Return the labels of texts as a table, with a column for each group column."""
    import pandas as pd

    return pd.DataFrame(dict(labels), index=range(len(texts)), dtype="str")
