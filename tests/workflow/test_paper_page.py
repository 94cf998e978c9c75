"""Tables of a paper through Snakemake: the index page is written when a run ends, and fails no run."""

from __future__ import annotations

from pathlib import Path

from helpers import dry_run, run_warm
from made_paper import FILE, read_paper, write_paper, write_support

OPTIONS = ("--configfile", str(FILE), "--allowed-rules", "table_1a")


def test_the_index_page_is_written_at_the_end_of_a_run(project: Path, monkeypatch) -> None:
    monkeypatch.chdir(project)
    write_paper(project)
    config = read_paper(project)
    for cell in config.cells("stories"):
        file = write_support(project, config, cell)
    page = project / "results/papers/small/index.html"
    assert dry_run(project, "table_1a", *OPTIONS).returncode == 0
    assert not page.exists()

    done = run_warm(project, "table_1a", "--cores", "1", *OPTIONS)
    assert done.returncode == 0, done.stdout
    assert "Tables and figures: results/papers/small/index.html" in done.stdout
    assert '<a href="table_1a.html">' in page.read_text()

    page.unlink()
    page.mkdir()  # cannot be replaced by a file
    file.write_text("[{")
    done = run_warm(project, "table_1a", "--cores", "1", *OPTIONS)
    assert done.returncode != 0
    assert "support.json: damaged" in done.stdout
    assert "the index page is not written" in done.stdout
    assert "Traceback" not in done.stdout
