"""Signs that the generation of texts failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from textgamut.language import ENGLISH, share_of_other_scripts
from textgamut.metrics.rows import Scores, computed_rows, text_rows
from textgamut.text import plain_text

REVISION = 1
"""Increase when the same texts produce different values."""

BEGINNING = 100
"""Number of characters of a text in which a refusal is looked for: later ones may quote one."""


def unfinished(text: str) -> bool:
    """Return whether a text does not end like a sentence.

    The last character, without closing quotation marks, brackets and marks of emphasis, is not one that ends
    a sentence in any script.

    Args:
        text: The text, not empty.
    """
    return _ending().search(text) is None


def refuses(text: str, more: Sequence[str] = ()) -> bool:
    """Return whether a text refuses to answer: whether a listed phrase is among its first 100 characters.

    Args:
        text: The text.
        more: Phrases besides the shipped English ones.
    """
    beginning = _plain(text[:BEGINNING])
    return any(phrase in beginning for phrase in (*_phrases(), *map(_plain, more)))


def distinct_texts(texts: Sequence[str]) -> float:
    """Return the share of different texts among those that are not empty; NaN if all are empty."""
    keys = [key for key in map(plain_text, texts) if key]
    return len(set(keys)) / len(keys) if keys else np.nan


def distinct_answers(texts: Sequence[str], prompts: Sequence[Hashable]) -> float:
    """Return the share of the pairs of a prompt's texts that differ, as a mean over prompts.

    It does not depend on how many texts a prompt has.

    Args:
        texts: N texts.
        prompts: Prompt of each; None for a text without one, which is left out, as empty texts are.

    Returns:
        In [0, 1]; NaN if no prompt has several texts.
    """
    answers: dict[Hashable, list[str]] = {}
    for text, prompt in zip(map(plain_text, texts), prompts, strict=True):
        if text and prompt is not None:
            answers.setdefault(prompt, []).append(text)
    shares = []
    for own in answers.values():
        if pairs := len(own) * (len(own) - 1):
            equal = sum(count * (count - 1) for count in Counter(own).values())
            shares.append(1 - equal / pairs)
    return float(np.mean(shares)) if shares else np.nan


def score(texts: Sequence[str], language: str = ENGLISH, refusals: Sequence[str] = ()) -> Scores:
    """Look for defects of generated texts.

    Args:
        texts: N texts.
        language: Their language. Refusals are looked for in English texts, or if phrases are given.
        refusals: Phrases besides the shipped English ones.

    Returns:
        Rows of the share of different texts and of the means over texts, and the values of each text.

    Warns:
        UserWarning: As ``metrics.rows.text_rows``, of texts without a letter or without a word.
    """
    columns = {
        "empty_texts": [not text.strip() for text in texts],
        "unfinished_texts": [unfinished(text) if text.strip() else np.nan for text in texts],
        "foreign_letters": [share_of_other_scripts(text, language) for text in texts],
    }
    if language == ENGLISH or refusals:
        columns["refusals"] = [refuses(text, refusals) for text in texts]
    values = {name: np.array(of, dtype=np.float64) for name, of in columns.items()}
    rows = computed_rows(len(texts), {"distinct_texts": lambda: distinct_texts(texts)})
    return Scores(rows + text_rows(values), values)


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("\u2019", "'").split())


@cache
def _phrases() -> tuple[str, ...]:
    listed = files("textgamut.metrics").joinpath("refusals.txt").read_text(encoding="utf-8")
    return tuple(listed.splitlines())


@cache
def _ending() -> Any:
    import regex

    return regex.compile(r"[\p{Sentence_Terminal}…][\p{Pe}\p{Pf}\p{Pi}\"'*_`\s]*$")
