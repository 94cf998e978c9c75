"""Features: those of sentence-transformers, whatever the batch and the order."""

import logging

import numpy as np
import pytest

pytestmark = pytest.mark.slow

TEXTS = ["A short text.", "", "Stocks fell on Monday. " * 10, "ünïcödé 日本語", "word " * 400, "Goal!"] * 3


@pytest.fixture(scope="module")
def minilm(demo):
    from textgamut.sources import fetch

    return fetch(demo.embedders["minilm"].source)


def features(demo, minilm, texts, **changes):
    import torch

    from textgamut.embedding import embed

    embedder = demo.embedders["minilm"].model_copy(update=changes)
    return embed(texts, minilm, embedder, torch.device("cpu"))


def test_equals_sentence_transformers(demo, minilm) -> None:
    library = pytest.importorskip("sentence_transformers")
    theirs = library.SentenceTransformer(str(minilm), device="cpu").encode(TEXTS)
    ours = features(demo, minilm, TEXTS).vectors
    assert ours.dtype == np.float32
    unit = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.abs(unit - theirs).max() < 1e-6


def test_batch_size_and_order_do_not_matter(demo, minilm) -> None:
    whole = features(demo, minilm, TEXTS).vectors
    one_by_one = features(demo, minilm, TEXTS[::-1], batch_size=1).vectors[::-1]
    assert np.abs(whole - one_by_one).max() < 1e-4 * np.abs(whole).max()


def test_long_texts_are_counted(demo, minilm, caplog) -> None:
    logging.getLogger("textgamut").propagate = True
    assert features(demo, minilm, TEXTS).truncated == 3
    assert "3 of 18 texts were cut to 256 tokens" in caplog.text
