"""Rows of the tidy table of scores: metric, value, group, n and, depending on the metric, other columns.

The caller adds the columns of the cell.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from textgamut.errors import DataError, TextgamutError
from textgamut.language import language_in, words_end_in
from textgamut.text import count_words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

ALL = "all"
"""The group of all texts."""

YARDSTICK = "human texts, held out"
"""Name of the yardstick: references that are not compared, scored as the texts of a model are."""
USED_REFERENCES = "human texts, the references"
"""Name of the references that are compared, scored by the metrics of wording."""
HUMANS = (YARDSTICK, USED_REFERENCES)
"""Names of human texts among those of models; the yardstick first."""

Row = dict[str, Any]

Columns: TypeAlias = "dict[str, NDArray[np.float64]]"
"""Values of each metric, one per text; NaN for a text without a value, for example an empty one."""


Groups = Mapping[str, Sequence[str | None]]
"""Group column -> the label of each text; None for a text without one."""


@dataclass(frozen=True)
class Scores:
    """What a scorer returns."""

    rows: list[Row]
    """Rows of the tidy table, without the columns of the cell."""
    columns: Columns | None = None
    """Metrics of the single texts; None for a family without any."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is written to the metadata."""


def text_table(
    cell: Mapping[str, Any], texts: pd.DataFrame, scores: Sequence[pd.DataFrame], metrics: Sequence[str]
) -> pd.DataFrame:
    """Join the metrics of the single texts of a cell: one row per text.

    Args:
        cell: ``model``, ``decoding``, ``seed``.
        texts: Columns ``id``, ``prompt_id`` and ``text``.
        scores: Tables with ``id`` and a column for each metric, in any order of rows.
        metrics: Metrics to keep; NaN if no table has it.

    Returns:
        Columns ``model``, ``decoding``, ``seed``, ``id``, ``prompt_id``, ``words`` and the metrics (float64).
    """
    import numpy as np

    end = words_end_in(language_in(texts))
    frame = texts.assign(**cell, words=[count_words(text, end) for text in texts["text"]])
    for table in scores:
        frame = frame.merge(table, on="id", how="left", validate="one_to_one")
    present = {name: frame.get(name, np.nan) for name in metrics}
    kept = frame[["model", "decoding", "seed", "id", "prompt_id", "words"]]
    return kept.assign(**present).astype(dict.fromkeys(metrics, "float64"))


def prompt_rows(prompt_ids: pd.Series[Any], ids: pd.Series[Any]) -> NDArray[np.intp]:
    """Return the row of each text's prompt in a table of prompts or references.

    Args:
        prompt_ids: (N,) prompt of each text.
        ids: The table's unique ids.

    Raises:
        TextgamutError: If a prompt is not in the table; the message names the first such text.
    """
    import pandas as pd

    wanted = pd.Index(prompt_ids)
    rows: NDArray[np.intp] = pd.Index(ids).get_indexer(wanted)
    if (missing := rows < 0).any():
        row = int(missing.argmax())
        raise DataError(
            f"text {row}: its prompt {wanted[row]!r} is not in the table of prompts or references"
        )
    return rows


def prompts_of_texts(texts: pd.DataFrame, prompts: pd.DataFrame) -> list[str]:
    """Return the wording of the prompt of each text.

    Args:
        texts: Column ``prompt_id``.
        prompts: Columns ``id`` and ``base``.

    Raises:
        TextgamutError: As :func:`prompt_rows`.
    """
    return list(prompts["base"].iloc[prompt_rows(texts["prompt_id"], prompts["id"])])


def group_name(column: str, label: str) -> str:
    r"""Return the name of a group in tables, such as ``topic=sport``.

    An ``=`` in the column is written ``\=``, and a backslash twice, so that no two groups have the same name.
    """
    return re.sub(r"([\\=])", r"\\\1", column) + f"={label}"


def groups_of(table: pd.DataFrame, columns: Sequence[str]) -> dict[str, list[str | None]]:
    """Return the label of each row of a table in each group column."""
    return {
        name: [
            None if missing else str(of) for of, missing in zip(table[name], table[name].isna(), strict=True)
        ]
        for name in columns
    }


def groups_of_prompts(
    dataset: pd.DataFrame, prompt_ids: pd.Series[Any], columns: Sequence[str]
) -> dict[str, list[str | None]]:
    """Return the labels of generated texts: those of their prompts.

    Args:
        dataset: ``id`` and the group columns.
        prompt_ids: The ``id`` of the prompt of each text. Other ids have no group.
        columns: The group columns.
    """
    return groups_of(dataset.set_index("id").reindex(prompt_ids), columns)


LEAST_PROMPTS = 20
"""Number of prompts from which on the texts of a prompt are drawn, and moved between sets, together, and of
clusters from which on a set can be compared with one of many more."""


def units_of_prompts(prompts: Sequence[Hashable], together: bool = False) -> Sequence[Hashable] | None:
    """Return the prompt of each text, as what is drawn as a whole; None if there are too few prompts.

    A draw of few prompts says little, and the texts of one prompt do not depend on each other otherwise.

    Args:
        prompts: Prompt of each text; None for a text without one.
        together: Whether the texts of a prompt are always drawn together, however few prompts there are: the
            metrics compare them with each other.
    """
    return prompts if together or len(set(prompts) - {None}) >= LEAST_PROMPTS else None


def numbered(units: Sequence[Hashable] | None, n: int) -> NDArray[np.intp]:
    """Number what is drawn as a whole with each of the first n texts; None is a text of its own."""
    import numpy as np

    keys = [("text", row) if units is None or units[row] is None else units[row] for row in range(n)]
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


class Mean(NamedTuple):
    """A mean of values, of which those of a unit depend on each other."""

    value: float
    squared_error: float
    """Square of the standard error, from the sums of the deviations over units; NaN for one unit."""
    freedom: int
    """Degrees of freedom: number of units less 1."""


def mean_of_units(values: NDArray[np.float64], units: Sequence[Hashable] | None) -> Mean:
    """Return the mean of (N,) values, and its error.

    Args:
        values: One or more values.
        units: What each belongs to; None for a unit of its own.
    """
    import numpy as np

    mean = math.fsum(values) / len(values)
    sums = np.bincount(numbered(units, len(values)), values - mean)
    freedom = len(sums) - 1
    error = math.fsum(sums**2) / len(values) ** 2 * len(sums) / freedom if freedom else math.nan
    return Mean(mean, error, freedom)


def without_prompts(texts: Iterable[str], prompts: Iterable[str]) -> list[str]:
    """Return texts without the prompts that they begin with."""
    return [text.removeprefix(prompt) for text, prompt in zip(texts, prompts, strict=True)]


def text_rows(columns: Columns) -> list[Row]:
    """Return the rows of metrics that are means over the texts with a value.

    Warns:
        UserWarning: If texts have no value of a metric. A metric without any value has no row.
    """
    import numpy as np

    rows = []
    for name, values in columns.items():
        missing = int(np.isnan(values).sum())
        if missing:
            warnings.warn(
                f"{missing} of {len(values)} texts have no {name}: left out of its mean", stacklevel=2
            )
        if missing < len(values):
            rows.append(metric_row(len(values), name, float(np.nanmean(values))))
    return rows


def computed_rows(n: int, metrics: Mapping[str, Callable[[], float]]) -> list[Row]:
    """Compute metrics of a set of texts. One may not exist, for example if all texts are empty.

    Warns:
        UserWarning: If a metric cannot be computed and has no row.
    """
    rows = []
    for name, compute in metrics.items():
        try:
            rows.append(metric_row(n, name, compute()))
        except TextgamutError as error:
            warnings.warn(f"no {name}: {error}", stacklevel=3)
    return rows


def metric_row(n: int, metric: str, value: float) -> Row:
    """Return the row of a metric over all texts."""
    return {"n": n, "group": ALL, "metric": metric, "value": value}
