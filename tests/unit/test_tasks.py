"""Tasks: disjoint, seeded draws."""

import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.tasks import draw_labels, draw_prompts, draw_references

TEXTS = pd.DataFrame(
    {
        "id": [f"t{i}" for i in range(200)],
        "text": [f"text {i} " + "word " * (20 + i % 7) for i in range(200)],
        "topic": [("politics", "sport", "health", None)[i % 4] for i in range(200)],
    }
)
SIZES = {"task": "news", "n": 30, "min_words": 11}


def references(draw: int, texts: pd.DataFrame = TEXTS, **changes) -> pd.DataFrame:
    return draw_references(texts, **(SIZES | {"max_words": 15} | changes), draw=draw)


def labels(role: str, seed: int, wanted: list[str], **changes) -> pd.DataFrame:
    settings = SIZES | {"n": 20, "max_words": 15, "group": "topic", "labels": wanted} | changes
    return draw_labels(TEXTS, **settings, role=role, seed=seed)


def test_prompts_and_references_are_disjoint_for_every_draw() -> None:
    prompts = set(draw_prompts(TEXTS, **SIZES, prompt_words=10)["id"])
    assert len(prompts) == 30
    draws = [frozenset(references(draw)["id"]) for draw in range(20)]
    assert all(len(ids) == 30 and not ids & prompts for ids in draws)
    assert len(set(draws)) == 20


def test_row_order_does_not_matter() -> None:
    mixed = TEXTS.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(references(1), references(1, mixed))
    pd.testing.assert_frame_equal(
        draw_prompts(TEXTS, **SIZES, prompt_words=10), draw_prompts(mixed, **SIZES, prompt_words=10)
    )


def test_tasks_draw_other_texts() -> None:
    assert set(references(1)["id"]) != set(references(1, task="other")["id"])


def test_texts_are_cut_and_short_ones_left_out() -> None:
    texts = pd.concat([TEXTS, pd.DataFrame({"id": ["short"], "text": ["too short"], "topic": [None]})])
    drawn = references(1, texts, n=100)
    assert "short" not in set(drawn["id"])
    assert (drawn["text"].str.split().str.len() == 15).all()


def test_prompts_are_the_first_words() -> None:
    prompts = draw_prompts(TEXTS, **SIZES, prompt_words=10)
    whole = TEXTS.set_index("id")["text"]
    for row in prompts.itertuples():
        words = whole[row.id].split()[:10]
        assert row.base == " ".join(words)
        assert row.user == "Continue the following text: " + " ".join(words[:9])
        assert row.start == words[9]


def test_labels_stand_in_equal_parts() -> None:
    drawn = labels("subset", 1, ["politics", "sport", "health"])
    assert drawn["topic"].value_counts().to_dict() == {"politics": 7, "sport": 7, "health": 6}


def test_references_and_subsets_are_disjoint_for_every_seed() -> None:
    used = [set().union(*(labels(role, seed, ["politics", "sport"])["id"] for seed in range(20)))
            for role in ("references", "subset")]  # fmt: skip
    assert not used[0] & used[1]
    assert len(used[0]) == len(used[1]) == 50  # 20 seeds have seen each half, 25 texts a label


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: draw_prompts(TEXTS, **(SIZES | {"n": 101}), prompt_words=10),
            "202 are asked for.* only 200",
        ),
        (lambda: references(1, n=150), "150 are asked for, but there are only 50"),
        (lambda: references(1, min_words=1000), "30 are asked for, but there are only 0"),
        (lambda: labels("subset", 1, ["politics"], n=26), "26 are asked for, but there are only 25"),
        (
            lambda: labels("subset", 1, ["politcs"]),
            "no text has the topic 'politcs'; nearest valid: 'politics'",
        ),
        (lambda: labels("subset", 1, ["x"], group="topics"), "no column 'topics'; nearest valid: 'topic'"),
    ],
)
def test_too_few_or_unknown(draw, message: str) -> None:
    with pytest.raises(TextgamutError, match=f"task 'news'.*{message}"):
        draw()
