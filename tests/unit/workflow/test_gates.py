"""Gates in the graph of jobs: what they read, what decides their verdict, and what is planned."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from textgamut import files
from textgamut.config.cells import Config
from textgamut.config.gates import Gate
from textgamut.errors import ConfigError
from textgamut.views.plan import make_plan
from textgamut.workflow import inputs, outputs, paths, settings, task_results
from textgamut.workflow.arguments import check_baselines, check_targets
from textgamut.workflow.notices import check_packages

OF = SimpleNamespace(gate="release")
BASELINE, CANDIDATE = "smollm2-135m-instruct", "gemma-3-270m"


def gated(config: Config, task: str = "news", baseline: Any = None, **more: Any) -> Config:
    sides = {"baseline": baseline or {"model": BASELINE}, "candidate": {"model": CANDIDATE}}
    gate = Gate.model_validate({"task": task} | sides | more)
    return config._replace(experiment=config.experiment.model_copy(update={"gates": {"release": gate}}))


def test_a_gate_reads_all_seeds_and_draws(demo: Config) -> None:
    config = gated(demo)
    assert inputs.of_gate(config, OF, "candidate", paths.GENERATIONS) == [
        f"results/news/{CANDIDATE}/nucleus-0.95/seed{seed}/generations.parquet" for seed in (1, 2)
    ]
    assert inputs.gate_references(config, OF, paths.REFERENCE_FEATURES) == [
        f"data/news/draw{draw}/features/minilm.npy" for draw in (1, 2)
    ]
    assert inputs.gate_dataset(config, OF) == []
    prompted = gated(demo, "wiki", {"model": "smollm2-135m-instruct-plain"})
    assert len(inputs.gate_references(prompted, OF, paths.REFERENCES)) == 1


def test_the_baseline_of_an_earlier_run_is_in_its_folder(demo: Config) -> None:
    config = gated(demo, baseline={"results": "../old/results"})
    cell = f"news/{CANDIDATE}/nucleus-0.95/seed1"
    first = inputs.of_gate(config, OF, "baseline", paths.CELL_FEATURES)[0]
    assert first == f"../old/results/{cell}/features/minilm.npy"
    assert inputs.of_gate(config, OF, "candidate", paths.GENERATIONS)[0].startswith(f"results/{cell}")


def test_a_missing_file_of_an_earlier_run_is_told(demo: Config, tmp_path: Path) -> None:
    config = gated(demo, baseline={"results": str(tmp_path)})
    with pytest.raises(ConfigError) as error:
        check_baselines(config, [])
    place = f"{tmp_path}/news/{CANDIDATE}/nucleus-0.95/seed1/generations.parquet"
    assert str(error.value).startswith(
        f"gates.release.baseline.results: there is no file {place}, and 3 more"
    )
    check_baselines(config, ["data/news/prompts.parquet"])
    for path in (paths.GENERATIONS, paths.CELL_FEATURES):
        for file in inputs.of_gate(config, OF, "baseline", path):
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).touch()
    check_baselines(config, [])
    with pytest.raises(ConfigError, match="results is the folder of this run"):
        check_baselines(gated(demo, baseline={"results": "./results"}), [])


def test_the_verdict_depends_on_what_the_gate_says_but_for_undecided(demo: Config) -> None:
    before = settings.test_gate(gated(demo), OF)
    for change in (
        {"margins": {"recall": 0.2}},
        {"alpha": 0.01},
        {"fail_on": ["drift"]},
        {"margins": {"mauve": 0.1}},
    ):
        assert settings.test_gate(gated(demo, **change), OF) != before
    config = gated(demo, undecided="fail")
    assert settings.test_gate(config, OF) == before
    assert settings.conclude_gates(config, None) != settings.conclude_gates(gated(demo), None)


def test_labels_decide_nothing(demo: Config) -> None:
    config = gated(demo)
    model = demo.models[CANDIDATE].model_copy(update={"label": "another"})
    embedder = demo.embedders["minilm"].model_copy(update={"label": "another"})
    other = config._replace(
        models=demo.models | {CANDIDATE: model}, embedders=demo.embedders | {"minilm": embedder}
    )
    assert settings.test_gate(other, OF) == settings.test_gate(config, OF)


def test_an_experiment_makes_the_files_of_its_gates(demo: Config) -> None:
    made = set(task_results.experiment_files(gated(demo))) - set(task_results.experiment_files(demo))
    assert made == {f"results/papers/demo/gates/release.{of}" for of in ("json", "md", "xml", "html")}
    verdict = "results/papers/demo/gates/release.json"
    for page, shown in {"demo": True, "demo/news": True, "demo/topics": False}.items():
        of_page = task_results.page_inputs(gated(demo), SimpleNamespace(page=page))
        assert (verdict in of_page) is shown


def test_the_page_of_an_experiment_without_gates_says_nothing_of_them(demo: Config) -> None:
    shown = settings.make_page(demo, SimpleNamespace(page="demo"))
    assert "gates" not in shown
    assert "gates" not in shown["experiment"]


def test_a_gate_is_planned(demo: Config, tmp_path: Path) -> None:
    plan = make_plan(gated(demo), tmp_path)
    assert (plan.gates, plan.gates_done) == (1, 0)
    assert plan.embeddings == make_plan(demo, tmp_path).embeddings  # the metrics of the task embed them all
    files.write_json(tmp_path / "results/papers/demo/gates/release.json", {})
    assert make_plan(gated(demo), tmp_path).gates_done == 1


def test_a_gate_embeds_what_no_metric_of_its_task_needs(demo: Config, tmp_path: Path) -> None:
    decoding = [
        {"model": "smollm2-135m-instruct-plain", "decoding": name} for name in ("greedy-64", "top-k-50-64")
    ]
    gate = Gate.model_validate({"task": "decoding", "baseline": decoding[0], "candidate": decoding[1]})
    config = demo._replace(experiment=demo.experiment.model_copy(update={"gates": {"release": gate}}))
    before, after = make_plan(demo, tmp_path), make_plan(config, tmp_path)
    assert after.embeddings - before.embeddings == 3  # two cells, and the references
    assert after.embedded_texts.known - before.embedded_texts.known == 3 * 16


def test_the_target_gate_needs_gates(demo: Config) -> None:
    rules = {"all": [], "test_gate": list(outputs.gate_outputs().values())}
    with pytest.raises(ConfigError, match="gate: the experiment has no gates"):
        check_targets(demo, ["gate"], [], rules)
    check_targets(gated(demo), ["gate"], [], rules | {"gate": []})
    check_targets(gated(demo), ["results/papers/demo/gates/release.html"], [], rules)
    with pytest.raises(ConfigError, match=r"unknown gate 'relase\.json'; nearest valid: 'release\.json'"):
        check_targets(gated(demo), ["results/papers/demo/gates/relase.json"], [], rules)


def test_packages_of_guarded_metrics_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textstat", None)
    check_packages(["test_gate"], ["recall"])
    check_packages(["score_ngram"], ["flesch"])
    with pytest.raises(ConfigError, match="readability"):
        check_packages(["test_gate"], ["flesch"])
