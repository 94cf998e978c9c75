"""Estimate the cost of an experiment before it runs (``textgamut plan``).

The estimates are kept simple:

- *New tokens*: samples times ``max_new_tokens`` and the budget of a thought, an upper bound. If samples of
  the same task, model and decoding setting are finished, samples times their mean length; else that of the
  same model and decoding setting in other tasks.
- *Job hours*: new tokens divided by tokens per second. Beam search and contrastive decoding count a token
  ``beams`` times and contrastive search ``k`` times (15 if it is adaptive), since they compute that many; the
  amateur of contrastive decoding is left out. *GPU hours*: job hours times the model's ``gpus``; 0 if the
  rate was measured on a CPU.
- *Tokens per second* of one job: measured, from the records of finished shards (the median over those on the
  same device as the newest) or else by ``textgamut plan --measure``, else the registry's
  ``tokens_per_second``, else unknown, as are the hours.
- *Done*: finished shards with the current settings of model and decoding. Journals of unfinished shards are
  not counted. Only ``snakemake -n`` lists exactly which jobs will run.
- *Judging*: for ``judge`` one question per text and one per ten texts, so that each text is read twice; for
  ``judged_completions`` one per pair of completions of a prompt, an upper bound. The texts have the length of
  their cell's, and an answer has ``ANSWER_TOKENS``. Cells with scores of a judge are done.
- *Second passes*: a generator that computes the perplexity of its own texts is not loaded again if their
  log-likelihoods were recorded. A second pass would take two operations per parameter and token, at
  ``OPERATIONS`` per second, and a load of the weights for each cell, at ``LOADING`` bytes per second. The
  number of parameters follows from the registry's ``gigabytes``, taken as those of 16-bit weights.
- *Support metrics in blocks*: three passes over the N x N distances for each cell and draw of references, at
  ``DISTANCES`` per second and core, measured with 200 components; others are in proportion.
- *Texts that were generated elsewhere* cost nothing.
- *Fine-tuning* is not estimated.
- *Disk*: the registry's ``gigabytes`` of models that are not fetched yet; 5 bytes per new token; 4 bytes per
  feature component.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace

from textgamut.config.cells import Cell, Config
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import GenerationsSource, OpenAISource
from textgamut.files import reading
from textgamut.metrics.judge import BATCH, DIVERSITY, QUALITY
from textgamut.metrics.judged_completions import EQUIVALENCE
from textgamut.views.rates import Lengths, Rates, Shard, read_shards, same_decoding, same_model
from textgamut.views.sums import Sum
from textgamut.workflow import paths
from textgamut.workflow.counts import computed_tokens, count_prompts
from textgamut.workflow.families import compares_features, generator_scores, score_files, scores_again
from textgamut.workflow.inputs import gate_cells, gate_draws, support_parts
from textgamut.workflow.outputs import compared_pairs, cut_cells, gate_files, test_files, tested_embedders
from textgamut.workflow.paths import fill
from textgamut.workflow.targets import Need, generated_cells, whole_need

BYTES_PER_TOKEN = 5
CHARACTERS_PER_TOKEN = 4  # in the prompts of a served model, since its tokenizer is unknown
DIMENSIONS = 1024  # of a feature vector, if no features have been computed yet
ANSWER_TOKENS = 30  # in the answer of a judge
OPERATIONS = {"float32": 0.4 * 19.5e12, "16 bits": 0.4 * 312e12}  # per second: 40 % of the peak of an A100
LOADING = 1e9  # bytes per second, from disk to GPU
DISTANCES = 1.5e8  # per second and core, of vectors with 200 components (benchmarks/support_parts.py)


@dataclass(frozen=True)
class Line:
    """Cost of one model in one task. Values are None if unknown."""

    task: str
    model: str
    cells: int
    cells_done: int
    jobs: int
    jobs_done: int
    samples: int | None
    samples_done: int
    samples_left: int | None
    new_tokens: int | None
    """Upper bound of the tokens still to be generated."""
    prompt_tokens: int | None
    """Prompt tokens still to be read; known once the prompts are checked."""
    tokens_per_second: float | None
    """Rate of one job."""
    rate_from: str
    """Origin of the rate: ``stated``, ``none``, ``measured`` or ``measured on ...``."""
    hours: float | None
    """Total hours of all remaining jobs, as if run one after the other."""
    gpu_hours: float | None
    dollars: float | None
    """Price of the remaining texts in US dollars; None if unknown or if the model is not served."""
    paid: bool
    """Whether the model is served."""


@dataclass(frozen=True)
class Judging:
    """Cost of a judge. Values are None if unknown."""

    judge: str
    family: str
    """Family of metrics that the judge computes: ``judge`` or ``judged_completions``."""
    cells: int
    cells_done: int
    questions: int | None
    """Questions still to be asked; their largest number, if that depends on the answers."""
    prompt_tokens: int | None
    """Approximate upper bound of the tokens of these questions."""
    dollars: float | None
    """Price of these questions in US dollars."""


@dataclass(frozen=True)
class Recorded:
    """What recorded log-likelihoods save: second passes of the generators over their own texts."""

    cells: int
    """Cells that need none."""
    gpu_hours: Sum
    """Hours that their second passes would take; unknown without the number of texts, or the model's size."""


@dataclass(frozen=True)
class Parts:
    """Jobs with parts of support metrics, where these are computed in blocks."""

    jobs: int
    jobs_done: int
    core_hours: Sum
    """Hours of a core that the remaining ones take; unknown without the number of texts."""


@dataclass(frozen=True)
class Plan:
    """Cost of an experiment."""

    lines: list[Line]
    totals: dict[str, Sum]
    """Field of a line -> its sum over all lines."""
    judgings: list[Judging]
    recorded: Recorded
    parts: Parts
    embeddings: int
    """Number of sets of texts to embed: cells, draws of references, and cells' texts of one length."""
    embeddings_done: int
    embedded_texts: Sum
    """Texts in the sets that are not embedded yet."""
    embedder: str
    tests: int
    """Number of pairs of methods, and of methods with held-out human texts, whose differences are tested."""
    tests_done: int
    gates: int
    gates_done: int
    disk: dict[str, Sum]
    """Bytes still to be written: ``weights``, ``texts`` and ``features``."""
    gated: list[str]
    """Families of models that are not fetched yet, and whose licence must be accepted on the hub."""

    @property
    def dollars(self) -> Sum:
        """Price of texts and answers of served models in US dollars."""
        return self.totals["dollars"] + Sum.of_models((of.judge, of.dollars) for of in self.judgings)


def make_plan(
    config: Config,
    folder: Path = Path(),
    need: Need | None = None,
    finished: Iterable[Shard] | None = None,
    *,
    afresh: bool = False,
) -> Plan:
    """Plan an experiment, or a part of it.

    Args:
        config: The experiment with its registries.
        folder: Folder that contains ``data`` and ``results``, which are only read.
        need: What to plan for, such as a target's need. Defaults to the whole experiment.
        finished: The finished shards in the folder, if they have been read already.
        afresh: Whether to plan the generation as if nothing were finished, at the rates of what is.

    Returns:
        The plan, with one line per task and generating model, in the order of the configuration.
    """
    need = need or whole_need(config)
    generated = generated_cells(config, need)
    finished = read_shards(folder) if finished is None else finished
    shards = [shard for shard in finished if same_model(shard, config)]
    of_cell = defaultdict(list)
    for shard in shards:
        if same_decoding(shard, config):
            of_cell[shard.cell].append(shard)
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in generated:
        groups.setdefault((cell.task, cell.model), []).append(cell)
    rates, lengths = Rates(shards, config, folder), Lengths(of_cell, config)
    prompts = {task: count_prompts(config, task, folder) for task in config.measured()}
    lines = []
    for (task, model), cells in groups.items():
        reads = _prompt_length(config, task, model, folder)
        done_before = {} if afresh else of_cell
        lines.append(_line(config, cells, prompts[task], reads, done_before, rates, lengths))
    summed = (
        "cells", "cells_done", "jobs", "jobs_done", "samples", "samples_done", "samples_left", "new_tokens",
        "prompt_tokens",
    )  # fmt: skip
    totals = {name: Sum.of(*(getattr(line, name) for line in lines)) for name in summed}
    for name in ("hours", "gpu_hours"):
        totals[name] = Sum.of_models((line.model, getattr(line, name)) for line in lines)
    totals["dollars"] = Sum.of_models((line.model, line.dollars) for line in lines if line.paid)

    sets = [*_embedded(config, need, prompts, folder), *_embedded_by_gates(config, need, prompts, folder)]
    left = [texts for done, texts in sets if not done]
    texts = Sum.of(*left)
    dimensions = _dimensions(config.experiment.embedder, folder)
    missing = _not_fetched(config, need, config.generators_of(generated), folder)
    sizes = ((name, model.gigabytes) for name, model in missing.items())
    disk = {
        "weights": Sum.of_models(sizes).times(1e9),
        "texts": totals["new_tokens"].times(BYTES_PER_TOKEN),
        "features": texts.times(dimensions * 4),
    }
    done = sum(done for done, _ in sets)
    judgings = list(_judgings(config, need, prompts, lengths, folder))
    recorded = _recorded(config, need, prompts, lengths, folder)
    tests, gates = list(_tests(config, need)), gate_files(config, need.gates, ["verdict"])
    return Plan(
        lines, totals, judgings, recorded, _parts(config, need, prompts, folder),
        len(sets), done, texts, config.experiment.embedder,
        len(tests), sum((folder / file).exists() for file in tests),
        len(gates), sum((folder / file).exists() for file in gates), disk,
        _gated(config, missing.values(), need.embedders if sets else (), folder),
    )  # fmt: skip


def _not_fetched(config: Config, need: Need, generators: set[str], folder: Path) -> dict[str, Model]:
    """Return the models whose weights are not fetched yet."""
    named = set(generators)
    for task, families in need.families.items():
        models = config.metrics(task).models().items()
        named |= {model for setting, model in models if setting.split(".")[0] in families}
    named |= {base for name in named if (base := config.base_of(name))}
    return {
        name: model
        for name in sorted(named)
        if not isinstance((model := config.models[name]).source, OpenAISource | GenerationsSource)
        and not (folder / fill(paths.MODEL_CARD, model=name)).exists()
    }


def _gated(config: Config, models: Iterable[Model], embedders: Iterable[str], folder: Path) -> list[str]:
    """Return the families of gated models, and the labels of gated embedders, that are not fetched yet."""
    named = [model.family for model in models if model.gated]
    for name in embedders:
        fetched = (folder / fill(paths.EMBEDDER_CARD, embedder=name)).exists()
        if config.embedders[name].gated and not fetched:
            named.append(config.embedders[name].label)
    return list(dict.fromkeys(named))


def _tests(config: Config, need: Need) -> Iterator[str]:
    """Yield the files with tests of differences."""
    for task in () if config.experiment.targets else need.families:
        for embedder in tested_embedders(config, task):
            yield from test_files(config, task, embedder, compared_pairs(config, task))


def _parts(config: Config, need: Need, prompts: Mapping[str, int | None], folder: Path) -> Parts:
    """Count the jobs with parts of support metrics."""
    jobs, done, hours = 0, 0, []
    held_out = [cell for task in need.families for cell in config.held_out_cells(task)]
    for cell, embedder in product([*need.cells, *held_out], need.embedders):
        if "support" not in need.families[cell.task]:
            continue
        parts = support_parts(config, SimpleNamespace(**cell._asdict(), embedder=embedder))
        [scores] = score_files(config, cell, "support", embedder)
        scored = (folder / scores).exists()
        left = [] if scored else [part for part in parts if not (folder / part).exists()]
        jobs, done = jobs + len(parts), done + len(parts) - len(left)
        if left:
            n = config.size(cell).n or prompts[cell.task]
            passes = 3 * len(config.experiment.tasks[cell.task].draws) * len(left) / len(parts)
            hours.append(None if n is None else passes * n**2 / DISTANCES / 3600)
    return Parts(jobs, done, Sum.of(*hours))


def cost_of_texts(plan: Plan, n: int) -> dict[str, Sum]:
    """Return what it costs to generate some texts in each cell of an experiment.

    Args:
        plan: Its plan, as if nothing were finished.
        n: Number of texts of each cell.

    Returns:
        ``hours`` and ``gpu_hours``, and ``dollars`` if a model is served.
    """
    served = [line for line in plan.lines if line.paid]
    of = {"hours": plan.lines, "gpu_hours": plan.lines} | ({"dollars": served} if served else {})
    return {
        name: Sum.of_models((line.model, _per_text(line, name)) for line in lines).times(n)
        for name, lines in of.items()
    }


def _per_text(line: Line, name: str) -> float | None:
    value: float | None = getattr(line, name)
    return None if value is None or not line.samples else value * line.cells / line.samples


def _line(
    config: Config,
    cells: list[Cell],
    prompts: int | None,
    prompt_length: float | None,
    of_cell: Mapping[Cell, list[Shard]],
    rates: Rates,
    lengths: Lengths,
) -> Line:
    """Add up the cells of one model in one task."""
    task, model = cells[0].task, config.models[cells[0].model]
    sizes = [config.size(cell) for cell in cells]
    requested = [_product(size.n or prompts, size.completions) for size in sizes]
    jobs_done = [sum(shard.shards == model.shards for shard in of_cell.get(cell, [])) for cell in cells]
    done = [_samples_of(of_cell.get(cell, []), most) for cell, most in zip(cells, requested, strict=True)]
    tokens: float | None = 0
    seconds: float | None = 0
    gpu_seconds: float | None = 0
    for cell, most, finished in zip(cells, requested, done, strict=True):
        decoding, rate = config.decoding[cell.decoding], rates.of(cell.model, cell.decoding)
        new = None if most is None else (most - finished) * lengths.of(cell, decoding)
        new = 0 if model.given else new
        takes: float | None = None
        if new == 0:
            takes = 0
        elif new is not None and rate.per_second is not None:
            takes = new * computed_tokens(decoding) / rate.per_second
        tokens, seconds = _plus(tokens, new), _plus(seconds, takes)
        gpu_seconds = _plus(gpu_seconds, None if takes is None else takes * rate.gpus)
    if not model.gpus:
        gpu_seconds = 0
    samples = None if None in requested else sum(filter(None, requested))
    left = None if samples is None else samples - sum(done)
    asked = 0 if model.given else left
    prompt_tokens = 0 if asked == 0 else None
    if asked and prompt_length is not None:
        prompt_tokens = round(asked * prompt_length)
    overall = rates.of(cells[0].model)
    return Line(
        task=task,
        model=cells[0].model,
        cells=len(cells),
        cells_done=jobs_done.count(model.shards),
        jobs=len(cells) * model.shards,
        jobs_done=sum(jobs_done),
        samples=samples,
        samples_done=sum(done),
        samples_left=left,
        new_tokens=None if tokens is None else round(tokens),
        prompt_tokens=prompt_tokens,
        tokens_per_second=overall.per_second,
        rate_from=overall.origin,
        hours=None if seconds is None else seconds / 3600,
        gpu_hours=None if gpu_seconds is None else gpu_seconds / 3600,
        dollars=_dollars(model, tokens, prompt_tokens),
        paid=isinstance(model.source, OpenAISource),
    )


def _samples_of(shards: Iterable[Shard], most: int | None) -> int:
    """Return how many samples of a cell are finished; its shards may be of several splits."""
    by_split: dict[int, int] = defaultdict(int)
    for shard in shards:
        by_split[shard.shards] += shard.samples
    done = max(by_split.values(), default=0)
    return done if most is None else min(done, most)


def _dollars(model: Model, new: float | None, read: float | None) -> float | None:
    if not isinstance(model.source, OpenAISource):
        return None
    prices = model.source.price_output, model.source.price_input
    if None in prices or new is None or read is None:
        return None
    return sum(price * count for price, count in zip(prices, (new, read), strict=True) if price) / 1e6


def _judgings(
    config: Config, need: Need, prompts: Mapping[str, int | None], lengths: Lengths, folder: Path
) -> Iterator[Judging]:
    """Yield the cost of each judge in each family of metrics that it computes."""
    cells_of: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in need.cells:
        for family, judge in config.metrics(cell.task).judges().items():
            if family in need.families[cell.task]:
                cells_of[judge, family].append(cell)
    compared = {cell.task for (_, family), cells in cells_of.items() if family != "judge" for cell in cells}
    asked_with = {task: _wording_length(task, folder) for task in compared}
    for (judge, family), cells in cells_of.items():
        left = [cell for cell in cells if not (folder / fill(paths.SCORES, cell, family=family)).exists()]
        counts = []
        for cell in left:
            length = lengths.of(cell, config.decoding[cell.decoding])
            if family == "judge":
                counts.append(_questions_on_biographies(prompts[cell.task], length))
            else:
                wording = asked_with[cell.task]
                counts.append(_questions_on_completions(config, cell, prompts[cell.task], wording, length))
        totals = [Sum.of(*values) for values in zip(*counts, strict=True)] or [Sum(0, 0), Sum(0, 0)]
        asked, read = (None if total.unknown else total.known for total in totals)
        yield Judging(
            judge=judge,
            family=family,
            cells=len(cells),
            cells_done=len(cells) - len(left),
            questions=None if asked is None else round(asked),
            prompt_tokens=None if read is None else round(read),
            dollars=_dollars(config.models[judge], None if asked is None else asked * ANSWER_TOKENS, read),
        )


def _questions_on_biographies(texts: int | None, length: float) -> tuple[int | None, float | None]:
    """Return the number of questions on the texts of a cell, and of their tokens."""
    if texts is None:
        return None, None
    quality, diversity = (len(question) / CHARACTERS_PER_TOKEN for question in (QUALITY, DIVERSITY))
    read = texts * (quality + length) + texts // BATCH * (diversity + BATCH * length)
    return texts + texts // BATCH, read


def _questions_on_completions(
    config: Config, cell: Cell, prompts: int | None, wording: float | None, length: float
) -> tuple[int | None, float | None]:
    """Return the largest number of questions on the completions of a cell, and of their tokens."""
    size, settings = config.size(cell), config.metrics(cell.task).of("judged_completions")
    prompts = size.n or prompts
    if prompts is None:
        return None, None
    questions = prompts * math.comb((settings and settings.first) or size.kept, 2)
    if wording is None:
        return questions, None
    return questions, questions * (len(EQUIVALENCE) / CHARACTERS_PER_TOKEN + wording + 2 * length)


def _wording_length(task: str, folder: Path) -> float | None:
    """Return the mean number of tokens of a task's prompts in a question, or None if these are not drawn."""
    table = folder / fill(paths.PROMPTS, task=task)
    return _mean_characters(table, ["base"]) / CHARACTERS_PER_TOKEN if table.exists() else None


def _recorded(
    config: Config, need: Need, prompts: Mapping[str, int | None], lengths: Lengths, folder: Path
) -> Recorded:
    """Add up the second passes of generators that are not needed, also of finished cells."""
    hours: list[tuple[str, float | None]] = []
    for cell in need.cells:
        family = config.metrics(cell.task).of("likelihood")
        if "likelihood" not in need.families[cell.task] or not family or not generator_scores(config, cell):
            continue
        if scores_again(config, cell):
            continue
        size, gigabytes = config.size(cell), config.models[cell.model].gigabytes
        texts = _product(size.n or prompts[cell.task], size.kept)
        if texts is None or gigabytes is None:
            hours.append((cell.model, None))
            continue
        read = _prompt_length(config, cell.task, cell.model, folder) or 0
        tokens = texts * (lengths.of(cell, config.decoding[cell.decoding]) + read)
        whole = family.dtype == "float32"
        computing = gigabytes * 1e9 * tokens / OPERATIONS["float32" if whole else "16 bits"]
        loading = gigabytes * 1e9 * (2 if whole else 1) / LOADING
        hours.append((cell.model, (computing + loading) / 3600))
    return Recorded(len(hours), Sum.of_models(hours))


def _prompt_length(config: Config, task: str, model: str, folder: Path) -> float | None:
    """Return the mean number of tokens of a task's prompts for a model, or None if it is not known yet."""
    prompts = folder / fill(paths.PROMPTS, task=task)
    for lengths in folder.glob(fill(paths.LENGTHS, task=task, model=model, tokens="*[0-9]")):  # all similar
        with reading(lengths):
            mean: float = json.loads(lengths.read_text(encoding="utf-8"))["mean"]
        return mean
    if isinstance(config.models[model].source, OpenAISource) and prompts.exists():
        columns = ["base"] if config.models[model].chat == "none" else ["user", "start"]
        system = len(config.models[model].system or "")
        return (_mean_characters(prompts, columns) + system) / CHARACTERS_PER_TOKEN
    return None


def _mean_characters(prompts: Path, columns: list[str]) -> float:
    """Return the mean length of the prompts in a table, in some columns together."""
    import pandas as pd

    with reading(prompts):
        texts = pd.read_parquet(prompts, columns=columns).fillna("").sum(axis=1)
    return float(texts.str.len().mean())


def _embedded(
    config: Config, need: Need, prompts: Mapping[str, int | None], folder: Path
) -> Iterator[tuple[bool, int | None]]:
    """Yield for each set of texts to embed whether it is done, and how many texts it has."""
    for task, families in need.families.items():
        if not compares_features(families) and "similarity" not in families:
            continue
        entry, texts = config.experiment.tasks[task], prompts[task]
        draws = (fill(paths.DRAW, task=task, draw=draw) for draw in entry.draws)
        sizes = dict.fromkeys(draws, texts)
        of_cells = {cell: config.size(cell) for cell in need.cells if cell.task == task}
        sizes |= {fill(paths.CELL, cell): _product(of.n or texts, of.kept) for cell, of in of_cells.items()}
        human = config.held_out_cells(task) + (config.human_cells(task) if "similarity" in families else [])
        sizes |= dict.fromkeys((fill(paths.CELL, cell) for cell in human), texts)
        for embedder in need.embedders:
            for path, size in sizes.items():
                features = fill(paths.FEATURES, folder=path, embedder=embedder)
                yield (folder / features).exists(), size
        for cell in cut_cells(config, task):  # at most: only where lengths differ
            features = fill(paths.CUT_FEATURES, cell, embedder=config.experiment.embedder)
            yield (folder / features).exists(), _product(texts, 2 + len(entry.draws))


def _embedded_by_gates(
    config: Config, need: Need, prompts: Mapping[str, int | None], folder: Path
) -> Iterator[tuple[bool, int | None]]:
    """Yield what :func:`_embedded` does for the sets that only gates embed."""
    sizes: dict[str, int | None] = {}
    for name in need.gates:
        gate = config.experiment.gates[name]
        families = need.families.get(gate.task, ())
        if compares_features(families) or "similarity" in families:
            continue
        texts, earlier = prompts[gate.task], gate.baseline.results is not None
        sizes |= {fill(paths.DRAW, task=gate.task, draw=of): texts for of in gate_draws(config, name)}
        for side in ("candidate",) if earlier else ("baseline", "candidate"):
            of_cells = {cell: config.size(cell) for cell in gate_cells(config, name, side)}
            sizes |= {
                fill(paths.CELL, cell): _product(of.n or texts, of.kept) for cell, of in of_cells.items()
            }
    for path, size in sizes.items():
        features = fill(paths.FEATURES, folder=path, embedder=config.experiment.embedder)
        yield (folder / features).exists(), size


def _dimensions(embedder: str, folder: Path) -> int:
    """Return the dimension of existing features, or else a typical one."""
    for path in folder.glob(fill(paths.REFERENCE_FEATURES, task="*", draw="*", embedder=embedder)):
        import numpy as np

        with reading(path):
            return int(np.load(path, mmap_mode="r").shape[1])
    return DIMENSIONS


def _product(number: int | None, factor: int) -> int | None:
    return None if number is None else number * factor


def _plus(total: float | None, value: float | None) -> float | None:
    return None if total is None or value is None else total + value
