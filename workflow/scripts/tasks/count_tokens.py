"""Count the tokens per word of a dataset with a model's tokenizer."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_json
from textgamut.language import language_in
from textgamut.metrics.tokens_per_word import tokens_per_word
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.run.script import run


@contextmanager
def load(settings: dict[str, Any]) -> Iterator[Any]:
    yield load_tokenizer(prepare(parse_source(settings["source"])))


def count_tokens(texts: Path, ratio: Path, loaded: Any) -> None:
    frame = read_table(texts, ["text"])
    result = tokens_per_word(list(frame["text"]), loaded, language_in(frame))
    write_json(ratio, result._asdict())


if __name__ == "__main__":
    run(count_tokens, load)
