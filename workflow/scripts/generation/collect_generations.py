"""Extract the texts to be measured from the samples of a cell."""

import logging
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.errors import DataError, TextgamutError
from textgamut.files import read_attributes, read_table, write_table
from textgamut.language import language_in, with_language, words_end_of
from textgamut.run.script import run
from textgamut.tasks.answers import RECORDED, count_copies, measured_answers
from textgamut.tasks.seeds import of_cell

logger = logging.getLogger("textgamut.collect_generations")

COLUMNS = ["id", "prompt_id", "completion", "continuation", *RECORDED]


def collect_generations(
    settings: dict[str, Any], seed: int, prompts: Path, samples: list[Path], generations: Path
) -> dict[str, Any]:
    frame = pd.concat([read_table(path, COLUMNS) for path in samples], ignore_index=True)
    engines = sorted({name for path in samples for name in read_attributes(path)["engines"] if name})
    asked = read_table(prompts, ["id", "base"])
    beginnings = of_cell(asked, seed, settings["task"], settings.get("n"))
    try:
        texts, counts = measured_answers(
            frame,
            beginnings,
            settings["kind"],
            settings["max_words"],
            settings.get("keep"),
            settings.get("max_characters"),
            settings.get("closing"),
            words_end_of(asked, settings.get("words_end")),
        )
    except TextgamutError as error:
        raise DataError(f"{prompts}: {error}: remove {samples[0].parent} to generate them again") from error
    if settings["strategy"] == "sampling":
        counts["copies"] = count_copies(frame)
    if len(engines) > 1:
        warnings.warn(
            f"{samples[0].parent}: the shards are from different engines: {'; '.join(engines)}: "
            "delete the folder to generate them again",
            stacklevel=2,
        )
    most = settings["max_words"]
    shorter = "" if most is None else f": {counts['shorter_than_max_words']} shorter than {most} words"
    unclosed = f", {counts.get('unclosed_thoughts')} of them with an unclosed thought"
    logger.info(
        "%d texts of %d samples%s; %d samples with an empty continuation%s",
        len(texts), counts["samples"], shorter, counts["empty_continuations"],
        unclosed if "closing" in settings else "",
    )  # fmt: skip
    write_table(generations, with_language(texts, language_in(asked)))
    return {**counts, "engines": engines}


if __name__ == "__main__":
    run(collect_generations)
