"""Tabulate means, standard deviations and correlations of the per-text metrics of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_meta
from textgamut.report.html import to_html
from textgamut.report.tables import correlation_table, texts_table
from textgamut.workflow.jobs import job


def tabulate_texts(settings: dict[str, Any], texts: Path, csv: Path, html: Path, correlations: Path) -> None:
    started = time.monotonic()
    frame = read_table(texts, ["model", "decoding", "words"])
    table = texts_table(frame)
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    methods = [names[pair] for pair in zip(table["model"], table["decoding"], strict=True)]
    table.insert(0, "method", methods)
    write_meta(csv, settings, started)
    write_bytes(correlations, to_csv(correlation_table(frame), index_label=""))
    title = "; ".join([f"Metrics of single texts of {settings['task']}", *settings["missing"]])
    write_bytes(html, to_html(table.drop(columns=["model", "decoding"]), title).encode())
    write_bytes(csv, to_csv(table))


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_texts(
            snakemake.params.settings,
            Path(snakemake.input.texts),
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
            Path(snakemake.output.correlations),
        )
