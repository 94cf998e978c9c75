"""Compute precision, recall, density and coverage of a cell and its groups for each draw of references."""

import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.files import read_array, read_table, write_json, write_meta, write_table
from textgamut.metrics.lengths import check_lengths
from textgamut.metrics.overlap import check_overlap
from textgamut.metrics.scores.support import group_labels, half_sample_table, support_scores
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
    half_samples: Path,
    texts: Sequence[Path],
    dataset: Path | None = None,
) -> None:
    """Score a cell: ``texts`` are its own and each draw's references; ``dataset`` has the prompts' groups."""
    started = time.monotonic()
    features = read_array(generated)
    columns = settings.get("groups", [])
    rows, components, halves = [], [], []
    with lease(1, wait=False), recorded_warnings(SmallSampleWarning) as messages:
        sides = [read_table(path, ["text"])["text"] for path in texts]
        check_lengths(itertools.chain(*sides[1:]), sides[0])
        check_overlap(itertools.chain(*sides[1:]), sides[0])
        for place, (draw, path) in enumerate(zip(settings["draws"], references, strict=True)):
            groups = {}
            if dataset:
                prompts = read_table(dataset, ["id", *columns])
                tables = read_table(texts[0], ["prompt_id"]), read_table(texts[1 + place], columns)
                groups = {column: group_labels(column, prompts, *tables) for column in columns}
            result = support_scores(read_array(path), features, settings["k"], settings["bootstrap"], groups)
            components.append(result.reference.shape[1])
            rows += [cell | {"draw": draw} | row for row in result.rows]
            halves.append(half_sample_table(result.half_samples, draw))
    write_meta(scores, settings, started, components=components, warnings=messages)
    write_table(half_samples, pd.concat(halves))
    write_json(scores, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_support(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            [Path(path) for path in snakemake.input.references],
            Path(snakemake.output.scores),
            Path(snakemake.output.half_samples),
            [Path(path) for path in snakemake.input.texts],
            next(map(Path, snakemake.input.dataset), None),
        )
