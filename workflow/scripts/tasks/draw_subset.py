"""Draw a subset of a labelled dataset that simulates a model."""

from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks import drawing


def draw_subset(settings: dict[str, Any], seed: int, texts: Path, generations: Path) -> None:
    drawn = drawing.draw_subset(read_table(texts, ["id", "text"]), settings, seed)
    write_table(generations, drawn)


if __name__ == "__main__":
    run(draw_subset)
