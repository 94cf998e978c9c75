"""Scores of a cell by named entities: rows of the tidy table."""

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
    """Score texts by their named entities: information density and, given references, entity overlap.

    Args:
        texts: ``prompt_id``, ``text``.
        references: ``id`` of a prompt, ``text`` that a human wrote after it; None: no overlap.
        tagger: A pipeline of spaCy.
        processes: How many share the texts.

    Returns:
        The means, and the metrics of each text.

    Raises, Warns:
        As ``metrics.entities`` and :func:`text_rows`; a prompt has no reference.
    """
    words = np.array([count_words(text) for text in texts["text"]])
    found = find_entities(list(texts["text"]), tagger, processes=processes)
    of_references = None
    if references is not None:
        rows = prompt_rows(texts["prompt_id"], references["id"])
        named = find_entities(list(references["text"]), tagger, processes=processes)
        of_references = [named[row] for row in rows]
    metrics = entity_metrics(found, words, of_references)
    columns = {"information_density": metrics.information_density}
    if metrics.entity_overlap is not None:
        columns["entity_overlap"] = metrics.entity_overlap
    return text_rows(columns), columns
