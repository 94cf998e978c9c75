"""`textgamut score`: files in, a table or JSON out, one clear message when something is wrong."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny

from textgamut.catalogue import METRICS, metrics_of
from textgamut.cli.main import main
from textgamut.files import digest
from textgamut.metrics.ngram import diversity, self_bleu
from textgamut.metrics.rows import USED_REFERENCES
from textgamut.metrics.support_scores import OF_GROUPS
from textgamut.report.tables import SCORES

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
        (["--metrics", "likelihood"], "needs --scorer"),
        (["--k", "30"], "k = 30 needs more than 30 texts per side, found 30"),
        (["--group", "prompt"], "reference.jsonl: no column 'prompt'"),
        (["--registries", "nowhere"], "nowhere: there is no such folder"),
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


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


@pytest.fixture
def embedder(checkpoint: Path) -> list[str]:
    options = ["--pooling", "mean", "--max-tokens", "64", "--bootstrap", "20", "--kmeans-seeds", "0", "1"]
    return ["--embedder", str(checkpoint), *options]


def scores_of(out: str) -> dict[str, dict[tuple[str, str], float]]:
    """Scores by model, group and metric, from JSON."""
    found: dict[str, dict[tuple[str, str], float]] = {}
    for row in json.loads(out)["scores"]:
        found.setdefault(row["model"], {})[row["group"], row["metric"]] = row["value"]
    return found


class TestSeveralModels:
    @pytest.fixture
    def texts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        write(tmp_path / "r.jsonl", sentences(1), topic=["x", "y", "y"] * 10)
        (tmp_path / "gen").mkdir()
        for i, name in enumerate("abc", start=2):
            write(tmp_path / f"gen/{name}.jsonl", sentences(i), topic=["y"] * 30, prompt=["the cat"] * 30)
        return tmp_path

    NGRAM = ("score", "--reference", "r.jsonl", "--metrics", "ngram", "--json", "--generated")

    def test_files_patterns_and_a_column_name_the_models(self, texts: Path, capsys) -> None:
        expected = {
            name: self_bleu([text.split() for text in sentences(i)]) for i, name in enumerate("abc", 2)
        }
        frames = [pd.read_json(texts / f"gen/{name}.jsonl", lines=True).assign(m=name) for name in "abc"]
        pd.concat(frames).sample(frac=1, random_state=0).sort_index().to_csv("all.csv", index=False)
        pd.concat(frames).rename(columns={"m": "model"}).to_parquet("all.parquet")
        for arguments in (
            ["gen/a.jsonl", "gen/b.jsonl", "gen/c.jsonl"],
            ["gen/*.jsonl"],
            ["gen/c.jsonl", "gen/[ab].jsonl"],
            ["all.csv", "--model", "m"],
            ["all.parquet"],
        ):
            code, out, _ = run(capsys, *self.NGRAM, *arguments)
            assert code == 0
            found = {name: scores["all", "self_bleu"] for name, scores in scores_of(out).items()}
            assert found == pytest.approx(expected, abs=1e-12), arguments
            compared = {row["metric"] for row in json.loads(out)["differences"]}
            assert compared == set(metrics_of("ngram")) - {"ead"}
        assert list(found) == ["a", "b", "c"]

    def test_a_file_with_one_model_has_its_name(self, texts: Path, capsys) -> None:
        write(texts / "x.jsonl", sentences(5), model=["gpt-2"] * 30)
        _, out, _ = run(capsys, *self.NGRAM, "x.jsonl")
        assert list(scores_of(out)) == ["gpt-2"]
        _, out, _ = run(capsys, *self.NGRAM, "x.jsonl", "gen/a.jsonl")
        assert list(scores_of(out)) == ["gpt-2", "a"]
        _, out, _ = run(capsys, *self.NGRAM, "gen/a.jsonl")
        assert list(scores_of(out)) == ["a"]

    def test_files_of_the_same_name_are_named_by_their_paths(self, texts: Path, capsys) -> None:
        (texts / "other").mkdir()
        write(texts / "other/a.csv", sentences(5))
        _, out, _ = run(capsys, *self.NGRAM, "gen/a.jsonl", "other/a.csv", "gen/b.jsonl")
        assert list(scores_of(out)) == ["gen/a.jsonl", "other/a.csv", "b"]

    def test_a_model_in_two_files_is_an_error(self, texts: Path, capsys) -> None:
        write(texts / "x.jsonl", sentences(5), model=["a", "z"] * 15)
        code, out, err = run(capsys, *self.NGRAM, "x.jsonl", "gen/a.jsonl")
        assert (code, out) == (1, "")
        assert err == "textgamut: error: gen/a.jsonl: model 'a' is also in x.jsonl\n"

    def test_packed_and_tab_separated_files_and_standard_input(
        self, texts: Path, capsys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, out, _ = run(capsys, *self.NGRAM, "gen/a.jsonl")
        expected = scores_of(out)["a"]
        content = (texts / "gen/a.jsonl").read_bytes()
        (texts / "a.jsonl.gz").write_bytes(gzip.compress(content))
        frame = pd.read_json(texts / "gen/a.jsonl", lines=True)
        frame.to_csv("a.tsv", sep="\t", index=False)
        frame.to_csv("a.csv.gz", index=False)
        frame["text"].to_csv("a.txt.gz", index=False, header=False)
        for name in ("a.jsonl.gz", "a.tsv", "a.csv.gz", "a.txt.gz"):
            _, out, _ = run(capsys, *self.NGRAM, name)
            assert scores_of(out) == {"a": expected}, name
        for arguments in (["-"], ["-", "gen/b.jsonl"], ["gen/b.jsonl", "-"]):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
            code, out, _ = run(capsys, *self.NGRAM, *arguments)
            assert code == 0
            assert scores_of(out)["stdin"] == expected
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content + b"{}\n{\n")))
        code, _, err = run(capsys, *self.NGRAM, "-")
        assert code == 1
        assert err.startswith("textgamut: error: /dev/stdin: line 32: not valid JSON")

    def test_references_from_standard_input(
        self, texts: Path, monkeypatch: pytest.MonkeyPatch, capsys
    ) -> None:
        content = (texts / "r.jsonl").read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        arguments = ["--generated", "gen/a.jsonl", "gen/b.jsonl", "--reference", "-", "--metrics", "ngram"]
        code, out, _ = run(capsys, "score", *arguments)
        assert code == 0
        assert out.startswith("2 models against 30 references")

    def test_each_model_has_the_scores_that_it_has_alone(self, texts: Path, embedder, capsys) -> None:
        base = ["score", "--reference", "r.jsonl", *embedder, "--json", "--group", "topic"]
        _, out, err = run(capsys, *base, "--generated", "gen/a.jsonl", "gen/b.jsonl")
        together = json.loads(out)
        assert err.count("N = 30 is below 1000") == 1
        for name in "ab":
            _, out, _ = run(capsys, *base, "--generated", f"gen/{name}.jsonl")
            alone = json.loads(out)["scores"]
            assert [row for row in together["scores"] if row["model"] == name] == alone
        names = ("metric", "model_1", "model_2")
        whole = [row for row in together["differences"] if row["group"] == "all"]
        pairs = [tuple(row[name] for name in names) for row in whole]
        families = [*metrics_of("support"), *metrics_of("divergence"), "text_words", *metrics_of("ngram")]
        between = [(name, "a", "b") for name in METRICS if name in families and name != "ead"]
        assert [pair for pair in pairs if pair[2] == "b"] == between
        assert {pair[1:] for pair in pairs[len(between) :]} == {(name, USED_REFERENCES) for name in "ab"}
        in_groups = [row for row in together["differences"] if row["group"] != "all"]
        assert in_groups
        assert {row["group"].split("=")[0] for row in in_groups} == {"topic"}
        assert {row["metric"] for row in in_groups} <= set(OF_GROUPS)
        assert {tuple(row[name] for name in names[1:]) for row in in_groups} == {("a", "b")}
        assert set(together["verdicts"]) == {"a", "b"}
        assert together["pairs"] == ["The pair of models cannot be told apart in precision and recall."]
        assert {row["model"] for row in together["human"]} == {USED_REFERENCES}
        first = together["differences"][0]
        assert first["low"] <= first["tested"] <= first["high"]

    def test_everything_is_written(self, texts: Path, embedder, capsys) -> None:
        names = ["../up", "<b>A & B</b>", "<b>a & b</b>", "é/x"]
        frame = pd.concat(
            [pd.DataFrame({"text": sentences(i), "model": name}) for i, name in enumerate(names, 2)]
        )
        frame.to_json("all.jsonl", orient="records", lines=True)
        base = ["score", "--reference", "r.jsonl", *embedder, "--output", "out"]
        code, out, err = run(capsys, *base, "--generated", "all.jsonl")
        assert code == 0
        assert "1 - 2" in out
        assert err.endswith("written: out\n")
        files = {str(path.relative_to("out")) for path in Path("out").rglob("*.*")}
        assert files == {
            "index.html", "scores.csv", "differences.csv", "deviations.csv", "settings.json",
            "precision-recall.svg", "precision-recall.png", "precision-recall.pdf",
        }  # fmt: skip
        scores = pd.read_csv("out/scores.csv")
        assert list(scores) == SCORES
        assert scores["model"].unique().tolist() == [*names, USED_REFERENCES]
        differences = pd.read_csv("out/differences.csv")
        assert list(differences) == [
            "group", "metric", "model_1", "model_2", "difference", "tested", "low", "high", "deviation",
            "p", "p_holm", "verdict", "n", "resamples", "fitted", "paired",
        ]  # fmt: skip
        assert len(differences) == (8 + 6 + 1 + 9) * 6 + (1 + 9) * 4  # of pairs; against the references
        page = Path("out/index.html").read_text()
        assert "<title>Generated texts against r.jsonl</title>" in page
        assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in page
        assert "<b>A" not in page
        precision = scores[(scores["model"] == names[0]) & (scores["metric"] == "precision")].iloc[0]
        assert f"[{precision['low']:.3f}, {precision['high']:.3f}]" in page

    def test_one_model_has_an_output_too(self, texts: Path, embedder, capsys) -> None:
        base = ["score", "--reference", "r.jsonl", *embedder, "--generated", "gen/a.jsonl"]
        _, out, _ = run(capsys, *base)
        _, same, _ = run(capsys, *base, "--output", "out")
        assert same == out
        files = {str(path.relative_to("out")) for path in Path("out").rglob("*.*")}
        figures = {f"precision-recall.{suffix}" for suffix in ("svg", "png", "pdf")}
        assert files == {
            "index.html", "scores.csv", "differences.csv", "deviations.csv", "settings.json", *figures,
        }  # fmt: skip
        run(capsys, *base, "--metrics", "ngram", "--output", "wording")
        assert {path.name for path in Path("wording").iterdir()} == files - figures

    def test_a_folder_describes_itself(self, texts: Path, embedder, capsys) -> None:
        """`settings.json`: options, versions, checkpoints and the digests of the files."""
        words = ["--reference", "r.jsonl", "--generated", "gen/a.jsonl", *embedder, "--k", "3"]
        run(capsys, "score", *words, "--output", "out")
        content = json.loads(Path("out/settings.json").read_text())
        assert content["settings"]["k"] == 3
        assert content["settings"]["reference"] == "r.jsonl"
        assert content["files"] == {name: digest(Path(name)) for name in ("r.jsonl", "gen/a.jsonl")}
        [(name, source)] = content["checkpoints"].items()
        assert (name, source["kind"], source["sha256"]) == ("embedder", "file", digest(Path(embedder[1])))
        assert {"textgamut", "torch", "transformers"} <= content["versions"].keys()
        Path("gen/a.jsonl").write_text(Path("r.jsonl").read_text())
        run(capsys, "score", *words, "--output", "again")
        other = json.loads(Path("again/settings.json").read_text())
        assert other["files"]["gen/a.jsonl"] == other["files"]["r.jsonl"]

    def test_clusters_are_a_column_of_the_generated_files(self, texts: Path, capsys) -> None:
        for name in "xy":
            write(texts / f"{name}.jsonl", sentences(5), author=[f"{name}{i // 2}" for i in range(30)])
        found = {}
        for option in ([], ["--cluster", "author"]):
            _, out, _ = run(capsys, *self.NGRAM, "x.jsonl", "y.jsonl", *option)
            content = json.loads(out)
            assert content["settings"]["cluster"] == (option[1] if option else None)
            found[len(option)] = content["differences"]
        assert [row["difference"] for row in found[0]] == [row["difference"] for row in found[2]]
        assert [row["deviation"] for row in found[0]] != [row["deviation"] for row in found[2]]
        code, _, err = run(capsys, *self.NGRAM, "x.jsonl", "--cluster", "authr")
        assert code == 1
        assert err == "textgamut: error: x.jsonl: no column 'authr'; nearest valid: 'author'\n"

    def test_a_model_shorter_than_the_others_is_told(self, texts: Path, capsys) -> None:
        write(texts / "short.jsonl", sentences(7)[:20])
        _, out, err = run(capsys, *self.NGRAM, "gen/a.jsonl", "short.jsonl")
        assert "warning: models differ in their number of texts: all cut to the first 20, the fewest\n" in err
        assert {row["n"] for row in json.loads(out)["scores"]} == {20}
        assert json.loads(out)["settings"]["generated"] == ["gen/a.jsonl", "short.jsonl"]


@pytest.mark.slow
class TestWithModels:
    def test_support_and_divergence_with_groups_and_a_page(self, files, tmp_path, capsys) -> None:
        code, out, err = run(
            capsys, *files, "--metrics", "support", "divergence", "--group", "topic", "--json",
            "--output", str(tmp_path / "out"), "--bootstrap", "20", "--kmeans-seeds", "0", "1",
        )  # fmt: skip
        assert code == 0
        rows = {(row["group"], row["metric"]): row for row in json.loads(out)["scores"]}
        assert 0 < rows["all", "precision"]["value"] <= 1
        assert rows["all", "precision"]["low"] <= rows["all", "precision"]["value"]
        assert rows["all", "mauve"]["deviation"] >= 0
        assert ("topic=x", "recall") in rows
        assert ("topic=x", "precision") not in rows  # nothing was generated about x
        assert err.count("N = 30 is below 1000") == 1
        page = (tmp_path / "out/index.html").read_text()
        assert "<title>Generated texts against reference.jsonl</title>" in page
        assert '"topic"' in page  # a filter

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
