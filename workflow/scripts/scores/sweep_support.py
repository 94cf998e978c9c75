"""Score a cell for several N and k against every draw of references, from one pass over the distances."""

import time
from pathlib import Path
from typing import Any

from textgamut.features.reduce import reduce_features
from textgamut.files import read_array, write_json, write_meta
from textgamut.metrics.catalogue import metrics_of
from textgamut.metrics.scores import ALL
from textgamut.metrics.support import SmallSampleWarning, support_sweep
from textgamut.models.devices import lease
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def sweep_support(
    settings: dict[str, Any], cell: dict[str, Any], generated: Path, references: list[Path], scores: Path
) -> None:
    started = time.monotonic()
    features = read_array(generated)
    sweep = settings["sweep"]
    points = [(n, settings["k"]) for n in sweep["n"]] + [(len(features), k) for k in sweep["k"]]
    rows = []
    with lease(1, wait=False), recorded_warnings(SmallSampleWarning) as messages:
        for draw, path in zip(settings["draws"], references, strict=True):
            reduced = reduce_features(read_array(path), features)
            for result in support_sweep(*reduced, list(dict.fromkeys(points))):
                facts = cell | {"draw": draw, "n": result.n, "k": result.k, "group": ALL}
                rows += [
                    facts | {"metric": name, "value": getattr(result, name)} for name in metrics_of("support")
                ]
    write_meta(scores, settings, started, warnings=messages)
    write_json(scores, rows)


if __name__ == "__main__":
    with job() as snakemake:
        sweep_support(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
        )
