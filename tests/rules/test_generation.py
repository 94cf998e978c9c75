"""The rule generate_texts: what its script passes on."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

from textgamut.calls import call
from textgamut.run.job import Job

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
    values = Job(
        "generate_texts",
        {"prompts": "data/news/prompts.parquet"},
        {"samples": "results/news/m/greedy/seed1/shards/.kept/1-of-3.parquet"},
        SETTINGS,
        NAMES,
        {"batch_size": 4, "leased": 0, "source": SOURCE},
        log="logs/x.log",
        threads=8,
    ).values()
    with call(script["load"], values) as generator:
        call(script["generate_texts"], values | {"loaded": generator})
    [(shard, given)] = calls
    assert given is generator
    samples = Path("results/news/m/greedy/seed1/shards/1-of-3.parquet")
    assert shard == (
        SETTINGS,
        1,
        Path("data/news/prompts.parquet"),
        samples,
        Path("results/news/m/greedy/seed1/shards/.kept/1-of-3.parquet"),
    )
    model = generator.entry
    assert (model.source.repo, model.dtype) == ("owner/name", "float32")
    assert (generator.name, generator.threads) == ("m", 8)
    shard.journal.parent.mkdir(parents=True)
    shard.journal.touch()
    call(script["remove_journal"], values)
    assert not shard.journal.exists()
