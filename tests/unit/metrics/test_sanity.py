"""Sanity checks: good metrics pass all of them, bad ones fail where they should; draws are as promised."""

from __future__ import annotations

import math

import numpy as np
import pytest

from textgamut.catalogue import METRICS
from textgamut.errors import TextgamutError
from textgamut.features.reduce import reduce_features
from textgamut.metrics.sanity.checked_metrics import GROUPS, Group, Judged
from textgamut.metrics.sanity.corpus import (
    Corpus,
    Design,
    Passages,
    choose_passages,
    cut_passages,
    degenerate_texts,
)
from textgamut.metrics.sanity.sanity_checks import CHECKS, Row, run_checks, verdicts
from textgamut.metrics.support import support_metrics

TOPICS = ("politics", "world", "sport", "health", None)
DESIGN = Design(
    main=("politics", "world"), mode=("sport",), n=60, sizes=(30, 60, 120), dimensions=(16,), repeats=3
)
WIDTH = 64


def made_corpus(toward: str | None = None) -> Corpus:
    """Texts around one direction for each topic; outliers are nearer to one topic than to the others."""
    rng = np.random.default_rng(0)
    centres = dict(zip(TOPICS, np.eye(WIDTH), strict=False))
    topics = TOPICS * 150
    features = np.array([centres[topic] + rng.normal(0, 0.02, WIDTH) for topic in topics], np.float32)
    texts = [
        f"passage{row} {topic} {' '.join(f'w{w}' for w in rng.integers(0, 500, 10))}"
        for row, topic in enumerate(topics)
    ]
    far = rng.normal(size=(10, WIDTH)) * (np.arange(WIDTH) > 10)
    far /= np.linalg.norm(far, axis=1, keepdims=True)
    if toward:
        far += centres[toward]
    perfect = np.flatnonzero([topic in DESIGN.main for topic in topics])
    return Corpus(
        passages=Passages(features, texts),
        shortened=Passages(features[perfect], [" ".join(texts[row].split()[:6]) for row in perfect]),
        shortened_rows=perfect,
        topics=topics,
        outliers=Passages(far.astype(np.float32), ["far far far"] * 10),
    )


def close(ours: Passages, others: Passages) -> np.ndarray:
    """Which of our texts have 6 % of the other side, copies counted once, within 1.1 typical distances."""
    distinct = np.unique(others.features, axis=0)
    distances = np.linalg.norm(ours.features[:, None] - distinct[None], axis=2)
    return (distances < 1.1 * 0.02 * math.sqrt(2 * WIDTH)).sum(axis=1) >= max(2, 0.06 * len(others.texts))


def known(reference: Passages, generated: Passages) -> dict[str, float]:
    """Metrics with a known quality."""
    return {
        "good fidelity": float(close(generated, reference).mean()),
        "good diversity": float(close(reference, generated).mean()),
        "constant": 0.5,
        "backwards": float(1 - close(generated, reference).mean()),
        "likes copies": float(np.isin(generated.texts, reference.texts).mean() - 0.1 * _wrong(generated)),
        "counts": len(generated.texts) - 1000.0 * _wrong(generated),
    }


def _wrong(generated: Passages) -> float:
    return float(np.mean([text.split()[1] not in DESIGN.main for text in generated.texts]))


KNOWN = Group(
    "known",
    (
        Judged(name="good fidelity", role="fidelity", better="higher", ideal=1),
        Judged(name="good diversity", role="diversity", better="higher", ideal=1),
        Judged(name="constant", role="both", better="higher", ideal=1),
        Judged(name="backwards", role="fidelity", better="higher", ideal=1),
        Judged(name="likes copies", role="fidelity", better="higher", ideal=0),
        Judged(name="counts", role="fidelity", better="higher", ideal=60),
    ),
    known,
)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return run_checks(made_corpus(), DESIGN, [KNOWN])


def passed(rows: list[Row], metric: str) -> dict[str, bool | None]:
    return {verdict.check: verdict.passed for verdict in verdicts(rows) if verdict.metric == metric}


def test_good_metrics_pass_everything(rows: list[Row]) -> None:
    for metric in ("good fidelity", "good diversity"):
        failed = [row for row in rows if row.metric == metric and not row.passed]
        assert not failed
        assert list(passed(rows, metric)) == [check.name for check in CHECKS]


@pytest.mark.parametrize("metric", ["constant", "backwards"])
def test_a_metric_that_does_not_fall_for_a_wrong_model_is_not_judged_further(
    rows: list[Row], metric: str
) -> None:
    found = passed(rows, metric)
    assert found.pop("responds") is False
    assert set(found.values()) == {None}
    assert all(
        "does not respond" in row.reason for row in rows if row.metric == metric and row.check != "responds"
    )


def test_flaws_are_found_where_they_are(rows: list[Row]) -> None:
    assert passed(rows, "likes copies")["copied"] is False
    counts = passed(rows, "counts")
    assert (counts["few"], counts["many"], counts["copied"]) == (True, True, True)  # 30 of 1,000 are little
    assert counts["invented"] is True


def test_an_outlier_among_the_references_inflates_precision() -> None:
    def support(reference: Passages, generated: Passages) -> dict[str, float]:
        found = support_metrics(*reduce_features(reference.features, generated.features), k=4)
        return {"precision": found.precision, "density": found.density}

    metrics = tuple(
        Judged(name=name, role="fidelity", better="higher", ideal=1) for name in ("precision", "density")
    )
    design = Design(main=DESIGN.main, mode=DESIGN.mode, n=60, sizes=(), dimensions=(), repeats=2)
    found = run_checks(made_corpus(toward="sport"), design, [Group("support", metrics, support)])
    wrong = {
        row.metric: row
        for row in found
        if row.check == "outlying_references" and row.condition == "wrong model"
    }
    assert wrong["precision"].passed is False
    assert wrong["precision"].change > 0.3  # one reference of 60
    assert wrong["density"].change < wrong["precision"].change
    assert passed(found, "precision")["responds"] is True


def test_the_same_seed_gives_the_same_rows(rows: list[Row]) -> None:
    assert run_checks(made_corpus(), DESIGN, [KNOWN]) == rows


def test_the_samples_are_as_promised() -> None:
    seen = []

    def record(reference: Passages, generated: Passages) -> dict[str, float]:
        seen.append((reference, generated))
        return {"m": 0.0}

    metrics = (Judged(name="m", role="both", better="higher", ideal=0),)
    run_checks(made_corpus(), DESIGN, [Group("m", metrics, record)])
    copies = halves = repeated = 0
    for reference, generated in seen:
        assert (
            len(reference.texts) == len(generated.texts) == len(reference.features) == len(generated.features)
        )
        sides = [{text.split()[0] for text in side.texts} - {"far"} for side in (reference, generated)]
        copies += reference.texts == generated.texts
        assert reference.texts == generated.texts or not sides[0] & sides[1]  # no passage on both sides
        halves += all(len(text.split()) == 6 for text in generated.texts)
        repeated += len(set(generated.texts)) == 6
        lengths = np.linalg.norm(reference.features, axis=1)
        assert lengths.max() < 1 + 1e-5
    assert (copies, halves, repeated) == (3, 3, 3)  # once in each repeat
    assert {len(reference.texts) for reference, _ in seen} == {30, 60, 120}


def test_metrics_of_words_skip_what_only_changes_features_and_say_so() -> None:
    design = Design(main=DESIGN.main, mode=DESIGN.mode, n=60, sizes=(30,), dimensions=(8,), repeats=2)
    groups = [group for group in GROUPS if group.name == "ngram"]
    found = run_checks(made_corpus(), design, groups)
    for metric in ("self_bleu", "distinct_2"):
        judged = passed(found, metric)
        assert judged["responds"] is True
        assert judged["repeated"] is True
        assert judged["dimension"] is judged["moved"] is None
    assert {row.reason for row in found if row.check == "moved"} == {"reads words, which do not change"}
    # The diversity of a text is that of its own words: it cannot know that others repeat them.
    assert passed(found, "diversity")["responds"] is False


def test_an_undefined_value_is_not_a_pass() -> None:
    metrics = (Judged(name="m", role="both", better="lower", ideal=0),)
    found = run_checks(
        made_corpus(),
        DESIGN,
        [Group("m", metrics, lambda r, g: {"m": _wrong(g) if len(g.texts) == 60 else math.nan})],
    )
    assert [row.passed for row in found if row.check == "few"] == [None]
    assert [row.reason for row in found if row.check == "few"] == ["the value is not defined"]


def test_every_metric_is_in_the_catalogue_and_its_direction_agrees() -> None:
    names = [metric.name for group in GROUPS for metric in group.metrics]
    assert len(set(names)) == len(names)
    for group in GROUPS:
        for metric in group.metrics:
            assert METRICS[metric.name].better in (metric.better, None)


def test_passages_do_not_overlap_and_degenerate_texts_repeat_rare_words() -> None:
    texts = ["a b c d e f g", "a", "h i j a b c"]
    assert cut_passages(texts, 3) == [(0, "a b c"), (0, "d e f"), (2, "h i j")]
    corpus = ["common banana", "common cherry Berlin", "common x1234 date"]
    found = degenerate_texts(corpus, 2, 3)
    assert sorted(found) == ["banana banana banana", "cherry cherry cherry"]
    with pytest.raises(TextgamutError, match="3 rare words are needed"):
        degenerate_texts(corpus, 3, 3)


def test_passages_of_a_language_without_spaces_are_cut_at_its_words() -> None:
    texts = ["我们喜欢北京。他们喜欢上海。", "你好"]
    assert cut_passages(texts, 3, "zh") == [(0, "我们喜欢北京"), (0, "他们喜欢上海")]
    assert Passages(np.zeros((1, 1)), texts[:1], "zh").words() == [
        ["我们", "喜欢", "北京", "他们", "喜欢", "上海"]
    ]
    # Each word is in one text; the seven words with two characters are all different.
    assert set(degenerate_texts(texts, 6, 2, language="zh")) == {
        word * 2 for word in ("我们", "喜欢", "北京", "他们", "上海", "你好")
    }


def test_chosen_passages_are_even_over_topics_if_there_are_too_many() -> None:
    topics = ["a", "b", None]
    passages = [(article, f"{article} {place}") for article in (0, 1, 2) for place in range(20)]
    passages += [(0, f"more {place}") for place in range(100)]
    found = choose_passages(passages, topics, 50, 0)
    assert [topics[article] for article, _ in found].count("b") == 20
    assert len(found) == 50
    assert found == sorted(found, key=passages.index)
    assert {article for article, _ in choose_passages(passages, topics, 1000, 0)} == {0, 1, 2}


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(main=("politics",), mode=("x",)), "no text has the topic 'x'; topics: health, "),
        (
            Design(main=("politics",), mode=("sport",), n=90),
            "90 passages of politics are needed on each side",
        ),
        (Design(main=("politics",), mode=("sport",), repeats=1), "two or more"),
    ],
)
def test_an_impossible_design_is_an_error(design: Design, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        run_checks(made_corpus(), design, [KNOWN])
