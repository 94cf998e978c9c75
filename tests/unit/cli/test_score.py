"""`textgamut score`: files in, a table or JSON out, one clear message when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.cli.main import main
from textgamut.metrics.ngram import diversity, self_bleu

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "over", "under", "mat", "road", "then", "and"]


def sentences(seed: int, count: int = 30) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, size=12)) for _ in range(count)]


def write(path: Path, texts: list[str], **columns: list) -> Path:
    frame = pd.DataFrame({"text": texts} | columns)
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        path.write_text("\n".join(texts) + "\n")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    reference = write(tmp_path / "reference.jsonl", sentences(1), topic=["x", "y", "y"] * 10)
    generated = write(tmp_path / "generated.jsonl", sentences(2), topic=["y"] * 30, prompt=["the cat"] * 30)
    return ["score", "--reference", str(reference), "--generated", str(generated)]


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".txt"])
def test_every_format_gives_the_same_numbers(tmp_path: Path, capsys, suffix: str) -> None:
    reference, generated = (write(tmp_path / f"{i}{suffix}", sentences(i)) for i in (1, 2))
    files = ["--reference", str(reference), "--generated", str(generated)]
    code, out, _ = run(capsys, "score", *files, "--metrics", "ngram", "--json")
    assert code == 0
    scores = {row["metric"]: row["value"] for row in json.loads(out)["scores"]}
    assert scores["self_bleu"] == self_bleu([text.split() for text in sentences(2)])
    assert scores["diversity"] == diversity(sentences(2))


def test_the_table_says_what_a_number_means(files, capsys) -> None:
    code, out, _ = run(capsys, *files, "--metrics", "ngram")
    assert code == 0
    line = next(line for line in out.splitlines() if line.startswith("diversity"))
    assert f"{diversity(sentences(2)):.4f}" in line
    assert "↑" in line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "fine"}\n{"text": oops}\n', "line 2: not valid JSON"),
        (b'{"text": "fine"}\n{"text": "caf\xe9"}\n', "line 2"),
        (b'{"text": "fine"}\n{"other": "x"}\n', "line 2"),
        (b'{"text": "alone"}\n', "at least two texts are needed, not 1"),
        (b"", "at least two texts are needed, not 0"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path: Path, capsys, content: bytes, message: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(content)
    good = write(tmp_path / "good.jsonl", sentences(1))
    code, out, err = run(
        capsys,
        "score",
        "--reference",
        str(good),
        "--generated",
        str(tmp_path / "bad.jsonl"),
        "--metrics",
        "ngram",
    )
    assert code == 1
    assert out == ""
    assert err.count("textgamut: error:") == 1
    assert "bad.jsonl" in err
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--text", "txt", "--metrics", "ngram"], "no column 'txt'; nearest valid: 'text'"),
        (["--embedder", "minlm"], "unknown embedder 'minlm'; nearest valid: 'minilm'"),
        (["--metrics", "ngram", "--tokenizer", "gemma"], "unknown model 'gemma'"),
        (["--metrics", "ngram", "--explain", "x.html"], "add support to --metrics"),
        (["--metrics", "likelihood"], "needs --scorer"),
        (["--k", "30"], "k = 30 needs more than 30 texts per side, found 30"),
        (["--group", "prompt"], "reference.jsonl: no column 'prompt'"),
        (["--config", "nowhere"], "nowhere: there is no such folder"),
    ],
)
def test_a_bad_option_is_named_before_any_work(files, capsys, arguments, message: str) -> None:
    code, out, err = run(capsys, *files, *arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_missing_file_is_named(files, capsys) -> None:
    assert "nowhere.jsonl: there is no such file" in run(capsys, *files[:-1], "nowhere.jsonl")[2]


def test_an_unknown_family_ends_with_code_2(files, capsys) -> None:
    code, out, err = run(capsys, *files, "--metrics", "suport")
    assert (code, out) == (2, "")
    assert err == "textgamut: error: --metrics: no family 'suport'; nearest valid: 'support'\n"


def test_empty_texts_are_told_and_counted(tmp_path: Path, capsys) -> None:
    reference = write(tmp_path / "r.jsonl", sentences(1))
    generated = write(tmp_path / "g.jsonl", [*sentences(2)[:28], "", "  "])
    files = ["--reference", str(reference), "--generated", str(generated)]
    code, out, err = run(capsys, "score", *files, "--metrics", "ngram", "--json")
    assert code == 0
    assert "g.jsonl: 2 of 30 texts are empty; they are scored as empty" in err
    assert {row["n"] for row in json.loads(out)["scores"]} == {30}


@pytest.mark.slow
class TestWithModels:
    def test_support_and_divergence_with_groups_and_a_page(self, files, tmp_path, capsys) -> None:
        page = tmp_path / "out.html"
        code, out, err = run(
            capsys, *files, "--metrics", "support", "divergence", "--group", "topic", "--json",
            "--explain", str(page), "--bootstrap", "20", "--kmeans-seeds", "0", "1",
        )  # fmt: skip
        assert code == 0
        rows = {(row["group"], row["metric"]): row for row in json.loads(out)["scores"]}
        assert 0 < rows["all", "precision"]["value"] <= 1
        assert rows["all", "precision"]["low"] <= rows["all", "precision"]["value"]
        assert rows["all", "mauve"]["deviation"] >= 0
        assert ("topic=x", "recall") in rows
        assert ("topic=x", "precision") not in rows  # nothing was generated about x
        assert err.count("N = 30 is below 1000") == 1
        assert "60 of 60 texts" in err
        assert "<title>generated.jsonl against reference.jsonl" in page.read_text()

    def test_identical_files_have_precision_and_recall_1(self, files, capsys) -> None:
        code, out, _ = run(
            capsys,
            "score",
            "--reference",
            files[2],
            "--generated",
            files[2],
            "--json",
            "--metrics",
            "support",
        )
        assert code == 0
        assert [row["value"] for row in json.loads(out)["scores"]][:2] == [1, 1]

    def test_likelihood_given_prompts(self, files, smollm2, capsys) -> None:
        arguments = ["--metrics", "likelihood", "--scorer", str(smollm2), "--json"]
        _, out, _ = run(capsys, *files, *arguments, "--prompt", "prompt")
        with_prompts = {row["metric"]: row["value"] for row in json.loads(out)["scores"]}
        _, out, _ = run(capsys, *files, *arguments)
        without = {row["metric"]: row["value"] for row in json.loads(out)["scores"]}
        assert set(with_prompts) == {"perplexity", "coherence"}
        assert set(without) == {"perplexity"}
        assert with_prompts["coherence"] < 0
        assert 1 < with_prompts["perplexity"] != without["perplexity"]
