"""Rank the methods of one task, or of several at once: tables and figures."""

import logging
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.files import read_table, write_bytes, write_meta
from textgamut.progress import recorded_warnings
from textgamut.rankings.method_scores import wide_method_scores
from textgamut.rankings.ranking import rank_methods as rank_scores
from textgamut.rankings.ranking import ranking_tables
from textgamut.report.figures.rankings import ranking_figures
from textgamut.report.figures.style import render
from textgamut.report.html import to_html
from textgamut.workflow.jobs import job

logger = logging.getLogger("textgamut.rank_methods")


def rank_methods(settings: dict[str, Any], texts: dict[str, Path], folder: Path) -> None:
    started = time.monotonic()
    criteria = settings["ranking"]["higher"] + settings["ranking"]["lower"]
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    frames, lacking, several = [], 0, 0
    for task, path in texts.items():
        frame = read_table(path, ["model", "decoding", "prompt_id", *criteria])
        frame["method"] = [names.get(pair) for pair in zip(frame["model"], frame["decoding"], strict=True)]
        frame = frame.dropna(subset="method")  # humans compete with no method
        frame["prompt"] = f"{task}/" + frame["prompt_id"]
        # Of several seeds or completions, the mean; one that is empty has no part in it, unless all are.
        cells = frame.groupby(["prompt", "method"], sort=False, as_index=False)
        frames.append(cells[criteria].mean())
        several += len(frame) - len(frames[-1])
        lacking += int(frame[criteria].isna().any(axis=1).sum())
    with recorded_warnings() as messages:
        scores = wide_method_scores(
            pd.concat(frames, ignore_index=True),
            settings["ranking"]["higher"],
            settings["ranking"]["lower"],
            missing_as_worst=True,
        )
        kinds = {
            kind: {name: facts[kind] for name, facts in settings["kinds"].items()}
            for kind in ("model", "strategy", "decoding")
        }
        ranking = rank_scores(scores, settings["ranking"]["depth_of"], kinds)
    if several and lacking:
        ranking.notes.append(
            f"{lacking} single texts are empty, or too short for a criterion: no part in their prompt's mean"
        )
    for note in ranking.notes:
        logger.warning("%s", note)
    models = {name: settings["kinds"][name]["model"] for name in scores.methods}
    title = f"Methods on {settings['title']}, {len(scores.prompts):,} prompts"
    for name, table in ranking_tables(ranking).items():
        write_bytes(folder / f"{name}.csv", table.to_csv(index=False).encode())
        if name not in ("orders", "dominance"):
            write_bytes(folder / f"{name}.html", to_html(table, f"{title}: {name}").encode())
    for name, figure in ranking_figures(ranking, models, title).items():
        write_bytes(folder / f"{name}.png", render(figure, "png"))
        write_bytes(folder / f"{name}.svg", render(figure, "svg"))
    write_meta(
        folder / "ranking.csv",
        settings,
        started,
        prompts=len(scores.prompts),
        pairs=asdict(ranking.pairs),
        notes=ranking.notes,
        warnings=messages,
    )


if __name__ == "__main__":
    with job() as snakemake:
        rank_methods(
            snakemake.params.settings,
            {Path(path).parent.name: Path(path) for path in snakemake.input.texts},
            Path(snakemake.output[0]).parent,
        )
