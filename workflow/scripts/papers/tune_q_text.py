"""Tune the parameters of Q*Text to the user's human ratings."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_meta
from textgamut.rankings.qtext import CRITERIA
from textgamut.rankings.tuning import read_ratings, tune_by_ratings
from textgamut.workflow.jobs import job


def tune_q_text(
    settings: dict[str, Any], texts: dict[str, Path], ratings: Path, outputs: dict[str, Path]
) -> None:
    started = time.monotonic()
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    rated = read_ratings(ratings, settings["tasks"])
    columns = ["model", "decoding", "prompt_id", *CRITERIA]
    tables = {task: read_table(path, columns) for task, path in texts.items()}
    tuned = tune_by_ratings(ratings, rated, tables, names)
    write_bytes(outputs["rated"], to_csv(tuned.texts))
    write_meta(outputs["table"], settings, started, ratings=len(rated))
    write_bytes(outputs["table"], to_csv(tuned.parameters))


if __name__ == "__main__":
    with job() as snakemake:
        tune_q_text(
            snakemake.params.settings,
            {Path(path).parent.name: Path(path) for path in snakemake.input.texts},
            Path(snakemake.input.ratings),
            {name: Path(path) for name, path in snakemake.output.items()},
        )
