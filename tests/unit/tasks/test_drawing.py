"""Tasks: disjoint, seeded draws."""

from typing import get_args

import pandas as pd
import pytest

from textgamut.config.task_kinds import Task
from textgamut.datasets.creative import CREATIVE
from textgamut.errors import TextgamutError
from textgamut.tasks.drawing import (
    DATASET_COLUMNS,
    draw_biography_prompts,
    draw_biography_references,
    draw_continuation_prompts,
    draw_continuation_references,
    draw_creative,
    draw_creative_prompts,
    draw_dataset_prompts,
    draw_dataset_references,
    draw_examples,
    draw_held_out,
    draw_labels,
    draw_prompts,
    draw_references,
    human_generations,
)
from textgamut.tasks.seeds import of_seed
from textgamut.tasks.templates import Prompt, creative_prompt, prompts_of
from textgamut.text import count_words

TEXTS = pd.DataFrame(
    {
        "id": [f"t{i}" for i in range(200)],
        "text": [f"text {i} " + "word " * (20 + i % 7) for i in range(200)],
        "topic": [("politics", "sport", "health", None)[i % 4] for i in range(200)],
    }
)
SIZES = {"task": "news", "n": 30, "min_words": 11}
CONTINUATION = SIZES | {"kind": "continuation", "words_end": "at-white-space"}


def references(draw: int, texts: pd.DataFrame = TEXTS, **changes) -> pd.DataFrame:
    return draw_continuation_references(texts, **(SIZES | {"max_words": 15} | changes), draw=draw)


def labels(role: str, seed: int, wanted: list[str], **changes) -> pd.DataFrame:
    settings = SIZES | {"n": 20, "max_words": 15, "group": "topic", "labels": wanted} | changes
    return draw_labels(TEXTS, **settings, role=role, seed=seed)


def test_prompts_and_references_are_disjoint_for_every_draw() -> None:
    prompts = set(draw_continuation_prompts(TEXTS, **SIZES, prompt_words=10)["id"])
    assert len(prompts) == 30
    draws = [frozenset(references(draw)["id"]) for draw in range(20)]
    assert all(len(ids) == 30 and not ids & prompts for ids in draws)
    assert len(set(draws)) == 20


def test_row_order_does_not_matter() -> None:
    mixed = TEXTS.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(references(1), references(1, mixed))
    ordered, other = (draw_continuation_prompts(texts, **SIZES, prompt_words=10) for texts in (TEXTS, mixed))
    pd.testing.assert_frame_equal(ordered, other)


def test_tasks_draw_other_texts() -> None:
    assert set(references(1)["id"]) != set(references(1, task="other")["id"])


def test_texts_are_cut_and_short_ones_left_out() -> None:
    texts = pd.concat([TEXTS, pd.DataFrame({"id": ["short"], "text": ["too short"], "topic": [None]})])
    drawn = references(1, texts, n=100)
    assert "short" not in set(drawn["id"])
    assert (drawn["text"].map(count_words) == 15).all()


def test_each_seed_may_have_its_own_prompts() -> None:
    """They are no references of any draw, and another seed changes no other's."""
    news = CONTINUATION | {"max_words": 15, "prompt_words": 10}
    news |= {"references_from": "other-texts", "prompts": "per-seed"}
    drawn = draw_prompts(TEXTS, news | {"seeds": [3, 1, 2]})
    assert list(drawn) == [*PROMPT_COLUMNS, "seed"]
    ids = {seed: tuple(rows["id"]) for seed, rows in drawn.groupby("seed")}
    assert [len(set(own)) for own in ids.values()] == [30, 30, 30]
    assert len({frozenset(own) for own in ids.values()}) == 3
    one = draw_prompts(TEXTS, news | {"seeds": [2]})
    assert tuple(one["id"]) == ids[2]
    used = set(drawn["id"])
    for draw in range(5):
        found = draw_references(TEXTS, news, draw)
        assert len(found) == 30
        assert not used & set(found["id"])


def test_each_seed_may_have_its_own_examples_and_creative_prompts() -> None:
    lives = {"task": "b", "dataset": "people", "n": 20, "kind": "biographies", "examples": 2}
    lives |= {"draws": [1], "examples_drawn": "without-replacement"}
    for settings in (lives, {"kind": "creative", "task": "c", "n": 9}):
        drawn = draw_prompts(PEOPLE, settings | {"seeds": [1, 2]})
        first, second = (
            rows.drop(columns="seed").reset_index(drop=True) for _, rows in drawn.groupby("seed")
        )
        assert list(first["id"]) == list(second["id"])
        assert list(first["base"]) != list(second["base"])
        assert len(prompts_of(drawn)) == len(drawn)
        assert list(prompts_of(of_seed(drawn, 2)).values())[3] == Prompt(*second.iloc[3, 1:])


def test_prompts_and_references_may_be_of_the_same_texts() -> None:
    sizes = SIZES | {"n": 150}
    prompts = draw_continuation_prompts(TEXTS, **sizes, prompt_words=10, disjoint=False)
    drawn = references(1, n=150, disjoint=False)
    assert len(prompts) == len(drawn) == 150
    assert len(set(prompts["id"]) & set(drawn["id"])) >= 100


def test_prompts_are_the_first_words() -> None:
    prompts = draw_continuation_prompts(TEXTS, **SIZES, prompt_words=10)
    whole = TEXTS.set_index("id")["text"]
    for row in prompts.itertuples():
        words = whole[row.id].split()[:10]
        assert row.base == " ".join(words)
        assert row.user == "Continue the following text:\n\n" + " ".join(words[:9])
        assert row.start == f" {words[9]}"


def test_words_may_end_at_spaces_alone() -> None:
    """As in PR's runs: a line break joins two words, and stays in the prompt."""
    texts = TEXTS.assign(text=[f"Title {i}\n\nBy  them: " + "word " * 12 for i in range(200)])
    sizes = SIZES | {"min_words": 16}
    draw_continuation_prompts(texts, **sizes | {"min_words": 17}, prompt_words=4, words_end="at-spaces")
    with pytest.raises(TextgamutError, match="texts of 18 words or more"):
        draw_continuation_prompts(texts, **sizes | {"min_words": 18}, prompt_words=4, words_end="at-spaces")
    prompts = draw_continuation_prompts(texts, **sizes, prompt_words=4, words_end="at-spaces")
    number = prompts["id"].str[1:]
    assert (prompts["base"] == "Title " + number + "\n\nBy  them:").all()
    assert (prompts["user"] == "Continue the following text:\n\nTitle " + number + "\n\nBy ").all()
    assert (prompts["start"] == " them:").all()
    settings = CONTINUATION | {"words_end": "at-spaces", "max_words": 5, "draws": [1]}
    settings |= {"references_from": "all-texts", "prompts": "shared"}
    for drawn in (draw_references(texts, settings, 1), draw_held_out(texts, settings)):
        assert (drawn["text"] == "Title " + drawn["id"].str[1:] + "\n\nBy  them: word").all()


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
            lambda: draw_continuation_prompts(TEXTS, **(SIZES | {"n": 101}), prompt_words=10),
            "202 are requested.* only 200",
        ),
        (lambda: references(1, n=150), "150 are requested, but there are only 50"),
        (lambda: references(1, min_words=1000), "30 are requested, but there are only 0"),
        (lambda: labels("subset", 1, ["politics"], n=26), "26 are requested, but there are only 25"),
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


PEOPLE = pd.DataFrame(
    {
        "id": [f"page-{i}" for i in range(60)],
        "name": [f"Person {i} " + "van " * i for i in range(60)],
        "text": [f"Person {i} {'van ' * i}:\n\nBorn here. " + "word " * (10 * i) for i in range(60)],
    }
)


def examples(n: int = 5, **changes) -> pd.DataFrame:
    settings = {"people": PEOPLE, "key": "bios", "samples": 40, "seed": 1} | changes
    return draw_examples(n=n, **settings)


@pytest.mark.parametrize("n", range(1, 16))
def test_nobody_stands_twice_in_a_prompt(n: int) -> None:
    drawn = examples(n)
    assert len(drawn) == 40 * n
    assert drawn.groupby("sample")["id"].nunique().eq(n).all()
    assert drawn.groupby("sample")["position"].apply(list).map(lambda places: places == list(range(n))).all()


def test_fewer_examples_are_the_first_of_more() -> None:
    many = examples(15)
    few = many[many["position"] < 4].reset_index(drop=True)
    pd.testing.assert_frame_equal(few, examples(4))


def test_examples_depend_on_sample_and_seed_and_not_on_the_row_order() -> None:
    drawn = examples()
    pd.testing.assert_frame_equal(drawn, examples(people=PEOPLE[::-1]))
    sets = {tuple(group["id"]) for _, group in drawn.groupby("sample")}
    assert len(sets) == 40
    assert not (drawn["id"] == examples(seed=2)["id"]).all()
    more = examples(samples=80)
    pd.testing.assert_frame_equal(drawn, more[more["sample"] < 40])


def test_examples_are_no_references_and_are_cut() -> None:
    avoid = set(PEOPLE["id"][:50])
    drawn = examples(avoid=avoid)
    assert not set(drawn["id"]) & avoid
    assert drawn["summary"].str.startswith("Born here. word").all()
    assert drawn["summary"].map(lambda text: len(text.split())).max() == 350
    assert drawn["name"].map(lambda name: len(name.split())).max() == 10
    with pytest.raises(TextgamutError, match="people outside the references, as examples: 5 are requested"):
        examples(avoid=set(PEOPLE["id"][:57]))


def test_with_replacement_somebody_stands_twice_in_a_prompt_and_in_the_references() -> None:
    drawn = examples(15, replacement=True)
    assert len(drawn) == 40 * 15
    assert (drawn.groupby("sample")["id"].nunique() < 15).any()
    few = drawn[drawn["position"] < 4].reset_index(drop=True)
    pd.testing.assert_frame_equal(few, examples(4, replacement=True))
    prompts = biographies(n=58, examples=3, draws=(1,), replacement=True)  # all but two are references
    assert len(prompts) == 58


def test_creative_prompts_are_drawn_with_replacement() -> None:
    drawn = draw_creative("creative", 4000, 1)
    assert set(drawn) == set(range(len(CREATIVE)))
    assert drawn[:100] == draw_creative("creative", 100, 1)
    assert drawn[:100] != draw_creative("creative", 100, 2)
    counts = [drawn.count(i) for i in range(len(CREATIVE))]
    assert 40 < min(counts) < max(counts) < 130


PROMPT_COLUMNS = ["id", "base", "user", "start"]


def biographies(n: int = 20, examples: int = 3, draws: tuple[int, ...] = (1, 2), **changes) -> pd.DataFrame:
    settings = {"people": PEOPLE, "task": "bios", "dataset": "people"} | changes
    return draw_biography_prompts(n=n, examples=examples, draws=draws, **settings)


def shown(prompts: pd.DataFrame) -> list[list[str]]:
    """Return the names of the examples of each prompt."""
    return [
        [part.split(":")[0] for part in base.split("- Biography of ")[1:]]
        for base in prompts["base"].str.removesuffix("- Biography of")
    ]


def test_biography_prompts_show_other_persons_than_the_references() -> None:
    prompts = biographies()
    assert list(prompts) == PROMPT_COLUMNS
    assert prompts["id"].tolist() == [f"sample-{i:04}" for i in range(1, 21)]
    draws = [draw_biography_references(PEOPLE, "bios", "people", 20, 5, draw) for draw in (1, 2)]
    assert [len(drawn) for drawn in draws] == [20, 20]
    assert set(draws[0]["id"]) != set(draws[1]["id"])
    assert draws[0]["text"].map(count_words).max() == 5
    references = {
        " ".join(name.split()[:10]) for drawn in draws for name in PEOPLE.set_index("id")["name"][drawn["id"]]
    }
    assert not references & {name for names in shown(prompts) for name in names}
    assert all(len(set(names)) == 3 for names in shown(prompts))


def test_tasks_on_one_dataset_share_references_and_nest_their_examples() -> None:
    few, many = shown(biographies(task="bios-2", examples=2)), shown(biographies(task="bios-5", examples=5))
    assert few == [names[:2] for names in many]
    references = [
        draw_biography_references(PEOPLE, task, "people", 20, 99, 1) for task in ("bios-2", "bios-5")
    ]
    pd.testing.assert_frame_equal(*references)


def test_too_few_persons() -> None:
    with pytest.raises(TextgamutError, match="task 'bios': people as references: 61 are requested"):
        biographies(n=61)
    message = "task 'bios': 1 draws of 58 references use 58 of 60 people and leave 2, too few for 3 examples"
    with pytest.raises(TextgamutError, match=message):
        biographies(n=58, draws=(1,))


def test_creative_samples_have_ids_of_their_own() -> None:
    prompts = draw_creative_prompts("creative", 120)
    assert list(prompts) == PROMPT_COLUMNS
    assert prompts["id"].is_unique
    assert prompts["user"].nunique() <= len(CREATIVE) < 120
    assert set(prompts["user"]) <= {creative_prompt(prompt).user for prompt in CREATIVE}


GIVEN = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(30)],
        "prompt": [f"Title {i}\n\nA first sentence." for i in range(30)],
        "text": [f" and the rest of {i} " + "word " * 20 for i in range(30)],
        "entity_type": ["human"] * 30,
    }
)


@pytest.mark.parametrize("n", [None, 12])
def test_given_prompts_and_references_are_pairs(n: int | None) -> None:
    prompts = draw_dataset_prompts(GIVEN, "wiki", n)
    references = draw_dataset_references(GIVEN, "wiki", n, None)
    assert list(prompts) == PROMPT_COLUMNS
    assert len(prompts) == (n or 30)
    assert prompts["id"].tolist() == references["id"].tolist()
    assert (prompts["base"].str.split().str[1] == references["text"].str.split().str[4]).all()
    assert set(references["text"]) <= set(GIVEN["text"])
    assert set(references["entity_type"]) == {"human"}
    if n:
        mixed = draw_dataset_prompts(GIVEN.sample(frac=1, random_state=0), "wiki", n)
        pd.testing.assert_frame_equal(prompts, mixed)


def test_given_references_are_cut_and_keep_the_space_after_the_prompt() -> None:
    cut = draw_dataset_references(GIVEN, "wiki", None, 3)
    assert set(cut["text"]) == {" and the rest"}
    with pytest.raises(TextgamutError, match="task 'wiki': prompts of the dataset: 31 are requested"):
        draw_dataset_prompts(GIVEN, "wiki", 31)


def test_without_prompts_all_texts_can_be_references() -> None:
    settings = {"kind": "unprompted", "task": "t", "dataset": "d", "n": len(TEXTS), "min_words": 1}
    prompts = draw_prompts(TEXTS[[]], settings)
    assert prompts["id"].tolist() == [f"sample-{i:04}" for i in range(1, len(TEXTS) + 1)]
    assert set(prompts[["base", "user", "start"]].to_numpy().ravel()) == {""}
    whole = draw_references(TEXTS, settings | {"max_words": None}, 1)
    assert sorted(whole["text"]) == sorted(TEXTS["text"])
    cut = draw_references(TEXTS, settings | {"max_words": 3}, 1)
    assert cut["id"].tolist() == whole["id"].tolist()
    assert {len(text.split()) for text in cut["text"]} == {3}


def test_a_task_draws_by_its_kind() -> None:
    news = CONTINUATION | {"dataset": "d", "max_words": 15}
    news |= {"prompt_words": 10, "references_from": "other-texts", "prompts": "shared"}
    same = pd.testing.assert_frame_equal
    same(draw_prompts(TEXTS, news), draw_continuation_prompts(TEXTS, **SIZES, prompt_words=10))
    same(draw_references(TEXTS, news, 7), references(7))

    topics = ["politics", "sport"]
    subsets = news | {"kind": "subsets", "n": 20, "group": "topic", "references": topics}
    same(draw_references(TEXTS, subsets, 7), labels("references", 7, topics))

    sizes = {"task": "b", "dataset": "people", "n": 20}
    lives = sizes | {"kind": "biographies", "examples": 2, "draws": [1, 2], "max_words": 15}
    lives |= {"examples_drawn": "without-replacement"}
    same(draw_prompts(PEOPLE, lives), draw_biography_prompts(PEOPLE, **sizes, examples=2, draws=[1, 2]))
    same(draw_references(PEOPLE, lives, 2), draw_biography_references(PEOPLE, **sizes, max_words=15, draw=2))

    creative = {"kind": "creative", "task": "c", "n": 9, "max_words": 3}
    same(draw_prompts(TEXTS, creative), draw_creative_prompts("c", 9))
    same(draw_references(TEXTS, creative, 1), TEXTS[["id", "text"]])  # another cell's, as they are

    prompted = {"kind": "prompted", "task": "wiki", "n": 12, "max_words": 3}
    same(draw_prompts(GIVEN, prompted), draw_dataset_prompts(GIVEN, "wiki", 12))
    same(draw_references(GIVEN, prompted, 1), draw_dataset_references(GIVEN, "wiki", 12, 3))


def test_every_kind_of_task_draws() -> None:
    tasks = get_args(get_args(Task)[0])
    kinds = {get_args(task.model_fields["kind"].annotation)[0] for task in tasks}
    assert kinds == {*DATASET_COLUMNS, "subsets", "scores"}  # these two have no prompts


def test_texts_of_humans_are_answers_to_themselves() -> None:
    cell = human_generations(TEXTS.head(2), [3, 4])
    assert cell.to_dict("list") == {
        "id": ["t0", "t1"], "prompt_id": ["t0", "t1"], "text": TEXTS["text"][:2].tolist(),
        "tokens": [3, 4], "finish": ["human", "human"],
    }  # fmt: skip
    assert human_generations(TEXTS, 0)["tokens"].eq(0).all()


HELD_OUT = CONTINUATION | {
    "max_words": 15,
    "references_from": "other-texts",
    "draws": [1, 2],
}


def test_held_out_texts_are_neither_prompts_nor_references() -> None:
    settings = HELD_OUT | {"prompts": "shared"}
    drawn = draw_held_out(TEXTS, settings)
    assert len(drawn) == 30
    used = set(draw_continuation_prompts(TEXTS, **SIZES, prompt_words=10)["id"])
    used |= {id_ for draw in (1, 2) for id_ in references(draw)["id"]}
    assert not set(drawn["id"]) & used
    assert drawn["text"].map(count_words).max() == 15
    assert list(drawn) == list(human_generations(TEXTS, 0))
    mixed = TEXTS.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(draw_held_out(mixed, settings), drawn)
    assert set(drawn["id"]) <= set(draw_held_out(TEXTS, settings | {"n": 30, "draws": [1, 2]})["id"])


def test_without_spare_texts_none_are_held_out() -> None:
    drawn = draw_held_out(TEXTS.head(89), HELD_OUT | {"prompts": "shared", "draws": [1]})
    assert drawn.empty  # 30 prompts, 30 references, and 29 others
    assert list(drawn) == list(human_generations(TEXTS, 0))
    assert len(draw_held_out(TEXTS.head(90), HELD_OUT | {"prompts": "shared", "draws": [1]})) == 30


def test_held_out_texts_of_each_kind_of_task() -> None:
    per_seed = draw_held_out(TEXTS, HELD_OUT | {"prompts": "per-seed", "draws": [1]})
    assert len(per_seed) == 30
    alone = draw_held_out(TEXTS, SIZES | {"kind": "unprompted", "max_words": 15, "draws": [1]})
    assert len(alone) == 30
    given = TEXTS.assign(prompt="p", text=[f" {text}" for text in TEXTS["text"]])
    paired = {"kind": "prompted", "task": "t", "n": 30, "min_words": 1, "max_words": 3, "draws": [0]}
    drawn = draw_held_out(given, paired)
    assert not set(drawn["id"]) & set(draw_dataset_references(given, "t", 30, 3)["id"])
    assert all(text.startswith(" text ") for text in drawn["text"])
    assert draw_held_out(given, paired | {"n": None}).empty  # all of them are references
