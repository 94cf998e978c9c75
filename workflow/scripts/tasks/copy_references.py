"""Copy the references of a prompted task to a cell, so that they are scored like generated texts."""

from pathlib import Path

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks.drawing import human_generations


def copy_references(references: Path, generations: Path) -> None:
    write_table(generations, human_generations(read_table(references, ["id", "text"]), tokens=0))


if __name__ == "__main__":
    run(copy_references)
