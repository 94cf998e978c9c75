"""Make the page of an experiment: scores, figures, data and settings."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import write_meta
from textgamut.report.page import write_page
from textgamut.workflow.jobs import job
from textgamut.workflow.page import read_page


def make_page(settings: dict[str, Any], page: Path) -> None:
    started = time.monotonic()
    size = write_page(page, read_page(settings))
    write_meta(page, settings, started, bytes=size)


if __name__ == "__main__":
    with job() as snakemake:
        make_page(snakemake.params.settings, Path(snakemake.output.page))
