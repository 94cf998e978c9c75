"""Records of finished jobs, by which finished work is found again.

The ``.meta.json`` of a job's first output has an entry ``job``: the rule, its settings, and the SHA-256 of
all inputs and outputs. Hard links to the outputs and a copy of this record are kept in a folder ``.kept``
beside each output, because Snakemake deletes the outputs of a job before it runs the job. A job with the
same settings and inputs as before restores its outputs from there, instead of computing them again.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from textgamut.errors import reason
from textgamut.files import KEPT, digest, meta_path, read_json, write_bytes, write_json

logger = logging.getLogger(__name__)

Record = dict[str, Any]
"""``rule``, ``settings``, and SHA-256 by path: ``inputs`` and, for a finished job, ``outputs``."""


def start_record(rule: str, settings: Any, inputs: Sequence[str]) -> Record:
    """Describe what the outputs of a job are made from.

    Args:
        rule: Name of the rule.
        settings: ``params.settings`` of the job; None if the rule has no settings.
        inputs: Paths of the input files, which must exist.
    """
    return {
        "rule": rule,
        "settings": as_json(settings),
        "inputs": {path: digest(Path(path)) for path in inputs},
    }


def as_json(value: Any) -> Any:
    """Return a value as it is read back from JSON, where tuples are lists and keys are strings."""
    return json.loads(json.dumps(value))


def finish_record(record: Record, outputs: Sequence[str], meta: Mapping[str, Any]) -> None:
    """Write the ``.meta.json`` of a finished job, and keep links to the outputs.

    Args:
        record: See :func:`start_record`.
        outputs: Paths of the outputs.
        meta: What else is known of the job: facts, versions, hardware, times.
    """
    _keep_outputs(outputs)  # first, so that generated texts survive if the disk is too full for the record
    made = {path: digest(Path(path)) for path in outputs}
    path = meta_path(Path(outputs[0]))
    write_json(path, {**meta, "job": record | {"outputs": made}})
    _keep_record(path)


def keep(outputs: Sequence[str]) -> None:
    """Keep links to the outputs of a finished job, unless they are kept already, and a copy of its record.

    Args:
        outputs: Paths of the outputs, which must be those in the record.
    """
    _keep_outputs(outputs)
    _keep_record(meta_path(Path(outputs[0])))


def restore(record: Record, outputs: Sequence[str]) -> bool:
    """Restore the outputs of a job from their kept links.

    Args:
        record: See :func:`start_record`.
        outputs: Paths of the outputs.

    Returns:
        Whether the outputs were restored: if the kept ones were made from the same settings and inputs, and
        are undamaged.
    """
    if not can_restore(record, outputs):
        return False
    for path in map(Path, outputs):
        _link(kept_path(path), path)
        os.utime(path)  # newer than the inputs
    meta = meta_path(Path(outputs[0]))
    write_bytes(meta, kept_path(meta).read_bytes())
    return True


def can_restore(record: Record, outputs: Sequence[str]) -> bool:
    """Return whether :func:`restore` would restore the outputs of a job."""
    kept = _read(kept_path(meta_path(Path(outputs[0]))))
    if (
        kept is None
        or any(kept[name] != record[name] for name in record)
        or set(kept["outputs"]) != set(outputs)
    ):
        return False
    for path, known in kept["outputs"].items():
        with contextlib.suppress(OSError):
            if digest(kept_path(Path(path))) == known:
                continue
        return False
    return True


def finish_kept(record: Record, outputs: Sequence[str], meta: Mapping[str, Any]) -> None:
    """Write the record of a job whose outputs were written to their kept paths, for :func:`restore`.

    Args:
        record: See :func:`start_record`.
        outputs: Paths of the outputs, as the job itself would write them.
        meta: As for :func:`finish_record`.
    """
    made = {path: digest(kept_path(Path(path))) for path in outputs}
    write_json(kept_path(meta_path(Path(outputs[0]))), {**meta, "job": record | {"outputs": made}})


def read_record(outputs: Sequence[str]) -> Record | None:
    """Read the record of a finished job; None if it has none, or if its ``.meta.json`` is missing or damaged.

    Args:
        outputs: Paths of the outputs.
    """
    return _read(meta_path(Path(outputs[0])))


def forget(outputs: Sequence[str]) -> None:
    """Remove the kept links of a job, so that it computes its outputs again."""
    for path in outputs:
        kept_path(Path(path)).unlink(missing_ok=True)


def kept_path(path: Path) -> Path:
    """Return the path of the kept link to a file."""
    return path.parent / KEPT / path.name


def _read(meta: Path) -> Record | None:
    try:
        record: Record = read_json(meta)["job"]
        if not isinstance(record["inputs"], Mapping) or not isinstance(record["outputs"], Mapping):
            return None
        return record if {"rule", "settings"} <= record.keys() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep_outputs(outputs: Sequence[str]) -> None:
    for path in map(Path, outputs):
        kept = kept_path(path)
        with _warning(path):
            if not kept.exists() or not kept.samefile(path):
                _link(path, kept)


def _keep_record(meta: Path) -> None:
    kept, content = kept_path(meta), meta.read_bytes()
    with _warning(meta):
        if not kept.exists() or kept.read_bytes() != content:
            write_bytes(kept, content)


@contextlib.contextmanager
def _warning(path: Path) -> Iterator[None]:
    """Show an error as a warning: the outputs are complete, but a later run may compute them again."""
    try:
        yield
    except OSError as error:
        logger.warning("%s: cannot be kept for later runs: %s", path, reason(error))


def _link(source: Path, target: Path) -> None:
    """Replace a file by a hard link to another one, or by a copy if the file system has no hard links."""
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        # A partial copy of a killed process differs from the digest in its record.
        with source.open("rb") as content, target.open("xb") as copy:
            shutil.copyfileobj(content, copy, 2**20)
        shutil.copystat(source, target)
