"""The rule generate_texts: which shard its script makes, and those of other cells that go with it."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import ROOT

from textgamut.workflow import paths
from textgamut.workflow.planned_shards import write_planned_shards

SOURCE = '{"kind": "hf", "repo": "owner/name", "revision": "%s"}' % ("0" * 40)
SETTINGS: dict[str, Any] = {
    "model": {"source": {}, "chat": "none", "dtype": "float32", "engine": "transformers"},
    "decoding": {"strategy": "greedy", "max_new_tokens": 8},
    "completions": 1,
    "revision": [1],
}


def wildcards(**changes: str) -> dict[str, str]:
    names = {"task": "news", "model": "m", "decoding": "greedy", "seed": "1", "shard": "1", "shards": "3"}
    return names | changes


def test_generate_texts_makes_its_shard_and_those_of_other_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sampled = SETTINGS | {"decoding": {"strategy": "sampling", "max_new_tokens": 8}}
    planned = [
        (wildcards(), SETTINGS),
        (wildcards(decoding="nucleus", seed="2"), sampled),
        (wildcards(shard="0"), SETTINGS),
        (wildcards(model="other"), SETTINGS),
    ]
    names, settings = zip(*planned, strict=True)
    write_planned_shards(Path(paths.PLANNED_SHARDS), names, settings, [None] * 4)
    script = runpy.run_path(str(ROOT / "workflow/scripts/generation/generate_texts.py"))
    calls: list[Any] = []
    monkeypatch.setitem(script["generate_texts"].__globals__, "generate_shard", lambda *a: calls.append(a))
    script["generate_texts"](
        SimpleNamespace(
            wildcards=SimpleNamespace(**wildcards()),
            params=SimpleNamespace(settings=SETTINGS),
            resources=SimpleNamespace(batch_size=4, lease=2, source=SOURCE),
            input=SimpleNamespace(prompts="data/news/prompts.parquet"),
            threads=8,
        )
    )
    [(job, companions, model, batch_size, threads, prompts)] = calls
    assert job == (
        SETTINGS,
        1,
        Path("results/news/m/greedy/seed1/shards/1-of-3.parquet"),
        Path("logs/generate_texts/news/m/greedy/seed1/1-of-3.lock"),
    )
    assert companions == [
        (
            sampled,
            2,
            Path("results/news/m/nucleus/seed2/shards/1-of-3.parquet"),
            Path("logs/generate_texts/news/m/nucleus/seed2/1-of-3.lock"),
        )
    ]
    assert (model.source.repo, model.gpus, model.dtype) == ("owner/name", 2, "float32")
    assert (batch_size, threads, prompts) == (4, 8, Path("data/news/prompts.parquet"))
