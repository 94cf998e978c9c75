"""Extract the texts to be measured from the samples of a model."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from textgamut.errors import DataError
from textgamut.tasks.templates import BIOGRAPHY_NAME_WORDS
from textgamut.text import WordsEnd, count_words, cut_characters, cut_continuation, cut_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 2
"""Increase when a different part of a sample is measured, or other columns are kept."""

BIOGRAPHY_ENDS = ("\n\n- Biography", "\n\n#")
"""End markers of a generated biography: the next biography, or a heading (PR, the authors' code)."""

RECORDED = ["tokens", "finish", "log_likelihood", "scored_tokens"]
"""Columns of a sample (``generation.requests.Sample``) that are kept with its text."""

LEAST_TOKENS = 20
"""Completions of fewer tokens are not counted as copies: short texts are equal by chance."""
SHARE_OF_COPIES = 0.1
"""Share of copies that is reported. SmolLM2-135M-Instruct, 12 prompts with 4 completions of up to 48 tokens:
9 % at temperature 0.1, 7 % at 0.3 to 0.7 (all of one prompt, "1, 2, 3, 4,"), none at 1."""
COPIES_PER_LATE_PARTING = 10


class Answers(NamedTuple):
    """The texts of a cell that are measured."""

    texts: pd.DataFrame
    """One row per text: ``id``, ``prompt_id``, ``text``, ``tokens``, ``finish``, ``log_likelihood``,
    ``scored_tokens``; in the order of the prompts, then by completion number. ``log_likelihood`` is nan if
    the text is not the whole continuation."""
    counts: dict[str, int | float]
    """``samples``, ``empty_continuations`` and, for a model that thinks, ``unclosed_thoughts``, over all
    samples; ``shorter_than_max_words`` and ``mean_words_before_cut``, over the measured texts."""


def measured_answers(
    samples: pd.DataFrame,
    prompts: pd.DataFrame,
    kind: str,
    max_words: int | None,
    keep: int | None = None,
    max_characters: int | None = None,
    closing: str | None = None,
    words_end: WordsEnd = "at-white-space",
) -> Answers:
    """Extract the texts to be measured from all samples of a cell.

    Args:
        samples: Samples of all shards, in any order: ``id``, ``prompt_id``, ``completion``,
            ``continuation``, ``tokens``, ``finish``, ``log_likelihood``, ``scored_tokens``.
        prompts: Prompts of the task: ``id``, ``base``.
        kind: Kind of the task.
        max_words: Maximum length of a text in words; if None, texts are not cut.
        keep: Number of completions to keep per prompt, the longest ones; if None, all.
        max_characters: Maximum length of a text in characters; if None, only ``max_words`` counts.
        closing: The text that closes the thought in front of an answer; None for a model that does not think.
        words_end: Where words end.

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
    unclosed = {}
    if closing is not None:
        unclosed = {"unclosed_thoughts": sum(closing not in text for text in frame["continuation"])}
        frame["continuation"] = [after_thought(text, closing) for text in frame["continuation"]]
    written, empty = len(frame), sum(not text.strip() for text in frame["continuation"])
    if keep:
        frame = keep_longest(frame, keep, words_end)
    pairs = list(zip(frame["prompt_id"], frame["continuation"], strict=True))
    whole = [measured_text(kind, beginnings[id_], text, None) for id_, text in pairs]
    limits = (max_words, max_characters, words_end)
    texts = [measured_text(kind, beginnings[id_], text, *limits) for id_, text in pairs]
    length = partial(count_words, words_end=_counted(words_end))
    counts = {
        "samples": written,
        "shorter_than_max_words": sum(map(max_words.__gt__, map(length, texts))) if max_words else 0,
        "empty_continuations": empty,
        **unclosed,
        "mean_words_before_cut": sum(map(length, whole)) / len(whole),
    }
    unchanged = np.array(
        [
            text in (continuation, beginnings[id_] + continuation)
            for text, (id_, continuation) in zip(texts, pairs, strict=True)
        ]
    )
    frame = frame.assign(text=texts, log_likelihood=frame["log_likelihood"].where(unchanged))
    return Answers(frame[["id", "prompt_id", "text", *RECORDED]], counts)


def count_copies(samples: pd.DataFrame) -> int:
    """Count the sampled completions that repeat another one of their prompt to the letter, as clones.

    Of n equal completions, n - 1 are copies. Completions of fewer than 20 tokens are not counted.

    Args:
        samples: ``prompt_id``, ``continuation``, ``tokens``.

    Warns:
        UserWarning: If the copies are more than chance explains, as when a server ignores seeds: more than a
            tenth of the completions, and more than ten times those that part from another one of their prompt
            only in the second half of their characters. Where a model or its settings leave so little choice
            that texts agree to the end by chance, many others part late.
    """
    long = samples[samples["tokens"] >= LEAST_TOKENS]
    distinct = [sorted(set(texts)) for _, texts in long.groupby("prompt_id")["continuation"]]
    copies = len(long) - sum(map(len, distinct))
    if copies > SHARE_OF_COPIES * len(long):
        # Of all texts, a neighbour in alphabetical order has the longest beginning in common.
        late = sum(
            len({text for pair in pairwise(texts) if _part_late(*pair) for text in pair})
            for texts in distinct
        )
        if copies > COPIES_PER_LATE_PARTING * late:
            warnings.warn(
                f"{copies} of {len(long)} completions of {LEAST_TOKENS} tokens or more repeat another one of "
                "their prompt to the letter: the server may ignore seeds, or the settings leave no choice",
                stacklevel=2,
            )
    return copies


def _part_late(one: str, other: str) -> bool:
    half = (min(len(one), len(other)) + 1) // 2
    return one[:half] == other[:half]


def after_thought(continuation: str, closing: str) -> str:
    """Return the answer after a thought, without line breaks in front; empty if the thought is not closed."""
    return continuation.partition(closing)[2].lstrip("\n")


def measured_text(
    kind: str,
    base: str,
    continuation: str,
    max_words: int | None,
    max_characters: int | None = None,
    words_end: WordsEnd = "at-white-space",
) -> str:
    """Extract the text to be measured from a generated continuation.

    Args:
        kind: Kind of the task.
        base: Prompt, in the variant for pre-trained models.
        continuation: Generated continuation of the prompt.
        max_words: Maximum length of the text in words; if None, it is not cut.
        max_characters: Maximum length of the text in characters, except for ``prompted``; if None, it is not
            cut.
        words_end: Where words end; for ``prompted``, at spaces is at white space.

    Returns:
        Depending on the kind, and cut to these lengths: for ``continuation``, prompt and continuation; for
        ``biographies``, the first biography in the format of the references (``biography_of``); for
        ``creative`` and ``unprompted``, the stripped continuation; for ``prompted``, the continuation
        including its leading white space.
    """
    if kind == "prompted":
        return cut_continuation(continuation, max_words, _counted(words_end))
    whole = {
        "continuation": base + continuation,
        "biographies": biography_of(continuation, words_end),
        "creative": continuation.strip(),
        "unprompted": continuation.strip(),
    }[kind]
    whole = cut_characters(whole, max_characters)
    return whole if max_words is None else cut_words(whole, max_words, words_end)


def keep_longest(samples: pd.DataFrame, keep: int, words_end: WordsEnd = "at-white-space") -> pd.DataFrame:
    """Keep the longest completions of each prompt (NW section 5: 10 of 20).

    Args:
        samples: ``prompt_id``, ``completion``, ``continuation``.
        keep: Number of completions per prompt; ties are broken by the lower completion number.
        words_end: Where words end.

    Returns:
        The rows that are kept, in their original order.
    """
    length = partial(count_words, words_end=_counted(words_end))
    ranked = samples.assign(words=-samples["continuation"].map(length)).reset_index(drop=True)
    order = ranked.sort_values(["prompt_id", "words", "completion"], kind="stable")
    kept = order.groupby("prompt_id", sort=False).head(keep).index.sort_values()
    return samples.iloc[kept].reset_index(drop=True)


def biography_of(continuation: str, words_end: WordsEnd = "at-white-space") -> str:
    """Convert a generated continuation of ``- Biography of`` to the format of the references.

    It is cut at the beginning of the next biography or heading. "Name: content" becomes "Name:", a blank
    line, and the content. A text that does not begin with a name (a colon in its first line, after at most 10
    words) is only stripped.
    """
    text = continuation
    for end in BIOGRAPHY_ENDS:
        text = text.split(end, 1)[0]
    name, colon, content = text.strip().partition(":")
    words = count_words(name, _counted(words_end))
    if not colon or "\n" in name or not 0 < words <= BIOGRAPHY_NAME_WORDS:
        return text.strip()
    return f"{name.strip()}:\n\n{content.strip()}"


def _counted(words_end: WordsEnd) -> WordsEnd:
    """Return where words end when texts are counted or compared: spaces alone matter for cuts."""
    return "at-boundaries" if words_end == "at-boundaries" else "at-white-space"
