"""The options of ``textgamut.score`` and ``compare``, which the command line offers, too."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from textgamut.catalogue import METRICS, metrics_of, scored_families
from textgamut.catalogue.support import MOST_HALF_SAMPLES

Function = TypeVar("Function", bound=Callable[..., Any])
Pooling = Literal["mean", "cls", "last-token", "sentence-transformers"]


def _shown(description: str, metavar: str = "", least: int | None = None) -> dict[str, Any]:
    """Return what is shown of an option: its description, what stands for its value, the smallest value."""
    return {"help": description, "metavar": metavar, "least": least}


def _families() -> str:
    """List the families that can be computed, each with its metrics."""
    labels = {name: [METRICS[metric].label for metric in metrics_of(name)] for name in scored_families()}
    return ", ".join(f"{name} ({', '.join(dict.fromkeys(found))})" for name, found in labels.items())


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is computed, and with what."""

    metrics: Sequence[str] = field(
        default=("support", "divergence", "length", "ngram"),
        metadata=_shown(f"Families to compute: {_families()}.", "FAMILY..."),
    )
    n: int | None = field(
        default=None,
        metadata=_shown(
            "Number of texts of each side to use, the first ones. As many further references, drawn by seed, "
            "are the held-out human texts. Defaults to the number of texts of the smaller side.",
            "N",
            least=2,
        ),
    )
    language: str = field(
        default="auto",
        metadata=_shown(
            "Language of the texts, a code such as en, de or zh, which decides where words end and which "
            "metrics are defined. Defaults to the language that most of the references are in.",
            "CODE",
        ),
    )
    embedder: str | Path = field(
        default="minilm",
        metadata=_shown(
            "Model that computes the features: the name of an entry in embedders.yaml, or the folder of a "
            "checkpoint.",
            "NAME",
        ),
    )
    pooling: Pooling | None = field(
        default=None,
        metadata=_shown(
            "Pooling of an embedder given as a folder. Defaults to the checkpoint's own, if it has "
            "modules.json.",
        ),
    )
    max_tokens: int = field(
        default=512,
        metadata=_shown(
            "Maximum number of tokens per text of an embedder given as a folder; longer texts are cut.",
            "N",
            least=1,
        ),
    )
    k: int = field(
        default=4,
        metadata=_shown(
            "Number of nearest neighbours that define the radius of a ball in the support metrics, less than "
            "the number of texts of a side.",
            "K",
            least=1,
        ),
    )
    bootstrap: int = field(
        default=200,
        metadata=_shown(
            "Number of random parts of the texts for the intervals of metrics of sets; 0 for none, and at "
            f"most {MOST_HALF_SAMPLES:,}. There are none for 4 k texts or fewer.",
            "N",
            least=0,
        ),
    )
    kmeans_seeds: Sequence[int] = field(
        default=(0, 1, 2, 3, 4),
        metadata=_shown(
            "Seeds of the k-means clusterings over which the divergence metrics are averaged.",
            "SEED...",
            least=0,
        ),
    )
    tokenizer: str | Path | None = field(
        default=None,
        metadata=_shown(
            "Model with the tokenizer for Self-BLEU, distinct-n, EAD and unigram entropy: the name of an "
            "entry in models.yaml, or a folder. Defaults to words, without EAD.",
            "NAME",
        ),
    )
    refusals: Sequence[str] = field(
        default=(),
        metadata=_shown(
            "Phrases at the beginning of a text that make it a refusal (defects), besides the shipped ones, "
            "which are English.",
            "PHRASE...",
        ),
    )
    scorer: str | Path | None = field(
        default=None,
        metadata=_shown(
            "Model that computes the likelihood: the name of an entry in models.yaml, or a folder. Required "
            "for likelihood.",
            "NAME",
        ),
    )
    registries: str | Path | None = field(
        default=None,
        metadata=_shown(
            "Folder of your own registries, which extend the built-in ones. Defaults to config in the "
            "working directory, if that exists.",
            "FOLDER",
        ),
    )


def all_options(but: Collection[str] = ()) -> tuple[Field[Any], ...]:
    """Return the options, as fields of a dataclass, without some of them."""
    return tuple(option for option in fields(Options) if option.name not in but)


def with_options(*but: str) -> Callable[[Function], Function]:
    """Return a decorator that shows the options in the signature and the description of a function.

    The function takes ``**options``.

    Args:
        but: Names of options that the function does not take.
    """
    return partial(_with_options, all_options(but))


def _with_options(options: Sequence[Field[Any]], function: Function) -> Function:
    shown = inspect.signature(function)
    own = [of for of in shown.parameters.values() if of.kind is not inspect.Parameter.VAR_KEYWORD]
    named = [
        inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type
        )
        for option in options
    ]
    function.__signature__ = shown.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
    described = "\n".join(f"        {option.name}: {option.metadata['help']}" for option in options)
    function.__doc__ = (function.__doc__ or "").replace("        options: As listed there.", described)
    return function
