"""The journal of a generation job: finished batches on disk, from which a killed job resumes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from textgamut.files import open_own, writing
from textgamut.generation.requests import Sample


def fingerprint(settings: Mapping[str, Any], prompts: Sequence[Sequence[Any]]) -> str:
    """Return a digest of everything that determines the texts; a journal is resumed only if it matches."""
    content = json.dumps([settings, prompts], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()


class Journal:
    """Append-only JSON lines: the fingerprint, then one line per finished batch, each fsynced.

    A line that a crash left incomplete is removed, and its batch is generated again, with the same samples
    and therefore the same texts.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        """Open a journal, and read the batches finished by an earlier run with the same fingerprint.

        Args:
            path: The file. It is created if it is missing, and overwritten if its fingerprint differs.
            fingerprint: See ``fingerprint``.
        """
        self.path = path
        batches, kept = _read(path, fingerprint)
        self.samples: list[Sample] = [sample for batch in batches for sample in batch["samples"]]
        self.seconds: float = sum(batch["seconds"] for batch in batches)
        """Time to generate the samples."""
        self.engines: set[str] = {batch["engine"] for batch in batches}
        """What generated the samples; see ``Engine.identity``."""
        self.batch_size: int | None = (batches[-1]["batch_size"] or None) if batches else None
        """Batch size of the last batch: smaller than requested if the job ran out of memory."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = open(path, "r+b" if kept else "wb", opener=open_own)  # noqa: SIM115 (until it is closed)
        self._stream.truncate(kept)
        self._stream.seek(kept)
        if not kept:
            self._write({"fingerprint": fingerprint})

    def append(self, samples: list[Sample], batch_size: int, seconds: float, engine: str = "") -> None:
        """Append a batch that ``engine`` finished; it is on disk when this returns."""
        self.samples += samples
        self.engines.add(engine)
        self.seconds += seconds
        self.batch_size = batch_size or self.batch_size
        self._write(
            {"batch_size": batch_size, "seconds": round(seconds, 3), "engine": engine, "samples": samples}
        )

    def close(self) -> None:
        """Close the file, which is kept until the job's output is safe."""
        self._stream.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        with writing(self.path):
            self._stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())


def read_samples(path: Path, fingerprint: str) -> tuple[list[Sample], set[str]]:
    """Return the samples of another job's journal and their engines; neither if its fingerprint differs."""
    batches = _read(path, fingerprint)[0]
    samples = [sample for batch in batches for sample in batch["samples"]]
    return samples, {batch["engine"] for batch in batches}


def _read(path: Path, fingerprint: str) -> tuple[list[dict[str, Any]], int]:
    """Return the complete batches of a journal, and their size in bytes, including the first line."""
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
        except ValueError:  # incomplete after a crash: this batch and the following are generated again
            break
        kept += len(line)
    return batches, kept
