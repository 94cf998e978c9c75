"""`textgamut rank`: a table of scores in, rankings out, one clear message when something is wrong."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.cli.main import main
from textgamut.cli.rank import FILES

QUALITY = {"c": 0.3, "a": 1.0, "d": 0.0, "b": 0.6, "e": -0.4}


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    """Five methods on 20 prompts: a larger quality is better on every criterion, with noise."""
    rng = np.random.default_rng(0)
    rows = []
    for prompt, (method, quality) in product(range(20), QUALITY.items()):
        coherence, diversity, perplexity = quality + rng.normal(0, 0.3, 3)
        values = {"coherence": coherence - 4, "diversity": 1 / (1 + np.exp(-diversity))}
        values["perplexity"] = np.exp(3 - perplexity)
        rows.append({"prompt": f"p{prompt}", "method": method} | values)
    pd.DataFrame(rows).to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


OPTIONS = ["--higher", "coherence", "diversity", "--lower", "perplexity"]


def run(capsys: pytest.CaptureFixture, *arguments: object) -> tuple[int, str, str]:
    code = main(list(map(str, arguments)))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_the_command_prints_a_ranking(wide: Path, capsys: pytest.CaptureFixture) -> None:
    code, out, _ = run(capsys, "rank", wide, *OPTIONS)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "5 methods on 20 prompts"
    assert [line.split()[1] for line in lines[3:8]] == list("abcde")
    for word in ("net dominance", "worth", "Q*Text", "coherence ↑", "perplexity ↓", "Spearman", "depth"):
        assert word in out


def test_scores_and_ranks_have_intervals_that_do_not_depend_on_the_order_of_rows(
    wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    pd.read_csv(wide).sample(frac=1, random_state=1).to_csv(tmp_path / "other.csv", index=False)
    first, second = (
        run(capsys, "rank", file, *OPTIONS, "--json")[1] for file in (wide, tmp_path / "other.csv")
    )
    tables, others = json.loads(first), json.loads(second)
    assert tables["ranking"] == others["ranking"]
    best = tables["ranking"][0]
    assert best["rank_worth_low"] <= best["rank_worth"] <= best["rank_worth_high"]
    assert best["q_text_low"] <= best["q_text"] <= best["q_text_high"]
    assert sum(row["deepest"] for row in tables["orders"]) == pytest.approx(1)


def test_the_front_is_of_the_best_methods_and_by_the_named_scales(
    wide: Path, capsys: pytest.CaptureFixture
) -> None:
    for options, scales in (
        ([], "orders only"),
        (["--cardinal", "coherence", "--steps", "4"], "differences of coherence, in 4 steps"),
    ):
        front = pd.DataFrame(ranking_of(capsys, wide, *OPTIONS, "--depth-of", "3", *options)["front"])
        assert len(front) == 6
        assert set(front["scales"]) == {scales}
        assert set(front["method"][front["on_front"]]) >= {"a"}
        assert front["p"].between(0, 1).all()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_long_table_in_any_format_gives_the_same(
    wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture, suffix: str
) -> None:
    long = pd.read_csv(wide).melt(["prompt", "method"], var_name="criterion").sample(frac=1, random_state=0)
    path = tmp_path / f"long{suffix}"
    if suffix == ".csv":
        long.to_csv(path, index=False)
    elif suffix == ".parquet":
        long.to_parquet(path)
    else:
        long.to_json(path, orient="records", lines=True, double_precision=15)
    tables = [
        json.loads(run(capsys, "rank", file, *OPTIONS, "--json")[1])["ranking"] for file in (wide, path)
    ]
    first, second = map(pd.DataFrame, tables)
    pd.testing.assert_frame_equal(first, second, rtol=1e-9)


def test_several_columns_can_name_a_method(wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    frame = pd.read_csv(wide).rename(columns={"method": "decoding", "prompt": "item"}).assign(model="m")
    frame.to_csv(tmp_path / "two.csv", index=False)
    code, out, _ = run(
        capsys, "rank", tmp_path / "two.csv", *OPTIONS, "--prompt", "item", "--method", "model", "decoding"
    )
    assert code == 0
    assert "m, a" in out


def test_tables_and_figures_are_written_when_asked_for(
    wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    code, _, err = run(capsys, "rank", wide, *OPTIONS, "--output", tmp_path / "out")
    assert code == 0
    assert "written" in err
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == set(FILES)
    tables = ("ranking", "agreement", "winners", "orders", "front", "dominance", "pairs")
    assert names == {f"{name}.csv" for name in tables} | {
        f"{name}.{suffix}" for name in ("ranking", "agreement", "orders") for suffix in ("png", "svg", "pdf")
    }


@pytest.mark.parametrize(
    ("edit", "options", "message"),
    [
        (lambda f: f.drop(index=7), OPTIONS, "no value"),
        (lambda f: pd.concat([f, f.iloc[[3]]]), OPTIONS, "is duplicated"),
        (lambda f: f.assign(diversity=f["diversity"].where(f.index != 5)), OPTIONS, "diversity"),
        (lambda f: f, ["--higher", "coherense"], "nearest valid: 'coherence'"),
        (lambda f: f, [], "criteri"),
        (lambda f: f, [*OPTIONS, "--depth-of", "7"], "--depth-of 7"),
        (lambda f: f, [*OPTIONS, "--steps", "0"], "--steps 0: must be from 1 to 100"),
        (
            lambda f: f,
            [*OPTIONS, "--cardinal", "coherenc"],
            "--cardinal coherenc: is not among the criteria; near",
        ),
        (
            lambda f: f.rename(columns={"method": "methode"}),
            OPTIONS,
            "no column 'method'; nearest valid: 'methode'",
        ),
        (lambda f: f[f["method"] == "a"], OPTIONS, "method"),
    ],
)
def test_bad_input_is_named(
    wide: Path, tmp_path: Path, capsys: pytest.CaptureFixture, edit, options: list[str], message: str
) -> None:
    edit(pd.read_csv(wide)).to_csv(tmp_path / "bad.csv", index=False)
    code, out, err = run(capsys, "rank", tmp_path / "bad.csv", *options)
    assert code == 1
    assert out == ""
    assert message in err
    assert err.count("\n") == 1


def test_names_stay_names(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Prompts 01 and 001 are two, a method may be called NA, and brackets are no markup."""
    rows = [
        {"prompt": p, "method": m, "[/x]co": v + i}
        for v, p in enumerate(["01", "001", "1"])
        for i, m in enumerate(["NA", "[red]"])
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "names.csv", index=False)
    code, out, _ = run(capsys, "rank", tmp_path / "names.csv", "--higher", "[/x]co")
    assert code == 0
    assert "2 methods on 3 prompts" in out
    assert "[/x]co ↑" in out
    assert "[red]" in out


def test_an_output_that_is_a_file_is_named(wide: Path, capsys: pytest.CaptureFixture) -> None:
    code, _, err = run(capsys, "rank", wide, *OPTIONS, "--output", wide)
    assert code == 1
    assert f"{wide}: cannot be written" in err


def test_a_name_with_a_bare_comma_shifts_no_columns(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "x.csv").write_text("prompt,method,coherence\np,top-p, 0.9,1\np,greedy, 0,2\n")
    code, _, err = run(capsys, "rank", tmp_path / "x.csv", "--higher", "coherence")
    assert code == 1
    assert "x.csv: line 2: 4 fields, but the header has 3" in err


@pytest.mark.parametrize(("name", "message"), [("no.csv", "no such file"), ("x.txt", "suffix")])
def test_a_wrong_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture, name: str, message: str
) -> None:
    (tmp_path / "x.txt").write_text("x")
    code, _, err = run(capsys, "rank", tmp_path / name, *OPTIONS)
    assert code == 1
    assert message in err


@pytest.fixture
def released(wide: Path, tmp_path: Path) -> Path:
    """The same scores with other names of columns, and those of a second corpus."""
    frame = pd.read_csv(wide).rename(columns={"method": "Method", "diversity": "Generation diversity"})
    frame["Model"] = ["A" if method in "ab" else "B" for method in frame["Method"]]
    other = frame.assign(Dataset="book", coherence=-frame["coherence"])
    pd.concat([frame.assign(Dataset="wiki"), other]).to_csv(tmp_path / "released.csv", index=False)
    return tmp_path / "released.csv"


def ranking_of(capsys: pytest.CaptureFixture, *arguments: object) -> dict[str, list[dict[str, object]]]:
    code, out, _ = run(capsys, "rank", *arguments, "--json")
    assert code == 0
    return json.loads(out)


def test_columns_rows_and_kinds_are_chosen(wide: Path, released: Path, capsys: pytest.CaptureFixture) -> None:
    options = ["--higher", "coherence", "diversity=Generation.diversity", "--lower", "perplexity"]
    options += ["--method", "Method", "--where", "Dataset=wiki", "--by", "Model"]
    found, expected = ranking_of(capsys, released, *options), ranking_of(capsys, wide, *OPTIONS)
    assert found["ranking"] == expected["ranking"]
    for which in ("most", "least"):
        rows = [row for row in found["winners"] if row["which"] == which]
        winners = pd.DataFrame(rows).set_index(["of", "label"])["count"]
        of_method = winners["method"]
        summed = of_method.groupby(["A" if name in "ab" else "B" for name in of_method.index]).sum()
        assert winners["Model"].to_dict() == summed.to_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "Dataset=wikis"], "no row with 'wikis' as 'Dataset'; nearest valid: 'wiki'"),
        (["--where", "Dataset=a", "Dataset=b"], "--where Dataset=b: 'Dataset' already has the value 'a'"),
        (["--where", "Dataset"], "--where Dataset: is not of the form COLUMN=VALUE"),
        (["--where", "Dataset=wiki", "--by", "Generation"], "no column 'Generation'; nearest valid: 'Gen"),
        (["--where", "Dataset=wiki", "--by", "prompt"], "method 'c' has more than one prompt: p0, p1"),
        (["--where", "Dataset=wiki", "--lower", "=x"], "criterion '=x': is not of the form NAME or NAME=COL"),
    ],
)
def test_a_wrong_choice_is_named(
    released: Path, capsys: pytest.CaptureFixture, options: list[str], message: str
) -> None:
    code, _, err = run(capsys, "rank", released, "--method", "Method", "--higher", "coherence", *options)
    assert code == 1
    assert message in err


def test_a_url_is_fetched_once(
    wide: Path, served: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    found = ranking_of(capsys, f"{served}/scores.csv", *OPTIONS)
    assert found["ranking"] == ranking_of(capsys, wide, *OPTIONS)["ranking"]
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    assert found["ranking"] == ranking_of(capsys, f"{served}/scores.csv", *OPTIONS)["ranking"]


@pytest.mark.parametrize(
    ("url", "message"),
    [("{served}/no.csv", "404"), ("http://example.org/x.csv", "HTTPS"), ("https:///x.csv", "HTTPS")],
)
def test_a_wrong_url_is_named(
    url: str,
    message: str,
    served: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    code, _, err = run(capsys, "rank", url.format(served=served), *OPTIONS)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A web server of the files of the test."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Handler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
