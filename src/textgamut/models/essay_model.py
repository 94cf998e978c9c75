"""An LSTM that is trained on graded student essays and grades texts.

Source: NW section 4.2 ("text quality"), after the LSTM of Jain and Thakkar 2019 on the essays of the
Automated Student Assessment Prize (ASAP). The input of their LSTM is one vector per text, the mean of the
word2vec vectors of its words. Here the input is the sequence of words, with learned vectors: their order
matters, and word2vec is not needed. The two scores are on the same scale, but differ.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError, TextgamutError, nearest
from textgamut.files import read_json, write_bytes, write_json
from textgamut.progress import Progress
from textgamut.text import nltk_words
from textgamut.user_files import guarded

REVISION = 1
"""Increase when the same essays produce a different model, or the same model and text a different score."""

MAX_WORDS = 1000
"""Maximum number of words of a text; the rest is ignored."""
MIN_COUNT = 2
"""Minimum number of occurrences of a word in the essays; rarer words are unknown."""
MAX_VOCABULARY = 20_000
"""Maximum number of known words, the most frequent ones."""
EMBEDDING = 64
"""Dimension of the word vectors."""
HIDDEN = 64
"""Number of LSTM units."""
DROPOUT = 0.3
"""Dropout rate of the inputs of LSTM and regression in training."""
BATCH_SIZE = 64
"""Number of essays per training batch."""
LEARNING_RATE = 2e-3
"""Learning rate of Adam."""

COLUMNS = {"essay_set": "essay_set", "essay": "essay", "domain1_score": "score"}
"""Columns of the ASAP file, and the names they are given here."""
WEIGHTS, VOCABULARY = "model.safetensors", "vocabulary.json"
"""The files of a saved model."""

STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@dataclass(frozen=True)
class TrainedEssayModel:
    """An LSTM that scores essays, and its agreement with the graders."""

    network: Any
    """The layers, a ``torch.nn.ModuleDict`` on the CPU."""
    tokens: tuple[str, ...]
    """The known words, most frequent first."""
    mean: float
    """Mean of the training scores."""
    deviation: float
    """Standard deviation of the training scores, above 0."""
    essays: int
    """Number of training essays."""
    kappa: float
    """Quadratic weighted kappa over all essays, each scored by a model trained without it."""
    fold_kappas: tuple[float, ...]
    """Quadratic weighted kappa of each fold."""

    @property
    def mean_kappa(self) -> float:
        """Mean of the folds' kappas."""
        return math.fsum(self.fold_kappas) / len(self.fold_kappas)


def read_essays(path: Path) -> pd.DataFrame:
    """Read graded essays from ASAP's ``training_set_rel3.tsv``, or a table of the same format.

    Fields are separated by tabs. In quoted fields, quotation marks are doubled. The encoding is UTF-8 or,
    as in ASAP, Windows-1252. Blank lines are ignored.

    Args:
        path: A file with the columns ``essay_set``, ``essay`` and ``domain1_score``; others are ignored.

    Returns:
        ``essay_set`` (string), ``essay`` (string) and ``score`` (float64), one row per essay.

    Raises:
        TextgamutError: If the file cannot be read or contains no essay, a column is missing or duplicated, a
            row has too many fields, an essay is empty, or a score is not a number. The message names the
            file, the line and the column.
    """
    with guarded(path):
        content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")  # five byte values are undefined in Windows-1252
    lines = _lines(path, text)
    header = next(lines, (1, []))[1]
    for column in COLUMNS:
        if header.count(column) != 1:
            problem = f"found {header.count(column)}" if column in header else nearest(column, header)
            raise DataError(f"{path}: column {column!r}: one is needed; {problem}")
    rows = []
    for line, fields in lines:
        if len(fields) > len(header):
            raise DataError(f"{path}: line {line}: {len(fields)} fields, but {len(header)} columns")
        row = dict(zip(header, fields, strict=False))
        if not row.get("essay", "").strip():
            raise DataError(f"{path}: line {line}: column 'essay' is empty")
        score = row.get("domain1_score", "")
        try:
            number = float(score)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"{path}: line {line}: column 'domain1_score': {score!r} is not a number")
        rows.append((row.get("essay_set", ""), row["essay"], number))
    if not rows:
        raise DataError(f"{path}: the file contains no essay")
    return pd.DataFrame(rows, columns=list(COLUMNS.values()))


def quadratic_weighted_kappa(a: ArrayLike, b: ArrayLike) -> float:
    """Return the agreement of two raters beyond chance, with disagreements weighted by their square.

    Args:
        a: (N,) whole numbers.
        b: (N,) whole numbers.

    Returns:
        Cohen's kappa with quadratic weights, in [-1, 1]: 1 for equal ratings, 0 for chance.

    Raises:
        TextgamutError: If all ratings of both raters are the same, so that kappa is undefined, or a rating is
            not a whole number.
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.concatenate([first, second])
    if not (both == np.rint(both)).all():
        raise DataError("quadratic weighted kappa: a rating is not a whole number")
    if len(np.unique(both)) < 2:
        raise DataError(f"quadratic weighted kappa: undefined, since all {len(first)} texts have one score")
    # All scores in the range are labels, because scikit-learn measures distances by position in the list.
    labels = np.arange(both.min(), both.max() + 1).astype(int)
    return float(cohen_kappa_score(first.astype(int), second.astype(int), labels=labels, weights="quadratic"))


def train_essay_model(
    essays: Sequence[str],
    scores: ArrayLike,
    epochs: int = 10,
    folds: int = 5,
    seed: int = 0,
) -> TrainedEssayModel:
    """Train the LSTM on all essays, and evaluate it by cross-validation (NW section 4.2).

    The input is the first ``MAX_WORDS`` words of an essay, split by NLTK, in lower case. The layers are an
    embedding, an LSTM, the mean of its states over the words (Taghipour and Ng 2016), and a linear regression
    on the standardized score. Training uses one CPU core: on the same machine, the same essays and settings
    produce identical weights.

    In cross-validation, the vocabulary also comes from the training folds only. For the kappa, scores are
    rounded to the nearest whole number and clipped to the range of the essays' scores.

    Args:
        essays: N texts.
        scores: (N,) their scores, whole numbers in any range.
        epochs: Number of training epochs, 1 or more.
        folds: Number of cross-validation folds, 2 or more.
        seed: Seed of the folds, the initial weights, the order of the essays and the dropout.

    Returns:
        The model and its kappas.

    Raises:
        TextgamutError: If the numbers of essays and scores differ, a score is not a whole number, an essay
            has no word, there are fewer than two essays per fold, all scores are the same, or ``epochs`` or
            ``folds`` is out of range.
    """
    from sklearn.model_selection import KFold

    grades = np.asarray(scores, dtype=np.float64)
    _check(essays, grades, epochs, folds)
    words = [_words(essay) for essay in essays]
    for row, found in enumerate(words):
        if not found:
            raise DataError(f"essay {row} has no word")

    progress = Progress((folds + 1) * epochs, "epochs")
    predicted = np.empty(len(words))
    fold_kappas = []
    for train, test in KFold(folds, shuffle=True, random_state=seed).split(grades):
        model = _fit([words[i] for i in train], grades[train], epochs, seed, progress)
        raw = _predict(model, [words[i] for i in test], BATCH_SIZE)
        predicted[test] = np.clip(np.rint(raw), grades.min(), grades.max())
        fold_kappas.append(quadratic_weighted_kappa(grades[test], predicted[test]))
    network, tokens, mean, deviation = _fit(words, grades, epochs, seed, progress)
    return TrainedEssayModel(
        network=network,
        tokens=tokens,
        mean=mean,
        deviation=deviation,
        essays=len(words),
        kappa=quadratic_weighted_kappa(grades, predicted),
        fold_kappas=tuple(fold_kappas),
    )


def essay_scores(model: TrainedEssayModel, texts: Sequence[str], batch_size: int = 64) -> NDArray[np.float64]:
    """Predict the scores of texts by the graders of the training essays (NW section 4.2).

    Args:
        model: A trained model.
        texts: N texts; only the first ``MAX_WORDS`` words of each are used.
        batch_size: Number of texts per batch. Batch size and row order change a score by less than 1e-5 of
            the deviation.

    Returns:
        (N,) scores in the units of the training essays, neither rounded nor clipped to their range; NaN for a
        text without words.

    Raises:
        TextgamutError: If ``texts`` is a single string, or ``batch_size`` is below 1.
    """
    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    if batch_size < 1:
        raise DataError(f"batch_size = {batch_size}: 1 or more is needed")
    layers = model.network, model.tokens, model.mean, model.deviation
    return _predict(layers, [_words(text) for text in texts], batch_size)


def save_essay_model(model: TrainedEssayModel, folder: Path) -> None:
    """Write a model as ``model.safetensors`` and ``vocabulary.json``.

    Args:
        model: A trained model.
        folder: The folder; created if it does not exist.
    """
    from safetensors.torch import save

    weights = save(model.network.state_dict())
    write_bytes(folder / WEIGHTS, weights)
    content = {
        "revision": REVISION,
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "essays": model.essays,
        "mean": model.mean,
        "deviation": model.deviation,
        "kappa": model.kappa,
        "fold_kappas": list(model.fold_kappas),
        "tokens": list(model.tokens),
    }
    write_json(folder / VOCABULARY, content)


def load_essay_model(folder: Path) -> TrainedEssayModel:
    """Load a model saved by ``save_essay_model``.

    Raises:
        TextgamutError: If a file is missing or damaged, the two do not belong together, or they were written
            by another revision of this module. The message names the file.
    """
    import torch
    from safetensors.torch import load

    path = folder / VOCABULARY
    again = "train the essay model again"
    try:
        content, weights = read_json(path), (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}: {again}") from error
    except DataError as error:
        raise DataError(f"{path}: damaged: {again}") from error
    try:
        if content["revision"] != REVISION:
            raise DataError(f"{path}: has revision {content['revision']}, not {REVISION}: {again}")
        if content["weights_sha256"] != hashlib.sha256(weights).hexdigest():
            raise DataError(f"{folder / WEIGHTS}: not the weights that {VOCABULARY} names: {again}")
        if len(set(content["tokens"])) < len(content["tokens"]):
            raise DataError(f"{path}: a word is listed twice: {again}")
        with torch.device("meta"):  # skips the random initial weights
            network = _network(len(content["tokens"]))
        model = TrainedEssayModel(
            network=network,
            tokens=tuple(content["tokens"]),
            mean=float(content["mean"]),
            deviation=float(content["deviation"]),
            essays=int(content["essays"]),
            kappa=float(content["kappa"]),
            fold_kappas=tuple(map(float, content["fold_kappas"])),
        )
    except TextgamutError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: not a vocabulary of an essay model: {error}: {again}") from error
    try:
        model.network.load_state_dict(load(weights), assign=True)
    except RuntimeError as error:
        raise DataError(
            f"{path}: {len(model.tokens)} words do not match {WEIGHTS}: {error}: {again}"
        ) from error
    return model


Layers = tuple[Any, tuple[str, ...], float, float]
"""Network, words, mean and deviation of the scores."""


def _lines(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the fields of each row that is not blank."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    start = 1
    try:
        for fields in reader:
            if fields:
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{path}: line {start}: not valid TSV: {error}") from error


def _check(essays: Sequence[str], scores: NDArray[np.float64], epochs: int, folds: int) -> None:
    if scores.shape != (len(essays),):
        raise DataError(f"{len(essays)} essays, but scores of shape {scores.shape}")
    if epochs < 1:
        raise DataError(f"epochs = {epochs}: 1 or more is needed")
    if folds < 2:
        raise DataError(f"folds = {folds}: 2 or more are needed")
    if len(essays) < 2 * folds:
        raise DataError(f"{len(essays)} essays are too few for {folds} folds of two or more")
    wrong = np.flatnonzero(~(np.isfinite(scores) & (scores == np.rint(scores))))
    if len(wrong):
        raise DataError(f"essay {wrong[0]}: the score {scores[wrong[0]]} is not a whole number")
    if scores.min() == scores.max():
        raise DataError(f"all {len(essays)} essays have the score {scores[0]:g}: there is nothing to learn")


def _words(text: str) -> list[str]:
    return nltk_words(text.translate(STRAIGHT).lower())[:MAX_WORDS]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Use one CPU thread: more are slower for such a small network, and change the order of its sums."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _network(tokens: int) -> Any:
    from torch import nn

    return nn.ModuleDict(
        {
            "embedding": nn.Embedding(tokens + 2, EMBEDDING, padding_idx=0),  # 1: an unknown word
            "lstm": nn.LSTM(EMBEDDING, HIDDEN, batch_first=True),
            "linear": nn.Linear(HIDDEN, 1),
        }
    )


def _forward(network: Any, rows: Sequence[NDArray[np.int64]], dropout: float) -> Any:
    """Return the standardized scores of a batch, ignoring the padding."""
    import torch
    from torch.nn.functional import dropout as drop

    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.from_numpy(row)
    states, _ = network["lstm"](drop(network["embedding"](ids), dropout))
    inside = torch.arange(ids.shape[1])[None, :] < lengths[:, None]
    mean = (states * inside[:, :, None]).sum(1) / lengths[:, None]
    return network["linear"](drop(mean, dropout))[:, 0]


def _ids(words: Sequence[Sequence[str]], tokens: Sequence[str]) -> list[NDArray[np.int64]]:
    number = {token: place for place, token in enumerate(tokens, start=2)}
    return [np.array([number.get(word, 1) for word in text], dtype=np.int64) for text in words]


def _fit(
    words: Sequence[Sequence[str]], scores: NDArray[np.float64], epochs: int, seed: int, progress: Progress
) -> Layers:
    import torch

    counts = Counter(chain.from_iterable(words))
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:MAX_VOCABULARY]
    tokens = tuple(word for word in frequent if counts[word] >= MIN_COUNT)
    rows = _ids(words, tokens)
    mean, deviation = float(scores.mean()), float(scores.std()) or 1.0
    targets = torch.from_numpy((scores - mean) / deviation).float()

    rng = np.random.default_rng(seed)
    with _one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _network(len(tokens))
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        for _ in range(epochs):
            for batch in _batches([len(row) for row in rows], rng):
                output = _forward(network, [rows[i] for i in batch], DROPOUT)
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(output, targets[batch]).backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
            progress.advance(1)
    return network, tokens, mean, deviation


def _batches(lengths: Sequence[int], rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Split the essays randomly into batches of similar length, which keeps padding small."""
    order = rng.permutation(len(lengths))
    batches: list[NDArray[np.int64]] = []
    for start in range(0, len(order), 32 * BATCH_SIZE):
        pool = np.array(sorted(order[start : start + 32 * BATCH_SIZE], key=lambda row: lengths[row]))
        batches += np.split(pool, range(BATCH_SIZE, len(pool), BATCH_SIZE))
    return [batches[i] for i in rng.permutation(len(batches))]


def _predict(layers: Layers, words: Sequence[Sequence[str]], batch_size: int) -> NDArray[np.float64]:
    import torch

    network, tokens, mean, deviation = layers
    rows = _ids(words, tokens)
    scores = np.full(len(rows), np.nan)
    order = sorted((i for i, row in enumerate(rows) if len(row)), key=lambda i: len(rows[i]))
    with _one_thread(), torch.inference_mode():
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            scores[batch] = _forward(network, [rows[i] for i in batch], 0.0).double().numpy()
    return scores * deviation + mean
