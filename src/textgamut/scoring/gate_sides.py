"""What a gate compares, and what it guards."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from textgamut.text import plain_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from textgamut.features.embed import Features
    from textgamut.metrics.rows import Columns
    from textgamut.scoring.results import Comparison

BASELINE, CANDIDATE, REFERENCE, TRAINING = "baseline", "candidate", "reference", "training"


@dataclass(frozen=True)
class Side:
    """Texts of one side of a gate, and what belongs to each of them."""

    texts: Sequence[str]
    """Their digests, if they are not known."""
    prompts: Sequence[str | None] | None = None
    clusters: Sequence[str | None] | None = None
    finishes: Sequence[str | None] | None = None
    """Why the generation of each text ended."""
    groups: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    """Group column -> label of each text."""
    features: Features | None = None
    """None if the texts are not embedded yet."""
    columns: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """Metrics of single texts that were recorded, or that compare them with what may be copied."""
    known: bool = True
    """Whether the texts are known, or only digests of them, their features and ``columns``."""

    def digested(self) -> Side:
        """Return the side with digests in place of texts and prompts, which still tell equal ones."""
        if not self.known:
            return self
        prompts = None if self.prompts is None else [of and _digest(of) for of in self.prompts]
        return replace(self, texts=[_digest(text) for text in self.texts], prompts=prompts, known=False)

    def take(self, rows: Sequence[int]) -> Side:
        """Return the texts in some rows."""

        def chosen(of: Sequence[Any] | None) -> Any:
            return None if of is None else [of[row] for row in rows]

        features = self.features
        return replace(
            self,
            texts=chosen(self.texts),
            prompts=chosen(self.prompts),
            clusters=chosen(self.clusters),
            finishes=chosen(self.finishes),
            groups={name: chosen(of) for name, of in self.groups.items()},
            features=None if features is None else features._replace(vectors=features.vectors[list(rows)]),
            columns={name: of[list(rows)] for name, of in self.columns.items()},
        )


@dataclass(frozen=True)
class Corpus:
    """Texts that may be copied, each once."""

    texts: Sequence[str]
    """Empty if they are not known."""
    vectors: NDArray[np.float64]
    """Features of unit length."""
    rows: Sequence[int]
    """Row of each in its side, of equal ones the first."""
    counts: NDArray[np.intp]
    """Number of equal ones."""


@dataclass(frozen=True)
class ComparedSides:
    """The texts of a gate with their scores."""

    comparison: Comparison
    columns: Mapping[str, Columns]
    """Side -> metrics of its single texts."""
    sides: Mapping[str, Side]
    """``baseline``, ``candidate`` and ``reference``."""
    corpora: Mapping[str, Corpus] = field(default_factory=dict)
    """``reference`` and ``training``: texts that may be copied, if there are any."""
    humans: bool = True
    """Whether the references are human texts, not a half of the baseline."""


@dataclass(frozen=True, kw_only=True)
class GateSettings:
    """What a gate guards, and how sure it must be."""

    margins: Mapping[str, float]
    """Guarded metric -> largest drop that passes."""
    alpha: float = 0.05
    failing: Collection[str] = ()
    """Watched metrics that fail the gate if they differ."""
    looks: int = 1
    """Number of gates over which alpha is spent."""
    asked: Collection[str] = ()
    """Metrics whose margins were given: they are reported also where they cannot be measured."""

    @property
    def level(self) -> float:
        """The smallest level that a p-value is compared with in a gate of all texts."""
        return self.alpha / self.looks / (len(self.margins) + len(self.failing))


def _digest(text: str) -> str:
    """Return a digest of a text, without differences in white space; an empty one of an empty text."""
    plain = plain_text(text)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest() if plain else ""
