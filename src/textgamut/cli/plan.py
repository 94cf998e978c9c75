"""``textgamut plan``: estimate the cost of an experiment."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from textgamut.cli.common import Integer, NamedPath, experiment_file, print_json
from textgamut.errors import ConfigError, DataError, ModelError, nearest

if TYPE_CHECKING:
    from rich.table import Table

    from textgamut.config.cells import Config
    from textgamut.views.plan import Plan


def plan(
    experiment: str | None = None,
    /,
    *targets: str,
    registries: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    measure: bool = False,
    detect: Annotated[tuple[str, ...], Parameter(metavar="METRIC=DIFFERENCE...", consume_multiple=1)] = (),
    power: Annotated[float, Parameter(metavar="P")] = 0.8,
    pilot: Annotated[NamedPath | None, Parameter("--from", metavar="FOLDER")] = None,
    comparisons: Annotated[Integer, Parameter(metavar="M", validator=Number(gte=1))] = 1,
    json: bool = False,
) -> None:
    """Estimate the cost of an experiment before it runs, or the number of texts that it needs.

    Prints, for each task and model, the cells, jobs, samples, tokens, GPU hours and US dollars, how much is
    already done, and the disk space. Rates are measured on finished shards if there are any, or by --measure,
    and default to tokens_per_second in the registry.

    Args:
        experiment: Experiment in config or config/papers, such as pr, or the path of its file. Defaults to
            demo. With --detect, also print how long it takes to generate the texts with its models.
        targets: Tables and figures of the experiment, such as table_1a, to plan nothing else for; table_1
            stands for all its parts.
        registries: Folder of your own registries. Defaults to the nearest folder above the experiment that
            has any, or ./config.
        measure: Fetch and load each model, and time a few batches on this machine; the speeds are kept in
            data/models, and replace stated ones in every plan.
        detect: Differences to be seen, such as recall=0.05: print how many texts of each side that takes, and
            nothing else.
        power: Probability of seeing such a difference if it exists, between 0 and 1.
        pilot: Folder of a comparison with its deviations: of textgamut score --output, or
            results/papers/NAME of an experiment. Defaults to human news.
        comparisons: Number of comparisons that are corrected for: pairs of models times metrics.
        json: Print JSON instead of a table.

    Raises:
        TextgamutError: If the experiment or a registry is not valid, or a metric, a difference or the folder.
    """
    if detect and experiment is None:
        _show_sizes(_sizes(detect, power, pilot, comparisons), json)
        return
    from textgamut.config.loading import load_config
    from textgamut.report.papers.target_page import printed_name
    from textgamut.views.plan import cost_of_texts, make_plan
    from textgamut.views.price import price
    from textgamut.workflow.arguments import check_place
    from textgamut.workflow.targets import named_targets, target_need, union

    if Path("Snakefile").exists():
        check_place(Path.cwd())
    file = experiment_file(experiment, registries)
    config = load_config(file, registries)
    names = list(dict.fromkeys(name for target in targets for name in named_targets(config, target)))
    need = union(target_need(config, name) for name in names) if names else None
    found = make_plan(config, need=need, afresh=bool(detect))
    failed = _measure(config, [line.model for line in found.lines]) if measure else []
    if measure:
        found = make_plan(config, need=need, afresh=bool(detect))
    if detect:
        sizes = _sizes(detect, power, pilot, comparisons)
        sizes["texts"] = [row | {"cost": cost_of_texts(found, row["needed"])} for row in sizes["texts"]]
        _show_sizes(sizes, json)
    elif json:
        print_json(configfile=str(file), targets=names, price=price(config, found), **asdict(found))
    else:
        titles = [f"{printed_name(name)}: {config.experiment.targets[name].title}" for name in names]
        print_plan(found, price(config, found), titles)
    if failed:
        raise ModelError(f"not measured: {'; '.join(failed)}")


def _measure(config: Config, models: Sequence[str]) -> list[str]:
    """Measure models, with a line for each on standard error; return what went wrong."""
    from textgamut.views.measure import measure, measured_models

    chosen, failed = measured_models(config, models), []
    print(f"measuring {', '.join(chosen) or 'nothing: no model is loaded'}", file=sys.stderr)
    for name, error in measure(config, chosen, Path()):
        if error:
            failed.append(f"model {name!r}: {error}")
        print(f"  {name}: {'failed' if error else 'done'}", file=sys.stderr)
    return failed


def _sizes(detect: Sequence[str], power: float, folder: Path | None, comparisons: int) -> dict[str, Any]:
    """Return how many texts it takes to see some differences, as :func:`print_sizes` takes it."""
    from textgamut.inference.sample_sizes import planned
    from textgamut.views.pilot import read_pilot

    wanted = dict(_difference(item) for item in detect)
    if not 0 < power < 1:
        raise ConfigError(f"--power {power}: must be between 0 and 1")
    name, pilot = read_pilot(folder)
    for metric in wanted:
        if metric not in {of.metric for of in pilot}:
            known = ", ".join(dict.fromkeys(of.metric for of in pilot))
            raise DataError(f"--detect {metric}: the pilot has no deviation of it ({name}); it has: {known}")
    texts = planned(pilot, wanted, power, comparisons)
    return {"pilot": name, "power": power, "comparisons": comparisons, "texts": texts}


def _show_sizes(sizes: Mapping[str, Any], json: bool) -> None:
    if json:
        print_json(**sizes)
    else:
        print_sizes(**sizes)


def _difference(item: str) -> tuple[str, float]:
    from textgamut.catalogue import METRICS  # which loads pydantic

    metric, _, text = item.partition("=")
    if metric not in METRICS:
        raise ConfigError(f"--detect {item}: no metric {metric!r}; {nearest(metric, METRICS)}")
    try:
        value = abs(float(text))
    except ValueError:
        raise ConfigError(f"--detect {item}: expected METRIC=DIFFERENCE, such as recall=0.05") from None
    if not 0 < value < float("inf"):
        raise ConfigError(f"--detect {item}: a difference of {text} cannot be seen: give one above 0")
    return metric, value


def print_sizes(texts: Sequence[Mapping[str, Any]], pilot: str, power: float, comparisons: int) -> None:
    """Print how many texts comparisons need, as a table.

    Args:
        texts: A row for each metric and kind of comparison, with the cost of generating them if it is known.
        pilot: Where the deviations are from.
        power: Probability of seeing a difference.
        comparisons: Number of comparisons that are corrected for.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from textgamut.errors import printable
    from textgamut.views.sums import brief

    console = Console()
    if not console.is_terminal:
        console.width = 120
    level = "5 %" if comparisons == 1 else f"5 % over {comparisons:,} comparisons"
    title = f"Texts of each side for a power of {power:g} at a level of {level}"
    console.print(Text(title, style="bold"))
    table = Table("metric", "difference", "comparison", box=None, pad_edge=False, header_style="dim")
    cost = texts[0].get("cost", {})
    for column in (
        "texts",
        "power",
        "times the pilot",
        "deviation at N",
        "slope",
        *(COSTS[name] for name in cost),
    ):
        table.add_column(column, justify="right", no_wrap=True)
    for row in texts:
        kind = "same prompts" if row["paired"] else "independent texts"
        cells = [
            row["metric"],
            f"{row['difference']:g}",
            kind,
            f"{row['needed']:,}",
            f"{row['power']:.2f}",
            f"{row['factor']:.2g}",
            f"{row['deviation']:.3g} at {row['n']:,}",
            f"{row['slope']:.2f}",
        ]
        table.add_row(*cells, *(brief(row["cost"][name]) for name in cost))
    console.print(table)
    for name, total in cost.items():
        if total.estimated:
            console.print(Text(f"{COSTS[name]}: {total.estimated}"))
    note = (
        f"Deviations: {pilot}. With N they change as those of means do, by a slope of -0.50 (of logarithms); "
        "where the pilot has another one, it is used. A plan has at least half of the pilot's texts, since "
        "differences of a metric change with N. "
    )
    note += (
        "Hours: of generating so many texts with each model, decoding setting and seed of the experiment."
        if cost
        else "With an experiment (textgamut plan FILE --detect ...), their cost is estimated."
    )
    if any(row["cost"][name].unknown for row in texts for name in cost):
        note += f" {UNKNOWN}"
    console.print(Text(printable(note), style="dim"))


COSTS = {"hours": "job hours", "gpu_hours": "GPU hours", "dollars": "US$"}
"""What generating texts costs -> heading."""


def print_plan(plan: Plan, price: str, titles: Sequence[str] = ()) -> None:
    """Print a plan as a table.

    Args:
        plan: The plan.
        price: Its price in one sentence.
        titles: Tables and figures that it is made for.
    """
    from rich.console import Console
    from rich.text import Text

    from textgamut.errors import printable
    from textgamut.views.sums import decimal, size, whole

    console = Console()
    if not console.is_terminal:
        console.width = 160
    for title in titles:
        console.print(Text(printable(title), style="bold"))
    console.print(_table(plan))
    console.print()
    if plan.embeddings:
        sets, texts = plan.embeddings - plan.embeddings_done, whole(plan.embedded_texts)
        done = f" ({plan.embeddings_done:,} sets are done)" if plan.embeddings_done else ""
        console.print(
            Text(f"To embed with {plan.embedder}: {sets:,} sets of texts, {texts} texts at most{done}")
        )
    if plan.parts.jobs:
        done = f" ({plan.parts.jobs_done:,} are done)" if plan.parts.jobs_done else ""
        hours = f"about {decimal(plan.parts.core_hours)} core hours with 200 components"
        left = plan.parts.jobs - plan.parts.jobs_done
        console.print(Text(f"To compute support metrics in blocks: {left:,} jobs, {hours}{done}"))
    if plan.tests:
        done = f" ({plan.tests_done:,} are done)" if plan.tests_done else ""
        console.print(Text(f"To test differences: {plan.tests - plan.tests_done:,} pairs of methods{done}"))
    if plan.gates:
        done = f" ({plan.gates_done:,} are done)" if plan.gates_done else ""
        console.print(Text(f"To test whether texts got worse: {plan.gates - plan.gates_done:,} gates{done}"))
    if plan.recorded.cells:
        saved = decimal(plan.recorded.gpu_hours)
        what = f"recorded while generating, for {plan.recorded.cells:,} cells"
        console.print(
            Text(f"Perplexity of the generator: {what}; about {saved} GPU hours less than a second pass")
        )
    for judging in plan.judgings:
        asked, read = whole(judging.questions), whole(judging.prompt_tokens)
        cost = f"about {read} prompt tokens, US$ {decimal(judging.dollars)}"
        done = f" ({judging.cells_done:,} of {judging.cells:,} cells are done)" if judging.cells_done else ""
        about = {
            "judge": f"{asked} questions",
            "judged_completions": f"at most {asked} questions on completions",
        }
        console.print(Text(f"To ask {judging.judge} as judge: {about[judging.family]}, {cost}{done}"))
    disk = ", ".join(f"{name} {size(of)}" for name, of in plan.disk.items())
    console.print(Text(f"Disk, about: {disk}"))
    console.print(Text(f"Price: {price}", style="bold"))
    sums = [*plan.totals.values(), *plan.disk.values(), plan.embedded_texts, plan.parts.core_hours]
    gaps = any(each.unknown for each in sums) or any(line.hours is None for line in plan.lines)
    if gaps or any(judging.dollars is None for judging in plan.judgings):
        console.print(Text(UNKNOWN, style="dim"))


def _table(plan: Plan) -> Table:
    """Return the jobs, samples, tokens and hours of each model of a plan."""
    from rich.table import Table
    from rich.text import Text

    from textgamut.views.sums import brief, decimal, whole

    names = ["cells done", "jobs to do", "samples done", "to do", "new tokens ≤", "prompt tokens", "tokens/s"]
    paid = any(line.paid for line in plan.lines)
    table = Table("task", "model", box=None, pad_edge=False, header_style="dim")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column()
    for name in ("job hours", "GPU hours", *(["US$"] if paid else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for line in plan.lines:
        row = [line.task, line.model, f"{line.cells_done:,} of {line.cells:,}"]
        row += [f"{line.jobs - line.jobs_done:,}", f"{line.samples_done:,}", whole(line.samples_left)]
        row += [whole(line.new_tokens), whole(line.prompt_tokens), whole(line.tokens_per_second)]
        row += [line.rate_from if line.tokens_per_second else ""]
        row += [decimal(line.hours), decimal(line.gpu_hours)]
        row += [decimal(line.dollars) if line.paid else ""] if paid else []
        table.add_row(*map(Text, row))
    total = plan.totals
    row = ["in all", "", f"{total['cells_done'].known:,} of {total['cells'].known:,}"]
    row += [f"{total['jobs'].known - total['jobs_done'].known:,}"]
    row += [whole(total[name]) for name in ("samples_done", "samples_left", "new_tokens", "prompt_tokens")]
    hours = ("hours", "gpu_hours", *(["dollars"] if paid else []))
    row += ["", "", *(brief(total[name]) for name in hours)]
    table.add_section()
    table.add_row(*map(Text, row), style="bold")
    return table


UNKNOWN = (
    "?: unknown. Hours need the model's tokens_per_second in models.yaml, or a finished shard; samples need "
    "an extracted dataset, or its `texts` in datasets.yaml; prompt tokens, and therefore US$, need drawn "
    "prompts; US$ also need the model's prices; weights need the model's gigabytes."
)
