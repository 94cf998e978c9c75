"""The function of each shape of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from textgamut.config.targets import Target
from textgamut.report.papers import rankings, samples, scores, texts
from textgamut.report.papers.result import PaperResult
from textgamut.report.papers.target_settings import TargetSettings

SHAPES: dict[str, Callable[..., PaperResult]] = {
    "metrics-by-model": scores.metrics_by_model,
    "precision-recall": scores.precision_recall,
    "bars": scores.bars,
    "sweep": scores.sweep,
    "correlations": scores.correlations,
    "examples": scores.examples,
    "curves": scores.curves,
    "f-scores": scores.f_scores,
    "embedder-correlations": scores.embedder_correlations,
    "tokens-per-word": scores.tokens_per_word,
    "variance": scores.variance,
    "text-means": texts.text_means,
    "text-parameter": texts.text_parameter,
    "text-correlations": texts.text_correlations,
    "text-deviations": texts.text_deviations,
    "label-counts": texts.label_counts,
    "samples": samples.samples,
    "best-and-worst": rankings.best_and_worst,
    "worths": rankings.worths,
    "dominating-pairs": rankings.dominating_pairs,
    "winners": rankings.winners,
    "orders": rankings.orders,
    "agreement": rankings.agreement,
    "continuations": rankings.continuations,
    "tuned-parameters": rankings.tuned_parameters,
    "ratings": rankings.ratings,
}
"""Shape of a target -> the function that makes it."""


def make_target(settings: TargetSettings[Target], data: Mapping[str, Any]) -> PaperResult:
    """Make a target.

    Args:
        settings: Its settings.
        data: What it reads, by kind, as ``workflow.target_files.read_files`` returns it.
    """
    result = SHAPES[settings.target.shape](settings, **data)
    notes = (*settings.notes, *settings.published.get("notes", ()))
    return result._replace(notes=(*result.notes, *notes))
