"""Checks on a GPU, or on the CPU as far as it can do them; each is a row of the table at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gpu.conftest import Machine, Start
from gpu.table import NO_GPU, OLD_GPU, ONE_GPU

from textgamut.models import devices

TOLERANCES = {"bfloat16": 0.3, "float16": 0.03, "float32": 1e-4}
"""Nats per token, of a text. The models are made to have large logits, so that rounding matters."""
Record = Callable[[str, object], None]


def floor(machine: Machine) -> float:
    """Return the least share of texts in float32 that must be the same.

    On a GPU the kernels of a batch may round otherwise, which may decide between two tokens.
    """
    return 0.9 if machine.gpus else 1.0


def percent(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def of_texts(share: float) -> str:
    return f"{share:.0%} of texts the same"


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def in_name(machine: Machine) -> str:
    return "" if machine.gpus else ", in name only"


def work(found: dict[str, Any]) -> str:
    return f"{found['parameters']:.3g} parameters, batch {found['batch_size']}"


def test_dtypes(start: Start, record_property: Record) -> None:
    """Every dtype: texts, and their log-likelihoods beside those of float32 on the CPU."""
    off = start("dtypes").answer()
    told = ", ".join(f"{dtype} {value:.1g} (allowed {TOLERANCES[dtype]:g})" for dtype, value in off.items())
    record_property("measured", f"greatest difference of a text, nats per token: {told}")
    assert {dtype: value for dtype, value in off.items() if not value <= TOLERANCES[dtype]} == {}
    assert off.keys() == TOLERANCES.keys()


def test_strategies(start: Start, machine: Machine, record_property: Record) -> None:
    """Every decoding strategy: the texts of the CPU, float32."""
    shares = start("strategies").answer()
    below = {name: share for name, share in shares.items() if share < 1}
    record_property("measured", f"{len(shares)} settings; {percent(below) or 'all texts the same'}")
    assert min(shares.values()) >= floor(machine)


def test_batch_sizes(start: Start, machine: Machine, model_folder: Path, record_property: Record) -> None:
    """The same texts in batches of 4 and of 32, of each dtype."""
    found = start("agreement", folder=str(model_folder), large=machine.large).answer()
    shares = found["shares"]
    told = f"{percent(shares)} of texts of {found['tokens']} tokens; {found['parameters']:.3g} parameters"
    record_property("measured", told)
    assert shares["float32"] >= floor(machine)


def test_two_leases(start: Start, machine: Machine, tmp_path: Path, record_property: Record) -> None:
    """Two processes lease two GPUs."""
    if machine.gpus and len(machine.leasable) < 2:
        pytest.skip(ONE_GPU)
    hold = {"folder": str(tmp_path), "listed": 0 if machine.gpus else 2}
    processes = [start("hold", name=name, **hold) for name in ("one", "other")]
    for process, name in zip(processes, ("one", "other"), strict=True):
        process.until((tmp_path / f"{name}.json").exists)
    (one, uuid), (other, other_uuid) = (read(tmp_path / f"{name}.json") for name in ("one", "other"))
    record_property("measured", f"GPUs {one} and {other}" + in_name(machine))
    assert one != other
    assert not uuid or one.startswith("MIG-") or uuid != other_uuid


def test_a_lease_waits(
    start: Start, machine: Machine, tmp_path: Path, record_property: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process waits for the only GPU until the one that has it is killed."""
    if machine.gpus:
        monkeypatch.setenv(devices.VISIBLE, machine.leasable[0])
    hold = {"folder": str(tmp_path), "listed": 0 if machine.gpus else 1}
    first = start("hold", name="first", **hold)
    first.until((tmp_path / "first.json").exists)
    second = start("hold", name="second", **hold)
    second.until(lambda: "waiting for 1 of 1 GPUs" in second.log)
    assert not (tmp_path / "second.json").exists()
    first.kill()
    second.until((tmp_path / "second.json").exists)
    record_property("measured", f"GPU {machine.leasable[0] if machine.gpus else 0}" + in_name(machine))
    assert read(tmp_path / "first.json") == read(tmp_path / "second.json")


def test_spread(start: Start, machine: Machine, record_property: Record) -> None:
    """A model on two GPUs gives the texts of one, float32."""
    if len(machine.gpus) == 1:
        pytest.skip(ONE_GPU)
    found = start("spread", gpus=2).answer()
    told = "" if machine.gpus else "; without GPUs, half of the layers come from the disk"
    record_property("measured", f"{percent(found['shares'])} of texts the same{told}")
    assert len(found["places"]) == 2
    assert min(found["shares"].values()) >= floor(machine)


def test_kill_and_resume(start: Start, tmp_path: Path, record_property: Record, machine: Machine) -> None:
    """A shard after kill -9 is that of an undisturbed job, float32."""
    import pandas as pd

    folder = tmp_path / "cells"
    folder.mkdir()
    journal, samples = (folder / f"killed/shards/0-of-1.{end}" for end in ("journal.jsonl", "parquet"))
    killed = start("shard", folder=str(folder), cells=["killed"], pace=0.2)
    killed.until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 4)
    killed.kill()
    assert not samples.exists()
    facts = start("shard", folder=str(folder), cells=["killed", "undisturbed"], pace=0).answer()
    resumed, whole = facts["killed"]["resumed_samples"], facts["killed"]["samples"]
    other = folder / "undisturbed/shards/0-of-1.parquet"
    equal = samples.read_bytes() == other.read_bytes()
    told = f"{resumed} of {whole} samples from the journal; the file is "
    record_property("measured", told + ("the same to the byte" if equal else "another one: see the texts"))
    assert 0 < resumed < whole
    assert facts["undisturbed"]["resumed_samples"] == 0
    one, two = (pd.read_parquet(path).drop(columns="log_likelihood") for path in (samples, other))
    assert (one == two).all(axis=1).mean() >= floor(machine)


def test_neighbours(start: Start, machine: Machine, record_property: Record) -> None:
    """Support metrics: the counts of the CPU, and of brute force with ties and copies."""
    n, d = (20_000, 200) if machine.gpus else (1_000, 50)
    found = start("neighbours", n=n, d=d).answer()
    seconds = ", ".join(f"{place} {value:.2f} s" for place, value in found["seconds"].items())
    told = f"{found['exact']} of {found['of']} small sets exact; N = {n:,}, d = {d}: "
    record_property("measured", f"{told}{'equal' if found['equal'] else 'different'}, {seconds}")
    assert found["exact"] == found["of"]
    assert found["equal"]


def test_shortage(start: Start, machine: Machine, record_property: Record) -> None:
    """Memory runs out: the batch is halved, and the texts are those of small batches, float32."""
    process = start("shortage")
    found = process.answer()
    record_property("measured", f"batch of 32 lowered to {found['batch_size']}; {of_texts(found['share'])}")
    assert 1 <= found["batch_size"] < 32
    assert "out of memory: continuing with batches of 16" in process.log
    assert found["share"] >= floor(machine)


def test_throughput(start: Start, machine: Machine, model_folder: Path, record_property: Record) -> None:
    """Throughput beside continuous batching of transformers."""
    found = start("throughput", folder=str(model_folder), large=machine.large).answer()
    rates = ", ".join(f"{name} {rate:.0f} tokens/s" for name, rate in found["rates"].items())
    record_property("measured", f"{rates}; {work(found)}, {found['dtype']}")
    assert min(found["rates"].values()) > 0


def test_vllm_greedy(start: Start, machine: Machine, vllm_python: str, record_property: Record) -> None:
    """vLLM: greedy texts are those of transformers, float32."""
    found = start("vllm_greedy", python=vllm_python).answer()
    record_property("measured", f"{percent(found['shares'])} of texts the same; {found['is']}")
    assert min(found["shares"].values()) >= floor(machine)


def test_vllm_batch_invariant(
    start: Start, machine: Machine, vllm_python: str, record_property: Record
) -> None:
    """vLLM with batch_invariant: the same texts in other company."""
    if not machine.gpus:
        pytest.skip(NO_GPU)
    if machine.capability < (8, 0):
        pytest.skip(OLD_GPU)
    found = start("vllm_company", python=vllm_python).answer()
    record_property("measured", of_texts(found["share"]))
    assert found["share"] == 1


def test_vllm_throughput(
    start: Start, machine: Machine, model_folder: Path, vllm_python: str, record_property: Record
) -> None:
    """Throughput of vLLM."""
    dtype = "float32" if not machine.large else "bfloat16" if machine.capability >= (8, 0) else "float16"
    options = {"folder": str(model_folder), "large": machine.large, "dtype": dtype}
    found = start("vllm_throughput", python=vllm_python, **options).answer()
    record_property("measured", f"vLLM {found['rate']:.0f} tokens/s; {work(found)}; {found['is']}")
    assert found["rate"] > 0
