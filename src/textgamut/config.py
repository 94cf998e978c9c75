"""What an experiment is: its pydantic models, their loading, and the checks across files.

An *experiment* (``config/demo.yaml``) names models, datasets, decoding settings and embedders by slug; a
*registry* (``config/models.yaml`` and its siblings) says what each slug is. Unknown keys are errors.

``python -m textgamut.config`` prints the JSON schema (``config/schema.json``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, model_validator

from textgamut.errors import TextgamutError, nearest
from textgamut.metric_settings import Distinct, Metrics, RankingSettings, Seeds, SupportSettings
from textgamut.registry import (
    RATE,
    REGISTRIES,
    Dataset,
    Decoding,
    Embedder,
    Model,
    Slug,
    Strict,
    TableDataset,
    Tagger,
    needs_contact,
)
from textgamut.validation import read_yaml, validate

HUMAN = "human"
"""The decoding slug of texts that no model wrote: subsets that play models, and references that stand beside
them, whose model slug it is, too."""

ALL_TASKS = "all"
"""Stands for a task where the ranking is over all of them."""

PLACEHOLDER = "you@example.org"
"""The contact in the papers' configurations, to be replaced by the user's before anything runs."""

# --- experiments --------------------------------------------------------------------------------------


class Sweep(Strict):
    """Precision and recall as N and k vary (PR Figure B.1), for the texts that there are."""

    n: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1), Distinct]
    """Values of N, each up to the task's n, at the task's k."""
    k: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1), Distinct]
    """Values of k, at the task's n."""


class CellBlock(Strict):
    """Every model of the block with every decoding setting of the block: one cell each, per seed."""

    models: Annotated[list[str], Field(min_length=1)]
    decodings: Annotated[list[str], Field(min_length=1)]


Cells = Annotated[list[CellBlock], Field(min_length=1)]


class TokensPerWord(Strict):
    """Tokens per word of the texts of a dataset (PR Table B.2)."""

    dataset: str
    models: Annotated[list[str], Field(min_length=1)]
    """Models whose tokenizers are asked."""


class TaskBase(Strict):
    """What all kinds of task share."""

    dataset: str
    n: Annotated[int, Field(ge=2)] | None
    """Number of texts on each side (PR section 4: 4000)."""
    k: Annotated[int, Field(ge=1)] = 4
    """The k of the k-NN balls (PR section 4)."""
    seeds: Seeds
    """Generation seeds: one set of generated texts each."""
    draws: Seeds
    """Reference draws: one set of references each (PR Table B.5, "varying P")."""
    max_words: Annotated[int, Field(ge=1)] | None
    """Texts of both sides are cut to this many words."""
    groups: list[str] = []
    """Group columns of the dataset: support metrics also per group of each (PR section 8)."""
    sweep: Sweep | None = None
    metrics: Metrics | None = None
    """The families of this task, instead of the experiment's; not given: the experiment's."""
    ranking: RankingSettings | None = None
    """Rank the task's methods; not given: they are not ranked."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n is None:
            if self.sweep:
                raise ValueError("sweep: give n, the number of texts, as a number")
            return self
        if self.k >= self.n:
            raise ValueError(
                f"k = {self.k} needs more than {self.k} texts on each side, but n = {self.n}: "
                f"lower k to at most {self.n - 1} or raise n"
            )
        if self.sweep:
            if max(self.sweep.n) > self.n:
                raise ValueError(f"sweep.n: {max(self.sweep.n)} is more than the task's n = {self.n}")
            if min(self.sweep.n) <= self.k or max(self.sweep.k) >= self.n:
                raise ValueError(f"sweep: every k needs more than k texts, also k = {self.k} at each sweep.n")
        return self


class _SizedTask(TaskBase):
    """A task whose texts are drawn, so many and so long."""

    n: Annotated[int, Field(ge=2)]
    """Number of texts on each side (PR section 4: 4000)."""
    max_words: Annotated[int, Field(ge=1)]
    """Texts of both sides are cut to this many words."""
    completions: ClassVar[int] = 1
    """Samples that a model writes for each prompt."""


class ContinuationTask(_SizedTask):
    """Continue the first words of a human text (PR section 5.1, WebText generation)."""

    kind: Literal["continuation"]
    min_words: Annotated[int, Field(ge=1)] = 11
    """Shorter texts are left out (PR appendix B.4: more than 10 words)."""
    prompt_words: Annotated[int, Field(ge=2)] = 10
    """Words of the human text that the model is given (PR Table B.3)."""
    cells: Cells

    @model_validator(mode="after")
    def _room_to_continue(self) -> ContinuationTask:
        for name in ("min_words", "max_words"):
            if getattr(self, name) <= self.prompt_words:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) leaves nothing after {self.prompt_words} prompt words"
                )
        return self


class SubsetsTask(_SizedTask):
    """Subsets of a labelled dataset play the models (PR section 5.2, AG news, Figure 2)."""

    kind: Literal["subsets"]
    min_words: Annotated[int, Field(ge=1)] = 11
    """Shorter texts are left out."""
    group: str
    """The group column that holds the labels."""
    references: Annotated[list[str], Field(min_length=1)]
    """Labels of the reference distribution, in equal parts."""
    subsets: Annotated[dict[Slug, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
    """Slug of a simulated model -> the labels it writes, in equal parts."""

    @model_validator(mode="after")
    def _labels_share_the_texts(self) -> SubsetsTask:
        for name, labels in {"references": self.references, **self.subsets}.items():
            if len(set(labels)) < len(labels):
                raise ValueError(f"{name}: a label stands twice in {labels}")
            if len(labels) > self.n:
                raise ValueError(f"{name}: {len(labels)} labels cannot share n = {self.n} texts")
        return self


class BiographiesTask(_SizedTask):
    """Write a biography after the example of others (PR section 5.4, Figure 8)."""

    kind: Literal["biographies"]
    examples: Annotated[int, Field(ge=1, le=15)]
    """In-context examples a prompt. Tasks on the same dataset with other numbers show nested examples."""
    cells: Cells


class ReferenceCell(Strict):
    """The cell whose texts are the references: draw d is its generation seed d."""

    model: str
    decoding: str


class CreativeTask(_SizedTask):
    """Write after creative prompts; one model's texts are the references (PR section 5.5, Table 1)."""

    kind: Literal["creative"]
    references: ReferenceCell
    """Whose texts are the references."""
    texts_of: str | None = None
    """Another creative task: its texts are measured, against other references, and none are generated."""
    cells: Cells


class PromptedTask(TaskBase):
    """Continue prompts that a dataset gives; its texts are the references (NW section 5, MC section 3)."""

    kind: Literal["prompted"]
    n: Annotated[int, Field(ge=2)] | None = None
    """Prompts to draw; null: all."""
    draws: Seeds = [0]
    """The references are those of the prompts: every draw is the same."""
    max_words: Annotated[int, Field(ge=1)] | None = None
    """Texts of both sides are cut to this many words; null: they are not cut."""
    completions: Annotated[int, Field(ge=1)] = 1
    """Samples that a model writes for each prompt (NW: 20)."""
    keep: Annotated[int, Field(ge=1)] | None = None
    """How many of them are measured, the longest in words (NW: 10); null: all."""
    cells: Cells

    @model_validator(mode="after")
    def _kept_of_the_written(self) -> PromptedTask:
        if self.keep and self.keep > self.completions:
            raise ValueError(f"keep ({self.keep}) exceeds completions ({self.completions})")
        return self


Task = Annotated[
    ContinuationTask | SubsetsTask | BiographiesTask | CreativeTask | PromptedTask,
    Field(discriminator="kind"),
]


class Experiment(Strict):
    """One experiment: the tasks to run and the embedder to see them through."""

    name: Slug
    """Folder of its tables and figures: ``results/papers/{name}``."""
    embedder: str
    """What precision and recall see the texts through; one, since other features give other numbers."""
    contact: Annotated[str, Field(pattern=r"^[!-~][ -~]{3,}$")] | None = None
    """Your mail address or project page: sent to Wikipedia and Wikidata, whose operators ask for it."""
    requests_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] = RATE
    """Most questions a second to each of them."""
    metrics: Metrics = Metrics(support=SupportSettings())
    """The families of metrics to compute, where a task names none; not given: the support metrics."""
    tokens_per_word: TokensPerWord | None = None
    """Count them, for a table beside the tasks'; not given: they are not counted."""
    tasks: Annotated[dict[Slug, Task], Field(min_length=1)]


class Cell(NamedTuple):
    """One set of generated texts: a directory under ``results/``."""

    task: str
    model: str
    decoding: str
    seed: int

    @property
    def path(self) -> str:
        """Directory of the cell, relative to the working directory."""
        return f"results/{self.task}/{self.model}/{self.decoding}/seed{self.seed}"


class Config(NamedTuple):
    """A validated experiment with its registries: every name that it uses exists."""

    experiment: Experiment
    models: dict[str, Model]
    datasets: dict[str, Dataset]
    decoding: dict[str, Decoding]
    embedders: dict[str, Embedder]
    taggers: dict[str, Tagger]

    def metrics(self, task: str) -> Metrics:
        """Return the families of metrics that a task computes."""
        return self.experiment.tasks[task].metrics or self.experiment.metrics

    def ranked(self) -> dict[str, list[str]]:
        """Return the rankings to make: name -> tasks. Where several tasks are ranked alike, also over all."""
        tasks = self.experiment.tasks
        named = {slug: [slug] for slug, task in tasks.items() if task.ranking}
        methods = {slug: {cell[1:3] for cell in self.cells(slug)} for slug in named}
        alike = len(named) > 1 and all(
            (tasks[slug].ranking, methods[slug], self.metrics(slug))
            == (tasks[other].ranking, methods[other], self.metrics(other))
            for slug, other in pairwise(named)
        )
        return named | ({ALL_TASKS: list(named)} if alike else {})

    def cells(self, task: str) -> list[Cell]:
        """Return the cells of a task, in the order of the configuration, each once."""
        entry = self.experiment.tasks[task]
        if isinstance(entry, SubsetsTask):
            pairs = [(subset, HUMAN) for subset in entry.subsets]
        else:
            pairs = [(m, d) for block in entry.cells for m in block.models for d in block.decodings]
        return [Cell(task, m, d, seed) for m, d in dict.fromkeys(pairs) for seed in entry.seeds]

    def human_cells(self, task: str) -> list[Cell]:
        """Return the cell of the references that stand beside the models in a table of texts (NW Table 3)."""
        entry = self.experiment.tasks[task]
        beside = isinstance(entry, PromptedTask) and self.metrics(task).of_texts()
        return [Cell(task, HUMAN, HUMAN, entry.draws[0])] if beside else []

    def texts_of(self, task: str) -> str:
        """Return the task whose generated texts a task measures: its own, or those of another."""
        return getattr(self.experiment.tasks[task], "texts_of", None) or task

    def reference_cells(self, task: str) -> list[Cell]:
        """Return the cells whose texts are the references of a creative task, a cell for each draw."""
        entry = self.experiment.tasks[task]
        if not isinstance(entry, CreativeTask):
            return []
        named = entry.references
        return [Cell(self.texts_of(task), named.model, named.decoding, draw) for draw in entry.draws]

    def generated(self) -> list[Cell]:
        """Return the cells whose texts a model must write, of all tasks, each once."""
        cells = []
        for task, entry in self.experiment.tasks.items():
            if not isinstance(entry, SubsetsTask):
                cells += [cell._replace(task=self.texts_of(task)) for cell in self.cells(task)]
                cells += self.reference_cells(task)
        return list(dict.fromkeys(cells))


# --- loading ------------------------------------------------------------------------------------------


def load_config(experiment: Mapping[str, Any], source: str, registries: Path) -> Config:
    """Validate an experiment against its registries.

    Args:
        experiment: The parsed experiment file.
        source: Its name, for error messages.
        registries: The folder that holds ``models.yaml`` and its siblings.

    Returns:
        The experiment and its registries; every slug that the experiment names exists.

    Raises:
        TextgamutError: One line for each thing that is wrong: file, key, what, nearest valid choice.
    """
    entries = {name: load_registry(registries / f"{name}.yaml") for name in REGISTRIES}
    config = Config(validate(TypeAdapter(Experiment), experiment, source), **entries)
    problems = list(_broken_references(config))
    if problems:
        raise TextgamutError("\n".join(f"{source}: {problem}" for problem in problems))
    return config


def load_registry(path: Path) -> dict[str, Any]:
    """Load one registry: slug -> entry, of the kind that the file's name says.

    Raises:
        TextgamutError: One line for each thing that is wrong.
    """
    content = read_yaml(path)
    adapter = _registry(REGISTRIES[path.stem])
    registry: dict[str, Any] = validate(adapter, {} if content is None else content, str(path))
    return registry


def _registry(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(dict[Slug, kind])


def _broken_references(config: Config) -> Iterator[str]:
    """Yield a message for every name in the experiment that no registry defines, and every unusable file."""

    def check(key: str, name: str, registry: Mapping[str, Any], what: str) -> Iterator[str]:
        if name not in registry:
            yield f"{key}: unknown {what} {name!r}; {nearest(name, registry)}"

    used: list[tuple[str, Any]] = []
    name = config.experiment.embedder
    yield from check("embedder", name, config.embedders, "embedder")
    used.append((f"embedder {name!r}", config.embedders.get(name)))
    essays = {config.metrics(slug).essay for slug in config.experiment.tasks} - {None}
    if len(essays) > 1:
        yield "metrics.essay: one corpus trains the model of all tasks: name the same file everywhere"
    blocks = {f"tasks.{slug}.": task.metrics for slug, task in config.experiment.tasks.items()}
    for where, metrics in {"": config.experiment.metrics, **blocks}.items():
        if metrics is None:
            continue
        for key, name in metrics.models().items():
            yield from check(f"{where}metrics.{key}", name, config.models, "model")
            used.append((f"model {name!r}", config.models.get(name)))
            yield from _not_served(f"{where}metrics.{key}", name, config)
        if metrics.entities:
            name = metrics.entities.tagger
            yield from check(f"{where}metrics.entities.tagger", name, config.taggers, "tagger")
            used.append((f"tagger {name!r}", config.taggers.get(name)))
        if metrics.judge:
            name, key = metrics.judge.model, f"{where}metrics.judge.model"
            yield from check(key, name, config.models, "model")
            model = config.models.get(name)
            used.append((f"model {name!r}", model))
            if model and (model.engine != "openai" or model.chat != "template"):
                yield f"{key}: model {name!r} cannot be asked: take one with engine openai, chat: template"
    if counted := config.experiment.tokens_per_word:
        yield from check("tokens_per_word.dataset", counted.dataset, config.datasets, "dataset")
        used.append((f"dataset {counted.dataset!r}", config.datasets.get(counted.dataset)))
        for i, name in enumerate(counted.models):
            yield from check(f"tokens_per_word.models[{i}]", name, config.models, "model")
            used.append((f"model {name!r}", config.models.get(name)))
            yield from _not_served(f"tokens_per_word.models[{i}]", name, config)
    for slug, task in config.experiment.tasks.items():
        yield from check(f"tasks.{slug}.dataset", task.dataset, config.datasets, "dataset")
        used.append((f"dataset {task.dataset!r}", config.datasets.get(task.dataset)))
        known = _group_columns(config.datasets.get(task.dataset))
        for group in task.groups:
            if known is not None and group not in known:
                yield f"tasks.{slug}.groups: the dataset has no column {group!r}; {nearest(group, known)}"
        if slug in config.datasets:
            yield f"tasks.{slug}: a dataset has the same slug; both would own data/{slug}: rename the task"
        yield from _unfit_task(config, slug, task)
        if isinstance(task, SubsetsTask):
            if HUMAN in task.subsets:
                yield f"tasks.{slug}.subsets.{HUMAN}: the name is reserved for references: rename the subset"
            continue
        if isinstance(task, CreativeTask):
            named = task.references
            yield from check(f"tasks.{slug}.references.model", named.model, config.models, "model")
            yield from check(f"tasks.{slug}.references.decoding", named.decoding, config.decoding, "decoding")
            used.append((f"model {named.model!r}", config.models.get(named.model)))
        for i, block in enumerate(task.cells):
            for j, name in enumerate(block.models):
                yield from check(f"tasks.{slug}.cells[{i}].models[{j}]", name, config.models, "model")
                used.append((f"model {name!r}", config.models.get(name)))
            for j, name in enumerate(block.decodings):
                yield from check(f"tasks.{slug}.cells[{i}].decodings[{j}]", name, config.decoding, "decoding")
    if ALL_TASKS in config.experiment.tasks:
        yield f"tasks.{ALL_TASKS}: the name is reserved for the ranking over all tasks: rename the task"
    if HUMAN in config.decoding:
        yield f"decoding {HUMAN!r} is reserved for texts that no model wrote: rename the entry"
    if HUMAN in config.models:
        yield f"model {HUMAN!r} is reserved for texts that no model wrote: rename the entry"
    for what, entry in dict(used).items():
        if entry is None:
            continue
        for key in ("path", "snapshot"):
            if file := getattr(entry.source, key, None):
                path = Path(file).expanduser()
                if not path.exists():
                    yield f"{what}: source.{key}: there is no file {path}"
        addresses = [getattr(entry.source, key, None) for key in ("api", "sparql")]
        if not config.experiment.contact and any(map(needs_contact, filter(None, addresses))):
            yield f"contact: {what} is extracted from Wikipedia: give your mail address or project page"


FORMATS = {
    BiographiesTask: ("biographies",),
    CreativeTask: ("creative",),
    PromptedTask: ("continuations", "new-wiki"),
}
"""Kind of task -> the formats of dataset that it needs."""


def _unfit_task(config: Config, slug: str, task: Task) -> Iterator[str]:
    """Yield a message for all in a task that does not fit its dataset, the metrics, or another task."""
    dataset = config.datasets.get(task.dataset)
    needed = FORMATS.get(type(task), ())
    if dataset and needed and dataset.format not in needed:
        yield (
            f"tasks.{slug}.dataset: {task.dataset!r} has the format {dataset.format}; "
            f"a task of kind {task.kind} needs {' or '.join(needed)}"
        )
    metrics = config.metrics(slug)
    elsewhere = f"give this task metrics of its own (tasks.{slug}.metrics)"
    if metrics.similarity and not isinstance(task, PromptedTask):
        yield (
            f"tasks.{slug}.kind: similarity compares a text with the reference of its own prompt, which only "
            f"a task of kind prompted has: {elsewhere}"
        )
    if metrics.judge and not isinstance(task, BiographiesTask):
        yield f"tasks.{slug}.kind: the judge is asked about biographies, and no other texts: {elsewhere}"
    if metrics.likelihood and metrics.likelihood.perplexity_of == "generator":
        if isinstance(task, SubsetsTask):
            yield f"tasks.{slug}.kind: no model wrote human texts, to give their perplexity: {elsewhere}"
        else:
            for name in dict.fromkeys(name for block in task.cells for name in block.models):
                yield from _not_served(f"tasks.{slug}: perplexity_of: generator", name, config)
    if task.ranking:
        yield from _unfit_ranking(slug, task, metrics)
    several = isinstance(task, PromptedTask) and (task.keep or task.completions) > 1
    if several and (metrics.support or metrics.divergence):
        yield (
            f"tasks.{slug}.keep: support and divergence compare one text of a prompt with one reference: "
            "keep 1, or leave these metrics out"
        )
    if not isinstance(task, CreativeTask) or task.texts_of is None:
        return
    tasks = config.experiment.tasks
    other = tasks.get(task.texts_of)
    if not isinstance(other, CreativeTask) or other is task or other.texts_of:
        creative = [
            name
            for name, entry in tasks.items()
            if isinstance(entry, CreativeTask) and entry is not task and not entry.texts_of
        ]
        what = "is no creative task with texts of its own"
        yield f"tasks.{slug}.texts_of: {task.texts_of!r} {what}; {nearest(task.texts_of, creative)}"
        return
    for name in ("n", "max_words"):
        if getattr(task, name) != getattr(other, name):
            yield (
                f"tasks.{slug}.{name}: {getattr(task, name)} is not the {getattr(other, name)} of "
                f"{task.texts_of}, whose texts are measured"
            )
    written = {cell[1:] for cell in config.cells(task.texts_of)}
    for cell in config.cells(slug):
        if cell[1:] not in written:
            yield (
                f"tasks.{slug}.cells: {task.texts_of} has no texts of {cell.model}, {cell.decoding}, seed "
                f"{cell.seed}"
            )


def _unfit_ranking(slug: str, task: Task, metrics: Metrics) -> Iterator[str]:
    """Yield a message for all in a ranking that the task's texts cannot give."""
    assert task.ranking
    if isinstance(task, SubsetsTask):
        yield f"tasks.{slug}.ranking: human texts answer no prompts: there is nothing on which they compete"
        return
    for name in [*task.ranking.higher, *task.ranking.lower]:
        if name == "entity_overlap" and not isinstance(task, PromptedTask):
            yield f"tasks.{slug}.ranking: entity_overlap needs a reference for each prompt: kind prompted"
        elif name == "essay" and metrics.essay and not Path(metrics.essay.essays).expanduser().is_file():
            yield f"tasks.{slug}.ranking: essay: there is no file {metrics.essay.essays} to train it on"
        elif name not in metrics.per_text():
            yield (
                f"tasks.{slug}.ranking: no criterion {name!r} of single texts among the task's metrics; "
                f"{nearest(name, metrics.per_text())}"
            )
    methods = {(m, d) for block in task.cells for m in block.models for d in block.decodings}
    if len(methods) < 2:
        yield f"tasks.{slug}.ranking: one method cannot be ranked: add a model or a decoding setting"


def _not_served(key: str, name: str, config: Config) -> Iterator[str]:
    model = config.models.get(name)
    if model and model.engine == "openai":
        yield f"{key}: model {name!r} is served by an API: its tokens and their likelihood are not known here"


def _group_columns(dataset: Dataset | None) -> list[str] | None:
    if isinstance(dataset, TableDataset):
        return dataset.groups
    known = {
        "news-articles": ["topic"], "ag-news": ["topic"], "new-wiki": ["entity_type"],
        "biographies": ["gender", "badge"],
    }  # fmt: skip
    return known.get(dataset.format, []) if dataset else None


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of all kinds of file, for editors: ``schema.json#/$defs/<kind>``."""
    kinds = {"experiment": TypeAdapter(Experiment)}
    kinds |= {name: _registry(kind) for name, kind in REGISTRIES.items()}
    files, definitions = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in kinds.items()], ref_template="#/$defs/{model}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "textgamut configuration",
        "$defs": definitions["$defs"] | {name: schema for (name, _), schema in files.items()},
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in kinds],
    }


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))
