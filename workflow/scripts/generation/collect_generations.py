"""Put prompts and continuations together to the texts that are measured."""

import logging
import time
from pathlib import Path
from typing import Any

from textgamut.draw import count_words, cut_words
from textgamut.io import read_table, write_meta, write_table
from textgamut.jobs import job

logger = logging.getLogger("textgamut.collect_generations")


def collect_generations(settings: dict[str, Any], prompts: Path, samples: Path, generations: Path) -> None:
    started = time.monotonic()
    beginnings = read_table(prompts, ["id", "base"]).set_index("id")["base"]
    frame = read_table(samples, ["id", "prompt_id", "completion", "tokens", "finish"])
    whole = [beginnings[row.prompt_id] + row.completion for row in frame.itertuples()]
    texts = [cut_words(text, settings["max_words"]) for text in whole]
    short = sum(count_words(text) < settings["max_words"] for text in texts)
    empty = sum(not completion.strip() for completion in frame["completion"])
    logger.info(
        "%d texts: %d shorter than %d words, %d with an empty continuation",
        len(texts), short, settings["max_words"], empty,
    )  # fmt: skip
    write_meta(
        generations,
        settings,
        started,
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
            Path(snakemake.input.samples),
            Path(snakemake.output.generations),
        )
