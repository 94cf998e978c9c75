"""Draw the texts that a model is fine-tuned on."""

from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_table
from textgamut.run.script import run
from textgamut.tasks import drawing


def draw_training_texts(
    settings: dict[str, Any],
    model: str,
    texts: Path,
    used: list[Path],
    other_prompts: list[Path],
    training: Path,
) -> dict[str, Any]:
    ids = {id_ for path in used for id_ in read_table(path, ["id"])["id"]}
    prompts = {prompt for path in other_prompts for prompt in read_table(path, ["base"])["base"]}
    dataset = read_table(texts, ["id", "prompt", "text"])
    drawn = drawing.draw_training_texts(dataset, ids, prompts, model, settings)
    write_table(training, drawn)
    return {"texts": len(drawn)}


if __name__ == "__main__":
    run(draw_training_texts)
