"""Tasks: which texts of a dataset are prompts, which are references, which play a model.

Every draw depends on the task's name, the seeds and the ids alone (see ``draw.shuffled``). Prompts and
references never share a text, whatever the seeds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textgamut.draw import count_words, cut_words, shuffled, take
from textgamut.errors import TextgamutError, nearest
from textgamut.prompts import continuation_prompt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from textgamut.config import ContinuationTask, SubsetsTask, Task

REVISION = 1
"""Raised when a draw gives other texts from the same dataset."""


def draw_prompts(frame: pd.DataFrame, name: str, task: ContinuationTask) -> pd.DataFrame:
    """Draw the human texts whose beginnings are the prompts.

    Args:
        frame: The dataset (``id``, ``text``).
        name: The task's slug: another task draws other texts.
        task: Its settings.

    Returns:
        n rows: ``id`` of the text, and the prompt's variants ``base``, ``user``, ``start``.

    Raises:
        TextgamutError: The dataset has fewer than 2 n texts that are long enough: n prompts, n references.
    """
    texts = _long_enough(frame, task.min_words)
    take(list(texts.index), 2 * task.n, _what(name, task, "for prompts and references together"))
    ids = shuffled(texts.index, name, "prompts")[: task.n]
    prompts = [continuation_prompt(text, task.prompt_words)._asdict() for text in texts.loc[ids, "text"]]
    return type(frame)({"id": ids} | {key: [prompt[key] for prompt in prompts] for key in prompts[0]})


def draw_references(frame: pd.DataFrame, name: str, task: Task, draw: int) -> pd.DataFrame:
    """Draw one set of references, cut to the task's length.

    Args:
        frame: The dataset (``id``, ``text``, group columns).
        name: The task's slug.
        task: Its settings.
        draw: The seed of this draw.

    Returns:
        n rows: ``id``, ``text`` and the dataset's group columns.

    Raises:
        TextgamutError: Too few texts, or an unknown group or label.
    """
    if task.kind == "subsets":
        return _draw_labels(frame, name, task, task.references, ("references", draw))
    texts = _long_enough(frame, task.min_words)
    pool = set(texts.index) - set(shuffled(texts.index, name, "prompts")[: task.n])
    ids = take(shuffled(pool, name, "references", draw), task.n, _what(name, task, "left for the references"))
    return _cut(texts, ids, task.max_words)


def draw_subset(frame: pd.DataFrame, name: str, task: SubsetsTask, subset: str, seed: int) -> pd.DataFrame:
    """Draw human texts that play a model: equal parts of the subset's labels (PR section 5.2).

    Arguments, result and errors as in ``draw_references``; no text stands in both, whatever the seeds.
    """
    return _draw_labels(frame, name, task, task.subsets[subset], ("subset", subset, seed))


def _draw_labels(
    frame: pd.DataFrame, name: str, task: SubsetsTask, labels: Sequence[str], key: tuple[str | int, ...]
) -> pd.DataFrame:
    if task.group not in frame:
        raise TextgamutError(
            f"task {name!r}: dataset {task.dataset!r} has no column {task.group!r}; "
            + nearest(task.group, map(str, frame.columns))
        )
    texts = _long_enough(frame, task.min_words)
    ids = []
    for position, label in enumerate(labels):
        of_label = list(texts.index[texts[task.group] == label])
        if not of_label:
            known = nearest(label, texts[task.group].dropna().unique())
            raise TextgamutError(f"task {name!r}: no text of {task.dataset!r} has {task.group} {label!r}; {known}")
        # One half of every label for the references, the other for those who play models.
        order = shuffled(of_label, name, "halves")
        half = order[0::2] if key[0] == "references" else order[1::2]
        share = task.n // len(labels) + (position < task.n % len(labels))
        what = _what(name, task, f"with {task.group} {label!r}, in the {key[0]} half")
        ids += take(shuffled(half, name, *key), share, what)
    return _cut(texts, shuffled(ids, name, *key), task.max_words)


def _long_enough(frame: pd.DataFrame, min_words: int) -> pd.DataFrame:
    return frame[frame["text"].map(count_words) >= min_words].set_index("id", drop=False)


def _what(name: str, task: Task, which: str) -> str:
    return f"task {name!r}: texts of {task.dataset!r} of {task.min_words} words or more {which}"


def _cut(texts: pd.DataFrame, ids: list[str], max_words: int) -> pd.DataFrame:
    chosen = texts.loc[ids].reset_index(drop=True)
    chosen["text"] = [cut_words(text, max_words) for text in chosen["text"]]
    return chosen
