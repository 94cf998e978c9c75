"""The journal: what was finished survives, what was torn does not."""

import errno
import os
from pathlib import Path

import pytest

from textgamut.generation.journal import Journal, fingerprint, read_samples
from textgamut.generation.requests import Sample


def sample(prompt_id: str, completion: int, continuation: str, tokens: int, finish: str) -> Sample:
    return Sample(
        prompt_id=prompt_id,
        completion=completion,
        continuation=continuation,
        tokens=tokens,
        finish=finish,
        log_likelihood=-tokens / 3,
        scored_tokens=tokens - 1,
    )


BATCHES = [
    [sample("a", 0, "x\ny", 2, "stop")],
    [sample("b", 0, "ünï\u2028z", 3, "length"), sample("b", 1, "", 1, "stop")],
]


def written(path: Path) -> bytes:
    journal = Journal(path, "f")
    for batch in BATCHES:
        journal.append(batch, 8, 0.5)
    return path.read_bytes()


def test_every_cut_gives_whole_batches_and_goes_on(tmp_path: Path) -> None:
    """Killed after any byte: what is read is a prefix of the batches, and the rest can be appended."""
    content = written(tmp_path / "whole")
    for size in range(len(content) + 1):
        path = tmp_path / "torn"
        path.write_bytes(content[:size])
        journal = Journal(path, "f")
        kept = round(journal.seconds / 0.5)
        assert journal.samples == [sample for batch in BATCHES[:kept] for sample in batch]
        assert journal.batch_size == (8 if kept else None)
        for batch in BATCHES[kept:]:
            journal.append(batch, 8, 0.5)
        assert path.read_bytes() == content


def test_a_garbled_line_ends_what_is_read(tmp_path: Path) -> None:
    lines = written(tmp_path / "j").splitlines(keepends=True)
    (tmp_path / "j").write_bytes(lines[0] + lines[1] + b'[{"prompt' + lines[2])
    assert Journal(tmp_path / "j", "f").samples == BATCHES[0]


def test_another_fingerprint_begins_anew(tmp_path: Path) -> None:
    written(tmp_path / "j")
    assert read_samples(tmp_path / "j", "f") == ([*BATCHES[0], *BATCHES[1]], {""})
    assert read_samples(tmp_path / "j", "other") == read_samples(tmp_path / "none", "f") == ([], set())
    assert Journal(tmp_path / "j", "other").samples == []
    assert Journal(tmp_path / "j", "f").samples == []


def test_a_full_disk_is_named_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path / 'j'}'"):
        Journal(tmp_path / "j", "f")


def test_a_closed_journal_is_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "f")
    journal.append(BATCHES[0], 2, 1.0)
    journal.close()
    assert Journal(tmp_path / "j", "f").samples == BATCHES[0]


def test_fingerprint_sees_settings_and_prompts() -> None:
    assert fingerprint({"a": 1, "b": 2}, [("x", "y")]) == fingerprint({"b": 2, "a": 1}, [("x", "y")])
    values = {
        fingerprint({"a": 1}, [("x", "y")]),
        fingerprint({"a": 2}, [("x", "y")]),
        fingerprint({"a": 1}, []),
    }
    assert len(values) == 3


def test_a_link_that_others_put_there_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("target")
    (tmp_path / "j").symlink_to("target")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        Journal(tmp_path / "j", "f")
    assert (tmp_path / "target").read_text() == "target"
