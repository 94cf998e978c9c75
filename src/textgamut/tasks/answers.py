"""Answers: what is measured of what a model wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import DataError
from textgamut.tasks.templates import BIOGRAPHY_NAME_WORDS
from textgamut.text import count_words, cut_continuation, cut_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Raised when another part of an answer is measured."""

BIOGRAPHY_ENDS = ("\n\n- Biography", "\n\n#")
"""Where a generated biography ends: what follows is the next one, or a heading (PR, the authors' code)."""


class Answers(NamedTuple):
    """The texts of a cell that are measured."""

    texts: pd.DataFrame
    """One row per text: ``id``, ``prompt_id``, ``text``, ``tokens``, ``finish``; in the order of the prompts,
    the completions of each by number."""
    counts: dict[str, int | float]
    """``samples``, all that were generated; ``shorter_than_max_words``, of the texts that are measured;
    ``empty_continuations``, of all samples; ``mean_words_before_cut``, of the texts that are measured."""


def measured_answers(
    samples: pd.DataFrame, prompts: pd.DataFrame, kind: str, max_words: int | None, keep: int | None = None
) -> Answers:
    """Make the texts that are measured from all samples of a cell.

    Args:
        samples: The samples of all shards, in any order: ``id``, ``prompt_id``, ``completion``,
            ``continuation``, ``tokens``, ``finish``.
        prompts: The prompts of the task: ``id``, ``base``.
        kind: The kind of the task.
        max_words: Longest text, in words; None: as it is.
        keep: How many of the longest completions of each prompt are measured; None: all.

    Raises:
        TextgamutError: A prompt has no sample, or a sample has no prompt.
    """
    beginnings = prompts.set_index("id")["base"]
    if unmatched := set(samples["prompt_id"]) ^ set(beginnings.index):
        raise DataError(
            f"{len(unmatched)} of prompts and samples have no partner, such as {min(unmatched)!r}"
        )
    place = {id_: i for i, id_ in enumerate(beginnings.index)}
    frame = samples.sort_values(
        ["prompt_id", "completion"],
        key=lambda column: column.map(place) if column.name == "prompt_id" else column,
    ).reset_index(drop=True)
    written, empty = len(frame), sum(not text.strip() for text in frame["continuation"])
    if keep:
        frame = keep_longest(frame, keep)
    pairs = list(zip(frame["prompt_id"], frame["continuation"], strict=True))
    whole = [measured_text(kind, beginnings[id_], text, None) for id_, text in pairs]
    texts = [measured_text(kind, beginnings[id_], text, max_words) for id_, text in pairs]
    counts = {
        "samples": written,
        "shorter_than_max_words": sum(count_words(text) < max_words for text in texts) if max_words else 0,
        "empty_continuations": empty,
        "mean_words_before_cut": sum(map(count_words, whole)) / len(whole),
    }
    return Answers(frame.assign(text=texts)[["id", "prompt_id", "text", "tokens", "finish"]], counts)


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
        return cut_continuation(continuation, max_words)
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
