"""Count the tokens per word of a dataset with a model's tokenizer."""

import contextlib
import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_json, write_meta
from textgamut.metrics.tokens_per_word import tokens_per_word
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake


def load(job: Snakemake) -> contextlib.nullcontext[Any]:
    return contextlib.nullcontext(load_tokenizer(prepare(parse_source(job.params.settings["source"]))))


def count_tokens(job: Snakemake, tokenizer: Any) -> None:
    started = time.monotonic()
    result = tokens_per_word(list(read_table(Path(job.input.texts), ["text"])["text"]), tokenizer)
    ratio = Path(job.output.ratio)
    write_meta(ratio, job.params.settings, started)
    write_json(ratio, result._asdict())


if __name__ == "__main__":
    run(load, count_tokens)
