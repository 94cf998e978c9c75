"""The journal of a generation job: what a killed job has finished, on disk, batch by batch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def fingerprint(settings: Mapping[str, Any], prompts: Sequence[Sequence[str]]) -> str:
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
        self.batches: list[list[dict[str, Any]]] = []
        header = json.dumps({"fingerprint": fingerprint}) + "\n"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        kept = 0
        if lines and lines[0] == header.encode():
            kept = len(lines[0])
            for line in lines[1:]:
                try:
                    self.batches.append(json.loads(line if line.endswith(b"\n") else b""))
                except ValueError:  # torn by a crash: this line and what follows is generated again
                    break
                kept += len(line)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("r+b" if kept else "wb")
        self._stream.truncate(kept)
        self._stream.seek(kept)
        if not kept:
            self._write(header)

    def append(self, batch: list[dict[str, Any]]) -> None:
        """Add a finished batch; when this returns, it survives a crash."""
        self.batches.append(batch)
        self._write(json.dumps(batch, ensure_ascii=False) + "\n")

    def remove(self) -> None:
        """Close and delete the journal: its content stands in the job's output now."""
        self._stream.close()
        self.path.unlink()

    def _write(self, line: str) -> None:
        self._stream.write(line.encode())
        self._stream.flush()
        os.fsync(self._stream.fileno())
