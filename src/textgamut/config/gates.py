"""Gates of an experiment: cells whose texts must not be worse than those of a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from textgamut.fields import Distinct, OwnPath, Strict

Margin = Annotated[float, Field(ge=0)]


class GateCell(Strict):
    """The texts that a gate tests: those of all generation seeds of a model with a decoding setting."""

    model: str
    """Model, or subset, in the cells of the task."""
    decoding: str | None = None
    """Decoding setting of the model in the task. Defaults to the only one, if there is a single one."""


class GateBaseline(Strict):
    """The texts that a gate compares with."""

    model: str | None = None
    """Model, or subset. Required without ``results``; with it, it defaults to the candidate's."""
    decoding: str | None = None
    """Decoding setting. Defaults to the only one of the model in the task or, with ``results``, to the
    candidate's."""
    results: OwnPath | None = None
    """Folder ``results`` of an earlier run, with the texts and features of the same task and seeds. By
    default, the texts are of this experiment."""


class Sides(NamedTuple):
    """Model and decoding of both sides of a gate."""

    baseline: tuple[str, str]
    candidate: tuple[str, str]


class Gate(Strict):
    """A test of whether the texts of a candidate are worse than those of a baseline."""

    task: str
    """Task of the experiment, whose references, k and language are used."""
    baseline: GateBaseline
    """The texts to compare with: of another method, or of an earlier run."""
    candidate: GateCell
    """The texts that may be worse."""
    margins: dict[str, Margin] = {}
    """Metric -> largest drop that passes, in its units; changes or extends the defaults."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Probability that the gate fails although the texts are equally good."""
    fail_on: Annotated[list[str], Distinct] = []
    """Names of failures, such as ``drift``, whose metrics without a worse end also fail the gate."""
    group: str | None = None
    """One of the task's ``groups``: each of its labels is also tested on its own. By default, none is."""
    undecided: Literal["pass", "fail"] = "pass"
    """Whether the target ``gate`` passes or fails if the texts are too few to decide."""

    def decoding_of(self, model: str, methods: Sequence[tuple[str, str]]) -> str | None:
        """Return the only decoding of a model among the methods of the task; None if there are several."""
        found = [decoding for name, decoding in methods if name == model]
        return found[0] if len(found) == 1 else None

    def sides(self, methods: Sequence[tuple[str, str]]) -> Sides:
        """Return the model and the decoding of both sides.

        Args:
            methods: Model and decoding of the methods of the task.

        Raises:
            ValueError: If one is neither stated nor the only one.
        """
        candidate, baseline = self.candidate, self.baseline
        of_candidate = candidate.decoding or self.decoding_of(candidate.model, methods)
        if baseline.results is None:
            model, decoding = baseline.model, baseline.decoding
            decoding = decoding or (self.decoding_of(model, methods) if model else None)
        else:
            model, decoding = baseline.model or candidate.model, baseline.decoding or of_candidate
        if model is None or decoding is None or of_candidate is None:
            raise ValueError("the sides of the gate are not known")
        return Sides((model, decoding), (candidate.model, of_candidate))
