"""Fetch the source of a dataset and extract its texts."""

import logging
import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config import Dataset
from textgamut.datasets import extract
from textgamut.io import write_meta, write_table
from textgamut.jobs import job
from textgamut.sources import fetch

logger = logging.getLogger("textgamut.extract_dataset")


def extract_dataset(settings: dict[str, Any], texts: Path) -> None:
    started = time.monotonic()
    entry = TypeAdapter(Dataset).validate_python(settings["dataset"])
    frame = extract(fetch(entry.source), entry)
    counts = frame.attrs.pop("counts")
    logger.info("%s", ", ".join(f"{count} {filter_}" for filter_, count in counts.items()))
    write_meta(texts, settings, started, counts=counts)
    write_table(texts, frame)


if "snakemake" in globals():
    with job(f"extract_dataset {snakemake.wildcards.dataset}", Path(snakemake.log[0])):
        extract_dataset(snakemake.params.settings, Path(snakemake.output.texts))
