"""The price in one sentence, of targets of the papers and of what is measured; what is unknown is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from helpers import ROOT

from textgamut.config.loading import load_config
from textgamut.views.plan import make_plan
from textgamut.views.price import price
from textgamut.views.sums import Sum, size
from textgamut.workflow.targets import target_need


def test_the_price_of_a_table_of_pr(tmp_path: Path) -> None:
    config = load_config(ROOT / "config/papers/pr.yaml")
    plan = make_plan(config, tmp_path, target_need(config, "table_1a"))
    assert price(config, plan) == (
        "1,045 GPU hours (A100 80 GB, transformers): 5.4 days on 8 GPUs; 206 GB of weights; gated: Llama-2 "
        "(licence to accept)"
    )
    of_embedders = make_plan(config, tmp_path, target_need(config, "table_b1"))
    assert of_embedders.gated == ["Llama-2", "Gemma 2B"]
    lines = [replace(line, rate_from="measured on 2 x L4", gpu_hours=2.0) for line in plan.lines]
    totals = plan.totals | {"gpu_hours": Sum.of_models([("a", 9.5), ("b", None), ("b", 2.5)])}
    measured = replace(plan, lines=lines, totals=totals, gated=[])
    assert price(config, measured).startswith(
        "12.00 GPU hours (2 x L4, transformers; 1 of 2 models estimated): 1.5 hours on 8 GPUs; 206 GB"
    )
    unknown = replace(measured, totals=plan.totals | {"gpu_hours": Sum.of_models([("a", None)])})
    assert price(config, unknown).startswith("? GPU hours (2 x L4, transformers; 0 of 1 models estimated); ")


@pytest.mark.parametrize("paper", ["pr", "pr-as-run", "nw", "mc"])
def test_every_model_of_a_paper_has_a_speed_with_its_source(paper: str, tmp_path: Path) -> None:
    config = load_config(ROOT / f"config/papers/{paper}.yaml")
    for name in {cell.model for cell in config.generated()}:
        model = config.models[name]
        speed = (model.tokens_per_second, model.speed_on, model.speed_from)
        assert (None in speed) == (model.engine == "openai"), name
    totals = make_plan(config, tmp_path).totals
    assert totals["gpu_hours"].unknown == 0


def test_bytes_are_told_in_their_unit() -> None:
    assert size(Sum(205.5e9, 0)) == "206 GB"
    assert size(Sum(2.04e9, 1, 3)) == "2.0 GB (2 of 3 models estimated)"
    assert size(Sum(3.2e6, 1)) == "3.2 MB + ?"
    assert size(Sum(0, 2, 2)) == "? (0 of 2 models estimated)"
