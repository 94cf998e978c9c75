"""Read what the page of an experiment shows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from textgamut import __version__
from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import DIVERSITY, FIDELITY
from textgamut.config.cells import Cell
from textgamut.config.metrics import RANKINGS
from textgamut.config.task_kinds import HUMAN
from textgamut.files import meta_path, read_csv, read_json, read_table, reading
from textgamut.inference.verdicts import (
    embedder_verdict,
    findings,
    group_verdict,
    human_verdict,
    lost_roles,
    lost_to_others,
    of_pair,
    pair_verdicts,
    partly_read,
    with_cut,
)
from textgamut.language import language_in
from textgamut.metrics.regions import Region
from textgamut.metrics.rows import ALL, YARDSTICK
from textgamut.report.comparison import first_pairs
from textgamut.report.criteria import RankedMethods
from textgamut.report.experiment_page import (
    BEST_NOTE,
    MOST_PAIRS,
    Column,
    Entry,
    Figure,
    Page,
    Section,
    Table,
    differences_on_page,
    metric_table,
)
from textgamut.report.explorer_chunks import explorer_data
from textgamut.report.methods import (
    bibliography,
    features_sentence,
    interval_sentence,
    language_sentences,
    metric_sentences,
    test_sentences,
)
from textgamut.report.missed import missed_tables
from textgamut.report.places import certain_places, front_text
from textgamut.report.tables import COLUMNS, read_differences, read_texts_table, summary_table
from textgamut.views.explorer import read_explorer
from textgamut.workflow import paths
from textgamut.workflow.paths import fill

FIGURES = {
    "precision-recall": "Precision and recall",
    "differences": "Differences between methods",
    "temperatures": "Precision and recall against the temperature",
    "sweep": "Precision and recall for other N and k",
    "similarity": "Similarity of the completions of one prompt",
    "texts": "Metrics of single texts",
    "parameters": "Metrics of single texts by parameter of decoding",
    "correlations": "Correlations between the metrics of single texts",
    "ranking": "Ranking of the methods",
    "agreement": "Agreement of the rankings",
    "orders": "Deepest and shallowest order of the methods",
}
"""File name of a figure -> its title."""

INTERVALS_NOTE = (
    "In brackets: 95 % interval of one run, from random parts of its texts (for means over texts, from "
    "Student's t), averaged over the runs. "
)
SCORES_NOTE = (
    "±: standard deviation over the runs; of a single run, over random parts of its texts or k-means seeds. "
    f"{BEST_NOTE} Compare values only at the same N."
)
MOST_MISSED = 4
"""Maximum number of methods of a task whose missed texts are described."""
TEXTS_NOTE = "±: standard deviation over the texts."
GATES_NOTE = "Whether the texts of the candidate are worse than those of the baseline; each gate has a page."
RANKING_NOTE = (
    "Criteria: means over the texts; the scores above are of all texts together. pareto: no other method has "
    "better or equal means of all criteria. Ranks: by net dominance over prompts, by Bradley-Terry worth, "
    "and by Q*Text. In brackets: 95 % interval over resamples of the prompts."
)


def read_page(settings: Mapping[str, Any]) -> Page:
    """Read the results of an experiment.

    Args:
        settings: From :func:`textgamut.workflow.page_settings.page_settings`.

    Raises:
        DataError: If a file is damaged.
    """
    name = settings["experiment"]["name"]
    folder = Path(fill(paths.PAPER, paper=name))
    home = Path(fill(paths.PAGE, page=settings["page"])).parent
    results = settings["results"]
    said: list[str] = []
    missed: list[Table] = []
    for task, entry in settings["tasks"].items():
        if (folder / task / "differences.csv").as_posix() in results:
            sentences, lost = _verdicts(folder, task, entry, results)
            said += sentences
            missed += _missed(task, entry["explorer"], lost)
    sections = [_gates_section(settings["gates"], home)] if "gates" in settings else []
    sections += [Section("verdicts", "Verdicts", said, missed, overview=False)] if said else []
    sections += [
        _task_section(folder, task, entry, results, home) for task, entry in settings["tasks"].items()
    ]
    sections += [Section(task, f"Scores: {task}", [line]) for task, line in settings["given"].items()]
    sections += [
        _ranking_section(folder, ranking, entry, results, home)
        for ranking, entry in settings["rankings"].items()
    ]
    explorer = explorer_data(
        [read_explorer(entry["explorer"]) for entry in settings["tasks"].values()],
        [_ranked(folder, ranking, settings) for ranking in settings["rankings"]],
    )
    content = yaml.safe_dump(settings["experiment"], sort_keys=False, allow_unicode=True, width=100)
    return Page(
        title=f"Results of {settings['page'].replace('/', ': ')}",
        sections=sections,
        data=[_dataset_section(dataset, home) for dataset in settings["datasets"]],
        methods=_methods(folder, settings),
        explorer=explorer,
        settings=[table for table in (_hardware(settings["tasks"]),) if table.rows],
        configuration=content,
        metrics=[
            column.metric
            for section in sections
            for table in section.tables
            for column in table.columns
            if column.metric
        ],
    )


def _methods(folder: Path, settings: Mapping[str, Any]) -> str:
    """Say how the tasks were measured, in a paragraph for a paper, with the entries that it cites."""
    sentences, tables = [f"Measured by textgamut {__version__}."], []
    scores = {task: _scores(folder, task) for task in settings["tasks"]}
    computed = {metric for frame in scores.values() for metric in frame["metric"]}
    for task, entry in settings["tasks"].items():
        sentences.append(f"{task}: {' '.join([*entry['sentences'], *_language(task, entry['explorer'])])}")
        path = folder / task / "differences.csv"
        if path.as_posix() in settings["results"]:
            tables.append(read_differences(path))
        if any(name == YARDSTICK for *_, name in entry["methods"]):
            sentences.append(
                "As a yardstick, as many held-out human texts were scored like those of a model."
            )
    families = [
        name for name, of in FAMILIES.items() if any(metric.name in computed for metric in of.metrics)
    ]
    if any(FAMILIES[name].of_features for name in families):
        sentences.append(features_sentence(settings["embedder"]))
    sentences += metric_sentences(families, computed, None)
    if families and not settings["experiment"].get("targets"):
        sentences += _intervals(scores)
    if not computed:
        return ""
    return f"{' '.join([*sentences, *test_sentences(*tables)])}\n\n{bibliography(families)}"


def _intervals(scores: Mapping[str, pd.DataFrame]) -> list[str]:
    """Say how the intervals of the scores of each task were computed, and whose support metrics have none."""
    if not any(frame["low"].notna().any() for frame in scores.values()):
        return []
    without = [
        task
        for task, frame in scores.items()
        if len(own := frame[frame["metric"] == "precision"]) and own["low"].isna().all()
    ]
    named = [f"The support metrics of {', '.join(without)} have no intervals."] if without else []
    return [interval_sentence(), *named]


def _language(task: str, explorer: Mapping[str, Any]) -> list[str]:
    """Say which language the references of a task are in, unless it is English."""
    path = Path(fill(paths.REFERENCES, task=task, draw=explorer["draw"]))
    return language_sentences(language_in(read_table(path, ["id"])))


def _verdicts(
    folder: Path, task: str, entry: Mapping[str, Any], results: list[str]
) -> tuple[list[str], dict[str, set[str]]]:
    """Return what the tests tell of the methods of a task, and the roles in which each is worse."""
    differences = read_differences(folder / task / "differences.csv")
    values = _values(folder, task, entry)
    names = [name for _, _, name in entry["methods"] if name in values]
    said = []
    lost = {} if YARDSTICK in values else lost_to_others(differences, names)
    cut = folder / task / "cut-differences.csv"
    of_cut = read_differences(cut) if cut.as_posix() in results else differences[:0]
    for name in names if YARDSTICK in values else ():
        rows = of_pair(differences, name, YARDSTICK)
        if rows:
            verdict = human_verdict(rows, values[name], values[YARDSTICK], entry["embedder"])
            if again := of_pair(of_cut, name, YARDSTICK):
                verdict = with_cut(verdict, findings(again), int(again[0]["words"]))
            sentences = *verdict.sentences, *group_verdict(differences, name, YARDSTICK)
            said.append(" ".join([f"{task}, {name}:", *_partly_read(entry, name), *sentences]))
            lost[name] = lost_roles(verdict)
    if (agreement := folder / task / "embedders.csv").as_posix() in results:
        said.append(f"{task}: {embedder_verdict(read_csv(agreement))}")
    between = pair_verdicts(differences, [name for name in names if name != YARDSTICK])
    return [*said, *(f"{task}: {sentence}" for sentence in first_pairs(between, MOST_PAIRS))], lost


def _partly_read(entry: Mapping[str, Any], name: str) -> list[str]:
    """Return a sentence if the embedder does not read many texts of a method to their end."""
    explorer = entry["explorer"]
    cell = next(Cell(*of["cell"]) for of in explorer["cells"] if of["method"] == name)
    known = {"embedder": explorer["embedder"], "draw": explorer["draw"]}
    if not explorer["embedder"]:
        return []
    files = [Path(fill(path, cell, **known)) for path in (paths.CELL_FEATURES, paths.REFERENCE_FEATURES)]
    own, references = (read_json(meta_path(file)) for file in files)
    return partly_read(
        own["truncated"] / own["texts"], references["truncated"] / references["texts"], entry["embedder"]
    )


def _missed(task: str, explorer: Mapping[str, Any], lost: Mapping[str, set[str]]) -> Iterator[Table]:
    """Yield tables of what the methods of a task miss that are worse, of their first seed."""
    cells = [of for of in explorer["cells"] if of["cell"][1] != HUMAN]
    worse = [name for name, roles in lost.items() if roles][:MOST_MISSED]
    for name in worse if explorer["embedder"] else ():
        place = next(place for place, of in enumerate(cells) if of["method"] == name)
        file = fill(paths.REGIONS, Cell(*cells[place]["cell"]), embedder=explorer["embedder"])
        regions = {side: [Region(**of) for of in found] for side, found in read_json(Path(file)).items()}
        generated = regions["generated"] if FIDELITY in lost[name] else []
        reference = regions["reference"] if DIVERSITY in lost[name] else []
        yield from missed_tables(task, place, f"{name} ({task})", generated, reference)


def _values(folder: Path, task: str, entry: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return the means over the runs: name of a method -> metric -> value."""
    frame = _scores(folder, task)
    frame = frame[frame["group"] == ALL]
    values = {}
    for model, decoding, name in entry["methods"]:
        own = frame[(frame["model"] == model) & (frame["decoding"] == decoding)]
        values[name] = own.groupby("metric", observed=True)["value"].mean().to_dict()
    return {name: of for name, of in values.items() if of}


def _scores(folder: Path, task: str) -> pd.DataFrame:
    frame = read_table(folder / task / "scores.parquet", COLUMNS)
    return frame[frame["task"] == task]


def _gates_section(gates: Mapping[str, Mapping[str, str]], home: Path) -> Section:
    """Tabulate the outcomes of the gates."""
    names = ("gate", "task", "candidate", "baseline", "outcome", "verdict")
    rows, files = [], {}
    for name, files_of in gates.items():
        verdict = read_json(Path(files_of["verdict"]))
        with reading(Path(files_of["verdict"])):
            said = " ".join([verdict["headline"], *(f"{of.rstrip('.')}." for of in verdict["reasons"])])
            cells = (name, *(verdict[of] for of in names[1:5]), said)
        rows.append([Entry(text, text) for text in cells])
        files[f"{name}.html"] = Path(os.path.relpath(files_of["page"], home)).as_posix()
    table = Table("Outcomes", [Column(name, numeric=False) for name in names], rows, GATES_NOTE)
    return Section("gates", "Gates", (), [table], files=files, overview=False)


def _task_section(
    folder: Path, task: str, entry: Mapping[str, Any], results: list[str], home: Path
) -> Section:
    names = {(model, decoding): name for model, decoding, name in entry["methods"]}
    frame = _scores(folder, task)
    whole, groups = frame[frame["group"] == ALL], frame[frame["group"] != ALL]
    note = f"{INTERVALS_NOTE if whole['low'].notna().any() else ''}{SCORES_NOTE}"
    tables = [_scores_table(whole, names, "Scores", note)]
    if len(groups):
        tables.append(_scores_table(groups, names, "Scores by group", "", group="group"))
    if (texts := folder / task / "texts.csv").as_posix() in results:
        table = read_texts_table(texts)
        shown = {"method": "method", "texts": "texts", "empty": "empty"}
        tables.append(metric_table(table, shown, "Means of the metrics of single texts", TEXTS_NOTE))
    if (differences := folder / task / "differences.csv").as_posix() in results:
        tables.append(differences_on_page(read_differences(differences)))
    return Section(
        name=task,
        title=task,
        sentences=entry["sentences"],
        tables=tables,
        figures=_figures(results, folder / task),
        files=_files(results, folder / task, home),
    )


def _scores_table(
    scores: pd.DataFrame, names: Mapping[tuple[str, str], str], caption: str, note: str, **more: str
) -> Table:
    frame = summary_table(scores)
    pairs = zip(frame["model"], frame["decoding"], strict=True)
    frame.insert(0, "method", [names.get(pair, ", ".join(dict.fromkeys(pair))) for pair in pairs])
    labels = {"method": "method", **more, "n": "N", "runs": "runs"}
    front = [column for column in labels if column in frame]
    frame = frame[[*front, *(column for column in frame if column not in front)]]
    return metric_table(frame, labels, caption, note, mark="group" not in more)


def _ranking_section(
    folder: Path, ranking: str, entry: Mapping[str, Any], results: list[str], home: Path
) -> Section:
    path = folder / ranking / "ranking" / "ranking.csv"
    frame = _read_ranking(path)
    frame = frame.assign(pareto=["yes" if on_front else "no" for on_front in frame["pareto"]])
    criteria = list(frame.columns[1 : frame.columns.get_loc("missing")])
    shown = ["method", *criteria, "pareto", *RANKINGS, *(f"rank_{name}" for name in RANKINGS)]
    labels = {name: name.replace("_", " ") for name in shown}
    return Section(
        name=f"ranking-{ranking}",
        title=f"Ranking: {ranking}",
        sentences=[
            f"The methods of {', '.join(entry['tasks'])}, ranked by several criteria over the same prompts.",
            *filter(None, [certain_places(frame), _deepest(path.with_name("orders.csv"))]),
            *filter(None, [front_text(read_csv(path.with_name("front.csv"), dtype={"method": str}))]),
        ],
        tables=[metric_table(frame, labels, "Methods", RANKING_NOTE, mark=False, better=entry["better"])],
        figures=_figures(results, path.parent),
        files=_files(results, path.parent, home),
    )


def _deepest(path: Path) -> str:
    """Say how certain the deepest order of the best methods is; empty if it is not known."""
    orders = read_csv(path)
    if "deepest" not in orders or orders.empty:
        return ""
    order, share = orders["order"].iloc[0], orders["deepest"].iloc[0]
    return (
        f'The deepest order of the best methods is "{order}", also in {100 * share:.1f} % of the resamples '
        "of the prompts."
    )


def _read_ranking(path: Path) -> pd.DataFrame:
    frame = read_csv(path, dtype={"method": str})
    with reading(path):
        return frame.astype({"pareto": bool, "missing": int})


def _ranked(folder: Path, ranking: str, settings: Mapping[str, Any]) -> RankedMethods:
    """Read the criteria of a ranking, and which cells of the page are its methods."""
    entry, cells = settings["rankings"][ranking], {}
    if entry["tasks"][0] in settings["tasks"]:
        methods = settings["tasks"][entry["tasks"][0]]["methods"]
        names = {(model, decoding): name for model, decoding, name in methods}
        for task in entry["tasks"]:
            found = [Cell(*of["cell"]) for of in settings["tasks"][task]["explorer"]["cells"]]
            cells[task] = [names.get((of.model, of.decoding)) for of in found if of.model != HUMAN]
    return RankedMethods(
        name=ranking,
        methods=_read_ranking(folder / ranking / "ranking" / "ranking.csv"),
        scores=read_table(folder / ranking / "ranking" / "scores.parquet", ["prompt", "method"]),
        better=entry["better"],
        cells=cells,
    )


def _figures(results: list[str], folder: Path) -> list[Figure]:
    paths_of = {title: folder / f"{name}.svg" for name, title in FIGURES.items()}
    return [
        Figure(title, path.read_bytes()) for title, path in paths_of.items() if path.as_posix() in results
    ]


def _files(results: list[str], folder: Path, home: Path) -> dict[str, str]:
    """Return the tables of a folder: name -> path relative to the folder of the page."""
    own = [path for path in map(Path, results) if path.parent == folder and path.suffix == ".csv"]
    return {path.name: Path(os.path.relpath(path, home)).as_posix() for path in own}


def _dataset_section(dataset: str, home: Path) -> Section:
    path = Path(fill(paths.DATASET_CARD, dataset=dataset))
    card = read_json(path)
    with reading(path):
        words = card["words"]
        sentence = (
            f"{card['texts']:,} texts of {words['least']:,} to {words['most']:,} words (median "
            f"{words['median']:,.0f}). Licence: {card['licence']}."
        )
        columns = [Column("filter", numeric=False), Column("texts left", numeric=True)]
        rows = [[Entry(name, name), Entry(f"{left:,}", left)] for name, left in card["counts"].items()]
    return Section(
        dataset,
        dataset,
        [sentence],
        [Table("What each filter left", columns, rows)],
        files={"card.md": Path(os.path.relpath(path.with_suffix(".md"), home)).as_posix()},
    )


def _hardware(tasks: Mapping[str, Any]) -> Table:
    """Tabulate on what the texts of each cell were generated, as recorded beside its shards."""
    names = ["task", "model", "decoding", "seed", "device", "dtype", "versions"]
    rows = []
    for entry in tasks.values():
        for cell in map(Cell._make, entry["cells"]):
            folder = Path(fill(paths.SHARD, cell, shard=0, shards=1)).parent
            records = [read_json(path) for path in sorted(folder.glob("*.parquet.meta.json"))]
            found = [record for record in records if "generation_seconds" in record]
            if not found:  # human texts, or texts that were generated elsewhere
                continue
            facts = [
                [record["device"], record["dtype"].removeprefix("torch."), _versions(record)]
                for record in found
            ]
            distinct = [", ".join(dict.fromkeys(values)) for values in zip(*facts, strict=True)]
            rows.append([Entry(text, text) for text in [*map(str, cell), *distinct]])
    return Table("Generation", [Column(name, numeric=False) for name in names], rows)


def _versions(record: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {record['versions'][name]}" for name in ("textgamut", "torch", "transformers"))
