"""Released scores: a file of the form that the authors' scripts read gives the rankings of our own tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.rankings import released_scores
from textgamut.rankings.ranking import rank_texts, ranking_tables
from textgamut.rankings.released_scores import read_released_scores

METHODS = {
    "Mistral 3 CS (('0.6', '15'))": ("mistral", "contrastive-k15-a0.6"),
    "LLama 3 temp (1)": ("llama", "temperature-1.0"),
    "GPT2-XL beam (3)": ("gpt2-xl", "beam-3"),
}
SPLIT = {name: name.split(f" {kind} ")[0] for name, kind in zip(METHODS, ("CS", "temp", "beam"), strict=True)}
PROMPTS = {"wikitext": 12, "book": 7}
CRITERIA = ["perplexity", "coherence", "diversity"]


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
@pytest.mark.parametrize("block", [released_scores.BLOCK, 400])
def test_the_table_is_ours(
    corpus: str, block: int, write: Callable[[pd.DataFrame], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(released_scores, "BLOCK", block)
    found = read_released_scores(write(released()), corpus, METHODS, PROMPTS[corpus])
    pd.testing.assert_frame_equal(found.table, own_table(corpus), check_dtype=False)
    assert found.table[CRITERIA].dtypes.eq("float64").all()
    assert found.left_out == 1


def test_the_rankings_are_ours(write: Callable[[pd.DataFrame], Path]) -> None:
    path = write(released())
    names = {pair: name for name, pair in METHODS.items()}
    criteria = ["coherence", "diversity"], ["perplexity"]
    theirs = {corpus: read_released_scores(path, corpus, METHODS).table for corpus in PROMPTS}
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
    table = read_released_scores(write(frame), "wikitext", METHODS).table
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
            r"no column 'id', 'Generation.coherence'; there are 'Model', 'Method', 'Dataset', 'Strategy', ",
        ),
        (lambda f: f, "books", "no row of the corpus 'books'; nearest valid: 'book'"),
        (
            lambda f: f.assign(Method=f["Method"].str.replace("CS", "contrastive")),
            "book",
            r"no row of the method \"Mistral 3 CS \(\('0.6', '15'\)\)\" on 'book' \(1 such methods\); "
            r"nearest valid: \"Mistral 3 contrastive",
        ),
        (
            lambda f: f.drop(index=4),
            "wikitext",
            r"wikitext: method scores: method 'LLama 3 temp \(1\)' has no value for prompt '1' \(1 such\)",
        ),
        (lambda f: pd.concat([f, f.iloc[[4]]]), "wikitext", r"on prompt '1' is duplicated"),
        (
            without_a_number,
            "wikitext",
            r"'diversity' of method 'LLama 3 temp \(1\)' on prompt '1' is not a number \(1 such\)",
        ),
        (
            lambda f: f.assign(Model=f["Model"].where(f.index != 2)),
            "wikitext",
            "1 rows of the corpus 'wikitext' have no 'Model'",
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
        read_released_scores(path, corpus, METHODS, PROMPTS.get(corpus))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column 'id', "),
        (b"\xff\xfe", "not a CSV file: "),
        (b"id,Model,Method,Dataset,Generation perplexity,Generation coherence,Generation diversity\n1,2\n",
         "not a valid CSV file: CSV parse error: "),
        (b"id,Model,Method,Dataset,Generation perplexity,Generation coherence,Generation diversity\n",
         "no row of the corpus 'book'; valid: none is defined"),
        (b"id,id,Model,Method,Dataset,Generation perplexity,Generation coherence,Generation diversity\n",
         "column 'id' appears 2 times"),
    ],
    ids=["empty", "binary", "short row", "header only", "column twice"],
)  # fmt: skip
def test_a_file_of_another_form_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(content)
    with pytest.raises(TextgamutError, match=message):
        read_released_scores(path, "book", METHODS)
