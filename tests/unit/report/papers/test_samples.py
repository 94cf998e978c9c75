"""Tables of generated texts: which texts, their order, what is cut and escaped."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from helpers import make_target

from textgamut.report.papers.result import PaperResult
from textgamut.report.papers.samples import MOST_WORDS
from textgamut.report.papers.target_page import target_page

MODELS = {
    "a": {"label": "Model A", "family": "A", "chat": False},
    "b": {"label": "Model B", "family": "B", "chat": False},
}


def make(generations: list[tuple[Any, ...]], kind: str = "prompted", **target: Any) -> PaperResult:
    """Make a table of (model, seed, prompt, text), for the prompts p to t."""
    settings = {
        "name": "table_5",
        "published": {},
        "labels": {},
        "target": {"shape": "samples", "title": "A title", "prompts": 1, "completions": 1} | target,
        "cells": [["new", model, "greedy", 1] for model in MODELS],
        "models": MODELS,
        "decodings": {"greedy": {"strategy": "greedy"}},
        "tasks": {"new": {"kind": kind, "seeds": [1, 2]}},
    }
    rows = [("new", model, "greedy", *rest) for model, *rest in generations]
    texts = pd.DataFrame(rows, columns=["task", "model", "decoding", "seed", "prompt_id", "text"])
    prompts = pd.DataFrame({"task": "new", "id": list("pqrst"), "base": [f"About {id_}" for id_ in "pqrst"]})
    return make_target(settings, {"generations": texts, "prompts": prompts})


def shown(result: PaperResult) -> list[tuple[str, Any]]:
    return [
        (label, entry.ours) for label, [entry] in zip(result.table.rows, result.table.entries, strict=True)
    ]


EACH = [(model, seed, id_, f"{model}{seed}{id_}") for model in "ab" for seed in (2, 1) for id_ in "qpr"]


def test_all_models_have_the_first_prompts_of_the_task_and_the_first_seed() -> None:
    assert shown(make(EACH)) == [("Prompt", "About p"), ("Model A", "a1p"), ("Model B", "b1p")]
    assert [text for label, text in shown(make(EACH, prompts=2)) if label == "Prompt"] == [
        "About p",
        "About q",
    ]


def test_a_prompt_that_a_model_lacks_is_passed_over() -> None:
    fewer = [row for row in EACH if row[0] == "a" or row[2] == "r"]
    assert shown(make(fewer)) == [("Prompt", "About r"), ("Model A", "a1r"), ("Model B", "b1r")]


def test_a_model_without_texts_has_an_empty_row() -> None:
    only = [row for row in EACH if row[0] == "a"]
    assert shown(make(only)) == [("Prompt", "About p"), ("Model A", "a1p"), ("Model B", None)]


def test_without_texts_there_are_still_the_prompts() -> None:
    assert shown(make([])) == [("Prompt", "About p"), ("Model A", None), ("Model B", None)]


def test_completions_of_a_prompt_follow_each_other() -> None:
    several = [("a", 1, "p", text) for text in ("x", "y", "z")] + [("b", 1, "p", "w")]
    assert shown(make(several, completions=2))[1:] == [("Model A", "x"), ("Model A", "y"), ("Model B", "w")]


def test_prompts_of_biographies_are_not_shown() -> None:
    assert shown(make(EACH, kind="biographies")) == [("Model A", "a1p"), ("Model B", "b1p")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a\n\nb ", "a\n\nb"),
        (" ", "(empty)"),
        ("w " * MOST_WORDS, ("w " * MOST_WORDS).strip()),
        ("w " * (MOST_WORDS + 1), "w " * MOST_WORDS + "…"),
    ],
)
def test_long_texts_are_cut(text: str, expected: str) -> None:
    assert shown(make([("a", 1, "p", text)]))[1] == ("Model A", expected)


def test_the_page_escapes_texts_and_keeps_their_lines() -> None:
    result = make([("a", 1, "p", "<script>alert(1)</script>\nline 2 & more")])
    page = target_page("table_5", "A title", result, None)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\nline 2 &amp; more" in page
    assert "white-space: pre-wrap" in page
