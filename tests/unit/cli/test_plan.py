"""`textgamut plan`: the table and the JSON, what is known and what is not, and how much it loads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny
import yaml

from textgamut.cli.main import main
from textgamut.views.plan import DISTANCES

WEIGHTS = {"kind": "hf", "repo": "some/model", "revision": "0" * 40}
PLAIN = {"label": "M", "family": "m", "chat": "none"}
MODELS: dict[str, Any] = {
    "fast": PLAIN | {"source": WEIGHTS, "tokens_per_second": 1000, "gigabytes": 2},
    "strange": PLAIN | {"source": WEIGHTS},
    "served": PLAIN
    | {
        "engine": "openai",
        "gpus": 0,
        "source": {
            "kind": "openai",
            "url": "http://localhost:1/v1",
            "model": "gpt",
            "endpoint": "completions",
            "price_input": 2.0,
            "price_output": 8.0,
        },
    },
}
TASK: dict[str, Any] = {
    "kind": "continuation",
    "dataset": "news-articles",
    "n": 400,
    "seeds": [1, 2],
    "draws": [1],
    "max_words": 60,
    "cells": [{"models": ["fast", "strange", "served"], "decodings": ["plain"]}],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = tmp_path / "config"
    config.mkdir()
    (config / "models.yaml").write_text(yaml.safe_dump(MODELS))
    decoding = {"plain": {"strategy": "sampling", "max_new_tokens": 100}}
    (config / "decoding.yaml").write_text(yaml.safe_dump(decoding))
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"t": TASK}}
    (config / "demo.yaml").write_text(yaml.safe_dump(experiment))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_table_tells_what_is_known_and_what_is_not(project, capsys) -> None:
    assert main(["plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    header, fast, strange, served, total = (line.split() for line in lines[:5])
    assert header[:4] == ["task", "model", "cells", "done"]
    assert " ".join(fast) == "t fast 0 of 2 2 0 800 80,000 ? 1,000 stated 0.02 0.02"
    assert " ".join(strange) == "t strange 0 of 2 2 0 800 80,000 ? ? ? ?"
    assert served[-3:] == ["?", "0", "?"]
    assert " ".join(total).endswith("240,000 ? 0.02 + ? 0.02 + ? ?")
    assert "To embed with minilm: 11 sets of texts, 6,800 texts at most" in lines  # three are of one length
    assert "To test differences: 6 pairs of methods" in lines  # three, and each with held-out human texts
    disk = "weights 2.0 GB (1 of 2 models estimated), texts 1.2 MB, features 27.9 MB"
    assert f"Disk, about: {disk}" in lines
    price = "0.02 GPU hours (transformers; 2 of 3 models estimated)"
    weights = "2.0 GB (1 of 2 models estimated) of weights"
    assert f"Price: {price}; {weights}; US$ ? (0 of 1 models estimated)" in lines
    assert lines[-3].startswith("?: unknown.") or lines[-2].startswith("?: unknown.")


def test_each_temperature_and_top_p_is_a_cell(project, capsys) -> None:
    block = {"models": ["fast"], "decodings": ["plain"], "temperatures": [0.5, 1.0, 1.5], "top_p": [0.9, 1.0]}
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"t": TASK | {"cells": [block]}}}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))
    assert main(["plan"]) == 0
    fast = capsys.readouterr().out.splitlines()[1].split()
    assert " ".join(fast).startswith("t fast 0 of 12 12 0 4,800 480,000")  # six settings, two seeds


def test_support_metrics_in_blocks_have_a_price(project, capsys) -> None:
    """A million texts and as many references: 3e12 distances for the model, and for held-out human texts."""
    million = TASK | {"n": 1_000_000, "seeds": [1], "cells": [{"models": ["fast"], "decodings": ["plain"]}]}
    million |= {"dataset": "many", "metrics": {"support": {"blocks": 32}}}
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"t": million}}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))
    many = {"format": "table", "licence": "CC0", "source": {"kind": "file", "path": "many.jsonl"}}
    (project / "config/datasets.yaml").write_text(yaml.safe_dump({"many": many}))
    (project / "many.jsonl").touch()
    assert main(["plan"]) == 0
    shown = capsys.readouterr().out
    hours = 2 * 3e12 / DISTANCES / 3600
    about = f"about {hours:.2f} core hours with 200 components"
    assert f"To compute support metrics in blocks: 130 jobs, {about}\n" in shown
    assert f"; {hours:.2f} core hours of support metrics; " in shown
    parts = project / "results/t/fast/plain/seed1/support/minilm/draw1"
    (parts / "reduced").mkdir(parents=True)
    (parts / "reduced/0-of-1.npz").touch()
    assert main(["plan"]) == 0
    assert "in blocks: 129 jobs, about" in capsys.readouterr().out


def test_judges_are_named_with_what_they_are_asked(project, capsys) -> None:
    source = MODELS["served"]["source"] | {"endpoint": "chat"}
    judge = MODELS["served"] | {"chat": "template", "source": source}
    (project / "config/models.yaml").write_text(yaml.safe_dump(MODELS | {"judge": judge}))
    task = TASK | {"kind": "prompted", "dataset": "wiki-sample", "n": 10, "completions": 4}
    task |= {"metrics": {"judged_completions": {"model": "judge"}}}
    del task["max_words"]
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"t": task}}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))
    assert main(["plan"]) == 0
    shown = capsys.readouterr().out
    assert (
        "To ask judge as judge: at most 360 questions on completions, about ? prompt tokens, US$ ?" in shown
    )


def test_json_says_the_same(project, capsys) -> None:
    assert main(["plan", "config/demo.yaml", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["configfile"] == "config/demo.yaml"
    fast, strange, served = content["lines"]
    assert (fast["samples_left"], fast["rate_from"], strange["hours"]) == (800, "stated", None)
    assert content["totals"]["gpu_hours"] == {"known": fast["gpu_hours"], "unknown": 1, "models": 3}
    assert content["price"].startswith("0.02 GPU hours (transformers; 2 of 3 models estimated)")
    assert served["paid"]


@pytest.mark.slow
def test_measured_speeds_replace_those_that_are_stated(project, capsys) -> None:
    """One model is loaded, one cannot be, and the served one is not asked."""
    tiny.write_checkpoint(project / "fast")
    tiny.write_checkpoint(project / "strange")
    (project / "strange/model.safetensors").write_bytes(b"no weights")
    models = MODELS | {
        name: MODELS[name] | {"source": {"kind": "file", "path": name}, "batch_size": 2, "gpus": 0}
        for name in ("fast", "strange")
    }
    (project / "config/models.yaml").write_text(yaml.safe_dump(models))
    assert main(["plan", "--measure"]) == 1
    shown = capsys.readouterr()
    assert "measuring fast, strange\n  fast: done\n  strange: failed\n" in shown.err
    assert "not measured: model 'strange': " in " ".join(shown.err.split())
    assert "model.safetensors" in shown.err
    assert re.search(r"^t +fast .* measured on cpu ", shown.out, re.MULTILINE)
    found = json.loads((project / "data/models/fast.speed.json").read_text())
    assert (found["device"], found["batch_size"], found["model"]["chat"]) == ("cpu", 2, "none")
    assert not (project / "data/models/strange.speed.json").exists()
    assert main(["plan", "--json"]) == 0
    fast, strange, _ = json.loads(capsys.readouterr().out)["lines"]
    assert fast["tokens_per_second"] == found["tokens_per_second"]
    assert (fast["rate_from"], strange["rate_from"]) == ("measured on cpu", "none")
    tiny.write_checkpoint(project / "other")
    models["fast"] |= {"source": {"kind": "file", "path": "other"}}
    (project / "config/models.yaml").write_text(yaml.safe_dump(models))
    assert main(["plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"][0]["rate_from"] == "stated"


def test_nothing_is_changed_and_no_heavy_package_is_loaded(project) -> None:
    before = sorted(project.rglob("*"))
    code = "import sys; from textgamut.cli.main import main; main(['plan']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("torch", "transformers", "snakemake", "sklearn"):
        assert f"'{name}'" not in done.stdout
    assert sorted(project.rglob("*")) == before


def test_a_table_is_planned_alone(project, capsys) -> None:
    target = {"shape": "metrics-by-model", "tasks": ["t"], "metrics": ["precision"], "models": ["fast"]}
    targets = {"table_1a": target | {"title": "The fast one"}, "table_1b": target | {"title": "Again"}}
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"t": TASK}, "targets": targets}
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))
    assert main(["plan", "demo", "table_1a"]) == 0
    title, _, line, total = capsys.readouterr().out.splitlines()[:4]
    assert title == "Table 1a: The fast one"
    assert line.split()[:5] == ["t", "fast", "0", "of", "2"]
    assert total.split()[:5] == ["in", "all", "0", "of", "2"]
    assert main(["plan", "demo", "table_1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["targets"] == ["table_1a", "table_1b"]
    assert [line["model"] for line in content["lines"]] == ["fast"]
    assert main(["plan", "demo", "table_1c"]) == 1
    assert "unknown target 'table_1c' of x; nearest valid: 'table_1'" in capsys.readouterr().err


def test_a_wrong_experiment_is_told(project, capsys) -> None:
    assert main(["plan", "none.yaml"]) == 1
    assert "none.yaml: there is no such file" in capsys.readouterr().err


@pytest.mark.slow
def test_a_finished_run_has_nothing_left(finished: Path, monkeypatch, capsys) -> None:
    """The records are those of a real run."""
    monkeypatch.chdir(finished)
    assert main(["plan", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    for line in content["lines"]:
        assert line["cells_done"] == line["cells"] == 1
        assert (line["samples_left"], line["hours"]) == (0, 0)
        assert line["rate_from"].startswith("measured on ")
        assert line["tokens_per_second"] > 0
    assert content["embeddings_done"] == content["embeddings"]
    assert content["disk"]["weights"] == {"known": 0, "unknown": 0, "models": 0}


# --- how many texts ----------------------------------------------------------------------------------------

DEVIATIONS = """metric,model_1,model_2,paired,n,deviation
recall,a,b,True,400,0.02
recall,a,"human texts, held out",False,400,0.03
precision,a,b,True,400,0
"""


def test_the_number_of_texts_for_a_difference(project, capsys) -> None:
    (project / "pilot").mkdir()
    (project / "pilot/deviations.csv").write_text(DEVIATIONS)
    words = ["plan", "--detect", "recall=0.05", "--from", "pilot"]
    assert main([*words, "--json"]) == 0
    paired, unpaired = json.loads(capsys.readouterr().out)["texts"]
    assert (paired["paired"], paired["needed"], paired["factor"]) == (True, 503, 503 / 400)
    assert (unpaired["paired"], unpaired["needed"]) == (False, 1131)
    assert main([*words, "--power", "0.9", "--comparisons", "10"]) == 0
    shown = capsys.readouterr().out
    assert "Texts of each side for a power of 0.9 at a level of 5 % over 10 comparisons" in shown
    assert "same prompts" in shown
    assert "independent texts" in shown


def test_the_cost_of_so_many_texts(project, capsys) -> None:
    (project / "pilot").mkdir()
    (project / "pilot/deviations.csv").write_text(DEVIATIONS)
    words = ["plan", "demo", "--detect", "recall=0.05", "--from", "pilot"]
    assert main([*words, "--json"]) == 0
    of_pair, _ = json.loads(capsys.readouterr().out)["texts"]
    hours = 2 * of_pair["needed"] * 100 / 1000 / 3600  # two seeds, at most 100 tokens, 1,000 per second
    known = {"known": pytest.approx(hours), "unknown": 1, "models": 3}  # not "strange"
    assert of_pair["cost"]["gpu_hours"] == known
    assert of_pair["cost"]["dollars"] == {"known": 0, "unknown": 1, "models": 1}  # prompts are not drawn
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert all(heading in shown for heading in ("job hours", "GPU hours", "US$"))
    assert f"{hours:.2f} + ?" in shown
    assert "\nGPU hours: 2 of 3 models estimated\n" in shown
    assert "Hours need the model's tokens_per_second" in " ".join(shown.split())


def test_a_finished_experiment_is_a_pilot_and_so_is_what_is_shipped(project, capsys) -> None:
    for task, deviation in (("t", "0.02"), ("u", "0.04")):
        (project / f"results/papers/x/{task}").mkdir(parents=True)
        table = DEVIATIONS.replace("0.02", deviation)
        (project / f"results/papers/x/{task}/differences.csv").write_text(table)
    assert main(["plan", "--detect", "recall=0.05", "--from", "results/papers/x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["texts"]
    assert max(row["deviation"] for row in found) == 0.04
    assert main(["plan", "--detect", "recall=0.05", "mauve=0.1", "vendi_ratio=0.1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert {row["metric"] for row in content["texts"]} == {"recall", "mauve", "vendi_ratio"}
    assert "human news" in content["pilot"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["recal=0.1"], "--detect recal=0.1: no metric 'recal'; nearest valid: 'recall'"),
        (["recall"], "--detect recall: expected METRIC=DIFFERENCE, such as recall=0.05"),
        (["recall=x"], "--detect recall=x: expected METRIC=DIFFERENCE"),
        (["recall=0"], "--detect recall=0: a difference of 0 cannot be seen: give one above 0"),
        (["recall=nan"], "cannot be seen"),
        (["recall=0.1", "--power", "1"], "--power 1.0: must be between 0 and 1"),
        (
            ["recall=0.1", "--from", "nowhere"],
            "nowhere: there is no deviations.csv or differences.csv",
        ),
        (
            ["vendi=0.1", "--from", "pilot"],
            "vendi: the pilot has no deviation of it (pilot); it has: recall",
        ),
        (["precision=0.1", "--from", "pilot"], "the pilot has no deviation of it"),  # it is 0
        (["recall=0.1", "--from", "damaged"], "damaged/deviations.csv"),
    ],
)
def test_what_cannot_be_planned_is_one_line(project, capsys, words: list[str], message: str) -> None:
    for name, content in (("pilot", DEVIATIONS), ("damaged", "metric,n\nrecall,3\n")):
        (project / name).mkdir()
        (project / name / "deviations.csv").write_text(content)
    assert main(["plan", "--detect", *words]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("\n") == 1
