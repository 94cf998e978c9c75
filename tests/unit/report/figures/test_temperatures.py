"""Temperature figures: the numbers of the scores, a line for each top-p, what is drawn and said."""

from __future__ import annotations

import numpy as np
import pandas as pd
from made_scores import MODELS, scores_of

from textgamut.config.task_kinds import MOST_TOP_P
from textgamut.report.figures import style
from textgamut.report.figures.style import render
from textgamut.report.figures.temperatures import temperature_figure
from textgamut.report.tables import scores_file, summary_table, temperature_table

CENTRES = {slug: (0.9 - 0.05 * i, 0.3 + 0.05 * i) for i, slug in enumerate(("pythia-12b", "mistral-7b"))}
VARIANTS = {f"b-t{t}-p{p}": ("b", t, p) for t in (1.3, 0.4, 1.0) for p in (1.0, 0.9)}
NAMES = {slug: MODELS[slug].label for slug in CENTRES} | {"b": "B", "c": "C"}


def scores(**options: int) -> pd.DataFrame:
    """Return runs of two models at three temperatures and two top-p, of greedy texts, and of human texts."""
    frames = [scores_of(CENTRES, decoding=slug, **options) for slug in (*VARIANTS, "greedy")]
    human = scores_of({"human": (0.95, 0.96)}, decoding="held-out", seeds=1, spread=0)
    return pd.concat([*frames, human], ignore_index=True)


def test_the_table_has_the_numbers_of_the_table_of_scores() -> None:
    found = temperature_table(scores(), VARIANTS)
    all_scores = scores_file(summary_table(scores()))
    shown = all_scores[all_scores["decoding"] != "greedy"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found[all_scores.columns], shown)
    settings = found.dropna(subset="base").set_index("decoding")[["base", "temperature", "top_p"]]
    assert {slug: tuple(row) for slug, row in settings.iterrows()} == VARIANTS
    assert (found["base"].isna() == (found["model"] == "human")).all()


def test_a_line_for_each_top_p_ascends_through_the_values_of_the_table() -> None:
    table = temperature_table(scores(), VARIANTS)
    figure = temperature_figure(table, NAMES, "title", "N = 240.")
    assert len(figure.axes) == 4  # two models, two metrics
    axes = figure.axes[1]
    recall = table[(table["model"] == "pythia-12b") & (table["metric"] == "recall")]
    for line, top_p in zip(axes.lines, (0.9, 1.0), strict=False):
        own = recall[recall["top_p"] == top_p].sort_values("temperature")
        assert line.get_xydata().tolist() == own[["temperature", "value"]].to_numpy().tolist()
    assert axes.lines[2].get_ydata()[0] == 0.96
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "top-p 0.9", "top-p 1", "human texts,\nheld out",
    ]  # fmt: skip
    assert figure.axes[0].get_title(loc="left") == "Pythia 12B"
    assert "N = 240. Lines: means; bands: 1 sd over 4 runs." in figure.get_supxlabel().replace("\n", " ")


def test_a_single_run_has_its_interval_and_human_texts_may_be_missing() -> None:
    alone = scores(seeds=1, draws=1).query("model != 'human'")
    alone = alone.assign(low=alone["value"] - 0.1, high=alone["value"] + 0.02, deviation=0.03)
    figure = temperature_figure(temperature_table(alone, VARIANTS), NAMES, "title", "")
    assert len(figure.legends[0].get_texts()) == 2
    line = np.asarray(figure.axes[0].lines[0].get_ydata())
    band = np.asarray(figure.axes[0].collections[0].get_paths()[0].vertices)[:, 1]
    assert band.min() == line.min() - 0.1
    assert band.max() == line.max() + 0.02
    assert "95 % intervals" in figure.get_supxlabel()
    bare = alone.drop(columns=["low", "high", "deviation"])
    figure = temperature_figure(temperature_table(bare, VARIANTS), NAMES, "title", "")
    assert figure.get_supxlabel().strip() == "Lines: means."


def test_single_runs_among_several_are_told() -> None:
    """A model of four runs, and one of a single run, whose bands are 95 % intervals."""
    several, one = (scores().query("model == 'pythia-12b'"), scores(seeds=1, draws=1))
    one = one.query("model == 'mistral-7b'")
    bounded = one.assign(low=one["value"] - 0.1, high=one["value"] + 0.02, deviation=0.03)
    for single, said in (
        (bounded, "; of single runs, 95 % intervals, from half-samples of the texts"),
        (one, ""),
    ):
        table = temperature_table(pd.concat([several, single], ignore_index=True), VARIANTS)
        figure = temperature_figure(table, NAMES, "title", "")
        shown = " ".join(figure.get_supxlabel().split())
        assert shown == f"Lines: means; bands: 1 sd over 4 runs{said}."


def test_each_top_p_that_a_task_may_have_has_its_own_colour() -> None:
    assert len(set(style.COLOURS)) == MOST_TOP_P


def test_several_bases_of_a_model_are_told_apart() -> None:
    variants = VARIANTS | {f"c-t{t}-p1.0": ("c", t, 1.0) for t in (0.4, 1.0)}
    more = [scores_of(CENTRES, decoding=slug) for slug in variants if slug not in VARIANTS]
    figure = temperature_figure(
        temperature_table(pd.concat([scores(), *more]), variants), NAMES, "title", "note"
    )
    titles = [axes.get_title(loc="left") for axes in figure.axes[::2]]
    assert sorted(titles) == [f"{name} ({base})" for name in ("Mistral 7B", "Pythia 12B") for base in "BC"]


def test_same_bytes_in_any_order_of_the_runs() -> None:
    runs = scores()
    pages = [
        render(temperature_figure(temperature_table(frame, VARIANTS), NAMES, "t", "n"), "svg")
        for frame in (runs, runs.sort_values(["seed", "draw"], ascending=False, kind="stable"))
    ]
    assert pages[0] == pages[1]
