"""Tables of scores: a file of the form that MC's scripts read gives the rankings of our own tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.rankings.ranking import rank_texts, ranking_tables
from textgamut.rankings.score_table import ScoreTable, common_methods, kinds_of, read_score_table

METHODS = {
    "Mistral 3 CS (('0.6', '15'))": ("mistral", "contrastive-k15-a0.6"),
    "LLama 3 temp (1)": ("llama", "temperature-1.0"),
    "GPT2-XL beam (3)": ("gpt2-xl", "beam-3"),
}
SPLIT = {name: name.split(f" {kind} ")[0] for name, kind in zip(METHODS, ("CS", "temp", "beam"), strict=True)}
PROMPTS = {"wikitext": 12, "book": 7}
CRITERIA = ["perplexity", "coherence", "diversity"]
COLUMNS = {"prompt_id": "id", "model": "Model", "decoding": "Method", "corpus": "Dataset"} | {
    name: f"Generation {name}" for name in CRITERIA
}
"""As in config/papers/mc-released.yaml."""


def read(path: Path, corpus: str | None, prompts: int | None = None) -> ScoreTable:
    """Read a file of the form of MC's."""
    return read_score_table(path, CRITERIA, COLUMNS, corpus, METHODS, prompts)


HEADER = b"id,Model,Method,Dataset,Generation perplexity,Generation coherence,Generation diversity\n"


def own_table(corpus: str) -> pd.DataFrame:
    """A table as the workflow collects it."""
    rng = np.random.default_rng(PROMPTS[corpus])
    rows = [
        (model, decoding, f"{prompt}", *rng.uniform((1, -4, 0), (40, -1, 1)))
        for prompt in range(PROMPTS[corpus])
        for model, decoding in METHODS.values()
    ]
    return pd.DataFrame(rows, columns=["model", "decoding", "prompt_id", *CRITERIA])


def released() -> pd.DataFrame:
    """The same scores in the form of the authors' file, with a text of two lines, and a method more."""
    frames = []
    for corpus in PROMPTS:
        own = own_table(corpus)
        names = list(METHODS) * PROMPTS[corpus]
        frame = pd.DataFrame(
            {
                "id": own["prompt_id"].astype(int),
                "Model": [SPLIT[name] for name in names],
                "Method": [name.removeprefix(f"{SPLIT[name]} ") for name in names],
                "Dataset": corpus,
                "Strategy": "any",
                "Generation": 'a text, with a "quote"\nand a second line',
                **{f"Generation {name}": own[name] for name in CRITERIA},
                "Pareto efficient": True,
            }
        )
        frames += [frame, frame.head(1).assign(Method="beam (5)")]
    return pd.concat(frames, ignore_index=True)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[pd.DataFrame], Path]:
    def write(frame: pd.DataFrame) -> Path:
        path = tmp_path / "results.csv"
        frame.to_csv(path, index=False)
        return path

    return write


@pytest.mark.parametrize("corpus", PROMPTS)
def test_the_table_is_ours(corpus: str, write: Callable[[pd.DataFrame], Path]) -> None:
    found = read(write(released()), corpus, PROMPTS[corpus])
    pd.testing.assert_frame_equal(found.table, own_table(corpus), check_dtype=False, check_exact=True)
    assert found.table[CRITERIA].dtypes.eq("float64").all()
    assert found.left_out == 1


def test_the_rankings_are_ours(write: Callable[[pd.DataFrame], Path]) -> None:
    path = write(released())
    names = {pair: name for name, pair in METHODS.items()}
    criteria = ["coherence", "diversity"], ["perplexity"]
    theirs = {corpus: read(path, corpus).table for corpus in PROMPTS}
    _, found = rank_texts(theirs, names, *criteria)
    _, expected = rank_texts({corpus: own_table(corpus) for corpus in PROMPTS}, names, *criteria)
    tables = ranking_tables(expected)
    for name, table in ranking_tables(found).items():
        pd.testing.assert_frame_equal(table, tables[name])
    assert found.prompts == 19
    assert {"worth", "q_text"} <= set(found.methods)


def test_names_of_columns_as_r_writes_them_and_texts_without_a_score(
    write: Callable[[pd.DataFrame], Path],
) -> None:
    frame = released().rename(columns=lambda name: name.replace(" ", "."))
    frame.loc[0, "Generation.diversity"] = np.nan
    table = read(write(frame), "wikitext").table
    assert table["diversity"].isna().tolist() == [True] + [False] * 35


def without_a_number(frame: pd.DataFrame) -> pd.DataFrame:
    values = frame["Generation diversity"].astype(object)
    values[4] = "x"
    return frame.assign(**{"Generation diversity": values})


@pytest.mark.parametrize(
    ("edit", "corpus", "message"),
    [
        (
            lambda f: f.drop(columns=["id", "Generation coherence"]),
            "book",
            "no column 'id'; valid: 'Dataset', 'Generation', 'Generation diversity', ",
        ),
        (lambda f: f, "books", "no row with 'books' as 'Dataset'; nearest valid: 'book'"),
        (
            lambda f: f.assign(Method=f["Method"].str.replace("CS", "contrastive")),
            "book",
            r"no row of the method \"Mistral 3 CS \(\('0.6', '15'\)\)\" of 'book' \(1 such methods\); "
            r"nearest valid: \"Mistral 3 contrastive",
        ),
        (
            lambda f: f.drop(index=4),
            "wikitext",
            r"wikitext: method scores: method 'LLama 3 temp \(1\)' has no value for prompt '1' \(1 such\)",
        ),
        (
            lambda f: pd.concat([f, f.iloc[[4]]]),
            "wikitext",
            r"line 120: the method 'LLama 3 temp \(1\)' has a second row for the prompt '1' \(1 such rows\)",
        ),
        (
            without_a_number,
            "wikitext",
            "line 10: 'Generation diversity' is not a number: 'x'",
        ),
        (
            lambda f: f.assign(Model=f["Model"].where(f.index != 2)),
            "wikitext",
            "line 6 has no 'Model'",
        ),
        (
            lambda f: f[(f["id"] != 3) | (f["Dataset"] != "wikitext")],
            "wikitext",
            "11 prompts of 'wikitext', but 12 are expected",
        ),
    ],
)
def test_what_is_wrong_is_named(
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    corpus: str,
    message: str,
    write: Callable[[pd.DataFrame], Path],
) -> None:
    path = write(edit(released()))
    with pytest.raises(TextgamutError, match=message) as caught:
        read(path, corpus, PROMPTS.get(corpus))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column 'Dataset'; valid: none is defined"),
        (b"\xff\xfe", "line 1: not UTF-8: byte 0xff"),
        (
            HEADER + b"1,2\n",
            "line 2: 2 fields, but the header has 7: put fields with commas in double quotes",
        ),
        (HEADER + b"\n" * 9999 + b"1,\xff,2,3,4,5,6\n", "line 10001: not UTF-8: byte 0xff"),
        (HEADER, "no row with 'book' as 'Dataset'; valid: none is defined"),
        (b"id," + HEADER, "column 'id' appears 2 times"),
    ],
    ids=["empty", "binary", "short row", "damaged row", "header only", "column twice"],
)
def test_a_file_of_another_form_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(content)
    with pytest.raises(TextgamutError, match=message):
        read(path, "book")


FORMATS = {
    "x.csv": lambda frame, path: frame.to_csv(path, index=False),
    "x.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "x.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "x.jsonl": lambda frame, path: path.write_text(
        "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
    ),
    "x.parquet": lambda frame, path: frame.to_parquet(path),
}


@pytest.mark.parametrize("name", FORMATS)
def test_all_formats_give_the_same_numbers(name: str, tmp_path: Path) -> None:
    FORMATS[name](released(), tmp_path / name)
    found = read(tmp_path / name, "book", 7).table
    pd.testing.assert_frame_equal(found, own_table("book"), check_dtype=False, check_exact=True)


def own_names() -> pd.DataFrame:
    """A table with plain names and two texts per prompt, of which one has no value."""
    frame = own_table("book")
    frame = pd.concat([frame.assign(seed=0), frame.assign(seed=1, diversity=np.nan)])
    strategies = {"contrastive-k15-a0.6": "contrastive", "temperature-1.0": "sampling", "beam-3": "beam"}
    return frame.assign(strategy=frame["decoding"].map(strategies))


def test_a_table_with_plain_names_needs_no_columns(write: Callable[[pd.DataFrame], Path]) -> None:
    found, left_out = read_score_table(write(own_names()), CRITERIA)
    assert left_out == 0
    assert list(found) == ["model", "decoding", "prompt_id", "strategy", *CRITERIA]
    names = common_methods({"a": found})
    assert names[("llama", "temperature-1.0")] == "llama, temperature-1.0"
    kinds = kinds_of({"a": found}, names)
    assert list(kinds) == ["model", "strategy", "decoding"]
    assert kinds["strategy"]["llama, temperature-1.0"] == "sampling"
    _, ranking = rank_texts({"a": found}, names, ["coherence", "diversity"], ["perplexity"], kinds=kinds)
    _, expected = rank_texts({"a": own_table("book")}, names, ["coherence", "diversity"], ["perplexity"])
    pd.testing.assert_frame_equal(ranking.methods, expected.methods)  # seed 1 has the same values, or none
    assert set(ranking.winners["of"]) == {"method", "model", "strategy", "decoding"}
    assert ranking.notes[-1].startswith("21 single texts are empty")


@pytest.mark.parametrize(
    ("edit", "columns", "message"),
    [
        (lambda f: f.drop(columns="seed"), {}, "has a second row for the prompt '0' "),
        (lambda f: f.assign(seed=0), {}, "has a second row for the prompt '0', seed 0 "),
        (lambda f: f.assign(strategy=list("ab") * 21), {}, "more than one strategy: a, b"),
        (lambda f: f, {"strategy": "kind"}, "no column 'kind'"),
        (lambda f: f.assign(diversity=True), {}, "'diversity' is not a number: 'True'"),
        (lambda f: f.assign(diversity="1e999"), {}, "is infinite"),
        (lambda f: f.assign(decoding=f["decoding"].where(f["seed"] == 0)), {}, "line 23 has no 'decoding'"),
        (lambda f: f[f["model"] == "llama"], {}, "two methods or more are needed, found 1"),
    ],
)
def test_what_is_wrong_with_plain_names_is_named(
    edit: Callable[[pd.DataFrame], pd.DataFrame],
    columns: dict[str, str],
    message: str,
    write: Callable[[pd.DataFrame], Path],
) -> None:
    with pytest.raises(TextgamutError, match=message):
        read_score_table(write(edit(own_names())), CRITERIA, columns)


def test_methods_without_a_decoding_have_the_names_of_models(write: Callable[[pd.DataFrame], Path]) -> None:
    frame = own_table("book").drop(columns="decoding")
    found = read_score_table(write(frame), CRITERIA).table
    assert common_methods({"a": found}) == {(name, "given"): name for name in ("mistral", "llama", "gpt2-xl")}


def test_methods_that_a_task_lacks_are_left_out_of_the_ranking_of_all(
    write: Callable[[pd.DataFrame], Path],
) -> None:
    table = own_table("book")
    with pytest.warns(
        UserWarning, match="1 methods are not in all of a, b, and left out: llama, temperature"
    ):
        names = common_methods({"a": table, "b": table[table["model"] != "llama"]})
    assert list(names) == [("mistral", "contrastive-k15-a0.6"), ("gpt2-xl", "beam-3")]
    assert kinds_of({"a": table, "b": table}, names)["model"] == {
        "mistral, contrastive-k15-a0.6": "mistral",
        "gpt2-xl, beam-3": "gpt2-xl",
    }
