"""Count the tokens per word of a dataset with a model's tokenizer."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_json, write_meta
from textgamut.metrics.tokens_per_word import tokens_per_word
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.workflow.jobs import job


def count_tokens(settings: dict[str, Any], texts: Path, ratio: Path) -> None:
    started = time.monotonic()
    tokenizer = load_tokenizer(prepare(parse_source(settings["source"])))
    result = tokens_per_word(list(read_table(texts, ["text"])["text"]), tokenizer)
    write_meta(ratio, settings, started)
    write_json(ratio, result._asdict())


if __name__ == "__main__":
    with job() as snakemake:
        count_tokens(snakemake.params.settings, Path(snakemake.input.texts), Path(snakemake.output.ratio))
