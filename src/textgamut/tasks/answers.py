"""Extract the texts to be measured from the samples of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import DataError
from textgamut.tasks.templates import BIOGRAPHY_NAME_WORDS
from textgamut.text import count_words, cut_continuation, cut_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when a different part of a sample is measured."""

BIOGRAPHY_ENDS = ("\n\n- Biography", "\n\n#")
"""End markers of a generated biography: the next biography, or a heading (PR, the authors' code)."""


class Answers(NamedTuple):
    """The texts of a cell that are measured."""

    texts: pd.DataFrame
    """One row per text: ``id``, ``prompt_id``, ``text``, ``tokens``, ``finish``; in the order of the prompts,
    then by completion number."""
    counts: dict[str, int | float]
    """``samples`` and ``empty_continuations``, over all samples; ``shorter_than_max_words`` and
    ``mean_words_before_cut``, over the measured texts."""


def measured_answers(
    samples: pd.DataFrame,
    prompts: pd.DataFrame,
    kind: str,
    max_words: int | None,
    keep: int | None = None,
    max_characters: int | None = None,
) -> Answers:
    """Extract the texts to be measured from all samples of a cell.

    Args:
        samples: Samples of all shards, in any order: ``id``, ``prompt_id``, ``completion``,
            ``continuation``, ``tokens``, ``finish``.
        prompts: Prompts of the task: ``id``, ``base``.
        kind: Kind of the task.
        max_words: Maximum length of a text in words; if None, texts are not cut.
        keep: Number of completions to keep per prompt, the longest ones; if None, all.
        max_characters: Maximum length of a text in characters; if None, only ``max_words`` counts.

    Raises:
        TextgamutError: If a prompt has no sample, or a sample has no prompt.
    """
    beginnings = prompts.set_index("id")["base"]
    if unmatched := set(samples["prompt_id"]) ^ set(beginnings.index):
        raise DataError(
            f"{len(unmatched)} prompts without samples or samples without prompts, such as {min(unmatched)!r}"
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
    texts = [measured_text(kind, beginnings[id_], text, max_words, max_characters) for id_, text in pairs]
    counts = {
        "samples": written,
        "shorter_than_max_words": sum(count_words(text) < max_words for text in texts) if max_words else 0,
        "empty_continuations": empty,
        "mean_words_before_cut": sum(map(count_words, whole)) / len(whole),
    }
    return Answers(frame.assign(text=texts)[["id", "prompt_id", "text", "tokens", "finish"]], counts)


def measured_text(
    kind: str, base: str, continuation: str, max_words: int | None, max_characters: int | None = None
) -> str:
    """Extract the text to be measured from a generated continuation.

    Args:
        kind: Kind of the task.
        base: Prompt, in the variant for pre-trained models.
        continuation: Generated continuation of the prompt.
        max_words: Maximum length of the text in words; if None, it is not cut.
        max_characters: Maximum length of the text in characters, except for ``prompted``; if None, it is not
            cut.

    Returns:
        Depending on the kind, and cut to these lengths: for ``continuation``, prompt and continuation; for
        ``biographies``, the first biography in the format of the references (``biography_of``); for
        ``creative``, the stripped continuation; for ``prompted``, the continuation including its leading
        white space.
    """
    if kind == "prompted":
        return cut_continuation(continuation, max_words)
    whole = {
        "continuation": base + continuation,
        "biographies": biography_of(continuation),
        "creative": continuation.strip(),
    }[kind]
    whole = whole[:max_characters]
    return whole if max_words is None else cut_words(whole, max_words)


def keep_longest(samples: pd.DataFrame, keep: int) -> pd.DataFrame:
    """Keep the longest completions of each prompt (NW section 5: 10 of 20).

    Args:
        samples: ``prompt_id``, ``completion``, ``continuation``.
        keep: Number of completions per prompt; ties are broken by the lower completion number.

    Returns:
        The rows that are kept, in their original order.
    """
    ranked = samples.assign(words=-samples["continuation"].map(count_words)).reset_index(drop=True)
    order = ranked.sort_values(["prompt_id", "words", "completion"], kind="stable")
    kept = order.groupby("prompt_id", sort=False).head(keep).index.sort_values()
    return samples.iloc[kept].reset_index(drop=True)


def biography_of(continuation: str) -> str:
    """Convert a generated continuation of ``- Biography of`` to the format of the references.

    It is cut at the beginning of the next biography or heading. "Name: content" becomes "Name:", a blank
    line, and the content. A text that does not begin with a name (a colon in its first line, after at most 10
    words) is only stripped.
    """
    text = continuation
    for end in BIOGRAPHY_ENDS:
        text = text.split(end, 1)[0]
    name, colon, content = text.strip().partition(":")
    if not colon or "\n" in name or not 0 < count_words(name) <= BIOGRAPHY_NAME_WORDS:
        return text.strip()
    return f"{name.strip()}:\n\n{content.strip()}"
