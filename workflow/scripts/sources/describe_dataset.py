"""Write the card of a dataset."""

from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.datasets.card import make_card
from textgamut.files import read_json, write_bytes, write_json
from textgamut.report.card import render_card
from textgamut.workflow.jobs import job


def describe_dataset(settings: dict[str, Any], dataset: str, texts: Path, meta: Path, card: Path) -> None:
    made = make_card(dataset, settings["dataset"], pd.read_parquet(texts), read_json(meta))
    write_bytes(card.with_suffix(".md"), render_card(made).encode())
    write_json(card, made)


if __name__ == "__main__":
    with job() as snakemake:
        describe_dataset(
            snakemake.params.settings,
            snakemake.wildcards.dataset,
            Path(snakemake.input.texts),
            Path(snakemake.input.meta),
            Path(snakemake.output.card),
        )
