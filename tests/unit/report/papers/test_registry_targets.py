"""Tables of facts: the registry's, beside the published ones, which MC Table 1 equals in all entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT

from textgamut.config.loading import load_config, validate_config
from textgamut.errors import TextgamutError
from textgamut.report.papers.result import Entry
from textgamut.report.papers.shapes import make_target
from textgamut.report.papers.target_settings import TargetSettings
from textgamut.workflow.targets import target_need, target_settings


def test_the_grid_of_mc_is_that_of_its_table_1() -> None:
    config = load_config(ROOT / "config/papers/mc.yaml")
    assert target_need(config, "table_1").cells == []
    result = make_target(TargetSettings.of(target_settings(config, "table_1")), {})
    assert result.table.values == 11
    for row in result.table.entries:
        assert all(entry.ours == entry.paper for entry in row)
    assert result.table.entries[-1][1] == Entry(1_862_394, paper=1_862_394)
    assert result.notes[0] == "6 models, 59 settings, 5,261 prompts of 3 datasets."


def test_a_grid_needs_the_number_of_prompts(tmp_path: Path) -> None:
    source = {"kind": "url", "url": "https://example.org/texts.json"}
    (tmp_path / "datasets.yaml").write_text(
        json.dumps({"mine": {"format": "continuations", "source": source}})
    )
    cells = [{"models": ["gemma-3-270m"], "decodings": ["beam-3-64"]}]
    task = {"kind": "prompted", "dataset": "mine", "seeds": [1], "cells": cells}
    experiment = {
        "name": "mine",
        "embedder": "minilm",
        "metrics": {"ngram": {}},
        "targets": {"table_1": {"shape": "grid", "title": "T", "tasks": ["wiki"]}},
    }
    assert validate_config(experiment | {"tasks": {"wiki": task | {"n": 9}}}, "my.yaml", tmp_path)
    with pytest.raises(TextgamutError, match="wiki has an unknown number of prompts: set n, or texts of the"):
        validate_config(experiment | {"tasks": {"wiki": task}}, "my.yaml", tmp_path)


def test_sizes_and_dates_of_models_are_beside_those_of_nw() -> None:
    config = load_config(ROOT / "config/papers/nw.yaml")
    result = make_target(TargetSettings.of(target_settings(config, "table_2")), {})
    found = dict(zip(result.table.rows, result.table.entries, strict=True))
    assert list(found) == ["GPT-2", "BART-base", "T5-base", "GPT-3", "OPT-66B", "BLOOM", "GLM"]
    assert found["BART-base"] == [Entry("139M", paper="110M"), Entry("2019-10", paper="Oct. 2019")]
    assert found["GPT-2"][0] == Entry("1.56B", paper="1.5B")
    assert result.table.absent == ["GPT-3", "GLM"]
