"""The rule generate_texts: what its script passes on."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import ROOT

SOURCE = '{"kind": "hf", "repo": "owner/name", "revision": "%s"}' % ("0" * 40)
SETTINGS: dict[str, Any] = {
    "model": {"source": {}, "chat": "none", "dtype": "float32", "engine": "transformers"},
    "decoding": {"strategy": "greedy", "max_new_tokens": 8},
    "completions": 1,
    "revision": [1],
}
NAMES = {"task": "news", "model": "m", "decoding": "greedy", "seed": "1", "shard": "1", "shards": "3"}


def test_generate_texts_makes_its_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(ROOT / "workflow/scripts/generation/generate_texts.py"))
    calls: list[Any] = []
    monkeypatch.setitem(script["generate_texts"].__globals__, "generate_shard", lambda *a: calls.append(a))
    job = SimpleNamespace(
        wildcards=SimpleNamespace(**NAMES),
        params=SimpleNamespace(settings=SETTINGS),
        resources=SimpleNamespace(batch_size=4, lease=0, source=SOURCE),
        input=SimpleNamespace(prompts="data/news/prompts.parquet"),
        output=SimpleNamespace(samples="results/news/m/greedy/seed1/shards/.kept/1-of-3.parquet"),
        threads=8,
    )
    with script["load"](job) as generator:
        script["generate_texts"](job, generator)
    [(shard, given)] = calls
    assert given is generator
    assert shard == (
        SETTINGS,
        1,
        Path("data/news/prompts.parquet"),
        Path("results/news/m/greedy/seed1/shards/1-of-3.parquet"),
        Path("results/news/m/greedy/seed1/shards/.kept/1-of-3.parquet"),
    )
    model = generator.entry
    assert (model.source.repo, model.gpus, model.dtype) == ("owner/name", 0, "float32")
    assert (model.batch_size, generator.threads) == (4, 8)
