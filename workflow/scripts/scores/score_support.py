"""Compute precision, recall, density and coverage of a cell and its groups for each draw of references."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_json, write_meta
from textgamut.metrics.scores.support import group_labels, support_scores
from textgamut.metrics.support import SmallSampleWarning
from textgamut.models.devices import lease
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_support(
    settings: dict[str, Any],
    cell: dict[str, Any],
    generated: Path,
    references: list[Path],
    scores: Path,
    texts: Sequence[Path] = (),
) -> None:
    """Score a cell. For groups, ``texts`` are the dataset, the generations and each draw's references."""
    started = time.monotonic()
    features = read_array(generated)
    columns = settings.get("groups", [])
    rows, components = [], []
    with lease(1, wait=False), recorded_warnings(SmallSampleWarning) as messages:
        for place, (draw, path) in enumerate(zip(settings["draws"], references, strict=True)):
            groups = {}
            if columns:
                dataset = read_table(texts[0], ["id", *columns])
                tables = read_table(texts[1], ["prompt_id"]), read_table(texts[2 + place], columns)
                groups = {column: group_labels(column, dataset, *tables) for column in columns}
            result = support_scores(read_array(path), features, settings["k"], settings["bootstrap"], groups)
            components.append(result.reference.shape[1])
            rows += [cell | {"draw": draw} | row for row in result.rows]
    write_meta(scores, settings, started, components=components, warnings=messages)
    write_json(scores, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_support(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
            [Path(path) for path in snakemake.input.get("texts", [])],
        )
