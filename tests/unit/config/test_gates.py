"""Gates of an experiment: what is wrong is named before any job, with key and nearest valid name."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.config.loading import validate_config
from textgamut.config.yaml import read_yaml
from textgamut.errors import TextgamutError

DEMO = read_yaml(ROOT / "config/demo.yaml")
GATE = {
    "task": "news",
    "baseline": {"model": "smollm2-135m-instruct"},
    "candidate": {"model": "gemma-3-270m", "decoding": "nucleus-0.95"},
}
GREEDY = {"model": "smollm2-135m-instruct-plain", "decoding": "greedy-64"}


def load(gate: dict[str, Any], name: str = "release", **task: Any) -> Config:
    experiment = copy.deepcopy(DEMO) | {"gates": {name: gate}}
    experiment["tasks"]["news"] |= task
    return validate_config(experiment, "my.yaml", ROOT / "config")


def test_a_gate_loads_with_its_defaults() -> None:
    gate = load(GATE).experiment.gates["release"]
    assert (gate.alpha, gate.undecided, gate.margins, gate.fail_on) == (0.05, "pass", {}, [])


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        (GATE["baseline"], GATE["candidate"], ("smollm2-135m-instruct", "gemma-3-270m")),
        ({"results": "../old"}, GATE["candidate"], ("gemma-3-270m", "gemma-3-270m")),
        ({"results": "../old", "model": "gone"}, {"model": "gemma-3-270m"}, ("gone", "gemma-3-270m")),
    ],
)
def test_what_is_not_stated_is_the_only_one_or_the_candidates(
    baseline: dict, candidate: dict, expected: tuple[str, str]
) -> None:
    config = load(GATE | {"baseline": baseline, "candidate": candidate})
    sides = config.gate_sides(config.experiment.gates["release"])
    assert sides == tuple((model, "nucleus-0.95") for model in expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "nws"}, "gates.release.task: unknown task 'nws'; nearest valid: 'news'"),
        ({"candidate": {"model": "gemma-3-27b"}},
         "gates.release.candidate.model: 'gemma-3-27b' is not in the cells of news; nearest valid: 'gemma"),
        ({"candidate": {"model": "gemma-3-270m", "decoding": "nucleus-0.9"}},
         "gates.release.candidate.decoding: 'nucleus-0.9' is not in the cells of news with gemma-3-270m; "
         "nearest valid: 'nucleus-0.95'"),
        ({"task": "decoding", "baseline": GREEDY, "candidate": {"model": GREEDY["model"]}},
         "gates.release.candidate.decoding: required, since smollm2-135m-instruct-plain has several: greedy"),
        ({"baseline": {}},
         "gates.release.baseline: set model or, for the same cell of an earlier run, results"),
        ({"baseline": {"model": "gemma-3-270m"}},
         "gates.release.baseline: it is the candidate: set results for the same cell of an earlier run"),
        ({"baseline": {"results": "old{run}"}},
         "gates.release.baseline.results: Snakemake takes braces in a path for wildcards: rename old{run}"),
        ({"margins": {"recal": 0.1}},
         "gates.release.margins: unknown metric 'recal'; nearest valid: 'recall'"),
        ({"margins": {"mauve": -0.1}}, "gates.release.margins.mauve: "),
        ({"margins": {"text_words": 5}},
         "'text_words' has no worse end: to fail if it differs, use --fail-on length (of an experiment"),
        ({"margins": {"coherence": 5}}, "gates.release.margins: 'coherence' needs a language model"),
        ({"margins": {"nearest_across": 0.1}}, "fail_on: [copying]"),
        ({"margins": {"set_distance": 1}}, "fail_on: [drift]"),
        ({"fail_on": ["drft"]}, "gates.release.fail_on: unknown failure 'drft'; nearest valid: 'drift'"),
        ({"group": "topic"},
         "gates.release.group: 'topic' is not in the groups of the task news; it has none"),
        ({"alpha": 0.5}, "gates.release.alpha: "),
        ({"undecided": "maybe"}, "gates.release.undecided: "),
        ({"margin": {}}, "gates.release.margin: unknown key; nearest valid: 'margins'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_named(change: dict, message: str) -> None:
    with pytest.raises(TextgamutError) as error:
        load(GATE | change)
    assert str(error.value).startswith("my.yaml: gates.release")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_too_few_texts_are_told() -> None:
    with pytest.raises(
        TextgamutError, match=r"with k = 15, a gate needs more than 60 texts of each side, and"
    ):
        load(GATE, n=20, k=15, seeds=[1], sweep=None)
    load(GATE, n=20, k=9, seeds=[1, 2], sweep=None, draws=[1, 2])  # all seeds and draws together are enough


def test_names_that_are_taken_are_refused() -> None:
    with pytest.raises(TextgamutError, match=r"gates\.index: the name is reserved"):
        load(GATE, "index")
    experiment = copy.deepcopy(DEMO)
    experiment["tasks"]["gates"] = experiment["tasks"].pop("news")
    with pytest.raises(TextgamutError, match=r"tasks\.gates: the name is reserved"):
        validate_config(experiment, "my.yaml", ROOT / "config")
