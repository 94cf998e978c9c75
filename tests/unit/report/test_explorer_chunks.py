"""The data of the text explorer: what the page's scripts read."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from browser.made_pages import (
    HOSTILE,
    HOSTILE_METHOD,
    made_ranking,
    made_scores,
    made_task,
    write_made_page,
)

from textgamut.report.chunks import script_of
from textgamut.report.explorer_chunks import ExplorerData, ExplorerTask, explorer_data


@pytest.fixture(scope="module")
def task() -> ExplorerTask:
    with pytest.warns(UserWarning, match="biased"):
        return made_task(30, hostile=HOSTILE)


def chunks_of(data: ExplorerData) -> dict[str, dict]:
    return {chunk.name: json.loads(chunk.content) for chunk in data.chunks}


def test_the_scores_of_a_ranking_are_exact() -> None:
    data = explorer_data([], [made_ranking()])
    assert (len(data.tasks), len(data.rankings)) == (0, 1)
    found = chunks_of(data)["made/criteria"]
    scores = made_scores()
    assert sorted(found["methods"]) == sorted(scores.methods)
    assert found["prompts"] == scores.prompts
    shape = len(scores.prompts), len(scores.methods), len(scores.criteria)
    values = np.frombuffer(base64.b64decode(found["values"]), "<f8").reshape(shape)
    places = [scores.methods.index(method) for method in found["methods"]]
    np.testing.assert_array_equal(values, scores.values[:, places])
    assert [criterion["better"] for criterion in found["criteria"]] == ["higher", "higher", "lower"]
    assert [found["methods"][place] for place in found["cells"]["made"]] == ["Alpha", "Alpha", "Beta"]
    assert found["kinds"] == [{"name": "model", "labels": [method.upper() for method in found["methods"]]}]
    best = found["methods"].index("Beta")
    assert found["pareto"][best] is True
    assert HOSTILE_METHOD in found["methods"]


def test_texts_of_a_prompt_share_its_number(task: ExplorerTask) -> None:
    columns = chunks_of(explorer_data([task]))["made/columns"]
    points, prompts = columns["points"], columns["prompt_ids"]
    assert points["prompt"][:30] == [None] * 30  # human texts of other prompts
    for cell in range(3):
        rows = [row for row, of in enumerate(points["cell"]) if of == cell]
        assert [prompts[points["prompt"][row]] for row in rows] == [f"p-{row}" for row in range(30)]
    assert columns["prompts"][:2] == ["Prompt 0:", "Prompt 1:"]


def test_all_texts_are_in_the_chunks_and_none_can_end_a_script(task: ExplorerTask) -> None:
    data = explorer_data([task])
    written = [text for name, texts in chunks_of(data).items() if "/texts-" in name for text in texts]
    assert written[30:40] == HOSTILE
    assert len(written) == 120
    for chunk in data.chunks:
        assert b"<" not in chunk.content
        assert b"<" not in script_of(chunk)


def test_what_is_too_large_for_one_file_stands_beside_it(task: ExplorerTask) -> None:
    size = sum(len(chunk.content) for chunk in explorer_data([task]).chunks)
    assert explorer_data([task], most_inline=size).inline
    beside = explorer_data([task], most_inline=size - 1)
    assert not beside.inline
    assert json.loads(beside.manifest("x"))["folder"] == "x"


@pytest.mark.filterwarnings("ignore:N = ")
def test_pages_have_folders_of_their_own_and_leave_no_old_chunks(tmp_path: Path) -> None:
    """A page that becomes small again has no folder; what is no chunk stays."""

    def chunks(name: str) -> dict[str, bytes]:
        files = (tmp_path / name).rglob("*.js")
        return {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in files}

    write_made_page(tmp_path / "a.html", [made_task(10)], most_inline=0)
    first = chunks("a.html.texts")
    write_made_page(tmp_path / "b.html", [made_task(12, "other")], most_inline=0)
    assert chunks("a.html.texts") == first
    write_made_page(tmp_path / "a.html", [made_task(12)], most_inline=0)
    second = chunks("a.html.texts")
    assert len(second) == len(first)
    assert not set(first) & set(second)
    assert next(iter(second)).split("/")[0] in (tmp_path / "a.html").read_text()
    write_made_page(tmp_path / "a.html", [made_task(12)])
    assert not (tmp_path / "a.html.texts").exists()
    (tmp_path / "b.html.texts" / "own.txt").touch()
    write_made_page(tmp_path / "b.html", [made_task(12)])
    assert [path.name for path in (tmp_path / "b.html.texts").iterdir()] == ["own.txt"]
