"""Similarity: the cosine of linear algebra, the BLEU of sacrebleu."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from textgamut.errors import TextgamutError
from textgamut.metrics.similarity import bleu, cosine_similarity

sacrebleu = pytest.importorskip("sacrebleu")

vectors = arrays(np.float32, (4, 3), elements=st.floats(-1e3, 1e3, width=32))


def test_cosine_of_known_angles() -> None:
    generated = np.array([[2, 0], [3, 3], [0, 5], [-1, 0], [1, 0]], dtype=np.float32)
    reference = np.array([[7, 0], [1, 0], [1, 0], [4, 0], [1, np.sqrt(3)]], dtype=np.float32)
    expected = [1, np.sqrt(0.5), 0, -1, 0.5]
    found = cosine_similarity(generated, reference)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-7)


@given(vectors, vectors, st.floats(1e-3, 1e3))
@settings(max_examples=200)
def test_cosine_of_any_vectors(a: np.ndarray, b: np.ndarray, scale: float) -> None:
    found = cosine_similarity(a, b)
    lengths = np.linalg.norm(a.astype(float), axis=1) * np.linalg.norm(b.astype(float), axis=1)
    for row in range(len(a)):
        if a[row].any() and b[row].any():
            assert -1 <= found[row] <= 1
            # Products of subnormal numbers lose digits: judge those that are not.
            if lengths[row] > 1e-20:
                assert found[row] == pytest.approx(a[row].astype(float) @ b[row] / lengths[row], abs=1e-12)
        else:
            assert np.isnan(found[row])
    np.testing.assert_array_equal(cosine_similarity(b, a), found)
    np.testing.assert_allclose(cosine_similarity(a.astype(float) * scale, b), found, atol=1e-12)
    np.testing.assert_array_equal(cosine_similarity(a[::-1], b[::-1]), found[::-1])


def test_a_vector_is_like_itself() -> None:
    features = np.random.default_rng(0).normal(size=(200, 384)).astype(np.float32)
    found = cosine_similarity(features, features)
    assert found.max() <= 1
    np.testing.assert_allclose(found, 1, atol=1e-12)


words = st.sampled_from(
    ["the", "cat", "sat", "on", "The", "mat.", "U.S.", "don't", "3,000", "&amp;", "naïve"]
)
sentences = st.lists(words, max_size=12).map(" ".join)


@given(st.lists(st.tuples(sentences, sentences), max_size=5))
@settings(max_examples=150)
def test_bleu_equals_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    texts, references = [text for text, _ in pairs], [reference for _, reference in pairs]
    found = bleu(texts, references)
    expected = [sacrebleu.sentence_bleu(text, [reference]).score for text, reference in pairs]
    np.testing.assert_array_equal(found, expected)
    assert found.shape == (len(pairs),)
    assert ((found >= 0) & (found <= 100 + 1e-9)).all()


def test_bleu_by_hand() -> None:
    """Precisions 5/6, 3/5, 2/4, 1/3; both texts have six tokens."""
    found = bleu(["the cat sat on the mat"], ["the cat sat on a mat"])
    assert found[0] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)


def test_bleu_of_extremes() -> None:
    same, other = "The cat sat on the mat.", "Stocks fell again yesterday, traders say"
    found = bleu([same, same, "", same, "cat"], [same, other, same, "", "cat"])
    assert found[0] == found[4] == pytest.approx(100)
    assert found[1:4].tolist() == [0, 0, 0]


def test_bleu_is_of_texts_not_of_the_corpus() -> None:
    pairs = [
        ("the cat sat on the mat", "the cat sat on the mat"),
        ("a dog ran off", "stocks fell again today"),
    ]
    found = bleu(*map(list, zip(*pairs, strict=True)))
    assert found.tolist() == pytest.approx([100, 0])
    assert sacrebleu.corpus_bleu([a for a, _ in pairs], [[b for _, b in pairs]]).score > 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cosine_similarity([[1, 2]], [[1, 2], [3, 4]]), r"different shapes: \(1, 2\) and \(2, 2\)"),
        (lambda: cosine_similarity([[1, 2]], [[1, 2, 3]]), r"different shapes: \(1, 2\) and \(1, 3\)"),
        (lambda: cosine_similarity([1, 2], [[1, 2]]), r"generated features: must be a matrix .* not \(2,\)"),
        (lambda: cosine_similarity([[1.0]] * 2, [[1], [np.nan]]), "reference features: row 1 is not finite"),
        (lambda: cosine_similarity([[np.inf]], [[1.0]]), "generated features: row 0 is not finite"),
        (lambda: bleu(["a"], []), "1 texts, but 0 references"),
        (lambda: bleu("a", ["a"]), "a list of texts is needed"),
        (lambda: bleu(["a"], "a"), "a list of texts is needed"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        call()


@pytest.mark.slow
def test_sbert_knows_what_a_text_is_about(demo) -> None:
    """With a real sentence embedder, another wording is closer than another matter."""
    import torch

    from textgamut.features.embed import embed
    from textgamut.sources.fetch import fetch

    embedder = demo.embedders["minilm"]
    texts = [
        "The river flooded the town after days of heavy rain.",
        "The river flooded the town after days of heavy rain.",
        "Streets were under water when the stream burst its banks in the storm.",
        "The striker scored twice in the second half of the final.",
    ]
    features = embed(texts, fetch(embedder.source), embedder, torch.device("cpu")).vectors
    same, wording, matter = cosine_similarity(features[1:], features[[0, 0, 0]])
    assert same == pytest.approx(1, abs=1e-6)
    assert 1 > wording > matter + 0.2
