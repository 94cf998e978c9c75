"""Regions of missed texts: their shares, their key phrases, and the texts that stand for them."""

from __future__ import annotations

import numpy as np
import pytest

from textgamut.errors import DataError
from textgamut.metrics.missed import EmbeddedTexts
from textgamut.metrics.regions import EXAMPLES, MOST_REGIONS, key_phrases, missed_regions

RNG = np.random.default_rng(0)
TOPICS = {"goal": "the striker scored a late goal", "bank": "the central bank raised its rates"}


def side(counts: dict[str, int]) -> EmbeddedTexts:
    texts = [f"{TOPICS.get(name, 'a quiet day at home')} {i}" for name, n in counts.items() for i in range(n)]
    centres = [[10.0 * place, 0.0] for place, n in enumerate(counts.values()) for _ in range(n)]
    features = np.array(centres) + RNG.normal(size=(len(texts), 2))
    return EmbeddedTexts(features, [f"row-{i}" for i in range(1, len(texts) + 1)], texts)


def test_regions_are_the_clusters_of_missed_texts_with_what_they_are_about() -> None:
    human = side({"home": 60, "goal": 24, "bank": 16})
    inside = np.arange(100) < 60
    found = missed_regions(human, inside)
    assert sum(region.count for region in found) == 40
    assert [region.count for region in found] == sorted((region.count for region in found), reverse=True)
    assert sum(region.share for region in found) == pytest.approx(0.4)
    for region in found:
        rows = [int(id_.removeprefix("row-")) - 1 for id_, _ in region.examples]
        assert len(rows) == min(EXAMPLES, region.count)
        assert not inside[rows].any()
        assert len({row < 84 for row in rows}) == 1  # of one topic
        word, other = ("goal", "bank") if rows[0] < 84 else ("bank", "goal")
        assert any(word in phrase for phrase in region.phrases)
        assert not any(other in phrase for phrase in region.phrases)
    assert missed_regions(human, inside) == found


def test_nothing_missed_has_no_region_and_few_texts_have_one() -> None:
    human = side({"home": 30})
    assert missed_regions(human, np.ones(30, dtype=bool)) == []
    [alone] = missed_regions(human, np.arange(30) > 0)
    assert (alone.count, alone.share, alone.phrases) == (1, 1 / 30, ())
    same = EmbeddedTexts(np.zeros((30, 2)), human.ids, human.texts)
    assert len(missed_regions(same, np.zeros(30, dtype=bool))) == 1
    assert len(missed_regions(side({"a": 300}), np.zeros(300, dtype=bool))) == MOST_REGIONS
    with pytest.raises(DataError, match="finite"):
        missed_regions(EmbeddedTexts(np.full((2, 1), np.nan), ["a", "b"], ["a", "b"]), [False, False])


def test_key_phrases_tell_texts_from_the_others() -> None:
    texts = ["red house on a hill"] * 20 + ["blue house on a hill"] * 20
    assert key_phrases(texts, np.arange(20)) == ("red",)
    assert key_phrases(texts, np.arange(20, 40)) == ("blue",)
    assert key_phrases(texts, np.arange(40)) == ()  # there are no others
    assert key_phrases(["", "!", "?"], np.array([0, 1])) == ()  # there are no words
    assert key_phrases(texts, np.array([0])) == ()  # of a single text, everything is its own
