"""The files of a result: all of one version, whatever happens while they are written."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from textgamut.files import write_together
from textgamut.report.experiment_page import Page, Section, write_page
from textgamut.report.explorer_chunks import ExplorerTask, GeneratedSet, TextSet, explorer_data

SCORE = [sys.executable, "-m", "textgamut", "score", "--metrics", "ngram", "compression", "--output", "out"]


def made_page(text: str) -> Page:
    """Return a page whose texts are in a folder beside it."""
    frame = pd.DataFrame({"id": ["a", "b"], "text": [text, f"{text} again"]})
    groups, places = pd.DataFrame(index=frame.index), np.zeros((2, 2), dtype=np.float32)
    task = ExplorerTask(
        "texts", "texts", TextSet(frame, groups, places), [GeneratedSet(frame, groups, places, "m", "m")]
    )
    return Page("title", [Section("s", "s")], explorer=explorer_data([task], most_inline=0))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def is_whole(folder: Path) -> bool:
    """Return whether the page has its chunks and no others."""
    [digest] = re.findall(
        r'"folder":"index\.html\.texts/([0-9a-f]{16})"', (folder / "index.html").read_text()
    )
    return [path.name for path in (folder / "index.html.texts").iterdir()] == [digest]


def test_files_are_replaced_together(tmp_path: Path) -> None:
    names = [tmp_path / name for name in ("a", "b", "new/c")]
    write_together(dict.fromkeys(names, b"old"))
    names[1].unlink()
    names[1].mkdir()
    with pytest.raises(ValueError, match="b: is a folder"):
        write_together(dict.fromkeys(names, b"new"))
    assert contents(tmp_path) == {"a": b"old", "new/c": b"old"}


def small_disk(size: int) -> Callable[[], None]:
    """Return what limits the size of the files of a process, as a full disk does."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts and the scores of the old ones."""
    folder = tmp_path_factory.mktemp("scored")
    for name, word in (("old", "an old"), ("new", "another new")):
        rows = [{"text": f"{word} text number {i} of {i % 7} and {i % 3} words"} for i in range(300)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    old = ["--reference", "old.jsonl", "--generated", "old.jsonl"]
    subprocess.run([*SCORE, *old], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("size", [0, 200, 60_000])
def test_a_result_that_does_not_fit_leaves_the_old_one(scored: Path, size: int) -> None:
    """Nothing fits, the table does not, or only the page does not."""
    before = contents(scored / "out")
    assert len(before["scores.csv"]) > 200
    assert len(before["index.html"]) > 60_000
    ended = subprocess.run(
        [*SCORE, "--reference", "old.jsonl", "--generated", "new.jsonl"],
        cwd=scored,
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=small_disk(size),
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert re.search(r"textgamut: error: .*(File too large|No usable temporary directory)", ended.stderr)
    assert contents(scored / "out") == before


def test_chunks_that_do_not_fit_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "index.html"
    write_page(page, made_page("old"), {"scores.csv": b"old"})
    before = contents(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_page(page, made_page("new" * 2000), {"scores.csv": b"new"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(tmp_path) == before
    assert is_whole(tmp_path)
    assert len(list((tmp_path / "index.html.texts").iterdir())) == 1


def test_a_page_removes_only_its_own_chunks(tmp_path: Path) -> None:
    page, beside = tmp_path / "index.html", tmp_path / "index.html.texts"
    write_page(page, made_page("old"))
    [old] = beside.iterdir()
    (beside / "notes.txt").write_text("mine")
    (beside / "0123456789abcdef").mkdir()
    (beside / "0123456789abcdef" / "mine.js").write_text("alert('mine')")
    (old / "mine.txt").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "chunk.js").write_text("textgamutChunk(")
    (beside / "link").symlink_to(tmp_path / "elsewhere")
    (beside / "fedcba9876543210").symlink_to(tmp_path / "elsewhere")
    write_page(page, made_page("new"))
    assert (beside / "notes.txt").read_text() == "mine"
    assert (beside / "0123456789abcdef/mine.js").read_text() == "alert('mine')"
    assert [path.name for path in old.iterdir()] == ["mine.txt"]
    assert (tmp_path / "elsewhere/chunk.js").exists()
    assert (beside / "link").is_symlink()
    write_page(page, made_page("new"))  # the same again
    assert list(beside.glob("*/texts/columns.js"))


def test_two_writers_at_once_leave_one_whole_result(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from test_written import made_page; from textgamut.report.experiment_page import write_page\n"
        "for turn in range(30):\n"
        "    text = f'{sys.argv[2]} {turn}'\n"
        "    page = made_page(text)\n"
        "    write_page(Path('index.html'), page, {'scores.csv': page.explorer.chunks[0].content})\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    writers = [
        subprocess.Popen([*command, name], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for name in "abc"
    ]
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 3
    assert is_whole(tmp_path)
    [columns] = tmp_path.glob("index.html.texts/*/texts/columns.js")
    assert (tmp_path / "scores.csv").read_bytes() in columns.read_bytes()  # of the same version
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "index.html",
        "index.html.texts",
        "scores.csv",
    ]
