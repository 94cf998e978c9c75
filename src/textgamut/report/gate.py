"""The result of a gate: sentences, a summary in Markdown, XML of JUnit, and a page."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any

from textgamut import __version__
from textgamut.catalogue.gate import GATE_METRICS, GUARDS, Failure, Outcome
from textgamut.errors import printable
from textgamut.inference.gates import FAIL, PASS, Check, NamedFailure, ShownText
from textgamut.metrics.rows import ALL
from textgamut.report.experiment_page import Column, Entry, Figure, Page, Section, Table
from textgamut.report.figures.gate import gate_figure, trend_figure
from textgamut.report.figures.style import render
from textgamut.report.html import value_text
from textgamut.report.names import shortened
from textgamut.text import counted

HEADLINES: Mapping[str, str] = {
    "pass": "Pass: no guarded metric is worse by its margin.",
    "fail": "Fail: the candidate is worse.",
    "cannot tell": "Cannot tell: there are too few texts to decide.",
}
REASONS = {of.metric: of.reason for of in GUARDS}
MARKUP = frozenset("&<>\\`*_[]|~@#!$")
"""Characters with a meaning in Markdown, of which GitHub also makes mentions, links and formulas."""
MOST_CHARACTERS = 300
"""Maximum number of characters of a text in a summary."""
IN_SUMMARY = 3
"""Number of texts of a failure in a summary."""


def headline(outcome: Outcome, checks: Sequence[Check]) -> str:
    """Say what the outcome is and, if one cannot tell, how many texts would tell."""
    if outcome in (PASS, FAIL):
        return HEADLINES[outcome]
    needed = [check.needed for check in checks if check.outcome == "cannot tell"]
    known = [of for of in needed if of is not None]
    more = (
        f" About {max(known):,} texts of each side would tell." if known and len(known) == len(needed) else ""
    )
    return HEADLINES[outcome] + more


def failure_sentence(failure: Failure, shown: Sequence[Check], fails: bool) -> str:
    """Say what has happened, with the values of the tests that show it."""
    values = "; ".join(change(check) for check in shown)
    kind = "" if fails else " (noticed; does not fail the gate)"
    return f"{failure.name.capitalize()}{kind}: {failure.says}: {values}."


def change(check: Check) -> str:
    """Say how a metric has changed: "recall 0.93 -> 0.71 (margin 0.1)"."""
    label = GATE_METRICS[check.metric].label
    if math.isnan(check.baseline):
        return f"{label} {value_text(check.drop)} ({p_said(check.p_holm)})"
    values = f"{label} {value_text(check.baseline)} → {value_text(check.candidate)}"
    if check.margin is None:
        return f"{values} ({p_said(check.p_holm)})"
    within = ", within the margin" if check.outcome == PASS else ""
    return f"{values} (margin {check.margin:g}{within})"


def p_text(p: float) -> str:
    """Return a p-value as it is shown."""
    return "—" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_said(p: float) -> str:
    """Return a p-value in a sentence: "p = 0.012"."""
    return f"p {p_text(p)}" if p < 0.001 else f"p = {p_text(p)}"


def plain(value: Any) -> Any:
    """Return a value as plain data for JSON: None for NaN and infinity, lists for tuples and sets."""
    if isinstance(value, Mapping):
        return {str(name): plain(of) for name, of in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(of) for of in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def markdown(
    outcome: Outcome, checks: Sequence[Check], failures: Sequence[NamedFailure], said: Sequence[str]
) -> str:
    """Return a summary in Markdown.

    Args:
        outcome: The outcome of the gate.
        checks: All tests.
        failures: What failed or has changed, by name.
        said: How the gate was made.
    """
    icon = {"pass": "✅", "fail": "❌"}.get(outcome, "❔")
    lines = [f"## {icon} {_literal(headline(outcome, checks))}", ""]
    for of in failures:
        where = "" if of.group == ALL else f"{of.group}: "
        lines.append(f"- **{_literal(where + of.says)}**" if of.fails else f"- {_literal(where + of.says)}")
        lines += [f"  > {_literal(excerpt(text.text))}" for text in of.texts[:IN_SUMMARY] if of.fails]
    lines += ["", "| metric | baseline | candidate | drop | at most | margin | p | |", "| --- " * 8 + "|"]
    for check in checks:
        cells = (check_name(check), *check_numbers(check), outcome_text(check))
        lines.append(f"| {' | '.join(map(_literal, cells))} |")
    lines += ["", *(_literal(sentence) for sentence in said)]
    return "\n".join(lines) + "\n"


def junit(outcome: Outcome, checks: Sequence[Check], failures: Sequence[NamedFailure]) -> bytes:
    """Return XML of JUnit: a test case for each metric and group that can fail, and one for each failure.

    One that cannot tell is skipped, with its reason.
    """
    counting = [check for check in checks if check.outcome is not None]
    skipped = sum(check.outcome == "cannot tell" for check in counting)
    named = [of for of in failures if of.fails]
    suite = ET.Element(
        "testsuite",
        name=f"textgamut gate {__version__}",
        tests=str(len(counting) + len(named)),
        failures=str(sum(check.outcome == FAIL for check in counting) + len(named)),
        errors="0",
        skipped=str(skipped),
    )
    for of in named:
        case = ET.SubElement(suite, "testcase", classname=_xml(of.group), name=of.name)
        failure = ET.SubElement(case, "failure", message=_xml(of.says), type=of.name)
        failure.text = _xml("\n".join(map(_line, of.texts)))
    for check in counting:
        case = ET.SubElement(suite, "testcase", classname=_xml(check.group), name=check.metric)
        if check.outcome == FAIL:
            ET.SubElement(case, "failure", message=_xml(change(check)), type=check.metric)
        elif check.outcome == "cannot tell":
            needed = f"; {check.needed:,} texts would tell" if check.needed else ""
            ET.SubElement(case, "skipped", message=_xml(f"cannot tell: {change(check)}{needed}"))
    content: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def gate_page(
    title: str,
    outcome: Outcome,
    checks: Sequence[Check],
    failures: Sequence[NamedFailure],
    said: Sequence[str],
    looks: Sequence[Mapping[str, Any]] = (),
) -> Page:
    """Return the page of a gate.

    Args:
        title: Title of the page.
        outcome: The outcome.
        checks: All tests.
        failures: What failed or has changed, by name.
        said: How the gate was made.
        looks: The looks of a history, the last of which is this gate.
    """
    sentences = [headline(outcome, checks), *(in_group(of) for of in failures), *said]
    guarded = [check for check in checks if check.outcome is not None]
    watched = [check for check in checks if check.outcome is None]
    tables = [checks_table("Guarded metrics", guarded, GUARDED_NOTE)]
    if watched:
        tables.append(checks_table("Watched metrics, which cannot fail the gate", watched, WATCHED_NOTE))
    figures = [Figure("Drops over their margins", render(gate_figure(guarded), "svg"))]
    sections = [Section("outcome", "Outcome", sentences, tables, figures, overview=False)]
    shown = [texts_table(of) for of in failures if of.texts]
    if shown:
        sections.append(Section("texts", "Texts that show it", (), shown, overview=False))
    if len(looks) > 1:
        sections.append(trend_section(looks))
    return Page(title, sections, metrics=list(dict.fromkeys(check.metric for check in checks)))


GUARDED_NOTE = (
    "Drop: how much worse the candidate is, in a space that both share. At most: the upper end of its "
    "one-sided interval, which must be below the margin to pass. p: of no drop, corrected by Holm for all "
    "that can fail the gate."
)
WATCHED_NOTE = (
    "p: of no difference or, of metrics with a worse end, of no drop, corrected by Holm for all watched "
    "metrics."
)


def checks_table(caption: str, checks: Sequence[Check], note: str) -> Table:
    """Return the table of some tests."""
    names = ("metric", "baseline", "candidate", "drop", "at most", "margin", "p", "outcome")
    columns = [Column(name, numeric=place not in (0, 7)) for place, name in enumerate(names)]
    rows = []
    for check in checks:
        numbers = (check.baseline, check.candidate, check.drop, check.most, check.margin, check.p_holm)
        outcome = outcome_text(check)
        more = f"{check.needed:,} texts would tell" if check.needed else ""
        cells = [
            Entry(text, None if of is None or math.isnan(of) else of)
            for text, of in zip(check_numbers(check), numbers, strict=True)
        ]
        name = check_name(check)
        rows.append([Entry(name, name, REASONS.get(check.metric, "")), *cells, Entry(outcome, outcome, more)])
    return Table(caption, columns, rows, note)


def texts_table(failure: NamedFailure) -> Table:
    """Return the table of the texts that show a failure."""
    columns = [Column(name, numeric=False) for name in ("text", "why", "it says")]
    rows = [
        [
            Entry(f"{of.side} {of.row}", of.row),
            Entry(f"{of.why}{':' if of.near else ''}", of.why, prose=of.near),
            Entry("", of.text, prose=of.text),
        ]
        for of in failure.texts
    ]
    note = f"The {counted(len(rows), 'text')} that show it best, in this order."
    return Table(failure.name.capitalize(), columns, rows, note)


def in_group(failure: NamedFailure) -> str:
    """Return what has happened, with the name of the group if it is in one."""
    return failure.says if failure.group == ALL else f"{failure.group}: {failure.says}"


def check_name(check: Check) -> str:
    """Return the metric of a test, with its group if it is of one."""
    label = GATE_METRICS[check.metric].heading
    return label if check.group == ALL else f"{label}, {check.group}"


def check_numbers(check: Check) -> list[str]:
    """Return the numbers of a test as text: baseline, candidate, drop, at most, margin and p."""
    margin = "—" if check.margin is None else f"{check.margin:g}"
    values = (value_text(of) for of in (check.baseline, check.candidate, check.drop, check.most))
    return [*values, margin, p_text(check.p_holm)]


def outcome_text(check: Check) -> str:
    """Return the outcome of a test or, of a watched metric, whether it differs."""
    return check.outcome or ("differs" if check.found else "same")


def excerpt(text: str) -> str:
    """Return a text on one line, without its middle if it is long."""
    return shortened([" ".join(text.split())], MOST_CHARACTERS)[0]


def _line(shown: ShownText) -> str:
    """Return a text with why it is shown: "candidate 7: near training text 3 (its text): the text"."""
    near = f" ({excerpt(shown.near)})" if shown.near else ""
    return f"{shown.side} {shown.row}: {shown.why}{near}: {excerpt(shown.text)}"


def _literal(text: str) -> str:
    """Return text for Markdown, of which nothing is markup: generated texts are not trusted."""
    return "".join(f"&#{ord(of)};" if of in MARKUP else of for of in printable(text))


def _xml(text: str) -> str:
    """Return text without the characters that XML does not allow."""
    return "".join(of if of in "\t\n" or of.isprintable() else " " for of in text)


def trend_section(looks: Sequence[Mapping[str, Any]]) -> Section:
    """Return the section on earlier gates.

    Args:
        looks: The looks of a history, see ``scoring.gate_history``, at least two.
    """
    planned = looks[-1]["looks"]
    columns = [Column("look", numeric=True), *(Column(of, False) for of in ("time", "outcome", "failures"))]
    rows = []
    for number, look in enumerate(looks, start=1):
        named = ", ".join(look["failures"]) or "—"
        rows.append(
            [Entry(str(number), number), *(Entry(of, of) for of in (look["time"], look["outcome"], named))]
        )
    sentence = f"This is look {len(looks)} of {planned}, over which alpha = {looks[-1]['alpha']:g} is spent."
    figure = Figure("Drops over their margins, look by look", render(trend_figure(looks), "svg"))
    return Section("trend", "Trend", [sentence], [Table("Looks", columns, rows)], [figure], overview=False)
