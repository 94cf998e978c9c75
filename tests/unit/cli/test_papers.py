"""`textgamut papers`: the list, a table in the terminal, what is missing, the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_paper import FILE, read_paper, write_paper, write_support

from textgamut.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_paper(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAPER_KEY", raising=False)
    return tmp_path


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_the_list_tells_state_cost_and_needs(folder, capsys) -> None:
    before = files(folder)
    assert main(["papers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"small ({FILE})"
    first, _, figure, essays = (" ".join(line.split()) for line in lines[2:6])
    assert first == "Table 1a table_1a Creative texts not begun 0 of 4 0.44 0"
    assert (
        figure == "Figure 1 figure_1 News not begun 0 of 1 0 ? (0 of 1 models estimated) PAPER_KEY (not set)"
    )
    assert essays.startswith("Table 9 table_9 Essays cannot be made 0 of 1")
    assert "no file asap.tsv" in essays
    assert files(folder) == before


def test_json_says_the_same(folder, capsys) -> None:
    assert main(["papers", "small", "--json"]) == 0
    [paper] = json.loads(capsys.readouterr().out)["papers"]
    assert (paper["name"], paper["configfile"]) == ("small", str(FILE))
    states = {target["name"]: target for target in paper["targets"]}
    assert (states["table_1a"]["status"], states["table_1a"]["cells"]) == ("missing", 4)
    assert states["figure_1"]["keys"] == {"PAPER_KEY": False}
    assert states["table_9"]["status"] == "unavailable"


def test_a_complete_table_is_printed_beside_the_published_values(folder, capsys) -> None:
    config = read_paper(folder)
    for cell in config.cells("stories"):
        write_support(folder, config, cell, 0.951 if cell.model == "llama" else 0.932)
    before = files(folder)
    assert main(["papers", str(FILE), "table_1a"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Table 1a: Creative texts\n")
    assert "0.932 ± 0.000" in out
    assert "0.93 ± 0.01 (+0.002)" in out
    assert "1.00 ± 0.00 (-0.049 *)" in out
    assert "more than the spread that the paper states (3 of 4 values that can be compared)" in out
    absent = "Llama-2 13B Chat, Llama-2 7B Chat, Mistral 7B Instruct"
    assert f"In the paper, but not in this experiment: {absent}." in out
    assert "PARTIAL" not in out
    assert "missing" not in out
    assert files(folder) == before


def test_a_table_without_all_cells_is_only_made_when_asked_and_says_so(folder, capsys) -> None:
    config = read_paper(folder)
    vicuna = [cell for cell in config.cells("stories") if cell.model == "vicuna"]
    write_support(folder, config, vicuna[0])
    assert main(["papers", "small", "table_1"]) == 1
    error = capsys.readouterr().err
    assert "table_1a: 3 of 4 cells are missing" in error
    assert f"`snakemake table_1a --configfile {FILE}`" in error
    assert "--partial" in error
    assert main(["papers", "small", "table_1", "--partial"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("PARTIAL: 1 of 4 cells\nTable 1a")
    assert second.startswith("PARTIAL: 1 of 4 cells\nTable 1b")
    precision = next(line for line in first.splitlines() if line.startswith("Precision"))
    assert precision.split() == ["Precision", "missing", "—", "—", "—", "0.940"]


def test_json_marks_missing_entries(folder, capsys) -> None:
    config = read_paper(folder)
    write_support(folder, config, config.cells("stories")[-1])
    assert main(["papers", "small", "table_1a", "--partial", "--json"]) == 0
    [target] = json.loads(capsys.readouterr().out)["targets"]
    assert (target["partial"], target["cells"], target["cells_done"]) == (True, 4, 1)
    found = {(entry["row"], entry["column"]): entry for entry in target["entries"]}
    assert found["Precision", "Vicuna 7B"]["ours"] == 0.94
    assert found["Precision", "Llama-2 70B Chat"]["missing"]
    assert not found["Precision", "Mistral 7B Instruct"]["missing"]


def test_a_table_without_any_scores_shows_the_published_values(folder, capsys) -> None:
    assert main(["papers", "small", "table_1a", "--partial"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("PARTIAL: 0 of 4 cells")
    assert "0.93 ± 0.01" in out


def test_the_page_is_written_when_asked(folder, capsys) -> None:
    assert main(["papers", "small", "--html"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "results/papers/small/index.html"
    assert "Table 1a" in (folder / "results/papers/small/index.html").read_text()


def test_experiments_without_targets_are_listed_as_such(folder, capsys) -> None:
    write_paper(folder / "other", targets={})
    assert main(["papers", str("other" / FILE)]) == 0
    assert "no tables and figures" in capsys.readouterr().out
