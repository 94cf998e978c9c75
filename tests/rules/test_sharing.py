"""Every rule whose jobs share weights: killed with kill -9, its jobs give what they give undisturbed."""

from __future__ import annotations

import importlib
import json
import os
import random
import runpy
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import pytest
import tiny
import torch
from helpers import ROOT, GraphJob, injected, named_files
from snakemake.iocontainers import InputFiles, OutputFiles

from textgamut import files
from textgamut.catalogue import FAMILIES
from textgamut.config.cells import Config
from textgamut.config.entries.models import Model
from textgamut.run.companions import write_loading_jobs
from textgamut.workflow import paths
from textgamut.workflow.weights import WEIGHTS

CELLS = 4
KILLS = 4
RESOURCES = {"batch_size": 2, "leased": 0}


class Job(NamedTuple):
    """A job of a rule, for one cell."""

    settings: dict[str, Any]
    inputs: dict[str, str | list[str]]
    outputs: dict[str, str]


def write_texts(folder: Path) -> None:
    """Write the prompts of a task, and texts of its cells."""
    ids = [f"p{i}" for i in range(6)]
    bases = [f"The {word} of" for word in ("president", "city", "war", "river", "song", "king")]
    prompts = pd.DataFrame({"id": ids, "base": bases, "user": bases, "start": ""})
    files.write_table(folder / "prompts.parquet", prompts)
    for cell in range(CELLS):
        texts = [f"{base} Ireland saw {cell} ships in May {1900 + i}." for i, base in enumerate(bases)]
        frame = pd.DataFrame({"id": ids, "prompt_id": ids, "text": texts, "scored_tokens": 0})
        files.write_table(folder / f"c{cell}/generations.parquet", frame.assign(log_likelihood=float("nan")))


def jobs_of(rule: str, folder: Path, demo: Config) -> list[Job]:
    """Return the jobs of a rule, one for each cell."""
    source = {"kind": "file", "path": str(folder.parent / "checkpoint")}
    model = Model(label="Tiny", family="Tiny", source=source, chat="none", dtype="float32", gpus=0).science()
    chat: dict[str, Any] = {"format": "none", "system": None, "arguments": {}}
    decoding = {"strategy": "sampling", "max_new_tokens": 12}
    generation = {"model": model, "decoding": decoding, "completions": 2}
    scorer = {
        "scorer": {"source": source, "adapter": None, "bos": "auto"},
        "perplexity_of": "scorer",
        "dtype": "float32",
    }
    tagger = {"tagger": demo.taggers["en-core-web-sm"].model_dump(mode="json", include={"source"})}
    embedder = {"source": source, "pooling": "mean", "max_tokens": 64, "dtype": "float32"}
    check = {"source": source, "chat": chat, "bos": "auto", "task": "t"}
    found = []
    for cell in range(CELLS):
        texts, prompts = f"c{cell}/generations.parquet", "prompts.parquet"
        scores = {"scores": f"c{cell}/{rule}.json", "text_scores": f"c{cell}/{rule}.parquet"}
        shard = paths.fill(paths.SHARD, task="t", model="m", decoding="d", seed=cell, shard=0, shards=1)
        found.append({
            "check_prompts": Job(check | {"max_new_tokens": 10 + cell}, {"prompts": prompts},
                                 {"lengths": f"c{cell}/lengths.json"}),
            "count_tokens": Job({"source": source}, {"texts": texts}, {"ratio": f"c{cell}/ratio.json"}),
            "embed_texts": Job({"embedder": embedder}, {"texts": texts}, {"features": f"c{cell}/e.npy"}),
            "generate_texts": Job(generation, {"prompts": prompts}, {"samples": shard}),
            "score_entities": Job({"family": "entities"} | tagger, {"texts": texts, "own_references": []},
                                  scores),
            "score_likelihood": Job({"family": "likelihood"} | scorer,
                                    {"texts": texts, "prompts": [prompts]}, scores),
            "score_perplexity": Job({"generator": model, "dtype": "float32"},
                                    {"texts": texts, "prompts": [prompts]}, scores),
        }[rule])  # fmt: skip
    return found


def planned(rule: str, cell: int, job: Job) -> Any:
    """Return a job as Snakemake has it, in its graph and in its script."""

    names = {"task": "t", "model": "m", "decoding": "d", "seed": str(cell), "shard": "0", "shards": "1"}
    resources = RESOURCES | {"source": json.dumps(job.settings.get("model", {}).get("source"))}
    return GraphJob(
        rule=SimpleNamespace(name=rule),
        input=named_files(InputFiles(), job.inputs),
        output=named_files(OutputFiles(), job.outputs),
        params=SimpleNamespace(settings=job.settings),
        wildcards_dict=names | {"embedder": "tiny"},
        resources=resources,
        log=[f"logs/{rule}/{cell}.log"],
    )


def start(folder: Path, script: Path, job: Any) -> int:
    """Fork a process that runs the script of a job."""
    if child := os.fork():
        return child
    os.chdir(folder)
    torch.set_num_threads(1)
    for path in job.output:  # as Snakemake does
        Path(path).unlink(missing_ok=True)
    code = 70
    try:
        runpy.run_path(str(script), {"snakemake": injected(job, threads=1)}, "__main__")
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os._exit(code)


def products(folder: Path, jobs: list[Any]) -> dict[str, bytes]:
    return {str(path): (folder / path).read_bytes() for job in jobs for path in job.output}


def run_all(folder: Path, script: Path, jobs: list[Any]) -> str:
    """Run each job to its end; return the log of the first one."""
    for job in jobs:
        assert os.waitpid(start(folder, script, job), 0)[1] == 0, (folder / job.log[0]).read_text()
    return (folder / jobs[0].log[0]).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(WEIGHTS))
def test_killed_at_random_moments_the_outputs_are_the_same_to_the_byte(
    rule: str, tmp_path: Path, demo: Config
) -> None:
    for module in ("nltk", "spacy.lang.en", "transformers.models.llama.modeling_llama"):
        importlib.import_module(module)  # once, and not in each fork
    tiny.write_checkpoint(tmp_path / "checkpoint")
    family = FAMILIES.get(rule.removeprefix("score_"))
    [script] = (ROOT / "workflow/scripts").rglob(f"{'score_family' if family else rule}.py")
    of_folder = {}
    seconds = 0.0
    for name in ("alone", "together", "killed"):
        folder = tmp_path / name
        folder.mkdir()
        write_texts(folder)
        jobs = [planned(rule, i, job) for i, job in enumerate(jobs_of(rule, folder, demo))]
        if name != "alone":
            write_loading_jobs(folder / paths.LOADING_JOBS, jobs, lambda _: "tiny", lambda _: None)
        if name == "killed":
            rng = random.Random(0)
            for _ in range(KILLS):
                child = start(folder, script, jobs[0])
                time.sleep(rng.uniform(0, seconds))
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        started = time.monotonic()
        log = run_all(folder, script, jobs)
        seconds = time.monotonic() - started
        of_folder[name] = products(folder, jobs)
        assert ("with the same weights" in log) == (name == "together") or name == "killed"
        assert not list(folder.rglob("*.jsonl"))
    assert of_folder["alone"] == of_folder["together"] == of_folder["killed"]
