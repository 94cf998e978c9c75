"""Score a cell against every draw of references: precision, recall, density, coverage, also per group."""

import time
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.files import read_array, read_table, write_json, write_meta
from textgamut.metrics.scores import support_scores
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
    texts: list[Path] | None = None,
) -> None:
    """Score one cell. For groups, ``texts`` are the dataset, the generations, and each draw's references."""
    started = time.monotonic()
    features = read_array(generated)
    rows = []
    components = []
    with lease(1, wait=False), recorded_warnings(SmallSampleWarning) as messages:
        for place, (draw, path) in enumerate(zip(settings["draws"], references, strict=True)):
            groups = {
                column: _groups(column, texts[0], texts[1], texts[2 + place])
                for column in settings.get("groups", [])
            }
            result = support_scores(read_array(path), features, settings["k"], settings["bootstrap"], groups)
            components.append(result.reference.shape[1])
            rows += [cell | {"draw": draw} | row for row in result.rows]
    write_meta(scores, settings, started, components=components, warnings=messages)
    write_json(scores, rows)


def _groups(
    column: str, dataset: Path, generations: Path, references: Path
) -> tuple[list[str | None], list[str | None]]:
    """Return the group of each reference, and of each generated text: that of the text of its prompt."""
    of_text = read_table(dataset, ["id", column]).set_index("id")[column]
    generated = of_text.reindex(read_table(generations, ["prompt_id"])["prompt_id"])
    return _labels(read_table(references, [column])[column]), _labels(generated)


def _labels(column: pd.Series) -> list[str | None]:
    return [None if pd.isna(label) else str(label) for label in column]


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
