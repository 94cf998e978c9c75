"""Cut the texts of a cell, held-out human texts and the references to one length, if their lengths differ."""

import logging
from pathlib import Path

import pandas as pd

from textgamut.files import read_table, write_table
from textgamut.language import language_in, with_language, words_end_in
from textgamut.metrics.lengths import common_length
from textgamut.run.script import run
from textgamut.text import cut_words

logger = logging.getLogger("textgamut.cut_texts")

COLUMNS = ["id", "prompt_id", "text"]


def cut_texts(generations: Path, human: Path, references: list[Path], texts: Path) -> None:
    sets = [read_table(generations, COLUMNS), read_table(human, COLUMNS)]
    sets += [read_table(path, ["id", "text"]) for path in references]
    language = language_in(sets[0])
    words = common_length([list(frame["text"]) for frame in sets], language) if len(sets[1]) else None
    if words is None:  # nothing to cut, or no texts could be held out
        logger.info("the lengths are alike")
        write_table(texts, pd.DataFrame(columns=["place", "prompt_id", "text", "words"]))
        return
    logger.info("cut to %d words", words)
    cut = [
        pd.DataFrame(
            {
                "place": place,
                "prompt_id": frame.get("prompt_id"),
                "text": [cut_words(text, words, words_end_in(language)) for text in frame["text"]],
                "words": words,
            }
        )
        for place, frame in enumerate(sets)
    ]
    write_table(texts, with_language(pd.concat(cut, ignore_index=True), language))


if __name__ == "__main__":
    run(cut_texts)
