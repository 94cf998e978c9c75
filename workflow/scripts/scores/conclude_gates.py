"""Fail if a gate of the experiment fails, after all its files are made."""

from pathlib import Path
from typing import Any

from textgamut.errors import TextgamutError
from textgamut.files import read_json, write_json
from textgamut.inference.gates import FAIL, UNDECIDED
from textgamut.run.script import run
from textgamut.text import counted


def conclude_gates(settings: dict[str, Any], verdicts: list[Path], outcomes: Path) -> None:
    found = {path: read_json(path) for path in verdicts}
    failed = {
        path: verdict
        for path, verdict in found.items()
        if verdict["outcome"] == FAIL
        or (verdict["outcome"] == UNDECIDED and settings["undecided"][verdict["gate"]] == FAIL)
    }
    if failed:
        named = ", ".join(f"{of['gate']} ({', '.join(names(of))})" for of in failed.values())
        # The list of failed jobs at the end of a run shows the first line.
        lines = [f"{len(failed)} of {counted(len(found), 'gate')} failed: {named}"]
        raise TextgamutError("\n".join([*lines, *(sentence(path, of) for path, of in failed.items())]))
    write_json(outcomes, {verdict["gate"]: verdict["outcome"] for verdict in found.values()})


def names(verdict: dict[str, Any]) -> list[str]:
    """Return the names of the failures, then the metrics that fail without one."""
    if verdict["outcome"] == UNDECIDED:
        return [UNDECIDED]
    failures = [of for of in verdict["failures"] if of["fails"]]
    known = {check["metric"] for of in failures for check in of["checks"]}
    metrics = [check["metric"] for check in verdict["checks"] if check["outcome"] == FAIL]
    return list(dict.fromkeys([*(of["name"] for of in failures), *(of for of in metrics if of not in known)]))


def sentence(path: Path, verdict: dict[str, Any]) -> str:
    """Say why a gate fails, and where to read more."""
    why = "; ".join(reason.rstrip(".") for reason in verdict["reasons"]) or verdict["headline"].rstrip(".")
    sides = f"{verdict['candidate']} against {verdict['baseline']} on {verdict['task']}"
    return f"{verdict['gate']}: {sides}: {why}. See {path.with_suffix('.html')}"


if __name__ == "__main__":
    run(conclude_gates)
