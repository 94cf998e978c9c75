"""Score a cell against every draw of references: precision, recall, density, coverage."""

import logging
import time
import warnings
from pathlib import Path
from typing import Any

from textgamut.io import read_array, write_json, write_meta
from textgamut.jobs import job
from textgamut.metrics.support import reduce_features, support_metrics
from textgamut.tables import METRICS

logger = logging.getLogger("textgamut.score_support")


def score_support(
    settings: dict[str, Any], cell: dict[str, Any], generated: Path, references: list[Path], scores: Path
) -> None:
    started = time.monotonic()
    features = read_array(generated)
    rows = []
    components = []
    for draw, path in zip(settings["draws"], references, strict=True):
        reduced_reference, reduced_generated = reduce_features(read_array(path), features)
        components.append(reduced_reference.shape[1])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = support_metrics(reduced_reference, reduced_generated, settings["k"])
        for warning in told:
            logger.warning("draw %d: %s", draw, warning.message)
        facts = cell | {"draw": draw, "n": len(result.in_generated), "k": settings["k"]}
        rows += [facts | {"metric": name, "value": getattr(result, name)} for name in METRICS]
    write_meta(scores, settings, started, components=components)
    write_json(scores, rows)


if "snakemake" in globals():
    w = snakemake.wildcards
    with job(f"score_support {w.task}/{w.model}/{w.decoding}/seed{w.seed}", Path(snakemake.log[0])):
        score_support(
            snakemake.params.settings,
            {
                "task": w.task,
                "model": w.model,
                "decoding": w.decoding,
                "seed": int(w.seed),
                "embedder": w.embedder,
            },
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
        )
