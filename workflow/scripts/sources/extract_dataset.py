"""Fetch the source of a dataset and extract its texts."""

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.sources import HfDatasetSource
from textgamut.datasets.extract import extract, open_source
from textgamut.files import digest, write_table
from textgamut.run.script import run

logger = logging.getLogger("textgamut.extract_dataset")


def extract_dataset(
    settings: dict[str, Any], contact: str | None, requests_per_second: str, texts: Path
) -> dict[str, Any]:
    entry = TypeAdapter(Dataset).validate_python(settings["dataset"])
    opened = open_source(entry.source, contact, float(requests_per_second))
    frame = extract(opened, entry)
    counts = frame.attrs.pop("counts")
    logger.info("%s", ", ".join(f"{count} {filter_}" for filter_, count in counts.items()))
    file_digest = None
    # The file of a hub dataset is a converted copy, with bytes that depend on the version of pyarrow.
    if isinstance(opened, Path) and not isinstance(entry.source, HfDatasetSource):
        file_digest = digest(opened)
    write_table(texts, frame)
    extracted = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"counts": counts, "extracted": extracted, "source_sha256": file_digest}


if __name__ == "__main__":
    run(extract_dataset)
