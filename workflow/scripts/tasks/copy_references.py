"""Copy the references of a prompted task to a cell, so that they are scored like generated texts."""

from pathlib import Path

from textgamut.files import read_table, write_table
from textgamut.language import language_in, with_language
from textgamut.run.script import run
from textgamut.tasks.drawing import human_generations


def copy_references(references: Path, generations: Path) -> None:
    drawn = read_table(references, ["id", "text"])
    write_table(generations, with_language(human_generations(drawn, tokens=0), language_in(drawn)))


if __name__ == "__main__":
    run(copy_references)
