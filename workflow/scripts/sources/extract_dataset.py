"""Fetch the source of a dataset, extract its texts, and describe them in a card."""

import logging
import time
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from textgamut.card import make_card, render_card
from textgamut.datasets import extract
from textgamut.io import write_bytes, write_json, write_meta, write_table
from textgamut.jobs import job
from textgamut.registry import Dataset
from textgamut.sources import digest, opened

logger = logging.getLogger("textgamut.extract_dataset")


def extract_dataset(settings: dict[str, Any], dataset: str, contact: str | None, texts: Path) -> None:
    started = time.monotonic()
    entry = TypeAdapter(Dataset).validate_python(settings["dataset"])
    source = opened(entry.source, contact)
    frame = extract(source, entry)
    counts = frame.attrs.pop("counts")
    logger.info("%s", ", ".join(f"{count} {filter_}" for filter_, count in counts.items()))
    checksum = digest(source) if isinstance(source, Path) else None
    card = make_card(dataset, entry.model_dump(mode="json"), frame, counts, checksum)
    write_meta(texts, settings, started, counts=counts)
    write_json(texts.with_name("card.json"), card)
    write_bytes(texts.with_name("card.md"), render_card(card).encode())
    write_table(texts, frame)


if "snakemake" in globals():
    with job(f"extract_dataset {snakemake.wildcards.dataset}", Path(snakemake.log[0])):
        extract_dataset(
            snakemake.params.settings,
            snakemake.wildcards.dataset,
            snakemake.resources.get("contact"),
            Path(snakemake.output.texts),
        )
