"""A job of a run, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Files = Mapping[str, str | Sequence[str]]
"""Paths by the name that they have in the rule."""

NUMBERS = ("seed", "draw", "shard", "shards", "tokens")
"""Wildcards that are numbers."""

CELL = ("task", "model", "decoding", "seed", "embedder")
"""Wildcards that identify a cell in a table of scores, the embedder only if the rule has one."""


class Job(NamedTuple):
    """A job."""

    rule: str
    input: Files
    output: Files
    settings: Any
    wildcards: Mapping[str, str]
    resources: Mapping[str, Any]
    log: str
    threads: int = 1

    @property
    def name(self) -> str:
        """Rule and what identifies the job, such as the cell, as in the path of its log."""
        return job_name(self.rule, self.log)

    @property
    def lock(self) -> Path:
        """The lock file of the job."""
        return Path(self.log).with_suffix(".lock")

    @property
    def inputs(self) -> list[str]:
        """All input paths, in the order of the rule."""
        return _flat(self.input)

    @property
    def outputs(self) -> list[str]:
        """All output paths, in the order of the rule."""
        return _flat(self.output)

    def values(self) -> dict[str, Any]:
        """Return what the functions of a script can have, by the names of their parameters.

        ``rule``, ``settings``, ``threads``, each wildcard and each resource; each input and output as a path,
        or as a list of paths if the rule has a list; ``inputs`` and ``outputs``, all of them by name; and
        ``cell``, the columns that identify a cell.

        Raises:
            ValueError: If the rule uses a name twice.
        """
        wildcards = {name: int(value) if name in NUMBERS else value for name, value in self.wildcards.items()}
        inputs, outputs = _as_paths(self.input), _as_paths(self.output)
        parts = (wildcards, dict(self.resources), inputs, outputs)
        cell = {name: wildcards[name] for name in CELL if name in wildcards}
        values = {"rule": self.rule, "settings": self.settings, "threads": self.threads, "cell": cell}
        values |= {"inputs": inputs, "outputs": outputs}
        for part in parts:
            if twice := values.keys() & part.keys():
                raise ValueError(f"{self.rule}: a name is used twice: {', '.join(sorted(twice))}")
            values |= part
        return values


def job_name(rule: str, log: str) -> str:
    """Return what a job is called in messages, by its rule and the path of its log: see :attr:`Job.name`."""
    return " ".join([rule, "/".join(Path(log).with_suffix("").parts[2:])]).strip()


def as_text(files: Any) -> dict[str, str | list[str]]:
    """Return Snakemake's named files as plain text."""
    return {
        name: str(value) if isinstance(value, str) else [str(path) for path in value]
        for name, value in files.items()
    }


def _as_paths(files: Files) -> dict[str, Path | list[Path]]:
    return {
        name: Path(value) if isinstance(value, str) else [Path(path) for path in value]
        for name, value in files.items()
    }


def _flat(files: Files) -> list[str]:
    return [path for value in files.values() for path in ([value] if isinstance(value, str) else value)]
