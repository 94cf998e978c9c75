"""Tasks: which texts of a dataset are prompts, which are references, which play a model.

Every draw depends on the task's name, the seeds and the ids alone (see ``draw.shuffled``). Prompts and
references never share a text, and neither do references and the subsets that play models, whatever the seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textgamut.draw import count_words, cut_words, hashed, shuffled, take
from textgamut.errors import TextgamutError, nearest
from textgamut.prompts import CREATIVE, continuation_prompt

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

REVISION = 1
"""Raised when a draw gives other texts from the same dataset."""

EXAMPLE_WORDS, EXAMPLE_NAME_WORDS = 350, 10
"""Longest in-context example and name, in words (PR appendix B.5, the authors' code)."""


def draw_prompts(texts: pd.DataFrame, task: str, n: int, min_words: int, prompt_words: int) -> pd.DataFrame:
    """Draw the human texts whose beginnings are the prompts (PR appendix B.4).

    Args:
        texts: The dataset (``id``, ``text``).
        task: The task's slug: another task draws other texts.
        n: How many.
        min_words: Shorter texts are left out.
        prompt_words: How many words of each the models are given.

    Returns:
        n rows: ``id`` of the text, and the prompt's variants ``base``, ``user``, ``start``.

    Raises:
        TextgamutError: There are fewer than 2 n texts: n for the prompts, n for the references.
    """
    texts = _long_enough(texts, min_words)
    take(
        list(texts.index),
        2 * n,
        f"task {task!r}: texts of {min_words} words or more, for prompts and references",
    )
    ids = _prompt_ids(texts, task, n)
    prompts = [continuation_prompt(text, prompt_words)._asdict() for text in texts.loc[ids, "text"]]
    return texts.loc[ids, ["id"]].reset_index(drop=True).assign(
        **{variant: [prompt[variant] for prompt in prompts] for variant in ("base", "user", "start")}
    )  # fmt: skip


def draw_references(
    texts: pd.DataFrame, task: str, n: int, min_words: int, max_words: int, draw: int
) -> pd.DataFrame:
    """Draw one set of references among the texts that are no prompts, cut to the task's length.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        task: The task's slug.
        n: How many, also of the prompts.
        min_words: Shorter texts are left out.
        max_words: Longer texts are cut.
        draw: The seed of this draw.

    Returns:
        n rows: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: There are too few texts.
    """
    texts = _long_enough(texts, min_words)
    pool = set(texts.index) - set(_prompt_ids(texts, task, n))
    what = f"task {task!r}: texts of {min_words} words or more that are left for the references"
    return _cut(texts, take(shuffled(pool, task, "references", draw), n, what), max_words)


def draw_labels(
    texts: pd.DataFrame,
    task: str,
    n: int,
    min_words: int,
    max_words: int,
    group: str,
    labels: Sequence[str],
    role: Literal["references", "subset"],
    seed: int,
) -> pd.DataFrame:
    """Draw texts of some labels in equal parts (PR section 5.2).

    One half of every label's texts is for the references, the other for the subsets that play models.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        task: The task's slug.
        n: How many; when the labels do not divide n, the first ones have one text more.
        min_words: Shorter texts are left out.
        max_words: Longer texts are cut.
        group: The column of the labels.
        labels: The labels to draw.
        role: What the texts are for.
        seed: The seed of this draw.

    Returns:
        n rows, the labels mixed: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: Unknown column or label, or too few texts of a label.
    """
    if group not in texts:
        known = nearest(group, map(str, texts.columns))
        raise TextgamutError(f"task {task!r}: the dataset has no column {group!r}; {known}")
    texts = _long_enough(texts, min_words)
    ids = []
    for position, label in enumerate(labels):
        of_label = texts.index[texts[group] == label]
        if of_label.empty:
            known = nearest(label, map(str, texts[group].dropna().unique()))
            raise TextgamutError(f"task {task!r}: no text has the {group} {label!r}; {known}")
        halves = shuffled(of_label, task, "halves")
        half = halves[0::2] if role == "references" else halves[1::2]
        share = n // len(labels) + (position < n % len(labels))
        what = f"task {task!r}: texts of {group} {label!r} in the half for the {role}"
        ids += take(shuffled(half, task, role, seed), share, what)
    return _cut(texts, shuffled(ids, task, role, seed, "mixed"), max_words)


def draw_examples(
    people: pd.DataFrame, task: str, samples: int, n: int, seed: int, avoid: Collection[str] = ()
) -> pd.DataFrame:
    """Draw the in-context examples of each sample of a biography task (PR section 5.3, appendix B.5).

    Every model is shown the same persons: they depend on the task, the seed and the sample alone. A person
    stands at most once in a prompt, and the examples for a smaller n are the first ones for a larger.

    Args:
        people: Biographies (``id``, ``name``, ``text``).
        task: The task's slug.
        samples: Number of prompts.
        n: Examples a prompt, 1 to 15 in the paper.
        seed: Another seed draws other persons for every sample.
        avoid: Ids of persons that are references: they are no examples.

    Returns:
        samples x n rows: ``sample`` and ``position`` (both from 0), ``id`` of the person, ``name`` cut to 10
        words and ``summary`` cut to 350 words, as in the paper.

    Raises:
        TextgamutError: There are fewer than n other persons.
    """
    import numpy as np
    import pandas as pd

    left = people[~people["id"].isin(set(avoid))].set_index("id").sort_index()
    take(list(left.index), n, f"task {task!r}: persons that are no references, as examples")
    keys = np.array([hashed(2**64, task, "examples", id_) for id_ in left.index], dtype=np.uint64)
    salts = (hashed(2**64, task, "samples", seed, sample) for sample in range(samples))
    ids = [
        id_
        for salt in salts
        for id_ in left.index[np.argsort(_mixed(keys ^ np.uint64(salt)), kind="stable")[:n]]
    ]
    chosen = left.loc[ids]
    names, texts = list(chosen["name"]), list(chosen["text"])
    summaries = [text.removeprefix(f"{name}:").lstrip() for name, text in zip(names, texts, strict=True)]
    return pd.DataFrame(
        {
            "sample": np.repeat(np.arange(samples), n),
            "position": np.tile(np.arange(n), samples),
            "id": ids,
            "name": [cut_words(name, EXAMPLE_NAME_WORDS) for name in names],
            "summary": [cut_words(summary, EXAMPLE_WORDS) for summary in summaries],
        }
    )


def draw_creative(task: str, samples: int, seed: int) -> list[int]:
    """Draw creative prompts with replacement (PR section 5.1): positions in ``prompts.CREATIVE``.

    Args:
        task: The task's slug.
        samples: How many; a larger number continues the same draw.
        seed: The seed of this draw.
    """
    return [hashed(len(CREATIVE), task, "creative", seed, sample) for sample in range(samples)]


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each key: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    import numpy as np

    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _prompt_ids(texts: pd.DataFrame, task: str, n: int) -> list[str]:
    return shuffled(texts.index, task, "prompts")[:n]


def _long_enough(texts: pd.DataFrame, min_words: int) -> pd.DataFrame:
    return texts[texts["text"].map(count_words) >= min_words].set_index("id", drop=False)


def _cut(texts: pd.DataFrame, ids: list[str], max_words: int) -> pd.DataFrame:
    chosen = texts.loc[ids].reset_index(drop=True)
    return chosen.assign(text=[cut_words(text, max_words) for text in chosen["text"]])
