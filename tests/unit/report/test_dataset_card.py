"""Cards as Markdown: what they say is what the dataset is, and no value is read as Markdown or HTML."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from textgamut.datasets.card import make_card
from textgamut.report.dataset_card import render_card

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


def test_shares_of_the_groups_and_counts_of_the_filters() -> None:
    text = render_card(card())
    for line in (
        "| human | 15 | 50.0% |",
        "| taxon | 9 | 30.0% |",
        "| examined | 50 |",
        "Licence: CC BY-SA 4.0.",
    ):
        assert line in text


@pytest.mark.parametrize(
    "evil", ["a | b", "<script>alert(1)</script>", "[x](http://y)", "line\n# heading", "`"]
)
def test_what_others_wrote_stays_in_its_cell(evil: str) -> None:
    plain = render_card(card())
    text = render_card(card(FRAME.assign(entity_type=evil), licence=evil))
    for mark in ("<script>", "[x](", "\n# heading"):
        assert mark not in text
    row = next(line for line in text.splitlines() if line.endswith("| 30 | 100.0% |"))
    assert row.replace("\\|", "").count("|") == 4
    assert plain.count("```") == text.count("```")


def test_a_card_of_every_dataset_that_there_is(demo) -> None:
    for slug, entry in demo.datasets.items():
        text = render_card(make_card(slug, entry.model_dump(mode="json"), FRAME[["id", "text"]], META))
        assert text.startswith(f"# {slug}\n")
        assert f"| format | {entry.format.replace('_', chr(92) + '_')} |" in text


def test_same_bytes_as_the_file() -> None:
    """To change the card: raise the REVISION of cards, and write the file anew."""
    source = {"kind": "wheel", "parts": [{"package": "gensim"}], "sha256": "ab12"}
    made = {
        "dataset": "wiki-sample",
        "extracted": "2026-11-21",
        "texts": 1234,
        "licence": "CC BY-SA 4.0",
        "entry": {
            "format": "new-wiki",
            "source": source,
            "created_from": None,
            "groups": ["title", "entity_type"],
            "licence": "CC BY-SA 4.0",
        },
        "source_sha256": "cd34",
        "counts": {"pages": 2060, "501 words or more": 1234},
        "words": {
            "least": 2,
            "median": 40.5,
            "mean": 1041.25,
            "most": 12000,
            "histogram": [[2, 999, 1100], [1000, 10999, 1], [11000, 12000, 133]],
        },
        "groups": {"entity_type": {"human": 1200, "a | *b* <i>": 34}},
        "sha256": "ef56",
        "rows": [],
    }
    assert render_card(made).encode() == (Path(__file__).with_name("golden") / "card.md").read_bytes()
    assert "what came" not in render_card(made | {"source_sha256": "ab12"})
    assert "mediawiki" not in render_card({name: made[name] for name in made if name != "rows"})
