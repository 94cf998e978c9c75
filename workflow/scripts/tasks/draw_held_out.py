"""Draw human texts that are held out of the references of a task, the yardstick of its scores."""

import logging
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks import drawing

logger = logging.getLogger("textgamut.draw_held_out")


def draw_held_out(settings: dict[str, Any], texts: Path, generations: Path) -> dict[str, Any]:
    drawn = drawing.draw_held_out(read_table(texts, ["id", "text"]), settings)
    if not len(drawn):
        logger.warning("%s: too few texts are left to hold any out: there is no yardstick", settings["task"])
    write_table(generations, drawn)
    return {"texts": len(drawn)}


if __name__ == "__main__":
    run(draw_held_out)
