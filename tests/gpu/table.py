"""A plugin of pytest: one row of a table for each check, and no skip without one of a few reasons."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import pytest

NO_GPU = "no GPU"
ONE_GPU = "fewer than two GPUs"
NO_VLLM = "vLLM is not installed"
VLLM_FOR_CPUS = "vLLM is a build for CPUs"
OLD_GPU = "compute capability below 8.0"
REASONS = (NO_GPU, ONE_GPU, NO_VLLM, VLLM_FOR_CPUS, OLD_GPU)
"""Why a check may be skipped. A test that is skipped for another reason fails."""


class Row(NamedTuple):
    """A check."""

    check: str
    result: str
    measured: str


ROWS = pytest.StashKey[dict[str, Row]]()
FACTS = pytest.StashKey[list[str]]()
"""What the table says of the machine: one line each."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the row of a check, and let a skip for another reason fail."""
    report = yield
    if report.when != "call" and report.passed:
        return report
    reason = ""
    if report.skipped:
        reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
        if reason not in REASONS:
            report.outcome = "failed"
            report.longrepr = f"skipped for a reason that is not one of {', '.join(REASONS)}: {reason}"
    measured = str(dict(report.user_properties).get("measured", ""))
    if report.failed:
        said = getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
        measured = "; ".join(filter(None, [measured, said.strip().partition("\n")[0]]))
    result = f"skipped: {reason}" if report.skipped else report.outcome
    check = (item.obj.__doc__ or item.name).strip().partition("\n")[0].removesuffix(".")  # type: ignore[attr-defined]
    item.config.stash.setdefault(ROWS, {})[item.nodeid] = Row(check, result, measured)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    stash = terminalreporter.config.stash
    if rows := stash.get(ROWS, {}):
        terminalreporter.write_line("\n" + markdown([*rows.values()], stash.get(FACTS, [])))


def markdown(rows: list[Row], facts: list[str]) -> str:
    """Return the table, with the facts above it."""
    cells = [Row._fields, ("---",) * 3, *rows]
    table = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in cells]
    return "\n".join([*facts, "", *table, ""])
