"""Compute how much the completions of one prompt differ in a cell."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_meta, write_scores
from textgamut.metrics.scores.completions import completions_scores, passes
from textgamut.progress import recorded_warnings
from textgamut.workflow.jobs import cell_of, job


def score_completions(
    settings: dict[str, Any],
    cell: dict[str, Any],
    generated: Path,
    generations: Path,
    scores: Path,
    quality: list[Path],
) -> None:
    """Score a cell; ``quality`` are the files with the metric of the bar of quality, if there is one."""
    started = time.monotonic()
    texts = read_table(generations, ["id", "prompt_id"])
    passing = None
    if bar := settings["quality"]:
        tables = [read_table(path, ["id"]) for path in quality]
        passing = passes(texts, tables, bar["metric"], bar["at_least"], bar["at_most"])
    with recorded_warnings() as messages:
        rows = completions_scores(
            read_array(generated), list(texts["prompt_id"]), settings["threshold"], settings["first"], passing
        )
    write_meta(scores, settings, started, warnings=messages)
    write_scores(scores, cell, rows)


if __name__ == "__main__":
    with job() as snakemake:
        score_completions(
            snakemake.params.settings,
            cell_of(snakemake.wildcards),
            Path(snakemake.input.generated),
            Path(snakemake.input.texts),
            Path(snakemake.output.scores),
            [Path(path) for path in snakemake.input.quality],
        )
