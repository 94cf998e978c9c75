"""The tables of the sanity checks in several languages, from the measured results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pandas as pd
from markdown_text import table

from textgamut.catalogue import METRICS
from textgamut.language import LANGUAGES, script_of
from textgamut.metrics.sanity.sanity_checks import CHECKS
from textgamut.workflow.checked_corpora import CHECKED

REFERENCE = Path(__file__).parents[1] / "reference"

PREFIX = "corpus-"
"""Beginning of the slug of a corpus; the rest is its language."""

SHOWN = (
    *("precision", "f_1_8", "recall", "f_8"),
    *("mauve", "frontier_integral", "mmd_gaussian", "frechet"),
    *("vendi_ratio", "self_bleu"),
)
"""The metrics in these tables."""

IN_ENGLISH = {
    "民法商法": "civil and commercial law",
    "经济法": "economic law",
    "诉讼与非诉讼程序法": "law of procedure",
    "Технічна": "technology",
    "Гуманітарна": "humanities",
    "ghazal": "ghazals",
    "divination": "divinations in prose",
    "chair": "chair of the session",
    "iliad": "Iliad",
    "odyssey": "Odyssey",
}
"""Topic -> what it is called in the table, where that differs."""

KNOWN_ANSWERS = {
    "a topic is invented": ("invented", ("precision", "f_1_8", "mauve")),
    "a topic is lost": ("dropped", ("recall", "f_8", "mauve")),
}
"""Situation -> its check, and the metrics that should fall."""


def tables() -> dict[str, str]:
    """Return all tables: name without suffix -> Markdown."""
    return {
        "sanity-languages-corpora": corpora(),
        "sanity-languages-topics": topics(),
        "sanity-languages-metrics": metrics(),
        "sanity-languages-checks": checks(),
    }


def corpora() -> str:
    """Return a table of the corpora."""
    rows = (
        (
            _name(language),
            script_of(language),
            f"`{slug}`",
            _listed(checked.main),
            _listed(checked.mode),
            str(checked.words),
        )
        for language, slug in _slugs()
        for checked in (CHECKED[slug],)
    )
    header = ("language", "script", "dataset", "the perfect model", "lost or invented", "words of a passage")
    return table(header, rows) + "\n"


def topics() -> str:
    """Return a table of what happens if a topic is invented or lost."""
    header = ["language"]
    columns = []
    for situation, (check, names) in KNOWN_ANSWERS.items():
        for name in names:
            header.append(f"{METRICS[name].label}, {situation}")
            columns.append((check, name))
    rows = (
        (_name(language), *(_cell(cells.get((name, check), "-")) for check, name in columns))
        for language, cells in _results().items()
    )
    return table(header, rows) + "\n"


def metrics() -> str:
    """Return a table with the number of checks that each metric passes in each language."""
    found = _results()
    rows = (
        (METRICS[name].label, METRICS[name].role or "", *(_passed(cells, name) for cells in found.values()))
        for name in SHOWN
    )
    return table(("metric", "measures", *(f"{LANGUAGES[language]}" for language in found)), rows) + "\n"


def checks() -> str:
    """Return a table with the number of languages in which each metric passes each check."""
    rows = ((check.label, *(_in_languages(check.name, name) for name in SHOWN)) for check in CHECKS)
    return table(("check", *(METRICS[name].label for name in SHOWN)), rows) + "\n"


def _slugs() -> Iterator[tuple[str, str]]:
    """Yield language and dataset of the corpora whose results exist, by script and name."""
    languages = (slug.removeprefix(PREFIX) for slug in CHECKED if slug.startswith(PREFIX))
    for language in sorted(languages, key=lambda code: (script_of(code), LANGUAGES[code])):
        if _results_of(f"{PREFIX}{language}").exists():
            yield language, f"{PREFIX}{language}"


def _results_of(slug: str) -> Path:
    """Return the copy of the table of the rule check_metrics."""
    return REFERENCE / f"sanity-{slug}.csv"


@cache
def _results() -> Mapping[str, Mapping[tuple[str, str], str]]:
    """Return the results of each language: (metric, check) -> cell."""
    found = {}
    for language, slug in _slugs():
        frame = pd.read_csv(_results_of(slug), dtype=str, keep_default_na=False)
        wide = frame.set_index("metric").drop(columns="role")
        found[language] = {
            (str(row), str(column)): wide.loc[row, column] for row in wide.index for column in wide
        }
    return found


def _listed(topics: tuple[str, ...]) -> str:
    return ", ".join(IN_ENGLISH.get(topic, topic) for topic in topics)


def _name(language: str) -> str:
    return f"{LANGUAGES[language]} (`{language}`)"


def _cell(cell: str) -> str:
    """Return "pass (-0.25)" as "-0.25", "fail (-0.02)" as "**✗ -0.02**"."""
    word, _, change = cell.partition(" ")
    change = change.strip("()")
    return f"**✗&nbsp;{change}**" if word == "fail" else change or "—"


def _passed(cells: Mapping[tuple[str, str], str], metric: str) -> str:
    """Return "10 of 13": checks passed, of those that were judged."""
    words = Counter(cells[metric, check.name].partition(" ")[0] for check in CHECKS)
    return f"{words['pass']} of {words['pass'] + words['fail']}"


def _in_languages(check: str, metric: str) -> str:
    """Return in how many languages a metric passes a check, "all" or "5 of 9"; of those that were judged."""
    words = Counter(cells[metric, check].partition(" ")[0] for cells in _results().values())
    judged = words["pass"] + words["fail"]
    if not judged:
        return "—"
    return "all" if words["pass"] == judged == len(_results()) else f"{words['pass']} of {judged}"
