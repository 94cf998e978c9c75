"""Project the features of a task to two dimensions, for the map of its texts."""

from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.features import projection
from textgamut.files import read_array, write_table
from textgamut.run.script import run


def project_features(settings: dict[str, Any], features: list[Path], table: Path) -> dict[str, Any]:
    sets = [read_array(path) for path in features]
    places = projection.project_features(sets, settings["projection"])
    folders = [path.parents[1].as_posix() for path in features]
    of_row = [folder for folder, rows in zip(folders, sets, strict=True) for _ in rows]
    frame = pd.DataFrame({"folder": of_row, "x": places[:, 0], "y": places[:, 1]})
    write_table(table, frame)
    return {"texts": len(frame)}


if __name__ == "__main__":
    run(project_features)
