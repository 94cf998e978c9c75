"""What the tests share that is no fixture: running the workflow, editing a copy of it, reading its plan."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml

from textgamut.calls import call
from textgamut.config.cells import PLACEHOLDER
from textgamut.config.yaml import read_yaml
from textgamut.files import KEPT
from textgamut.run import forkserver
from textgamut.run.job import Job
from textgamut.run.records import finish_record, start_record
from textgamut.run.script import measured

if TYPE_CHECKING:
    from textgamut.report.papers.result import PaperResult

ROOT = Path(__file__).parents[1]
GIVE_UP = 1200.0
"""Seconds after which a test that waits for a process or a server fails.

It is far above what any of them needs, also when all tests share two cores.
"""

EXPERIMENTS = sorted(path for path in (ROOT / "config").rglob("*.yaml") if "tasks" in (read_yaml(path) or {}))


def run_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the workflow of a folder to its end; standard output and error in one text."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=GIVE_UP,
    )


def run_warm(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the workflow of a folder like ``run_snakemake``, but without the time of imports.

    Snakemake and its scripts run in forks of processes that have imported what they need.
    """
    return _run_fork(folder, [*arguments], _warm_python(), environment)


def dry_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run ``snakemake -n`` in a folder, in a fork of a process that has imported Snakemake."""
    return _run_fork(folder, ["-n", *arguments], sys.executable, {})


def _run_fork(
    folder: Path, arguments: list[str], python: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    process = _forking_snakemake()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps([str(folder), arguments, python, os.environ | environment]) + "\n")
    process.stdin.flush()
    code, shown = json.loads(process.stdout.readline())
    return subprocess.CompletedProcess(arguments, code, shown)


@functools.cache
def _warm_python() -> str:
    """Start the process that forks for each script; return a command that runs a script in such a fork."""
    return forkserver.start(forkserver.FEWEST_JOBS) or sys.executable


@functools.cache
def _forking_snakemake() -> subprocess.Popen[str]:
    """Start the process that forks for each run of Snakemake; it ends with this one."""
    command = [sys.executable, str(ROOT / "tests/forking_snakemake.py")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def processes_of(session: int) -> list[str]:
    """Return the states of the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(state[3]) == session and state[0] != "Z":
            found.append(path.parent.name)
    return found


def make_fifo(path: Path) -> None:
    """Put a FIFO at a path, in place of a file that is there."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def copy_project(folder: Path) -> Path:
    """Copy what a workflow run needs, to be edited freely."""
    for name in ("config", "workflow", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder)
    for path in folder.glob("config/papers/*.yaml"):  # whose contact users must replace by their own
        path.write_text(path.read_text("utf-8").replace(PLACEHOLDER, "me@example.com"), "utf-8")
    return folder


def jobs(output: str) -> dict[str, int]:
    """Read the job counts of a dry run."""
    if "Nothing to be done" in output:
        return {}
    table = re.split(r"job +count\n[- ]+\n", output)[1].split("\n\n")[0]
    return {name: int(count) for name, count in (line.split() for line in table.splitlines())}


def plan(folder: Path) -> dict[str, int]:
    """Return how many jobs of each rule a folder's workflow would run."""
    done = dry_run(folder)
    assert done.returncode == 0, done.stdout
    planned = jobs(done.stdout)
    planned.pop("total", None)
    return planned


def products(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every product; meta files and logs hold times, cards the day of extraction."""
    paths = [path for top in ("data", "results") for path in (folder / top).rglob("*") if path.is_file()]
    days = {json.loads(path.read_text())["extracted"].encode() for path in folder.glob("data/*/card.json")}
    hashes = {}
    for path in paths:
        if path.name.endswith(".meta.json") or path.parent.name == KEPT:
            continue
        content = path.read_bytes()
        if path.stem == "card":
            for day in days:
                content = content.replace(day, b"the day")
        hashes[str(path.relative_to(folder))] = hashlib.sha256(content).hexdigest()
    return hashes


TINY = {
    "name": "tiny",
    "embedder": "minilm",
    "tasks": {
        "news": {
            "kind": "continuation",
            "dataset": "news-articles",
            "n": 6,
            "k": 2,
            "seeds": [1],
            "draws": [1, 2],
            "min_words": 20,
            "max_words": 16,
            "cells": [{"models": ["chat", "plain"], "decodings": ["short"]}],
        },
        "topics": {
            "kind": "subsets",
            "dataset": "news-articles",
            "group": "topic",
            "n": 8,
            "seeds": [1],
            "draws": [1],
            "max_words": 16,
            "references": ["politics", "sport"],
            "subsets": {"one-topic": ["politics"]},
        },
    },
}


def shipped(registry: str) -> dict[str, Any]:
    """Read a registry that textgamut ships, as plain data: slug -> entry."""
    return read_yaml(ROOT / f"src/textgamut/config/defaults/{registry}.yaml")


def edit(path: Path, *keys: str | int, value: object) -> None:
    """Set one value in a YAML file."""
    content = yaml.safe_load(path.read_text()) or {}
    node = content
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def write_tiny(folder: Path) -> Path:
    """Write the tiny experiment over the demo, with two small entries for models and one for decoding."""
    config, models = folder / "config", shipped("models")
    (config / "demo.yaml").write_text(yaml.safe_dump(TINY, sort_keys=False))
    chat, plain = models["smollm2-135m-instruct"], models["smollm2-135m-instruct-plain"]
    small = {"batch_size": 6, "gigabytes": None}  # of unknown size: one job at a time
    (config / "models.yaml").write_text(yaml.safe_dump({"chat": chat | small, "plain": plain | small}))
    short = {"strategy": "sampling", "top_p": 0.9, "temperature": 0.6, "max_new_tokens": 8}
    (config / "decoding.yaml").write_text(yaml.safe_dump({"short": short}))
    return folder


class GraphJob(SimpleNamespace):
    """A job of Snakemake's graph: these can be hashed."""

    __hash__ = object.__hash__  # type: ignore[assignment]


def named_files(files: Any, entries: Mapping[str, str | list[str]]) -> Any:
    """Add paths to an empty list of Snakemake's, and name them as a rule does."""
    for name, value in entries.items():
        several = value if isinstance(value, list) else [value]
        files.extend(several)
        end = len(files) if isinstance(value, list) else None
        files._set_name(name, len(files) - len(several), end=end)
    return files


def do_job(
    script: str,
    settings: Any = None,
    inputs: Mapping[str, Path | list[Path]] | None = None,
    outputs: Mapping[str, Path] | None = None,
    wildcards: Mapping[str, Any] | None = None,
    rule: str = "",
    **resources: Any,
) -> None:
    """Do the work of a job with a script of the workflow, and write its metadata, as a run does."""
    [path] = (ROOT / "workflow/scripts").rglob(f"{script}.py")
    found = runpy.run_path(str(path))
    given, made = (
        {name: [str(path) for path in of] if isinstance(of, list) else str(of) for name, of in files.items()}
        for files in (inputs or {}, outputs or {})
    )
    names = {name: str(value) for name, value in (wildcards or {}).items()}
    job = Job(rule or script, given, made, settings, names, resources, "logs/x/y.log", threads=2)
    with call(found["load"], job.values()) if "load" in found else nullcontext() as loaded:
        meta = measured(found[script], job, loaded)
    finish_record(start_record(job.rule, settings, job.inputs), job.outputs, meta)


def injected(job: Any, threads: int) -> Any:
    """Return a job of Snakemake's graph as Snakemake passes it to its script."""
    from snakemake.iocontainers import Wildcards

    return SimpleNamespace(
        rule=job.rule.name,
        input=job.input,
        output=job.output,
        params=job.params,
        wildcards=Wildcards(fromdict=job.wildcards_dict),
        resources=job.resources,
        threads=threads,
        log=job.log,
    )


def make_target(settings: Mapping[str, Any], data: Mapping[str, Any]) -> PaperResult:
    """Make a target; what its settings do not name is empty."""
    from textgamut.report.papers.shapes import make_target
    from textgamut.report.papers.target_settings import TargetSettings

    empty: dict[str, Any] = {"paper": None, "embedder": ""}
    empty |= {name: {} for name in ("published", "labels", "models", "decodings", "tasks", "embedders")}
    target = {"tasks": list(settings["tasks"])} | settings["target"]
    return make_target(TargetSettings.of({**empty, **settings, "target": target}), data)
