"""One rule on a fixture: the script's function with explicit paths, its outputs read back."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT

from textgamut import io, tables
from textgamut.errors import TextgamutError
from textgamut.sources import digest

TEXTS = pd.DataFrame(
    {
        "id": [f"t{i}" for i in range(40)],
        "text": [f"text number {i} of forty, with some more words to be cut off" for i in range(40)],
        "topic": ["a", "b"] * 20,
    }
)


def script(stage: str, rule: str):
    """Return the function of a rule's script, which has the rule's name."""
    return runpy.run_path(str(ROOT / f"workflow/scripts/{stage}/{rule}.py"))[rule]


def test_every_rule_has_a_script_of_its_name() -> None:
    scripts = {path.stem: path.read_text() for path in (ROOT / "workflow/scripts").rglob("*.py")}
    rules = {
        line.split()[1].rstrip(":")
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for line in path.read_text().splitlines()
        if line.startswith("rule ")
    }
    assert set(scripts) == rules
    assert all(f"def {name}(" in text for name, text in scripts.items())


def test_extract_dataset(tmp_path: Path) -> None:
    TEXTS.to_csv(tmp_path / "mine.csv", index=False)
    entry = {
        "format": "table",
        "source": {"kind": "file", "path": str(tmp_path / "mine.csv")},
        "id": "id",
        "groups": ["topic"],
    }
    settings = {"dataset": entry, "revision": 1}
    texts, meta = tmp_path / "references.parquet", tmp_path / "references.meta.json"
    script("sources", "extract_dataset")(settings, None, 5.0, texts)
    pd.testing.assert_frame_equal(pd.read_parquet(texts), TEXTS)
    assert io.read_json(meta)["counts"]["distinct"] == 40
    described = {"dataset": entry | {"licence": "CC0"}, "revision": 1}
    script("sources", "describe_dataset")(described, "mine", texts, meta, tmp_path / "card.json")
    card = io.read_json(tmp_path / "card.json")
    assert card["texts"] == 40
    assert card["groups"] == {"topic": {"a": 20, "b": 20}}
    assert card["source_sha256"] == digest(tmp_path / "mine.csv")
    page = (tmp_path / "card.md").read_text()
    assert "| a | 20 | 50.0% |" in page
    assert "Licence: CC0." in page


def test_draws_are_disjoint_on_disk(tmp_path: Path) -> None:
    io.write_table(tmp_path / "texts.parquet", TEXTS)
    settings = {
        "task": "x",
        "kind": "continuation",
        "n": 20,
        "min_words": 5,
        "max_words": 6,
        "prompt_words": 3,
    }
    script("tasks", "draw_prompts")(settings, tmp_path / "texts.parquet", tmp_path / "prompts.parquet")
    script("tasks", "draw_references")(settings, 1, tmp_path / "texts.parquet", tmp_path / "draw1.parquet")
    prompts, references = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("prompts", "draw1"))
    assert set(prompts["id"]) | set(references["id"]) == set(TEXTS["id"])
    assert not set(prompts["id"]) & set(references["id"])


def test_draw_subset_has_the_columns_of_generations(tmp_path: Path) -> None:
    io.write_table(tmp_path / "texts.parquet", TEXTS)
    settings = {"task": "x", "kind": "subsets", "n": 6, "min_words": 5, "max_words": 6, "group": "topic",
                "labels": ["b"]}  # fmt: skip
    script("tasks", "draw_subset")(settings, 1, tmp_path / "texts.parquet", tmp_path / "generations.parquet")
    frame = pd.read_parquet(tmp_path / "generations.parquet")
    assert list(frame) == ["id", "prompt_id", "text", "tokens", "finish"]
    assert set(frame["id"]) <= set(TEXTS["id"][TEXTS["topic"] == "b"])
    assert (frame["tokens"] == 6).all()


def test_collect_generations_joins_prompt_and_continuation(tmp_path: Path) -> None:
    io.write_table(
        tmp_path / "prompts.parquet", pd.DataFrame({"id": ["p", "q"], "base": ["one two", "three"]})
    )
    samples = pd.DataFrame({"id": ["q/0", "p/0"], "prompt_id": ["q", "p"], "completion": ["", " b c d"],
                            "tokens": [1, 3], "finish": ["stop", "length"]})  # fmt: skip
    io.write_table(tmp_path / "0-of-1.parquet", samples)
    output = tmp_path / "generations.parquet"
    script("generation", "collect_generations")(
        {"max_words": 4}, tmp_path / "prompts.parquet", tmp_path / "0-of-1.parquet", output
    )
    assert pd.read_parquet(output)["text"].tolist() == ["three", "one two b c"]
    meta = io.read_json(tmp_path / "generations.meta.json")
    assert (meta["empty_continuations"], meta["shorter_than_max_words"]) == (1, 1)


CELL = {"task": "t", "model": "m", "decoding": "d", "seed": 1}


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Generated features, references that are nearly the same, and references far away."""
    rng = np.random.default_rng(0)
    generated = rng.normal(size=(50, 6)).astype(np.float32)
    io.write_array(tmp_path / "generated.npy", generated)
    io.write_array(tmp_path / "same.npy", generated + np.float32(1e-4))
    io.write_array(tmp_path / "opposite.npy", -10 - np.abs(rng.normal(size=(50, 6))).astype(np.float32))
    return tmp_path


def score(features: Path, family: str, settings: dict, *more) -> pd.DataFrame:
    script("scores", f"score_{family}")(
        {"draws": [7, 8]} | settings,
        CELL | {"embedder": "e"},
        features / "generated.npy",
        [features / "same.npy", features / "opposite.npy"],
        features / "scores.json",
        *more,
    )
    return pd.DataFrame(io.read_json(features / "scores.json"))


def test_score_support_scores_every_draw(features: Path) -> None:
    table = score(features, "support", {"k": 4, "bootstrap": 20})
    value = table.set_index(["draw", "metric"])["value"]
    assert len(table) == 2 * 4
    assert (table["n"] == 50).all()
    assert value[7, "precision"] == value[7, "recall"] == 1.0
    assert value[8, "precision"] < 0.1  # the references are one tight corner of the sphere
    assert (table["low"] <= table["value"]).all()
    assert io.read_json(features / "scores.meta.json")["warnings"] == []  # of small N: told once per run


def test_score_support_per_group(features: Path) -> None:
    """References have their own groups, generated texts those of their prompts."""
    dataset = pd.DataFrame({"id": [f"t{i}" for i in range(50)], "topic": ["a"] * 25 + ["b"] * 24 + [None]})
    io.write_table(features / "dataset.parquet", dataset)
    io.write_table(features / "generations.parquet", pd.DataFrame({"prompt_id": dataset["id"][::-1]}))
    io.write_table(features / "references.parquet", dataset[["topic"]])
    texts = [features / f"{name}.parquet" for name in ("dataset", "generations", "references", "references")]
    table = score(features, "support", {"k": 4, "bootstrap": 20, "groups": ["topic"]}, texts)
    assert set(table["group"]) == {"all", "topic=a", "topic=b"}
    recall = table.query("draw == 7 and metric == 'recall'").set_index("group")["value"]
    assert (recall == 1).all()


def test_score_divergence_scores_every_draw(features: Path) -> None:
    pytest.importorskip("faiss")
    value = score(features, "divergence", {"seeds": [0, 1], "clusters": None}).set_index(["draw", "metric"])
    assert value["value"][7, "mauve"] > 0.99
    assert value["value"][8, "mauve"] < 0.2
    assert value["value"][7, "frontier_integral"] < 0.01 < value["value"][8, "frontier_integral"]
    assert (value["deviation"] >= 0).all()


def test_score_ngram_counts_words(tmp_path: Path) -> None:
    io.write_table(tmp_path / "g.parquet", pd.DataFrame({"text": ["a b c d e", "a b c d f", "g h a b i"]}))
    settings = {"tokenizer": None, "self_bleu_sample": None}
    script("scores", "score_ngram")(settings, CELL, tmp_path / "g.parquet", tmp_path / "ngram.json")
    value = pd.DataFrame(io.read_json(tmp_path / "ngram.json")).set_index("metric")["value"]
    assert value["distinct_1"] == 9 / 15
    assert value["repetition_4"] == 0
    assert value["diversity"] == 1


@pytest.mark.slow
def test_score_likelihood_takes_the_prompt_off_the_text(tmp_path: Path, demo) -> None:
    """The continuation alone is scored, given the prompt; without prompts the whole text is."""
    texts = pd.DataFrame({"prompt_id": ["p", "q"], "text": ["The cat sat on the mat.", "Once upon a time"]})
    io.write_table(tmp_path / "g.parquet", texts)
    io.write_table(tmp_path / "p.parquet", pd.DataFrame({"id": ["q", "p"], "base": ["Once upon", "The cat"]}))
    source = demo.models["smollm2-135m-instruct"].source.model_dump(mode="json")
    values = []
    for prompts in (tmp_path / "p.parquet", None):
        script("scores", "score_likelihood")(
            {"source": source, "dtype": "float32"},
            CELL,
            2,
            2,
            tmp_path / "g.parquet",
            prompts,
            tmp_path / "l.json",
        )
        rows = io.read_json(tmp_path / "l.json")
        values.append({row["metric"]: row["value"] for row in rows})
    assert set(values[0]) == {"perplexity", "coherence"}
    assert set(values[1]) == {"perplexity"}
    assert values[0]["perplexity"] < values[1]["perplexity"]  # "upon" after "Once" is no surprise


def test_sweep_support_varies_one_at_a_time(features: Path) -> None:
    script("scores", "sweep_support")(
        {"k": 4, "draws": [7], "sweep": {"n": [10, 50], "k": [1, 4]}},
        CELL | {"embedder": "e"},
        features / "generated.npy",
        [features / "same.npy"],
        features / "sweep.json",
    )
    table = tables.tidy(io.read_json(features / "sweep.json"))
    assert set(zip(table["n"], table["k"], strict=True)) == {(10, 4), (50, 4), (50, 1)}
    settings = {"task": "t", "embedder": "Mini", "n": 50, "k": 4,
                "models": {"m": {"label": "M", "family": "f", "chat": False}}}  # fmt: skip
    paths = [features / "sweep.svg", features / "sweep.png"]
    script("papers", "plot_sweep")(settings, [features / "sweep.json"], *paths)
    assert paths[1].read_bytes()[:4] == b"\x89PNG"


def test_explain_support_shows_what_was_missed(features: Path) -> None:
    for name in ("generations", "references"):
        frame = pd.DataFrame(
            {"id": [f"{name}-{i}" for i in range(50)], "text": [f"{name} & {i}" for i in range(50)]}
        )
        io.write_table(features / f"{name}.parquet", frame)
    script("scores", "explain_support")(
        {"k": 4, "embedder": "Mini"}, "What was missed", features / "generations.parquet",
        features / "generated.npy", features / "references.parquet", features / "opposite.npy",
        features / "page.html",
    )  # fmt: skip
    page = (features / "page.html").read_text()
    assert "<title>What was missed</title>" in page
    assert "generations &amp; 3" in page


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rows = [
        {"task": task, "model": model, "decoding": "d", "seed": seed, "embedder": "e", "draw": draw, "n": 50,
         "k": 4, "group": "all", "metric": metric,
         "value": 0.5 + 0.01 * seed * draw + 0.1 * (metric == "recall")}
        for task in ("t", "other") for model in ("m1", "m2") for seed in (1, 2) for draw in (1, 2)
        for metric in ("precision", "recall", "density", "coverage")
    ]  # fmt: skip
    for task in ("t", "other"):
        io.write_json(tmp_path / f"{task}.json", [row for row in rows if row["task"] == task])
    script("scores", "collect_scores")([tmp_path / "t.json", tmp_path / "other.json"], tmp_path / "s.parquet")
    return tmp_path / "s.parquet"


def test_tables_and_figures_show_one_task(scores: Path, tmp_path: Path) -> None:
    assert len(pd.read_parquet(scores)) == 2 * 2 * 4 * 4
    script("papers", "tabulate_scores")({"task": "t"}, scores, tmp_path / "t.csv", tmp_path / "t.html")
    table = pd.read_csv(tmp_path / "t.csv")
    assert table["task"].tolist() == ["t", "t"]
    assert table["recall"].tolist() == pytest.approx([0.6225, 0.6225])
    script("papers", "tabulate_variance")({"task": "t"}, scores, tmp_path / "v.csv", tmp_path / "v.html")
    assert set(pd.read_csv(tmp_path / "v.csv")["varying"]) == {"Q", "P", "P and Q"}
    settings = {"task": "t", "kind": "continuation", "embedder": "Mini", "dataset": "x", "models": {
        name: {"label": name, "family": "f", "chat": False} for name in ("m1", "m2")}}  # fmt: skip
    script("papers", "plot_precision_recall")(settings, scores, tmp_path / "p.svg", tmp_path / "p.png")
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
    assert (tmp_path / "p.png").read_bytes()[:4] == b"\x89PNG"


def test_wrong_features_name_no_half_output(tmp_path: Path) -> None:
    io.write_array(tmp_path / "g.npy", np.full((9, 2), np.nan, dtype=np.float32))
    score_support = script("scores", "score_support")
    with pytest.raises(TextgamutError, match="reference features: row 0"):
        score_support(
            {"k": 4, "draws": [1], "bootstrap": 2},
            {},
            tmp_path / "g.npy",
            [tmp_path / "g.npy"],
            tmp_path / "support.json",
        )
    assert not (tmp_path / "support.json").exists()
