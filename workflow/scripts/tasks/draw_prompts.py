"""Draw the prompts of a task of any kind."""

from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks import drawing


def draw_prompts(settings: dict[str, Any], texts: Path, prompts: Path) -> dict[str, Any]:
    drawn = drawing.draw_prompts(read_table(texts, drawing.DATASET_COLUMNS[settings["kind"]]), settings)
    write_table(prompts, drawn)
    return {"prompts": len(drawn)}


if __name__ == "__main__":
    run(draw_prompts)
