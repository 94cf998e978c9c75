"""Targets of an experiment: the tables and figures of a paper, by their numbers.

The shape of a target states what it shows and which metrics it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, field_validator

from textgamut.catalogue import METRICS
from textgamut.fields import Count, Distinct, Strict, Text

Names = Annotated[list[str], Field(min_length=1), Distinct]

Parameter = Literal["top_p", "top_k", "temperature"]
"""A parameter of decoding by sampling."""

Average = Literal["variances", "deviations"]
"""What the deviations of Table B.5 are averages of."""


class TargetBase(Strict):
    """Settings of all targets."""

    title: Text
    """What the table or figure shows."""
    tasks: list[str] = []
    """Tasks whose results are shown."""
    models: Names | None = None
    """Models, or subsets, to show, in this order. Defaults to all of the tasks."""
    decodings: Names | None = None
    """Decoding settings to show. Defaults to all of the tasks."""

    reads: ClassVar[Sequence[str]] = ("scores",)
    """Kinds of files that the target is made from, see ``workflow.targets``."""
    figure: ClassVar[bool] = False
    """Whether the target is a figure; its numbers are written as a table, too."""

    def families(self) -> tuple[str, ...]:
        """Return the families of metrics that the target reads."""
        return ()


class _OfTasks(TargetBase):
    """A target that shows the results of tasks."""

    tasks: Names
    """Tasks whose results are shown."""


class _OfMetrics(_OfTasks):
    """A target that shows certain metrics of sets of texts."""

    metrics: Names
    """Metrics to show, in this order."""

    def families(self) -> tuple[str, ...]:
        """Return the families of the metrics."""
        return families_of(self.metrics)


class _OfSupport(_OfTasks):
    """A target that shows precision and recall."""

    def families(self) -> tuple[str, ...]:
        """Return the support metrics."""
        return ("support",)


class MetricsByModel(_OfMetrics):
    """Metrics as rows and models as columns: mean and standard deviation over runs (PR Table 1)."""

    shape: Literal["metrics-by-model"]


class PrecisionRecallFigure(_OfSupport):
    """Recall against precision, with an ellipse for each model (PR Figure 1)."""

    shape: Literal["precision-recall"]
    figure: ClassVar[bool] = True


class Bars(_OfMetrics):
    """Bars of metrics, grouped by model, with error bars (PR Figures 2 and B.2)."""

    shape: Literal["bars"]
    errors: Literal["standard deviation", "standard error"]
    """Half the length of the error bars, over the runs of a model."""
    figure: ClassVar[bool] = True


class SweepFigure(_OfSupport):
    """Precision and recall against N, k or both (PR Figures 6 and B.1)."""

    shape: Literal["sweep"]
    vary: Annotated[list[Literal["n", "k"]], Field(min_length=1)]
    """The numbers on the x axes."""
    reads: ClassVar[Sequence[str]] = ("sweeps",)
    figure: ClassVar[bool] = True


class Correlations(_OfTasks):
    """Pearson correlations between metrics, over the methods of all tasks (PR Figures 7 and A.5)."""

    shape: Literal["correlations"]
    rows: Names
    """Metrics of the rows."""
    columns: Names
    """Metrics of the columns."""
    pre_trained_only: list[str] = []
    """Columns that leave out instruction-tuned models (PR Figure 7b: ratings of quality)."""
    figure: ClassVar[bool] = True

    def families(self) -> tuple[str, ...]:
        """Return the families of the metrics."""
        return families_of([*self.rows, *self.columns])


class ExamplesFigure(_OfSupport):
    """Precision and recall against the number of in-context examples, a line for each model (PR Figure 8)."""

    shape: Literal["examples"]
    figure: ClassVar[bool] = True


class _OfCurves(_OfTasks):
    """A target that shows the curves of the divergence metrics."""

    reads: ClassVar[Sequence[str]] = ("curves",)
    figure: ClassVar[bool] = True

    def families(self) -> tuple[str, ...]:
        """Return the divergence metrics."""
        return ("divergence",)


class CurvesFigure(_OfCurves):
    """Precision-recall curve and divergence frontier of each model (PR Figure A.3)."""

    shape: Literal["curves"]


class FScoresFigure(_OfCurves):
    """F_1/8 and F_8 of both curves, for one model after the other (PR Figure A.4)."""

    shape: Literal["f-scores"]


class EmbedderCorrelations(_OfSupport):
    """Correlation of precision and recall between embedders (PR Table B.1)."""

    shape: Literal["embedder-correlations"]
    embedders: Names
    """Entries of embedders.yaml; each is compared with the first."""


class TokensPerWord(TargetBase):
    """Tokens per word of the texts of a dataset, for the tokenizers of some models (PR Table B.2)."""

    shape: Literal["tokens-per-word"]
    dataset: str
    """Entry of ``datasets.yaml`` with the texts."""
    models: Names
    """Models that provide the tokenizers."""
    reads: ClassVar[Sequence[str]] = ("tokens",)


class Variance(_OfSupport):
    """Standard deviations over generation seeds, reference draws and both (PR Table B.5)."""

    shape: Literal["variance"]
    average: Average = "variances"
    """What is averaged over runs and models. With ``deviations`` as the paper did it: a mean of deviations of
    two draws is 20 % too low, and that over all runs is the deviation neither of one source nor of both."""


class _OfTexts(_OfMetrics):
    """A target that shows metrics of single texts."""

    reads: ClassVar[Sequence[str]] = ("texts",)

    @field_validator("metrics")
    @classmethod
    def _of_single_texts(cls, metrics: list[str]) -> list[str]:
        if of_sets := [name for name in metrics if name in METRICS and METRICS[name].level == "set"]:
            raise ValueError(f"{', '.join(of_sets)}: not a metric of single texts")
        return metrics


class TextMeans(_OfTexts):
    """Methods as rows and metrics as columns: means over texts (NW Tables 3 and 4, appendix)."""

    shape: Literal["text-means"]
    parameters: Annotated[list[Parameter], Distinct] = []
    """Decoding parameters that follow as columns; the paper's rows are found by them, too."""
    human: Text | None = None
    """Label of a row of the references, the paper's name of human texts. Defaults to no such row."""


class TextParameterFigure(_OfTexts):
    """Metrics against one decoding parameter, while the others are held (NW Figures 1 to 3)."""

    shape: Literal["text-parameter"]
    parameter: Parameter
    """The parameter that varies over the decodings."""
    figure: ClassVar[bool] = True


class TextCorrelations(_OfTexts):
    """Pearson correlations between metrics, over single texts (NW Figure 4)."""

    shape: Literal["text-correlations"]
    figure: ClassVar[bool] = True


class TextDeviationsFigure(_OfTexts):
    """Standard deviations of metrics over texts, for each method (NW Figure 5)."""

    shape: Literal["text-deviations"]
    figure: ClassVar[bool] = True


class LabelCounts(TargetBase):
    """Number of texts of a dataset with each label (NW Table 1)."""

    shape: Literal["label-counts"]
    dataset: str
    """Entry of ``datasets.yaml`` with the texts."""
    column: str
    """Column of the labels."""
    reads: ClassVar[Sequence[str]] = ("labels",)


class Samples(_OfTasks):
    """Generated texts, after the same prompts for all methods (PR Tables D.1 and D.2, NW Tables 5 to 8)."""

    shape: Literal["samples"]
    prompts: Count = 1
    """Number of prompts, the first of the task."""
    completions: Count = 1
    """Maximum number of texts for each prompt."""
    reads: ClassVar[Sequence[str]] = ("generations", "prompts")


class ModelSizes(TargetBase):
    """Number of parameters and release date of models, as their entries state them (NW Table 2)."""

    shape: Literal["model-sizes"]
    models: Names
    """Models, in the order of the rows."""
    reads: ClassVar[Sequence[str]] = ()


class Grid(_OfTasks):
    """Values of each decoding strategy in the cells of tasks, and their number of texts (MC Table 1)."""

    shape: Literal["grid"]
    reads: ClassVar[Sequence[str]] = ()


class OfRanking(_OfTasks):
    """A target that shows a ranking of methods, of one ranked task or of all of them together (MC)."""

    models: None = None
    """Not used: a ranking shows all of its methods."""
    decodings: None = None
    """Not used: a ranking shows all of its methods."""
    reads: ClassVar[Sequence[str]] = ("ranking",)


class BestAndWorst(OfRanking):
    """Best and worst method by worth and by Q*Text, deepest and shallowest order (MC Table 2)."""

    shape: Literal["best-and-worst"]


class Worths(OfRanking):
    """Methods by Bradley-Terry worth (MC Tables 3 and 8 to 11)."""

    shape: Literal["worths"]
    first: Count | None = None
    """Number of methods to show, besides those that the paper prints. Defaults to all."""
    merge: Literal["by-name", "by-position"] = "by-name"
    """How counts of several corpora are added. ``by-position`` makes Table 11 as it was printed: MC's authors
    added the counts of methods at the same position of lists in different orders."""
    reads: ClassVar[Sequence[str]] = ("ranking", "dominance")


class DominatingPairs(OfRanking):
    """Pairs of methods where one dominates on all prompts, and counts of pairs (MC Tables 5 to 7)."""

    shape: Literal["dominating-pairs"]


class Winners(OfRanking):
    """Prompts on which each method has the highest or lowest Q*Text (MC Tables 12 to 19)."""

    shape: Literal["winners"]
    of: Literal["model", "strategy", "hyperparameters", "method"]
    """What the prompts are counted by."""
    which: Literal["most", "least"]
    """Whether the highest or the lowest Q*Text counts."""


class OrdersFigure(OfRanking):
    """Hasse diagrams of the deepest and the shallowest order of the best methods (MC Figure 2)."""

    shape: Literal["orders"]
    figure: ClassVar[bool] = True


class AgreementFigure(OfRanking):
    """Ranks of the methods by worth and by Q*Text (MC Figures 3 and 4)."""

    shape: Literal["agreement"]
    by: Literal["model", "strategy"]
    """What the colours show."""
    figure: ClassVar[bool] = True


class Continuations(_OfTasks):
    """Texts after a prompt of the first task, with Q*Text on the scale of the ranking (MC Table 4)."""

    shape: Literal["continuations"]
    words: Count = 60
    """Number of words of each text to show."""
    reads: ClassVar[Sequence[str]] = ("ranked", "continuations", "prompts")


class TunedParameters(OfRanking):
    """Parameters of Q*Text, tuned to the ratings of the tasks' ranking (MC Table 21)."""

    shape: Literal["tuned-parameters"]
    reads: ClassVar[Sequence[str]] = ("tuning",)


class RatingsFigure(OfRanking):
    """Human ratings of single texts and their Q*Text, by strategy (MC Figure 5)."""

    shape: Literal["ratings"]
    reads: ClassVar[Sequence[str]] = ("tuning", "rated")
    figure: ClassVar[bool] = True


Target = Annotated[
    MetricsByModel
    | PrecisionRecallFigure
    | Bars
    | SweepFigure
    | Correlations
    | ExamplesFigure
    | CurvesFigure
    | FScoresFigure
    | EmbedderCorrelations
    | TokensPerWord
    | Variance
    | TextMeans
    | TextParameterFigure
    | TextCorrelations
    | TextDeviationsFigure
    | LabelCounts
    | Samples
    | ModelSizes
    | Grid
    | BestAndWorst
    | Worths
    | DominatingPairs
    | Winners
    | OrdersFigure
    | AgreementFigure
    | Continuations
    | TunedParameters
    | RatingsFigure,
    Field(discriminator="shape"),
]

TargetName = Annotated[str, Field(pattern=r"^(table|figure)_[a-z0-9]+$", max_length=40)]
"""Number of a table or figure, such as table_1a, figure_b2."""


def families_of(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the families of some metrics; unknown metrics are left out."""
    return tuple(dict.fromkeys(METRICS[metric].family for metric in metrics if metric in METRICS))
