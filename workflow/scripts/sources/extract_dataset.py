"""Fetch the source of a dataset and extract its texts."""

import logging
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.sources import HfDatasetSource
from textgamut.datasets.extract import extract, open_source
from textgamut.files import write_meta, write_table
from textgamut.sources.cache import digest
from textgamut.workflow.jobs import job

logger = logging.getLogger("textgamut.extract_dataset")


def extract_dataset(settings: dict[str, Any], contact: str | None, rate: float, texts: Path) -> None:
    started = time.monotonic()
    entry = TypeAdapter(Dataset).validate_python(settings["dataset"])
    source = open_source(entry.source, contact, rate)
    frame = extract(source, entry)
    counts = frame.attrs.pop("counts")
    logger.info("%s", ", ".join(f"{count} {filter_}" for filter_, count in counts.items()))
    file_digest = None
    # The file of a hub dataset is a converted copy, with bytes that depend on the version of pyarrow.
    if isinstance(source, Path) and not isinstance(entry.source, HfDatasetSource):
        file_digest = digest(source)
    write_meta(
        texts,
        settings,
        started,
        counts=counts,
        extracted=datetime.now(UTC).strftime("%Y-%m-%d"),
        source_sha256=file_digest,
    )
    write_table(texts, frame)


if __name__ == "__main__":
    with job() as snakemake:
        extract_dataset(
            snakemake.params.settings,
            snakemake.resources.contact,
            float(snakemake.resources.requests_per_second),
            Path(snakemake.output.texts),
        )
