"""Settings: an edit of an entry changes the settings of the rules that depend on it, and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import EXPERIMENTS, ROOT

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.support import SupportSettings
from textgamut.config.cells import Config
from textgamut.config.entries.models import Reasoning
from textgamut.config.entries.sources import FileSource
from textgamut.config.loading import load_config, validate_config
from textgamut.inference.intervals import REVISION as INTERVALS
from textgamut.metrics.sanity.corpus import Design
from textgamut.report.papers.mc_labels import methods_by_label
from textgamut.workflow import inputs, revisions, settings
from textgamut.workflow.checked_corpora import CHECKED
from textgamut.workflow.families import family_of
from textgamut.workflow.methods import method_names
from textgamut.workflow.task_results import TASK_RESULTS

SMK = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
RULES = {block.split(":", 1)[0]: block for block in re.split(r"(?m)^rule ", SMK)[1:]}
COLLECTING = {"collect_scores", "collect_texts", "conclude_gates"}
"""Rules that compute nothing: they have no revision."""
SHARED = {"make_result", "make_target"}
"""Scripts of several rules, whose revisions are under their name."""
ALONE = set(revisions.MODULES) - SHARED
"""Rules with a script of their own."""
OF_FAMILIES = {f"score_{name}": family for name, family in FAMILIES.items()}
"""Rules that are made from the catalogue."""
RESULTS = {result.rule for result in TASK_RESULTS}
"""Rules that are made from the list of tables and figures."""

JOB = SimpleNamespace(
    task="news", dataset="news-articles", model="smollm2-135m-instruct", decoding="nucleus-0.95", seed="1",
    draw="1", embedder="minilm", tagger="en-core-web-sm", tokens="64", ranked="decoding",
    page="demo", other_model="gemma-3-270m", other_decoding="nucleus-0.95",
    stage="pairs", block="2", blocks="5",
)  # fmt: skip


def job_of(rule: str, config: Config) -> SimpleNamespace | None:
    """Return wildcards for which the rule makes sense in the demo; None if it has no such job."""
    if rule in (
        "score_essay",
        "train_essay_model",
        "score_judge",
        "score_judged_completions",
        "read_scores",
        "make_target",
    ):
        return None
    if rule == "import_texts":  # see test_given.py
        return None
    if rule in ("draw_training_texts", "finetune_model"):  # see test_finetuning.py
        return None
    if rule == "test_gate":  # see test_gates.py
        return None
    if rule == "draw_subset":
        task = next(slug for slug, task in config.experiment.tasks.items() if task.kind == "subsets")
        return SimpleNamespace(**vars(JOB) | {"task": task, "model": next(iter(config.cells(task))).model})
    for slug in config.experiment.tasks:
        family = {"score_perplexity": "likelihood"}.get(rule, rule.removeprefix("score_"))
        if not rule.startswith("score_") or family in config.metrics(slug).families():
            return SimpleNamespace(**vars(JOB) | {"task": slug})
    return None


def all_settings(config: Config) -> Iterator[tuple[str, Any]]:
    for rule in sorted(ALONE | set(OF_FAMILIES) | RESULTS):
        if (job := job_of(rule, config)) and rule in OF_FAMILIES:
            yield rule, settings.score_family(config, job, OF_FAMILIES[rule])
        elif job:
            yield rule, getattr(settings, rule)(config, job)


def test_every_rule_has_the_settings_of_its_name_and_its_revisions() -> None:
    named = {rule for rule, block in RULES.items() if f"settings=bound(settings.{rule})" in block}
    assert named == set(RULES) - {"collect_scores"}
    assert set(RULES) - COLLECTING == ALONE


def test_settings_are_plain_data_with_the_revisions(demo: Config) -> None:
    for rule, found in all_settings(demo):
        assert json.loads(json.dumps(found)) == found, rule
        assert found["revision"] == revisions.revision_of("make_result" if rule in RESULTS else rule)


@pytest.mark.parametrize("dataset", CHECKED)
def test_every_corpus_of_the_sanity_checks_is_shipped(demo: Config, dataset: str) -> None:
    found = settings.check_metrics(demo, SimpleNamespace(dataset=dataset))
    assert json.loads(json.dumps(found)) == found
    assert found["group"] in demo.datasets[dataset].groups
    embedder = CHECKED[dataset].embedder
    assert embedder in demo.embedders
    assert inputs.checked_embedder(demo, SimpleNamespace(dataset=dataset)).endswith(f"{embedder}.json")
    assert max(Design(**found["design"]).sizes) * 2 <= found["passages"]


def differing(before: Config, after: Config) -> set[str]:
    old, new = dict(all_settings(before)), dict(all_settings(after))
    return {rule for rule, found in new.items() if found != old[rule]}


def test_hardware_reruns_nothing(demo: Config) -> None:
    model = demo.models[JOB.model].model_copy(
        update={"batch_size": 1, "gpus": 4, "shards": 3, "gigabytes": 9}
    )
    embedder = demo.embedders["minilm"].model_copy(update={"batch_size": 1})
    after = demo._replace(
        models=demo.models | {JOB.model: model}, embedders=demo.embedders | {"minilm": embedder}
    )
    assert differing(demo, after) == set()


def test_another_temperature_generates_anew_and_is_tabulated(demo: Config) -> None:
    decoding = demo.decoding[JOB.decoding].model_copy(update={"temperature": 0.5})
    after = demo._replace(decoding=demo.decoding | {JOB.decoding: decoding})
    assert differing(demo, after) == {"generate_texts", "plot_parameters"}


def test_a_thought_is_generated_checked_and_left_out(demo: Config) -> None:
    update = {"reasoning": Reasoning(strip="</think>", budget=500)}
    model = demo.models[JOB.model].model_copy(update=update)
    after = demo._replace(models=demo.models | {JOB.model: model})
    anew = {"fetch_model", "check_prompts", "generate_texts", "collect_generations", "score_perplexity"}
    assert differing(demo, after) == anew
    assert settings.check_prompts(after, JOB)["max_new_tokens"] == 500 + 64
    assert settings.collect_generations(after, JOB)["closing"] == "</think>"


def test_an_adapter_changes_all_that_loads_the_weights(demo: Config) -> None:
    scorer = "gemma-3-270m"
    for name, anew in [
        (JOB.model, {"fetch_model", "generate_texts", "score_perplexity"}),
        (scorer, {"score_likelihood", "check_cheats"}),
    ]:
        adapter = FileSource(kind="file", path="adapter")
        model = demo.models[name].model_copy(update={"adapter": adapter})
        assert differing(demo, demo._replace(models=demo.models | {name: model})) == anew


def test_scores_have_intervals_unless_they_are_for_a_paper(demo: Config) -> None:
    support = FAMILIES["support"]
    assert settings.score_family(demo, JOB, support)["intervals"] == INTERVALS
    assert "intervals" not in settings.family_settings(demo, JOB, support)
    paper = load_config(ROOT / "config/test/papers/pr.yaml")
    task = next(iter(paper.measured()))
    cell = next(iter(paper.cells(task)))
    job = SimpleNamespace(**cell._asdict(), embedder=paper.experiment.embedder)
    assert "intervals" not in settings.score_family(paper, job, support)


def with_blocks(demo: Config, blocks: int) -> Config:
    metrics = demo.experiment.metrics.model_copy(update={"support": SupportSettings(blocks=blocks)})
    return demo._replace(experiment=demo.experiment.model_copy(update={"metrics": metrics}))


def test_blocks_change_no_value_but_leave_out_intervals(demo: Config) -> None:
    few, many = (settings.score_family(with_blocks(demo, of), JOB, FAMILIES["support"]) for of in (2, 9))
    assert few == many
    whole = settings.score_family(demo, JOB, FAMILIES["support"])
    assert {name for name in whole if whole[name] != few.get(name)} == {"bootstrap", "intervals"}
    assert few["bootstrap"] == 0
    assert differing(demo, with_blocks(demo, 9)) == {"score_support", "make_page"}


def test_each_part_is_computed_from_those_before_it(demo: Config) -> None:
    config = with_blocks(demo, 3)
    folder = "results/news/smollm2-135m-instruct/nucleus-0.95/seed1/support/minilm"
    one = {stage: [f"{stage}/{block}-of-3.npz" for block in range(3)] for stage in ("neighbours", "pairs")}
    of_stage = {"reduced": ["reduced/0-of-1.npz"], **one}
    for stage, before in (("reduced", 0), ("neighbours", 1), ("pairs", 2)):
        job = SimpleNamespace(**vars(JOB) | {"stage": stage})
        expected = [f"{folder}/draw1/{part}" for of in list(of_stage.values())[:before] for part in of]
        assert inputs.earlier_parts(config, job) == expected
        assert len(inputs.unreduced_features(config, job)) == (2 if stage == "reduced" else 0)
    every = [part for parts in of_stage.values() for part in parts]
    assert inputs.support_parts(config, JOB) == [
        f"{folder}/draw{draw}/{part}" for draw in (1, 2) for part in every
    ]
    of_sum = inputs.family_inputs(config, FAMILIES["support"])["parts"](JOB)
    assert of_sum == [f for f in inputs.support_parts(config, JOB) if "neighbours" not in f]
    assert inputs.support_parts(demo, JOB) == []


def test_another_label_is_only_drawn_and_tabulated(demo: Config) -> None:
    model = demo.models[JOB.model].model_copy(update={"label": "Another"})
    after = demo._replace(models=demo.models | {JOB.model: model})
    drawn = {"plot_precision_recall", "plot_temperatures", "plot_sweep", "plot_similarity"}
    drawn |= {"tabulate_differences", "tabulate_cut_differences", "tabulate_embedders", "tabulate_texts"}
    drawn |= {"rank_methods", "make_page"}
    assert "generate_texts" not in differing(demo, after)
    assert differing(demo, after) <= drawn


def test_another_k_scores_anew(demo: Config) -> None:
    task = demo.experiment.tasks["news"].model_copy(update={"k": 3})
    experiment = demo.experiment.model_copy(update={"tasks": demo.experiment.tasks | {"news": task}})
    assert differing(demo, demo._replace(experiment=experiment)) == {
        "score_support",
        "measure_part",
        "compare_methods",
        "sweep_support",
        "explain_support",
        "plot_sweep",
        "make_page",
    }


def test_a_block_of_fewer_prompts_changes_the_settings_of_its_cells_only() -> None:
    cells = [{"models": [model], "decodings": ["nucleus-0.95"]} for model in ("gemma-3-270m", JOB.model)]
    task = {"kind": "prompted", "dataset": "wikinews", "n": 40, "seeds": [1], "completions": 20, "keep": 10}
    sized = [cells[0], cells[1] | {"n": 20, "completions": 9, "keep": 8}]
    ranking = {"higher": ["diversity"], "depth_of": 2}
    before, after = (
        validate_config(
            {"name": "x", "embedder": "minilm", "metrics": {"ngram": {}},
             "tasks": {"p": task | {"cells": blocks, "ranking": ranking}}}, "x.yaml", ROOT / "config"
        ) for blocks in (cells, sized)
    )  # fmt: skip
    rules = ("draw_prompts", "draw_references", "check_prompts", "generate_texts", "collect_generations")
    for model, changed in [("gemma-3-270m", ()), (JOB.model, rules[2:])]:
        tokens = str(before.decoding[JOB.decoding].max_new_tokens)
        job = SimpleNamespace(**vars(JOB) | {"task": "p", "model": model, "tokens": tokens})
        for rule in rules:
            old, new = (getattr(settings, rule)(config, job) for config in (before, after))
            assert (json.dumps(old) != json.dumps(new)) == (rule in changed), rule
    assert settings.check_prompts(after, job)["n"] == 20
    assert settings.generate_texts(after, job).items() >= {"n": 20, "task": "p", "completions": 9}.items()
    assert settings.collect_generations(after, job).items() >= {"n": 20, "task": "p", "keep": 8}.items()
    ranked = SimpleNamespace(ranked="p")
    assert settings.rank_methods(after, ranked)["prompts"] == {"p": 20}
    assert "prompts" not in settings.rank_methods(before, ranked)


def test_prompts_are_checked_for_the_largest_cell_of_a_model() -> None:
    blocks = [{"models": [JOB.model], "decodings": ["nucleus-0.95"], "n": 20},
              {"models": [JOB.model], "decodings": ["nucleus-0.9"]}]  # fmt: skip
    task = {"kind": "prompted", "dataset": "wikinews", "seeds": [1], "cells": blocks}
    experiment = {"name": "x", "embedder": "minilm", "metrics": {"ngram": {}}, "tasks": {"p": task}}
    config = validate_config(experiment, "x.yaml", ROOT / "config")
    tokens = {config.decoding[name].max_new_tokens for name in ("nucleus-0.95", "nucleus-0.9")}
    assert len(tokens) == 1
    job = SimpleNamespace(**vars(JOB) | {"task": "p", "tokens": str(tokens.pop())})
    assert "n" not in settings.check_prompts(config, job)


def test_perplexity_by_the_generator_depends_on_it_but_not_for_humans(demo: Config) -> None:
    task = next(slug for slug in demo.experiment.tasks if "likelihood" in demo.metrics(slug).families())
    metrics = demo.metrics(task)
    own = family_of(demo, task, "likelihood").model_copy(update={"perplexity_of": "generator"})
    entry = demo.experiment.tasks[task].model_copy(
        update={"metrics": metrics.model_copy(update={"likelihood": own})}
    )
    experiment = demo.experiment.model_copy(update={"tasks": demo.experiment.tasks | {task: entry}})
    config = demo._replace(experiment=experiment)
    by_model = SimpleNamespace(task=task, model=JOB.model, decoding="greedy-64")
    by_humans = SimpleNamespace(task=task, model="human", decoding="human")
    found = settings.score_perplexity(config, by_model)
    assert (found["generator"], found["dtype"]) == (demo.models[JOB.model].science(), own.dtype)
    likelihood = FAMILIES["likelihood"]
    assert settings.score_family(config, by_model, likelihood)["perplexity_of"] == "generator"
    assert settings.score_family(config, by_humans, likelihood)["perplexity_of"] == "scorer"
    with pytest.raises(ValueError, match="the perplexity of human, human is the scorer's"):
        settings.score_perplexity(config, by_humans)


def test_methods_in_a_file_of_scores_have_the_papers_names() -> None:
    config = load_config(ROOT / "config/papers/mc-released.yaml")
    found = settings.read_scores(config, SimpleNamespace(task="books"))
    assert (found["corpus"], found["n"]) == ("book", 1947)
    named = methods_by_label(found["methods"], found["labels"], found["decodings"], "table_5")
    assert len(named) == 354
    assert named["GPT2-XL CS (('1.0', '20'))"] == ("gpt2-xl", "contrastive-k20-a1.0")
    assert named["LLama 3 temp (1)"] == ("llama-3-8b", "temperature-1.0")
    assert json.loads(json.dumps(found)) == found


def test_winners_are_counted_by_model_strategy_and_hyperparameters(demo: Config) -> None:
    kinds = settings.rank_methods(demo, JOB)["kinds"]
    assert list(kinds) == ["model", "strategy", "hyperparameters", "decoding"]
    found = [(kinds["strategy"][name], kinds["hyperparameters"][name]) for name in kinds["decoding"]]
    assert found == [
        ("greedy", "none"),
        ("beam", "beams 3"),
        ("contrastive-search", "k 4, alpha 0.6"),
        ("temperature", "temperature 0.7"),
        ("top-k", "top_k 50"),
        ("top-p", "top_p 0.95"),
    ]


def test_prompts_are_drawn_for_all_seeds_that_generate_texts() -> None:
    """Also for those that only provide references, of another task."""
    config = load_config(ROOT / "config/papers/pr.yaml")
    tasks = dict(config.experiment.tasks)
    tasks["creative-mistral"] = tasks["creative-mistral"].model_copy(update={"draws": [9]})
    config = config._replace(experiment=config.experiment.model_copy(update={"tasks": tasks}))
    drawn = [
        settings.draw_prompts(config, SimpleNamespace(task=f"creative-{name}"))
        for name in ("llama", "mistral")
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0]["seeds"] == [1, 2, 3, 4, 5, 9]


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_no_two_methods_have_the_same_name(path: Any) -> None:
    config = load_config(path)
    for task, entry in config.experiment.tasks.items():
        if entry.kind != "subsets":
            names = [name for *_, name in method_names(config, task)]
            assert len(set(names)) == len(names)
