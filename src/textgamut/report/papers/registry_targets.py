"""Tables of facts: what an experiment and its registries state, without any result."""

from __future__ import annotations

from typing import Any, NamedTuple

from textgamut.config.entries.decoding import kind_of, parse_decoding
from textgamut.config.target_shapes import Grid, ModelSizes
from textgamut.report.papers.result import Entry, PaperResult, PaperTable, in_printed_order
from textgamut.report.papers.target_settings import TargetSettings

REVISION = 1
"""Increase when the same facts produce a different table."""


class Strategy(NamedTuple):
    """A decoding strategy in MC Table 1."""

    label: str
    parameters: tuple[str, ...]
    """Fields of a decoding setting whose values are listed."""


STRATEGIES = {
    "beam": Strategy("Beam search", ("beams",)),
    "contrastive-search": Strategy("Contrastive search", ("k", "alpha")),
    "temperature": Strategy("Temperature sampling", ("temperature",)),
    "top-k": Strategy("Top-k sampling", ("top_k",)),
    "top-p": Strategy("Top-p (nucleus) sampling", ("top_p",)),
}
"""Kind of decoding -> how it is shown."""


def model_sizes(settings: TargetSettings[ModelSizes]) -> PaperResult:
    """Tabulate the number of parameters and the release date of each model (NW Table 2)."""
    printed = settings.published.get("rows", {})
    ours = {
        settings.models[slug].label: (_size(parameters), released)
        for slug, (parameters, released) in settings.facts.items()
    }
    rows = in_printed_order([*ours], [*printed])
    entries = [
        [
            Entry(own, paper=of)
            for own, of in zip(ours.get(row, (None, None)), printed.get(row, (None, None)), strict=True)
        ]
        for row in rows
    ]
    absent = [row for row in rows if row not in ours]
    table = PaperTable(rows, ["# Parameters", "Release date"], entries, "Model", absent=absent)
    return PaperResult(table, notes=("Ours: as the registry of models states them.",))


def _size(billions: float | None) -> str | None:
    if billions is None:
        return None
    return f"{billions:g}B" if billions >= 1 else f"{1000 * billions:g}M"


def grid(settings: TargetSettings[Grid]) -> PaperResult:
    """Tabulate the values of each decoding strategy, and the number of texts (MC Table 1)."""
    texts = dict.fromkeys(settings.decodings, 0)
    for task, _, decoding, _ in settings.cells:
        texts[decoding] += settings.facts[task]
    values: dict[str, dict[str, dict[Any, None]]] = {}
    counts: dict[str, int] = {}
    for slug, entry in settings.decodings.items():
        decoding = parse_decoding(entry)
        row, parameters = STRATEGIES.get(kind_of(decoding), Strategy(kind_of(decoding), ()))
        counts[row] = counts.get(row, 0) + texts[slug]
        found = values.setdefault(row, {})
        for name in parameters:
            found.setdefault(name, {})[getattr(decoding, name)] = None
    counts["Grand Total"] = sum(counts.values())
    shown = {row: "; ".join(_set([*of]) for of in found.values()) for row, found in values.items()}
    printed = settings.published.get("rows", {})
    rows = in_printed_order([*counts], [*printed])
    entries = []
    for row in rows:
        paper = printed.get(row, (None, None))
        entries.append([Entry(shown.get(row), paper=paper[0]), Entry(counts.get(row), paper=paper[1])])
    note = (
        f"{len(settings.models)} models, {len(settings.decodings)} settings, "
        f"{sum(settings.facts.values()):,} prompts of {len(settings.facts)} datasets."
    )
    return PaperResult(PaperTable(rows, ["Values", "# Data points"], entries, "Strategy"), notes=(note,))


def _set(values: list[Any]) -> str:
    return f"{{{', '.join(map(str, sorted(values)))}}}"
