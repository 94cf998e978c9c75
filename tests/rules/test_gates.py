"""The rules of gates on made texts: a verdict in every form, and an error of the last rule if one fails."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import do_job

from textgamut import files
from textgamut.catalogue.gate import GUARDS
from textgamut.errors import DataError, TextgamutError

N = 40
EMBEDDING = {
    "embedder": {
        "source": {"kind": "hf", "repo": "some/embedder", "revision": "0" * 40},
        "pooling": "mean",
        "max_tokens": 256,
        "dtype": "float32",
    },
    "revision": [1, 1],
}
SETTINGS: dict[str, Any] = {
    "gate": "release",
    "task": "news",
    "baseline": ["old", "nucleus"],
    "candidate": ["new", "nucleus"],
    "earlier": False,
    "margins": {of.metric: 0.5 for of in GUARDS},
    "asked": [],
    "alpha": 0.05,
    "fail_on": [],
    "group": None,
    "prompted": True,
    "generated": True,
    "k": 4,
    "embedder": "minilm",
    "embedding": EMBEDDING,
}
WORDS = np.array(["river", "stone", "teacher", "market", "child", "engine", "window", "garden", "winter"])

pytestmark = pytest.mark.usefixtures("few_resamples")


def write_set(folder: Path, seed: int, *, broken: bool = False, ids: str = "p") -> Path:
    """Write texts with features, as a cell or a draw has them; broken ones are few, and repeat themselves."""
    draws = np.random.default_rng(seed)
    texts = [f"{' '.join(draws.choice(WORDS, 12))} {seed} {row}." for row in range(N)]
    vectors = draws.normal(size=(N, 16)).astype(np.float32)
    if broken:
        texts = [" ".join([texts[row % 2]] * 3) for row in range(N)]
        vectors[:] = vectors[np.arange(N) % 2] + 5 + draws.normal(size=(N, 16)) / 100
    prompts = [f"{ids}{row}" for row in range(N)]
    frame = pd.DataFrame({"id": prompts, "prompt_id": prompts, "text": texts, "finish": "stop"})
    files.write_table(folder / "generations.parquet", frame)
    files.write_array(folder / "features/minilm.npy", vectors)
    return folder


def verdict_of(
    folder: Path, settings: dict[str, Any], dataset: Path | None = None, **sides: list[Path]
) -> dict[str, Any]:
    """Do the job of a gate; return its verdict."""
    inputs: dict[str, Any] = {"dataset": [dataset] if dataset else []}
    for name, of_side in sides.items():
        features = "reference_features" if name == "references" else f"{name}_features"
        inputs[name] = [of / "generations.parquet" for of in of_side]
        inputs[features] = [of / "features/minilm.npy" for of in of_side]
    suffixes = {"verdict": "json", "summary": "md", "report": "xml", "page": "html"}
    outputs = {name: folder / f"{settings['gate']}.{suffix}" for name, suffix in suffixes.items()}
    do_job("test_gate", settings, inputs, outputs, {"paper": "x"})
    return files.read_json(outputs["verdict"])


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Texts of two seeds of each side, and references of two draws that share their texts."""
    folder = tmp_path_factory.mktemp("sets")
    return {
        "baseline": [write_set(folder / f"old{seed}", seed) for seed in (1, 2)],
        "candidate": [write_set(folder / f"new{seed}", seed) for seed in (3, 4)],
        "broken": [write_set(folder / f"broken{seed}", seed, broken=True) for seed in (5, 6)],
        "references": [write_set(folder / f"draw{seed}", seed, ids="r") for seed in (7, 7, 8)],
    }


def test_equal_texts_pass_and_all_seeds_count(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    sides = {name: sets[name] for name in ("baseline", "candidate", "references")}
    found = verdict_of(tmp_path, SETTINGS, **sides)
    assert (found["outcome"], found["reasons"]) == ("pass", [])
    assert found["headline"].startswith("Pass")
    precision = next(check for check in found["checks"] if check["metric"] == "precision")
    assert precision["n"] == 2 * N  # both seeds, and each reference once
    assert "80 texts of each model were compared with 80 human texts (minilm" in (
        tmp_path / "release.md"
    ).read_text("utf-8")
    title = "Gate release: new, nucleus against old, nucleus on news"
    assert title in (tmp_path / "release.html").read_text("utf-8")
    assert ET.parse(tmp_path / "release.xml").getroot().get("failures") == "0"  # noqa: S314 (our own)


def test_worse_texts_fail_by_name_and_the_job_succeeds(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    found = verdict_of(
        tmp_path, SETTINGS, baseline=sets["baseline"], candidate=sets["broken"], references=sets["references"]
    )
    assert found["outcome"] == "fail"
    names = [of["name"] for of in found["failures"] if of["fails"]]
    assert {"collapse", "degeneration"} <= set(names)
    assert any("recall" in reason for reason in found["reasons"])
    assert int(ET.parse(tmp_path / "release.xml").getroot().get("failures", "0")) > 0  # noqa: S314 (our own)


def test_a_margin_of_0_cannot_be_met_by_chance(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    strict = SETTINGS | {"margins": SETTINGS["margins"] | {"recall": 0.0, "precision": 0.0}}
    sides = {name: sets[name] for name in ("baseline", "candidate", "references")}
    assert verdict_of(tmp_path, strict, **sides)["outcome"] == "cannot tell"


def test_a_group_has_a_gate_of_its_own(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    """The groups of generated texts are those of their prompts."""
    topics = ["a" if row % 2 else "b" for row in range(N)]
    prompts = [f"p{row}" for row in range(N)]
    files.write_table(tmp_path / "texts.parquet", pd.DataFrame({"id": prompts, "topic": topics}))
    drawn = write_set(tmp_path / "draw1", 7)
    table = pd.read_parquet(drawn / "generations.parquet").assign(topic=topics)
    files.write_table(drawn / "generations.parquet", table)
    sides = {"baseline": sets["baseline"], "candidate": sets["broken"], "references": [drawn]}
    settings = SETTINGS | {"group": "topic", "k": 2}
    found = verdict_of(tmp_path, settings, dataset=tmp_path / "texts.parquet", **sides)
    assert {check["group"] for check in found["checks"]} == {"all", "topic=a", "topic=b"}
    assert any(reason.startswith("topic=a: ") for reason in found["reasons"])


def test_features_of_another_embedder_are_refused(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    """Those of an earlier run, whose record says what made them."""
    earlier = SETTINGS | {"earlier": True}
    sides = {name: sets[name] for name in ("candidate", "references")}
    baseline = write_set(tmp_path / "old", 1)
    record = baseline / "features/minilm.npy.meta.json"
    files.write_json(record, {"job": {"settings": EMBEDDING}})
    assert verdict_of(tmp_path, earlier, baseline=[baseline], **sides)["baseline"].endswith("earlier run")
    files.write_json(record, {"job": {"settings": EMBEDDING | {"revision": [0, 1]}}})
    with pytest.raises(DataError, match=r"minilm\.npy: of another embedder"):
        verdict_of(tmp_path, earlier, baseline=[baseline], **sides)


def test_other_features_than_texts_are_refused(tmp_path: Path, sets: dict[str, list[Path]]) -> None:
    baseline = write_set(tmp_path / "old", 1)
    files.write_array(baseline / "features/minilm.npy", np.zeros((3, 16), np.float32))
    sides = {name: sets[name] for name in ("candidate", "references")}
    with pytest.raises(DataError, match=r"minilm\.npy: 3 vectors for 40 texts"):
        verdict_of(tmp_path, SETTINGS, baseline=[baseline], **sides)


VERDICT = {"task": "news", "baseline": "old", "candidate": "new", "reasons": [], "failures": [], "checks": []}


def conclude(folder: Path, undecided: str, **outcomes: str) -> Path:
    verdicts = [folder / f"{name}.json" for name in outcomes]
    for path, outcome in zip(verdicts, outcomes.values(), strict=True):
        worse = {
            "reasons": ["Collapse: the texts are less varied."],
            "failures": [{"name": "collapse", "fails": True, "checks": [{"metric": "recall"}]}],
            "checks": [{"metric": of, "outcome": "fail"} for of in ("recall", "precision")],
        }
        own = {"gate": path.stem, "outcome": outcome, "headline": f"It is {outcome}."}
        files.write_json(path, VERDICT | own | (worse if outcome == "fail" else {}))
    settings = {"undecided": dict.fromkeys(outcomes, undecided)}
    inputs = {"verdicts": verdicts, "others": []}
    do_job("conclude_gates", settings, inputs, {"outcomes": folder / "gates.json"}, {"paper": "x"})
    return folder / "gates.json"


def test_gates_that_pass_are_listed(tmp_path: Path) -> None:
    found = conclude(tmp_path, "pass", one="pass", two="cannot tell")
    assert files.read_json(found) == {"one": "pass", "two": "cannot tell"}


def test_one_message_names_the_gates_that_fail(tmp_path: Path) -> None:
    with pytest.raises(TextgamutError) as error:
        conclude(tmp_path, "fail", good="pass", bad="fail", unknown="cannot tell")
    first, bad, unknown = str(error.value).splitlines()
    assert first == "2 of 3 gates failed: bad (collapse, precision), unknown (cannot tell)"
    page = tmp_path / "bad.html"
    assert bad == f"bad: new against old on news: Collapse: the texts are less varied. See {page}"
    assert unknown.startswith("unknown: new against old on news: It is cannot tell. See")
    assert not (tmp_path / "gates.json").exists()
