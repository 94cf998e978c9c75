"""The function of each shape of a target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from textgamut.config.target_shapes import Target
from textgamut.report.papers import (
    ranking_targets,
    registry_targets,
    samples,
    score_targets,
    text_targets,
)
from textgamut.report.papers.result import PaperResult
from textgamut.report.papers.target_settings import TargetSettings

SHAPES: dict[str, Callable[..., PaperResult]] = {
    "metrics-by-model": score_targets.metrics_by_model,
    "precision-recall": score_targets.precision_recall,
    "bars": score_targets.bars,
    "sweep": score_targets.sweep,
    "correlations": score_targets.correlations,
    "examples": score_targets.examples,
    "curves": score_targets.curves,
    "f-scores": score_targets.f_scores,
    "embedder-correlations": score_targets.embedder_correlations,
    "tokens-per-word": score_targets.tokens_per_word,
    "variance": score_targets.variance,
    "text-means": text_targets.text_means,
    "text-parameter": text_targets.text_parameter,
    "text-correlations": text_targets.text_correlations,
    "text-deviations": text_targets.text_deviations,
    "label-counts": text_targets.label_counts,
    "samples": samples.samples,
    "model-sizes": registry_targets.model_sizes,
    "grid": registry_targets.grid,
    "best-and-worst": ranking_targets.best_and_worst,
    "worths": ranking_targets.worths,
    "dominating-pairs": ranking_targets.dominating_pairs,
    "winners": ranking_targets.winners,
    "orders": ranking_targets.orders,
    "agreement": ranking_targets.agreement,
    "continuations": ranking_targets.continuations,
    "tuned-parameters": ranking_targets.tuned_parameters,
    "ratings": ranking_targets.ratings,
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
