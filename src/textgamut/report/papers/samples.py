"""Tables of generated texts (PR Tables D.1 and D.2, NW Tables 5 to 8)."""

from __future__ import annotations

import pandas as pd

from textgamut.config.target_shapes import Samples
from textgamut.language import words_end_of
from textgamut.report.papers.result import Entry, PaperResult, PaperTable
from textgamut.report.papers.target_settings import TargetSettings
from textgamut.report.papers.text_targets import methods_of, unique_label
from textgamut.text import WordsEnd, cut_words

REVISION = 1
"""Increase when the same texts produce a different table."""

MOST_WORDS = 200
"""Number of words after which a shown text is cut."""


def samples(
    settings: TargetSettings[Samples], generations: pd.DataFrame, prompts: pd.DataFrame
) -> PaperResult:
    """Show the texts of each method after the first prompts for which all methods have one.

    Prompts of biographies are not shown: they contain other texts.

    Args:
        settings: Settings of the target.
        generations: ``task``, ``model``, ``decoding``, ``seed``, ``prompt_id``, ``text``. Only the first seed
            is shown.
        prompts: ``task``, ``id``, ``base``, in the order in which they are shown.
    """
    target, methods = settings.target, methods_of(settings)
    texts = {
        key: of[of["seed"] == of["seed"].min()].groupby("prompt_id", sort=False)["text"].agg(list).to_dict()
        for key, of in generations.groupby(["task", "model", "decoding"], sort=False)
    }
    rows = []
    for task, entry in settings.tasks.items():
        own = [of for of in methods if of.task == task]
        written = [texts[of.key] for of in own if of.key in texts]
        ids = [id_ for id_ in prompts.loc[prompts["task"] == task, "id"] if all(id_ in of for of in written)]
        base = prompts[prompts["task"] == task].set_index("id")["base"]
        for id_ in ids[: target.prompts]:
            if entry["kind"] != "biographies":
                rows.append(("Prompt", base[id_]))
            for of in own:
                found = texts.get(of.key, {}).get(id_, [None])
                rows += [(unique_label(of, methods), text) for text in found[: target.completions]]
    end = words_end_of(generations)
    table = PaperTable(
        [label for label, _ in rows],
        ["Text"],
        [[Entry(_shown(text, end))] for _, text in rows],
    )
    return PaperResult(table, notes=(f"Texts of more than {MOST_WORDS} words are cut there (…).",))


def _shown(text: str | None, words_end: WordsEnd) -> str | None:
    if text is None:
        return None
    text = text.strip()
    begin = cut_words(text, MOST_WORDS, words_end)
    return f"{begin} …" if begin != text else begin or "(empty)"
