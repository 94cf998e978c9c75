"""Draw the prompts, references and subsets of a task from the texts of a dataset.

Each draw depends only on the task's name, the seeds and the ids (see ``draws.shuffled``). Unless a task's
settings say otherwise, prompts and references are disjoint for any seeds; references and the subsets that
simulate models always are. Tables of prompts have the columns ``id``, ``base``, ``user``, ``start`` for all
kinds of tasks, and ``seed`` if each generation seed has its own prompts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from textgamut.datasets.creative import CREATIVE
from textgamut.draws import draw_prompt_ids, hashed, shuffled, take
from textgamut.errors import DataError, nearest
from textgamut.language import language_in, with_language, words_end_of
from textgamut.tasks.templates import (
    BIOGRAPHY_NAME_WORDS,
    Prompt,
    biographies_prompt,
    continuation_prompt,
    creative_prompt,
    dataset_prompt,
)
from textgamut.text import WordsEnd, count_words, cut_continuation, cut_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

REVISION = 1
"""Increase when a draw returns different texts from the same dataset."""

EXAMPLE_WORDS = 350
"""Maximum length of an in-context example in words (PR appendix B.5, the authors' code)."""

PROMPT_SEED = 0
"""Seed of the in-context examples and of the creative prompts that all generation seeds share."""

DATASET_COLUMNS = {
    "continuation": ["id", "text"],
    "biographies": ["id", "name", "text"],
    "creative": [],
    "unprompted": [],
    "prompted": ["id", "prompt"],
}
"""Kind of task -> columns of the dataset that its prompts are drawn from."""


def draw_prompts(texts: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Draw the prompts of a task.

    Args:
        texts: The dataset, with the columns of ``DATASET_COLUMNS``.
        settings: ``kind``, ``task``, ``n``, the other arguments of the function for that kind, and ``seeds``
            if each generation seed has its own prompts.

    Returns:
        One row per prompt: ``id``, ``base``, ``user``, ``start``; with ``seeds``, also ``seed``.

    Raises:
        TextgamutError: See the function for each kind.
    """
    if "seeds" not in settings:
        return with_language(_draw_prompts(texts, settings, None), language_in(texts))
    import pandas as pd

    drawn = [_draw_prompts(texts, settings, seed).assign(seed=seed) for seed in settings["seeds"]]
    return with_language(pd.concat(drawn, ignore_index=True), language_in(texts))


def _draw_prompts(texts: pd.DataFrame, settings: Mapping[str, Any], seed: int | None) -> pd.DataFrame:
    task, n, end = settings["task"], settings["n"], words_end_of(texts, settings.get("words_end"))
    match settings["kind"]:
        case "continuation":
            min_words, words = (settings[name] for name in ("min_words", "prompt_words"))
            disjoint = settings["references_from"] == "other-texts"
            return draw_continuation_prompts(texts, task, n, min_words, words, disjoint, seed, end)
        case "biographies":
            dataset, examples, draws = (settings[name] for name in ("dataset", "examples", "draws"))
            replacement = settings["examples_drawn"] == "with-replacement"
            return draw_biography_prompts(texts, task, dataset, n, examples, draws, replacement, seed, end)
        case "creative":
            return draw_creative_prompts(task, n, seed)
        case "unprompted":
            return _table(_samples(n), [Prompt("", "", "")] * n)
        case "prompted":
            return draw_dataset_prompts(texts, task, n)
    raise ValueError(f"task {task!r}: no prompts are drawn for the kind {settings['kind']!r}")


def draw_references(texts: pd.DataFrame, settings: Mapping[str, Any], draw: int) -> pd.DataFrame:
    """Draw one set of references of a task.

    Args:
        texts: The dataset (``id``, ``text``, group columns) or, for a creative task, the texts of a cell.
        settings: ``kind``, ``task``, ``n``, ``max_words``, and the other arguments of the function for that
            kind.
        draw: Seed of this draw.

    Returns:
        One row per reference: ``id``, ``text`` and, except for creative tasks, the dataset's other columns.

    Raises:
        TextgamutError: See the function for each kind.
    """
    return with_language(_draw_references(texts, settings, draw), language_in(texts))


def _draw_references(texts: pd.DataFrame, settings: Mapping[str, Any], draw: int) -> pd.DataFrame:
    task, n, max_words = settings["task"], settings["n"], settings["max_words"]
    end = words_end_of(texts, settings.get("words_end"))
    match settings["kind"]:
        case "subsets":
            group, labels = settings["group"], settings["references"]
            return draw_labels(
                texts, task, n, settings["min_words"], max_words, group, labels, "references", draw, end
            )
        case "continuation":
            disjoint = settings["references_from"] == "other-texts"
            per_seed = settings["prompts"] == "per-seed"
            return draw_continuation_references(
                texts, task, n, settings["min_words"], max_words, draw, disjoint, per_seed, end
            )
        case "biographies":
            return draw_biography_references(texts, task, settings["dataset"], n, max_words, draw, end)
        case "unprompted":
            return draw_continuation_references(
                texts, task, n, settings["min_words"], max_words, draw, False, words_end=end
            )
        case "creative":
            return texts[["id", "text"]]
        case "prompted":
            return draw_dataset_references(texts, task, n, max_words, end)
    raise ValueError(f"task {task!r}: no references are drawn for the kind {settings['kind']!r}")


def draw_subset(texts: pd.DataFrame, settings: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Draw a subset of labelled texts that simulates a model.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        settings: Arguments of :func:`draw_labels`: ``task``, ``n``, ``min_words``, ``max_words``, ``group``,
            ``labels``.
        seed: Seed of this draw.

    Returns:
        The table of :func:`human_generations`, with the number of words as ``tokens``.

    Raises:
        TextgamutError: See :func:`draw_labels`.
    """
    task, n, min_words, max_words, group, labels = (
        settings[name] for name in ("task", "n", "min_words", "max_words", "group", "labels")
    )
    end = words_end_of(texts, settings.get("words_end"))
    drawn = draw_labels(texts, task, n, min_words, max_words, group, labels, "subset", seed, end)
    tokens = [count_words(text, end) for text in drawn["text"]]
    return with_language(human_generations(drawn, tokens), language_in(texts))


def draw_held_out(texts: pd.DataFrame, settings: Mapping[str, Any]) -> pd.DataFrame:
    """Draw human texts that are in no draw of references, as many as a draw has.

    Args:
        texts: The dataset (``id``, ``text``).
        settings: Arguments of :func:`draw_references`, and ``draws``.

    Returns:
        The table of :func:`human_generations`; without rows if too few texts are left.
    """
    task, kind, max_words = (settings[name] for name in ("task", "kind", "max_words"))
    end = words_end_of(texts, settings.get("words_end"))
    draws = [list(draw_references(texts, settings, draw)["id"]) for draw in settings["draws"]]
    n, used = len(draws[0]), {id_ for of_draw in draws for id_ in of_draw}
    pool = texts.set_index("id", drop=False)
    if kind in ("continuation", "unprompted"):
        pool = _long_enough(texts, settings["min_words"], end)
    left = set(pool.index)
    if kind == "continuation":
        disjoint, per_seed = (
            settings["references_from"] == "other-texts",
            settings["prompts"] == "per-seed",
        )
        left = set(_pools(pool, task, n, disjoint, per_seed)[1])
    drawn = shuffled(left - used, task, "held out")[:n]
    if len(drawn) < n:
        drawn = []
    if kind == "prompted":  # continuations keep their leading spaces, as references do
        chosen = pool.loc[drawn].reset_index(drop=True)
        chosen = chosen.assign(text=[cut_continuation(text, max_words, end) for text in chosen["text"]])
    else:
        chosen = _cut(pool, drawn, max_words, end)
    return with_language(human_generations(chosen, tokens=0), language_in(texts))


def human_generations(texts: pd.DataFrame, tokens: int | Sequence[int] | pd.Series[Any]) -> pd.DataFrame:
    """Return human texts in the format of generations, with their own id as ``prompt_id``.

    Args:
        texts: ``id``, ``text``.
        tokens: Number of tokens of each text, or one number for all.

    Returns:
        ``id``, ``prompt_id``, ``text``, ``tokens``, ``finish``.
    """
    frame = texts[["id", "text"]].assign(prompt_id=texts["id"], tokens=tokens, finish="human")
    return frame[["id", "prompt_id", "text", "tokens", "finish"]]


def draw_continuation_prompts(
    texts: pd.DataFrame,
    task: str,
    n: int,
    min_words: int,
    prompt_words: int,
    disjoint: bool = True,
    seed: int | None = None,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Draw human texts and use their beginnings as prompts (PR appendix B.4).

    Args:
        texts: The dataset (``id``, ``text``).
        task: Slug of the task, part of the key of the draw.
        n: Number of prompts.
        min_words: Shorter texts are excluded.
        prompt_words: Number of words from each text in its prompt.
        disjoint: Whether the references come from other texts.
        seed: Generation seed; None for the prompts that all seeds share.
        words_end: Where words end.

    Returns:
        n rows: ``id`` of the text, and the variants ``base``, ``user``, ``start`` of the prompt.

    Raises:
        TextgamutError: If there are fewer than 2 n texts, n for the prompts and n for the references; or, if
            they may be the same, fewer than n.
    """
    texts = _long_enough(texts, min_words, words_end)
    take(
        list(texts.index),
        2 * n if disjoint else n,
        f"task {task!r}: texts of {min_words} words or more, for prompts and references",
    )
    pool, _ = _pools(texts, task, n, disjoint, seed is not None)
    ids = shuffled(pool, task, "prompts", *([] if seed is None else [seed]))[:n]
    chosen = texts.loc[ids, "text"]
    return _table(ids, (continuation_prompt(text, prompt_words, words_end) for text in chosen))


def draw_continuation_references(
    texts: pd.DataFrame,
    task: str,
    n: int,
    min_words: int,
    max_words: int | None,
    draw: int,
    disjoint: bool = True,
    prompts_per_seed: bool = False,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Draw one set of references, cut to the task's length.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        task: Slug of the task.
        n: Number of references and of prompts.
        min_words: Shorter texts are excluded.
        max_words: Longer texts are cut; if None, texts are not cut.
        draw: Seed of this draw.
        disjoint: Whether to exclude the texts of the prompts.
        prompts_per_seed: Whether each generation seed has its own prompts.
        words_end: Where words end.

    Returns:
        n rows: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: If there are too few texts.
    """
    texts = _long_enough(texts, min_words, words_end)
    _, pool = _pools(texts, task, n, disjoint, prompts_per_seed)
    what = f"task {task!r}: texts of {min_words} words or more that remain for the references"
    return _cut(texts, take(shuffled(pool, task, "references", draw), n, what), max_words, words_end)


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
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Draw texts with the given labels in equal shares (PR section 5.2).

    One half of each label's texts is reserved for the references, the other for the subsets that simulate
    models.

    Args:
        texts: The dataset (``id``, ``text``, group columns).
        task: Slug of the task.
        n: Number of texts; if the number of labels does not divide n, the first labels have one text more.
        min_words: Shorter texts are excluded.
        max_words: Longer texts are cut.
        group: Column of the labels.
        labels: Labels to draw.
        role: Which half to draw from.
        seed: Seed of this draw.
        words_end: Where words end.

    Returns:
        n rows in shuffled order: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: If the column or a label does not exist, or a label has too few texts.
    """
    if group not in texts:
        known = nearest(group, map(str, texts.columns))
        raise DataError(f"task {task!r}: the dataset has no column {group!r}; {known}")
    texts = _long_enough(texts, min_words, words_end)
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
    return _cut(texts, shuffled(ids, task, role, seed, "mixed"), max_words, words_end)


def draw_biography_prompts(
    people: pd.DataFrame,
    task: str,
    dataset: str,
    n: int,
    examples: int,
    draws: Sequence[int],
    replacement: bool = False,
    seed: int | None = None,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Create the prompts of a biography task, with in-context examples that are in no draw of references.

    The draws are keyed by the dataset: tasks with the same n and draws, but different numbers of examples,
    share the references, and their examples begin with the same people.

    Args:
        people: The dataset (``id``, ``name``, ``text``).
        task: Slug of the task, for error messages.
        dataset: Slug of the dataset.
        n: Number of prompts.
        examples: Number of examples per prompt.
        draws: Draws of references of the task.
        replacement: Whether to draw examples with replacement, and also from the references.
        seed: Generation seed; None for the prompts that all seeds share.
        words_end: Where words end.

    Returns:
        n rows; ``id`` is ``sample-0001`` and so on.

    Raises:
        TextgamutError: If there are too few people for the references, or too few remain for the examples.
    """
    used: set[str] = set()
    for draw in () if replacement else draws:
        used |= set(_persons(people, task, dataset, n, draw))
    left = len(people) - len(used)
    if left < examples and not replacement:
        raise DataError(
            f"task {task!r}: {len(draws)} draws of {n} references use {len(used)} of {len(people)} people "
            f"and leave {left}, too few for {examples} examples per prompt: lower n, or use fewer draws"
        )
    drawn = draw_examples(
        people, dataset, n, examples, PROMPT_SEED if seed is None else seed, used, replacement, words_end
    )
    pairs = list(zip(drawn["name"], drawn["summary"], strict=True))
    prompts = (biographies_prompt(pairs[i : i + examples]) for i in range(0, len(pairs), examples))
    return _table(_samples(n), prompts)


def draw_biography_references(
    people: pd.DataFrame,
    task: str,
    dataset: str,
    n: int,
    max_words: int,
    draw: int,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Draw one set of references of a biography task, cut to the task's length.

    Returns:
        n rows: ``id``, ``text`` and the dataset's other columns.

    Raises:
        TextgamutError: If there are too few people.
    """
    by_id = people.set_index("id", drop=False)
    return _cut(by_id, _persons(people, task, dataset, n, draw), max_words, words_end)


def draw_examples(
    people: pd.DataFrame,
    key: str,
    samples: int,
    n: int,
    seed: int,
    avoid: Collection[str] = (),
    replacement: bool = False,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Draw the in-context examples of each sample of a biography task (PR section 5.3, appendix B.5).

    All models have the same examples: they depend only on the key, the seed and the sample. Those for a
    smaller n are the first ones for a larger n. Unless drawn with replacement, nobody is in a prompt twice.

    Args:
        people: Biographies (``id``, ``name``, ``text``).
        key: Key of the draw.
        samples: Number of prompts.
        n: Number of examples per prompt, 1 to 15 in the paper.
        seed: Seed of the draw.
        avoid: Ids to exclude, such as those of the references.
        replacement: Whether to draw with replacement.
        words_end: Where words end.

    Returns:
        samples x n rows: ``sample`` and ``position`` (both from 0), ``id`` of the person, ``name`` cut to 10
        words and ``summary`` cut to 350 words, as in the paper.

    Raises:
        TextgamutError: If there are fewer than n people to draw from.
    """
    import numpy as np
    import pandas as pd

    left = people[~people["id"].isin(set(avoid))].set_index("id").sort_index()
    take(list(left.index), 1 if replacement else n, f"{key!r}: people outside the references, as examples")
    if replacement:
        ids = [
            left.index[hashed(len(left), key, "replacement", seed, sample, position)]
            for sample in range(samples)
            for position in range(n)
        ]
    else:
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
            "name": [cut_words(name, BIOGRAPHY_NAME_WORDS, words_end) for name in names],
            "summary": [cut_words(summary, EXAMPLE_WORDS, words_end) for summary in summaries],
        }
    )


def draw_creative(task: str, samples: int, seed: int) -> list[int]:
    """Draw creative prompts with replacement (PR section 5.1), as positions in ``creative.CREATIVE``.

    Args:
        task: Slug of the task.
        samples: Number of prompts; a larger number extends the same draw.
        seed: Seed of this draw.
    """
    return [hashed(len(CREATIVE), task, "creative", seed, sample) for sample in range(samples)]


def draw_creative_prompts(task: str, n: int, seed: int | None = None) -> pd.DataFrame:
    """Draw the prompts of a creative task.

    Args:
        task: Slug of the task, part of the key of the draw.
        n: Number of prompts.
        seed: Generation seed; None for the prompts that all seeds share.

    Returns:
        n rows; ``id`` is ``sample-0001`` and so on, since prompts may repeat.
    """
    drawn = draw_creative(task, n, PROMPT_SEED if seed is None else seed)
    return _table(_samples(n), (creative_prompt(CREATIVE[position]) for position in drawn))


def draw_dataset_prompts(texts: pd.DataFrame, task: str, n: int | None) -> pd.DataFrame:
    """Draw prompts from the dataset (NW section 5, MC section 3).

    Args:
        texts: The dataset (``id``, ``prompt``).
        task: Slug of the task.
        n: Number of prompts; if None, all in the dataset's order.

    Returns:
        The prompts, with the dataset's ``id``.

    Raises:
        TextgamutError: If there are fewer than n prompts.
    """
    ids = draw_prompt_ids(texts["id"], task, n)
    return _table(ids, map(dataset_prompt, texts.set_index("id").loc[ids, "prompt"]))


def draw_dataset_references(
    texts: pd.DataFrame,
    task: str,
    n: int | None,
    max_words: int | None,
    words_end: WordsEnd = "at-white-space",
) -> pd.DataFrame:
    """Return the dataset's human continuations of a task's prompts, in the order of the prompts.

    Args:
        texts: The dataset (``id``, ``text``).
        task: Slug of the task.
        n: Number of prompts, see :func:`draw_dataset_prompts`.
        max_words: Longer texts are cut; if None, texts are not cut.
        words_end: Where words end.

    Returns:
        ``id``, ``text`` and the dataset's other columns.
    """
    ids = draw_prompt_ids(texts["id"], task, n)
    chosen = texts.set_index("id", drop=False).loc[ids].reset_index(drop=True)
    return chosen.assign(text=[cut_continuation(text, max_words, words_end) for text in chosen["text"]])


def draw_training_texts(
    texts: pd.DataFrame,
    ids: Collection[str],
    prompts: Collection[str],
    model: str,
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """Draw the texts that a model is fine-tuned on, from those that no task uses.

    Args:
        texts: The dataset (``id``, ``prompt``, ``text``).
        ids: Ids of the texts that tasks use as prompts or references.
        prompts: Prompts of tasks with other datasets, which may contain the same texts.
        model: Slug of the model, for the error message.
        settings: ``dataset``, ``n``, ``seed``. Models with the same ones are fine-tuned on the same texts.

    Returns:
        n rows of the dataset: ``id``, ``prompt``, ``text``.

    Raises:
        TextgamutError: If fewer texts are left.
    """
    used = texts["id"].isin(set(ids)) | texts["prompt"].isin(set(prompts))
    left = texts[~used].set_index("id", drop=False)
    dataset, seed = settings["dataset"], settings["seed"]
    what = f"model {model!r}: texts of the dataset {dataset!r} that no task uses, to fine-tune it on"
    drawn = take(shuffled(left.index, dataset, "training", seed), settings["n"], what)
    return left.loc[drawn, ["id", "prompt", "text"]].reset_index(drop=True)


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each key: the finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    import numpy as np

    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def _pools(
    texts: pd.DataFrame, task: str, n: int, disjoint: bool, prompts_per_seed: bool
) -> tuple[Iterable[str], Iterable[str]]:
    """Return the ids of the texts that prompts are drawn from, and those that references are drawn from.

    If seeds share their prompts, all other texts are for the references. If each has its own, one half is for
    the prompts of all seeds.
    """
    if not disjoint:
        return texts.index, texts.index
    if prompts_per_seed:
        halves = shuffled(texts.index, task, "halves")
        return halves[0::2], halves[1::2]
    prompts = shuffled(texts.index, task, "prompts")[:n]
    return prompts, set(texts.index) - set(prompts)


def _long_enough(texts: pd.DataFrame, min_words: int, end: WordsEnd = "at-white-space") -> pd.DataFrame:
    long = [count_words(text, end) >= min_words for text in texts["text"]]
    return texts[long].set_index("id", drop=False)


def _cut(
    texts: pd.DataFrame, ids: list[str], max_words: int | None, end: WordsEnd = "at-white-space"
) -> pd.DataFrame:
    chosen = texts.loc[ids].reset_index(drop=True)
    if max_words is None:
        return chosen
    return chosen.assign(text=[cut_words(text, max_words, end) for text in chosen["text"]])


def _persons(people: pd.DataFrame, task: str, dataset: str, n: int, draw: int) -> list[str]:
    return take(
        shuffled(people["id"], dataset, "references", draw), n, f"task {task!r}: people as references"
    )


def _samples(n: int) -> list[str]:
    return [f"sample-{i:04}" for i in range(1, n + 1)]


def _table(ids: Iterable[str], prompts: Iterable[Prompt]) -> pd.DataFrame:
    import pandas as pd

    rows = [(id_, *prompt) for id_, prompt in zip(ids, prompts, strict=True)]
    return pd.DataFrame(rows, columns=["id", *Prompt._fields])
