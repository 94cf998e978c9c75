"""Ranks with intervals, certain places and the front, in words; and the section of a page that has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_scores import method_scores

from textgamut.files import read_csv, to_csv
from textgamut.inference.resamples import draw_resamples, draw_swaps
from textgamut.rankings.ranking import Ranking, front_table, rank_methods, ranking_tables
from textgamut.report.places import certain_places, front_text, is_certain, rank_text
from textgamut.views.page import _ranking_section


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    scores = method_scores({"a": 1.0, "b": 0.0, "c": 0.0})
    return rank_methods(scores, resample=draw_resamples, swap=draw_swaps)


def test_a_rank_is_certain_if_its_interval_is_one_number() -> None:
    row = {"rank_worth": 3, "rank_worth_low": 2, "rank_worth_high": 6}
    assert rank_text(row, "worth") == "3 [2, 6]"
    assert not is_certain(row, "worth")
    assert is_certain(row | {"rank_worth_low": 3, "rank_worth_high": 3}, "worth")
    assert rank_text({"rank_worth": 3}, "worth") == "3"
    assert not is_certain({"rank_worth": 3}, "worth")


def test_certain_places_are_listed_for_each_ranking(ranking: Ranking) -> None:
    said = certain_places(ranking.methods)
    assert said.startswith("Places certain at 95 %: by net dominance 1 of 3 (1); by worth 1 of 3 (1); by Q*")
    without = ranking.methods.drop(columns=[name for name in ranking.methods if str(name).endswith("_low")])
    assert certain_places(without) == ""


def test_the_front_is_said_with_the_scales(ranking: Ranking) -> None:
    said = front_text(front_table(ranking.front))
    assert said == (
        "On the front of generalised stochastic dominance among 3 (orders only): a; certain at 95 %: a."
    )
    assert front_text(front_table(None)) == ""


def test_a_page_says_which_places_are_certain(ranking: Ranking, tmp_path: Path) -> None:
    folder = tmp_path / "decoding/ranking"
    folder.mkdir(parents=True)
    for name, table in ranking_tables(ranking).items():
        (folder / f"{name}.csv").write_bytes(to_csv(table))
    better = {"coherence": "higher", "diversity": "higher", "perplexity": "lower"}
    section = _ranking_section(tmp_path, "decoding", {"tasks": ["decoding"], "better": better}, [], tmp_path)
    said = " ".join(section.sentences)
    assert certain_places(ranking.methods) in said
    assert front_text(front_table(ranking.front)) in said
    assert "% of the resamples of the prompts" in said
    columns = [column.label for column in section.tables[0].columns]
    entry = section.tables[0].rows[0][columns.index("rank worth")]
    assert (entry.text, entry.range) == ("1", "[1, 1]")
    assert len(read_csv(folder / "front.csv")) == 6
