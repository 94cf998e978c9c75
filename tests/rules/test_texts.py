"""The rules of metrics of single texts and of rankings, each on a fixture."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import GIVE_UP, ROOT, do_job

from textgamut import files

CELL = {"task": "wiki", "model": "m", "decoding": "d", "seed": 1}


def score(folder: Path, family: str, name: str, generations: Path, **inputs: Any) -> tuple[Path, Path]:
    """Score a cell by a family; return the files of its scores."""
    outputs = {"scores": folder / f"{name}.json", "text_scores": folder / f"{name}.parquet"}
    do_job("score_family", {"family": family}, {"texts": generations} | inputs, outputs, CELL)
    return outputs["scores"], outputs["text_scores"]


def make_result(rule: str, settings: dict, inputs: dict, **outputs: Path) -> None:
    """Make a table or a figure of a task."""
    do_job("make_result", settings, inputs, outputs, rule=rule)


def write(path: Path, **columns: list) -> Path:
    files.write_table(path, pd.DataFrame(columns))
    return path


@pytest.fixture
def generations(tmp_path: Path) -> Path:
    texts = [
        "The dog sat on the mat. It slept.",
        "",
        "Interplanetary communication necessitates perseverance.",
    ]
    return write(tmp_path / "g.parquet", id=["1", "2", "3"], prompt_id=["p", "p", "q"], text=texts)


def test_score_readability_counts_an_empty_text_and_gives_it_no_value(
    generations: Path, tmp_path: Path
) -> None:
    score(tmp_path, "readability", "r", generations)
    texts = pd.read_parquet(tmp_path / "r.parquet")
    assert texts["id"].tolist() == ["1", "2", "3"]
    assert texts["flesch"].isna().tolist() == [False, True, False]
    assert texts["flesch"][0] > 80 > 0 > texts["flesch"][2]
    assert texts["gunning_fog"][0] < 5 < 30 < texts["gunning_fog"][2]
    rows = {row["metric"]: row for row in files.read_json(tmp_path / "r.json")}
    assert rows["flesch"]["value"] == pytest.approx(np.nanmean(texts["flesch"]))
    assert rows["flesch"]["n"] == 3
    assert any("1 of 3 texts" in line for line in files.read_json(tmp_path / "r.json.meta.json")["warnings"])


def test_score_similarity_pairs_a_text_with_the_reference_of_its_prompt(
    generations: Path, tmp_path: Path
) -> None:
    references = write(
        tmp_path / "ref.parquet",
        id=["q", "p"],
        text=["Nothing alike at all.", "The dog sat on the mat. It slept."],
    )
    files.write_array(tmp_path / "theirs.npy", np.array([[0.0, 1.0], [1.0, 0.0]], dtype=np.float32))
    features = {"features": tmp_path / "ours.npy", "own_features": tmp_path / "theirs.npy"}
    files.write_array(
        tmp_path / "ours.npy", np.array([[2.0, 0.0], [1.0, 1.0], [0.0, -1.0]], dtype=np.float32)
    )
    score(tmp_path, "similarity", "s", generations, own_references=[references], **features)
    texts = pd.read_parquet(tmp_path / "s.parquet")
    assert texts["sbert"].tolist() == pytest.approx([1, np.nan, -1], nan_ok=True)
    assert texts["bleu"][0] == pytest.approx(100)
    assert np.isnan(texts["bleu"][1])  # an empty text is no unlike text
    assert 0 < texts["bleu"][2] < 20  # the full stop


def test_score_entities_shares_the_texts_among_processes(generations: Path, tmp_path: Path) -> None:
    """Among processes that read the script anew, as on macOS: they must not do the job once more."""
    import spacy

    tagger = spacy.blank("en")
    tagger.add_pipe("entity_ruler").add_patterns([{"label": "THING", "pattern": "mat"}])
    tagger.to_disk(tmp_path / "tagger")
    references = write(tmp_path / "ref.parquet", id=["p", "q"], text=["The mat.", "No mat."])
    source = {"kind": "file", "path": str(tmp_path / "tagger")}
    settings = {"family": "entities", "tagger": {"source": source}}
    job = f"""
import multiprocessing
from types import SimpleNamespace as Namespace

class Named(Namespace):
    def items(self):
        return vars(self).items()

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
snakemake = Named(
    wildcards=Named(**{CELL | {"seed": "1"}!r}), params=Named(settings={settings!r}), threads=2,
    input=Named(texts={str(generations)!r}, own_references=[{str(references)!r}]),
    output=Named(scores={str(tmp_path / "e.json")!r}, text_scores={str(tmp_path / "e.parquet")!r}),
    log=["logs/score_entities/wiki.log"], rule="score_entities", resources=Named(),
)
"""
    (tmp_path / "job.py").write_text(job + (ROOT / "workflow/scripts/scores/score_family.py").read_text())
    subprocess.run([sys.executable, tmp_path / "job.py"], cwd=tmp_path, check=True, timeout=GIVE_UP)
    texts = pd.read_parquet(tmp_path / "e.parquet")
    assert texts["information_density"].tolist() == pytest.approx([1 / 8, np.nan, 0], nan_ok=True)
    assert texts["entity_overlap"].tolist() == [1, 0, 0]


ESSAYS = 60


def test_an_essay_model_is_trained_and_scores(generations: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["essay_id\tessay_set\tessay\tdomain1_score"]
    for i in range(ESSAYS):
        good = int(rng.integers(0, 5))
        words = ["splendid"] * (3 * good) + ["poor"] * (3 * (4 - good)) + ["the", "cat"]
        lines.append(f'{i}\t1\t"{" ".join(rng.permutation(words))}"\t{good}')
    (tmp_path / "asap.tsv").write_text("\n".join(lines) + "\n")
    outputs = {"card": tmp_path / "essay/card.json", "model": tmp_path / "essay/model.safetensors"}
    do_job("train_essay_model", None, {"essays": tmp_path / "asap.tsv"}, outputs)
    card = files.read_json(tmp_path / "essay/card.json")
    assert card["essays"] == ESSAYS
    assert -1 <= card["quadratic_weighted_kappa"] <= 1
    assert len(card["quadratic_weighted_kappa_of_folds"]) == 5
    score(tmp_path, "essay", "e", generations, grader=outputs["model"])
    assert pd.read_parquet(tmp_path / "e.parquet")["essay"].isna().tolist() == [False, True, False]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Two cells of three texts each, collected."""
    generated, scores = [], []
    for decoding, shift in (("short", 0.0), ("long", 1.0)):
        folder = tmp_path / f"results/wiki/m/{decoding}/seed1"
        write(
            folder / "generations.parquet",
            id=["1", "2", "3"],
            prompt_id=["p", "q", "r"],
            text=["a b", "", "c"],
        )
        write(
            folder / "scores/ngram.parquet",
            id=["3", "1", "2"],
            diversity=[0.3 + shift / 2, 0.1 + shift / 2, np.nan],
        )
        write(
            folder / "scores/likelihood.parquet",
            id=["1", "2", "3"],
            coherence=[-1 + shift, np.nan, -2 - shift],
        )
        generated.append(folder / "generations.parquet")
        scores += [folder / "scores/ngram.parquet", folder / "scores/likelihood.parquet"]
    path = tmp_path / "results/wiki/texts.parquet"
    settings = {"metrics": ["diversity", "coherence", "flesch"]}
    do_job("collect_texts", settings, {"generations": generated, "scores": scores}, {"texts": path})
    return path


def test_collect_texts_joins_by_id_one_row_a_text(texts: Path) -> None:
    frame = pd.read_parquet(texts)
    assert frame["decoding"].tolist() == ["short"] * 3 + ["long"] * 3
    assert frame["words"].tolist() == [2, 0, 1] * 2
    assert frame["diversity"].tolist() == pytest.approx([0.1, np.nan, 0.3, 0.6, np.nan, 0.8], nan_ok=True)
    assert frame["coherence"].tolist() == pytest.approx([-1, np.nan, -2, 0, np.nan, -3], nan_ok=True)
    assert frame["flesch"].isna().all()


METHODS = [["m", "short", "M, short"], ["m", "long", "M, $long_$"]]


def test_tables_and_figures_of_single_texts(texts: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "task": "wiki",
        "methods": METHODS,
        "missing": ["no essay score: <there> is no file"],
    }
    table, page, correlations = (tmp_path / name for name in ("t.csv", "t.html", "c.csv"))
    make_result("tabulate_texts", settings, {"texts": texts}, csv=table, html=page, correlations=correlations)
    frame = pd.read_csv(table)
    assert frame["method"].tolist() == ["M, short", "M, $long_$"]
    assert frame["empty"].tolist() == [1, 1]
    assert frame["diversity"].tolist() == pytest.approx([0.2, 0.7])
    assert "no essay score: &lt;there&gt; is no file" in page.read_text()
    svg, png = ({name: tmp_path / f"{name}.{suffix}" for name in "fcp"} for suffix in ("svg", "png"))
    make_result("plot_texts", settings, {"table": table}, svg=svg["f"], png=png["f"])
    found = {"correlations": correlations}
    make_result("plot_correlations", settings, found, svg=svg["c"], png=png["c"])
    decodings = {
        "short": {"strategy": "sampling", "max_new_tokens": 8},
        "long": {"strategy": "sampling", "max_new_tokens": 9},
    }
    settings |= {"decodings": decodings}
    outputs = {"csv": tmp_path / "p.csv", "svg": svg["p"], "png": png["p"]}
    make_result("plot_parameters", settings, {"table": table}, **outputs)
    assert pd.read_csv(tmp_path / "p.csv")["value"].unique().tolist() == [8, 9]
    for name in "fcp":
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()


def test_rank_methods_ranks_over_tasks(texts: Path, tmp_path: Path) -> None:
    settings = {
        "title": "wiki, news",
        "ranking": {
            "higher": ["coherence", "diversity"],
            "lower": [],
            "depth_of": 4,
            "cardinal": [],
            "steps": None,
        },
        "methods": METHODS,
        "kinds": {"model": {name: "M" for *_, name in METHODS}},
    }
    news = tmp_path / "results/news/texts.parquet"
    news.parent.mkdir()
    shutil.copy(texts, news)
    do_job("rank_methods", settings, {"texts": [texts, news]}, {"table": tmp_path / "ranking/ranking.csv"})
    table = pd.read_csv(tmp_path / "ranking/ranking.csv").set_index("method")
    # On p long dominates; on q both texts are empty; on r the criteria disagree.
    assert table.loc["M, $long_$", "dominance"] == pytest.approx(1 / 3)
    meta = files.read_json(tmp_path / "ranking/ranking.csv.meta.json")
    pairs = pd.read_csv(tmp_path / "ranking/pairs.csv").iloc[0]
    assert (pairs["prompts"], pairs["pairs"]) == (6, 2)
    scores = pd.read_parquet(tmp_path / "ranking/scores.parquet")
    assert scores["prompt"].unique().tolist() == [
        f"{task}/{id_}" for task in ("wiki", "news") for id_ in "pqr"
    ]
    means = scores.groupby("method")["diversity"].mean()
    assert means.to_dict() == pytest.approx(table["diversity"].to_dict())
    assert any(note.startswith("no Q*Text") for note in meta["notes"])


def test_read_scores_fetches_a_file_and_keeps_the_methods_of_the_task(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    decodings = {
        "beam-3": {"strategy": "beam", "beams": 3, "max_new_tokens": 9},
        "top-k-1": {"strategy": "sampling", "top_k": 1, "max_new_tokens": 9},
    }
    pd.DataFrame(
        [
            (prompt, "GPT2-XL", name.removeprefix("GPT2-XL "), "book", 9.5, -2.5, 0.5)
            for prompt in (1, 2)
            for name in ("GPT2-XL beam (3)", "GPT2-XL topk (1)", "GPT2-XL temp (1)")
        ],
        columns=["id", "Model", "Method", "Dataset"]
        + [f"Generation {criterion}" for criterion in ("perplexity", "coherence", "diversity")],
    ).to_csv(path, index=False)
    source = {"kind": "file", "path": str(path), "sha256": None}
    criteria = ["perplexity", "coherence", "diversity"]
    columns = {"prompt_id": "id", "model": "Model", "decoding": "Method", "corpus": "Dataset"}
    settings = {
        "source": source,
        "columns": columns | {name: f"Generation {name}" for name in criteria},
        "corpus": "book",
        "n": 2,
        "criteria": criteria,
        "methods": [["gpt2-xl", decoding] for decoding in decodings],
        "labels": {"gpt2-xl": "GPT2-XL"},
        "decodings": decodings,
    }
    do_job("read_scores", settings, {}, {"scores": tmp_path / "scores.parquet"})
    table = files.read_table(tmp_path / "scores.parquet", ["model", "decoding", "prompt_id", "diversity"])
    assert list(zip(table["decoding"], table["prompt_id"], strict=True)) == [
        (decoding, prompt) for prompt in ("1", "2") for decoding in ("beam-3", "top-k-1")
    ]
    meta = files.read_json(tmp_path / "scores.parquet.meta.json")
    assert meta["left_out"] == 2
    assert len(meta["source_sha256"]) == 64
