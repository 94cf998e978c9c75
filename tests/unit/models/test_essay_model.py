"""The essay score: learned from grades, equal for every batch, and saved whole or not at all."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.models import essay_model
from textgamut.models.essay_model import (
    TrainedEssayModel,
    essay_scores,
    load_essay_model,
    quadratic_weighted_kappa,
    read_essays,
    save_essay_model,
    train_essay_model,
)

COLUMNS = ["essay_id", "essay_set", "essay", "rater1_domain1", "domain1_score", "domain2_score"]
PLAIN = [f"word{i}" for i in range(40)]
GOOD = [f"good{i}" for i in range(5)]


def graded(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Essays of 15 to 40 words, scored 0 to 6 by the share of good words, whatever their order."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 7, n)
    essays = []
    for score in scores:
        length = int(rng.integers(15, 41))
        good = rng.permutation(length) < score * length / 12
        words = np.where(good, rng.choice(GOOD, length), rng.choice(PLAIN, length))
        essays.append(" ".join(words))
    return essays, scores


@pytest.fixture(scope="module")
def model() -> TrainedEssayModel:
    return train_essay_model(*graded(200, 0), epochs=12, folds=2)


# --- the model ------------------------------------------------------------------------------------------


def test_it_learns_what_the_graders_reward(model: TrainedEssayModel) -> None:
    assert model.kappa > 0.8
    assert min(model.fold_kappas) > 0.8
    assert model.mean_kappa == pytest.approx(np.mean(model.fold_kappas))
    essays, scores = graded(100, 1)
    assert np.corrcoef(essay_scores(model, essays), scores)[0, 1] > 0.9
    assert np.abs(essay_scores(model, essays) - scores).mean() < 1  # in the graders' units


def test_more_good_words_score_higher(model: TrainedEssayModel) -> None:
    texts = [" ".join(PLAIN[: 20 - 5 * i] + GOOD * i) for i in range(3)]
    assert (np.diff(essay_scores(model, texts)) > 0.5).all()


def test_grades_that_say_nothing_leave_no_agreement() -> None:
    essays, scores = graded(120, 0)
    by_lot = np.random.default_rng(1).permutation(scores)
    assert abs(train_essay_model(essays, by_lot, epochs=6, folds=2).kappa) < 0.25


def test_the_same_seed_gives_the_same_weights_and_no_other_draw_is_touched() -> None:
    essays, scores = graded(40, 0)

    def weights(seed: int) -> list[torch.Tensor]:
        trained = train_essay_model(essays, scores, epochs=1, folds=2, seed=seed)
        return list(trained.network.state_dict().values())

    torch.manual_seed(5)
    first = weights(1)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert torch.equal(torch.rand(3), drawn)
    assert all(map(torch.equal, weights(1), first))
    assert not any(map(torch.equal, weights(2), first))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert all(map(torch.equal, weights(1), first))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def mixed() -> list[str]:
    """Texts of 1 to 300 words, two with unknown ones only."""
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(PLAIN + GOOD, rng.integers(1, 300))) for _ in range(70)]
    return [*texts, "never seen", "x"]


@pytest.mark.parametrize("batch_size", [1, 7, 64, 1000])
def test_neither_batch_size_nor_order_changes_a_score(
    model: TrainedEssayModel, mixed: list[str], batch_size: int
) -> None:
    scores = essay_scores(model, mixed)
    assert scores.dtype == np.float64
    assert np.abs(essay_scores(model, mixed, batch_size) - scores).max() < 1e-5
    order = np.random.default_rng(batch_size).permutation(len(mixed))
    shuffled = essay_scores(model, [mixed[i] for i in order], batch_size)
    assert np.abs(shuffled - scores[order]).max() < 1e-5


def test_a_text_without_a_word_has_no_score(model: TrainedEssayModel) -> None:
    scores = essay_scores(model, ["good1 word1", "", "good1 word1", " \n\t"])
    assert np.isnan(scores).tolist() == [False, True, False, True]
    assert scores[0] == scores[2]
    assert np.isnan(essay_scores(model, ["", ""])).all()
    assert essay_scores(model, []).shape == (0,)


def test_case_and_curly_quotes_do_not_matter_but_order_does(model: TrainedEssayModel) -> None:
    plain, typeset, turned = (
        '"Word1" don\'t GOOD1',
        "\u201cword1\u201d don\u2019t good1",
        'good1 don\'t "word1"',
    )
    scores = essay_scores(model, [plain, typeset, turned])
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)  # rows of a batch are rounded differently
    assert abs(scores[0] - scores[2]) > 1e-6


def test_what_follows_the_last_word_that_is_read_has_no_part(model: TrainedEssayModel) -> None:
    text = " ".join(PLAIN * 30)
    first, longer, other = essay_scores(model, [text, text + " good1" * 500, "good1 " + text])
    assert first == pytest.approx(longer, abs=1e-5)
    assert first != pytest.approx(other, abs=1e-5)


def test_progress_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    train_essay_model(*graded(20, 0), epochs=2, folds=3)
    assert "8 of 8 epochs" in caplog.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scores": [1, 2]}, "20 essays, but scores of shape"),
        ({"scores": [1.0] * 19 + [2.5]}, "essay 19: the score 2.5"),
        ({"scores": [1.0] * 19 + [np.nan]}, "essay 19: the score nan"),
        ({"scores": [3] * 20}, "all 20 essays have the score 3"),
        ({"essays": ["a b"] * 7 + [" "] + ["a b"] * 12}, "essay 7 has no word"),
        ({"folds": 11}, "20 essays are too few for 11 folds"),
        ({"folds": 1}, "folds = 1"),
        ({"epochs": 0}, "epochs = 0"),
    ],
)
def test_what_cannot_be_trained_on_is_named(change: dict, words: str) -> None:
    given_ = {"essays": ["a b"] * 20, "scores": [1, 2] * 10, "epochs": 1} | change
    with pytest.raises(TextgamutError, match=words):
        train_essay_model(**given_)


def test_bad_requests_for_scores_are_named(model: TrainedEssayModel) -> None:
    with pytest.raises(TextgamutError, match="not one string"):
        essay_scores(model, "one text")
    with pytest.raises(TextgamutError, match="batch_size = 0"):
        essay_scores(model, ["a"], 0)


# --- kappa ----------------------------------------------------------------------------------------------

ratings = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=20)


@given(ratings)
@settings(max_examples=80)
def test_kappa_is_one_less_the_squared_distance_over_that_of_strangers(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs).T
    assume(len(np.unique([a, b])) > 1)
    observed = ((a - b) ** 2).mean()
    by_chance = ((a[:, None] - b[None, :]) ** 2).mean()
    assert quadratic_weighted_kappa(a, b) == pytest.approx(1 - observed / by_chance, abs=1e-9)
    assert quadratic_weighted_kappa(b, a) == pytest.approx(quadratic_weighted_kappa(a, b), abs=1e-12)


def test_kappa_of_equal_opposite_and_constant_ratings() -> None:
    assert quadratic_weighted_kappa([0, 3, 60], [0, 3, 60]) == 1
    assert quadratic_weighted_kappa([0, 1], [1, 0]) == -1
    assert quadratic_weighted_kappa([1, 2, 3], [2, 2, 2]) == 0
    with pytest.raises(TextgamutError, match="one score"):
        quadratic_weighted_kappa([2, 2], [2, 2])
    with pytest.raises(TextgamutError, match="whole number"):
        quadratic_weighted_kappa([1, 2], [1.5, 2])


# --- saved models ---------------------------------------------------------------------------------------


def test_a_saved_model_gives_the_same_scores(
    model: TrainedEssayModel, mixed: list[str], tmp_path: Path
) -> None:
    save_essay_model(model, tmp_path / "new/essay")
    assert sorted(path.name for path in (tmp_path / "new/essay").iterdir()) == [
        "model.safetensors",
        "vocabulary.json",
    ]
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    loaded = load_essay_model(tmp_path / "new/essay")
    assert torch.equal(torch.rand(3), drawn)
    assert (essay_scores(loaded, mixed) == essay_scores(model, mixed)).all()
    for name in ("tokens", "mean", "deviation", "essays", "kappa", "fold_kappas"):
        assert getattr(loaded, name) == getattr(model, name)


def edit_json(change: Callable[[dict], object]) -> Callable[[Path], object]:
    def edit(folder: Path) -> None:
        content = json.loads((folder / "vocabulary.json").read_text())
        change(content)
        (folder / "vocabulary.json").write_text(json.dumps(content))

    return edit


def flip_a_bit(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors: cannot be read"),
        (lambda folder: (folder / "vocabulary.json").unlink(), "vocabulary.json: cannot be read"),
        (
            lambda folder: (folder / "vocabulary.json").write_text('{"tokens": ['),
            r"vocabulary\.json: damaged",
        ),
        (lambda folder: (folder / "vocabulary.json").write_text("[]"), "not a vocabulary of an essay model"),
        (flip_a_bit, "model.safetensors: not the weights"),
        (edit_json(lambda content: content["tokens"].pop()), r"words do not match model.safetensors"),
        (edit_json(lambda content: content["tokens"].__setitem__(0, content["tokens"][1])), "listed twice"),
        (edit_json(lambda content: content.pop("mean")), "not a vocabulary of an essay model: 'mean'"),
        (edit_json(lambda content: content.update(mean="two")), "not a vocabulary of an.*'two'"),
        (edit_json(lambda content: content.update(revision=essay_model.REVISION + 1)), "has revision"),
    ],
)
def test_a_damaged_model_is_refused(
    model: TrainedEssayModel, tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    save_essay_model(model, tmp_path)
    spoil(tmp_path)
    with pytest.raises(TextgamutError, match=words) as caught:
        load_essay_model(tmp_path)
    assert "train the essay model again" in str(caught.value)


# --- the file -------------------------------------------------------------------------------------------


def write_asap(path: Path, rows: list[tuple[str, str, str]], encoding: str = "cp1252") -> Path:
    """Write sets, essays and scores as a spreadsheet program writes tab-separated text."""
    with path.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, csv.excel_tab)
        writer.writerow(COLUMNS)
        writer.writerows([i, row[0], row[1], 4, row[2], ""] for i, row in enumerate(rows, start=1))
    return path


texts = st.text(st.characters(codec="cp1252", exclude_categories=["Cc"]), min_size=1, max_size=30)
essays = st.one_of(
    texts, st.sampled_from(['He said "no".', "a\tb", "two\nlines", '"', "it\u2019s \u201cso\u201d", "café"])
)


@given(st.lists(st.tuples(essays.filter(str.strip), st.integers(0, 60)), min_size=1, max_size=5))
@settings(max_examples=25)
@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig"])
def test_essays_come_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, encoding: str, rows: list[tuple[str, int]]
) -> None:
    path = write_asap(
        tmp_path_factory.getbasetemp() / "asap.tsv", [("1", t, str(s)) for t, s in rows], encoding
    )
    frame = read_essays(path)
    assert list(frame.columns) == ["essay_set", "essay", "score"]
    assert frame["score"].tolist() == [float(score) for _, score in rows]
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        assert encoding == "cp1252"
    else:
        assume(encoding != "cp1252" or path.read_bytes().isascii())  # by chance also valid UTF-8
    assert frame["essay"].tolist() == [text for text, _ in rows]


def test_a_row_may_leave_out_the_columns_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "short.tsv"
    path.write_text("essay_set\tessay\tdomain1_score\tdomain2_score\r\n1\tFine.\t3\r\n\r\n2\tPoor.\t1\t\r\n")
    expected = {"essay_set": ["1", "2"], "essay": ["Fine.", "Poor."], "score": [3.0, 1.0]}
    pd.testing.assert_frame_equal(read_essays(path), pd.DataFrame(expected))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("essay_set\tessay\n1\tFine.\n", r"column 'domain1_score': .*one is needed"),
        ("essay_set\tessay_text\tdomain1_score\n1\tFine.\t3\n", "column 'essay': .*nearest valid: 'essay_"),
        ("essay_set,essay,domain1_score\n1,Fine.,3\n", "column 'essay_set'"),
        ("essay\tessay_set\tessay\tdomain1_score\n", "column 'essay': .*found 2"),
        ("essay_set\tessay\tdomain1_score\n", "contains no essay"),
        ("", "column 'essay_set'"),
        ('essay_set\tessay\tdomain1_score\n1\t"Two\nlines."\t3\n1\tFine.\tgood\n', "line 4.*_score': 'good'"),
        ("essay_set\tessay\tdomain1_score\n1\tFine.\tnan\n", "line 2.*domain1_score': 'nan' is not a number"),
        ("essay_set\tessay\tdomain1_score\n1\tFine.\t\n", "line 2.*domain1_score': '' is not a number"),
        ("essay_set\tessay\tdomain1_score\n1\tFine.\n", "line 2.*domain1_score': '' is not a number"),
        ("essay_set\tessay\tdomain1_score\n1\t \t3\n", "line 2: column 'essay' is empty"),
        ("essay_set\tessay\tdomain1_score\n1\tA\tB\t3\n", "line 2: 4 fields, but 3 columns"),
        ('essay_set\tessay\tdomain1_score\n1\tA\t3\n1\t"B\t3\n', "line 3: not valid TSV"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(content)
    with pytest.raises(TextgamutError, match=words) as caught:
        read_essays(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match=r"none\.tsv: there is no such file"):
        read_essays(tmp_path / "none.tsv")
