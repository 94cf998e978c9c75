"""Style and order of the models in figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from textgamut.errors import DataError, nearest


@dataclass(frozen=True)
class ModelStyle:
    """How a model is drawn: its label, its family (colour) and whether it is a chat model (marker)."""

    label: str
    family: str
    chat: bool


def order_runs(runs: pd.DataFrame, models: Mapping[str, ModelStyle]) -> pd.DataFrame:
    """Sort runs by model (in the order of the styles), decoding, seed and draw.

    Raises:
        DataError: If a model has no style.
    """
    for slug in runs["model"].unique():
        if slug not in models:
            raise DataError(f"scores: model {slug!r} has no style; {nearest(slug, models)}")
    place = runs["model"].map({slug: place for place, slug in enumerate(models)})
    return runs.assign(place=place).sort_values(["place", "decoding", "seed", "draw"], ignore_index=True)
