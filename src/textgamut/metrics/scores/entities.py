"""Named-entity scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from textgamut.metrics.entities import entity_metrics, find_entities
from textgamut.metrics.scores.rows import Columns, Row, prompt_rows, text_rows
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd
    from spacy.language import Language


def entity_scores(
    texts: pd.DataFrame, references: pd.DataFrame | None, tagger: Language, processes: int = 1
) -> tuple[list[Row], Columns]:
    """Compute information density and, if references are given, entity overlap.

    Args:
        texts: Columns ``prompt_id`` and ``text``.
        references: Columns ``id`` of the prompt and ``text`` of the reference; None for no overlap.
        tagger: A spaCy pipeline.
        processes: Number of processes.

    Returns:
        Rows of the means, and the metrics of each text.

    Raises, Warns:
        As ``metrics.entities`` and :func:`text_rows`, or if a prompt has no reference.
    """
    words = np.array([count_words(text) for text in texts["text"]])
    own, asked, places = list(texts["text"]), [], np.array([], dtype=np.intp)
    if references is not None:
        rows = prompt_rows(texts["prompt_id"], references["id"])
        used, places = np.unique(rows, return_inverse=True)
        asked = list(references["text"].iloc[used])
    # In one call, since each starts its processes anew.
    found = find_entities(own + asked, tagger, processes=processes)
    of_references = None if references is None else [found[len(own) + place] for place in places]
    metrics = entity_metrics(found[: len(own)], words, of_references)
    columns = {"information_density": metrics.information_density}
    if metrics.entity_overlap is not None:
        columns["entity_overlap"] = metrics.entity_overlap
    return text_rows(columns), columns
