"""The data of the criteria of ranked methods: their means, and their scores on each prompt."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.report.chunks import Chunk, as_json, as_numbers

REVISION = 1
"""Increase when the same ranking produces other data."""


@dataclass(frozen=True)
class RankedMethods:
    """The methods of a ranking."""

    name: str
    methods: pd.DataFrame
    """One row per method, the best first: ``method``, ``pareto`` (bool) and the means of the criteria."""
    scores: pd.DataFrame
    """One row per (prompt, method): ``prompt``, as ``{task}/{prompt_id}``; ``method``; where known, ``model``
    and ``strategy``; and the criteria. NaN counts as the worst value."""
    better: Mapping[str, str]
    """Criterion -> ``"higher"`` or ``"lower"``."""
    cells: Mapping[str, Sequence[str | None]]
    """Task with texts -> the method of each of its cells; None for cells that are not ranked."""


def criteria_chunk(ranking: RankedMethods) -> Chunk:
    """Arrange the criteria of a ranking for the page.

    The scores are exact, since dominance depends on their last bits: float64 in little-endian order, by
    prompt, method and criterion, in base64.
    """
    methods, scores = list(ranking.methods["method"]), ranking.scores
    place_of = {method: place for place, method in enumerate(methods)}
    rows, prompts = pd.factorize(scores["prompt"])
    values = np.full((len(prompts), len(methods), len(ranking.better)), np.nan)
    values[rows, scores["method"].map(place_of).to_numpy()] = scores[list(ranking.better)].to_numpy(float)
    kinds = [kind for kind in ("model", "strategy") if kind in scores]
    labels = scores.drop_duplicates("method").set_index("method")[kinds].loc[methods]
    content: dict[str, Any] = {
        "criteria": [
            {
                "name": name,
                "label": METRICS[name].label if name in METRICS else name,
                "says": METRICS[name].meaning if name in METRICS else "",
                "better": better,
                "means": as_numbers(ranking.methods[name]),
            }
            for name, better in ranking.better.items()
        ],
        "methods": methods,
        "pareto": [bool(on_front) for on_front in ranking.methods["pareto"]],
        "kinds": [{"name": kind, "labels": list(labels[kind])} for kind in kinds],
        "prompts": list(prompts),
        "values": base64.b64encode(values.astype("<f8").tobytes()).decode(),
        "cells": {
            task: [None if method is None else place_of.get(method) for method in of_cells]
            for task, of_cells in ranking.cells.items()
        },
    }
    return Chunk(f"{ranking.name}/criteria", as_json(content))
