"""What the jobs of a rule load: jobs that load the same share it (:mod:`textgamut.run.companions`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, TAGGER, Family
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
    loaded = filter(None, (wildcards.model, config.amateur_of(wildcards.decoding)))
    return None if served else ", ".join(loaded)


def _named(config: Config, wildcards: Any, family: Family) -> str:
    """Return the model or the tagger that a task's settings of a family name, and its dtype."""
    asked = family_of(config, wildcards.task, family.name)
    named = [name for _, _, name in asked.named()]
    return ", ".join([*named, *([asked.dtype] if hasattr(asked, "dtype") else [])])


def _scored_generator(config: Config, wildcards: Any) -> str | None:
    family = family_of(config, wildcards.task, "likelihood")
    return f"{wildcards.model}, {family.dtype}" if scores_again(config, wildcards) else None


WEIGHTS: dict[str, Callable[[Config, Any], str | None]] = {
    "check_prompts": lambda _, wildcards: str(wildcards.model),
    "count_tokens": lambda _, wildcards: str(wildcards.model),
    "embed_texts": lambda _, wildcards: str(wildcards.embedder),
    "generate_texts": _generator,
    "score_perplexity": _scored_generator,
    **{
        f"score_{family.name}": partial(_named, family=family)
        for family in FAMILIES.values()
        if not {MODEL, TAGGER}.isdisjoint(family.reads)
    },
}
"""Rule -> the function that returns what a job of it loads: the one line with which a rule opts in."""
