"""Tune the parameters of Q*Text to the user's human ratings."""

from pathlib import Path
from typing import Any

from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.files import read_table, to_csv, write_bytes
from textgamut.rankings.tuning import read_ratings, tune_by_ratings
from textgamut.run.script import run


def tune_q_text(
    settings: dict[str, Any], texts: list[Path], ratings: Path, table: Path, rated: Path
) -> dict[str, Any]:
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    found = read_ratings(ratings, settings["tasks"])
    columns = ["model", "decoding", "prompt_id", *Q_TEXT_CRITERIA]
    tables = {path.parent.name: read_table(path, columns) for path in texts}
    tuned = tune_by_ratings(ratings, found, tables, names)
    write_bytes(rated, to_csv(tuned.texts))
    write_bytes(table, to_csv(tuned.parameters))
    return {"ratings": len(found)}


if __name__ == "__main__":
    run(tune_q_text)
