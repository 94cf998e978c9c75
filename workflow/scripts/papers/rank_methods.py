"""Rank the methods of one or several tasks, and write tables and figures."""

import logging
from pathlib import Path
from typing import Any

from textgamut.files import read_table, to_csv, write_bytes, write_table
from textgamut.inference.resamples import draw_resamples, draw_swaps
from textgamut.rankings.method_scores import scores_table
from textgamut.rankings.ranking import rank_texts, ranking_tables
from textgamut.rankings.score_table import common_methods, kinds_of
from textgamut.report import table_formats
from textgamut.report.figures import look
from textgamut.report.figures.ranking_figures import ranking_figures
from textgamut.report.figures.style import FORMATS, render
from textgamut.report.table_formats import ShownTable
from textgamut.run.script import run

logger = logging.getLogger("textgamut.rank_methods")


def rank_methods(settings: dict[str, Any], texts: list[Path], table: Path) -> dict[str, Any]:
    criteria = {name: settings["ranking"][name] for name in ("higher", "lower")}
    columns = ["model", "decoding", "prompt_id", *criteria["higher"], *criteria["lower"]]
    tables = {path.parent.name: read_table(path, columns) for path in texts}
    if "methods" in settings:
        names = {(model, decoding): name for model, decoding, name in settings["methods"]}
        kinds = settings["kinds"]
    else:
        names = common_methods(tables)
        kinds = kinds_of(tables, names)
    options = {name: settings["ranking"][name] for name in ("depth_of", "cardinal", "steps")}
    options["prompts"] = settings.get("prompts")
    scores, ranking = rank_texts(
        tables, names, **criteria, kinds=kinds, resample=draw_resamples, swap=draw_swaps, **options
    )
    for note in ranking.notes:
        logger.warning("%s", note)
    models = {name: kinds["model"][name] for name in scores.methods}
    title = f"Methods on {settings['title']}, {ranking.prompts:,} prompts"
    folder = table.parent
    for name, found in ranking_tables(ranking).items():
        write_bytes(folder / f"{name}.csv", to_csv(found))
        if name not in ("orders", "front", "dominance", "pairs"):
            shown = ShownTable(found, f"{title}: {name}")
            for suffix in table_formats.FORMATS if name == "ranking" else ("html",):
                write_bytes(folder / f"{name}.{suffix}", table_formats.FORMATS[suffix](shown).encode())
    labels = {kind: kinds[kind] for kind in ("model", "strategy") if kind in kinds}
    write_table(folder / "scores.parquet", scores_table(scores, labels))
    with look.using(settings.get("figures", {})):
        for name, figure in ranking_figures(ranking, models, title).items():
            for suffix in FORMATS:
                write_bytes(folder / f"{name}.{suffix}", render(figure, suffix))
    return {"notes": ranking.notes}


if __name__ == "__main__":
    run(rank_methods)
