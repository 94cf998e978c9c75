"""States of targets: what is done, what the rest costs and needs, why one cannot be made; the index page."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from helpers import ROOT, make_target
from made_paper import ARTICLES, EXPERIMENT, MODELS, TARGETS, read_paper, write_paper, write_support

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.errors import ConfigError, DataError
from textgamut.files import meta_path
from textgamut.report.papers.result import Entry, PaperTable
from textgamut.views.papers import paper_state, target_state, write_index
from textgamut.views.plan import make_plan
from textgamut.views.sums import Sum
from textgamut.workflow.target_files import read_files, target_files
from textgamut.workflow.targets import (
    named_targets,
    target_need,
    target_outputs,
    target_settings,
    unavailable,
    union,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_paper(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAPER_KEY", raising=False)
    return tmp_path


@pytest.fixture
def config(folder: Path) -> Config:
    return read_paper(folder)


def write_output(config: Config, name: str, table: PaperTable | None = None) -> None:
    table = table or PaperTable(["r"], ["c"], [[Entry(0.5, None, 0.9, 0.1)]])
    for suffix, path in target_outputs(config, name).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("")
        if suffix == "csv":
            meta_path(Path(path)).write_text(json.dumps({"table": asdict(table), "notes": ["a note"]}))


def test_nothing_is_done_at_first(config) -> None:
    state = target_state(config, "table_1a")
    assert (state.status, state.cells, state.cells_done) == ("missing", 4, 0)
    assert state.cost.gpu_hours.known == pytest.approx(4 * 400 * 100 / 100 / 3600)
    assert (state.keys, state.files, state.reason) == ({}, {}, None)


def test_a_cell_is_done_when_its_scores_exist_and_costs_nothing_more(config, folder) -> None:
    cells = config.cells("stories")
    for cell in cells[:3]:
        write_support(folder, config, cell)
    state = target_state(config, "table_1a")
    assert (state.status, state.cells_done) == ("partly", 3)
    # The fourth cell, and the texts of the references, which its scores need.
    assert state.cost.gpu_hours.known == pytest.approx(2 * 400 * 100 / 100 / 3600)
    write_support(folder, config, cells[3])
    state = target_state(config, "table_1a")
    assert (state.status, state.cells_done, state.cost.gpu_hours) == ("partly", 4, Sum(0, 0))
    write_output(config, "table_1a")
    assert target_state(config, "table_1a").status == "done"


def test_the_outputs_alone_are_not_done(config) -> None:
    write_output(config, "table_1a")
    assert target_state(config, "table_1a").status == "missing"


def test_keys_of_served_models_are_named(config, monkeypatch) -> None:
    state = target_state(config, "figure_1")
    assert state.keys == {"PAPER_KEY": False}
    assert state.needs == ["PAPER_KEY (not set)"]
    assert state.cost.dollars.unknown == 1  # the prompts are not drawn yet
    monkeypatch.setenv("PAPER_KEY", "secret")
    assert target_state(config, "figure_1").needs == ["PAPER_KEY"]


def test_the_key_of_a_judge_is_named(folder) -> None:
    """Only where its family is needed."""
    metrics = {"judged_completions": {"model": "judge"}, "readability": {}}
    task = ARTICLES | {"completions": 3, "metrics": metrics}
    table = TARGETS["table_9"]
    targets = {
        f"table_{i}": table | {"metrics": [name]} for i, name in enumerate(("judged_distinct", "flesch"))
    }
    write_paper(folder, tasks={"articles": task}, targets=targets)
    source = {"kind": "openai", "url": "http://localhost:1/v1", "model": "m", "key_variable": "JUDGE_KEY"}
    judge = {"label": "J", "family": "j", "engine": "openai", "chat": "template", "gpus": 0, "source": source}
    (folder / "config/models.yaml").write_text(yaml.safe_dump(MODELS | {"judge": judge}))
    config = read_paper(folder)
    assert target_state(config, "table_0").needs == ["JUDGE_KEY (not set)"]
    assert target_state(config, "table_1").needs == []


def test_a_target_without_the_users_file_cannot_be_made(config, folder) -> None:
    state = target_state(config, "table_9")
    assert state.status == "unavailable"
    assert state.reason
    assert "asap.tsv" in state.reason
    assert state.needs == ["asap.tsv (no such file)"]
    (folder / "asap.tsv").touch()
    state = target_state(config, "table_9")
    assert (state.status, state.reason, state.needs) == ("missing", None, ["asap.tsv"])


def test_the_users_own_models_and_texts_are_named(folder) -> None:
    entry = "{label: V, family: v, chat: none, source: {kind: file, path: weights}}"
    (folder / "weights").mkdir()
    (folder / "weights/config.json").write_text("{}")
    models = folder / "config/models.yaml"
    models.write_text(models.read_text().replace("\nvicuna:", "\nother:") + f"vicuna: {entry}\n")
    assert target_state(read_paper(folder), "table_1a").files == {"weights": True}


def test_shared_cells_cost_once_and_those_that_cannot_be_made_nothing(config) -> None:
    state = paper_state(config)
    assert [target.name for target in state.targets] == list(EXPERIMENT["targets"])
    one = state.targets[0].cost.gpu_hours.known
    assert state.targets[1].cost.gpu_hours.known == one
    assert state.cost.gpu_hours.known == one
    assert state.targets[3].cost.gpu_hours.known > 0


def test_the_need_of_a_group_is_that_of_its_parts(config) -> None:
    need = union(target_need(config, name) for name in named_targets(config, "table_1"))
    assert need == target_need(config, "table_1a")
    both = union([need, target_need(config, "figure_1")])
    assert both.cells == [*config.cells("stories"), *config.cells("news")]
    assert both.families == {"stories": ["support"], "news": ["support"]}
    assert {line.task for line in make_plan(config, need=both).lines} == {"stories", "news"}


def test_an_unknown_target_is_told_the_nearest(config) -> None:
    with pytest.raises(ConfigError, match="unknown target 'tabel_1' of small; nearest valid: 'table_1'"):
        named_targets(config, "tabel_1")


def test_the_index_page_shows_states_tables_and_what_was_run(config, folder) -> None:
    for cell in config.cells("stories"):
        write_support(folder, config, cell)
    write_output(config, "table_1a")
    write_output(config, "figure_1")
    as_run = read_paper(folder)
    as_run = as_run._replace(experiment=as_run.experiment.model_copy(update={"name": "small-as-run"}))
    write_output(as_run, "table_1a", PaperTable(["r"], ["c"], [[Entry(0.9, None, 0.9, 0.1)]]))
    page = write_index(config).read_text()
    assert "Table 1a: Creative texts" in page
    assert "1 of 4 are done" in page
    assert '<a href="table_1a.html">' in page
    assert "1 of 1" in page
    assert '<a href="../small-as-run/table_1a.html">0 of 1</a>' in page
    assert '<i>0.9000</i> <i class="paper">(+0.0000)</i>' in page
    assert '<img src="figure_1.svg"' in page
    assert "0 of 1 cells are done" in page  # the figure is there, but its only cell is not
    assert "asap.tsv" in page
    assert "a note" in page
    assert "<script" not in page


def test_a_damaged_record_of_a_target_is_named(config) -> None:
    write_output(config, "table_1a")
    record = meta_path(Path(target_outputs(config, "table_1a")["csv"]))
    for content in ("{", '{"table": 5, "notes": []}', "{}"):
        record.write_text(content)
        with pytest.raises(DataError, match=r"table_1a\.csv\.meta\.json: damaged"):
            write_index(config)


def test_metrics_of_other_families_are_no_need(folder) -> None:
    """The essays are named by the target that reads them, and by no other of the same task."""
    articles = ARTICLES | {"metrics": {"essay": {"essays": "asap.tsv"}, "readability": None}}
    target = {"shape": "metrics-by-model", "metrics": ["flesch"], "title": "t", "tasks": ["articles"]}
    other = folder / "other"
    write_paper(other, tasks={"articles": articles}, targets={"table_3": target})
    state = target_state(read_paper(other), "table_3")
    assert (state.files, state.status) == ({}, "missing")


PAPERS = {path.stem: load_config(path) for path in sorted((ROOT / "config/papers").glob("*.yaml"))}


@pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper in PAPERS for name in PAPERS[paper].experiment.targets]
)
def test_every_target_can_be_shown_before_anything_is_computed(paper: str, name: str) -> None:
    config = PAPERS[paper]
    data = read_files({kind: [] for kind in config.experiment.targets[name].reads})
    table = make_target(target_settings(config, name), data).table
    of_registry = not config.experiment.targets[name].reads
    assert of_registry or all(entry.ours is None for row in table.entries for entry in row)


def test_a_ranking_needs_all_methods_of_its_tasks() -> None:
    config = PAPERS["mc"]
    need = target_need(config, "table_8")
    assert {cell.task for cell in need.cells} == {"wikitext"}
    assert len(need.cells) == 354
    assert need.families == {"wikitext": ["ngram", "likelihood"]}
    assert len(target_need(config, "table_4").cells) == len(target_need(config, "table_12").cells) == 1062
    files = target_files(config, "table_12")
    assert list(files) == ["ranking"]
    assert set(files["ranking"]) >= {
        f"results/papers/mc/all/ranking/{name}.csv" for name in ("winners", "ranking")
    }
    shown = target_files(config, "table_4")
    assert len(shown["continuations"]) == 6 * 7 + 1  # models, decodings, and the human texts
    assert shown["continuations"][-1] == "results/wikitext/human/human/seed0/generations.parquet"
    released = target_need(PAPERS["mc-released"], "table_8")
    assert released.cells == []


def test_what_needs_ratings_is_unavailable_without_them() -> None:
    config = PAPERS["mc"]
    for name in config.experiment.targets:
        reason = unavailable(config, name)
        assert (reason is not None) == (name in ("table_21", "figure_5")), name
    small = load_config(ROOT / "config/test/papers/mc.yaml")
    assert unavailable(small, "table_21") is None
    assert [Path(file).name for file in target_state(small, "table_21").files] == ["ratings.csv"]
