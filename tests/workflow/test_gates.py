"""Gates in a run: `snakemake` writes their verdicts, and `snakemake gate` fails after that if one fails."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import copy_project, dry_run, edit, jobs, run_warm

from textgamut.cli.main import main

pytestmark = pytest.mark.slow

WORDS = (
    *("the", "a", "river", "mountain", "teacher", "market", "child", "engine", "window", "garden", "winter"),
    *("ship", "letter", "music", "bread", "stone", "forest", "bridge", "story", "quiet", "green", "old"),
    *("slow", "walks", "sings", "builds", "finds", "keeps", "opens", "reads", "under", "over", "behind"),
)
N = 40
STUDY = ("--configfile", "config/study/study.yaml")
RESULTS = "results/papers/study"
PAGE = {"make_page": 1, "all": 1}


def sentences(seed: int) -> list[str]:
    draws = random.Random(seed)
    return [" ".join(draws.choice(WORDS) for _ in range(14)).capitalize() + "." for _ in range(N)]


def write_texts(path: Path, texts: list[str]) -> None:
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts))


def gate(candidate: str, **more: Any) -> dict[str, Any]:
    return {"task": "study", "baseline": {"model": "old"}, "candidate": {"model": candidate}} | more


def plan_of(folder: Path, *targets: str) -> dict[str, int]:
    """Return how many jobs of each rule a run of the targets would have."""
    done = dry_run(folder, *targets, *STUDY)
    assert done.returncode == 0, done.stdout
    planned = jobs(done.stdout)
    planned.pop("total", None)
    return planned


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment on given texts whose gates have been tested: one passes, one fails, one cannot tell."""
    folder = copy_project(tmp_path_factory.mktemp("study"))
    files = {"human": sentences(0), "old": sentences(1), "new": sentences(2)}
    files["broken"] = [f"{' '.join([files['new'][row % 2]] * 3)} {row}" for row in range(N)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, texts in files.items():
            write_texts(folder / f"{name}.jsonl", texts)
        named = ["--reference", "human.jsonl", "--generated", "old.jsonl", "new.jsonl", "broken.jsonl"]
        assert main(["new", "study", *named]) == 0
    experiment = folder / STUDY[1]
    edit(experiment, "tasks", "study", "n", value=N)
    edit(experiment, "metrics", value={"ngram": None})  # features are for the gates alone
    wide, none = (dict.fromkeys(("precision", "recall", "vendi_ratio"), of) for of in (0.5, 0.0))
    gates = {
        "better": gate("new", margins=wide),
        "unknown": gate("new", margins=none),
        "worse": gate("broken"),
    }
    edit(experiment, "gates", value=gates)
    done = run_warm(folder, "--cores", "2", *STUDY)
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def edited_study(study: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "edited"
    shutil.copytree(study, folder, symlinks=True)
    return folder


def verdict(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / RESULTS / f"gates/{name}.json").read_text())


def test_all_succeeds_and_writes_every_verdict(study: Path) -> None:
    outcomes = {name: verdict(study, name)["outcome"] for name in ("better", "unknown", "worse")}
    assert outcomes == {"better": "pass", "unknown": "cannot tell", "worse": "fail"}
    for name in outcomes:
        assert {path.suffix for path in (study / RESULTS / "gates").glob(f"{name}.*")} >= {
            ".json",
            ".md",
            ".xml",
            ".html",
        }
    assert not (study / RESULTS / "gates.json").exists()
    assert plan_of(study) == {}


def test_the_page_of_the_experiment_begins_with_the_gates(study: Path) -> None:
    page = (study / RESULTS / "index.html").read_text()
    assert page.index(">Gates</h2>") < page.index(">study</h2>")
    assert 'href="gates/worse.html"' in page
    assert "Collapse: the texts are less varied" in page


def test_the_target_gate_fails_once_everything_is_made(edited_study: Path) -> None:
    shutil.rmtree(edited_study / RESULTS)
    for path in edited_study.glob("**/.kept"):
        if RESULTS in str(path):
            shutil.rmtree(path)
    planned = plan_of(edited_study, "gate")
    assert (planned["test_gate"], planned["make_page"], planned["conclude_gates"]) == (3, 1, 1)
    done = run_warm(edited_study, "gate", "--cores", "2", *STUDY)
    assert done.returncode != 0
    assert "1 of 3 gates failed: worse (collapse, degeneration" in done.stdout
    assert f"See {RESULTS}/gates/worse.html" in done.stdout
    assert "Traceback" not in done.stdout
    assert verdict(edited_study, "worse")["outcome"] == "fail"
    assert (edited_study / RESULTS / "index.html").exists()
    assert plan_of(edited_study) == {}
    assert plan_of(edited_study, "gate") == {"conclude_gates": 1, "gate": 1}  # it fails until it passes


def test_the_target_gate_succeeds_where_no_gate_fails(edited_study: Path) -> None:
    experiment = edited_study / STUDY[1]
    content = yaml.safe_load(experiment.read_text())
    del content["gates"]["worse"]
    experiment.write_text(yaml.safe_dump(content, sort_keys=False))
    done = run_warm(edited_study, "gate", "--cores", "2", *STUDY)
    assert done.returncode == 0, done.stdout
    outcomes = json.loads((edited_study / RESULTS / "gates.json").read_text())
    assert outcomes == {"better": "pass", "unknown": "cannot tell"}
    assert plan_of(edited_study, "gate") == {}
    edit(experiment, "gates", "unknown", "undecided", value="fail")
    assert plan_of(edited_study, "gate") == {"make_page": 1, "conclude_gates": 1, "gate": 1}
    done = run_warm(edited_study, "gate", "--cores", "2", *STUDY)
    assert done.returncode != 0
    assert "1 of 2 gates failed: unknown (cannot tell)" in done.stdout


@pytest.mark.parametrize(
    ("file", "keys", "value", "expected"),
    [
        ("study", ["gates", "worse", "margins"], {"recall": 0.2}, {"test_gate": 1} | PAGE),
        ("study", ["gates", "better", "alpha"], 0.01, {"test_gate": 1} | PAGE),
        ("study", ["gates", "better", "undecided"], "fail", PAGE),  # the page shows the configuration
        ("models", ["new", "label"], "New", {"tabulate_differences": 1, "plot_differences": 1} | PAGE),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)
def test_an_edit_reruns_what_depends_on_it(
    edited_study: Path, file: str, keys: list, value: object, expected: dict
) -> None:
    edit(edited_study / f"config/study/{file}.yaml", *keys, value=value)
    assert plan_of(edited_study) == expected


def test_other_texts_of_one_side_test_its_gates_alone(edited_study: Path) -> None:
    write_texts(edited_study / "broken.jsonl", [f"{text} {text}" for text in sentences(3)])
    planned = plan_of(edited_study)
    assert (planned["import_texts"], planned["embed_texts"], planned["test_gate"]) == (1, 1, 1)


def test_the_same_cell_of_an_earlier_run(study: Path, edited_study: Path) -> None:
    """What has changed since: the model writes worse texts now."""
    experiment = edited_study / STUDY[1]
    earlier = {
        "task": "study",
        "baseline": {"results": str(study / "results")},
        "candidate": {"model": "new"},
    }
    edit(experiment, "gates", value={"since": earlier})
    shutil.copy(edited_study / "broken.jsonl", edited_study / "new.jsonl")
    done = run_warm(edited_study, f"{RESULTS}/gates/since.json", "--cores", "2", *STUDY)
    assert done.returncode == 0, done.stdout
    found = verdict(edited_study, "since")
    assert (found["outcome"], found["baseline"]) == ("fail", "new, given, of an earlier run")
    assert plan_of(edited_study, f"{RESULTS}/gates/since.json") == {}


def test_what_is_wrong_is_said_before_any_job(edited_study: Path, tmp_path: Path) -> None:
    experiment = edited_study / STUDY[1]
    missing = {
        "task": "study",
        "baseline": {"results": str(tmp_path / "gone")},
        "candidate": {"model": "new"},
    }
    edit(experiment, "gates", value={"since": missing})
    done = dry_run(edited_study, *STUDY)
    assert done.returncode != 0
    place = f"{tmp_path}/gone/study/new/given/seed1/generations.parquet"
    assert f"gates.since.baseline.results: there is no file {place}, and 1 more" in done.stdout
    edit(experiment, "gates", value={"since": gate("broke")})
    done = dry_run(edited_study, *STUDY)
    assert "gates.since.candidate.model: 'broke' is not in the cells of study; nearest" in done.stdout
    edit(experiment, "gates", value={})
    done = dry_run(edited_study, "gate", *STUDY)
    assert "gate: the experiment has no gates" in done.stdout
