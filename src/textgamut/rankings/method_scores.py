"""Convert tables of scores to a complete array (prompts, methods, criteria) (MC section 3).

A *method* is a model with a decoding strategy and its parameters; a *criterion* is a metric of single texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from textgamut.errors import DataError, nearest

REVISION = 1
"""Increase when the same table produces different arrays."""


LARGEST_SCORE = 1e100
"""Maximum size of a value: sums and squares of larger ones overflow."""


@dataclass(frozen=True)
class MethodScores:
    """The score of each method on each prompt, by each criterion.

    Attributes:
        prompts: (P,) in the order of their first row.
        methods: (M,) two or more, in the order of their first row.
        criteria: (C,) criteria with higher is better, then the others, in the order given.
        values: float64 (P, M, C), as measured; nan where an empty text has no value.
        higher: bool (C,), whether higher is better.
    """

    prompts: list[str]
    methods: list[str]
    criteria: list[str]
    values: NDArray[np.float64]
    higher: NDArray[np.bool_]

    @property
    def oriented(self) -> NDArray[np.float64]:
        """(P, M, C), higher is better for all criteria; nan becomes -inf, the worst value."""
        oriented = np.where(self.higher, self.values, -self.values)
        oriented[np.isnan(oriented)] = -np.inf
        return oriented


def method_scores(
    frame: pd.DataFrame, higher: Sequence[str], lower: Sequence[str], *, missing_as_worst: bool = False
) -> MethodScores:
    """Read a long table: columns prompt, method, criterion and value, one row per value.

    Args:
        frame: The table, in any order of rows. Criteria that are not requested and other columns are ignored.
            Prompts and methods may be numbers; 1 and "1" are the same.
        higher: Criteria with higher is better.
        lower: Criteria with lower is better.
        missing_as_worst: Whether to accept nan as the value of an empty text. It stays nan in ``values`` and
            is the worst in ``oriented``. If False, nan is an error.

    Returns:
        The scores. The order of the rows determines only the order of prompts and methods.

    Raises:
        TextgamutError: If a column or a criterion does not exist, a criterion is listed twice, no criterion
            is listed, a row has no prompt or no method, there are fewer than two methods, or a value is
            missing, duplicated, infinite, not a number or, without ``missing_as_worst``, nan. The message
            names the first such position and the number of them.
    """
    named = _named(higher, lower)
    _has(frame, ["prompt", "method", "criterion"], ["value"])
    codes, known = pd.factorize(frame["criterion"])
    for criterion in named:
        if criterion not in known:
            raise DataError(
                f"method scores: no criterion {criterion!r}; {nearest(criterion, map(str, known))}"
            )
    wanted = np.isin(codes, known.get_indexer(pd.Index(named)))
    frame, codes = (frame, codes) if wanted.all() else (frame[wanted], codes[wanted])
    cells = _Cells(frame)
    rows = [np.flatnonzero(codes == known.get_loc(criterion)) for criterion in named]
    values = [(row, frame["value"].iloc[row]) for row in rows]
    return cells.scores(named, len(higher), values, missing_as_worst)


def wide_method_scores(
    frame: pd.DataFrame, higher: Sequence[str], lower: Sequence[str], *, missing_as_worst: bool = False
) -> MethodScores:
    """Read a wide table: columns prompt, method and one per criterion, one row per (prompt, method).

    Arguments, return value and errors are as for :func:`method_scores`.
    """
    named = _named(higher, lower)
    _has(frame, ["prompt", "method"], [])
    columns = [str(column) for column in frame.columns if column not in ("prompt", "method")]
    for criterion in named:
        if criterion not in columns:
            raise DataError(f"method scores: no criterion {criterion!r}; {nearest(criterion, columns)}")
    every = np.arange(len(frame))
    values = [(every, frame[criterion]) for criterion in named]
    return _Cells(frame).scores(named, len(higher), values, missing_as_worst)


def scores_table(scores: MethodScores, kinds: Mapping[str, Mapping[str, str]] | None = None) -> pd.DataFrame:
    """List the scores, as :func:`wide_method_scores` reads them.

    Args:
        scores: The scores.
        kinds: Further columns: name -> method -> label, for example the model of each method.

    Returns:
        One row per (prompt, method): ``prompt``, ``method``, the kinds and the criteria.
    """
    prompts, methods = len(scores.prompts), len(scores.methods)
    labels = {"method": scores.methods} | {
        kind: [of[method] for method in scores.methods] for kind, of in (kinds or {}).items()
    }
    columns = {name: pd.Series(values * prompts, dtype="str") for name, values in labels.items()}
    rows = scores.values.reshape(prompts * methods, -1)
    return pd.DataFrame(
        {"prompt": pd.Series(np.repeat(np.array(scores.prompts, dtype=object), methods), dtype="str")}
        | columns
        | {name: rows[:, place] for place, name in enumerate(scores.criteria)}
    )


class PromptMeans(NamedTuple):
    """Mean scores of each method on each prompt of one or more tasks."""

    table: pd.DataFrame
    """A table for :func:`wide_method_scores`: ``prompt``, ``method``, and a column for each criterion, NaN if
    all texts of a method on a prompt lack it."""
    incomplete: int
    """Number of texts without a value of some criterion, which its mean leaves out; 0 if there is only one
    text per prompt and method."""


def prompt_means(
    texts: Mapping[str, pd.DataFrame], names: Mapping[tuple[str, str], str], criteria: Sequence[str]
) -> PromptMeans:
    """Average the metrics of single texts over the seeds and completions of each prompt.

    Args:
        texts: Table of each task, one row per text: ``model``, ``decoding``, ``prompt_id`` and the criteria.
        names: Name of the method of each (model, decoding). Other texts, such as references, are left out.
        criteria: Metrics to average.

    Returns:
        The means, one row per (prompt, method), in the order of their first text. To distinguish the prompts
        of different tasks, ``prompt`` is ``{task}/{prompt_id}``.
    """
    frames, incomplete, several = [], 0, False
    for task, table in texts.items():
        pairs = zip(table["model"], table["decoding"], strict=True)
        method = pd.Series([names.get(pair) for pair in pairs], index=table.index, dtype="str")
        frame = table.assign(method=method).dropna(subset="method")
        frame["prompt"] = f"{task}/" + frame["prompt_id"]
        means = frame.groupby(["prompt", "method"], sort=False, as_index=False)[list(criteria)].mean()
        several |= len(means) < len(frame)
        incomplete += int(frame[list(criteria)].isna().any(axis=1).sum())
        frames.append(means)
    return PromptMeans(pd.concat(frames, ignore_index=True), incomplete if several else 0)


def name_methods(
    methods: Sequence[tuple[str, str]],
    labels: Mapping[str, str] | None = None,
    decodings: Mapping[str, str] | None = None,
) -> dict[tuple[str, str], str]:
    """Name methods by what distinguishes them: the model, the decoding, or both.

    Args:
        methods: Pairs (model, decoding), two or more.
        labels: Model -> label; models with the same label are distinguished. Defaults to the models.
        decodings: Decoding -> label, likewise.

    Returns:
        (model, decoding) -> unique name, in the same order.
    """
    shown = distinct_labels([model for model, _ in methods], labels or {})
    settings = distinct_labels([decoding for _, decoding in methods], decodings or {})
    if len(settings) == 1:
        return {method: shown[method[0]] for method in methods}
    if len(shown) == 1:
        return {method: settings[method[1]] for method in methods}
    return {(model, decoding): f"{shown[model]}, {settings[decoding]}" for model, decoding in methods}


def distinct_labels(names: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each name, by default the name; equal labels are followed by the name."""
    shown = {name: labels.get(name, name) for name in dict.fromkeys(names)}
    often = Counter(shown.values())
    return {name: f"{label} ({name})" if often[label] > 1 else label for name, label in shown.items()}


def labels_of_methods(frame: pd.DataFrame, kinds: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the label of each method in some columns: kind -> method -> label.

    Args:
        frame: Columns ``method`` and ``kinds``, all strings.
        kinds: Columns of labels, such as model and strategy.

    Raises:
        TextgamutError: If a method has two labels of a kind.
    """
    found = {}
    for kind in kinds:
        pairs = frame[["method", kind]].drop_duplicates()
        if (again := pairs["method"].duplicated().to_numpy()).any():
            method = pairs["method"].iloc[int(again.argmax())]
            labels = pairs.loc[pairs["method"] == method, kind]
            raise DataError(f"method {method!r} has more than one {kind}: {', '.join(labels)}")
        found[kind] = dict(zip(pairs["method"], pairs[kind], strict=True))
    return found


def _named(higher: Sequence[str], lower: Sequence[str]) -> list[str]:
    for names in (higher, lower):
        if isinstance(names, str):
            raise DataError(f"method scores: a list of criteria is needed, not the string {names!r}")
    named = [*higher, *lower]
    if not named:
        raise DataError("method scores: no criterion is named")
    for place, name in enumerate(named):
        if name in named[:place]:
            both = name in higher and name in lower
            how = "as both higher and lower" if both else "twice"
            raise DataError(f"method scores: criterion {name!r} is named {how}")
    return named


def _has(frame: pd.DataFrame, keys: list[str], others: list[str]) -> None:
    missing = [column for column in keys + others if column not in frame.columns]
    if missing:
        raise DataError(f"method scores: no column {', '.join(map(repr, missing))}")
    for key in keys:
        bare = frame[key].isna().to_numpy()
        if bare.any():
            raise DataError(
                f"method scores, row {int(bare.argmax())}: no {key} is given ({bare.sum()} such rows)"
            )


class _Cells:
    """The (prompt, method) of each row of a table."""

    def __init__(self, frame: pd.DataFrame) -> None:
        prompt, self.prompts = _ids(frame["prompt"])
        method, self.methods = _ids(frame["method"])
        if len(self.methods) < 2:
            raise DataError(f"method scores: two methods or more are needed, found {len(self.methods)}")
        self._of_row = prompt * len(self.methods) + method
        self._count = len(self.prompts) * len(self.methods)

    def scores(
        self,
        criteria: list[str],
        higher: int,
        columns: list[tuple[NDArray[np.intp], pd.Series]],
        missing_as_worst: bool,
    ) -> MethodScores:
        """Arrange the values of each criterion, given with their rows, by (prompt, method)."""
        counts = np.stack([np.bincount(self._of_row[rows], minlength=self._count) for rows, _ in columns])
        absent = ~counts.any(axis=0)
        if absent.any():
            prompt, method = self._name(int(absent.argmax()))
            raise DataError(
                f"method scores: method {method!r} has no value for prompt {prompt!r} ({absent.sum()} such)"
            )
        values = np.empty((self._count, len(criteria)))
        for place, (criterion, count, (rows, column)) in enumerate(
            zip(criteria, counts, columns, strict=True)
        ):
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
            cells, empty = self._of_row[rows], np.isnan(numbers)
            self._refuse(count == 0, criterion, "is missing")
            self._refuse(count > 1, criterion, "is duplicated")
            values[cells, place] = numbers
            words = np.zeros(self._count, dtype=bool)
            words[cells[empty]] = column.iloc[np.flatnonzero(empty)].notna().to_numpy()
            self._refuse(words, criterion, "is not a number")
            self._refuse(np.isinf(values[:, place]), criterion, "is infinite")
            self._refuse(np.abs(values[:, place]) > LARGEST_SCORE, criterion, f"is beyond {LARGEST_SCORE:g}")
            if not missing_as_worst:
                self._refuse(np.isnan(values[:, place]), criterion, "is nan")
        shape = len(self.prompts), len(self.methods), len(criteria)
        upward = np.arange(len(criteria)) < higher
        return MethodScores(self.prompts, self.methods, criteria, values.reshape(shape), upward)

    def _refuse(self, cells: NDArray[np.bool_], criterion: str, what: str) -> None:
        if cells.any():
            prompt, method = self._name(int(cells.argmax()))
            raise DataError(
                f"method scores: {criterion!r} of method {method!r} on prompt {prompt!r} {what} "
                f"({cells.sum()} such)"
            )

    def _name(self, cell: int) -> tuple[str, str]:
        prompt, method = divmod(cell, len(self.methods))
        return self.prompts[prompt], self.methods[method]


def _ids(column: pd.Series) -> tuple[NDArray[np.intp], list[str]]:
    codes, values = pd.factorize(column)
    names = pd.Series([str(value) for value in values], dtype=object)
    again, different = pd.factorize(names)  # 1 and "1" are the same
    return again[codes], list(different)
