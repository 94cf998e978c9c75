"""What the jobs of a rule load: jobs that load the same share it (:mod:`textgamut.workflow.companions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textgamut.config.cells import Config
from textgamut.workflow.families import family_of, scores_again


def weights_of(config: Config, rule: str, wildcards: Any) -> str | None:
    """Return the name of what a job loads; None if it loads nothing that others can share.

    Args:
        config: The configuration.
        rule: Name of the job's rule.
        wildcards: Wildcards of the job.
    """
    name = WEIGHTS.get(rule)
    return name(config, wildcards) if name else None


def _generator(config: Config, wildcards: Any) -> str | None:
    served = config.models[wildcards.model].engine == "openai"
    return None if served else str(wildcards.model)


def _scorer(config: Config, wildcards: Any) -> str:
    family = family_of(config, wildcards.task, "likelihood")
    return f"{family.scorer}, {family.dtype}"


def _scored_generator(config: Config, wildcards: Any) -> str | None:
    family = family_of(config, wildcards.task, "likelihood")
    return f"{wildcards.model}, {family.dtype}" if scores_again(config, wildcards) else None


def _tagger(config: Config, wildcards: Any) -> str:
    return str(family_of(config, wildcards.task, "entities").tagger)


WEIGHTS: dict[str, Callable[[Config, Any], str | None]] = {
    "check_prompts": lambda _, wildcards: str(wildcards.model),
    "count_tokens": lambda _, wildcards: str(wildcards.model),
    "embed_texts": lambda _, wildcards: str(wildcards.embedder),
    "generate_texts": _generator,
    "score_entities": _tagger,
    "score_likelihood": _scorer,
    "score_perplexity": _scored_generator,
}
"""Rule -> the function that returns what a job of it loads: the one line with which a rule opts in."""
