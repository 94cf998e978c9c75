"""Precision and recall of the models of a task (PR Figures 1 and 2).

``scores`` are tidy scores (see ``report.tables``). Labels and titles are shown literally, never as markup.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from textgamut.config.task_kinds import HUMAN
from textgamut.errors import DataError
from textgamut.metrics.rows import HUMANS
from textgamut.report.figures import style
from textgamut.report.figures.labels import place_labels
from textgamut.report.figures.model_styles import ModelStyle, order_runs
from textgamut.report.names import shortened
from textgamut.report.tables import mean_intervals, precision_recall_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REVISION = 3
"""Increase when the same scores produce a different figure."""

_ANGLES = np.linspace(0, 2 * np.pi, 60, endpoint=False)
_CIRCLE = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
LINE = 26
"""Maximum number of characters of a line of the legend of a comparison."""
LEAST_RUNS = 4
"""Minimum number of runs of an error ellipse; three would make it 12 standard deviations wide each way."""

_MARKERS = {True: ("o", "chat"), False: ("^", "pre-trained")}
_BESIDE: dict[str, Any] = {
    "loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False, "fontsize": 9, "borderaxespad": 0,
}  # fmt: skip
"""Options of a legend next to the axes."""


def error_ellipse(
    x: ArrayLike, y: ArrayLike, n_std: float = 2.0
) -> tuple[tuple[float, float], float, float, float]:
    """Compute the error ellipse of a two-dimensional sample (PR Figure 1).

    Its semi-axes are ``n_std`` times the square roots of the eigenvalues of the sample covariance. It
    contains a share of 1 - exp(-n_std^2 / 2) of a normal distribution whose mean and covariance are those of
    the sample: 86.5 % for two standard deviations. Of a small sample, it contains less, see
    :func:`prediction_radius`.

    Args:
        x: (R,) first coordinate of each run.
        y: (R,) second coordinate.
        n_std: Length of each semi-axis, in standard deviations along it.

    Returns:
        Centre, width (full length of the major axis) and height (full length of the minor axis) in the unit
        of x and y, and the angle in degrees, in (-90, 90], from the x axis counter-clockwise to the major
        axis.

    Raises:
        DataError: If there are fewer than three runs, since their covariance is always degenerate.
    """
    points = np.stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    if points.shape[1] < 3:
        raise DataError(f"an error ellipse needs at least 3 runs, found {points.shape[1]}")
    eigenvalues, vectors = np.linalg.eigh(np.cov(points, ddof=1))
    height, width = 2 * n_std * np.sqrt(np.maximum(eigenvalues, 0))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    angle = 90 - (90 - angle) % 180
    center = (float(points[0].mean()), float(points[1].mean()))
    return center, float(width), float(height), angle


def prediction_radius(runs: int) -> float:
    """Return how many standard deviations an error ellipse needs to contain a new run with 86.5 %.

    Mean and covariance of few runs are uncertain: an ellipse of two standard deviations of four runs contains
    a new run with 52 % only. Of independent normal runs, the squared radius is (R^2 - 1) / R times
    (exp(4 / (R - 2)) - 1), Hotelling's T^2 for a new observation in two dimensions, where the quantiles of F
    have a closed form. It tends to two standard deviations. Runs that share references or generated texts are
    not independent, so that a run with new ones lies inside less often.

    Args:
        runs: Number of runs R, at least ``LEAST_RUNS``.
    """
    return float(np.sqrt((runs**2 - 1) / runs * np.expm1(4 / (runs - 2))))


@style.own_settings()
def precision_recall_figure(
    scores: pd.DataFrame, models: Mapping[str, ModelStyle], title: str, ellipses: bool = False
) -> Figure:
    """Plot recall against precision of models (PR Figure 1).

    Each (model, decoding) has a marker at the mean over its runs, a dot for each run, and a cross for the
    95 % intervals of one run, if the scores have any. With ``ellipses``, those of the paper take the place of
    the crosses, with two standard deviations, but scaled by the number of runs (see
    :func:`prediction_radius`); they can leave the range of precision and recall. Cells with fewer than four
    runs have none, which the small print mentions. With more than eight families, colours repeat. Held-out
    human texts are a black diamond. Axes that do not begin at 0 are marked as broken.

    Args:
        scores: Tidy scores of one task, embedder, N and k.
        models: Slug -> style, in the order of drawing. Slugs that are not in ``scores`` are ignored.
        title: Title of the figure.
        ellipses: Whether the figure is that of the paper.

    Returns:
        The figure, 7.2 x 5 inches.

    Raises:
        DataError: If the scores are not comparable or incomplete (see
            :func:`textgamut.report.tables.precision_recall_runs`), or a model has no style.
    """
    runs = order_runs(precision_recall_runs(scores, alike=["task", "embedder", "n", "k"]), models)
    figure, axes = style.new_figure(title, height=5.0)
    families = dict.fromkeys(models[slug].family for slug in runs["model"] if slug != HUMAN)
    colours = dict(zip(families, itertools.cycle(style.COLOURS), strict=False))
    several = runs.groupby("model")["decoding"].nunique() > 1
    marks: list[tuple[str, tuple[float, float]]] = []
    obstacles = [runs[["precision", "recall"]].to_numpy()]
    bare: list[str] = []
    with_ellipse = []
    intervals = mean_intervals(scores)
    crosses = False
    for (model, decoding), cell in runs.groupby(["model", "decoding"], sort=False):
        slug = str(model)
        own = models[slug]
        colour = "black" if slug == HUMAN else colours[own.family]
        x, y = cell["precision"].to_numpy(), cell["recall"].to_numpy()
        label = f"{own.label} ({decoding})" if several[slug] else own.label
        if ellipses and len(cell) < LEAST_RUNS:
            bare.append(label)
        elif ellipses:
            with_ellipse.append(cell)
            obstacles.append(_draw_ellipse(axes, x, y, colour))
        limits = [
            not ellipses and intervals.get((slug, str(decoding), metric))
            for metric in ("precision", "recall")
        ]
        if limits[0] and limits[1]:
            crosses = True
            arms = [(limits[0], (y.mean(), y.mean())), ((x.mean(), x.mean()), limits[1])]
            for arm in arms:
                axes.plot(*arm, color=colour, alpha=0.5, lw=0.8, zorder=1.8)
                obstacles.append(np.transpose(arm))
        axes.plot(x, y, ".", color=colour, alpha=0.5, ms=5, mew=0, zorder=2)
        marker = "D" if slug == HUMAN else _MARKERS[own.chat][0]
        axes.plot(
            x.mean(), y.mean(), marker, color=colour, ms=7.5, mec="white", mew=0.8, clip_on=False, zorder=4
        )
        marks.append((label, (float(x.mean()), float(y.mean()))))
    points = np.concatenate(obstacles)
    broken = _set_limits(axes, points)
    _family_legend(axes, colours, [models[slug].chat for slug in runs["model"].unique() if slug != HUMAN])
    shown = ["Markers: means", "dots: single runs"]
    if with_ellipse:
        shown.append(
            f"ellipses: 2 sd over {_design(with_ellipse)}, scaled by the number of runs so that a new run "
            "lies inside with 86.5 %"
        )
    if crosses:
        shown.append("crosses: 95 % intervals of one run, from half-samples")
    missing = (
        [f"Too few runs for ellipses of {', '.join(bare) if with_ellipse else 'any model'}."] if bare else []
    )
    style.small_print(figure, _small_print(runs, [*shown, *broken], missing))
    style.settle(figure)
    place_labels(figure, axes, marks, points)
    return figure


def _draw_ellipse(
    axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], colour: str
) -> NDArray[np.float64]:
    """Draw the error ellipse of some runs, and return points (P, 2) on it."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Ellipse

    center, width, height, angle = error_ellipse(x, y, prediction_radius(len(x)))
    face = to_rgba(colour, 0.10)
    ellipse = Ellipse(center, width, height, angle=angle, fc=face, ec=colour, lw=1.1, zorder=1.5)
    axes.add_patch(ellipse)
    return ellipse.get_patch_transform().transform(_CIRCLE)


@style.own_settings()
def comparison_figure(table: pd.DataFrame, title: str, note: str) -> Figure:
    """Plot recall against precision of models that were scored once each, with their 95 % intervals.

    Human texts are a black diamond.

    The models are numbered; their names are in the legend, where there is room for long ones.

    Args:
        table: One row per model: ``model``, which is shortened if it is long, ``precision``, ``recall`` and,
            if there are intervals, ``precision_low``, ``precision_high``, ``recall_low``, ``recall_high``.
        title: Title of the figure.
        note: First sentence of the small print.

    Returns:
        The figure, 7.2 inches wide, and 5 inches high or as high as the legend. With more than eight models,
        colours repeat.
    """
    numbered = [f"{i}  {name}" for i, name in enumerate(table["model"], start=1)]
    names = [_on_two_lines(name) for name in shortened(numbered, 2 * LINE)]
    lines = sum(name.count("\n") + 1 for name in names)
    figure, axes = style.new_figure(title, height=max(5.0, 1.0 + 0.15 * lines + 0.07 * len(names)))
    crosses = "precision_low" in table
    obstacles = [table[["precision", "recall"]].to_numpy()]
    numbers: dict[tuple[float, float], list[str]] = {}  # of the models at each place
    handles = []
    for number, (row, colour) in enumerate(
        zip(table.to_dict("records"), itertools.cycle(style.COLOURS), strict=False), start=1
    ):
        x, y = row["precision"], row["recall"]
        human = row["model"] in HUMANS
        colour, marker = ("black", "D") if human else (colour, "o")
        if crosses:
            ends = [(row[f"{name}_low"], row[f"{name}_high"]) for name in ("precision", "recall")]
            for arm in [(ends[0], (y, y)), ((x, x), ends[1])]:
                axes.plot(*arm, color=colour, alpha=0.5, lw=0.8, zorder=1.8)
                obstacles.append(np.transpose(arm))
        handles += axes.plot(
            x, y, marker, color=colour, ms=7.5, mec="white", mew=0.8, ls="", clip_on=False, zorder=4
        )
        numbers.setdefault((x, y), []).append(str(number))
    points = np.concatenate(obstacles)
    broken = _set_limits(axes, points)
    style.name_entries(axes.legend(handles, [""] * len(names), handletextpad=0.3, **_BESIDE), names)
    said = ["Crosses: 95 % intervals, from half-samples"] * crosses + [of.capitalize() for of in broken]
    style.small_print(figure, ". ".join([note, *said, ""]).rstrip())
    style.settle(figure)
    place_labels(figure, axes, [(", ".join(found), place) for place, found in numbers.items()], points)
    return figure


@style.own_settings()
def subsets_figure(
    scores: pd.DataFrame, models: Mapping[str, ModelStyle], title: str, descriptions: Mapping[str, str]
) -> Figure:
    """Plot precision and recall of simulated models, each a known subset of human text (PR Figure 2).

    Args:
        scores: Tidy scores of one task, decoding, embedder, N and k.
        models: Slug -> style, in the order of the bars. Slugs that are not in ``scores`` are ignored.
        title: Title of the figure.
        descriptions: Slug -> description of the subset, shown below the label.

    Returns:
        The figure, 7.2 x 4.2 inches: bars are means over the runs. Error bars are two standard deviations
        over the runs or, where that is wider, the 95 % interval of one run, averaged over the runs.

    Raises:
        DataError: See :func:`precision_recall_figure`.
    """
    runs = precision_recall_runs(scores, alike=["task", "decoding", "embedder", "n", "k"])
    runs = order_runs(runs, models)
    cells = runs.groupby("model", sort=False)
    slugs = [str(slug) for slug in runs["model"].unique()]
    figure, axes = style.new_figure(title, height=4.2, grid="y")
    places = np.arange(len(slugs))
    decoding = str(runs["decoding"].iloc[0])
    intervals = mean_intervals(scores)
    for metric, shift, colour in [("precision", -0.19, style.COLOURS[0]), ("recall", 0.19, style.COLOURS[4])]:
        means, spreads = cells[metric].mean().to_numpy(), 2 * cells[metric].std(ddof=1).to_numpy()
        of_runs = [intervals.get((slug, decoding, metric), (np.nan, np.nan)) for slug in slugs]
        lows, highs = np.transpose(of_runs)
        lows = np.fmin(means, np.fmin(means - spreads, lows))
        tops = np.fmin(np.fmax(means, np.fmax(means + spreads, highs)), 1.0)  # a share cannot exceed 1
        bars = style.draw_bars(axes, places + shift, (lows, means, tops), 0.34, colour, 3, 8.5)
        bars.set_label(metric.capitalize())
    _name_bars(axes, [models[slug].label for slug in slugs], [descriptions.get(slug, "") for slug in slugs])
    axes.set_xlim(-0.6, len(slugs) - 0.4)
    axes.set_ylim(0, 1.05)
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.legend(**_BESIDE)
    several = [cell for _, cell in cells if len(cell) > 1]
    widths = [f"2 sd over {_design(several)}"] if several else []
    widths += ["the 95 % interval of one run, from half-samples"] if intervals else []
    shown = ["Bars: means"]
    if widths:
        shown.append(f"error bars: {'the wider of ' * (len(widths) > 1)}{' and '.join(widths)}")
    bare = [
        slug
        for slug in slugs
        if len(cells.get_group(slug)) == 1 and (slug, decoding, "precision") not in intervals
    ]
    who = ", ".join(models[slug].label for slug in bare) if len(bare) < len(slugs) else "any model"
    style.small_print(
        figure, _small_print(runs, shown, [f"Too few runs for error bars of {who}."] if bare else [])
    )
    style.settle(figure)
    return figure


def task_figure(
    scores: pd.DataFrame,
    models: Mapping[str, ModelStyle],
    task: str,
    dataset: str,
    subsets: Mapping[str, Sequence[str]],
    references: Sequence[str],
) -> Figure:
    """Plot precision and recall of a task of any kind.

    Args:
        scores: Tidy scores of the task.
        models: Slug -> style.
        task: Slug of the task.
        dataset: Slug of the dataset.
        subsets: Simulated model -> labels of its human texts; empty if the texts are generated.
        references: Labels of the references in a task with subsets.
    """
    if not subsets:
        return precision_recall_figure(scores, models, f"Precision and recall on {task} ({dataset})")
    title = f"Human texts play the models; references: {' + '.join(references)}"
    return subsets_figure(scores, models, title, {name: " + ".join(of) for name, of in subsets.items()})


def _on_two_lines(name: str) -> str:
    return "\n".join(name[start : start + LINE] for start in range(0, len(name), LINE))


def _set_limits(axes: Axes, points: NDArray[np.float64]) -> list[str]:
    """Show the part of precision and recall that has points; mark axes that do not begin at 0, and say so."""
    from matplotlib.lines import Line2D

    limits = _limits(points[:, 0]), _limits(points[:, 1])
    axes.set(xlim=limits[0], ylim=limits[1], xlabel="Precision", ylabel="Recall")
    figure = axes.get_figure(root=True)
    assert figure is not None
    for place, (low, _) in enumerate(limits):
        for along in (0.012, 0.028) if low > 0 else ():  # two strokes across the axis, beside the origin
            ends = [(along - 0.006, along + 0.006), (-0.014, 0.014)]
            across, up = ends if place == 0 else ends[::-1]
            figure.add_artist(Line2D(across, up, color=style.INK, lw=1.0, transform=axes.transAxes, zorder=5))
    return ["axes with two strokes do not begin at 0"] if max(limits)[0] > 0 else []


def _limits(values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    pad = max(0.08 * (high - low), 0.05 - (high - low) / 2)
    return max(low - pad, 0.0), min(high + pad, 1.0)


def _family_legend(axes: Axes, colours: Mapping[str, str], chat: list[bool]) -> None:
    from matplotlib.lines import Line2D

    names = [*colours, *(_MARKERS[kind][1] for kind in (True, False) if kind in chat)]
    handles = [Line2D([], [], ls="", marker="s", color=colour, ms=7) for colour in colours.values()]
    handles += [
        Line2D([], [], ls="", marker=_MARKERS[kind][0], color="#777777", ms=7)
        for kind in (True, False)
        if kind in chat
    ]
    legend = axes.legend(
        handles,
        [""] * len(names),
        handletextpad=0.3,
        **_BESIDE,
    )
    style.name_entries(legend, names)


def _name_bars(axes: Axes, labels: list[str], descriptions: list[str]) -> None:
    width = max(10, 75 // len(labels))
    axes.set_xticks(range(len(labels)), [""] * len(labels))
    axes.tick_params(axis="x", length=0)
    for place, (label, description) in enumerate(zip(labels, descriptions, strict=True)):
        name = textwrap.fill(label, width)
        below = -6.0
        for text, size, colour in [
            (name, 10.0, "black"),
            (textwrap.fill(description, width), 8.5, style.SOFT_INK),
        ]:
            axes.annotate(
                text,
                (place, 0),
                (0, below),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=size,
                color=colour,
                parse_math=False,
            )
            below -= 1.25 * size * (text.count("\n") + 1) + 2


def _design(cells: list[pd.DataFrame]) -> str:
    """Describe the runs that deviations are computed over."""
    designs = {(cell["seed"].nunique(), cell["draw"].nunique(), len(cell)) for cell in cells}
    seeds, draws, count = next(iter(designs))
    if len(designs) == 1 and count == seeds * draws:
        draw = "reference draw" if draws == 1 else "reference draws"
        return f"{seeds} {'seed' if seeds == 1 else 'seeds'} \N{MULTIPLICATION SIGN} {draws} {draw}"
    counts = sorted({len(cell) for cell in cells})
    return f"{' to '.join(map(str, dict.fromkeys([counts[0], counts[-1]])))} runs"


def _small_print(runs: pd.DataFrame, shown: list[str], missing: list[str]) -> str:
    """Return the small print: N, k, the embedder, what is shown, and what is missing."""
    n, k, embedder = runs[["n", "k", "embedder"]].iloc[0]
    return " ".join([f"N = {n}, k = {k}, {embedder}. {'; '.join(shown)}.", *missing])
