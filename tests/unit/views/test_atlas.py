"""Tables for embedding-atlas: places, neighbours by row, both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser.made_pages import made_task

from textgamut.files import write_table
from textgamut.report.explorer_chunks import ExplorerTask
from textgamut.views.atlas import atlas_table


@pytest.fixture(scope="module")
def task() -> ExplorerTask:
    with pytest.warns(UserWarning, match="biased"):
        return made_task(30)


def test_every_text_is_a_row_of_its_side(task: ExplorerTask) -> None:
    table = atlas_table(task)
    assert len(table) == 120
    assert table["side"].tolist() == ["human"] * 30 + ["generated"] * 90
    assert table["seed"].tolist()[30:] == [1] * 30 + [2] * 30 + [1] * 30
    assert table["model"].iloc[:30].isna().all()
    np.testing.assert_array_equal(table[["x", "y"]].iloc[:30], task.human.positions)
    assert table["inside"].iloc[:30].isna().all()
    assert table["topic"].tolist()[:2] == ["sport", "politics"]


def test_neighbours_are_rows_in_order_of_distance(task: ExplorerTask, tmp_path: Path) -> None:
    write_table(tmp_path / "atlas.parquet", atlas_table(task))
    table = pd.read_parquet(tmp_path / "atlas.parquet")
    for row, near in enumerate(table["neighbors"]):
        assert set(near) == {"ids", "distances"}
        assert row not in near["ids"]
        assert len(set(near["ids"])) == len(near["ids"]) == len(near["distances"])
        assert (np.diff(near["distances"]) >= 0).all()
    cell = task.cells[1]
    assert cell.neighbours is not None
    first = cell.neighbours[cell.neighbours["side"] == "generated"].iloc[0]
    row = table.index[table["id"] == first["id"]][0]
    near = table["neighbors"][row]["ids"]
    assert sorted(table["id"][near]) == sorted([*first["own"], *first["other"]])
    assert table["inside"][row] == first["inside"]


def test_a_task_without_features_has_no_map(task: ExplorerTask) -> None:
    cells = [replace(cell, positions=None, neighbours=None) for cell in task.cells]
    table = atlas_table(replace(task, human=replace(task.human, positions=None), cells=cells))
    assert not {"x", "y", "neighbors", "inside"} & set(table)


def test_a_group_with_the_name_of_a_column_stays(task: ExplorerTask) -> None:
    cells = [replace(cell, groups=cell.groups.rename(columns={"topic": "model"})) for cell in task.cells]
    human = replace(task.human, groups=task.human.groups.rename(columns={"topic": "model"}))
    table = atlas_table(replace(task, human=human, cells=cells))
    assert set(table["group model"]) == {"politics", "sport"}
    assert table["model"].iloc[-1] == "Beta"
