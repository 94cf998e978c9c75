"""All rankings at once, in Python and by `textgamut rank`: known orders are found, what misses is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.cli.main import main
from textgamut.errors import TextgamutError
from textgamut.rankings.method_scores import MethodScores
from textgamut.rankings.ranking import rank_methods, ranking_tables
from textgamut.report.figures.rankings import ranking_figures
from textgamut.report.figures.style import render

CRITERIA = ["coherence", "diversity", "perplexity"]


def scores(quality: dict[str, float], prompts: int = 60, noise: float = 0.3, seed: int = 0) -> MethodScores:
    """Methods of which a larger quality is better on every criterion, with noise."""
    rng = np.random.default_rng(seed)
    true = np.array(list(quality.values()))[None, :, None] + rng.normal(
        0, noise, (prompts, len(quality), len(CRITERIA))
    )
    values = np.stack(
        [true[..., 0] - 4, 1 / (1 + np.exp(-true[..., 1])), np.exp(3 - true[..., 2])], axis=-1
    )  # coherence and diversity rise with quality, perplexity falls
    names = [f"p{i}" for i in range(prompts)]
    return MethodScores(names, list(quality), CRITERIA, values, np.array([True, True, False]))


QUALITY = {"c": 0.3, "a": 1.0, "d": 0.0, "b": 0.6, "e": -0.4}


def test_all_rankings_find_the_order_that_is_there() -> None:
    ranking = rank_methods(scores(QUALITY))
    assert list(ranking.methods["method"]) == ["a", "b", "c", "d", "e"]
    for name in ("rank_dominance", "rank_worth"):
        assert list(ranking.methods[name]) == [1, 2, 3, 4, 5]
    assert ranking.methods["worth"].sum() == pytest.approx(1)
    assert list(ranking.methods["pareto"]) == [True, False, False, False, False]
    assert ranking.notes == []
    assert ranking.pairs.pairs == 20
    assert ranking.compared == ["a", "b", "c", "d"]
    assert set(ranking.agreement["methods"]) == {5}
    agreement = ranking.agreement.set_index(["ranking_1", "ranking_2"])
    assert agreement.loc[("net dominance", "worth"), "kendall"] == pytest.approx(1)


def test_rankings_do_not_depend_on_the_order_of_methods_and_prompts() -> None:
    some = scores(QUALITY)
    rng = np.random.default_rng(1)
    methods, prompts = rng.permutation(5), rng.permutation(60)
    other = MethodScores(
        [some.prompts[i] for i in prompts],
        [some.methods[i] for i in methods],
        some.criteria,
        some.values[np.ix_(prompts, methods)],
        some.higher,
    )
    one, two = rank_methods(some), rank_methods(other)
    pd.testing.assert_frame_equal(one.methods, two.methods, rtol=1e-9)
    assert one.depth is not None
    assert two.depth is not None
    np.testing.assert_allclose(np.sort(one.depth.depth), np.sort(two.depth.depth), rtol=1e-9)


def test_the_winners_add_up_to_the_prompts() -> None:
    ranking = rank_methods(scores(QUALITY), kinds={"model": dict(zip(QUALITY, "xxyyy", strict=True))})
    sums = ranking.winners.groupby(["of", "which"])["count"].sum()
    assert len(sums) == 4
    assert (sums == 60).all()


def test_equally_good_methods_share_a_rank_in_any_order() -> None:
    """The same values on other prompts: sums may differ in the last bits, ranks must not."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(30, 1, 2)) ** 3
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(30)
        both = np.concatenate([values, values[order], rng.normal(size=(30, 1, 2)) - 1], axis=1)
        some = MethodScores(
            [f"p{i}" for i in order], ["a", "b", "c"], ["x", "y"], both, np.array([True, True])
        )
        table = rank_methods(some).methods.set_index("method")
        assert table.loc["a", "pareto"] == table.loc["b", "pareto"]


def test_no_criterion_takes_the_name_of_a_column() -> None:
    some = scores(QUALITY)
    for name in ("q_text", "worth", "rank_dominance", "method"):
        with pytest.raises(TextgamutError, match=f"criterion '{name}' has the name of a column"):
            rank_methods(replace(some, criteria=["coherence", "diversity", name]))


def test_a_criterion_without_any_value_is_refused() -> None:
    some = scores(QUALITY)
    values = some.values.copy()
    values[..., 1] = np.nan
    with pytest.raises(TextgamutError, match="criterion 'diversity' has no value"):
        rank_methods(replace(some, values=values))


def test_what_does_not_exist_is_left_out_and_said() -> None:
    always = scores({"best": 9.0, "middle": 5.0, "worst": 0.0}, noise=0.01)
    ranking = rank_methods(always)
    assert "worth" not in ranking.methods
    assert any(note.startswith("no worth: ") for note in ranking.notes)
    assert list(ranking.methods["method"]) == ["best", "middle", "worst"]  # by dominance
    without = MethodScores(
        always.prompts, always.methods, CRITERIA[:2], always.values[..., :2], always.higher[:2]
    )
    assert any("no Q*Text" in note and "perplexity" in note for note in rank_methods(without).notes)


def test_an_empty_text_is_the_worst_and_counts() -> None:
    some = scores({"a": 0.1, "b": 0.0})
    values = some.values.copy()
    values[:30, 0] = np.nan  # half of a's texts are empty
    ranking = rank_methods(MethodScores(some.prompts, some.methods, some.criteria, values, some.higher))
    assert list(ranking.methods["method"]) == ["b", "a"]
    dominated = ranking.dominance.set_index(["method_1", "method_2"])["wins"]
    assert dominated[("b", "a")] >= 30
    assert ranking.methods["missing"].tolist() == [0, 30]
    assert any(note.startswith("30 of 120 texts are empty") for note in ranking.notes)
    assert ranking.methods.set_index("method")["q_text"]["b"] > 0


def test_the_figures_show_every_method_and_are_the_same_each_time() -> None:
    ranking = rank_methods(scores(QUALITY))
    families = dict.fromkeys("abc", "Mistral_1") | dict.fromkeys("de", "$x$")
    first, again = (
        {
            name: render(figure, "svg")
            for name, figure in ranking_figures(ranking, families, "all $ of _ it").items()
        }
        for _ in range(2)
    )
    assert set(first) == {"ranking", "agreement", "orders"}
    assert first == again


@pytest.mark.parametrize("case", ["one ranking", "one order"])
def test_figures_of_which_there_is_nothing_say_why(case: str) -> None:
    some = scores({"best": 9.0, "worst": 0.0}, noise=0.01)
    some = MethodScores(some.prompts, some.methods, CRITERIA[:2], some.values[..., :2], some.higher[:2])
    ranking = rank_methods(some)
    figures = ranking_figures(ranking, {}, "title")
    text = " ".join(
        t.get_text() for t in figures[{"one ranking": "agreement", "one order": "orders"}[case]].axes[0].texts
    )
    assert {"one ranking": "never beat", "one order": "no depth"}[case] in text


def test_many_methods_are_shown_in_part() -> None:
    ranking = rank_methods(scores({f"method {i}": i / 60 for i in range(60)}, prompts=40, noise=1))
    figure = ranking_figures(ranking, {}, "many")["ranking"]
    assert len(figure.axes[0].get_yticks()) == 40


# --- the command ---------------------------------------------------------------------------------------


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    some = scores(QUALITY, prompts=20)
    rows = [
        {"prompt": prompt, "method": method} | dict(zip(CRITERIA, some.values[p, m], strict=True))
        for p, prompt in enumerate(some.prompts)
        for m, method in enumerate(some.methods)
    ]
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
    assert names == {f"{name}.csv" for name in ranking_tables(rank_methods(scores(QUALITY)))} | {
        f"{name}.{suffix}" for name in ("ranking", "agreement", "orders") for suffix in ("png", "svg")
    }


@pytest.mark.parametrize(
    ("edit", "options", "message"),
    [
        (lambda f: f.drop(index=7), OPTIONS, "no value"),
        (lambda f: pd.concat([f, f.iloc[[3]]]), OPTIONS, "there twice"),
        (lambda f: f.assign(diversity=f["diversity"].where(f.index != 5)), OPTIONS, "diversity"),
        (lambda f: f, ["--higher", "coherense"], "nearest valid: 'coherence'"),
        (lambda f: f, [], "criteri"),
        (lambda f: f, [*OPTIONS, "--depth-of", "7"], "--depth-of 7"),
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
    assert "x.csv: its rows have more fields than its header" in err


@pytest.mark.parametrize(("name", "message"), [("no.csv", "no such file"), ("x.txt", "suffix")])
def test_a_wrong_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture, name: str, message: str
) -> None:
    (tmp_path / "x.txt").write_text("x")
    code, _, err = run(capsys, "rank", tmp_path / name, *OPTIONS)
    assert code == 1
    assert message in err
