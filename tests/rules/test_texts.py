"""The rules of metrics of single texts and of rankings, each on a fixture."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import GIVE_UP, ROOT

from textgamut import files

CELL = {"task": "wiki", "model": "m", "decoding": "d", "seed": 1}


def script(stage: str, rule: str):
    return runpy.run_path(str(ROOT / f"workflow/scripts/{stage}/{rule}.py"))[rule]


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
    script("scores", "score_readability")({"revision": 1}, CELL, generations, tmp_path / "r.json")
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
    files.write_array(
        tmp_path / "ours.npy", np.array([[2.0, 0.0], [1.0, 1.0], [0.0, -1.0]], dtype=np.float32)
    )
    script("scores", "score_similarity")(
        {}, CELL, generations, tmp_path / "ours.npy", references, tmp_path / "theirs.npy", tmp_path / "s.json"
    )
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
    settings = {"tagger": {"kind": "file", "path": str(tmp_path / "tagger")}}
    job = f"""
import multiprocessing
from types import SimpleNamespace as Named

class Files(Named):
    def __iter__(self):
        for value in vars(self).values():
            yield from [value] if isinstance(value, str) else value

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
snakemake = Named(
    wildcards=Named(**{CELL | {"seed": "1"}!r}), params=Named(settings={settings!r}), threads=2,
    input=Files(texts={str(generations)!r}, references=[{str(references)!r}]),
    output=Files(scores={str(tmp_path / "e.json")!r}), log=["logs/score_entities/wiki.log"],
    rule="score_entities",
)
"""
    (tmp_path / "job.py").write_text(job + (ROOT / "workflow/scripts/scores/score_entities.py").read_text())
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
    script("sources", "train_essay_model")(
        {"revision": 1}, tmp_path / "asap.tsv", tmp_path / "essay/card.json"
    )
    card = files.read_json(tmp_path / "essay/card.json")
    assert card["essays"] == ESSAYS
    assert -1 <= card["quadratic_weighted_kappa"] <= 1
    assert len(card["quadratic_weighted_kappa_of_folds"]) == 5
    script("scores", "score_essay")({}, CELL, generations, tmp_path / "essay", tmp_path / "e.json")
    assert pd.read_parquet(tmp_path / "e.parquet")["essay"].isna().tolist() == [False, True, False]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Two cells of three texts each, collected."""
    cells = []
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
        facts = {"model": "m", "decoding": decoding, "seed": 1}
        scores = [folder / "scores/ngram.parquet", folder / "scores/likelihood.parquet"]
        cells.append((facts, folder / "generations.parquet", scores))
    path = tmp_path / "results/wiki/texts.parquet"
    script("scores", "collect_texts")({"metrics": ["diversity", "coherence", "flesch"]}, cells, path)
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
    settings = {"task": "wiki", "methods": METHODS, "missing": ["no essay score: <there> is no file"]}
    table, page, correlations = (tmp_path / name for name in ("t.csv", "t.html", "c.csv"))
    script("papers", "tabulate_texts")(settings, texts, table, page, correlations)
    frame = pd.read_csv(table)
    assert frame["method"].tolist() == ["M, short", "M, $long_$"]
    assert frame["empty"].tolist() == [1, 1]
    assert frame["diversity"].tolist() == pytest.approx([0.2, 0.7])
    assert "no essay score: &lt;there&gt; is no file" in page.read_text()
    script("papers", "plot_texts")(settings, table, tmp_path / "f.svg", tmp_path / "f.png")
    script("papers", "plot_correlations")(settings, correlations, tmp_path / "c.svg", tmp_path / "c.png")
    decodings = {
        "short": {"strategy": "sampling", "max_new_tokens": 8},
        "long": {"strategy": "sampling", "max_new_tokens": 9},
    }
    script("papers", "plot_parameters")(
        settings | {"decodings": decodings}, table, tmp_path / "p.csv", tmp_path / "p.svg", tmp_path / "p.png"
    )
    assert pd.read_csv(tmp_path / "p.csv")["value"].unique().tolist() == [8, 9]
    for name in "fcp":
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in (tmp_path / f"{name}.svg").read_bytes()


def test_rank_methods_ranks_over_tasks(texts: Path, tmp_path: Path) -> None:
    settings = {
        "title": "wiki, news",
        "ranking": {"higher": ["coherence", "diversity"], "lower": [], "depth_of": 4},
        "methods": METHODS,
        "kinds": {"model": {name: "M" for *_, name in METHODS}},
    }
    script("papers", "rank_methods")(settings, {"wiki": texts, "news": texts}, tmp_path / "ranking")
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
    methods = [("GPT2-XL beam (3)", "gpt2-xl", "beam-3"), ("GPT2-XL topk (1)", "gpt2-xl", "top-k-1")]
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
        "methods": [list(method) for method in methods],
    }
    script("sources", "read_scores")(settings, tmp_path / "scores.parquet")
    table = files.read_table(tmp_path / "scores.parquet", ["model", "decoding", "prompt_id", "diversity"])
    assert list(zip(table["decoding"], table["prompt_id"], strict=True)) == [
        (decoding, prompt) for prompt in ("1", "2") for decoding in ("beam-3", "top-k-1")
    ]
    meta = files.read_json(tmp_path / "scores.parquet.meta.json")
    assert meta["left_out"] == 2
    assert len(meta["source_sha256"]) == 64
