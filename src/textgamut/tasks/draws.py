"""Draws: which texts of a dataset are the prompts of a task, its references, or play a model.

Every draw depends on the task's name, the seeds and the ids alone (see ``draws.shuffled``). Prompts and
references never share a text, and neither do references and the subsets that play models, whatever the seeds.
Tables of prompts have the columns ``id``, ``base``, ``user``, ``start``, whatever the kind of task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from textgamut.datasets.creative import CREATIVE
from textgamut.draws import hashed, shuffled, take
from textgamut.errors import DataError, nearest
from textgamut.tasks.templates import (
    BIOGRAPHY_NAME_WORDS,
    Prompt,
    biographies_prompt,
    continuation_prompt,
    creative_prompt,
    given_prompt,
)
from textgamut.text import count_words, cut_continuation, cut_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

REVISION = 1
"""Raised when a draw gives other texts from the same dataset."""

EXAMPLE_WORDS = 350
"""Longest in-context example, in words (PR appendix B.5, the authors' code)."""

PROMPT_SEED = 0
"""In-context examples and creative prompts are drawn once: every generation seed sees the same prompts."""

DATASET_COLUMNS = {
    "continuation": ["id", "text"],
    "biographies": ["id", "name", "text"],
    "creative": [],
    "prompted": ["id", "prompt"],
}
"""Kind of a task -> columns of the dataset from which its prompts are drawn."""


def draw_prompts(texts: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Draw the prompts of a task.

    Args:
        texts: The dataset, with the columns of ``DATASET_COLUMNS``.
        settings: ``kind``, ``task``, ``n``, and what else the function of that kind takes.

    Returns:
        One row per prompt: ``id``, ``base``, ``user``, ``start``.

    Raises:
        TextgamutError: As the function of that kind.
    """
    task, n = settings["task"], settings["n"]
    match settings["kind"]:
        case "continuation":
            return draw_continuation_prompts(texts, task, n, settings["min_words"], settings["prompt_words"])
        case "biographies":
            dataset, examples, draws = (settings[name] for name in ("dataset", "examples", "draws"))
            return draw_biography_prompts(texts, task, dataset, n, examples, draws)
        case "creative":
            return draw_creative_prompts(task, n)
        case "prompted":
            return draw_given_prompts(texts, task, n)
    raise ValueError(f"task {task!r}: no prompts are drawn for the kind {settings['kind']!r}")


def draw_references(texts: pd.DataFrame, settings: Mapping[str, Any], draw: int) -> pd.DataFrame:
    """Draw one set of references of a task.

    Args:
        texts: The dataset (``id``, ``text``, group columns); of a creative task, the texts of another cell.
        settings: ``kind``, ``task``, ``n``, ``max_words``, and what else the function of that kind takes.
        draw: The seed of this draw.

    Returns:
        One row per reference: ``id``, ``text`` and, but for creative tasks, the dataset's other columns.

    Raises:
        TextgamutError: As the function of that kind.
    """
    task, n, max_words = settings["task"], settings["n"], settings["max_words"]
    match settings["kind"]:
        case "subsets":
            group, labels = settings["group"], settings["references"]
            return draw_labels(
                texts, task, n, settings["min_words"], max_words, group, labels, "references", draw
            )
        case "continuation":
            return draw_continuation_references(texts, task, n, settings["min_words"], max_words, draw)
        case "biographies":
            return draw_biography_references(texts, task, settings["dataset"], n, max_words, draw)
        case "creative":
            return texts[["id", "text"]]
        case "prompted":
            return draw_given_references(texts, task, n, max_words)
    raise ValueError(f"task {task!r}: no references are drawn for the kind {settings['kind']!r}")


def draw_subset(texts: pd.DataFrame, settings: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Draw a subset of labelled texts that plays a model.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        settings: The arguments of :func:`draw_labels`: ``task``, ``n``, ``min_words``, ``max_words``,
            ``group``, ``labels``.
        seed: The seed of this draw.

    Returns:
        As :func:`human_generations`; the tokens are words.

    Raises:
        TextgamutError: As :func:`draw_labels`.
    """
    task, n, min_words, max_words, group, labels = (
        settings[name] for name in ("task", "n", "min_words", "max_words", "group", "labels")
    )
    drawn = draw_labels(texts, task, n, min_words, max_words, group, labels, "subset", seed)
    return human_generations(drawn, drawn["text"].map(count_words))


def human_generations(texts: pd.DataFrame, tokens: int | Sequence[int] | pd.Series[Any]) -> pd.DataFrame:
    """Return texts that humans wrote as the generations of a cell: each is the answer to itself.

    Args:
        texts: ``id``, ``text``.
        tokens: Of each text, or of all.

    Returns:
        ``id``, ``prompt_id``, ``text``, ``tokens``, ``finish``.
    """
    frame = texts[["id", "text"]].assign(prompt_id=texts["id"], tokens=tokens, finish="human")
    return frame[["id", "prompt_id", "text", "tokens", "finish"]]


def draw_continuation_prompts(
    texts: pd.DataFrame, task: str, n: int, min_words: int, prompt_words: int
) -> pd.DataFrame:
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
    return _table(ids, (continuation_prompt(text, prompt_words) for text in texts.loc[ids, "text"]))


def draw_continuation_references(
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
        raise DataError(f"task {task!r}: the dataset has no column {group!r}; {known}")
    texts = _long_enough(texts, min_words)
    ids = []
    for position, label in enumerate(labels):
        of_label = texts.index[texts[group] == label]
        if of_label.empty:
            known = nearest(label, map(str, texts[group].dropna().unique()))
            raise DataError(f"task {task!r}: no text has the {group} {label!r}; {known}")
        halves = shuffled(of_label, task, "halves")
        half = halves[0::2] if role == "references" else halves[1::2]
        share = n // len(labels) + (position < n % len(labels))
        what = f"task {task!r}: texts of {group} {label!r} in the half for the {role}"
        ids += take(shuffled(half, task, role, seed), share, what)
    return _cut(texts, shuffled(ids, task, role, seed, "mixed"), max_words)


def draw_biography_prompts(
    people: pd.DataFrame, task: str, dataset: str, n: int, examples: int, draws: Sequence[int]
) -> pd.DataFrame:
    """Make the prompts of a biography task: in-context examples of persons that no draw of references has.

    The draws are keyed by the dataset: tasks with the same n and draws, but other numbers of examples, have
    the same references, and the examples of one are the first ones of another.

    Args:
        people: The dataset (``id``, ``name``, ``text``).
        task: The task's slug, for messages.
        dataset: The dataset's slug.
        n: Prompts.
        examples: Examples a prompt.
        draws: The task's draws of references.

    Returns:
        n rows; ``id`` is ``sample-0001`` and so on.

    Raises:
        TextgamutError: There are too few persons for the references, or none but they are left.
    """
    used: set[str] = set()
    for draw in draws:
        used |= set(_persons(people, task, dataset, n, draw))
    left = len(people) - len(used)
    if left < examples:
        raise DataError(
            f"task {task!r}: {len(draws)} draws of {n} references take {len(used)} of {len(people)} persons "
            f"and leave {left}, too few for {examples} examples a prompt: lower n, or give fewer draws"
        )
    drawn = draw_examples(people, dataset, n, examples, PROMPT_SEED, avoid=used)
    pairs = list(zip(drawn["name"], drawn["summary"], strict=True))
    prompts = (biographies_prompt(pairs[i : i + examples]) for i in range(0, len(pairs), examples))
    return _table(_samples(n), prompts)


def draw_biography_references(
    people: pd.DataFrame, task: str, dataset: str, n: int, max_words: int, draw: int
) -> pd.DataFrame:
    """Draw one set of references of a biography task, cut to the task's length.

    Returns:
        n rows: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: There are too few persons.
    """
    by_id = people.set_index("id", drop=False)
    return _cut(by_id, _persons(people, task, dataset, n, draw), max_words)


def draw_examples(
    people: pd.DataFrame, key: str, samples: int, n: int, seed: int, avoid: Collection[str] = ()
) -> pd.DataFrame:
    """Draw the in-context examples of each sample of a biography task (PR section 5.3, appendix B.5).

    Every model is shown the same persons: they depend on the key, the seed and the sample alone. A person
    stands at most once in a prompt, and the examples for a smaller n are the first ones for a larger.

    Args:
        people: Biographies (``id``, ``name``, ``text``).
        key: Whose draw it is: another key gives other persons.
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
    take(list(left.index), n, f"{key!r}: persons that are no references, as examples")
    keys = np.array([hashed(2**64, key, "examples", id_) for id_ in left.index], dtype=np.uint64)
    salts = (hashed(2**64, key, "samples", seed, sample) for sample in range(samples))
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
            "name": [cut_words(name, BIOGRAPHY_NAME_WORDS) for name in names],
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


def draw_creative_prompts(task: str, n: int) -> pd.DataFrame:
    """Draw the prompts of a creative task.

    Args:
        task: The task's slug: another task draws other prompts.
        n: How many.

    Returns:
        n rows; ``id`` is ``sample-0001`` and so on, since a creative prompt may stand in several.
    """
    drawn = draw_creative(task, n, PROMPT_SEED)
    return _table(_samples(n), (creative_prompt(CREATIVE[position]) for position in drawn))


def draw_given_prompts(texts: pd.DataFrame, task: str, n: int | None) -> pd.DataFrame:
    """Draw prompts that the dataset gives (NW section 5, MC section 3).

    Args:
        texts: The dataset (``id``, ``prompt``).
        task: The task's slug.
        n: How many; None: all, in the dataset's order.

    Returns:
        The prompts; ``id`` is the dataset's.

    Raises:
        TextgamutError: There are fewer than n.
    """
    ids = _given(texts, task, n)
    return _table(ids, map(given_prompt, texts.set_index("id").loc[ids, "prompt"]))


def draw_given_references(
    texts: pd.DataFrame, task: str, n: int | None, max_words: int | None
) -> pd.DataFrame:
    """Return the dataset's texts after the prompts of a task, in the prompts' order.

    Args:
        texts: The dataset (``id``, ``text``).
        task: The task's slug.
        n: As for the prompts.
        max_words: Longer texts are cut; None: none is.

    Returns:
        ``id``, ``text`` and the dataset's other columns.
    """
    chosen = texts.set_index("id", drop=False).loc[_given(texts, task, n)].reset_index(drop=True)
    return chosen.assign(text=[cut_continuation(text, max_words) for text in chosen["text"]])


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


def _persons(people: pd.DataFrame, task: str, dataset: str, n: int, draw: int) -> list[str]:
    return take(
        shuffled(people["id"], dataset, "references", draw), n, f"task {task!r}: persons as references"
    )


def _given(texts: pd.DataFrame, task: str, n: int | None) -> list[str]:
    if n is None:
        return list(texts["id"])
    return take(shuffled(texts["id"], task, "prompts"), n, f"task {task!r}: prompts of the dataset")


def _samples(n: int) -> list[str]:
    return [f"sample-{i:04}" for i in range(1, n + 1)]


def _table(ids: Iterable[str], prompts: Iterable[Prompt]) -> pd.DataFrame:
    import pandas as pd

    rows = [(id_, *prompt) for id_, prompt in zip(ids, prompts, strict=True)]
    return pd.DataFrame(rows, columns=["id", *Prompt._fields])
