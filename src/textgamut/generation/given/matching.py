"""Find the prompt of each text that was generated elsewhere, and make the samples of a cell from them."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from textgamut.errors import DataError, nearest
from textgamut.generation.given.echo import echo_length, echoes_later
from textgamut.generation.given.given_text import GivenText
from textgamut.generation.requests import Sample
from textgamut.language import words_end_of
from textgamut.tasks.templates import Prompt, prompts_of
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("none", "nan", "null", "<na>", "n/a", "undefined")
"""What programs write for a missing value, in any case."""
UNKNOWN = "unknown"
"""Reason for the end of a text, if the file does not say it."""


class CellTexts(NamedTuple):
    """Which texts of a file belong to a cell."""

    task: str
    model: str | None
    """Name of the model in the file; None for a file with the texts of one model."""
    decoding: str
    decodings: Sequence[str]
    """All decoding settings of the model in the task that the file is for."""
    seed: int
    seeds: Sequence[int]
    """All seeds of the model in the task that the file is for."""
    completions: int
    """Number of samples per prompt."""
    own_prompts: bool = False
    """Whether each seed has its own prompts."""


def cell_samples(
    texts: Iterable[GivenText],
    cell: CellTexts,
    prompts: pd.DataFrame,
    others: pd.DataFrame,
    with_prompt: Literal["auto", "always", "never"] = "auto",
) -> list[Sample]:
    """Make the samples of a cell from texts that were generated elsewhere.

    A text belongs to the prompt with its ``prompt_id`` or, if there is none, to the one with its prompt's
    text, in any variant. Equal prompts share their texts evenly, in order; texts without either belong to the
    prompts of a task in which all are equal. The completions of a prompt are numbered by ``completion``, or
    else in order; without seeds in the file, the seeds share them in order.

    Args:
        texts: The texts of all files of the cell.
        cell: The cell.
        prompts: Prompts of the cell: ``id``, ``base``, ``user``, ``start``.
        others: Prompts of the task that may be in the file too, but not in the cell.
        with_prompt: Whether the texts begin with their prompts, see ``GenerationsSource``.

    Returns:
        The samples, in the order of the prompts and their completions. ``tokens`` is the number of words if
        the file does not say it.

    Raises:
        TextgamutError: If a prompt has too few texts, two texts are the same completion, or model, decoding,
            seed or prompt of a text are not clear. The message names the file and the line.

    Warns:
        UserWarning: For everything that was left out, renumbered or removed.
    """
    given = list(texts)
    if all(text.text is None for text in given):
        raise DataError(f"{_file(given)}: {_failures(given)}")
    given = _of_model(given, cell.model)
    given = _selected(given, "task", cell.task, [cell.task])
    given = _selected(given, "decoding", cell.decoding, cell.decodings)
    given, parts = _of_seed(given, cell)
    found = _by_prompt(given, prompts, others)
    part = list(cell.seeds).index(cell.seed) if parts > 1 else 0
    start, end = part * cell.completions, (part + 1) * cell.completions
    chosen = {id_: of_prompt[start:end] for id_, of_prompt in found.items()}
    if short := [id_ for id_, of_prompt in chosen.items() if len(of_prompt) < cell.completions]:
        raise DataError(_too_few(short, found[short[0]], parts * cell.completions, given))
    extra = sum(max(0, len(of_prompt) - parts * cell.completions) for of_prompt in found.values())
    if extra:
        _tell(f"{extra} texts are left out: the task has {cell.completions} for each prompt and seed")
    _tell_unusual(given, [text for of_prompt in chosen.values() for text in of_prompt])
    by_id = prompts_of(prompts)
    pairs = [(id_, text) for id_, of_prompt in chosen.items() for text in of_prompt]
    continuations = _without_prompts([(by_id[id_], text) for id_, text in pairs], with_prompt)
    counts: Counter[str] = Counter()
    words_end = words_end_of(prompts)
    samples = []
    for (id_, text), continuation in zip(pairs, continuations, strict=True):
        samples.append(
            Sample(
                prompt_id=id_,
                completion=counts[id_],
                continuation=continuation,
                tokens=count_words(continuation, words_end) if text.tokens is None else text.tokens,
                finish=text.finish or UNKNOWN,
                log_likelihood=None,
                scored_tokens=0,
            )
        )
        counts[id_] += 1
    return samples


def _tell(message: str) -> None:
    warnings.warn(message, stacklevel=3)


def _values(texts: Sequence[GivenText], name: str) -> list[Any]:
    """Return the values of a field that all texts have, or none; [] for none. Failed ones do not count.

    Raises:
        DataError: If only some have it.
    """
    answered = [text for text in texts if text.text is not None]
    values = dict.fromkeys(getattr(text, name) for text in answered)
    if None in values and len(values) > 1:
        first = next(text for text in answered if getattr(text, name) is None)
        raise DataError(f"{first.where}: no {name}, which other texts have")
    return [value for value in values if value is not None]


def _of_model(texts: list[GivenText], model: str | None) -> list[GivenText]:
    values = _values(texts, "model")
    if model is None:
        if len(values) > 1:
            raise DataError(
                f"{texts[0].where}: the texts are of {len(values)} models, {', '.join(map(repr, values[:5]))}"
                f"{', ...' if len(values) > 5 else ''}: name one of them as source.model"
            )
        return texts
    if model not in values:
        known = nearest(model, values) if values else "no text has the name of its model"
        raise DataError(f"{texts[0].where}: no text of the model {model!r}; {known}")
    _tell_others("model", values, [model])
    return _with_value(texts, "model", model)


def _selected(texts: list[GivenText], name: str, value: str, expected: Collection[str]) -> list[GivenText]:
    """Return the texts with a value of a field; all if the file does not tell them apart."""
    values = _values(texts, name)
    if not values:
        if len(expected) > 1:
            raise DataError(
                f"{texts[0].where}: no {name}, but the model has the {name}s {', '.join(expected)} in the "
                f"task: add a column, or a file for each with {{{name}}} in the path"
            )
        return texts
    if value not in values and len(values) == len(expected) == 1:
        _tell(f"the {name} {values[0]!r} of the file is read as {value!r}")
        return texts
    if value not in values:
        raise DataError(f"{texts[0].where}: no text with the {name} {value!r}; {nearest(value, values)}")
    _tell_others(name, values, expected)
    return _with_value(texts, name, value)


def _with_value(texts: Sequence[GivenText], name: str, value: Any) -> list[GivenText]:
    """Return the texts with a value of a field, and the failed ones without any."""
    kept = {None, value}
    return [t for t in texts if getattr(t, name) == value or (t.text is None and getattr(t, name) in kept)]


def _tell_others(name: str, values: Sequence[Any], expected: Collection[Any]) -> None:
    if left := [value for value in values if value not in expected]:
        _tell(f"texts of other {name}s are left out: {_listed(left)}")


def _of_seed(texts: list[GivenText], cell: CellTexts) -> tuple[list[GivenText], int]:
    """Return the texts of a seed, and how many seeds share them."""
    seed, seeds = cell.seed, cell.seeds
    values = sorted(_values(texts, "seed"))
    if not values:
        if len(seeds) > 1 and cell.own_prompts:
            raise DataError(
                f"{texts[0].where}: no seed, but each seed of the task has its own prompts: add a column, or "
                "a file for each with {seed} in the path"
            )
        if len(seeds) > 1:
            _tell(f"the file has no seeds: seeds {_listed(seeds)} share the texts of each prompt in order")
        return texts, len(seeds)
    wanted = seed
    if seed not in values or not set(seeds) <= set(values):
        if not set(values).isdisjoint(seeds) or len(values) < len(seeds):
            raise DataError(
                f"{texts[0].where}: the task has the seeds {_listed(seeds)}, but the file {_listed(values)}"
            )
        _tell(f"seeds {_listed(values[: len(seeds)])} of the file are read as {_listed(seeds)}")
        wanted = values[list(seeds).index(seed)]
    else:
        _tell_others("seed", values, seeds)
    return _with_value(texts, "seed", wanted), 1


LISTED = 10


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values[:LISTED])) + (", ..." if len(values) > LISTED else "")


def _by_prompt(
    texts: Sequence[GivenText], prompts: pd.DataFrame, others: pd.DataFrame
) -> dict[str, list[GivenText]]:
    """Return the texts of each prompt of a cell, in the order of their completions."""
    own = prompts_of(prompts)
    same: dict[str, tuple[str, ...]] = {}  # each variant of a prompt's text -> the prompts with it
    for id_, prompt in own.items():
        for variant in _variants(prompt):
            same[variant] = (*same.get(variant, ()), id_)
    known = set(others["id"]) | {
        variant for each in prompts_of(others).values() for variant in _variants(each)
    }
    alone = tuple(own) if len({prompt.base for prompt in own.values()}) == 1 else ()
    groups: dict[tuple[str, ...], list[GivenText]] = defaultdict(list)
    left_out: list[GivenText] = []
    unknown: list[GivenText] = []
    for text in texts:
        names = [name for name in (text.prompt_id, *text.prompts) if name is not None]
        if text.prompt_id in own:
            groups[text.prompt_id,].append(text)
        elif ids := next((same[_bare(name)] for name in text.prompts if _bare(name) in same), None):
            groups[ids].append(text)
        elif not names:
            if not alone:
                raise DataError(f"{text.where}: neither the id nor the text of its prompt is given")
            groups[alone].append(text)
        elif known.isdisjoint([*names, *map(_bare, names)]):
            unknown.append(text)
        else:
            left_out.append(text)
    _tell_unknown(unknown, left_out, len(texts), own)
    found: dict[str, list[GivenText]] = {id_: [] for id_ in own}
    for ids, of_group in groups.items():
        answered = [text for text in of_group if text.text is not None]
        numbered = all(text.completion is not None for text in answered)
        (_share_numbered if numbered else _share)(ids, answered, found)
    return found


def _variants(prompt: Prompt) -> set[str]:
    return {_bare(text) for text in (prompt.base, prompt.user, prompt.user + prompt.start)}


def _bare(prompt: str) -> str:
    """Return what is compared of a prompt: programs differ in the white space around it."""
    return prompt.strip()


def _tell_unknown(
    unknown: Sequence[GivenText], left_out: Sequence[GivenText], count: int, own: Collection[str]
) -> None:
    if unknown:
        first = unknown[0]
        name = first.prompt_id if first.prompt_id is not None else first.prompts[0]
        told = f"{first.where}: {len(unknown)} of {count} texts have a prompt that the task does not have, "
        told += f"such as {name[:80]!r}"
        if len(unknown) == count:
            hint = f"; {nearest(name, own)}" if first.prompt_id is not None else ""
            raise DataError(told + hint)
        _tell(f"{told}: they are left out")
    if left_out:
        _tell(f"{len(left_out)} of {count} texts are left out: their prompts are those of other cells")


def _share(ids: tuple[str, ...], texts: Sequence[GivenText], found: dict[str, list[GivenText]]) -> None:
    """Share the texts of equal prompts among these, evenly and in order."""
    each = len(texts) // len(ids)
    for place, id_ in enumerate(ids):
        end = (place + 1) * each if place + 1 < len(ids) else None
        found[id_] += texts[place * each : end]


def _share_numbered(
    ids: tuple[str, ...], texts: Sequence[GivenText], found: dict[str, list[GivenText]]
) -> None:
    """Share the texts of equal prompts among these, so that each prompt has each completion once.

    Raises:
        DataError: If a completion has more texts than there are prompts.
    """
    by_number: dict[int, list[GivenText]] = defaultdict(list)
    for text in texts:
        assert text.completion is not None
        by_number[text.completion].append(text)
    for number in sorted(by_number):
        same = by_number[number]
        if len(same) > len(ids):
            raise DataError(
                f"{same[len(ids)].where}: a second text of completion {number} of the prompt {ids[0]!r}; the "
                f"first is {same[0].where}"
            )
        for id_, text in zip(ids, same, strict=False):
            found[id_].append(text)


def _too_few(
    short: Sequence[str], texts: Sequence[GivenText], needed: int, given: Sequence[GivenText]
) -> str:
    message = f"{_file(given)}: {len(short)} prompts have too few texts, such as {short[0]!r}: "
    message += f"{len(texts)} of {needed}"
    return f"{message}; {failed}" if (failed := _failures(given)) else message


def _file(texts: Sequence[GivenText]) -> str:
    return texts[0].where.rpartition(": ")[0]


def _failures(texts: Sequence[GivenText]) -> str:
    """Return how many generations failed, with an example; empty for none."""
    failed = [text for text in texts if text.text is None]
    return f"{len(failed)} failed, such as {failed[0].where}: {failed[0].problem}" if failed else ""


def _tell_unusual(given: Sequence[GivenText], chosen: Sequence[GivenText]) -> None:
    """Warn of failures, of remarks, and of texts that may be those of a program and not of the model."""
    if failed := _failures(given):
        _tell(f"{failed}; there are enough texts without them")
    remarks: dict[str, list[GivenText]] = defaultdict(list)
    for text in chosen:
        if text.remark:
            remarks[text.remark].append(text)
        elif (text.text or "").strip().casefold() in MISSING:
            remarks[f"exactly {(text.text or '').strip()!r}, as programs write a missing answer"].append(text)
    for remark, texts in remarks.items():
        _tell(f"{len(texts)} of {len(chosen)} texts are {remark}, such as {texts[0].where}")


def _without_prompts(
    pairs: Sequence[tuple[Prompt, GivenText]], with_prompt: Literal["auto", "always", "never"]
) -> list[str]:
    """Return the texts without the prompts that they begin with."""
    texts = [text.text or "" for _, text in pairs]
    if with_prompt == "never":
        return texts
    beginnings = [
        next(filter(None, (echo_length(variant, text.text or "") for variant in _echoed(prompt, text))), 0)
        for prompt, text in pairs
    ]
    written = [beginning for beginning, text in zip(beginnings, texts, strict=True) if text.strip()]
    begun = sum(beginning > 0 for beginning in written)
    if with_prompt == "always":
        for beginning, text, (_, given) in zip(beginnings, texts, pairs, strict=True):
            if text.strip() and not beginning:
                raise DataError(f"{given.where}: the text does not begin with its prompt")
    elif not begun or begun < len(written):
        later = sum(
            beginning == 0
            and any(echoes_later(variant, text.text or "") for variant in _echoed(prompt, text))
            for beginning, (prompt, text) in zip(beginnings, pairs, strict=True)
        )
        if 2 * (begun + later) > len(written):
            where = f", and {later} contain it near their beginning" if later else ""
            _tell(
                f"{begun} of {len(written)} texts begin with their prompt{where}, which is kept: remove it "
                "from the texts, or set source.with_prompt to always or never"
            )
        return texts
    else:
        _tell("all texts begin with their prompts, which are removed")
    return [text[beginning:] for text, beginning in zip(texts, beginnings, strict=True)]


def _echoed(prompt: Prompt, text: GivenText) -> tuple[str, ...]:
    """Return what a text with its prompt may begin with."""
    return (*text.prompts, prompt.base, prompt.user + prompt.start)
