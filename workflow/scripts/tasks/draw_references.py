"""Draw one set of references of a task."""

from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks import drawing


def draw_references(settings: dict[str, Any], draw: int, texts: Path, references: Path) -> None:
    drawn = drawing.draw_references(read_table(texts, ["id", "text"]), settings, draw)
    write_table(references, drawn)


if __name__ == "__main__":
    run(draw_references)
