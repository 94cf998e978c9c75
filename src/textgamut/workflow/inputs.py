"""Input functions of the rules: they map the configuration and a job's wildcards to files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from textgamut.catalogue import METRICS
from textgamut.catalogue.family import (
    CONTINUATIONS,
    FEATURES,
    GRADER,
    GROUPS,
    JUDGE,
    MODEL,
    OWN_REFERENCES,
    PAIRED_FEATURES,
    PROMPTS,
    REFERENCE_FEATURES,
    REFERENCES,
    TAGGER,
    TEXT_SCORES,
    TOKENIZER,
    Family,
)
from textgamut.config.cells import PLACEHOLDER, Cell, Config
from textgamut.config.entries.models import Model, Weights
from textgamut.config.entries.sources import (
    FileSource,
    FinetunedSource,
    GenerationsSource,
    asks_for_contact,
)
from textgamut.config.task_kinds import HUMAN, ScoresTask
from textgamut.errors import ConfigError
from textgamut.fields import expanded
from textgamut.workflow import outputs, paths
from textgamut.workflow.checked_corpora import CHECKED, GENERATOR, SCORER
from textgamut.workflow.families import family_of, generator_scores, text_score_files
from textgamut.workflow.methods import scored_cells
from textgamut.workflow.paths import fill


def source_files(source: Any) -> list[str]:
    """Return the user's own files that a source reads, so that editing them triggers a rerun."""
    name = getattr(source, "path", None) or getattr(source, "snapshot", None)
    if not name:
        return []
    path = expanded(name)
    if not path.is_dir():
        return [str(path)]
    # A brace would begin a wildcard; no library reads a file of a checkpoint with such a name.
    return sorted(str(file) for file in path.rglob("*") if file.is_file() and "{" not in str(file))


def loaded_model(config: Config, model: str) -> Model:
    """Return the entry of a model; the source of a fine-tuned one is the folder that finetune_model fills."""
    entry = config.models[model]
    if not isinstance(entry.source, FinetunedSource):
        return entry
    folder = FileSource(kind="file", path=fill(paths.CHECKPOINT, model=model))
    return entry.model_copy(update={"source": folder})


def finetuning(config: Config, wildcards: Any) -> FinetunedSource:
    """Return how a model is fine-tuned.

    Raises:
        ValueError: If it is not.
    """
    source = config.models[wildcards.model].source
    if not isinstance(source, FinetunedSource):
        raise ValueError(f"{wildcards.model} is not fine-tuned")
    return source


def training_dataset(config: Config, wildcards: Any) -> str:
    """Return the texts that those for fine-tuning are drawn from."""
    return fill(paths.TEXTS, dataset=finetuning(config, wildcards).dataset)


def training_base(config: Config, wildcards: Any) -> str:
    """Return the card of the model to fine-tune."""
    return fill(paths.MODEL_CARD, model=finetuning(config, wildcards).model)


def texts_in_tasks(config: Config, wildcards: Any) -> list[str]:
    """Return the prompts and references of all tasks that use the dataset of a fine-tuned model."""
    dataset = finetuning(config, wildcards).dataset
    tasks = [SimpleNamespace(task=task) for task in config.measured()]
    own = [task for task in tasks if config.experiment.tasks[task.task].dataset == dataset]
    return [path for task in own for path in (*prompts(config, task), *references(config, task))]


def given_prompts(config: Config, wildcards: Any) -> list[str]:
    """Return the prompts of all tasks that take them from another dataset."""
    dataset, tasks = finetuning(config, wildcards).dataset, config.experiment.tasks.items()
    return [fill(paths.PROMPTS, task=slug) for slug, task in tasks if task.paired and task.dataset != dataset]


def dataset_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a dataset is read from.

    Raises:
        ConfigError: If the dataset needs a contact, and that of the experiment is the placeholder.
    """
    source = config.datasets[wildcards.dataset].source
    if config.experiment.contact == PLACEHOLDER and asks_for_contact(source):
        raise ConfigError(
            f"contact: {PLACEHOLDER} is a placeholder: replace it in the experiment by your mail address or "
            f"project page, which Wikipedia and Wikidata require for the dataset {wildcards.dataset!r}"
        )
    return source_files(source)


def model_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a model is loaded from, or the weights of a fine-tuned one."""
    source = config.models[wildcards.model].source
    if isinstance(source, FinetunedSource):
        return [fill(paths.CHECKPOINT_WEIGHTS, wildcards)]
    return source_files(source)


def checked_embedder(_config: Config, wildcards: Any) -> str:
    """Return the card of the embedder of the sanity checks on a dataset."""
    return fill(paths.EMBEDDER_CARD, embedder=CHECKED[wildcards.dataset].embedder)


def cheat_models(config: Config, wildcards: Any) -> list[str]:
    """Return the cards of the models that the check of samplers that cheat loads on a dataset."""
    return [checked_embedder(config, wildcards), *model_cards(GENERATOR), *model_cards(SCORER)]


def embedder_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that an embedder is loaded from."""
    return source_files(config.embedders[wildcards.embedder].source)


def tagger_files(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files that a tagger is loaded from."""
    return source_files(config.taggers[wildcards.tagger].source)


def task_texts(config: Config, wildcards: Any) -> str:
    """Return the texts of a task's dataset."""
    return fill(paths.TEXTS, dataset=config.experiment.tasks[wildcards.task].dataset)


def reference_texts(config: Config, wildcards: Any) -> str:
    """Return the texts that references are drawn from: the dataset or, for a creative task, a reference cell.

    Raises:
        ValueError: If the task has no such draw.
    """
    cells = config.reference_cells(wildcards.task)
    if not cells:
        return task_texts(config, wildcards)
    for cell in cells:
        if cell.seed == int(wildcards.draw):
            return fill(paths.GENERATIONS, cell)
    raise ValueError(f"{wildcards.task} has no draw {wildcards.draw}")


def model_cards(model: str | None) -> list[str]:
    """Return the card of a model, which is written once the model is fetched and checked; [] for None."""
    return [fill(paths.MODEL_CARD, model=model)] if model else []


def given_texts(config: Config, wildcards: Any) -> list[str]:
    """Return the user's files with the texts of a cell; [] if they are downloaded.

    Raises:
        ValueError: If the texts of the model are generated.
    """
    source = config.models[wildcards.model].source
    if not isinstance(source, GenerationsSource):
        raise ValueError(f"the texts of {wildcards.model} are generated")
    return source.files(wildcards.task, wildcards.decoding, int(wildcards.seed))


def prompt_lengths(config: Config, wildcards: Any) -> list[str]:
    """Return the check of the prompt lengths; [] for a served model, whose tokenizer is unknown.

    There is one check per maximum answer length, so that adding a longer one does not rerun finished cells.
    """
    if config.models[wildcards.model].engine == "openai":
        return []
    tokens = config.decoding[wildcards.decoding].max_new_tokens
    return [fill(paths.LENGTHS, wildcards, tokens=tokens)]


def shards(config: Config, wildcards: Any) -> list[str]:
    """Return the shards of a cell, or of the task that provides its texts."""
    count = config.models[wildcards.model].shards
    task = config.texts_of(wildcards.task)
    return [fill(paths.SHARD, wildcards, task=task, shard=i, shards=count) for i in range(count)]


def embedded_texts(_config: Config, wildcards: Any) -> str:
    """Return the file of texts in the folder of a draw, of a cell, or of a cell's texts of one length."""
    top, *_, last = wildcards.folder.split("/")
    name = "references" if top == "data" else "texts" if last == "cut" else "generations"
    return f"{wildcards.folder}/{name}.parquet"


def draws(config: Config, wildcards: Any, path: str) -> list[str]:
    """Return one file for each draw of references.

    Args:
        config: The configuration.
        wildcards: Wildcards of the job, including ``task``.
        path: Path of the file, with the wildcard ``draw``.
    """
    numbers = config.experiment.tasks[wildcards.task].draws
    return [fill(path, wildcards, draw=number) for number in numbers]


def references(config: Config, wildcards: Any) -> list[str]:
    """Return the references of every draw."""
    return draws(config, wildcards, paths.REFERENCES)


def reference_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features of every draw of references."""
    return draws(config, wildcards, paths.REFERENCE_FEATURES)


def first_references(config: Config, wildcards: Any) -> str:
    """Return the references of the first draw."""
    return references(config, wildcards)[0]


def first_reference_features(config: Config, wildcards: Any) -> str:
    """Return the features of the first draw; the embedder defaults to the experiment's."""
    embedder = getattr(wildcards, "embedder", config.experiment.embedder)
    draw = config.experiment.tasks[wildcards.task].draws[0]
    return fill(paths.REFERENCE_FEATURES, wildcards, draw=draw, embedder=embedder)


def references_of_prompts(config: Config, wildcards: Any) -> list[str]:
    """Return the human continuations of a task's prompts; only prompted tasks have them."""
    paired = config.experiment.tasks[wildcards.task].paired
    return [first_references(config, wildcards)] if paired else []


def prompts(config: Config, wildcards: Any) -> list[str]:
    """Return the prompts of a task; [] if its texts are not generated."""
    generated = config.experiment.tasks[wildcards.task].generated
    return [fill(paths.PROMPTS, wildcards)] if generated else []


def grouped_dataset(config: Config, wildcards: Any) -> list[str]:
    """Return the dataset with the groups of the prompts, if the task has groups."""
    grouped = config.experiment.tasks[wildcards.task].groups
    return [task_texts(config, wildcards)] if grouped else []


def grouped_references(config: Config, wildcards: Any) -> list[str]:
    """Return the references with their groups, if the task has groups."""
    return references(config, wildcards) if config.experiment.tasks[wildcards.task].groups else []


def quality_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the per-text scores of a cell that its bar of quality for the effective diversity reads."""
    quality = family_of(config, wildcards.task, "completions").quality
    if quality is None:
        return []
    cell = Cell(wildcards.task, wildcards.model, wildcards.decoding, int(wildcards.seed))
    return text_score_files(config, cell, METRICS[quality.metric].family)


def generator(config: Config, cell: Any) -> str:
    """Return the model that generated the texts of a cell and computes their perplexity.

    Raises:
        ValueError: If the scorer computes the perplexity of the cell.
    """
    if not generator_scores(config, cell):
        raise ValueError(f"{cell.task}: the perplexity of {cell.model}, {cell.decoding} is the scorer's")
    return str(cell.model)


def amateur(config: Config, decoding: str) -> dict[str, Any] | None:
    """Return what the smaller model of contrastive decoding is loaded from; None for any other strategy."""
    name = config.amateur_of(decoding)
    return (
        loaded_model(config, name).model_dump(mode="json", include={*Weights.model_fields}) if name else None
    )


def amateur_cards(config: Config, wildcards: Any) -> list[str]:
    """Return the card of the smaller model of a cell's contrastive decoding, if that is its strategy."""
    return model_cards(config.amateur_of(wildcards.decoding))


def generator_cards(config: Config, wildcards: Any) -> list[str]:
    """Return the card of the model that generated the texts of a cell, if it computes their perplexity."""
    return model_cards(generator(config, wildcards))


def named_cards(config: Config, wildcards: Any, family: Family) -> list[str]:
    """Return the cards of the models and the tagger that a task's settings of a family name."""
    named = family_of(config, wildcards.task, family.name).named()
    return [
        fill(paths.TAGGER_CARD, tagger=name)
        if what.registry == "taggers"
        else fill(paths.MODEL_CARD, model=name)
        for _, what, name in named
    ]


def family_inputs(config: Config, family: Family) -> dict[str, Any]:
    """Return the inputs of the rule that scores a family: name -> path or input function."""
    own_features = paths.fill_some(paths.CELL_FEATURES, embedder=config.experiment.embedder)
    files: dict[str, dict[str, Any]] = {
        FEATURES: {"features": paths.CELL_FEATURES},
        REFERENCE_FEATURES: {"reference_features": reference_features},
        CONTINUATIONS: {"prompts": prompts},
        PROMPTS: {"prompts": prompts},
        REFERENCES: {"references": first_references},
        OWN_REFERENCES: {"own_references": references_of_prompts},
        PAIRED_FEATURES: {"features": own_features, "own_features": first_reference_features},
        GROUPS: {"references": references, "dataset": grouped_dataset},
        TEXT_SCORES: {"text_scores": quality_scores},
        GRADER: {"grader": paths.ESSAY_MODEL, "vocabulary": paths.ESSAY_VOCABULARY},
    }
    found: dict[str, Any] = {"texts": paths.GENERATIONS}
    for read in family.reads:
        found |= files.get(read, {})
    if not {MODEL, TOKENIZER, TAGGER, JUDGE}.isdisjoint(family.reads):
        found["card"] = partial(named_cards, family=family)
    if family.name == "support":
        found["parts"] = partial(support_parts, stages=("reduced", "pairs"))
    return {name: partial(file, config) if callable(file) else file for name, file in found.items()}


STAGES = ("reduced", "neighbours", "pairs")
"""Parts of the support metrics of large sets: the reduced features, in one part; the nearest neighbours of
each block of texts; with these of all blocks, the pairs inside balls of each block of references."""


def _stage(config: Config, wildcards: Any, stage: str, draw: int) -> list[str]:
    """Return the parts of a stage of a cell against a draw; [] if its support metrics are of one job."""
    blocks = family_of(config, wildcards.task, "support").blocks
    if blocks is None:
        return []
    count = 1 if stage == "reduced" else blocks
    names = {"stage": stage, "draw": draw, "blocks": count}
    return [fill(paths.SUPPORT_PART, wildcards, block=block, **names) for block in range(count)]


def unreduced_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features of a cell and of a draw, if a part of the support metrics reduces them."""
    files = (paths.REFERENCE_FEATURES, paths.CELL_FEATURES)
    return [fill(file, wildcards) for file in files] if wildcards.stage == "reduced" else []


def earlier_parts(config: Config, wildcards: Any) -> list[str]:
    """Return the parts of all earlier stages that a part of the support metrics is computed from."""
    earlier = STAGES[: STAGES.index(wildcards.stage)]
    return [file for stage in earlier for file in _stage(config, wildcards, stage, wildcards.draw)]


def support_parts(config: Config, wildcards: Any, stages: Sequence[str] = STAGES) -> list[str]:
    """Return the parts of the support metrics of a cell, by draw and stage; [] if they are of one job."""
    numbers = config.experiment.tasks[wildcards.task].draws
    return [file for draw in numbers for stage in stages for file in _stage(config, wildcards, stage, draw)]


def scored_generations(config: Config, wildcards: Any) -> list[str]:
    """Return the texts of all cells of a task, including the one of its references."""
    return [fill(paths.GENERATIONS, cell) for cell in scored_cells(config, wildcards.task)]


def ranked_texts(config: Config, wildcards: Any) -> list[str]:
    """Return the per-text metrics of the tasks that are ranked."""
    measured = config.measured()
    return [
        fill(paths.ALL_TEXT_SCORES if task in measured else paths.GIVEN_SCORES, wildcards, task=task)
        for task in config.ranked()[wildcards.ranked]
    ]


def ratings(config: Config, wildcards: Any) -> str:
    """Return the user's ratings of the texts that are ranked.

    Raises:
        ValueError: If the ranking has none.
    """
    file = config.ratings(wildcards.ranked)
    if file is None:
        raise ValueError(f"the ranking of {wildcards.ranked} has no ratings")
    return str(expanded(file))


def given_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the user's file that the scores of a task are read from; [] if it is downloaded.

    Raises:
        ValueError: If the scores of the task are computed.
    """
    task = config.experiment.tasks[wildcards.task]
    if not isinstance(task, ScoresTask):
        raise ValueError(f"{wildcards.task} reads no scores from a file")
    return source_files(task.source)


def text_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the per-text metrics of all cells of a task."""
    return outputs.task_text_score_files(config, wildcards.task)


def scores(config: Config, wildcards: Any) -> list[str]:
    """Return the scores of all cells of a task."""
    return outputs.task_score_files(config, wildcards.task)


def tests(config: Config, wildcards: Any) -> list[str]:
    """Return the tests of the differences between the methods of a task."""
    pairs = outputs.compared_pairs(config, wildcards.task)
    return outputs.test_files(config, wildcards.task, config.experiment.embedder, pairs)


def cut_tests(config: Config, wildcards: Any) -> list[str]:
    """Return the tests of a task that are repeated on texts of one length."""
    pairs = outputs.cut_pairs(config, wildcards.task)
    return outputs.test_files(config, wildcards.task, config.experiment.embedder, pairs)


def tests_by_embedder(config: Config, wildcards: Any) -> list[str]:
    """Return the tests of the differences between the methods of a task, for one embedder after the other."""
    embedders = outputs.tested_embedders(config, wildcards.task)
    pairs = outputs.compared_pairs(config, wildcards.task)
    return [file for name in embedders for file in outputs.test_files(config, wildcards.task, name, pairs)]


def _of_both(config: Config, wildcards: Any) -> list[Cell]:
    """Return the cells of two methods with their common seeds: those of the first, then of the second."""
    pair = (wildcards.model, wildcards.decoding), (wildcards.other_model, wildcards.other_decoding)
    if pair[1][0] == HUMAN:  # the same held-out texts for all seeds: one of them is compared
        own = next(cell for cell in config.cells(wildcards.task) if cell[1:3] == pair[0])
        return [own, *config.held_out_cells(wildcards.task)]
    cells = {cell[1:]: cell for cell in config.cells(wildcards.task)}
    seeds = [{seed for *method, seed in cells if tuple(method) == own} for own in pair]
    return [cells[*own, seed] for own in pair for seed in sorted(seeds[0] & seeds[1])]


def compared_texts(config: Config, wildcards: Any) -> list[str]:
    """Return the texts of two methods."""
    return [fill(paths.GENERATIONS, cell) for cell in _of_both(config, wildcards)]


def compared_references(config: Config, wildcards: Any) -> list[str]:
    """Return the references of the first draw, if a family that is tested reads them."""
    read = any(REFERENCES in family.reads for family in outputs.families_of_test(config, wildcards))
    return [first_references(config, wildcards)] if read else []


def compared_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features of the texts of two methods, if a family that is tested reads them."""
    read = any(family.of_features for family in outputs.families_of_test(config, wildcards))
    cells = _of_both(config, wildcards) if read else []
    return [fill(paths.CELL_FEATURES, cell, embedder=wildcards.embedder) for cell in cells]


def compared_reference_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features of every draw of references, if a family that is tested reads them."""
    read = any(family.of_draws for family in outputs.families_of_test(config, wildcards))
    return reference_features(config, wildcards) if read else []


def held_out(config: Config, wildcards: Any) -> str:
    """Return the held-out human texts of a task."""
    (cell,) = config.held_out_cells(wildcards.task)
    return fill(paths.GENERATIONS, cell)


def cut_files(config: Config, wildcards: Any, path: str) -> list[str]:
    """Return a file of the texts of one length, if the tests are repeated on these.

    Args:
        config: The configuration.
        wildcards: Wildcards of the comparison.
        path: Path of the file of a cell.
    """
    repeated = outputs.repeated_on_cut_texts(config, wildcards)
    cells = _of_both(config, wildcards)[:1] if repeated else []
    return [fill(path, cell, embedder=wildcards.embedder) for cell in cells]


def compared_quality(config: Config, wildcards: Any) -> list[str]:
    """Return the scores that the bar of quality for the effective diversity reads, of two methods."""
    if "completions" not in {family.name for family in outputs.families_of_test(config, wildcards)}:
        return []
    return [path for cell in _of_both(config, wildcards) for path in quality_scores(config, cell)]


def tokenizers(config: Config, wildcards: Any) -> list[str]:
    """Return the cards of the models whose tokenizers the families read that are tested."""
    families = outputs.families_of_test(config, wildcards)
    return [card for family in families for card in named_cards(config, wildcards, family)]


def all_text_scores(config: Config, wildcards: Any) -> list[str]:
    """Return the table of a task's per-text metrics, if it has any and its methods have common prompts."""
    paired = config.experiment.tasks[wildcards.task].prompted and text_scores(config, wildcards)
    return [fill(paths.ALL_TEXT_SCORES, wildcards)] if paired else []


def compared_generations(config: Config, wildcards: Any) -> list[str]:
    """Return the texts of all cells of a task."""
    return [fill(paths.GENERATIONS, cell) for cell in config.cells(wildcards.task)]


def sweeps(config: Config, wildcards: Any) -> list[str]:
    """Return the sweeps of all cells of a task."""
    return outputs.sweep_files(config, wildcards.task)


def projected_features(config: Config, wildcards: Any) -> list[str]:
    """Return the features on the map of a task: the first draw of references, then each cell."""
    embedder = config.experiment.embedder
    cells = config.cells(wildcards.task)
    return [
        first_reference_features(config, wildcards),
        *(fill(paths.CELL_FEATURES, cell, embedder=embedder) for cell in cells),
    ]


def _gated(config: Config, wildcards: Any) -> SimpleNamespace:
    """Return the wildcards of the task of a gate, with the experiment's embedder."""
    task = config.experiment.gates[wildcards.gate].task
    return SimpleNamespace(task=task, embedder=config.experiment.embedder)


def gate_cells(config: Config, gate: str, side: str) -> list[Cell]:
    """Return the cells of a side of a gate, ``baseline`` or ``candidate``: one for each generation seed."""
    entry = config.experiment.gates[gate]
    method = getattr(config.gate_sides(entry), side)
    return [
        Cell(entry.task, method[0], method[1], seed) for seed in config.experiment.tasks[entry.task].seeds
    ]


def of_gate(config: Config, wildcards: Any, side: str, path: str) -> list[str]:
    """Return a file of each cell of a side of a gate, which may be in the results of an earlier run.

    Args:
        config: The configuration.
        wildcards: Wildcards of the job: ``gate``.
        side: ``baseline`` or ``candidate``.
        path: Path of the file of a cell.
    """
    cells = gate_cells(config, wildcards.gate, side)
    files = [fill(path, cell, embedder=config.experiment.embedder) for cell in cells]
    earlier = config.experiment.gates[wildcards.gate].baseline.results
    if side == "candidate" or earlier is None:
        return files
    return [paths.in_results(expanded(earlier), file) for file in files]


def gate_draws(config: Config, gate: str) -> list[int]:
    """Return the draws of references that a gate reads: all, or one if all are equal."""
    task = config.experiment.tasks[config.experiment.gates[gate].task]
    return task.draws[:1] if task.paired else task.draws


def gate_references(config: Config, wildcards: Any, path: str) -> list[str]:
    """Return a file of each draw of references of a gate.

    Args:
        config: The configuration.
        wildcards: Wildcards of the job: ``gate``.
        path: Path of the file of a draw.
    """
    known = _gated(config, wildcards)
    return [fill(path, known, draw=draw) for draw in gate_draws(config, wildcards.gate)]


def gate_dataset(config: Config, wildcards: Any) -> list[str]:
    """Return the dataset with the groups of the prompts, if a gate has groups."""
    grouped = config.experiment.gates[wildcards.gate].group is not None
    return [task_texts(config, _gated(config, wildcards))] if grouped else []
