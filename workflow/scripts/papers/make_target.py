"""Make a table or figure of a paper, with the published values beside ours."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from textgamut.files import to_csv, write_bytes
from textgamut.report.figures import look
from textgamut.report.figures.style import FORMATS, notice_figure, render
from textgamut.report.papers.shapes import make_target as make
from textgamut.report.papers.target_page import plain_table, printed_name, target_page
from textgamut.report.papers.target_settings import TargetSettings
from textgamut.report.table_formats import latex_table, markdown_table
from textgamut.run.script import run
from textgamut.workflow.target_files import read_files


def make_target(
    settings: dict[str, Any], inputs: dict[str, list[Path]], outputs: dict[str, Path]
) -> dict[str, Any]:
    with look.using(settings.get("figures", {})):
        return write_target(TargetSettings.of(settings), inputs, outputs)


def write_target(
    of: TargetSettings[Any], inputs: dict[str, list[Path]], outputs: dict[str, Path]
) -> dict[str, Any]:
    result = make(of, read_files(inputs))
    figure = result.figure
    if "svg" in outputs:
        figure = figure or notice_figure(of.target.title, "There is nothing to show.")
        for suffix in FORMATS:
            write_bytes(outputs[suffix], render(figure, suffix))
    picture = render(figure, "svg") if figure else None
    write_bytes(outputs["html"], target_page(of.name, of.target.title, result, picture).encode())
    columns, rows = plain_table(result.table)
    title = f"{printed_name(of.name)}: {of.target.title}"
    write_bytes(outputs["tex"], latex_table(columns, rows, title).encode())
    write_bytes(outputs["md"], markdown_table(columns, rows, title).encode())
    write_bytes(outputs["csv"], to_csv(result.table.frame()))
    return {"table": asdict(result.table), "notes": result.notes}


if __name__ == "__main__":
    run(make_target)
