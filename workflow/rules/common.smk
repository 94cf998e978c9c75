"""What the rules share: the registry entries of a cell, and the files of an experiment.

A rule hands its script all that its output depends on as one dictionary, `params.settings`. One, because
Snakemake compares the values of params as a set, without their names: 4 and 8 exchanged would go unseen.
Batch sizes and GPUs are resources: hardware, which never causes a rerun.
"""

import collections
import json
import os

from textgamut.features import embed as embedding
from textgamut.report.figures import (
    precision_recall as figures,
    rankings as ranking_figures,
    texts as text_figures,
)
from textgamut.workflow import plan
from textgamut.report import tables
from textgamut.tasks import draws as tasks
from textgamut.datasets.card import REVISION as CARD_REVISION
from textgamut.datasets.extract import REVISION as DATASETS_REVISION
from textgamut.generation import REVISION as GENERATION_REVISION
from textgamut.report.missed import REVISION as EXPLAIN_REVISION
from textgamut.models.checkpoints import CONVERSION
from textgamut.metrics.divergence import REVISION as DIVERGENCE_REVISION
from textgamut.metrics.entities import REVISION as ENTITIES_REVISION
from textgamut.metrics.essay import REVISION as ESSAY_REVISION
from textgamut.metrics.judge import REVISION as JUDGE_REVISION
from textgamut.metrics.likelihood import REVISION as LIKELIHOOD_REVISION
from textgamut.metrics.ngram import REVISION as NGRAM_REVISION
from textgamut.metrics.readability import REVISION as READABILITY_REVISION
from textgamut.metrics.similarity import REVISION as SIMILARITY_REVISION
from textgamut.metrics.support import REVISION as SUPPORT_REVISION
from textgamut.metrics.support import SMALL_N
from textgamut.tasks.templates import REVISION as PROMPTS_REVISION
from textgamut.rankings import (
    agreement,
    bradley_terry,
    dominance,
    method_scores,
    qtext,
    ranking as rank,
    ufg_depth,
)
from textgamut.report.figures import hasse
from textgamut.metrics.tokens_per_word import REVISION as WORDS_REVISION


def entry(registry, slug):
    """Return a registry entry as plain data, for params."""
    return getattr(CONFIG, registry)[slug].model_dump(mode="json")


def gpus(count):
    """Return the resource that asks for GPUs, in the form that a cluster wants: its profile's `gpu_form`.

    `gpu`, which a local run counts, too; or `gres`, or `gres:a100` where Slurm wants the type. And, as `lease`,
    how many the job itself is to take.
    """
    form = (workflow.resource_settings.default_resources or {}).get("gpu_form")
    name, _, kind = (form.raw if form else "gpu").partition(":")
    if name == "gpu":
        return {"gpu": count, "lease": count}
    prefix = f"gpu:{kind}" if kind else "gpu"
    return {
        "gres": lambda wildcards: (
            f"{prefix}:{number}" if (number := count(wildcards)) else ""
        ),
        "lease": count,
    }


def generation_memory(wildcards, attempt):
    """Return the MB that a generation job asks for: the weights once, Python, torch; more at the next attempt."""
    return attempt * int(3000 + 1200 * (CONFIG.models[wildcards.model].gigabytes or 0))


def generation_minutes(wildcards):
    """Return a generation job's time limit: half as much again as the stated rate says; three hours without one.

    The same at the next attempt, which resumes from the journal.
    """
    model = CONFIG.models[wildcards.model]
    if not model.tokens_per_second:
        return 180
    task, decoding = (
        CONFIG.experiment.tasks[wildcards.task],
        CONFIG.decoding[wildcards.decoding],
    )
    prompts = plan.count_prompts(CONFIG, wildcards.task, Path()) or 5000
    tokens = (
        prompts * task.completions * decoding.max_new_tokens * plan.computed(decoding)
    )
    return 20 + int(1.5 * tokens / model.shards / model.tokens_per_second / 60)


def embedding_group(wildcards):
    """Return the group of an embedding: a cell's goes with its texts; a draw's stands alone, all cells need it."""
    folder = wildcards.folder.split("/")
    return f"embed/{folder[1]}/{folder[2]}" if folder[0] == "results" else None


def source_files(source):
    """Return the files of the user that a source reads as inputs: an edit of them reruns what is made of them."""
    name = getattr(source, "path", None) or getattr(source, "snapshot", None)
    if not name:
        return []
    path = Path(name).expanduser()
    return (
        sorted(map(str, filter(Path.is_file, path.rglob("*"))))
        if path.is_dir()
        else str(path)
    )


def task_settings(wildcards, *fields):
    """Return some settings of the task at hand: those on which a stage depends, and no others."""
    task = CONFIG.experiment.tasks[wildcards.task]
    present = {name for name in fields if name in type(task).model_fields}
    return {"task": wildcards.task} | task.model_dump(mode="json", include=present)


def prompt_settings(wildcards):
    """Return what the prompts of a task depend on; of texts that another task writes: its prompts."""
    task = CONFIG.experiment.tasks[wildcards.task]
    fields = ["kind", "dataset", "n", "min_words", "prompt_words", "examples"]
    if task.kind == "biographies":
        fields.append("draws")  # whose persons are no examples
    return task_settings(wildcards, *fields) | {"task": CONFIG.texts_of(wildcards.task)}


def shards_of(wildcards):
    """Return the shards of a cell; of a task that measures the texts of another one, those of the other."""
    n = CONFIG.models[wildcards.model].shards
    folder = "results/{task}/{model}/{decoding}/seed{seed}/shards".format(
        **dict(wildcards) | {"task": CONFIG.texts_of(wildcards.task)}
    )
    return [f"{folder}/{i}-of-{n}.parquet" for i in range(n)]


def tell_shards_of_this_run():
    """Tell the script, through `config`, which shards this run generates, as far as Snakemake says it by now."""
    if "shards" in config["together"]:
        return
    asked = workflow.dag_settings
    told = os.environ.get("TEXTGAMUT_SHARDS")
    if told:
        config["together"]["shards"] = json.loads(told)
    elif asked.target_jobs:  # inside a Slurm job: its own, or those of its group
        config["together"]["shards"] = [
            job.wildcards_dict
            for job in asked.target_jobs
            if job.rulename == "generate_texts"
        ]
        # The Snakemake that is told all jobs of the group starts another for each of them.
        os.environ.update(TEXTGAMUT_SHARDS=json.dumps(config["together"]["shards"]))
    else:
        named = asked.targets or asked.until or asked.batch
        config["together"]["shards"] = [
            cell._asdict() | {"shard": shard}
            for cell in ([] if named else CONFIG.generated())
            for shard in range(CONFIG.models[cell.model].shards)
        ]


def batch_size(wildcards):
    # A function of a job is the first to be called when Snakemake knows what was asked for.
    tell_shards_of_this_run()
    return CONFIG.models[wildcards.model].batch_size


def checked_prompts(wildcards):
    """Return the check of a model's prompts as an input; a served model's tokens are not seen.

    One for each length of answer: a longer one is checked by itself, and no cell that is there depends on it.
    """
    if CONFIG.models[wildcards.model].engine == "openai":
        return []
    tokens = CONFIG.decoding[wildcards.decoding].max_new_tokens
    return [f"data/{wildcards.task}/lengths/{wildcards.model}/{tokens}.json"]


def reference_texts(wildcards):
    """Return what references are drawn from: the dataset, or, of a creative task, the cell with that seed."""
    if CONFIG.experiment.tasks[wildcards.task].kind != "creative":
        return dataset_of(wildcards)
    for cell in CONFIG.reference_cells(wildcards.task):
        if cell.seed == int(wildcards.draw):
            return f"{cell.path}/generations.parquet"
    raise ValueError(f"{wildcards.task} has no draw {wildcards.draw}")


def dataset_of(wildcards):
    return f"data/{CONFIG.experiment.tasks[wildcards.task].dataset}/texts.parquet"


def family(wildcards, name):
    """Return the settings of a family of metrics, as the task or else the experiment gives them.

    Only of a task that computes the family; another one's is asked for by nothing but a mistyped target.
    """
    found = getattr(CONFIG.metrics(wildcards.task), name)
    if found is None:
        raise ValueError(f"{wildcards.task} has no metrics of the family {name}")
    return found


def family_settings(wildcards, name):
    """Return the same as plain data."""
    return family(wildcards, name).model_dump(mode="json")


def generator_source(wildcards):
    """Return where the model comes from that wrote the texts, if the perplexity is to be its own."""
    own = family(wildcards, "likelihood").perplexity_of == "generator"
    return source_of(wildcards.model) if own and wildcards.decoding != HUMAN else None


def likelihood_models(wildcards):
    """Return the models that a cell's likelihood needs."""
    own = [wildcards.model] if generator_source(wildcards) else []
    return list(dict.fromkeys([family(wildcards, "likelihood").scorer, *own]))


def likelihood_memory(wildcards, attempt):
    """Return the MB that a cell's likelihood asks for: the weights of the larger model, Python, torch."""
    times_16_bits = 2 if family(wildcards, "likelihood").dtype == "float32" else 1
    sizes = [
        CONFIG.models[name].gigabytes or 0 for name in likelihood_models(wildcards)
    ]
    return attempt * int(3000 + 1200 * times_16_bits * max(sizes))


def tagging_processes(wildcards):
    """Return how many processes look for a cell's entities.

    With few texts a job loads the tagger for most of its time: two cells side by side then get more done.
    """
    prompts = plan.count_prompts(CONFIG, wildcards.task, Path()) or 0
    return min(8, 1 + prompts * CONFIG.experiment.tasks[wildcards.task].kept // 500)


def references_of_prompts(wildcards):
    """Return the texts that humans wrote after the prompts of a task, as an input; no other task has them."""
    prompted = CONFIG.experiment.tasks[wildcards.task].kind == "prompted"
    return [first_draw(wildcards, "references.parquet")] if prompted else []


def essays():
    """Return the file of graded essays that the experiment names; None: it names none."""
    named = [CONFIG.metrics(task).essay for task in CONFIG.experiment.tasks]
    return next((str(Path(of.essays).expanduser()) for of in named if of), None)


def missing_families():
    """Return a line for each family of metrics that is asked for and cannot be computed here."""
    if essays() and not Path(essays()).is_file():
        return [
            f"no essay score: there is no file {essays()}, your copy of the ASAP corpus"
        ]
    return []


def source_of(model):
    """Return where a model comes from, as plain data; None for no model."""
    return entry("models", model)["source"] if model else None


def cards(model):
    """Return the card of a model as an input: it is fetched and checked before."""
    return [f"data/models/{model}.json"] if model else []


def references_of(file):
    """Return an input function: a file of every draw of references."""
    return lambda wildcards: [
        f"data/{wildcards.task}/draw{draw}/{file.format(**wildcards)}"
        for draw in CONFIG.experiment.tasks[wildcards.task].draws
    ]


def first_draw(wildcards, file):
    return f"data/{wildcards.task}/draw{CONFIG.experiment.tasks[wildcards.task].draws[0]}/{file}"


def group_tables(wildcards):
    """Return the tables that hold the groups: dataset, generations, each draw of references."""
    if not CONFIG.experiment.tasks[wildcards.task].groups:
        return []
    return [
        dataset_of(wildcards),
        "results/{task}/{model}/{decoding}/seed{seed}/generations.parquet".format(
            **wildcards
        ),
        *references_of("references.parquet")(wildcards),
    ]


def families(task):
    """Return the families of metrics of a task that can be computed here."""
    named = CONFIG.metrics(task).families()
    return [name for name in named if name != "essay" or not missing_families()]


def score_files(cell):
    """Return the scores of a cell: one file per family that is asked for."""
    embedder = CONFIG.experiment.embedder
    folders = {"support": f"{embedder}/", "divergence": f"{embedder}/"}
    return [
        f"{cell.path}/scores/{folders.get(name, '')}{name}.json"
        for name in families(cell.task)
        if cell.model != HUMAN or name not in folders  # no set is compared with itself
    ]


def scored_cells(task):
    """Return the cells of a task, and that of its references where they stand beside them."""
    return CONFIG.cells(task) + CONFIG.human_cells(task)


def text_score_files(task):
    """Return the metrics of the single texts of a task: of each cell, one file per family that has them."""
    settings = CONFIG.metrics(task).families()
    return [
        f"{cell.path}/scores/{name}.parquet"
        for cell in scored_cells(task)
        for name in families(task)
        if settings[name].per_text
    ]


def sweep_files(task):
    """Return the sweeps of a task's cells."""
    return [
        f"{cell.path}/scores/{CONFIG.experiment.embedder}/sweep.json"
        for cell in CONFIG.cells(task)
    ]


def paper_outputs(task):
    """Return the figures, tables and pages of a task."""
    folder = f"results/papers/{CONFIG.experiment.name}/{task}"
    settings = CONFIG.experiment.tasks[task]
    support = CONFIG.metrics(task).support is not None
    names = ["scores.csv", "scores.html"]
    if CONFIG.metrics(task).of_texts():
        names += ["texts.csv", "texts.html", "correlations.csv"]
        names += ["correlations.svg", "correlations.png"]
        if len(methods(task)) <= text_figures.MOST_METHODS:
            names += ["texts.svg", "texts.png"]
        if tables.varied_parameters(decodings(task).values()):
            names += ["parameters.csv", "parameters.svg", "parameters.png"]
    if support:
        names += ["precision-recall.svg", "precision-recall.png"]
        if max(len(settings.seeds), len(settings.draws)) > 1:
            names += ["variance.csv", "variance.html"]
    if settings.sweep:
        names += ["sweep.svg", "sweep.png"]
    return [f"{folder}/{name}" for name in names] + [
        f"{cell.path}/explain/{CONFIG.experiment.embedder}.html"
        for cell in CONFIG.cells(task)
        if support and cell.seed == settings.seeds[0]
    ]


def experiment_outputs():
    """Return the tables and figures that are no task's own, and the rankings."""
    folder = f"results/papers/{CONFIG.experiment.name}"
    counted = ["csv", "html"] if CONFIG.experiment.tokens_per_word else []
    return [f"{folder}/tokens-per-word.{suffix}" for suffix in counted] + [
        f"{folder}/{name}/ranking/{file}"
        for name in CONFIG.ranked()
        for file in RANKING_FILES.values()
    ]


RANKING_FILES = {
    "table": "ranking.csv",
    "page": "ranking.html",
    "svg": "ranking.svg",
    "png": "ranking.png",
    "agreement": "agreement.csv",
    "agreement_page": "agreement.html",
    "agreement_svg": "agreement.svg",
    "agreement_png": "agreement.png",
    "orders": "orders.csv",
    "orders_svg": "orders.svg",
    "orders_png": "orders.png",
    "winners": "winners.csv",
    "winners_page": "winners.html",
    "dominance": "dominance.csv",
}
RANKING_CAPTIONS = {
    "page": "table: ranking",
    "svg": "figure: ranking",
    "agreement_page": "table: agreement of the rankings",
    "agreement_svg": "figure: agreement of the rankings",
    "orders_svg": "figure: deepest and shallowest order",
    "winners_page": "table: first and last by Q*Text",
}


RANKING_REVISIONS = [
    made.REVISION
    for made in (
        agreement,
        bradley_terry,
        dominance,
        hasse,
        method_scores,
        qtext,
        rank,
        ufg_depth,
        ranking_figures,
        tables,
    )
]


def ranking_outputs():
    """Return the files of a ranking as outputs, with those of the report among them."""
    paths = {
        name: f"results/papers/{{paper}}/{{ranked}}/ranking/{file}"
        for name, file in RANKING_FILES.items()
    }
    shown = {
        name: report(
            paths[name],
            caption="../report/ranking.rst",
            category="{ranked}",
            labels={"what": what},
        )
        for name, what in RANKING_CAPTIONS.items()
    }
    return paths | shown


def ranking_settings(name):
    """Return what a ranking depends on besides the texts: criteria, and the methods with what they are."""
    ranked = CONFIG.ranked()[name]
    named = [method for method in method_names(ranked[0]) if method[0] != HUMAN]
    shown = styles(ranked[0])
    return {
        "title": ", ".join(ranked),
        "ranking": CONFIG.experiment.tasks[ranked[0]].ranking.model_dump(mode="json"),
        "methods": named,
        "kinds": {
            method: {
                "model": shown[model]["label"],
                "strategy": CONFIG.decoding[decoding].strategy,
                "decoding": decoding,
            }
            for model, decoding, method in named
        },
        "revision": RANKING_REVISIONS,
    }


def methods(task):
    """Return the methods of a task, (model, decoding) each, in the order of the configuration."""
    return list(
        dict.fromkeys((cell.model, cell.decoding) for cell in scored_cells(task))
    )


def decodings(task):
    """Return the decoding settings of a task as plain data."""
    slugs = dict.fromkeys(decoding for _, decoding in methods(task))
    return {slug: entry("decoding", slug) for slug in slugs if slug != HUMAN}


def method_names(task):
    """Return how the methods of a task are called, no two alike: a list of model, decoding, name in print."""
    shown = styles(task) | {HUMAN: {"label": HUMAN}}
    written = [method for method in methods(task) if method[0] != HUMAN]
    models, decodings = (set(column) for column in zip(*written))
    labels = collections.Counter(shown[model]["label"] for model in models)

    def name(model, decoding):
        label = shown[model]["label"]
        if labels[label] > 1:
            label = f"{label} ({model})"
        if model == HUMAN or len(decodings) == 1:
            return label
        return decoding if len(models) == 1 else f"{label}, {decoding}"

    return [[*method, name(*method)] for method in methods(task)]


def styles(task):
    """Return how each model of a task is shown: label, family, whether it is a chat model."""
    shown = {}
    for cell in CONFIG.cells(task):
        model = CONFIG.models.get(cell.model) if cell.decoding != HUMAN else None
        shown[cell.model] = (
            {"label": model.label, "family": model.family, "chat": model.chat != "none"}
            if model
            else {"label": cell.model, "family": HUMAN, "chat": False}
        )
    return shown


def small_tasks():
    """Return a warning for every task that is too small for the support metrics, told once per run."""
    return [
        f"task {task}: N = {settings.n} is below {SMALL_N}: support metrics are biased there; compare equal "
        "N only"
        for task, settings in CONFIG.experiment.tasks.items()
        if settings.n
        and settings.n < SMALL_N
        and CONFIG.metrics(task).support is not None
    ]
