"""Draw the prompts of a task, of whatever kind."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_meta, write_table
from textgamut.tasks import draws as tasks
from textgamut.workflow.jobs import job


def draw_prompts(settings: dict[str, Any], texts: Path, prompts: Path) -> None:
    started = time.monotonic()

    def given(*names: str) -> dict[str, Any]:
        return {name: settings[name] for name in names}

    kind, task = settings["kind"], settings["task"]
    if kind == "continuation":
        sizes = given("n", "min_words", "prompt_words")
        drawn = tasks.draw_prompts(read_table(texts, ["id", "text"]), task, **sizes)
    elif kind == "biographies":
        sizes = given("dataset", "n", "examples", "draws")
        drawn = tasks.draw_biography_prompts(read_table(texts, ["id", "name", "text"]), task, **sizes)
    elif kind == "creative":
        drawn = tasks.draw_creative_prompts(task, settings["n"])
    else:
        drawn = tasks.draw_given_prompts(read_table(texts, ["id", "prompt"]), task, settings["n"])
    write_meta(prompts, settings, started, prompts=len(drawn))
    write_table(prompts, drawn)


if __name__ == "__main__":
    with job() as snakemake:
        draw_prompts(snakemake.params.settings, Path(snakemake.input.texts), Path(snakemake.output.prompts))
