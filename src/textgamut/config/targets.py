"""Targets of an experiment: the tables and figures of a paper, by their numbers.

The shape of a target states what it shows and which metrics it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from textgamut.config.entries.base import Strict, Text
from textgamut.metrics.catalogue import METRICS


class TargetBase(Strict):
    """Settings of all targets."""

    title: Text
    """What the table or figure shows."""
    tasks: Annotated[list[str], Field(min_length=1)]
    """Tasks whose results are shown."""
    models: Annotated[list[str], Field(min_length=1)] | None = None
    """Models, or subsets, to show, in this order. Defaults to all of the tasks."""
    decodings: Annotated[list[str], Field(min_length=1)] | None = None
    """Decoding settings to show. Defaults to all of the tasks."""

    reads: ClassVar[Sequence[str]] = ("scores",)
    """Kinds of files that the target is made from, see ``workflow.targets``."""
    figure: ClassVar[bool] = False
    """Whether the target is a figure; its numbers are written as a table, too."""

    def families(self) -> tuple[str, ...]:
        """Return the families of metrics that the target reads."""
        raise NotImplementedError


class MetricsByModel(TargetBase):
    """Metrics as rows and models as columns: mean and standard deviation over runs (PR Table 1)."""

    shape: Literal["metrics-by-model"]
    metrics: Annotated[list[str], Field(min_length=1)]
    """Metrics of sets of texts."""

    def families(self) -> tuple[str, ...]:
        """Return the families of the metrics."""
        return tuple(dict.fromkeys(METRICS[metric].family for metric in self.metrics))


class PrecisionRecallFigure(TargetBase):
    """Recall against precision, with an ellipse for each model (PR Figure 1)."""

    shape: Literal["precision-recall"]
    figure: ClassVar[bool] = True

    def families(self) -> tuple[str, ...]:
        """Return the support metrics."""
        return ("support",)


class Variance(TargetBase):
    """Standard deviations over generation seeds, reference draws and both (PR Table B.5)."""

    shape: Literal["variance"]

    def families(self) -> tuple[str, ...]:
        """Return the support metrics."""
        return ("support",)


Target = Annotated[MetricsByModel | PrecisionRecallFigure | Variance, Field(discriminator="shape")]

TargetName = Annotated[str, Field(pattern=r"^(table|figure)_[a-z0-9]+$", max_length=40)]
"""Number of a table or figure, such as table_1a, figure_b2."""
