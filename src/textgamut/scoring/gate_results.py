"""The result of a gate: its outcome, all tests, and failures by name with the texts that show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.catalogue.gate import Outcome
from textgamut.inference.gates import FAIL, Check, NamedFailure, failures_of, outcome_of
from textgamut.metrics.rows import ALL
from textgamut.text import counted

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.report.experiment_page import Page
    from textgamut.scoring.gate_sides import ComparedSides, GateSettings

MOST_TEXTS = 20
"""Number of texts that show a failure."""


@dataclass(frozen=True)
class GateResult:
    """The outcome of a gate."""

    checks: tuple[Check, ...]
    """The tests of all metrics, of all texts and of each group."""
    settings: GateSettings
    """What was guarded."""
    tested: ComparedSides
    """The texts with their scores."""
    warnings: Sequence[str] = field(default=())
    """The warnings raised on the way, each once."""

    @property
    def outcome(self) -> Outcome:
        """``pass``, ``fail`` or ``cannot tell``."""
        return outcome_of(self.checks)

    @property
    def headline(self) -> str:
        """The outcome in a sentence, with the number of texts that would tell if it cannot."""
        from textgamut.report.gate import headline

        return headline(self.outcome, self.checks)

    @cached_property
    def failures(self) -> tuple[NamedFailure, ...]:
        """What failed, and what else has changed, by name."""
        from textgamut.report.gate import failure_sentence
        from textgamut.scoring.gate_texts import shown_texts

        found = []
        for group in dict.fromkeys(check.group for check in self.checks):
            for failure, shown in failures_of(self.checks, group):
                texts = shown_texts(failure, shown, self.tested) if group == ALL else []
                fails = any(check.outcome == FAIL for check in shown)
                says = failure_sentence(failure, shown, fails)
                found.append(
                    NamedFailure(failure.name, group, fails, says, tuple(shown), tuple(texts[:MOST_TEXTS]))
                )
        return tuple(sorted(found, key=lambda of: not of.fails))

    @property
    def reasons(self) -> list[str]:
        """Why the gate fails: the failures with a name, and the other metrics that fail."""
        from textgamut.report.gate import change, in_group

        named = [of for of in self.failures if of.fails]
        shown = {check for of in named for check in of.checks}
        alone = [check for check in self.checks if check.outcome == FAIL and check not in shown]
        changes = [change(of) if of.group == ALL else f"{of.group}: {change(of)}" for of in alone]
        return [*map(in_group, named), *changes]

    def to_frame(self) -> pd.DataFrame:
        """Return the tests as a table: a row for each metric and group, with the fields of :class:`Check`."""
        import pandas as pd

        return pd.DataFrame([asdict(check) for check in self.checks])

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, with None for what is not known."""
        from textgamut.report.gate import plain

        found: dict[str, Any] = plain(
            {
                "outcome": self.outcome,
                "settings": asdict(self.settings),
                "failures": [asdict(of) for of in self.failures],
                "checks": [asdict(of) for of in self.checks],
                "warnings": list(self.warnings),
            }
        )
        return found

    def to_markdown(self) -> str:
        """Return a summary in Markdown, which fits the job summary of GitHub."""
        from textgamut.report.gate import markdown

        return markdown(self.outcome, self.checks, self.failures, self.said)

    def to_junit(self) -> bytes:
        """Return the tests as XML of JUnit: a test case for each metric and group that can fail the gate."""
        from textgamut.report.gate import junit

        return junit(self.outcome, self.checks, self.failures)

    @property
    def said(self) -> list[str]:
        """How the gate was made, and what changes its reading."""
        comparison, settings = self.tested.comparison, self.settings
        first = next(iter(comparison.results.values()))
        n, references = comparison.material.texts.compared, comparison.material.texts
        human = (
            f"{n:,} human texts"
            if self.tested.humans
            else f"{counted(n, 'other text')} of the baseline, for want of human texts"
        )
        sizes = len(references.generated["baseline"])
        level = f"alpha = {settings.alpha:g}"
        if settings.looks > 1:
            level += f", spent over {settings.looks} gates"
        made = f"{sizes:,} texts of each model were compared with {human} ({first.computed_with}; {level})."
        return [made, *(f"Warning: {of}." for of in self.warnings)]

    def page(self, title: str, looks: Sequence[Mapping[str, Any]] = ()) -> Page:
        """Return what ``to_html`` writes, with the looks of a history, the last of which is this gate."""
        from textgamut.report.gate import gate_page

        return gate_page(title, self.outcome, self.checks, self.failures, self.said, looks)

    def to_html(self, path: str | Path, title: str = "Gate: candidate against baseline") -> None:
        """Write a page with the outcome, all tests, and the texts that show each failure.

        Args:
            path: Path of the file, which is replaced if it exists; ``~`` is expanded.
            title: Title of the page.

        Raises:
            DataError: If the path is a folder, a device, a FIFO or a socket.
            OSError: If the file cannot be written.
        """
        from textgamut.fields import expanded
        from textgamut.files import check_writable
        from textgamut.report.experiment_page import write_page

        file = expanded(str(path))
        check_writable(file)
        write_page(file, self.page(title))

    def __repr__(self) -> str:
        names = [of.name for of in self.failures if of.fails]
        return f"GateResult({self.outcome}{': ' if names else ''}{', '.join(names)})"
