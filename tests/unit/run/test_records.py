"""Records of finished jobs, and the outputs that are kept for later runs."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from textgamut.files import meta_path
from textgamut.run import records
from textgamut.run.records import (
    finish_record,
    forget,
    keep,
    kept_path,
    read_record,
    restore,
    start_record,
)

OUTPUTS = ["results/a/scores.json", "results/a/scores.parquet"]


@pytest.fixture(autouse=True)
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finished job with an input and two outputs."""
    monkeypatch.chdir(tmp_path)
    Path("results/a").mkdir(parents=True)
    Path("input").write_text("input")
    for path in OUTPUTS:
        Path(path).write_text(path)
    finish_record(made_from(), OUTPUTS, {"wall_seconds": 3.0})


def made_from(**changes: object) -> dict:
    return start_record("score", {"k": (1, 2)} | changes, ["input"])


def delete_outputs() -> None:
    for path in OUTPUTS:
        Path(path).unlink()


def test_the_record_extends_the_metadata() -> None:
    content = json.loads(meta_path(Path(OUTPUTS[0])).read_text())
    assert content["wall_seconds"] == 3.0
    assert content["job"]["settings"] == {"k": [1, 2]}
    assert set(content["job"]["outputs"]) == set(OUTPUTS)
    assert read_record(OUTPUTS) == content["job"]


def test_outputs_and_record_are_restored() -> None:
    delete_outputs()
    meta_path(Path(OUTPUTS[0])).unlink()
    before = os.stat("input").st_mtime_ns
    assert restore(made_from(), OUTPUTS)
    assert [Path(path).read_text() for path in OUTPUTS] == OUTPUTS
    assert all(os.stat(path).st_mtime_ns >= before for path in OUTPUTS)
    assert read_record(OUTPUTS)
    delete_outputs()
    assert restore(made_from(), OUTPUTS)


def test_other_settings_or_inputs_restore_nothing() -> None:
    delete_outputs()
    assert not restore(made_from(k=3), OUTPUTS)
    assert not restore(made_from(), OUTPUTS[:1])
    Path("input").write_text("other")
    assert not restore(made_from(), OUTPUTS)
    assert not any(map(os.path.exists, OUTPUTS))


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_kept_output_that_is_damaged_is_not_restored(content: bytes) -> None:
    with Path(OUTPUTS[1]).open("r+b") as stream:  # the same file as the kept one
        stream.truncate()
        stream.write(content)
    assert kept_path(Path(OUTPUTS[1])).read_bytes() == content
    assert not restore(made_from(), OUTPUTS)


def test_a_replaced_output_leaves_the_kept_one_alone() -> None:
    Path("other").write_text("other")
    Path("other").replace(OUTPUTS[0])
    assert restore(made_from(), OUTPUTS)
    assert Path(OUTPUTS[0]).read_text() == OUTPUTS[0]


def test_forgotten_outputs_are_not_restored() -> None:
    forget(OUTPUTS)
    assert not restore(made_from(), OUTPUTS)


def test_damaged_metadata_is_restored_with_the_outputs() -> None:
    """A copy of it is kept, since an editor may write into the same file."""
    with meta_path(Path(OUTPUTS[0])).open("r+b") as stream:
        stream.truncate(10)
    delete_outputs()
    assert restore(made_from(), OUTPUTS)
    assert read_record(OUTPUTS)


def test_what_is_not_kept_any_more_is_kept_again() -> None:
    """As in a copy of a project without hidden folders, or with damaged ones."""
    shutil.rmtree("results/a/.kept")
    keep(OUTPUTS)
    delete_outputs()
    assert restore(made_from(), OUTPUTS)
    kept_path(Path(OUTPUTS[0])).unlink()
    kept_path(Path(OUTPUTS[0])).write_text("damaged")
    assert not restore(made_from(), OUTPUTS)
    keep(OUTPUTS)
    assert restore(made_from(), OUTPUTS)


def test_outputs_are_kept_even_if_the_record_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard's samples are found there by their fingerprint, when Snakemake has deleted the output."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(records, "write_json", refuse)
    Path("new").write_text("new")
    Path("new").replace(OUTPUTS[0])
    with pytest.raises(OSError, match="No space left"):
        finish_record(made_from(k=3), OUTPUTS, {})
    assert kept_path(Path(OUTPUTS[0])).read_text() == "new"
    assert not restore(made_from(), OUTPUTS)


def test_without_hard_links_outputs_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    finish_record(made_from(k=3), OUTPUTS, {})
    delete_outputs()
    assert restore(made_from(k=3), OUTPUTS)
    assert [Path(path).read_text() for path in OUTPUTS] == OUTPUTS


@pytest.mark.parametrize("content", ["", "[]", "{", '{"job": 1}', '{"job": {"inputs": [], "outputs": {}}}'])
def test_damaged_metadata_is_no_record(content: str) -> None:
    meta_path(Path(OUTPUTS[0])).write_text(content)
    assert read_record(OUTPUTS) is None


def test_a_link_that_others_put_there_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With hard links, and without them."""
    Path("other").write_text("other")
    for path in map(Path, OUTPUTS):
        kept_path(path).unlink()
        kept_path(path).symlink_to("../../../other")
        kept_path(path).with_name(f".{path.name}.link").symlink_to("../../../other")
    keep(OUTPUTS)
    assert Path("other").read_text() == "other"
    assert [kept_path(Path(path)).read_text() for path in OUTPUTS] == OUTPUTS

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    for path in map(Path, OUTPUTS):
        kept_path(path).unlink()
        kept_path(path).symlink_to("../../../other")
    keep(OUTPUTS)
    assert Path("other").read_text() == "other"
    assert [kept_path(Path(path)).read_text() for path in OUTPUTS] == OUTPUTS
