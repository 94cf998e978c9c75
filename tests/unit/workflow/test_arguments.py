"""Arguments of Snakemake: what it would misread is explained; a misspelt target is told the nearest name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from textgamut.config.cells import Config
from textgamut.errors import ConfigError
from textgamut.workflow import paths
from textgamut.workflow.arguments import check_options, check_place, check_targets, shows_bars

OUTPUTS = {
    "all": [],
    "fetch_model": ["data/models/{model,[a-z0-9][a-z0-9.-]*}.json"],
    "draw_references": [paths.REFERENCES],
    "generate_texts": [paths.SHARD],
    "collect_generations": [paths.GENERATIONS],
    "embed_texts": [paths.FEATURES],
    "score_ngram": [
        paths.SCORES.replace("{family}", "ngram"),
        paths.TEXT_SCORES.replace("{family}", "ngram"),
    ],
    "score_support": [paths.FEATURE_SCORES.replace("{family}", "support")],
    "compare_methods": [paths.TESTS],
    "score_readability": [paths.SCORES.replace("{family}", "readability")],
    "tabulate_scores": [f"{paths.PAPER_TASK}/scores.csv", f"{paths.PAPER_TASK}/scores.html"],
    "make_page": ["results/papers/{page,[a-z0-9]+(/[a-z0-9]+)?}/index.html"],
}
CELL = "results/news/gemma-3-270m/nucleus-0.95/seed1"


@pytest.mark.parametrize(
    "target",
    [
        "all",
        "data/models/gemma-3-270m.json",
        "./data//models/gemma-3-270m.json",
        "data/news/draw7/references.parquet",
        "data/news/draw7/features/minilm.npy",
        f"{CELL}/shards/0-of-12.parquet",
        f"{CELL}/features/minilm.npy",
        f"{CELL}/scores/ngram.json",
        "results/news/gemma-3-270m/nucleus-0.95/against/smollm2-135m-instruct/nucleus-0.95/minilm.json",
        "results/topics/one-topic/human/against/both-topics/human/minilm.json",
        "results/wiki/human/human/seed0/generations.parquet",
        "results/topics/one-topic/human/seed1/scores/minilm/support.json",
        "results/papers/demo/news/scores.csv",
        "results/papers/demo/index.html",
        "results/papers/demo/news/index.html",
    ],
)
def test_an_output_is_a_target(target: str, demo: Config) -> None:
    check_targets(demo, [target], [], OUTPUTS)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("al", "unknown rule; nearest valid: 'all'"),
        (
            "results/news/gemma-3-270m/nucleus-0.95/against/smollm2-135m-instrct/nucleus-0.95/minilm.json",
            "unknown model 'smollm2-135m-instrct'; nearest valid: 'smollm2-135m-instruct'",
        ),
        (f"{CELL}/generations.parquet".replace("news", "nws"), "unknown task 'nws'; nearest valid: 'news'"),
        (
            f"{CELL}/generations.parquet".replace("gemma", "gema"),
            "unknown model 'gema-3-270m'; nearest valid: ",
        ),
        (f"{CELL}/scores/ngrams.json", "unknown family 'ngrams.json'; nearest valid: 'ngram.json'"),
        (f"{CELL}/scores/readability.json", "unknown family 'readability.json'; valid: 'ngram.json'"),
        (f"{CELL}/shards/0-of-x.parquet", "unknown file '0-of-x.parquet'; nearest valid: '0-of-1.parquet'"),
        ("results/topics/two/human/seed1/generations.parquet", "unknown model 'two'; valid: 'both-topics'"),
        ("results/topics/one-topic/greedy-64/seed1/generations.parquet", "unknown decoding 'greedy-64'"),
        ("results/papers/dmo/news/scores.csv", "unknown paper 'dmo'; nearest valid: 'demo'"),
        ("results/papers/demo/news/scores.cvs", "unknown file 'scores.cvs'; nearest valid: 'scores.csv'"),
        ("data/news/draw1/features/minlm.npy", "unknown embedder 'minlm.npy'; nearest valid: 'minilm.npy'"),
        ("results/papers/demo/nws/index.html", "unknown task 'nws'; nearest valid: 'news'"),
        ("results/news", "a folder, but a target is a file, such as results/{task}/"),
        ("elsewhere/file.csv", "no rule makes such a file"),
        ("/elsewhere/file.csv", "no rule makes such a file"),
    ],
)
def test_a_misspelt_target_is_told_the_nearest_name(target: str, problem: str, demo: Config) -> None:
    with pytest.raises(ConfigError) as caught:
        check_targets(demo, ["all", target], [], OUTPUTS)
    assert str(caught.value).startswith(f"{target}: {problem}")


def test_all_wrong_targets_and_names_are_told(demo: Config) -> None:
    with pytest.raises(ConfigError) as caught:
        check_targets(demo, ["al", "results/nws/gema/nucleus-0.95/seed1/generations.parquet"], [], OUTPUTS)
    assert [line.split(";")[0].rsplit(": ")[-1] for line in str(caught.value).splitlines()] == [
        "unknown rule", "unknown task 'nws'", "unknown model 'gema'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        "",
        "-n --cores 2 all",
        "--configfile mine.yaml",
        "all --configfile mine.yaml --cores 2 all",
        "--configfile=mine.yaml all",
        "--configfile mine.yaml -n all",
        "--configfile other.yaml --configfile mine.yaml",
        "--configfile mine.yaml -- all",
    ],
)
def test_right_options_are_accepted(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("name: mine")
    check_options(words.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--configfile mine.yaml all", "Write a target first: snakemake all --configfile mine.yaml"),
        ("-n --configfiles mine.yaml x y -n", "Write a target first: snakemake x y --configfile mine.yaml"),
        ("--configfile no.yaml", "no.yaml: there is no such file"),
        ("--configfile -", "-: standard input is not supported: give a file"),
        ("--configfile=list.yaml", "list.yaml: (top level): must be lines of the form `key: value`"),
        ("--config k=8", "--config is not supported"),
        ("-C k=8", "--config is not supported"),
    ],
)
def test_wrong_options_are_explained(
    words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("name: mine")
    Path("list.yaml").write_text("- mine")
    with pytest.raises(ConfigError) as caught:
        check_options(words.split())
    assert message in str(caught.value)


@pytest.mark.parametrize("place", [".snakemake", ".snakemake/log", ".snakemake/iocache/latest.pkl", "."])
def test_a_folder_of_another_user_is_named(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if place != ".":
        for folder in ("log", "iocache", "metadata"):
            (tmp_path / ".snakemake" / folder).mkdir(parents=True)
        (tmp_path / ".snakemake/iocache/latest.pkl").touch()
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o777)
    check_place(tmp_path)
    (tmp_path / place).chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.setresuid(65534, 65534, 0)  # nobody, from whom root's permission is missing
    try:
        with pytest.raises(
            ConfigError, match=f"^{(tmp_path / place).absolute()}: cannot be written: run in a"
        ):
            check_place(tmp_path)
    finally:
        if user == 0:
            os.setresuid(0, 0, 0)
        (tmp_path / place).chmod(0o777)


@pytest.mark.parametrize(
    ("words", "bars"),
    [
        ("--cores all", True),
        ("--cores all --configfile config/nn.yaml --notemp", True),
        ("table_1 -j2", True),
        ("-n", False),
        ("-np", False),
        ("--dry-run", False),
        ("--dryrun", False),
        ("--quiet --cores 2", False),
        ("-q --cores 2", False),
        ("--quiet=rules --cores 2", False),
        ("--logger other --cores 2", False),
    ],
)
def test_a_terminal_has_bars_unless_told_otherwise(words: str, bars: bool) -> None:
    assert shows_bars(words.split(), terminal=True) == bars
    assert not shows_bars(words.split(), terminal=False)
