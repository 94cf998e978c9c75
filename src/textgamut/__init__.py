"""Measure open-ended text generation as distributions.

*Precision* is the share of the generated texts that lie within the support of human text; *recall* is the
share of human texts that lie within the support of the generated texts.

    import textgamut
    result = textgamut.score(reference_texts, generated_texts)
    result.precision, result.recall

The public names are imported lazily: importing the package loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# A type checker reads the same names from __init__.pyi.
_MODULES = {
    "TextgamutError": "errors",
    "between_cosine": "metrics.completions",
    "bootstrap_intervals": "metrics.support",
    "compare": "scoring",
    "compression_ratio": "metrics.compression",
    "conditional_vendi": "metrics.vendi",
    "cosine_matrix": "metrics.completions",
    "cut_to_words": "metrics.compression",
    "distinct_completions": "metrics.completions",
    "distinct_n": "metrics.ngram",
    "divergence_metrics": "metrics.divergence",
    "diversity": "metrics.ngram",
    "dominance_orders": "rankings.dominance",
    "effective_diversity": "metrics.completions",
    "embed": "features.embed",
    "expectation_adjusted_distinct": "metrics.ngram",
    "fit_bradley_terry": "rankings.bradley_terry",
    "frechet_distance": "metrics.distance",
    "gate": "scoring.gate",
    "group_metrics": "metrics.support",
    "homogenization": "metrics.compression",
    "likelihood": "metrics.likelihood",
    "load_config": "config.loading",
    "mmd": "metrics.distance",
    "ngram_diversity": "metrics.compression",
    "pairwise_cosine": "metrics.completions",
    "pareto_front": "rankings.dominance",
    "q_text": "rankings.qtext",
    "reduce_features": "features.reduce",
    "repetition_n": "metrics.ngram",
    "score": "scoring",
    "self_bleu": "metrics.ngram",
    "self_repetition": "metrics.compression",
    "support_metrics": "metrics.support",
    "support_sweep": "metrics.support",
    "tune_q_text": "rankings.qtext",
    "ufg_depth": "rankings.ufg_depth",
    "unigram_entropy": "metrics.ngram",
    "vendi_score": "metrics.vendi",
}

__all__ = sorted([*_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
