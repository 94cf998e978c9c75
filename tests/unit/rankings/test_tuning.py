"""Tuning to ratings of a file: they are read strictly, and the parameters that made them are approached."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from textgamut.errors import TextgamutError
from textgamut.rankings.qtext import QTextParameters, q_text
from textgamut.rankings.tuning import read_ratings, tune_by_ratings

NAMES = {("m", f"d{i}"): f"m, d{i}" for i in range(4)}
TASKS = ["wiki", "news"]
RATER = QTextParameters((0.2, 0.2, 4.0), (0.5, 0.2, 0.8), (1.0, 1.0, 6.0))


def texts_of(task: str) -> pd.DataFrame:
    rng = np.random.default_rng(len(task))
    pairs = [(decoding, f"p{i}") for i in range(15) for _, decoding in NAMES]
    scores = rng.uniform((1, -4, 0), (40, -1, 1), (len(pairs), 3))
    table = pd.DataFrame(scores, columns=["perplexity", "coherence", "diversity"])
    return table.assign(model="m", decoding=[d for d, _ in pairs], prompt_id=[p for _, p in pairs])


TEXTS = {task: texts_of(task) for task in TASKS}


def rated() -> pd.DataFrame:
    """Ratings of the texts of one task by Q*Text with other parameters; the first text has two of them."""
    table = TEXTS["wiki"]
    rating = q_text(table["perplexity"], table["coherence"], table["diversity"], RATER)
    frame = table[["model", "decoding", "prompt_id"]].assign(task="wiki", rating=rating)
    twice = frame.head(1)
    first = frame.index == 0
    frame["rating"] += first
    return pd.concat([frame, twice.assign(rating=twice["rating"] - 1)], ignore_index=True)


def write(path: Path, frame: pd.DataFrame) -> Path:
    frame.to_csv(path, index=False)
    return path


def test_parameters_are_tuned_to_the_ratings_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "ratings.csv", rated())
    tuned = tune_by_ratings(path, read_ratings(path, TASKS), {"wiki": TEXTS["wiki"]}, NAMES, trials=300)
    table, texts = tuned
    assert list(table["parameter"]) == ["weight"] * 3 + ["target"] * 3 + ["penalty"] * 3 + ["spearman"]
    assert list(table["criterion"][:3]) == ["perplexity", "coherence", "diversity"]
    assert list(table["start"][:9]) == [1] * 3 + [0.5] * 3 + [1] * 3
    correlation, start = table.iloc[-1][["value", "start"]]
    assert 0 < start < 0.9 < 0.95 < correlation <= 1
    assert table["value"][2] > table["value"][:2].max()  # the rater weighs diversity most
    assert list(texts) == ["prompt", "method", "rating", "q_text"]
    assert len(texts) == 60
    assert spearmanr(texts["rating"], texts["q_text"]).statistic == pytest.approx(correlation)


def test_criteria_are_scaled_as_in_the_ranking(tmp_path: Path) -> None:
    path = write(tmp_path / "ratings.csv", rated().iloc[1:9])
    found = tune_by_ratings(path, read_ratings(path, TASKS), TEXTS, NAMES, trials=1).parameters
    start = QTextParameters((1, 1, 1), (0.5, 0.5, 0.5), (1, 1, 1))
    every = pd.concat(TEXTS.values())
    scores = q_text(every["perplexity"], every["coherence"], every["diversity"], start)
    expected = spearmanr(scores[1:9], rated()["rating"][1:9]).statistic
    assert found["start"].iloc[-1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rating": "good"}, "line 3: the rating 'good' is not a finite number"),
        ({"rating": "inf"}, "line 3: the rating 'inf' is not a finite number"),
        ({"rating": ""}, "line 3 has no 'rating'"),
        ({"task": "wikis"}, "line 3: unknown task 'wikis'; nearest valid: 'wiki'"),
        ({"decoding": "d9"}, "line 3: no such ranked text: wiki, m, d9, p0"),
        ({"prompt_id": "p99"}, "line 3: no such ranked text: wiki, m, d1, p99"),
    ],
)
def test_what_is_wrong_in_a_row_is_named(change: dict[str, str], message: str, tmp_path: Path) -> None:
    frame = rated().astype(object)
    for column, value in change.items():
        frame.loc[1, column] = value
    path = write(tmp_path / "ratings.csv", frame)
    with pytest.raises(TextgamutError) as caught:
        tune_by_ratings(path, read_ratings(path, TASKS), {"wiki": TEXTS["wiki"]}, NAMES, trials=1)
    assert str(caught.value) == f"{path}: {message}"


def test_ratings_that_tell_nothing_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "ratings.csv", rated().assign(rating=3))
    ratings = read_ratings(path, TASKS)
    with pytest.raises(TextgamutError, match="all human ratings are 3: no ranking can agree"):
        tune_by_ratings(path, ratings, {"wiki": TEXTS["wiki"]}, NAMES)
    with pytest.raises(TextgamutError, match="no rating of a text of news"):
        tune_by_ratings(path, ratings, {"news": TEXTS["news"]}, NAMES)
    write(path, rated().drop(columns="prompt_id"))
    with pytest.raises(TextgamutError, match="no column 'prompt_id'"):
        read_ratings(path, TASKS)
