"""The rule check_cheats, with tiny models: its tables, its samples, and the journal of a killed job."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import tiny
from helpers import do_job

from textgamut import files
from textgamut.config.entries.models import Model
from textgamut.metrics.sanity.cheats import SAMPLERS
from textgamut.text import count_words

WORDS = ("river", "ship", "king", "war", "song", "city", "stone", "bread", "light", "road", "hill")
CORPUS = [" ".join(f"{WORDS[(i + j % (3 + i % 5)) % 11]}{i}{j // 11}" for j in range(33)) for i in range(20)]
"""Texts of three passages, most of which repeat phrases."""


def test_samplers_are_planted_and_a_killed_job_resumes(tmp_path: Path) -> None:
    checkpoint = tiny.write_checkpoint(tmp_path / "checkpoint")
    source = {"kind": "file", "path": str(checkpoint)}
    model = Model(label="Tiny", family="Tiny", source=source, chat="none", dtype="float32", gpus=0).science()
    # Its tokens are characters, and it seldom writes a space.
    tokens = {"min_new_tokens": 150, "max_new_tokens": 150}
    decoding = {"strategy": "sampling", "temperature": 5.0} | tokens
    settings = {
        "embedder": {"source": source, "pooling": "mean", "max_tokens": 64, "dtype": "float32"},
        "scorer": model,
        "generation": {"model": model, "decoding": decoding, "completions": 1},
        "words": 11, "prompt_words": 3, "n": 16, "repeats": 2, "seed": 0,
    }  # fmt: skip
    files.write_table(tmp_path / "texts.parquet", pd.DataFrame({"text": CORPUS}))
    outputs = {
        "prompts": tmp_path / "cheats/prompts.parquet",
        "samples": tmp_path / "cheats/shards/0-of-1.parquet",
        "rows": tmp_path / "cheat-rows.csv",
        "table": tmp_path / "cheats.csv",
    }

    def check() -> dict[str, bytes]:
        do_job("check_cheats", settings, {"texts": tmp_path / "texts.parquet"}, outputs, batch_size=8)
        return {name: path.read_bytes() for name, path in outputs.items() if path.suffix == ".csv"}

    made = check()
    prompts = pd.read_parquet(outputs["prompts"])
    assert len(set(prompts["base"] + prompts["text"])) == 32
    assert all(
        any(base + text in of for of in CORPUS)
        for base, text in zip(prompts["base"], prompts["text"], strict=True)
    )
    assert set(prompts["base"].map(count_words)) == {3}
    assert set(prompts["text"].map(count_words)) == {8}
    samples = pd.read_parquet(outputs["samples"])
    assert samples["prompt_id"].tolist() == prompts["id"].tolist()
    table = pd.read_csv(outputs["table"], dtype=str)
    assert list(table) == ["metric", "read", "human", *SAMPLERS]
    assert table["metric"].tolist()[:5] == ["perplexity"] * 2 + ["coherence"] * 2 + ["q_text"]
    rows = pd.read_csv(outputs["rows"])
    assert len(rows) == len(table) * len(SAMPLERS)
    lowest = rows[(rows["metric"] == "perplexity") & (rows["read"] == "lower")].set_index("sampler")["value"]
    assert lowest["common passage"] < lowest["copies"]

    # Killed before its outputs were safe: Snakemake deletes them, and the journal is still there.
    journal = outputs["samples"].with_suffix(".journal.jsonl")
    before = journal.read_bytes()
    for path in outputs.values():
        path.unlink()
    assert check() == made
    assert journal.read_bytes() == before
