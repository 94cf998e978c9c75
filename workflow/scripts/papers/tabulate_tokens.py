"""Tabulate the tokens per word, with the published values (PR Table B.2)."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_json, write_bytes, write_meta
from textgamut.metrics.tokens_per_word import tokens_table
from textgamut.report.html import to_html
from textgamut.workflow.jobs import job


def tabulate_tokens(settings: dict[str, Any], ratios: list[Path], csv: Path, html: Path) -> None:
    started = time.monotonic()
    models = {path.stem: read_json(path) for path in ratios}
    table = tokens_table(models, settings["models"])
    write_meta(csv, settings, started)
    write_bytes(csv, table.to_csv(index=False).encode())
    caption = f"Tokens per word on {settings['dataset']}, words by NLTK (as in PR Table B.2)"
    write_bytes(html, to_html(table, caption).encode())


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_tokens(
            snakemake.params.settings,
            [Path(path) for path in snakemake.input.ratios],
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
        )
