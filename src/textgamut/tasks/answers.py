"""Answers: what is measured of what a model wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textgamut.tasks.templates import (
    BIOGRAPHY_NAME_WORDS,
)
from textgamut.text import count_words, cut_words

if TYPE_CHECKING:
    import pandas as pd


REVISION = 1
"""Raised when another part of an answer is measured."""

BIOGRAPHY_ENDS = ("\n\n- Biography", "\n\n#")
"""Where a generated biography ends: what follows is the next one, or a heading (PR, the authors' code)."""


def measured_text(kind: str, base: str, continuation: str, max_words: int | None) -> str:
    """Make the text that is measured from what a model wrote.

    Args:
        kind: The kind of the task.
        base: The prompt, as a pre-trained model reads it.
        continuation: What the model wrote after its prompt.
        max_words: Longest text, in words; None: as it is.

    Returns:
        ``continuation``: prompt and continuation, cut. ``biographies``: the first biography, in the form of
        the references (``biography_of``), cut. ``creative``: the answer, cut. ``prompted``: the
        continuation with the white space that it begins with, cut.
    """
    if kind == "prompted":
        return _cut_after(continuation, max_words)
    whole = {
        "continuation": base + continuation,
        "biographies": biography_of(continuation),
        "creative": continuation.strip(),
    }[kind]
    return whole if max_words is None else cut_words(whole, max_words)


def keep_longest(samples: pd.DataFrame, keep: int) -> pd.DataFrame:
    """Keep the longest completions of each prompt (NW section 5: 10 of 20).

    Args:
        samples: ``prompt_id``, ``completion``, ``continuation``.
        keep: How many of each prompt; of equally long ones those with the lower number.

    Returns:
        The rows that are kept, in their order.
    """
    ranked = samples.assign(words=-samples["continuation"].map(count_words)).reset_index(drop=True)
    order = ranked.sort_values(["prompt_id", "words", "completion"], kind="stable")
    kept = order.groupby("prompt_id", sort=False).head(keep).index.sort_values()
    return samples.iloc[kept].reset_index(drop=True)


def _cut_after(text: str, max_words: int | None) -> str:
    """Cut a continuation, which keeps the white space that parts it from its prompt."""
    if max_words is None:
        return text
    return text[: len(text) - len(text.lstrip())] + cut_words(text, max_words)


def biography_of(continuation: str) -> str:
    """Bring what a model wrote after ``- Biography of`` to the form of the references.

    It is cut where the next biography or a heading begins. "Name: content" becomes "Name:", a blank line, the
    content; a text that does not open with a name (a colon in its first line, after at most 10 words) stays
    as it is.
    """
    text = continuation
    for end in BIOGRAPHY_ENDS:
        text = text.split(end, 1)[0]
    name, colon, content = text.strip().partition(":")
    if not colon or "\n" in name or not 0 < count_words(name) <= BIOGRAPHY_NAME_WORDS:
        return text.strip()
    return f"{name.strip()}:\n\n{content.strip()}"
