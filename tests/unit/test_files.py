"""Files: whole or not at all."""

import json
import logging
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut import files
from textgamut.errors import DataError, TextgamutError
from textgamut.progress import Progress


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    files.write_bytes(path, b"old")
    with pytest.raises(RuntimeError), files.atomic(path) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"), files.atomic(path) as temporary:  # noqa: PT012
        temporary.symlink_to("/dev/full")
        temporary.write_bytes(b"x")
    assert not list(tmp_path.iterdir())


def test_round_trips(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a"], "value": [1.5]})
    files.write_table(tmp_path / "t.parquet", frame)
    pd.testing.assert_frame_equal(files.read_table(tmp_path / "t.parquet", ["id"]), frame)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    files.write_array(tmp_path / "a.npy", array)
    assert (files.read_array(tmp_path / "a.npy") == array).all()


def test_attributes_are_read_without_the_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a"]})
    files.write_table(tmp_path / "plain.parquet", frame)
    frame.attrs["fingerprint"] = "x"
    files.write_table(tmp_path / "t.parquet", frame)
    assert files.read_attributes(tmp_path / "t.parquet") == {"fingerprint": "x"}
    assert files.read_attributes(tmp_path / "plain.parquet") == {}


def test_missing_column(tmp_path: Path) -> None:
    files.write_table(tmp_path / "t.parquet", pd.DataFrame({"id": ["a"]}))
    with pytest.raises(TextgamutError, match=r"t\.parquet: no column text; it has id"):
        files.read_table(tmp_path / "t.parquet", ["id", "text"])


@pytest.mark.parametrize("content", [b"", b"\x00", b"{", "half"])
@pytest.mark.parametrize("name", ["t.parquet", "a.npy", "j.json"])
def test_a_damaged_file_is_named(name: str, content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / name
    files.write_table(tmp_path / "t.parquet", pd.DataFrame({"id": ["a"] * 1000}))
    files.write_array(tmp_path / "a.npy", np.arange(1000))
    files.write_json(tmp_path / "j.json", list(range(1000)))
    path.write_bytes(path.read_bytes()[:200] if isinstance(content, str) else content)
    read = {
        "t.parquet": lambda: files.read_table(path, ["id"]),
        "a.npy": lambda: files.read_array(path),
        "j.json": lambda: files.read_json(path),
    }
    with pytest.raises(DataError, match=f"{name}: damaged: delete it, and the next run makes it again"):
        read[name]()


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"a\.npy: damaged"):
        files.read_array(tmp_path / "a.npy")


def test_nan_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        files.write_json(tmp_path / "x.json", {"value": float("nan")})
    assert not list(tmp_path.iterdir())


def test_meta_stands_beside_the_output(tmp_path: Path) -> None:
    files.write_meta(tmp_path / "generations.parquet", {"seed": 1}, time.monotonic(), dtype="bfloat16")
    meta = json.loads((tmp_path / "generations.parquet.meta.json").read_text())
    assert meta["settings"] == {"seed": 1}
    assert meta["dtype"] == "bfloat16"
    assert meta["versions"]["torch"]
    assert meta["wall_seconds"] >= 0


def test_slugs_with_dots_have_records_of_their_own(tmp_path: Path) -> None:
    for name in ("qwen2.5-0.5b.json", "qwen2.5-7b.json", "qwen2.json"):
        files.write_meta(tmp_path / name, {}, time.monotonic())
    assert len(list(tmp_path.iterdir())) == 3


def test_progress_says_how_many_of_how_many(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "textgamut")
    logging.getLogger("textgamut").propagate = True
    progress = Progress(10, "samples", "tokens", done=2)
    progress.advance(4, 100)
    progress.advance(1, 25)  # too soon for another line
    progress.advance(3, 75)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "6 of 10 samples", "10 of 10 samples"
    ]  # fmt: skip
    assert "tokens/s" in caplog.text
    assert "left" in caplog.records[0].getMessage()
