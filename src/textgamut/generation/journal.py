"""The journal of a generation job: what a killed job has finished, on disk, batch by batch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textgamut.generation.requests import Sample


def fingerprint(settings: Mapping[str, Any], prompts: Sequence[Sequence[Any]]) -> str:
    """Return a digest of all that the texts depend on; a journal with another one is not resumed."""
    content = json.dumps([settings, prompts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


class Journal:
    """Append-only JSON lines: the fingerprint first, then one line per finished batch, fsynced.

    A batch is one line, so that it is there or not: a line torn by a crash is cut off, and its batch is
    generated again, in the same company, to the same texts.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        """Open a journal, and read what an earlier run with the same fingerprint has finished.

        Args:
            path: The file; a missing one, or one with another fingerprint, is begun anew.
            fingerprint: See ``fingerprint``.
        """
        self.path = path
        batches, kept = _read(path, fingerprint)
        self.samples: list[Sample] = [sample for batch in batches for sample in batch["samples"]]
        self.seconds: float = sum(batch["seconds"] for batch in batches)
        """What the samples took to generate."""
        self.batch_size: int | None = (batches[-1]["batch_size"] or None) if batches else None
        """Samples at a time in the last batch: smaller than asked for, where the memory ran short."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("r+b" if kept else "wb")
        self._stream.truncate(kept)
        self._stream.seek(kept)
        if not kept:
            self._write({"fingerprint": fingerprint})

    def append(self, samples: list[Sample], batch_size: int, seconds: float) -> None:
        """Add a finished batch; when this returns, it survives a crash."""
        self.samples += samples
        self.seconds += seconds
        self.batch_size = batch_size or self.batch_size
        self._write({"batch_size": batch_size, "seconds": round(seconds, 3), "samples": samples})

    def remove(self) -> None:
        """Close and delete the journal: its content stands in the job's output now."""
        self._stream.close()
        self.path.unlink()

    def _write(self, line: Mapping[str, Any]) -> None:
        self._stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())


def read_samples(path: Path, fingerprint: str) -> list[Sample]:
    """Return the samples of somebody else's journal; none, if its fingerprint is another."""
    return [sample for batch in _read(path, fingerprint)[0] for sample in batch["samples"]]


def _read(path: Path, fingerprint: str) -> tuple[list[dict[str, Any]], int]:
    """Return the whole batches of a journal, and how many bytes they take with the first line."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        lines = []
    if not lines or lines[0] != json.dumps({"fingerprint": fingerprint}).encode() + b"\n":
        return [], 0
    batches, kept = [], len(lines[0])
    for line in lines[1:]:
        try:
            batches.append(json.loads(line if line.endswith(b"\n") else b""))
        except ValueError:  # torn by a crash: this line and what follows is generated again
            break
        kept += len(line)
    return batches, kept
