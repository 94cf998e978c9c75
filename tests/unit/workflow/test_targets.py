"""Targets: the files that they are made from, and their settings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.errors import DataError
from textgamut.files import write_table
from textgamut.workflow import paths
from textgamut.workflow.paths import fill
from textgamut.workflow.target_files import read_files, target_files
from textgamut.workflow.targets import target_need, target_settings, unavailable


@pytest.fixture(scope="module")
def nw() -> Config:
    return load_config(ROOT / "config/papers/nw.yaml")


def test_without_essays_the_other_metrics_are_tabulated(nw: Config, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert unavailable(nw, "table_3") is None
    files = target_files(nw, "table_3")["texts"]
    assert {Path(path).stem for path in files} == {"readability", "entities", "similarity", "ngram"}
    without = target_settings(nw, "table_3")["notes"]
    assert without[-1].startswith("No essay score: there is no file training_set_rel3.tsv")
    Path("training_set_rel3.tsv").touch()
    assert len(target_files(nw, "table_3")["texts"]) == len(files) * 5 / 4
    assert target_settings(nw, "table_3")["notes"] == without[:-1]


def test_table_3_has_one_setting_of_each_model_and_the_references(nw: Config) -> None:
    folders = {path.split("/scores/")[0] for path in target_files(nw, "table_3")["texts"]}
    assert folders == {
        f"results/new/{cell}/seed{seed}"
        for cell, seed in [
            ("gpt2-xl/top-k-20-p-1-t-0.9", 1), ("opt-66b/top-k-20-p-1-t-0.9", 1),
            ("bloom/top-k-20-p-1-t-0.9", 1), ("bart-base-wiki/top-k-20-p-1-t-0.9", 1),
            ("t5-base-wiki/top-k-20-p-1-t-0.9", 1), ("davinci-002/temperature-0.9-512", 1),
            ("gpt-3.5-turbo-instruct/temperature-0.9-512", 1),
            ("gpt-3.5-turbo-instruct/temperature-0.9-penalties", 1), ("human/human", 0),
        ]
    }  # fmt: skip
    assert len(target_need(nw, "table_3").cells) == 8


def test_models_that_stand_for_others_are_told(nw: Config) -> None:
    note = target_settings(nw, "table_3")["notes"][0]
    assert "GPT-2: GPT-2 XL" in note
    assert "GPT-3 Davinci: GPT-3.5 Turbo Instruct;" in note
    assert "GPT-3 with penalty: GPT-3.5 Turbo Instruct, temperature-0.9-penalties" in note
    assert "BLOOM:" not in note


def test_texts_are_read_with_their_cells(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    cell = {"task": "new", "model": "m", "decoding": "d", "seed": 2}
    files = []
    for family, ids, columns in (
        ("readability", ["x", "y"], {"flesch": [1.0, 2.0]}),
        ("ngram", ["y", "x"], {"repetition_4": [0.2, 0.1]}),
    ):
        files.append(fill(paths.TEXT_SCORES, family=family, **cell))
        write_table(Path(files[-1]), pd.DataFrame({"id": ids} | columns))
    texts = read_files({"texts": files})["texts"]
    assert texts.to_dict("records") == [
        cell | {"flesch": 1.0, "repetition_4": 0.1}, cell | {"flesch": 2.0, "repetition_4": 0.2},
    ]  # fmt: skip
    texts = read_files({"texts": files[:1]})["texts"]
    assert texts.to_dict("records") == [cell | {"flesch": 1.0}, cell | {"flesch": 2.0}]

    generations = fill(paths.GENERATIONS, **cell)
    write_table(Path(generations), pd.DataFrame({"id": ["x"], "prompt_id": ["p"], "text": ["t"]}))
    prompts = fill(paths.PROMPTS, task="new")
    write_table(Path(prompts), pd.DataFrame({"id": ["p"], "base": ["b"], "user": ["u"], "start": [""]}))
    labels = fill(paths.TEXTS, dataset="wiki")
    write_table(Path(labels), pd.DataFrame({"id": ["x"], "text": ["t"], "entity_type": ["human"]}))
    found = read_files({"generations": [generations], "prompts": [prompts], "labels": [labels]})
    assert found["generations"].to_dict("records") == [cell | {"id": "x", "prompt_id": "p", "text": "t"}]
    assert found["prompts"].to_dict("records") == [{"task": "new", "id": "p", "base": "b"}]
    assert found["labels"].to_dict("records") == [{"id": "x", "entity_type": "human"}]


def test_without_files_there_are_columns_without_rows() -> None:
    for kind, columns in (
        ("texts", ["task", "model", "decoding", "seed"]),
        ("generations", ["task", "model", "decoding", "seed", "id", "prompt_id", "text"]),
        ("prompts", ["task", "id", "base"]),
        ("labels", []),
    ):
        [found] = read_files({kind: []}).values()
        assert (list(found.columns), len(found)) == (columns, 0)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("curves", "[]"),
        ("curves", '{"model": "a", "alpha": [1], "beta": [1], "x": [1]}'),
        ("curves", '{"model": "a", "alpha": [1], "beta": [1], "x": [1], "y": [null]}'),
        ("tokens", '{"ratio": null}'),
        ("tokens", "3"),
        ("scores", '[{"metric": "precision"}]'),
    ],
)
def test_a_file_of_another_form_is_named(kind: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"one\.json: damaged"):
        read_files({kind: [str(path)]})
