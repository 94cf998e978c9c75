"""Configuration: what is wrong is named, with the file, the key and the nearest valid choice."""

import copy
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from helpers import EXPERIMENTS, ROOT, shipped

from textgamut.config.cells import Cell, Config
from textgamut.config.entries.datasets import BiographiesDataset, NewWikiDataset
from textgamut.config.entries.sources import needs_contact
from textgamut.config.loading import load_config, load_registry, validate_config
from textgamut.config.schema import json_schema
from textgamut.config.task_kinds import HUMAN
from textgamut.config.yaml import read_yaml
from textgamut.errors import TextgamutError
from textgamut.workflow import paths
from textgamut.workflow.paths import fill

DEMO = read_yaml(ROOT / "config/demo.yaml")


def change(*keys: str | int, value: object) -> dict:
    """Return the demo's experiment with one value set."""
    experiment = copy.deepcopy(DEMO)
    node = experiment
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    return experiment


def several_embedders(*names: str) -> dict:
    """Return the experiment with several embedders."""
    experiment = change("embedders", value=list(names))
    del experiment["embedder"]
    return experiment


def varied(temperatures: object, top_p: object, *decodings: str) -> dict:
    """Return the experiment with the decodings of a block at several temperatures."""
    block: dict = {"models": ["gemma-3-270m"], "decodings": list(decodings or ["nucleus-0.95"])}
    given = {"temperatures": temperatures, "top_p": top_p}
    block |= {name: value for name, value in given.items() if value is not None}
    return change("tasks", "news", "cells", value=[block])


def load(experiment: dict, registries: Path = ROOT / "config") -> Config:
    return validate_config(experiment, "my.yaml", registries)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_loads(path: Path) -> None:
    load_config(path)


def test_schema_is_up_to_date() -> None:
    assert json.loads((ROOT / "config/schema.json").read_text()) == json_schema(), "run `make schema`"


@pytest.mark.parametrize(
    "path",
    [
        path
        for top in ("config", "src")
        for path in sorted((ROOT / top).rglob("*.yaml"))
        if path.parent.name != "published"
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_file_follows_the_schema_that_it_names(path: Path) -> None:
    first_line = path.read_text().splitlines()[0]
    file, kind = first_line.removeprefix("# yaml-language-server: $schema=").split("#/$defs/")
    assert (path.parent / file).resolve() == ROOT / "config/schema.json"
    schema = json.loads((ROOT / "config/schema.json").read_text())
    jsonschema.validate(read_yaml(path) or {}, schema | {"anyOf": [{"$ref": f"#/$defs/{kind}"}]})


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        (
            change("tasks", "decoding", "ranking", "higher", value=["coherence", "diversty"]),
            "tasks.decoding.ranking: no criterion 'diversty' of single texts among the task's metrics; "
            "nearest valid: 'diversity'",
        ),
        (change("tasks", "decoding", "ranking", value={}), "tasks.decoding.ranking: no criterion is named"),
        (
            change("tasks", "decoding", "ranking", "ratings", value="missing.csv"),
            "tasks.decoding.ranking.ratings: there is no file missing.csv",
        ),
        (
            change(
                "tasks",
                "decoding",
                value=DEMO["tasks"]["decoding"]
                | {"metrics": {"ngram": {}}, "ranking": {"higher": ["diversity"], "ratings": __file__}},
            ),
            "tasks.decoding.ranking.ratings: Q*Text needs perplexity, coherence among the task's metrics",
        ),
        (
            change("tasks", "decoding", "ranking", "lower", value=["coherence"]),
            "tasks.decoding.ranking: duplicate criteria in",
        ),
        (
            change("tasks", "decoding", "cells", 0, "decodings", value=["greedy-64"]),
            "tasks.decoding.ranking: at least two methods are needed",
        ),
        (
            change("tasks", "topics", "ranking", value={"higher": ["diversity"]}),
            "tasks.topics.ranking: there are no prompts",
        ),
        (
            change("tasks", "news", "metrics", value={"similarity": None}),
            "tasks.news.kind: similarity compares a text with the reference of its own prompt",
        ),
        (
            change("tasks", "wiki", "metrics", "entities", value={"tagger": "en-core-web-lg"}),
            "tasks.wiki.metrics.entities.tagger: unknown tagger 'en-core-web-lg'; nearest valid: "
            "'en-core-web-sm'",
        ),
        (
            change("tasks", "wiki", "metrics", "judge", value={"model": "gemma-3-270m"}),
            "tasks.wiki.metrics.judge.model: model 'gemma-3-270m' cannot be a judge",
        ),
        (
            change("tasks", "wiki", "metrics", "judge", value={"model": "gpt-3.5-turbo-instruct"}),
            "tasks.wiki.kind: judge only rates biographies",
        ),
        (
            change("tasks", "wiki", "metrics", "judged_completions", value={"model": "gemma-3-270m"}),
            "tasks.wiki.metrics.judged_completions.model: model 'gemma-3-270m' cannot be a judge",
        ),
        (
            change("tasks", "wiki", "metrics", "judged_completions", value={"model": "gpt-3.5-turbo"}),
            "tasks.wiki: metrics.judged_completions compares several completions of a prompt",
        ),
        (
            change(
                "tasks",
                "wiki",
                value=DEMO["tasks"]["wiki"]
                | {
                    "keep": 2,
                    "metrics": {
                        "essay": {"essays": "missing.tsv"},
                        "completions": {"quality": {"metric": "essay", "at_least": 5}},
                    },
                },
            ),
            "tasks.wiki: metrics.completions.quality.metric: essay: there is no file",
        ),
        (
            change("tasks", "wiki", "metrics", "completions", value={"first": 3}),
            "tasks.wiki: metrics.completions compares 3 completions of a prompt, but",
        ),
        (
            change("tasks", "topics", "metrics", value={"judged_completions": {"model": "gpt-3.5-turbo"}}),
            "tasks.topics.kind: judged_completions needs several completions of a prompt, which tasks of",
        ),
        (
            change("tasks", "news", "metrics", value={"judged_completions": {"model": "gpt-3.5-turbo"}}),
            "tasks.news.kind: judged_completions needs several completions of a prompt, which tasks of this",
        ),
        (
            change("tasks", "topics", "metrics", value={"completions": {}}),
            "tasks.topics.kind: completions needs prompts, which tasks of this kind lack",
        ),
        (
            change(
                "tasks",
                "wiki",
                value=DEMO["tasks"]["wiki"]
                | {
                    "completions": 4,
                    "keep": 4,
                    "metrics": {"completions": {}},
                    "cells": [
                        *DEMO["tasks"]["wiki"]["cells"],
                        {"models": ["gemma-3-270m"], "decodings": ["nucleus-0.95"], "keep": 2},
                    ],
                },
            ),
            "tasks.wiki: metrics.completions.first: cells have different numbers of completions (2, 4)",
        ),
        (
            change(
                "tasks",
                "topics",
                "metrics",
                value={"likelihood": {"scorer": "gemma-3-270m", "perplexity_of": "generator"}},
            ),
            "tasks.topics.kind: human texts have no generator",
        ),
        (change("tasks", value={"all": DEMO["tasks"]["news"]}), "tasks.all: the name is reserved"),
        (
            change("tasks", "news", "sedes", value=[1]),
            "my.yaml: tasks.news.sedes: unknown key; nearest valid: 'seeds'",
        ),
        (
            change("tasks", "news", "cells", 0, "models", 1, value="gema-3-270m"),
            "my.yaml: tasks.news.cells[0].models[1]: unknown model 'gema-3-270m'; "
            "nearest valid: 'gemma-3-270m'",
        ),
        (
            change("tasks", "news", "cells", 0, "decodings", 0, value="nucleus-95"),
            "tasks.news.cells[0].decodings[0]: unknown decoding 'nucleus-95'; nearest valid: 'nucleus-0.95'",
        ),
        (
            change("tasks", "news", "dataset", value="news-article"),
            "tasks.news.dataset: unknown dataset 'news-article'; nearest valid: 'news-articles'",
        ),
        (
            change("embedder", value="mini"),
            "embedder: unknown embedder 'mini'; nearest valid: 'minilm'",
        ),
        (
            change("embedders", value=["gpt2-large", "minilm"]),
            "embedder: expected the first of embedders, 'gpt2-large', or no such key",
        ),
        (
            several_embedders("minilm", "gemma"),
            "embedders[1]: unknown embedder 'gemma'; nearest valid: 'gemma-",
        ),
        (several_embedders("minilm"), "embedders: List should have at least 2 items after validation, not 1"),
        (several_embedders("minilm", "minilm"), "embedders: duplicate values"),
        (
            change("tasks", "news", "kind", value="continuations"),
            "tasks.news.kind: 'continuations' is not one of the choices; nearest valid: 'continuation'",
        ),
        (change("tasks", "news", "k", value=100), "tasks.news: k = 100 needs more than 100 texts"),
        (change("tasks", "news", "n", value=1), "tasks.news.n: Input should be greater than or equal to 2"),
        (change("tasks", "news", "seeds", value=[1, 1]), "seeds: duplicate values in [1, 1]"),
        (
            change("tasks", "news", "max_words", value=10),
            "max_words (10) leaves nothing after 10 prompt words",
        ),
        (change("tasks", "news-articles", value=DEMO["tasks"]["news"]), "a dataset has the same slug"),
        (change("tasks", "News!", value=DEMO["tasks"]["news"]), "tasks.News!: String should match pattern"),
        (
            change("tasks", "topics", "references", value=["sport", "sport"]),
            "tasks.topics: references: duplicate labels in ['sport', 'sport']",
        ),
        (
            change("tasks", "topics", "subsets", "one-topic", value=[str(i) for i in range(65)]),
            "one-topic: 65 labels cannot share n = 64 texts",
        ),
        (
            change("tasks", "news", "dataset", value="biographies"),
            "my.yaml: contact: dataset 'biographies' is extracted from Wikipedia: give your mail address",
        ),
        (change("contact", value="me\nX-Evil: 1"), "my.yaml: contact: String should match pattern"),
        (change("metrics", value={"suport": {}}), "metrics.suport: unknown key; nearest valid: 'support'"),
        (change("metrics", value={}), "metrics: no family is named; valid: support, divergence"),
        (
            change("metrics", value={"support": {"bootstrp": 9}}),
            "metrics.support.bootstrp: unknown key; nearest valid: 'bootstrap'",
        ),
        (
            change("metrics", value={"support": {"blocks": 1}}),
            "metrics.support.blocks: Input should be greater than or equal to 2",
        ),
        (
            change("metrics", value={"support": {"blocks": 4, "bootstrap": 50}}),
            "metrics.support: blocks: the metrics have no intervals then: leave out bootstrap",
        ),
        (
            change("metrics", value={"support": {"blocks": 61}}),
            "tasks.news: metrics.support.blocks: 61 blocks of 60 texts: lower blocks or raise n",
        ),
        (
            change("metrics", value={"likelihood": {"scorer": "smollm2-135m"}}),
            "metrics.likelihood.scorer: unknown model 'smollm2-135m'; nearest valid: 'smollm2-135m-instruct'",
        ),
        (
            change("metrics", value={"ngram": {"tokenizer": "gpt3"}}),
            "metrics.ngram.tokenizer: unknown model 'gpt3'",
        ),
        (
            change("metrics", value={"divergence": {"seeds": [1, 1]}}),
            "metrics.divergence.seeds: duplicate values in [1, 1]",
        ),
        (
            change("tasks", "news", "sweep", value={"n": [101], "k": [1]}),
            "tasks.news: sweep.n: 101 is more than the task's n = 60",
        ),
        (change("tasks", "news", "sweep", value={"n": [4], "k": [1]}), "every k needs more than k texts"),
        (
            change("tasks", "news", "sweep", value={"n": [9], "k": [1], "k_at": 101}),
            "tasks.news: sweep.k_at: 101 is more than the task's n = 60",
        ),
        (
            change("tasks", "news", "sweep", value={"n": [9], "k": [40], "k_at": 40}),
            "every k needs more than k texts",
        ),
        (
            change("tasks", "news", "groups", value=["topics"]),
            "tasks.news.groups: the dataset has no column 'topics'; nearest valid: 'topic'",
        ),
        (varied([1.0], [0.9]), "tasks.news.cells[0].temperatures: List should have at least 2 items"),
        (varied([0.7, 1.0], []), "tasks.news.cells[0].top_p: List should have at least 1 item"),
        (varied([1.0, 1], [0.9]), "cells[0].temperatures: duplicate values in [1.0, 1.0]"),
        (
            varied([0, 1], [0.9]),
            "cells[0].temperatures[0]: Input should be greater than or equal to 0.000001",
        ),
        (varied([0.7, 1.0], [1.5]), "cells[0].top_p[0]: Input should be less than or equal to 1"),
        (varied([0.7, 1.0], None), "cells[0]: temperatures and top_p belong together: set top_p, too"),
        (varied(None, [0.7]), "cells[0]: temperatures and top_p belong together: set temperatures, too"),
        (
            varied([0.7, 1.0], [0.9], "greedy-64", "nucleus-0.9"),
            "cells[0].temperatures: decoding 'greedy-64' has strategy greedy: name one with sampling",
        ),
        (varied([0.7, 1.0], [0.9], "nucleus"), "cells[0].decodings[0]: unknown decoding 'nucleus'"),
        (
            varied([0.7, 1.0], [i / 10 for i in range(1, 10)]),
            "tasks.news.cells: top_p has 9 values, but a figure can tell 8 apart: use fewer, or another task",
        ),
        ({}, "my.yaml: name: this key is required"),
        ([], "my.yaml: (top level)"),
    ],
)
def test_bad_experiment(experiment: dict, message: str) -> None:
    with pytest.raises(TextgamutError) as error:
        load(experiment)
    assert message in str(error.value)


def test_a_block_makes_its_decoding_at_each_temperature_and_top_p() -> None:
    config = load(varied([1, 0.7], [0.9, 1.0], "nucleus-0.95", "nucleus-0.9"))
    names = [name for _, name in config.methods("news")]
    assert names[:4] == [f"nucleus-0.95-{of}" for of in ("t1.0-p0.9", "t1.0-p1.0", "t0.7-p0.9", "t0.7-p1.0")]
    assert len(names) == 8
    base, made = config.decoding["nucleus-0.95"], config.decoding["nucleus-0.95-t0.7-p0.9"]
    assert made.model_dump() == base.model_dump() | {"temperature": 0.7, "top_p": 0.9}
    assert config.size(config.cells("news")[-1]).n == 60


def test_a_temperature_more_changes_no_name_and_no_setting_of_the_others() -> None:
    few, more = (load(varied(at, [0.9])) for at in ([0.5, 1.0], [0.5, 0.75, 1.0]))
    names = [set(config.variants("news")) for config in (few, more)]
    assert names[1] - names[0] == {"nucleus-0.95-t0.75-p0.9"}
    assert names[0] < names[1]
    assert all(few.decoding[name] == more.decoding[name] for name in names[0])


def test_a_name_of_another_setting_is_not_taken(tmp_path: Path) -> None:
    entry = shipped("decoding")["nucleus-0.95"] | {"temperature": 0.7, "top_p": 0.9}
    file = tmp_path / "decoding.yaml"
    file.write_text(yaml.safe_dump({"nucleus-0.95-t0.7-p0.9": entry}))
    load(varied([0.7, 1.0], [0.9]), tmp_path)  # the same setting
    file.write_text(yaml.safe_dump({"nucleus-0.95-t0.7-p0.9": entry | {"top_k": 5}}))
    message = r"temperatures: decoding.yaml has another setting 'nucleus-0.95-t0.7-p0.9': rename it there"
    with pytest.raises(TextgamutError, match=message):
        load(varied([0.7, 1.0], [0.9]), tmp_path)


def test_names_of_variants_are_slugs(tmp_path: Path) -> None:
    """They are names of folders, like those of the entries, and have the same limit."""
    digits = "".join(map(str, range(100)))
    for length in (100, 101):
        name = digits[: length - len("-t0.7-p0.9")]
        entries = {name: shipped("decoding")["nucleus-0.95"]}
        (tmp_path / "decoding.yaml").write_text(yaml.safe_dump(entries))
        if length == 100:
            load(varied([0.7, 1.0], [0.9], name), tmp_path)
            continue
        message = rf"cells\[0\].temperatures: the name '{name}-t0.7-p0.9' has 101 characters, at most 100 are"
        with pytest.raises(TextgamutError, match=message):
            load(varied([0.7, 1.0], [0.9], name), tmp_path)


def test_the_first_of_several_embedders_is_that_of_all_tables() -> None:
    loaded = load(several_embedders("gpt2-large", "minilm")).experiment
    assert loaded.embedder == "gpt2-large"
    assert loaded.embedders == ["gpt2-large", "minilm"]


def test_all_problems_are_told_at_once() -> None:
    experiment = change("tasks", "news", "dataset", value="x")
    experiment["embedder"] = "y"
    with pytest.raises(TextgamutError, match=r"(?s)unknown embedder 'y'.*unknown dataset 'x'"):
        load(experiment)


@pytest.mark.parametrize(
    ("registry", "text", "message"),
    [
        ("models", "a: {lable: x}", "models.yaml: a.lable: unknown key; nearest valid: 'label'"),
        (
            "models",
            "a: {label: x, family: x, chat: none, source: {kind: file, pth: x}}",
            "models.yaml: a.source.pth: unknown key; nearest valid: 'path'",
        ),
        (
            "datasets",
            "url: {format: table, source: {kind: url, url: 'http://example.org/x', sha256: abc}}",
            "datasets.yaml: url.source.url: String should match pattern",
        ),
        (
            "datasets",
            "url: {format: table, source: {kind: url, url: 'https://example.org/x', sha256: abc}}",
            "datasets.yaml: url.source.sha256: String should match pattern",
        ),
        (
            "datasets",
            "a: {format: tabel}",
            "a.format: 'tabel' is not one of the choices; nearest valid: 'table'",
        ),
        (
            "datasets",
            "a: {format: table, groups: [text], source: {kind: file, path: x}}",
            "a: groups: text is a reserved column name",
        ),
        ("decoding", "a: {strategy: sampling}", "a.max_new_tokens: this key is required"),
        (
            "decoding",
            "a: {strategy: sampling, top_p: 1.5, temperature: 1, max_new_tokens: 1}",
            "a.top_p: Input should be less than or equal to 1 (got 1.5)",
        ),
        (
            "decoding",
            f"{HUMAN}: {{strategy: sampling, top_p: 1, temperature: 1, max_new_tokens: 1}}",
            "decoding.yaml: human: reserved for human texts",
        ),
        ("models", "a: 1\nb: 2\na: 3", "models.yaml: duplicate key 'a'"),
        ("models", "a: [", "models.yaml: not valid YAML"),
        ("models", "A B: {}", "models.yaml: A B: String should match pattern"),
    ],
)
def test_bad_registry(registry: str, text: str, message: str, project: Path) -> None:
    path = project / "config" / f"{registry}.yaml"
    path.write_text(text)
    with pytest.raises(TextgamutError) as error:
        load(DEMO, project / "config")
    assert message in str(error.value)


SHORT = {"strategy": "sampling", "max_new_tokens": 8}


def test_a_user_extends_and_overrides_the_shipped_entries(tmp_path: Path) -> None:
    path = tmp_path / "decoding.yaml"
    path.write_text(yaml.safe_dump({"mine": SHORT, "nucleus-0.95": SHORT}))
    shipped_entries, entries = load_registry("decoding", ROOT / "config"), load_registry("decoding", tmp_path)
    assert entries.keys() == shipped_entries.keys() | {"mine"}
    assert shipped_entries["nucleus-0.95"].top_p == 0.95
    assert entries["nucleus-0.95"] == entries["mine"]  # as a whole: nothing is left of the shipped one
    assert entries["nucleus-0.9"] == shipped_entries["nucleus-0.9"]
    path.write_text("nucleus-0.95: {temperature: 1}\n")
    with pytest.raises(TextgamutError) as caught:
        load_registry("decoding", tmp_path)
    assert str(caught.value).startswith(f"{path}: nucleus-0.95.strategy: this key is required")


def test_settings_that_are_true_or_false_can_be_written(tmp_path: Path) -> None:
    source = "{kind: file, path: config}"
    model = f"label: x, family: x, chat: none, engine: vllm, batch_invariant: true, source: {source}"
    (tmp_path / "models.yaml").write_text(f"a: {{{model}}}\n")
    assert load_registry("models", tmp_path)["a"].batch_invariant is True


def test_registries_of_ones_own_may_be_missing_but_not_their_folder(tmp_path: Path) -> None:
    assert load_registry("models", tmp_path) == load_registry("models", ROOT / "config")
    with pytest.raises(TextgamutError, match=r"nowhere: there is no such folder"):
        load_config(ROOT / "config/demo.yaml", tmp_path / "nowhere")


@pytest.mark.parametrize("experiment", ["config/x.yaml", "config/papers/x.yaml", "x.yaml"])
@pytest.mark.parametrize("directory", [".", "config/papers"])
def test_registries_are_those_beside_the_experiment(
    tmp_path: Path, monkeypatch, experiment: str, directory: str
) -> None:
    """An experiment that is in no folder `config` uses that of the working directory."""
    (tmp_path / "config/papers").mkdir(parents=True)
    (tmp_path / "config/decoding.yaml").write_text(yaml.safe_dump({"mine": SHORT}))
    path = tmp_path / experiment
    path.write_text(yaml.safe_dump(DEMO))
    monkeypatch.chdir(tmp_path / directory)
    found = "mine" in load_config(os.path.relpath(path)).decoding
    assert found == (experiment != "x.yaml" or directory == ".")


def test_an_experiment_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match=r"config/demo\.yaml: there is no such file"):
        load_config(tmp_path / "config/demo.yaml")


def test_missing_source_file(project: Path) -> None:
    entry = {"mine": {"format": "table", "source": {"kind": "file", "path": "/nowhere/texts.jsonl"}}}
    (project / "config/datasets.yaml").write_text(yaml.dump(entry))
    with pytest.raises(TextgamutError, match=r"dataset 'mine': source.path: there is no file /nowhere"):
        load(change("tasks", "news", "dataset", value="mine"), project / "config")


def test_cells_are_models_by_decodings_by_seeds(demo: Config) -> None:
    cells = demo.cells("news")
    assert len(cells) == len(set(cells)) == 2 * 1 * 2
    assert fill(paths.CELL, cells[0]) == "results/news/smollm2-135m-instruct/nucleus-0.95/seed1"
    assert {cell.decoding for cell in demo.cells("topics")} == {HUMAN}


def test_a_family_that_is_named_alone_has_its_defaults() -> None:
    asked = load(change("metrics", value={"support": None, "divergence": {"seeds": [7]}})).experiment.metrics
    families: dict[str, Any] = dict(asked.families())
    assert list(families) == ["support", "divergence"]
    assert families["support"].bootstrap == 200
    assert families["divergence"].seeds == [7]


def test_support_metrics_are_the_default() -> None:
    experiment = {key: value for key, value in DEMO.items() if key != "metrics"}
    assert load(experiment).experiment.metrics.families().keys() == {"support"}


def test_hardware_is_not_science(demo: Config) -> None:
    model = demo.models["gemma-3-270m"]
    hardware = {"batch_size": 3, "gpus": 4, "label": "other", "family": "other"}
    assert model.model_copy(update=hardware).science() == model.science()
    assert model.model_copy(update={"dtype": "float32"}).science() != model.science()


def registered(tmp_path: Path, **datasets: dict) -> Path:
    """Return a folder of registries with more datasets."""
    (tmp_path / "datasets.yaml").write_text(yaml.safe_dump(datasets))
    return tmp_path


WIKI = {"format": "new-wiki", "source": {"kind": "mediawiki"}, "created_from": "2021-06-01"}


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (WIKI | {"created_before": "2021-06-01"}, "x: created_from is not before created_before"),
        (
            WIKI | {"created_before": "yesterday"},
            "x.created_before: must be a date such as 2021-06-01, or a date and time (got 'yesterday')",
        ),
        (
            WIKI | {"created_from": None, "created_before": "2021-06-01", "n": None},
            "x: n: must be a number if created_from is null",
        ),
        (
            WIKI | {"source": {"kind": "wikidata"}},
            "x.source.kind: 'wikidata' is not one of the choices",
        ),
        (
            WIKI | {"source": {"kind": "mediawiki", "api": "http://wiki.example/api.php"}},
            "x.source.api: String should match pattern",
        ),
        (
            {"format": "biographies", "source": {"kind": "wikidata"}, "badges": ["god"]},
            "x.badges[0]: 'god' is not one of the choices: 'good' or 'featured'",
        ),
        (
            {
                "format": "biographies",
                "source": {"kind": "mediawiki"},
                "badge_pages": {"good": "Template:GA"},
            },
            "x: badge_pages: no page for the badge featured",
        ),
        (
            {"format": "biographies", "source": {"kind": "wikidata"}, "badges": []},
            "x: badges: at least one is required for a wiki",
        ),
        (
            {"format": "biographies", "source": {"kind": "wikidata"}, "min_words": 400},
            "x: min_words (400) exceeds max_words (350)",
        ),
        (
            {
                "format": "biographies",
                "source": {"kind": "wikidata"},
                "min_characters": 400,
                "max_characters": 300,
            },
            "x: min_characters (400) exceeds max_characters (300)",
        ),
        (
            {"format": "biographies", "source": {"kind": "mediawiki"}, "language": "de"},
            "x: source: persons are recognized by the categories of the English Wikipedia, and these "
            "articles are in 'de': use `kind: wikidata`",
        ),
        (
            {"format": "webtxt", "source": {"kind": "wikidata"}},
            "x.format: 'webtxt' is not one of the choices; near",
        ),
    ],
)
def test_a_wrong_dataset_is_named(tmp_path: Path, dataset: dict, message: str) -> None:
    with pytest.raises(TextgamutError) as caught:
        load(DEMO, registered(tmp_path, x=dataset))
    assert message in str(caught.value)


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_lengths_of_articles_of_a_wiki(unit: str) -> None:
    entry = NewWikiDataset(**WIKI, created_before="2022-01-01")
    assert entry.min_words == 501
    assert "min_characters" not in entry.science()  # entries without it are as they were before it existed
    limits = {"min_words": None, "min_characters": None} | {f"min_{unit}": 10}
    science = NewWikiDataset(**WIKI, created_before="2022-01-01", **limits).science()
    assert science[f"min_{unit}"] == 10


def test_biographies_in_another_language_come_from_wikidata_or_a_snapshot() -> None:
    for source in ({"kind": "wikidata"}, {"kind": "mediawiki", "snapshot": "card.json"}):
        entry = BiographiesDataset(format="biographies", source=source, language="de", min_words=None)
        assert not entry.needs_english()


def test_a_snapshot_that_is_not_there_is_named(tmp_path: Path) -> None:
    source = {"kind": "mediawiki", "snapshot": "no/card.json"}
    registries = registered(tmp_path, x=WIKI | {"source": source, "created_before": "2022-01-01"})
    experiment = change("tasks", "news", "dataset", value="x") | {"contact": "me@example.org"}
    del experiment["tasks"]["topics"]
    with pytest.raises(TextgamutError, match=r"dataset 'x': source.snapshot: there is no file no/card.json"):
        load(experiment, registries)


def test_a_date_is_midnight_in_utc(tmp_path: Path) -> None:
    window = {"created_from": "2021-06-01", "created_before": "2021-06-02T02:00:00+02:00"}
    experiment = copy.deepcopy(DEMO)
    experiment["tasks"] = {"news": experiment["tasks"]["news"] | {"dataset": "x"}}
    experiment |= {"contact": "https://example.org/me"}
    loaded = load(experiment, registered(tmp_path, x=WIKI | window)).datasets["x"]
    assert loaded.created_from.isoformat() == "2021-06-01T00:00:00+00:00"
    assert loaded.created_before.isoformat() == "2021-06-02T00:00:00+00:00"


@pytest.mark.parametrize(
    ("url", "needed"),
    [
        ("https://en.wikipedia.org/w/api.php", True),
        ("https://query.wikidata.org/sparql", True),
        ("https://wikipedia.org.example.com/w/api.php", False),
        ("https://notwikipedia.org/w/api.php", False),
        ("http://127.0.0.1:8000/api.php", False),
    ],
)
def test_the_foundation_wants_a_contact(url: str, needed: bool) -> None:
    assert needs_contact(url) == needed


CELLS = [{"models": ["smollm2-135m-instruct"], "decodings": ["nucleus-0.9"]}]
COMMON = {"n": 20, "seeds": [1, 2], "max_words": 50, "cells": CELLS}
BIOGRAPHIES = COMMON | {
    "kind": "biographies", "dataset": "biographies-sample", "draws": [1], "examples": 3, "k": 2
}  # fmt: skip
TRUNCATED = BIOGRAPHIES | {"truncate_prompts": 4096}
CREATIVE = COMMON | {
    "kind": "creative",
    "dataset": "creative",
    "draws": [1, 7],
    "references": {"model": "gemma-3-270m", "decoding": "nucleus-0.95"},
}
PROMPTED = {"kind": "prompted", "dataset": "wikinews", "seeds": [1], "cells": CELLS}


def tasks(metrics: dict | None = None, **entries: dict) -> dict:
    """Return an experiment with these tasks."""
    return {"name": "mine", "embedder": "minilm", "metrics": metrics or {"ngram": {}}, "tasks": entries}


SCORES = {
    "kind": "scores",
    "corpus": "wikinews",
    "source": {"kind": "url", "url": "https://example.org/results.csv"},
    "ranking": {"higher": ["coherence"], "lower": ["perplexity"]},
    "cells": [{"models": ["gemma-3-270m"], "decodings": ["beam-3", "beam-5"]}],
}


def test_scores_from_a_file_are_ranked_and_nothing_is_generated() -> None:
    config = load(tasks(s=SCORES, p=PROMPTED))
    assert config.ranked() == {"s": ["s"]}
    assert config.measured() == ["p"]
    assert {cell.task for cell in config.generated()} == {"p"}
    assert config.human_cells("s") == []


def test_all_methods_of_a_file_are_ranked_if_there_are_no_cells() -> None:
    bare = {name: SCORES[name] for name in ("kind", "source")} | {"ranking": {"lower": ["typos"]}}
    named = load(tasks(s=bare, t=bare | {"corpus": "x"})).ranked()
    assert named == {"s": ["s"], "t": ["t"], "all": ["s", "t"]}
    others = bare | {"source": {"kind": "url", "url": "https://example.org/other.csv"}}
    assert load(tasks(s=bare, t=others)).ranked() == {"s": ["s"], "t": ["t"]}
    target = {"shape": "worths", "title": "T", "tasks": ["s"]}
    with pytest.raises(TextgamutError, match=r"targets.table_1.tasks: s has no cells: list the methods that"):
        load(tasks(s=bare) | {"targets": {"table_1": target}})


def test_counts_are_added_by_position_in_the_table_that_was_printed_so_alone() -> None:
    entries = {name: SCORES | {"corpus": name} for name in ("a", "b", "c")}
    target = {"shape": "worths", "title": "T", "tasks": ["a", "b", "c"], "merge": "by-position"}
    assert load(tasks(**entries) | {"paper": "mc", "targets": {"table_11": target}})
    for refused in (
        {"targets": {"table_11": target}},
        {"paper": "mc", "targets": {"table_10": target}},
        {"paper": "mc", "targets": {"table_11": target | {"tasks": ["a"]}}},
    ):
        with pytest.raises(TextgamutError, match=r"merge: by-position is for table_11 of the paper mc, with"):
            load(tasks(**entries) | refused)


def test_kinds_of_task_load_with_their_defaults() -> None:
    loaded = load(tasks(b=BIOGRAPHIES, c=CREATIVE, p=PROMPTED | {"completions": 20, "keep": 10})).experiment
    assert {name: task.completions for name, task in loaded.tasks.items()} == {"b": 1, "c": 1, "p": 20}
    prompted = loaded.tasks["p"]
    assert (prompted.n, prompted.max_words, prompted.draws, prompted.keep) == (None, None, [0], 10)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (
            {"b": BIOGRAPHIES | {"examples": 16}},
            "tasks.b.examples: Input should be less than or equal to 15 (got 16)",
        ),
        (
            {"b": BIOGRAPHIES | {"dataset": "news-articles"}},
            "tasks.b.dataset: 'news-articles' has the format news-articles; a task of kind biographies needs "
            "biographies",
        ),
        ({"p": PROMPTED | {"dataset": "webtext"}}, "needs continuations or new-wiki"),
        ({"c": CREATIVE | {"dataset": "wikinews"}}, "a task of kind creative needs creative"),
        (
            {"c": CREATIVE | {"references": {"model": "gema-3-270m", "decoding": "nucleus-95"}}},
            "tasks.c.references.model: unknown model 'gema-3-270m'; nearest valid: 'gemma-3-270m'",
        ),
        (
            {"c": CREATIVE | {"references": {"model": "gemma-3-270m", "decoding": "nucleus-95"}}},
            "tasks.c.references.decoding: unknown decoding 'nucleus-95'; nearest valid: 'nucleus-0.95'",
        ),
        (
            {"c": CREATIVE | {"references": {"model": "x"}}},
            "tasks.c.references.decoding: this key is required",
        ),
        ({"c": CREATIVE | {"groups": ["topic"]}}, "tasks.c.groups: the dataset has no column 'topic'"),
        (
            {"c": CREATIVE, "d": CREATIVE | {"texts_of": "e"}},
            "tasks.d.texts_of: 'e' is not a creative task with its own texts; valid: 'c'",
        ),
        ({"c": CREATIVE | {"texts_of": "c"}}, "texts_of: 'c' is not a creative task with its own texts"),
        (
            {"c": CREATIVE, "d": CREATIVE | {"texts_of": "c", "n": 19}},
            "tasks.d.n: 19 differs from 20, the value of c, which provides the texts",
        ),
        (
            {"c": CREATIVE, "d": CREATIVE | {"texts_of": "c", "words_end": "at-spaces"}},
            "tasks.d.words_end: at-spaces differs from at-white-space, the value of c",
        ),
        (
            {"b": TRUNCATED | {"cells": [{"models": ["gpt-3.5-turbo"], "decodings": ["nucleus-0.95"]}]}},
            "tasks.b.truncate_prompts: model 'gpt-3.5-turbo' has the engine openai, which writes nothing",
        ),
        (
            {
                "b": TRUNCATED
                | {"metrics": {"likelihood": {"scorer": "gemma-3-270m", "perplexity_of": "generator"}}}
            },
            "tasks.b.truncate_prompts: perplexity_of: generator: the perplexity is that of a text after its",
        ),
        (
            {"c": CREATIVE, "d": CREATIVE | {"texts_of": "c", "prompts": "per-seed"}},
            "tasks.d.prompts: per-seed differs from shared, the value of c",
        ),
        (
            {"c": CREATIVE, "d": CREATIVE | {"texts_of": "c", "seeds": [2, 3]}},
            "tasks.d.cells: c has no texts of smollm2-135m-instruct, nucleus-0.9, seed 3",
        ),
        (
            {"p": PROMPTED | {"completions": 2, "keep": 3}},
            "tasks.p: keep (3) exceeds completions (2)",
        ),
        (
            {"p": PROMPTED | {"sweep": {"n": [10], "k": [1]}}},
            "tasks.p: sweep: needs n, the number of texts, as a number",
        ),
        ({"p": PROMPTED | {"n": 4}}, "tasks.p: k = 4 needs more than 4 texts"),
        (
            {"p": PROMPTED | {"completions": 9, "keep": 3, "cells": [CELLS[0] | {"completions": 2}]}},
            "tasks.p: cells[0]: keep (3) exceeds completions (2)",
        ),
        (
            {"p": PROMPTED | {"completions": 9, "cells": [CELLS[0] | {"keep": 10}]}},
            "tasks.p: cells[0]: keep (10) exceeds completions (9)",
        ),
        (
            {"p": PROMPTED | {"n": 20, "cells": [*CELLS, CELLS[0] | {"n": 21}]}},
            "tasks.p: cells[1]: n (21) exceeds the task's n (20)",
        ),
        (
            {"p": PROMPTED | {"cells": [*CELLS, CELLS[0] | {"n": 20}]}},
            "tasks.p: cells[0] and cells[1]: smollm2-135m-instruct, nucleus-0.9 is in both, with different "
            "sizes: all prompts with 1 completions of which 1 are kept, and 20 prompts with",
        ),
        (
            {"c": CREATIVE | {"cells": [CELLS[0] | {"n": 10}]}},
            "tasks.c.cells[0].n: unknown key; valid: 'decodings', 'models'",
        ),
        ({"creative": CREATIVE}, "tasks.creative: a dataset has the same slug"),
        (
            {"s": SCORES | {"columns": {"coherense": "Generation coherence"}}},
            "tasks.s: columns: 'coherense' is not a criterion; nearest valid: 'coherence'",
        ),
        (
            {"s": SCORES | {"ranking": {"higher": ["seed"]}}},
            "tasks.s: ranking: 'seed' cannot be a criterion: it is the name of another column",
        ),
        (
            {"s": SCORES | {"ranking": {"higher": ["method"]}}},
            "tasks.s: ranking: 'method' cannot be a criterion: it is the name of another column",
        ),
        (
            {"s": SCORES | {"source": {"kind": "file", "path": "no-scores.csv"}}},
            "tasks.s.source.path: there is no file no-scores.csv",
        ),
        (
            {"s": SCORES | {"cells": [], "ranking": {"higher": ["rating"], "ratings": __file__}}},
            "tasks.s.ranking.ratings: the task has no cells: list the methods that are rated",
        ),
        ({"s": SCORES | {"metrics": {"ngram": {}}}}, "tasks.s.metrics: "),
        ({"s": {key: SCORES[key] for key in SCORES if key != "ranking"}}, "tasks.s.ranking: this key is req"),
        ({"s": SCORES | {"dataset": "wikinews"}}, "tasks.s.dataset: "),
    ],
)
def test_a_wrong_task_is_named(entries: dict, message: str) -> None:
    with pytest.raises(TextgamutError) as caught:
        load(tasks(**entries))
    assert message in str(caught.value)


def test_several_texts_of_a_prompt_have_no_support() -> None:
    several = PROMPTED | {"completions": 20}
    with pytest.raises(TextgamutError, match=r"tasks.p.keep: support and divergence compare one text per"):
        load(tasks({"support": {}}, p=several))
    load(tasks({"support": {}}, p=several | {"keep": 1}))


@pytest.mark.parametrize("metrics", [{"support": {}}, {"divergence": {}}])
def test_support_needs_the_same_number_of_texts_in_all_cells(metrics: dict) -> None:
    fewer = PROMPTED | {"n": 40, "cells": [CELLS[0] | {"n": 20}]}
    with pytest.raises(TextgamutError, match=r"tasks.p.cells: support, divergence and sweep depend on the"):
        load(tasks(metrics, p=fewer))
    with pytest.raises(TextgamutError, match=r"tasks.p.keep: support and divergence compare one text per"):
        load(tasks(metrics, p=PROMPTED | {"cells": [CELLS[0] | {"completions": 2}]}))
    load(tasks(metrics, p=PROMPTED | {"n": 40, "cells": [CELLS[0] | {"n": 40}]}))
    with pytest.raises(TextgamutError, match=r"tasks.p.cells: .* sweep"):
        load(tasks(p=fewer | {"sweep": {"n": [20], "k": [4]}}))


def test_a_block_has_the_sizes_of_its_task_but_for_its_own() -> None:
    other = {"models": ["gemma-3-270m"], "decodings": ["nucleus-0.9"]}
    several = PROMPTED | {"n": 40, "completions": 20, "keep": 10}
    config = load(tasks(p=several | {"cells": [*CELLS, other | {"n": 20, "completions": 10}]}, c=CREATIVE))
    sizes = {cell.model: config.size(cell) for cell in config.cells("p")}
    assert sizes == {"smollm2-135m-instruct": (40, 20, 10), "gemma-3-270m": (20, 10, 10)}
    assert config.size(config.cells("c")[0]) == (20, 1, None)
    assert load(tasks(p=several)).size(Cell("p", HUMAN, HUMAN, 0)) == (40, 20, 10)


def test_new_wiki_has_the_sizes_of_section_8() -> None:
    config = load_config(ROOT / "config/papers/nw.yaml")
    sizes = {cell.model: config.size(cell) for task in ("new", "old") for cell in config.cells(task)}
    assert sizes.pop("opt-66b") == sizes.pop("bloom") == (100, 10, 10)
    assert set(sizes.values()) == {(2000, 20, 10)}


OF_TEXTS = {"title": "T", "tasks": ["p"], "metrics": ["flesch"]}
HELD = OF_TEXTS | {"shape": "text-parameter", "parameter": "top_k"}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (OF_TEXTS | {"shape": "text-means", "metrics": ["flesh"]}, "unknown metric 'flesh'"),
        (
            OF_TEXTS | {"shape": "text-means", "metrics": ["flesch", "mauve"]},
            "targets.table_1.metrics: mauve: not a metric of single texts",
        ),
        (OF_TEXTS | {"shape": "text-means", "metrics": ["bleu"]}, "needs metrics of the family similarity"),
        (
            HELD | {"models": ["gemma-3-270m"]},
            "targets.table_1: top_k must vary, and nothing else: select cells",
        ),
        (
            HELD | {"models": ["gemma-3-270m"], "decodings": ["top-k-50-p-1-t-0.9", "top-k-20-p-1-t-0.1"]},
            "targets.table_1: top_k must vary, and nothing else",
        ),
        (
            HELD | {"decodings": ["top-k-50-p-1-t-0.9", "top-k-20-p-1-t-0.9"]},
            "targets.table_1: top_k must vary, and nothing else",
        ),
        (
            HELD | {"models": ["gemma-3-270m"], "decodings": ["top-k-50-p-1-t-0.9"]},
            "targets.table_1: top_k must vary, and nothing else",
        ),
        (
            {"title": "T", "shape": "label-counts", "dataset": "new-wiki", "column": "entity"},
            "targets.table_1.column: the dataset has no column 'entity'; nearest valid: 'entity_type'",
        ),
        (
            {"title": "T", "shape": "label-counts", "dataset": "newwiki", "column": "entity_type"},
            "targets.table_1.dataset: unknown dataset 'newwiki'; nearest valid: 'new-wiki'",
        ),
        ({"title": "T", "shape": "samples", "tasks": ["s"]}, "targets.table_1.tasks: s has no prompts"),
        ({"title": "T", "shape": "samples", "tasks": ["p"], "prompts": 0}, "targets.table_1.prompts: "),
    ],
)
def test_a_target_of_texts_fits_its_tasks(target: dict, message: str) -> None:
    decodings = ["top-k-50-p-1-t-0.9", "top-k-20-p-1-t-0.9", "top-k-20-p-1-t-0.1", "greedy-64"]
    prompted = PROMPTED | {
        "cells": [{"models": ["gemma-3-270m", "smollm2-135m-instruct"], "decodings": decodings}],
        "metrics": {"readability": {}},
    }
    experiment = tasks(p=prompted, s=DEMO["tasks"]["topics"])
    load(
        experiment | {"targets": {"table_1": HELD | {"models": ["gemma-3-270m"], "decodings": decodings[:2]}}}
    )
    with pytest.raises(TextgamutError) as caught:
        load(experiment | {"targets": {"table_1": target}})
    assert message in str(caught.value)


@pytest.mark.parametrize("engine", ["vllm", "openai"])
def test_decodings_that_an_engine_lacks_are_refused(engine: str, tmp_path: Path) -> None:
    """Each pair of a model and a decoding by name, for cells and for the references that a model writes."""
    source = {"kind": "openai", "url": "https://h/v1", "model": "x"}
    if engine == "vllm":
        source = {"kind": "file", "path": str(tmp_path)}
    model = {"label": "x", "family": "x", "engine": engine, "source": source, "chat": "template", "gpus": 0}
    (tmp_path / "models.yaml").write_text(json.dumps({"a": model}))
    settings = {"strategy": "sampling", "max_new_tokens": 64}
    (tmp_path / "decoding.yaml").write_text(
        json.dumps({"b": settings | {"min_p": 0.1}, "c": settings | {"min_k": 3}})
    )
    experiment = tasks(p=PROMPTED | {"cells": [{"models": ["a"], "decodings": ["b", "c", "beam-3-64"]}]})
    with pytest.raises(TextgamutError) as caught:
        validate_config(experiment, "x.yaml", tmp_path)
    message = str(caught.value)
    served = "tasks.p.cells[0]: model 'a' with decoding 'c': engine openai: no min_k: leave it out"
    assert (served in message) == (engine == "openai")
    assert f"tasks.p.cells[0]: model 'a' with decoding 'beam-3-64': engine {engine}: no beam dec" in message
    assert "decoding 'b'" not in message


def test_labels_are_of_what_there_is() -> None:
    labels = {"gemma-3-270m/greedy-64": "A", "one-topic": "B", "minilm": "C", "gemma-3-270": "D", "a b": "E"}
    experiment = tasks(p=PROMPTED | {"cells": [{"models": ["gemma-3-270m"], "decodings": ["greedy-64"]}]})
    experiment["tasks"]["s"] = DEMO["tasks"]["topics"]
    with pytest.raises(TextgamutError, match=r"labels\.a b: "):
        load(experiment | {"labels": labels})
    del labels["a b"]
    with pytest.raises(TextgamutError) as caught:
        load(experiment | {"labels": labels})
    assert (
        "labels: unknown model, subset, embedder or decoding setting 'gemma-3-270'; "
        "nearest valid: 'gemma-3-270m'" in str(caught.value)
    )
    assert str(caught.value).count("labels:") == 1


def test_tokens_are_counted_of_what_there_is() -> None:
    counted = {
        "shape": "tokens-per-word",
        "title": "Tokens",
        "dataset": "webtxt",
        "models": ["gpt3", "davinci-002"],
    }
    with pytest.raises(TextgamutError) as caught:
        load(tasks(p=PROMPTED) | {"targets": {"table_1": counted}})
    assert "targets.table_1.dataset: unknown dataset 'webtxt'; nearest valid: 'webtext'" in str(caught.value)
    assert "targets.table_1.models: unknown model 'gpt3'" in str(caught.value)
    assert "targets.table_1.models: model 'davinci-002' is served by an API" in str(caught.value)


def test_texts_are_generated_once() -> None:
    """Of two creative tasks with the same texts, and of references that are a cell already."""
    own = CREATIVE | {"references": {"model": "smollm2-135m-instruct", "decoding": "nucleus-0.9"}}
    loaded = load(tasks(c=own, d=CREATIVE | {"texts_of": "c"}, p=PROMPTED))
    assert [fill(paths.CELL, cell) for cell in loaded.generated()] == [
        "results/c/smollm2-135m-instruct/nucleus-0.9/seed1",
        "results/c/smollm2-135m-instruct/nucleus-0.9/seed2",
        "results/c/smollm2-135m-instruct/nucleus-0.9/seed7",
        "results/c/gemma-3-270m/nucleus-0.95/seed1",
        "results/c/gemma-3-270m/nucleus-0.95/seed7",
        "results/p/smollm2-135m-instruct/nucleus-0.9/seed1",
    ]


def test_a_block_may_be_merged_into_another(tmp_path: Path) -> None:
    """YAML's merge keys: what is merged is no key given twice, however deep it was merged already."""
    path = tmp_path / "x.yaml"
    path.write_text("a: &a {deep: &d {<<: &e {x: 1, y: 2}, y: 3}}\nb: {<<: *d, x: 5}\nc: {<<: *d}\nd: *e\n")
    assert read_yaml(path) == {
        "a": {"deep": {"x": 1, "y": 3}}, "b": {"x": 5, "y": 3}, "c": {"x": 1, "y": 3}, "d": {"x": 1, "y": 2},
    }  # fmt: skip
    path.write_text(
        "a: &a {key: 1}\nb: &b {key: 2, other: 2}\nc: &c {<<: [*a, *b]}\nd: {<<: [*b, *c], other: 3}\n"
    )
    assert read_yaml(path) == {
        "a": {"key": 1}, "b": {"key": 2, "other": 2}, "c": {"key": 1, "other": 2},
        "d": {"key": 2, "other": 3},
    }  # fmt: skip
    path.write_text("a: 1\nb: {<<: [1]}\n")
    with pytest.raises(TextgamutError, match="expected a mapping for merging"):
        read_yaml(path)
    path.write_text("a: &a {x: 1}\nb:\n  <<: *a\n  y: 1\n  y: 2\n")
    with pytest.raises(TextgamutError, match="duplicate key 'y' in the block at line 3"):
        read_yaml(path)


def test_the_papers_are_complete() -> None:
    """What MC Table 1, NW's appendix and PR Figure 8 have."""
    papers = {name: load_config(ROOT / f"config/papers/{name}.yaml") for name in ("pr", "nw", "mc")}
    assert len(papers["mc"].generated()) == 6 * 3 * 59
    settings = {cell.decoding for cell in papers["nw"].cells("old")}
    assert len(settings) == 24
    examples = {
        task.examples for task in papers["pr"].experiment.tasks.values() if task.kind == "biographies"
    }
    assert examples == set(range(1, 16))
    temperature = papers["pr"].decoding["llama-2"].temperature
    assert (temperature, papers["pr"].decoding["pythia"].max_new_tokens) == (0.6, 390)


def test_a_task_can_name_its_own_metrics() -> None:
    config = load(DEMO)
    assert set(config.metrics("news").families()) == {
        "support", "divergence", "vendi", "distance", "length", "ngram", "compression"
    }  # fmt: skip
    assert set(config.metrics("decoding").families()) == {"ngram", "likelihood"}
    assert config.metrics("wiki").per_text()[-4:] == [
        "information_density",
        "entity_overlap",
        "sbert",
        "bleu",
    ]


def test_tasks_that_are_ranked_alike_are_ranked_together_too() -> None:
    config = load_config(ROOT / "config/papers/mc.yaml")
    assert config.ranked()["all"] == ["wikitext", "wiki-news", "books"]
    assert load(DEMO).ranked() == {"decoding": ["decoding"]}


def test_a_dump_knows_no_creation(tmp_path: Path) -> None:
    sample = shipped("datasets")["wiki-sample"] | {"created_from": "2015-01-01"}
    with pytest.raises(TextgamutError, match=r"wiki-sample.*a dump has no creation dates and no history"):
        load(DEMO, registered(tmp_path, **{"wiki-sample": sample}))
