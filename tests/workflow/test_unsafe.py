"""Names and labels that mean something to Snakemake, HTML, reStructuredText or spreadsheets are only text."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
import yaml
from helpers import copy_project, run_warm

pytestmark = pytest.mark.slow

SCRIPT = "</script><script>alert(1)</script>"
MARKUP = (
    "=1+1 `x <javascript:alert(1)>`_ <!-- <script> {z}\n\n.. raw:: html\n\n   <img onerror=alert(1) src=x>"
)
TOPICS = (SCRIPT, MARKUP)
TASK = {"dataset": "mine", "k": 2, "seeds": [1], "draws": [1]}
EXPERIMENT = {
    "name": "mine",
    "embedder": "minilm",
    "metrics": {"support": {}, "ngram": {}},
    "tasks": {
        "texts": TASK
        | {"kind": "unprompted", "n": 10, "cells": [{"models": ["g", "h"], "decodings": ["given"]}]},
        "topics": TASK
        | {"kind": "subsets", "group": "topic", "n": 6, "max_words": 30}
        | {"references": list(TOPICS), "subsets": {"one": [SCRIPT]}},
    },
}
TARGET = {"shape": "metrics-by-model", "title": f"{SCRIPT} {{z}} {{task}}", "tasks": ["texts"]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("unsafe"))
    rows = [{"text": f"the cat sat on mat {i} " + "and ran " * 20, "topic": TOPICS[i % 2]} for i in range(24)]
    written = [{"text": f"the dog lay on mat {i} and slept"} for i in range(12)]
    # The first would be an undefined pathvar, the second the name of another file.
    names = {"human <b>.jsonl": rows, "g <results>.jsonl": written, "h <stats> {decoding}.jsonl": written}
    for name, content in names.items():
        (folder / name.replace("{decoding}", "given")).write_text(
            "".join(json.dumps(row) + "\n" for row in content)
        )
    models = {
        model: {"label": f"{label}{SCRIPT}", "family": label, "chat": "none"}
        | {"source": {"kind": "generations", "path": path}}
        for (model, label), path in zip({"g": "=2+5", "h": "@h"}.items(), list(names)[1:], strict=True)
    }
    source = {"kind": "file", "path": "human <b>.jsonl"}
    dataset = {"format": "table", "source": source, "text": "text", "groups": ["topic"], "licence": SCRIPT}
    targets = {"table_1a": TARGET | {"metrics": ["precision"], "models": ["g", "h"]}}
    for name, entry in {
        "models": models,
        "datasets": {"mine": dataset},
        "demo": EXPERIMENT,
        "aimed": EXPERIMENT | {"name": "aimed", "targets": targets},
    }.items():
        (folder / f"config/{name}.yaml").write_text(yaml.safe_dump(entry))
    for experiment in ("demo", "aimed"):
        done = run_warm(folder, "--cores", "2", "--configfile", f"config/{experiment}.yaml")
        assert done.returncode == 0, done.stdout
    return folder


@pytest.mark.parametrize("experiment", ["demo", "aimed"])
def test_the_report_runs_no_script_of_a_label(experiment: str, made: Path) -> None:
    done = run_warm(made, "--configfile", f"config/{experiment}.yaml", "--report", "report.html")
    assert done.returncode == 0, done.stdout
    page = (made / "report.html").read_text()
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "<!--" not in page
    captions = [
        entry["caption"] for entry in json.loads(re.search(r"var results = (\{.*\});", page)[1]).values()
    ]
    assert captions
    assert not [caption for caption in captions if re.search("<(img|script)|href=.javascript:alert", caption)]
    if experiment == "demo":
        assert any("&lt;img onerror=alert(1)" in caption for caption in captions)


def test_no_table_of_a_run_holds_a_formula(made: Path) -> None:
    tables = list((made / "results").rglob("*.csv"))
    assert len(tables) > 4
    fields = []
    for table in tables:
        with table.open(newline="", encoding="utf-8") as stream:
            fields += [field for row in csv.reader(stream) for field in row]
    assert any(field.startswith("'=") for field in fields)
    assert not [field for field in fields if re.match(r"[=+@\t\r]|-(?![\d.e-]*$)", field)]


def test_the_page_shows_labels_as_they_are(made: Path) -> None:
    page = (made / "results/papers/mine/index.html").read_text()
    assert "<script>alert" not in page
    assert ">=2+5&lt;/script&gt;" in page
