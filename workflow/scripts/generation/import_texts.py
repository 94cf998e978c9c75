"""Read the texts of a cell that were generated elsewhere."""

import logging
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import GenerationsSource, UrlSource
from textgamut.files import read_table, write_table
from textgamut.generation.given.given_text import read_texts
from textgamut.generation.given.matching import CellTexts, cell_samples
from textgamut.generation.requests import sample_table
from textgamut.run.script import run
from textgamut.sources.fetch import fetch, reading
from textgamut.tasks.seeds import of_cell
from textgamut.tasks.templates import Prompt

logger = logging.getLogger("textgamut.import_texts")


def import_texts(
    settings: dict[str, Any],
    task: str,
    decoding: str,
    seed: int,
    prompts: Path,
    texts: list[Path],
    samples: Path,
) -> dict[str, Any]:
    source = GenerationsSource.model_validate(settings["model"]["source"])
    download = UrlSource(kind="url", url=source.url, sha256=source.sha256) if source.url else None
    if download:
        texts = [fetch(download)]
    every = read_table(prompts, ["id", *Prompt._fields])
    own = of_cell(every, seed, task, settings.get("n"))
    cell = CellTexts(
        task, source.model, decoding, settings["decodings"], seed, settings["seeds"],
        settings["completions"], own_prompts="seed" in every,
    )  # fmt: skip
    with reading(download, texts[0]):
        found = cell_samples(
            [text for path in texts for text in read_texts(path, source)],
            cell,
            own,
            every.drop(index=own.index),
            source.with_prompt,
        )
    logger.info("%d texts of %d prompts", len(found), len(own))
    frame = sample_table(found)
    frame.attrs["engines"] = []
    write_table(samples, frame)
    return {"device": "elsewhere", "samples": len(frame), "new_tokens": int(frame["tokens"].sum())}


if __name__ == "__main__":
    run(import_texts)
