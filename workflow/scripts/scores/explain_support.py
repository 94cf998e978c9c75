"""Write the page of a cell's texts that precision and recall missed, for the first draw of references."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_bytes, write_meta
from textgamut.metrics.scores.support import support_scores
from textgamut.models.devices import lease
from textgamut.progress import recorded_warnings
from textgamut.report.missed import EmbeddedTexts, missed_texts_page
from textgamut.workflow.jobs import job


def explain_support(
    settings: dict[str, Any],
    title: str,
    generations: Path,
    generated: Path,
    reference_texts: Path,
    references: Path,
    page: Path,
) -> None:
    started = time.monotonic()
    with lease(1, wait=False), recorded_warnings(Warning):
        result = support_scores(read_array(references), read_array(generated), settings["k"])
    sides = []
    for features, path in ((result.reference, reference_texts), (result.generated, generations)):
        texts = read_table(path, ["id", "text"]).head(len(features))
        sides.append(EmbeddedTexts(features, list(texts["id"]), list(texts["text"])))
    content = missed_texts_page(title, settings["embedder"], settings["k"], sides[0], sides[1], result)
    write_meta(page, settings, started)
    write_bytes(page, content.encode())


if __name__ == "__main__":
    with job() as snakemake:
        w = snakemake.wildcards
        explain_support(
            snakemake.params.settings,
            f"{w.task} by {w.model}, {w.decoding}, seed {w.seed}: what precision and recall missed",
            Path(snakemake.input.generations),
            Path(snakemake.input.generated),
            Path(snakemake.input.reference_texts),
            Path(snakemake.input.references),
            Path(snakemake.output.page),
        )
