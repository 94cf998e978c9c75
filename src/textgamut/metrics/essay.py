"""Essay score: what an LSTM that was trained on graded student essays would give a text.

Source: NW section 4.2 ("text quality"), after the LSTM of Jain and Thakkar 2019 on the essays of the
Automated Student Assessment Prize (ASAP). Theirs reads a text as one vector, the mean of its words' word2vec
vectors. Here the LSTM reads the words one after the other, and their vectors are learned with it: their order
counts, and no word2vec is fetched. The scores of the two are on the same scale, but not the same.
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

REVISION = 1
"""Raised when the same essays give another model, or the same model and text another score."""

MAX_WORDS = 1000
"""Words of a text that are read, from its beginning."""
MIN_COUNT = 2
"""A word that stands less often in the essays is unknown."""
MAX_VOCABULARY = 20_000
"""Words that are known, the most frequent ones."""
EMBEDDING = 64
"""Numbers in the vector of a word."""
HIDDEN = 64
"""Units of the LSTM."""
DROPOUT = 0.3
"""Share of the inputs of LSTM and regression that is left out in training."""
BATCH_SIZE = 64
"""Essays at a time in training."""
LEARNING_RATE = 2e-3
"""Of Adam."""

COLUMNS = {"essay_set": "essay_set", "essay": "essay", "domain1_score": "score"}
"""Columns of the ASAP file, and their names here."""
WEIGHTS, VOCABULARY = "model.safetensors", "vocabulary.json"
"""The files of a saved model."""

STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


@dataclass(frozen=True)
class TrainedEssayModel:
    """An LSTM that scores essays, and how well it does."""

    network: Any
    """Its layers, a ``torch.nn.ModuleDict`` on the CPU."""
    tokens: tuple[str, ...]
    """The words that it knows, most frequent first."""
    mean: float
    """Of the scores that it was trained on."""
    deviation: float
    """Standard deviation of these, above 0."""
    essays: int
    """How many it was trained on."""
    kappa: float
    """Quadratic weighted kappa of all essays, each scored by a model that was trained without it."""
    fold_kappas: tuple[float, ...]
    """The same within each fold."""

    @property
    def mean_kappa(self) -> float:
        """Mean of the folds' kappas."""
        return math.fsum(self.fold_kappas) / len(self.fold_kappas)


def read_essays(path: Path) -> pd.DataFrame:
    """Read graded essays from ASAP's ``training_set_rel3.tsv``, or a table like it.

    Fields stand between tabs; in a field between quotation marks, its own ones are doubled. UTF-8, or else
    Windows-1252, as ASAP. Blank lines are no rows.

    Args:
        path: A file with the columns ``essay_set``, ``essay`` and ``domain1_score``, and any others.

    Returns:
        ``essay_set`` (string), ``essay`` (string), ``score`` (float64), one row an essay.

    Raises:
        TextgamutError: The file cannot be read or holds no essay, a column is missing or stands twice, a row
            has too many fields, an essay is empty, a score is no number. The message names the file, the line
            and the column.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")  # five bytes of 256 stand for nothing
    lines = _lines(path, text)
    header = next(lines, (1, []))[1]
    for column in COLUMNS:
        if header.count(column) != 1:
            problem = f"stands {header.count(column)} times" if column in header else nearest(column, header)
            raise DataError(f"{path}: column {column!r}: one is needed; {problem}")
    rows = []
    for line, fields in lines:
        if len(fields) > len(header):
            raise DataError(f"{path}: line {line}: {len(fields)} fields, but {len(header)} columns")
        row = dict(zip(header, fields, strict=False))
        if not row.get("essay", "").strip():
            raise DataError(f"{path}: line {line}: column 'essay': it is empty")
        score = row.get("domain1_score", "")
        try:
            number = float(score)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(f"{path}: line {line}: column 'domain1_score': {score!r} is no number")
        rows.append((row.get("essay_set", ""), row["essay"], number))
    if not rows:
        raise DataError(f"{path}: it has no essay")
    return pd.DataFrame(rows, columns=list(COLUMNS.values()))


def quadratic_weighted_kappa(a: ArrayLike, b: ArrayLike) -> float:
    """Measure the agreement of two raters beyond chance; a disagreement counts by the square of its size.

    Args:
        a: (N,) whole numbers.
        b: (N,) whole numbers.

    Returns:
        Cohen's kappa with quadratic weights, in [-1, 1]: 1 for equal ratings, 0 for chance.

    Raises:
        TextgamutError: Both give one and the same score to all, where it is not defined; or a rating is no
            whole number.
    """
    from sklearn.metrics import cohen_kappa_score

    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    both = np.concatenate([first, second])
    if not (both == np.rint(both)).all():
        raise DataError("quadratic weighted kappa: a rating is no whole number")
    if len(np.unique(both)) < 2:
        raise DataError(
            f"quadratic weighted kappa: it is not defined where all of {len(first)} texts have one score"
        )
    # All scores of the range are labels: scikit-learn takes the distance of two by their place in the list.
    labels = np.arange(both.min(), both.max() + 1).astype(int)
    return float(cohen_kappa_score(first.astype(int), second.astype(int), labels=labels, weights="quadratic"))


def train_essay_model(
    essays: Sequence[str],
    scores: ArrayLike,
    epochs: int = 10,
    folds: int = 5,
    seed: int = 0,
) -> TrainedEssayModel:
    """Train the LSTM on all essays, and grade it by cross-validation (NW section 4.2).

    Words by NLTK, in lower case, the first ``MAX_WORDS`` of an essay; embedding, LSTM, the mean of its states
    over the words (Taghipour and Ng 2016), linear regression on the standardized score. It computes on one
    core of the CPU: on one machine, the same essays and settings give the same weights to the bit.

    In cross-validation also the vocabulary is that of the training folds. For the kappa, a score is rounded
    to the nearest whole number and kept in the range of the essays' scores.

    Args:
        essays: N texts.
        scores: (N,) their scores, whole numbers in any range.
        epochs: How often the training sees each essay, 1 or more.
        folds: Parts of the cross-validation, 2 or more.
        seed: Of the folds, the first weights, the order of the essays and the dropout.

    Returns:
        The model and its kappas.

    Raises:
        TextgamutError: Not as many scores as essays, a score that is no whole number, an essay without a
            word, fewer than two essays a fold, one score for all, or ``epochs`` or ``folds`` out of range.
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
    """Score texts as the graders of the training essays would (NW section 4.2).

    Args:
        model: A trained model.
        texts: N texts, of which the first ``MAX_WORDS`` words are read.
        batch_size: Texts at a time. It changes a score by less than 1e-5 of the deviation, as does row order.

    Returns:
        (N,) scores in the units of the training essays, neither rounded nor kept in their range; NaN for a
        text without a word.

    Raises:
        TextgamutError: ``texts`` is one string, or ``batch_size`` below 1.
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
        folder: Made where it is missing.
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
    """Read a model that ``save_essay_model`` wrote.

    Raises:
        TextgamutError: A file is missing or damaged, the two do not belong together, or another revision of
            this module wrote them. The message names the file.
    """
    import torch
    from safetensors.torch import load

    path = folder / VOCABULARY
    again = "train the essay model again"
    try:
        content, weights = read_json(path), (folder / WEIGHTS).read_bytes()
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read: {error.strerror}: {again}") from error
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}: {again}") from error
    try:
        if content["revision"] != REVISION:
            raise DataError(f"{path}: of revision {content['revision']}, not {REVISION}: {again}")
        if content["weights_sha256"] != hashlib.sha256(weights).hexdigest():
            raise DataError(f"{folder / WEIGHTS}: not the weights that {VOCABULARY} names: {again}")
        if len(set(content["tokens"])) < len(content["tokens"]):
            raise DataError(f"{path}: a word stands twice: {again}")
        with torch.device("meta"):  # no first weights are drawn
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
        raise DataError(f"{path}: not what this module writes: {error}: {again}") from error
    try:
        model.network.load_state_dict(load(weights), assign=True)
    except RuntimeError as error:
        raise DataError(
            f"{path}: {len(model.tokens)} words do not fit {WEIGHTS}: {error}: {again}"
        ) from error
    return model


Layers = tuple[Any, tuple[str, ...], float, float]
"""Network, words, mean and deviation of the scores."""


def _lines(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row that is not blank, with the line where it begins."""
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
        raise DataError(f"essay {wrong[0]}: its score {scores[wrong[0]]} is no whole number")
    if scores.min() == scores.max():
        raise DataError(f"all {len(essays)} essays have the score {scores[0]:g}: there is nothing to learn")


def _words(text: str) -> list[str]:
    return nltk_words(text.translate(STRAIGHT).lower())[:MAX_WORDS]


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one core: with more, so small a network is slower, and its sums come in another order."""
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
    """Return the standardized scores of a batch; what stands behind a text's end has no part in them."""
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
    """Split the essays into batches at random, but of similar length, so that there is little padding."""
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
