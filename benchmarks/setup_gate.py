"""Shared by the benchmark of the gate: corpora, pools of generated texts, and pairs with a failure."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from setup_generation import DEMO, load
from setup_pairs import read_news
from tqdm import tqdm

from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.features.cache import cached_features
from textgamut.features.embed import Features
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.journal import Journal
from textgamut.models.checkpoints import prepare
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, TRAINING, Side
from textgamut.sources.fetch import fetch

POOLS = {
    ("smollm2-135m-instruct", 1.0): 2000,
    ("smollm2-135m-instruct", 0.3): 600,
    ("gemma-3-270m", 1.0): 600,
    ("gemma-3-270m", 0.3): 600,
}
"""Model of the demo and temperature -> number of generated texts."""
NEW_TOKENS, BATCH = 56, 64
LEAST, WORDS, PIECES = 20, 60, 4
"""Smallest and largest number of words of a text from the news articles, and the largest number of one."""
N = 400
"""Number of texts of each side."""
TUNED, UNTUNED = ("ag-news", "smollm2-135m-instruct"), ("news-articles", "gemma-3-270m")
"""Corpora and models on which the rules and margins of the gate were chosen, and others."""
CASES = ("topic lost", "temperature", "repeated", "truncated", "copied", "rewritten", "refusals")
"""Planted failures."""
RIGHT = {
    "topic lost": "collapse",
    "temperature": "collapse",
    "repeated": "collapse",
    "truncated": "degeneration",
    "copied": "copying",
    "rewritten": "copying",
    "refusals": "refusals",
}
"""Case -> name that the gate should give it."""
REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "I cannot assist with this request.",
    "As an AI, I am not able to write about this topic.",
    "I'm unable to provide that information.",
    "I apologize, but I cannot write this article.",
)


def generated_pool(model: str, temperature: float, folder: Path) -> list[str]:
    """Return generated texts, each a continuation of another news article.

    Finished batches are kept in a journal in the folder, so that the texts are generated once.
    """
    journal = Journal(folder / f"{model}-{temperature}.jsonl", "pool")
    count = POOLS[model, temperature]
    if len(journal.samples) < count:
        network, tokenizer, requests = load(model, count)
        done = {of["prompt_id"] for of in journal.samples}
        left = [request for request in requests if request.prompt_id not in done]
        decoding = SamplingDecoding(strategy="sampling", temperature=temperature, max_new_tokens=NEW_TOKENS)
        with tqdm(total=len(left), desc=f"{model}, temperature {temperature}", mininterval=10) as bar:
            for batch in TransformersEngine(network, tokenizer, BATCH).generate(left, decoding, seed=1):
                journal.append(batch, BATCH, 0.0)
                bar.update(len(batch))
    journal.close()
    samples = sorted(journal.samples, key=lambda of: of["prompt_id"])
    return [of["continuation"] for of in samples[:count]]


class Texts:
    """Texts with their features."""

    def __init__(self, texts: list[str]) -> None:
        embedder = load_config(DEMO).embedders["minilm"]
        self.texts = texts
        self.features = cached_features({"texts": texts}, prepare(embedder.source), embedder)["texts"]

    def side(self, rows: np.ndarray) -> Side:
        """Return the texts in some rows."""
        vectors = self.features.vectors[rows]
        return Side([self.texts[row] for row in rows], features=Features(vectors, 0, 0, 0.0))


@cache
def human(corpus: str, news: Path | None) -> tuple[dict[str, Texts], np.ndarray]:
    """Return texts of two topics, and which are of the first one.

    The texts are ``as written``, ``cut`` to half of their words, and ``rewritten``.
    """
    if corpus == "ag-news":
        assert news is not None
        texts, topics = read_news(news)
        first, second = 1, 2  # world, sport
    else:
        dataset = load_config(DEMO).datasets[corpus]
        frame = extract(fetch(dataset.source), dataset)
        pieces = [
            (piece, topic)
            for text, topic in zip(frame["text"], frame["topic"].fillna(""), strict=True)
            for piece in _pieces(text)[:PIECES]
        ]
        texts, topics = [piece for piece, _ in pieces], np.array([topic for _, topic in pieces])
        first, second = "politics", "world"
    rows = [row for row, text in enumerate(texts) if topics[row] in (first, second) and len(text.split()) > 7]
    chosen = [texts[row] for row in rows]
    halves = [" ".join(text.split()[: len(text.split()) // 2]) for text in chosen]
    words = [word for text in chosen[:500] for word in text.split()]
    rng = np.random.default_rng(3)
    forms = {
        "as written": chosen,
        "cut": halves,
        "rewritten": [rewritten(text, words, rng) for text in chosen],
    }
    of_first = np.array([topics[row] == first for row in rows])
    return {name: Texts(texts) for name, texts in forms.items()}, of_first


def rewritten(text: str, words: list[str], rng: np.random.Generator) -> str:
    """Return a text with every fifth word replaced by a random one, and every sixth swapped with the next.

    It shares no eight successive words with the text.
    """
    found = text.split()
    for place in range(int(rng.integers(5)), len(found), 5):
        found[place] = words[rng.integers(len(words))]
    for place in range(2, len(found) - 1, 6):
        found[place : place + 2] = found[place + 1], found[place]
    return " ".join(found)


@cache
def pool(model: str, temperature: float, folder: Path) -> Texts:
    """Return the texts of a pool."""
    return Texts(generated_pool(model, temperature, folder))


@cache
def references() -> Texts:
    """Return human texts for the pools: what follows the first ten words of news articles."""
    dataset = load_config(DEMO).datasets["news-articles"]
    texts = extract(fetch(dataset.source), dataset)["text"]
    return Texts([" ".join(text.split()[10:52]) for text in texts if len(text.split()) > 52])


@cache
def refusals() -> Texts:
    return Texts([*REFUSALS])


def equal_pair(source: str, number: int, news: Path | None, folder: Path) -> dict[str, Side]:
    """Return two sets of texts of the same distribution, and references."""
    rng = np.random.default_rng([number, 1])
    if source in ("ag-news", "news-articles"):
        texts = human(source, news)[0]["as written"]
        order = rng.permutation(len(texts.texts))
        return dict(
            zip((REFERENCE, BASELINE, CANDIDATE), (texts.side(of) for of in _parts(order, 3)), strict=True)
        )
    texts = pool(source, 1.0, folder)
    both = [texts.side(of) for of in _parts(rng.permutation(len(texts.texts)), 2)]
    drawn = rng.permutation(len(references().texts))[:N]
    return {BASELINE: both[0], CANDIDATE: both[1], REFERENCE: references().side(drawn)}


def planted_pair(case: str, source: str, number: int, news: Path | None, folder: Path) -> dict[str, Side]:
    """Return a pair of which the candidate has a planted failure, with training texts if it copies some.

    Args:
        case: One of ``CASES``.
        source: Corpus or, of the case temperature, model.
        number: Number of the pair.
        news: ``test.csv`` of AG news.
        folder: Folder of the pools.
    """
    rng = np.random.default_rng([number, 2, CASES.index(case)])
    if case == "temperature":
        drawn = {
            BASELINE: pool(source, 1.0, folder),
            CANDIDATE: pool(source, 0.3, folder),
            REFERENCE: references(),
        }
        return {name: of.side(rng.permutation(len(of.texts))[:N]) for name, of in drawn.items()}
    forms, of_first = human(source, news)
    texts = forms["as written"]
    order = rng.permutation(len(texts.texts))
    if case == "topic lost":
        used, rest = order[: 2 * N], order[2 * N :]
        parts = [*_parts(used, 2), rest[of_first[rest]][:N]]
    else:
        parts = _parts(order, 3)
    reference, baseline, candidate = (texts.side(rows) for rows in parts)
    tenth = rng.permutation(N)[: N // 10]
    if case == "repeated":
        candidate = _with(
            candidate, tenth, texts.side(parts[2][np.setdiff1d(np.arange(N), tenth)[: N // 10]])
        )
    if case == "truncated":
        quarter = rng.permutation(N)[: N // 4]
        candidate = _with(candidate, quarter, forms["cut"].side(parts[2][quarter]))
    more = {}
    if case in ("copied", "rewritten"):
        training = order[3 * N : 4 * N]
        more[TRAINING] = texts.side(training)
        copies = forms["rewritten" if case == "rewritten" else "as written"]
        candidate = _with(candidate, tenth, copies.side(training[: N // 10]))
    if case == "refusals":
        candidate = _with(candidate, tenth, refusals().side(rng.integers(len(REFUSALS), size=N // 10)))
    return {REFERENCE: reference, BASELINE: baseline, CANDIDATE: candidate} | more


def _with(side: Side, rows: np.ndarray, others: Side) -> Side:
    """Return a side with some of its texts replaced."""
    texts = list(side.texts)
    assert side.features is not None
    assert others.features is not None
    vectors = side.features.vectors.copy()
    for row, text in zip(rows, others.texts, strict=True):
        texts[row] = text
    vectors[rows] = others.features.vectors
    return replace(side, texts=texts, features=side.features._replace(vectors=vectors))


def _parts(rows: np.ndarray, count: int) -> list[np.ndarray]:
    if len(rows) < count * N:
        raise SystemExit(f"{count} x {N} texts are needed, and there are {len(rows)}")
    return [rows[part * N : (part + 1) * N] for part in range(count)]


def _pieces(text: str) -> list[str]:
    """Return a text as pieces of whole sentences, each with at most ``WORDS`` words."""
    pieces, kept = [], ""
    for sentence in re.findall(r"[^.!?]+[.!?]+[\"'\u201d\u2019)]*", " ".join(text.split())):
        if len((kept + sentence).split()) > WORDS:
            pieces.append(kept.strip())
            kept = ""
        kept += sentence
    return [piece for piece in [*pieces, kept.strip()] if LEAST <= len(piece.split()) <= WORDS]
