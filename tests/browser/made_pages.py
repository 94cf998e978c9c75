"""Pages of made texts: small ones, large ones, and hostile ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from textgamut.catalogue import METRICS
from textgamut.features.projection import project_features
from textgamut.metrics import support_scores
from textgamut.metrics.neighbours import neighbour_table
from textgamut.rankings.method_scores import MethodScores, scores_table
from textgamut.rankings.ranking import rank_methods
from textgamut.report.criteria import RankedMethods
from textgamut.report.experiment_page import Column, Entry, Page, Section, Table, metric_table, write_page
from textgamut.report.explorer_chunks import ExplorerTask, GeneratedSet, TextSet, explorer_data

TOPICS = ["politics", "sport"]
HOSTILE_METHOD = "<b>Gamma</b>"
HOSTILE = [
    "<script>document.title = 'broken'</script><img src=x onerror=\"document.title='broken'\">",
    "</script></section></main></body></html><h1>broken</h1>",
    "nul \0 bell \x07 escape \x1b delete \x7f next line \x85 none \uffff",
    "\u202eoverridden \u2067isolated \u202aembedded, and never closed",
    "שלום עולם, مرحبا بالعالم",
    "",
    " \n\t ",
    "👩‍👩‍👧‍👦 🏳️‍🌈 é 漢字",
    "word " * 40_000,
    "\u2028line\u2029paragraph <!-- ]]> --> ${injected} {{ 7 * 7 }}",
]


def made_task(
    texts: int,
    name: str = "made",
    hostile: Sequence[str] = (),
    cells: int = 3,
    samples: int = 1,
    human_prompts: bool = False,
) -> ExplorerTask:
    """Return a task of ``cells`` cells and one set of human texts, with ``texts`` texts each.

    Each prompt has ``samples`` generated texts of a cell, and, with ``human_prompts``, a human text. Cells 0
    and 1 are of model Alpha, with two seeds; the others of Beta, which writes about sport only. The first
    texts of cell 0 are the hostile ones.
    """
    rng = np.random.default_rng(0)
    features = [np.abs(rng.normal(size=(texts, 8))) for _ in range(cells + 1)]
    features[-1][::3] *= -1  # far from all human texts
    places = np.split(project_features(features), cells + 1)

    def topics_of(side: int) -> list[str]:
        return [TOPICS[0 if side in (0, 1, 2) and row % 2 else 1] for row in range(texts)]

    def frame(side: int, prefix: str) -> pd.DataFrame:
        topics = topics_of(side)
        written = [f"{prefix} {row} is a made text about {topic}." for row, topic in enumerate(topics)]
        if side == 1:
            written[: len(hostile)] = hostile
        return pd.DataFrame(
            {
                "id": [f"{prefix.lower().replace(' ', '-')}-{row}" for row in range(texts)],
                "text": written,
                "prompt_id": [
                    f"p-{row // samples}" if side or human_prompts else None for row in range(texts)
                ],
                "prompt": [
                    f"Prompt {row // samples}:" if side or human_prompts else None for row in range(texts)
                ],
                "diversity": rng.uniform(size=texts),
            }
        )

    human = TextSet(frame(0, "Human"), pd.DataFrame({"topic": topics_of(0)}), places[0])
    sets = []
    for cell in range(cells):
        model, seed = ("Alpha", cell + 1) if cell < 2 else ("Beta", 1)
        table = frame(cell + 1, f"{model} {seed}")
        scores = support_scores.score(features[cell + 1], features[0], 4)
        neighbours = neighbour_table(scores, 4, list(human.texts["id"]), list(table["id"]))
        groups = pd.DataFrame({"topic": topics_of(cell + 1)})
        sets.append(GeneratedSet(table, groups, places[cell + 1], model, model, "sampled", seed, neighbours))
    return ExplorerTask(name, name, human, sets, 4, "made features", "PCA")


def named_task() -> ExplorerTask:
    """Return a task with models and labels that are called like what the filters show besides them.

    There are 20 texts each of humans and of three models; five of each have each label, or none.
    """
    task = made_task(20, "named")
    labels = pd.DataFrame({"kind": [*["none"] * 5, *["*none"] * 5, *["\0"] * 5, *[None] * 5]}, dtype="str")
    human = TextSet(task.human.texts, labels, task.human.positions)
    names = ("human texts", "*human texts", "\u202eturned")
    cells = [
        GeneratedSet(cell.texts, labels, cell.positions, name, name, "sampled", 1, cell.neighbours)
        for name, cell in zip(names, task.cells, strict=True)
    ]
    cells[0].texts["text"] = "👩‍👩‍👧‍👦" * 700 + cells[0].texts["text"]
    return ExplorerTask("named", "named", human, cells, 4, "made features", "PCA")


def made_scores() -> MethodScores:
    """Return scores of three methods on 40 prompts of the made task, with ties and missing values.

    Beta is the best on average in all criteria. Gamma has no texts.
    """
    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, size=(40, 3, 3)) / 10 + 1 / 3
    values[:, 1] += [0.1, 0.1, -0.1]
    values[3, 1, 0] = values[5, :, 1] = np.nan
    prompts = [f"made/p-{row}" for row in range(40)]
    criteria, higher = ["diversity", "likes", "perplexity"], np.array([True, True, False])
    return MethodScores(prompts, ["Alpha", "Beta", HOSTILE_METHOD], criteria, values, higher)


def made_ranking(name: str = "made") -> RankedMethods:
    """Return the ranking of the made scores."""
    scores = made_scores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        methods = rank_methods(scores).methods
    better = {
        name: "higher" if up else "lower" for name, up in zip(scores.criteria, scores.higher, strict=True)
    }
    labels = {"model": {method: method.upper() for method in scores.methods}}
    cells = {name: ["Alpha", "Alpha", "Beta"]}
    return RankedMethods(name, methods, scores_table(scores, labels), better, cells)


def write_scored_page(path: Path) -> Path:
    """Write a page of many metrics and methods, with texts: what a large comparison looks like."""
    rng = np.random.default_rng(2)
    names = [name for name in METRICS if METRICS[name].family in ("support", "divergence", "vendi", "ngram")]
    values = {name: rng.random(30) for name in names}
    ends = {
        f"{name}_{end}": of + shift
        for name, of in values.items()
        for end, shift in (("low", -0.1), ("high", 0.1))
    }
    frame = pd.DataFrame(
        {"model": [f"a model with a long name {row}" for row in range(30)], **values, **ends}
    )
    table = metric_table(frame, {"model": "model"}, "Scores")
    sections = [
        Section("verdicts", "Verdicts", ["One is better."], overview=False),
        Section("scores", "Scores", ["30 models."], [table]),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of small samples
        task = made_task(40)
    write_page(path, Page("Scored", sections, explorer=explorer_data([task]), metrics=names))
    return path


def write_made_page(
    path: Path,
    tasks: Sequence[ExplorerTask],
    rankings: Sequence[RankedMethods] = (),
    most_inline: int = 25 * 10**6,
) -> Path:
    """Write a page of tasks and rankings with a table of two rows."""
    columns = [Column("method", numeric=False), Column("precision ↑", numeric=True, metric="precision")]
    rows = [[Entry("Alpha", "Alpha"), Entry("0.500", 0.5)], [Entry("Beta", "Beta"), Entry("0.900", 0.9)]]
    section = Section("made", "made", ["A sentence."], [Table("Scores", columns, rows)])
    data = explorer_data(tasks, rankings, most_inline)
    page = Page("Made <b>page</b>", [section], explorer=data, metrics=["precision"])
    write_page(path, page)
    return path
