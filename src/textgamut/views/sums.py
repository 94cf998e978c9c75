"""Sums of which some parts may be unknown, and how they are told."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sum:
    """A sum of values, some of which may be unknown."""

    known: float
    """Sum of the known values."""
    unknown: int
    """Number of unknown values or, in a sum over models, of models with an unknown value."""
    models: int = 0
    """Number of models in a sum over models, 0 in other sums."""

    @classmethod
    def of(cls, *values: float | None) -> Sum:
        """Return the sum of values."""
        known = [value for value in values if value is not None]
        return cls(sum(known), len(values) - len(known))

    @classmethod
    def of_models(cls, values: Iterable[tuple[str, float | None]]) -> Sum:
        """Return the sum of values of models, each with the name of its model."""
        of: dict[str, list[float | None]] = defaultdict(list)
        for model, value in values:
            of[model].append(value)
        total = cls.of(*(value for found in of.values() for value in found))
        return cls(total.known, sum(None in found for found in of.values()), len(of))

    @property
    def estimated(self) -> str:
        """How many models a sum over models contains, such as "1 of 6 models estimated"; "" if all."""
        return f"{self.models - self.unknown} of {self.models} models estimated" if self.unknown else ""

    @property
    def number(self) -> float | None:
        """The known part, None if nothing is known."""
        return None if self.unknown and self.unknown == self.models else self.known

    def __add__(self, other: Sum) -> Sum:
        """Return the sum of both, of different models."""
        return Sum(self.known + other.known, self.unknown + other.unknown, self.models + other.models)

    def times(self, factor: float) -> Sum:
        """Return the sum multiplied by a factor."""
        return replace(self, known=self.known * factor)


def _known(value: float | Sum | None, form: str) -> str:
    if isinstance(value, Sum):
        number = _known(value.number, form)
        if not value.unknown:
            return number
        if value.models:
            return f"{number} ({value.estimated})"
        return f"{number} + ?" if value.known else "?"
    return "?" if value is None else format(value, form)


def whole(value: float | Sum | None) -> str:
    """Return a value, or a sum, as text without decimals."""
    return _known(value, ",.0f")


def decimal(value: float | Sum | None) -> str:
    """Return a value, or a sum, as text with two decimals if it is small."""
    size = value.known if isinstance(value, Sum) else value or 0
    return _known(value, ",.2f" if 0 < size < 100 else ",.0f")


def brief(value: Sum) -> str:
    """Return a sum over models like ``decimal``, with "+ ?" in place of the number of models."""
    return decimal(replace(value, models=0))


def size(value: Sum) -> str:
    """Return a number of bytes as text."""
    unit, factor = ("GB", 1e9) if value.known >= 1e8 else ("MB", 1e6)
    text = _known(value.times(1 / factor), ",.0f" if value.known >= 1e10 else ",.1f")
    return re.sub(r"^[\d.,]+", lambda number: f"{number[0]} {unit}", text)
