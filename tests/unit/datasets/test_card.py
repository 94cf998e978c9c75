"""Dataset cards: what they say is what the dataset is."""

from __future__ import annotations

import hashlib
import json

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from textgamut.datasets.card import make_card
from textgamut.datasets.digests import dataset_digest

ENTRY = {
    "format": "new-wiki",
    "licence": "CC BY-SA 4.0",
    "source": {"kind": "mediawiki", "api": "https://x/api.php"},
}
META = {"extracted": "2026-11-21", "source_sha256": None, "job": {"settings": {"revision": 2}}, "counts": {}}
FRAME = pd.DataFrame(
    {
        "id": [f"page-{i}" for i in range(30)],
        "text": ["word " * (i + 1) for i in range(30)],
        "title": [f"Title {i}" for i in range(30)],
        "entity_type": ["human"] * 15 + ["taxon"] * 9 + [None] * 6,
        "page": range(30),
        "revision": range(100, 130),
    }
)


def card(frame: pd.DataFrame = FRAME, **entry) -> dict:
    return make_card("wiki", ENTRY | entry, frame, META | {"counts": {"examined": 50, "drawn": len(frame)}})


def test_shares_of_the_groups_and_lengths() -> None:
    made = card()
    assert made["groups"] == {"entity_type": {"human": 15, "taxon": 9, "not known": 6}}
    assert (made["words"]["least"], made["words"]["most"], made["words"]["median"]) == (1, 30, 15.5)
    assert made["counts"] == {"examined": 50, "drawn": 30}
    assert made["licence"] == "CC BY-SA 4.0"


@given(st.lists(st.integers(0, 500), min_size=1, max_size=60))
def test_every_text_stands_in_one_bar_of_the_histogram(lengths: list[int]) -> None:
    frame = pd.DataFrame({"id": map(str, range(len(lengths))), "text": ["w " * n for n in lengths]})
    bars = card(frame)["words"]["histogram"]
    for low, high, count in bars:
        assert count == sum(low <= n <= high for n in lengths)
    assert sum(count for *_, count in bars) == len(lengths)


def test_the_rows_of_a_wiki_hold_everything_but_the_texts() -> None:
    rows = json.loads(json.dumps(card(), allow_nan=False))["rows"]
    facts = {"id": "page-29", "title": "Title 29", "entity_type": None, "page": 29, "revision": 129}
    assert rows[29] == facts | {"text_sha256": hashlib.sha256(b"word " * 30).hexdigest()}
    assert "rows" not in card(FRAME.drop(columns="revision"))


def test_the_checksum_sees_every_change() -> None:
    changed = FRAME.assign(text=[*FRAME["text"][:29], "other"])
    renamed = FRAME.assign(id=[*FRAME["id"][:29], "other"])
    prints = {dataset_digest(frame) for frame in (FRAME, changed, renamed, FRAME[::-1], FRAME[:29])}
    assert len(prints) == 5
