"""The page of an experiment: it states only intervals that the scores have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_scores import scores_of

from textgamut.files import write_table
from textgamut.report.methods import interval_sentence
from textgamut.report.tables import COLUMNS
from textgamut.views.page import _methods, _task_section

MODEL = "pythia-12b"
TASK: dict[str, Any] = {"sentences": [], "methods": [(MODEL, "nucleus", "Pythia")], "embedder": "E"}


def scores(**bounds: float) -> pd.DataFrame:
    """Return scores of a task, by default as in blocks: without intervals."""
    frame = scores_of({MODEL: (0.9, 0.4)}, decoding="nucleus", seeds=1, draws=1)
    task = frame.reindex(columns=COLUMNS).assign(task="news", deviation=None, low=None, high=None)
    return task.assign(**bounds).astype(dict.fromkeys(("deviation", "low", "high"), "Float64"))


def of_words() -> pd.DataFrame:
    return scores(low=0.2, high=0.4).head(1).assign(metric="text_distinct_2", value=0.3)


@pytest.mark.parametrize(
    ("frame", "stated", "excepted"),
    [
        (scores(), False, False),
        (scores(low=0.1, high=0.95), True, False),
        (pd.concat([scores(), of_words()]), True, True),
        (of_words(), True, False),
    ],
)
def test_only_intervals_that_the_scores_have_are_stated(
    frame: pd.DataFrame, stated: bool, excepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textgamut.views.page._language", lambda *_: [])
    (tmp_path / "news").mkdir()
    write_table(tmp_path / "news/scores.parquet", frame)
    task = TASK | {"explorer": {}}
    settings = {"tasks": {"news": task}, "results": [], "embedder": {}, "experiment": {}}
    monkeypatch.setattr("textgamut.views.page.features_sentence", lambda _: "Features.")
    said = _methods(tmp_path, settings)
    assert (interval_sentence() in said) == stated
    assert ("The support metrics of news have no intervals." in said) == excepted
    table = _task_section(tmp_path, "news", task, [], tmp_path).tables[0]
    assert ("In brackets: 95 % interval" in table.note) == stated
    assert "standard deviation over the runs" in table.note


def test_the_temperature_figure_is_on_the_page(tmp_path: Path) -> None:
    write_table(tmp_path / "news/scores.parquet", scores())
    figure = tmp_path / "news/temperatures.svg"
    figure.write_bytes(b"<svg/>")
    section = _task_section(tmp_path, "news", TASK, [figure.as_posix()], tmp_path)
    [shown] = section.figures
    assert shown.title == "Precision and recall against the temperature"
