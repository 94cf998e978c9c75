"""Numbers of prompts and of tokens, before anything is generated."""

from __future__ import annotations

from pathlib import Path

from textgamut.config.cells import Config
from textgamut.config.entries.decoding import (
    MOST_ADAPTIVE,
    AdaptiveContrastiveSearchDecoding,
    BeamDecoding,
    ContrastiveDecoding,
    ContrastiveSearchDecoding,
    Decoding,
)
from textgamut.files import reading
from textgamut.workflow import paths
from textgamut.workflow.paths import fill


def computed_tokens(decoding: Decoding | None) -> int:
    """Return how many tokens a decoding setting computes for each new token."""
    if isinstance(decoding, BeamDecoding | ContrastiveDecoding):
        return decoding.beams
    if isinstance(decoding, AdaptiveContrastiveSearchDecoding):
        return MOST_ADAPTIVE  # a batch computes the greatest k of its rows
    return decoding.k if isinstance(decoding, ContrastiveSearchDecoding) else 1


def count_prompts(config: Config, task: str, folder: Path) -> int | None:
    """Return the number of prompts of a task, or None if it is not known yet.

    It is the task's ``n`` if given, else the number of its prompts or of its dataset's texts if these exist,
    else the number of texts that the dataset's entry states.
    """
    entry = config.experiment.tasks[task]
    if entry.n is not None:
        return entry.n
    for path in (fill(paths.PROMPTS, task=task), fill(paths.TEXTS, dataset=entry.dataset)):
        if (folder / path).exists():
            return _rows(folder / path)
    return config.stated_prompts(task)


def _rows(path: Path) -> int:
    import pyarrow.parquet as pq

    with reading(path):
        return int(pq.read_metadata(path).num_rows)
