"""Bad data: one clear message, a non-zero exit, and nothing expensive has started."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from helpers import dry_run, run_warm

TASK = {
    "kind": "continuation", "dataset": "mine", "n": 5, "k": 2, "seeds": [1], "draws": [1], "max_words": 30,
    "cells": [{"models": ["smollm2-135m-instruct"], "decodings": ["nucleus-0.95"]}],
}  # fmt: skip


def prepare(project: Path, source: dict, task: dict = TASK) -> None:
    dataset = {"mine": {"format": "table", "source": {"kind": "file"} | source}}
    (project / "config/datasets.yaml").write_text(yaml.safe_dump(dataset))
    experiment = {"name": "mine", "embedder": "minilm", "tasks": {"task": task}}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))


def write_texts(project: Path, count: int) -> Path:
    lines = [json.dumps({"text": f"text {i} " + "word " * 20}) for i in range(count)]
    (project / "mine.jsonl").write_text("\n".join(lines))
    return project / "mine.jsonl"


def fails(project: Path, message: str, *targets: str, decoding: str = "*") -> None:
    done = run_warm(project, "--cores", "2", *targets)
    assert done.returncode != 0
    assert message in done.stdout
    assert "Traceback" not in done.stdout
    made = project.glob(f"results/*/*/{decoding}/**/*.parquet")
    assert not [path for path in made if "held-out" not in path.parts]
    assert not list(project.glob(f"logs/generate_texts/*/*/{decoding}/**/*.log"))


DRAWS = ("data/task/prompts.parquet", "data/task/draw1/references.parquet")


def test_empty_dataset(project: Path) -> None:
    write_texts(project, 0)
    prepare(project, {"path": "mine.jsonl"})
    fails(project, "mine.jsonl: the dataset is empty: 0 rows, none with text", *DRAWS)


def test_an_edited_file_is_extracted_again(project: Path) -> None:
    write_texts(project, 20)
    prepare(project, {"path": "mine.jsonl"})
    assert run_warm(project, "--cores", "2", *DRAWS).returncode == 0
    assert "Nothing to be done" in dry_run(project, *DRAWS).stdout
    path = project / "mine.jsonl"
    path.write_text(path.read_text().replace("word", "other"))
    assert run_warm(project, "--cores", "2", *DRAWS).returncode == 0
    assert "other" in str(pd.read_parquet(project / DRAWS[1])["text"][0])


def test_fewer_texts_than_n(project: Path) -> None:
    write_texts(project, 9)
    prepare(project, {"path": "mine.jsonl"})
    fails(project, "for prompts and references: 10 are requested, but there are only 9", *DRAWS)


def test_wrong_checksum(project: Path) -> None:
    path = write_texts(project, 20)
    prepare(project, {"path": "mine.jsonl", "sha256": "0" * 64})
    fails(project, "0" * 64, *DRAWS)
    assert path.exists()


def test_missing_file(project: Path) -> None:
    prepare(project, {"path": "nowhere.jsonl"})
    fails(project, "dataset 'mine': source.path: there is no file nowhere.jsonl")


@pytest.mark.slow
def test_chat_without_a_template(project: Path, smollm2: Path) -> None:
    """A real checkpoint without its template, used as a chat model: stops before it generates."""
    write_texts(project, 20)
    prepare(
        project,
        {"path": "mine.jsonl"},
        TASK | {"cells": [{"models": ["mute"], "decodings": ["nucleus-0.95"]}]},
    )
    shutil.copytree(smollm2, project / "mute", ignore=shutil.ignore_patterns("chat_template.jinja"))
    model = {"label": "x", "family": "x", "chat": "template", "source": {"kind": "file", "path": "mute"}}
    (project / "config/models.yaml").write_text(yaml.safe_dump({"mute": model}))
    fails(
        project,
        "the tokenizer of this checkpoint has no chat template; use chat: none for a pre-trained model",
    )


@pytest.mark.slow
def test_prompts_that_overflow_the_context_generate_nothing(project: Path) -> None:
    decoding = project / "config/decoding.yaml"
    decoding.write_text(decoding.read_text() + "endless: {strategy: sampling, max_new_tokens: 8190}\n")
    cells = [{"models": ["smollm2-135m-instruct"], "decodings": ["nucleus-0.95", "endless"]}]
    write_texts(project, 20)
    prepare(project, {"path": "mine.jsonl"}, TASK | {"cells": cells})
    # The other cell has a check of its own, and may have begun.
    message = "task 'task', model 'smollm2-135m-instruct': prompt 'row-"
    fails(project, message, decoding="endless")
