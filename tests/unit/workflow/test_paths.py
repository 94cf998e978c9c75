"""Paths: spelled once, with wildcards that are replaced by name."""

from __future__ import annotations

import re

import pytest
from helpers import ROOT

from textgamut.config.cells import Cell
from textgamut.workflow import paths
from textgamut.workflow.paths import fill, fill_some

CELL = Cell("news", "chat", "greedy", 3)


def test_a_cell_has_a_folder_of_its_own() -> None:
    assert fill(paths.CELL, CELL) == "results/news/chat/greedy/seed3"


def test_values_by_name_take_precedence() -> None:
    path = fill(paths.SHARD, CELL, task="other", shard=1, shards=2)
    assert path == "results/other/chat/greedy/seed3/shards/1-of-2.parquet"


def test_a_wildcard_without_a_value_is_an_error() -> None:
    with pytest.raises(AttributeError, match="draw"):
        fill(paths.REFERENCES, CELL)


def test_some_wildcards_are_replaced_and_the_others_stay() -> None:
    path = fill_some(paths.GENERATIONS, model="human", decoding="human", seed="{draw}")
    assert path == "results/{task}/human/human/seed{draw}/generations.parquet"


def test_no_other_place_spells_them() -> None:
    """Rules, scripts and the package ask textgamut.workflow.paths."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow").rglob("*.smk")]
    files += [*(ROOT / "workflow/scripts").rglob("*.py"), *(ROOT / "src").rglob("*.py")]
    spelled = {
        str(file.relative_to(ROOT))
        for file in files
        if re.search(r"""["'](results|data)/[\w{*]""", file.read_text(encoding="utf-8"))
    }
    assert spelled == {"src/textgamut/workflow/paths.py"}
