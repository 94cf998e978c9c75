"""Labels of points: textgamut compared with textalloc, and with adjustText if it is installed.

    .venv/bin/python benchmarks/labels.py [--scores results/papers/demo/news/scores.parquet] [--seeds 3]

Each places the labels of the same precision-recall figures: those of the demo's scores, if these exist, and
made-up ones of 5, 12 and 25 models in two crowds, 25 runs each. textalloc uses the options with the fewest
overlaps among those that were tried. Counts in the finished figures, as means:

- labels: pairs of labels that overlap
- markers: labels that overlap a marker
- outside: labels that are partly outside the axes
- nearer: labels that are nearer to another marker than to their own
- crossed: labels and markers between a label and its marker, if their distance is more than 12 points
- points: single runs, and points of the outlines of ellipses, below a label
- distance: from a marker to its label, in points of 1/72 inch
- seconds

and whether a second run renders the same bytes.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from textgamut.report.figures import labels, precision_recall
from textgamut.report.figures.model_styles import ModelStyle
from textgamut.report.figures.precision_recall import precision_recall_figure
from textgamut.report.figures.style import render

Marks = list[tuple[str, tuple[float, float]]]
Placement = Callable[[Figure, Axes, Marks, np.ndarray], None]
MARKER = 7.5  # points of 1/72 inch, as in the figure
TEXT = {
    "parse_math": False,
    "zorder": 5,
    "path_effects": [withStroke(linewidth=2, foreground="white")],
}


def with_textalloc(figure: Figure, axes: Axes, marks: Marks, points: np.ndarray) -> None:
    import textalloc

    x, y = np.array([place for _, place in marks]).T
    textalloc.allocate(
        axes,
        x,
        y,
        [label for label, _ in marks],
        x_scatter=np.concatenate([x, points[:, 0]]),
        y_scatter=np.concatenate([y, points[:, 1]]),
        textsize=labels.FONT_SIZE,
        max_distance=0.4,
        nbr_candidates=1000,
        linecolor="#777777",
        linewidth=0.6,
        **TEXT,
    )


def with_adjust_text(figure: Figure, axes: Axes, marks: Marks, points: np.ndarray) -> None:
    from adjustText import adjust_text

    texts = [axes.text(*place, label, fontsize=labels.FONT_SIZE, **TEXT) for label, place in marks]
    line = {"arrowstyle": "-", "color": "#777777", "lw": 0.6}
    adjust_text(texts, x=points[:, 0], y=points[:, 1], ax=axes, iter_lim=500, arrowprops=line)


def made_up(models: int, seed: int) -> pd.DataFrame:
    """Return the tidy scores of models in two crowds, 5 seeds x 5 draws each."""
    rng = np.random.default_rng(seed)
    names = [f"Model {'x' * rng.integers(1, 9)} {i + 1}B{' Chat' * (i % 2)}" for i in range(models)]
    centres = np.where(np.arange(models)[:, None] % 2, (0.88, 0.25), (0.72, 0.65))
    centres = centres + rng.normal(0, 0.04, (models, 2))
    rows = []
    for name, centre in zip(names, centres, strict=True):
        for run, draw in itertools.product(range(5), range(5)):
            values = np.clip(centre + rng.normal(0, 0.012, 2), 0, 1)
            facts = {"task": "t", "model": name, "decoding": "d", "embedder": "e", "n": 4000, "k": 4}
            facts |= {"group": "all", "seed": run, "draw": draw}
            rows += [
                facts | {"metric": metric, "value": float(value)}
                for metric, value in zip(("precision", "recall"), values, strict=True)
            ]
    return pd.DataFrame(rows)


def draw(scores: pd.DataFrame, placement: Placement) -> tuple[Figure, dict[str, float]]:
    """Draw the figure, its labels placed by ``placement``, and count what is wrong with them."""
    seen: dict[str, float] = {}

    def place(figure: Figure, axes: Axes, marks: Marks, points: np.ndarray) -> None:
        started = time.perf_counter()
        placement(figure, axes, marks, points)
        seen["seconds"] = time.perf_counter() - started
        figure.draw_without_rendering()
        scale = 72 / figure.dpi
        names = [name for name, _ in marks]
        texts = {text.get_text(): text for text in axes.texts if text.get_text() in names}
        boxes = scale * np.array([texts[name].get_window_extent().get_points() for name in names])
        low, high = boxes[:, 0], boxes[:, 1]
        markers = scale * axes.transData.transform([place for _, place in marks])
        near = scale * axes.transData.transform(points)
        frame = scale * axes.get_window_extent().get_points()
        gaps = distances(low, high, markers)
        pairs = itertools.combinations(range(len(names)), 2)
        seen["labels"] = sum(bool(((low[i] < high[j]) & (low[j] < high[i])).all()) for i, j in pairs)
        seen["markers"] = int((gaps < MARKER / 2).any(axis=1).sum())
        seen["outside"] = int(((low < frame[0]) | (high > frame[1])).any(axis=1).sum())
        ends = np.clip(markers, low, high)
        others = ~np.eye(len(names), dtype=bool)
        seen["nearer"] = int(((gaps < np.diag(gaps)[:, None]) & others).any(axis=1).sum())
        seen["crossed"] = 0
        for i in np.flatnonzero(np.diag(gaps) > labels.LEADER):
            way = markers[i] + np.linspace(0, 1, 100)[:, None] * (ends[i] - markers[i])
            labels_met = (distances(low, high, way) == 0).any(axis=1) & others[i]
            markers_met = (distances(markers, markers, way) < MARKER / 2).any(axis=1) & others[i]
            seen["crossed"] += int(labels_met.sum() + markers_met.sum())
        seen["points"] = int((distances(low, high, near) == 0).sum())
        seen["distance"] = float(np.diag(gaps).mean())

    models = {
        str(name): ModelStyle(str(name), str(name)[:9], "Chat" in str(name)) for name in scores["model"]
    }
    with patch.object(precision_recall, "place_labels", place):
        figure = precision_recall_figure(scores, models, "Precision and recall")
    return figure, seen


def distances(low: np.ndarray, high: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distance (L, P) from each box to each point, 0 inside."""
    beyond = np.maximum(np.maximum(low[:, None] - points, points - high[:, None]), 0)
    return np.hypot(beyond[..., 0], beyond[..., 1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", type=Path, default=Path("results/papers/demo/news/scores.parquet"))
    parser.add_argument("--seeds", type=int, default=3, help="made-up figures of each size")
    arguments = parser.parse_args()
    figures = {
        f"{models} models": [made_up(models, seed) for seed in range(arguments.seeds)]
        for models in (5, 12, 25)
    }
    if arguments.scores.exists():
        demo = pd.read_parquet(arguments.scores)
        figures = {"demo": [demo[(demo["task"] == "news") & (demo["group"] == "all")]]} | figures
    placements: dict[str, Placement] = {"textgamut": labels.place_labels, "textalloc": with_textalloc}
    if find_spec("adjustText"):
        placements["adjustText"] = with_adjust_text
    columns = ("labels", "markers", "outside", "nearer", "crossed", "points", "distance", "seconds")
    print(f"{'':10} {'':10} " + " ".join(f"{column:>8}" for column in columns) + "  same bytes")
    for (name, tables), (peer, placement) in itertools.product(figures.items(), placements.items()):
        found, same = [], True
        for scores in tables:
            figure, seen = draw(scores, placement)
            again, _ = draw(scores, placement)
            found.append(seen)
            same &= render(figure, "svg") == render(again, "svg")
        means = pd.DataFrame(found)[list(columns)].mean()
        print(f"{name:10} {peer:10} " + " ".join(f"{mean:8.2f}" for mean in means) + f"  {same}")


if __name__ == "__main__":
    main()
