"""``textgamut doctor``: check the installation, this machine and the project."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from textgamut.cli.common import print_json

if TYPE_CHECKING:
    from textgamut.cli.machine_checks import Check


def doctor(*, offline: bool = False, json: bool = False) -> int:
    """Check the installation, this machine and the project.

    Checks packages, memory, GPUs, caches, the network, API keys (without showing them), and whether the
    registries in ./config are valid. The exit code is 1 if something is broken that all runs need.

    Args:
        offline: Skip the checks of the network.
        json: Print JSON instead of lines.

    Returns:
        The exit code.
    """
    from textgamut.cli.machine_checks import run_checks

    checks = run_checks(offline=offline)
    broken = [f"{check.area}: {check.name}" for check in checks if check.state == "broken"]
    if json:
        print_json(broken=broken, checks=list(map(asdict, checks)))
    else:
        print_checks(checks)
    return 1 if broken else 0


def print_checks(checks: Sequence[Check]) -> None:
    """Print checks in aligned lines, with symbols on a terminal that has them and words elsewhere."""
    broken = ", ".join(f"{check.name} ({check.area})" for check in checks if check.state == "broken")
    last = f"Broken, but needed by all runs: {broken}" if broken else "Everything needed by all runs works."
    width = max(len(check.name) for check in checks)
    if not sys.stdout.isatty() or not sys.stdout.encoding.lower().startswith("utf"):
        for check in checks:
            print(f"{check.state:<9}  {check.area:<8}  {check.name:<{width}}  {check.detail}")
        print(last)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    marks = {"good": "[green]✓", "attention": "[yellow]!", "missing": "[dim]-", "broken": "[red]✗"}
    table, area = Table.grid(padding=(0, 2)), ""
    for check in checks:
        shown, area = "" if check.area == area else check.area, check.area
        row = Text(shown, "dim"), Text(check.name, no_wrap=True), Text(check.detail)
        table.add_row(marks[check.state], *row)
    Console().print(table, Text(last, "red" if broken else ""), sep="\n")
