"""Files: whole or not at all."""

import csv
import io
import os
import re
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut import files
from textgamut.errors import DataError, TextgamutError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    files.write_bytes(path, b"old")
    with pytest.raises(RuntimeError), files.atomic(path) as stream:  # noqa: PT012
        stream.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_is_named_with_the_path_and_leaves_nothing(tmp_path: Path) -> None:
    path, limits = tmp_path / "x.txt", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=f"File too large: '{path}'"):
            files.write_bytes(path, bytes(2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


@pytest.fixture(params=["folder", "fifo", "socket", "link to a FIFO", "/dev/full", "/dev/stdout"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """What a file must not replace."""
    path = tmp_path / "special" if request.param[0] != "/" else Path(request.param)
    with socket.socket(socket.AF_UNIX) as listener:
        match request.param:
            case "folder":
                path.mkdir()
            case "fifo":
                os.mkfifo(path)
            case "socket":
                listener.bind(str(path))
            case "link to a FIFO":
                os.mkfifo(tmp_path / "fifo")
                path.symlink_to("fifo")
        yield path


def test_only_regular_files_are_replaced(special: Path) -> None:
    before = special.lstat()
    problem = "is a folder, not a file" if special.is_dir() else "is not a regular file"
    with pytest.raises(DataError, match=f"^{special}: {problem}$"):
        files.write_bytes(special, b"x")
    after = special.lstat()
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("target")
    for link, target in {"link": "target", "dangling": "nothing"}.items():
        (tmp_path / link).symlink_to(target)
        files.write_bytes(tmp_path / link, b"new")
        assert not (tmp_path / link).is_symlink()
        assert (tmp_path / link).read_bytes() == b"new"
    assert (tmp_path / "target").read_text() == "target"
    assert not (tmp_path / "nothing").exists()


def test_what_others_put_where_temporary_files_are_made_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the name is guessed."""
    (tmp_path / "target").write_text("target")
    tokens = iter(["a", "b"])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))
    (tmp_path / f"{files._TEMPORARY}a.tmp").symlink_to("target")
    (tmp_path / ".x.csv.tmp").symlink_to("target")  # the name of earlier versions
    with pytest.raises(FileExistsError):
        files.write_bytes(tmp_path / "x.csv", b"new")
    files.write_bytes(tmp_path / "x.csv", b"new")
    assert (tmp_path / "target").read_text() == "target"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_the_umask_decides_on_permissions(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        files.write_bytes(tmp_path / "x", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode


@pytest.mark.parametrize("name", ["n" * 255, "\N{SNOWMAN}" * 85])
def test_a_name_may_be_as_long_as_the_file_system_permits(name: str, tmp_path: Path) -> None:
    files.write_bytes(tmp_path / name, b"x")
    assert [path.name for path in tmp_path.iterdir()] == [name]


KILLED = """
import os, sys
from pathlib import Path
from textgamut.files import atomic
with atomic(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("writing", flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_is_removed_but_not_what_another_writes(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", KILLED, str(path)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout
        assert process.stdout.readline() == b"writing\n"
        return process

    killed = start()
    killed.kill()
    killed.wait()
    assert len(list(tmp_path.iterdir())) == 1
    alive = start()
    assert len(list(tmp_path.iterdir())) == 1
    files.write_bytes(path, b"new")
    assert len(list(tmp_path.iterdir())) == 2
    alive.communicate()
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


def test_writes_at_the_same_time_are_whole(tmp_path: Path) -> None:
    contents = [bytes([i]) * 200_000 for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda content: files.write_bytes(tmp_path / "x", content), contents * 4))
    assert (tmp_path / "x").read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


FORMULAS = ["=2+5", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "-x", "'=1", "''=1", "-"]
HARMLESS = [
    "x=1",
    "'quoted'",
    "''",
    "-1.5",
    "-1e-05",
    "-.5",
    "",
    " =1",
    "1+1",
    "\x00",
    "caf\xe9",
    'a "b"',
    "NA",
]
SPLIT = ["a;=2+5", "a\t=2+5", "a\r=2+5", "a\n=2+5", 'a";=2', "a,=2"]


@pytest.mark.parametrize("text", [*FORMULAS, *HARMLESS, *SPLIT])
@pytest.mark.parametrize("kind", ["str", "object", "category"])
def test_no_text_of_a_csv_file_is_a_formula_and_each_is_read_back(
    text: str, kind: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({text: pd.Series([text, "x"], dtype=kind), "n": [-1.5, float("nan")], "i": [-1, 2]})
    content = files.to_csv(frame)
    (tmp_path / "t.csv").write_bytes(content)
    for delimiter in ",;\t":  # as a spreadsheet may split it
        for row in csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter):
            for field in row:
                number = re.fullmatch(r"-?[\d.]+(e-\d+)?", field)
                assert number or delimiter != "," or field[:1] not in set("=+-@\t\r\n\uff1d")
                assert not field.startswith("=")
    (tmp_path / "t.csv").write_bytes(content)
    found = files.read_csv(tmp_path / "t.csv", dtype={0: str})
    expected = [text or float("nan"), "x"]
    pd.testing.assert_series_equal(
        found.iloc[:, 0].astype(object), pd.Series(expected, name=text or "Unnamed: 0"), check_dtype=False
    )
    assert (text in FORMULAS) == (content.decode().lstrip('"').startswith("'" + text.replace('"', '""')))
    assert list(found["i"]) == [-1, 2]
    assert found["n"][0] == -1.5


def test_an_index_is_written_and_read_like_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame([[1.0, 0.5], [0.5, 1.0]], ["=a", "b"], ["=a", "b"])
    (tmp_path / "t.csv").write_bytes(files.to_csv(frame, index_label="method"))
    assert (tmp_path / "t.csv").read_text() == "method,'=a,b\n'=a,1.0,0.5\nb,0.5,1.0\n"
    found = files.read_csv(tmp_path / "t.csv", index_col=0)
    pd.testing.assert_frame_equal(found.rename_axis(None), frame)


def test_a_table_without_formulas_is_written_as_pandas_does() -> None:
    frame = pd.DataFrame(
        {"a": ["x", None, "y,z"], "b": [1e-5, float("nan"), 1e16], "c": [True, False, True], "d": [1, 2, 3]}
    )
    assert files.to_csv(frame) == frame.to_csv(index=False).encode()
    assert files.to_csv(frame, index_label="") == frame.to_csv().encode()


def test_round_trips(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["a"], "value": [1.5]})
    files.write_table(tmp_path / "t.parquet", frame)
    pd.testing.assert_frame_equal(files.read_table(tmp_path / "t.parquet", ["id"]), frame)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    files.write_array(tmp_path / "a.npy", array)
    assert (files.read_array(tmp_path / "a.npy") == array).all()


def test_named_arrays_are_read_as_they_were_written(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}
    files.write_arrays(tmp_path / "s.npz", arrays)
    found = files.read_arrays(tmp_path / "s.npz")
    assert list(found) == ["a", "b"]
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert (found[name] == array).all()


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
@pytest.mark.parametrize("name", ["t.parquet", "a.npy", "s.npz", "j.json"])
def test_a_damaged_file_is_named(name: str, content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / name
    files.write_table(tmp_path / "t.parquet", pd.DataFrame({"id": ["a"] * 1000}))
    files.write_array(tmp_path / "a.npy", np.arange(1000))
    files.write_arrays(tmp_path / "s.npz", {"a": np.random.default_rng(0).random(1000)})
    files.write_json(tmp_path / "j.json", list(range(1000)))
    path.write_bytes(path.read_bytes()[:200] if isinstance(content, str) else content)
    read = {
        "t.parquet": lambda: files.read_table(path, ["id"]),
        "a.npy": lambda: files.read_array(path),
        "s.npz": lambda: files.read_arrays(path),
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


def test_metadata_has_the_versions_and_the_hardware() -> None:
    found = files.provenance()
    assert found["versions"]["torch"]
    assert found["hardware"]["cpus"] >= 1


def test_slugs_with_dots_have_records_of_their_own() -> None:
    names = ("qwen2.5-0.5b.json", "qwen2.5-7b.json", "qwen2.json")
    assert len({files.meta_path(Path(name)) for name in names}) == 3
