"""Make the texts that are measured from a cell's samples: the longest of each prompt, put together, cut."""

import logging
import time
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.errors import TextgamutError
from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks.answers import keep_longest, measured_text
from textgamut.text import count_words
from textgamut.workflow.jobs import job

logger = logging.getLogger("textgamut.collect_generations")

COLUMNS = ["id", "prompt_id", "completion", "continuation", "tokens", "finish"]


def collect_generations(
    settings: dict[str, Any], prompts: Path, samples: list[Path], generations: Path
) -> None:
    started = time.monotonic()
    beginnings = read_table(prompts, ["id", "base"]).set_index("id")["base"]
    frame = pd.concat([read_table(path, COLUMNS) for path in samples], ignore_index=True)
    if strange := set(frame["prompt_id"]) ^ set(beginnings.index):
        raise TextgamutError(
            f"{prompts}: {len(strange)} of prompts and samples have no partner, such as {min(strange)!r}: "
            f"remove {samples[0].parent} to generate anew"
        )
    place = {id_: i for i, id_ in enumerate(beginnings.index)}
    frame = frame.sort_values(
        ["prompt_id", "completion"],
        key=lambda column: column.map(place) if column.name == "prompt_id" else column,
    ).reset_index(drop=True)
    written, empty = len(frame), sum(not text.strip() for text in frame["continuation"])
    if keep := settings.get("keep"):
        frame = keep_longest(frame, keep)
    pairs = list(zip(frame["prompt_id"], frame["continuation"], strict=True))
    kind, max_words = settings["kind"], settings["max_words"]
    whole = [measured_text(kind, beginnings[id_], text, None) for id_, text in pairs]
    texts = [measured_text(kind, beginnings[id_], text, max_words) for id_, text in pairs]
    short = sum(count_words(text) < max_words for text in texts) if max_words else 0
    logger.info(
        "%d texts of %d samples: %d shorter than %s words; %d samples with an empty continuation",
        len(texts), written, short, max_words, empty,
    )  # fmt: skip
    write_meta(
        generations,
        settings,
        started,
        samples=written,
        shorter_than_max_words=short,
        empty_continuations=empty,
        mean_words_before_cut=sum(map(count_words, whole)) / len(whole),
    )
    write_table(generations, frame.assign(text=texts)[["id", "prompt_id", "text", "tokens", "finish"]])


if "snakemake" in globals():
    w = snakemake.wildcards
    with job(f"collect_generations {w.task}/{w.model}/{w.decoding}/seed{w.seed}", Path(snakemake.log[0])):
        collect_generations(
            snakemake.params.settings,
            Path(snakemake.input.prompts),
            [Path(path) for path in snakemake.input.samples],
            Path(snakemake.output.generations),
        )
