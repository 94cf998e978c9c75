"""Tabulate the differences between each two methods of a task."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import read_table, write_bytes, write_meta
from textgamut.metrics.scores.differences import Compared, differences_of, pooled
from textgamut.metrics.scores.rows import ALL
from textgamut.metrics.scores.support import HALF_SAMPLED
from textgamut.report.comparison import DIFFERENCES_NOTE
from textgamut.report.html import to_html
from textgamut.report.tables import COLUMNS
from textgamut.workflow.jobs import job


def tabulate_differences(
    settings: dict[str, Any],
    scores: Path,
    half_samples: list[Path],
    texts: list[Path],
    csv: Path,
    html: Path,
) -> None:
    """Compare methods; ``half_samples`` are of the cells in the settings, ``texts`` is one file or none."""
    started = time.monotonic()
    frame = read_table(scores, COLUMNS)
    frame = frame[(frame["group"] == ALL) & (frame["embedder"] == settings["embedder"])]
    frame = frame[frame["metric"].isin(HALF_SAMPLED)].sort_values(["seed", "draw"])
    means = frame.groupby(["model", "decoding", "metric"], observed=True)["value"].mean()
    runs: dict[tuple[str, str], list[Any]] = {}
    for (model, decoding, _), path in zip(settings["cells"], half_samples, strict=bool(half_samples)):
        table = read_table(path, ["draw", *HALF_SAMPLED])
        for _, draw in table.groupby("draw"):
            of_draw = {name: draw[name].to_numpy(dtype=float) for name in HALF_SAMPLED}
            runs.setdefault((model, decoding), []).append(of_draw)
    of_texts = None
    if texts:
        of_texts = read_table(texts[0], ["model", "decoding", "prompt_id"]).set_index("prompt_id")
    compared = {}
    for model, decoding, name in settings["methods"]:
        if [model, decoding] not in [cell[:2] for cell in settings["cells"]]:  # the human texts
            continue
        own = None
        if of_texts is not None:
            own = of_texts[(of_texts["model"] == model) & (of_texts["decoding"] == decoding)]
        values = means.loc[model, decoding].to_dict() if (model, decoding) in means else {}
        known = runs.get((model, decoding))
        compared[name] = Compared(values, pooled(known) if known else {}, own)
    differences = differences_of(compared)
    write_meta(csv, settings, started)
    title = f"Differences between the methods of {settings['task']}"
    write_bytes(html, to_html(differences, title, DIFFERENCES_NOTE).encode())
    write_bytes(csv, differences.to_csv(index=False).encode())


if __name__ == "__main__":
    with job() as snakemake:
        tabulate_differences(
            snakemake.params.settings,
            Path(snakemake.input.scores),
            [Path(path) for path in snakemake.input.half_samples],
            [Path(path) for path in snakemake.input.texts],
            Path(snakemake.output.csv),
            Path(snakemake.output.html),
        )
