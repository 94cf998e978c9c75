"""Inputs and outputs of the rules, asked without a dry run."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.config.entries.sources import FileSource
from textgamut.config.loading import load_config
from textgamut.config.task_kinds import HUMAN
from textgamut.errors import TextgamutError
from textgamut.workflow import inputs, outputs, settings, task_results
from textgamut.workflow.families import FEATURE_FAMILIES, computed_families, family_of, missing_families
from textgamut.workflow.notices import check_packages, small_tasks
from textgamut.workflow.target_files import target_files
from textgamut.workflow.targets import whole_need

NEWS = SimpleNamespace(task="news", model="smollm2-135m-instruct", decoding="nucleus-0.95", seed="1")


def with_task(config: Config, slug: str, **fields: object) -> Config:
    task = config.experiment.tasks[slug].model_copy(update=fields)
    tasks = config.experiment.tasks | {slug: task}
    return config._replace(experiment=config.experiment.model_copy(update={"tasks": tasks}))


def test_the_files_of_a_user_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a.txt", "b/c.txt"):
        (tmp_path / name).touch()
    folder = FileSource(kind="file", path=str(tmp_path))
    file = FileSource(kind="file", path=str(tmp_path / "a.txt"))
    assert inputs.source_files(folder) == [str(tmp_path / "a.txt"), str(tmp_path / "b/c.txt")]
    assert inputs.source_files(file) == [str(tmp_path / "a.txt")]
    assert inputs.source_files(None) == []


def test_a_cell_has_as_many_shards_as_its_models_entry_says(demo: Config) -> None:
    model = demo.models[NEWS.model].model_copy(update={"shards": 2})
    config = demo._replace(models=demo.models | {NEWS.model: model})
    folder = "results/news/smollm2-135m-instruct/nucleus-0.95/seed1/shards"
    assert inputs.shards(config, NEWS) == [f"{folder}/0-of-2.parquet", f"{folder}/1-of-2.parquet"]


def test_the_tokens_of_a_served_model_are_not_checked(demo: Config) -> None:
    served = SimpleNamespace(task="news", model="davinci-002", decoding="nucleus-0.95")
    assert inputs.prompt_lengths(demo, served) == []
    tokens = demo.decoding[NEWS.decoding].max_new_tokens
    assert inputs.prompt_lengths(demo, NEWS) == [f"data/news/lengths/{NEWS.model}/{tokens}.json"]


def test_every_draw_of_references_is_an_input(demo: Config) -> None:
    draws = demo.experiment.tasks["news"].draws
    cell = SimpleNamespace(**vars(NEWS) | {"embedder": "other"})
    assert inputs.reference_features(demo, cell) == [
        f"data/news/draw{draw}/features/other.npy" for draw in draws
    ]
    assert inputs.first_reference_features(demo, cell) == f"data/news/draw{draws[0]}/features/other.npy"
    assert inputs.first_reference_features(demo, NEWS) == f"data/news/draw{draws[0]}/features/minilm.npy"


def test_groups_need_the_tables_that_hold_them(demo: Config) -> None:
    assert inputs.grouped_dataset(with_task(demo, "news", groups=[]), NEWS) == []
    grouped = inputs.grouped_dataset(with_task(demo, "news", groups=["topic"]), NEWS)
    assert grouped == ["data/news-articles/texts.parquet"]
    draws = demo.experiment.tasks["news"].draws
    expected = [f"data/news/draw{draw}/references.parquet" for draw in draws]
    assert inputs.references(demo, NEWS) == expected


def test_the_texts_of_a_folder() -> None:
    for folder, name in (("data/news/draw1", "references"), ("results/a/b/c/seed1", "generations")):
        found = inputs.embedded_texts(None, SimpleNamespace(folder=folder))
        assert found == f"{folder}/{name}.parquet"


def test_a_family_that_a_task_does_not_compute_is_an_error(demo: Config) -> None:
    with pytest.raises(ValueError, match="news has no metrics of the family judge"):
        family_of(demo, "news", "judge")


def test_no_set_is_compared_with_itself(demo: Config) -> None:
    task = next(slug for slug in demo.experiment.tasks if demo.human_cells(slug))
    [cell] = demo.human_cells(task)
    files = [file for file in outputs.task_score_files(demo, task) if f"/{HUMAN}/{HUMAN}/" in file]
    assert cell.model == HUMAN
    assert not any("support" in file or "divergence" in file for file in files)
    assert len(files) == len(set(computed_families(demo, task)) - set(FEATURE_FAMILIES))


def test_an_experiment_consists_of_each_file_once(demo: Config) -> None:
    files = task_results.experiment_files(demo)
    assert len(files) == len(set(files))
    assert "results/papers/demo/news/scores.parquet" in files
    assert "results/papers/demo/news/precision-recall.svg" in files
    assert "results/papers/demo/decoding/ranking/ranking.csv" in files
    assert "data/news-articles/card.md" in files


def test_a_page_is_of_an_experiment_or_of_one_task(demo: Config) -> None:
    assert outputs.page_tasks(demo, "demo") == ["news", "topics", "decoding", "wiki"]
    assert outputs.page_tasks(demo, "demo/wiki") == ["wiki"]
    wiki = task_results.page_inputs(demo, SimpleNamespace(page="demo/wiki"))
    every = task_results.page_inputs(demo, SimpleNamespace(page="demo"))
    assert set(wiki) < set(every)
    assert not any("/news/" in file or "/ranking/" in file for file in wiki)
    ranked = task_results.page_inputs(demo, SimpleNamespace(page="demo/decoding"))
    assert "results/papers/demo/decoding/ranking/scores.parquet" in ranked
    for page in ("demo/no", "other", "demo/"):
        with pytest.raises(ValueError, match=f"no page {page}"):
            outputs.page_tasks(demo, page)


def test_the_tasks_of_a_paper_have_pages() -> None:
    config = load_config(ROOT / "config/papers/mc.yaml")
    with pytest.raises(ValueError, match="written at the end of each run"):
        outputs.page_tasks(config, "mc")
    for task in config.measured():
        found = settings.make_page(config, SimpleNamespace(page=f"mc/{task}"))
        assert list(found["tasks"]) == list(found["rankings"]) == [task]


def test_scores_from_a_file_are_all_that_a_ranking_reads() -> None:
    config = load_config(ROOT / "config/papers/mc-released.yaml")
    every = inputs.ranked_texts(config, SimpleNamespace(paper="mc-released", ranked="all"))
    assert every == [f"data/{task}/scores.parquet" for task in ("wikitext", "wiki-news", "books")]
    assert inputs.given_scores(config, SimpleNamespace(task="wiki-news")) == []
    assert whole_need(config).cells == []
    read = [file for name in config.experiment.targets for file in target_files(config, name).values()]
    assert {Path(file).parent.name for files in read for file in files} == {"ranking"}
    plain = config._replace(experiment=config.experiment.model_copy(update={"targets": {}}))
    others = [file for file in task_results.experiment_files(plain) if "/ranking/" not in file]
    assert others == ["results/papers/mc-released/index.html"]


def test_only_scores_from_a_file_are_read(demo: Config) -> None:
    with pytest.raises(ValueError, match="news reads no scores from a file"):
        inputs.given_scores(demo, NEWS)


def test_q_text_is_tuned_only_if_there_are_ratings(demo: Config) -> None:
    task = demo.experiment.tasks["decoding"]
    assert task.ranking
    assert outputs.tuning_files(demo, demo.ranked()) == []
    config = with_task(demo, "decoding", ranking=task.ranking.model_copy(update={"ratings": "mine.csv"}))
    assert outputs.tuning_files(config, config.ranked()) == [
        "results/papers/demo/decoding/ranking/tuning.csv"
    ]
    job = SimpleNamespace(ranked="decoding")
    assert inputs.ratings(config, job) == "mine.csv"
    assert settings.rank_methods(config, job) == settings.rank_methods(demo, job)
    with pytest.raises(ValueError, match="the ranking of decoding has no ratings"):
        inputs.ratings(demo, job)


def test_ratings_of_one_task_leave_the_ranking_of_all() -> None:
    config = load_config(ROOT / "config/papers/mc-released.yaml")
    for task, files in (("books", ["books"]), ("wiki-news", ["wiki-news", "books"])):
        ranking = config.experiment.tasks[task].ranking
        assert ranking
        config = with_task(config, task, ranking=ranking.model_copy(update={"ratings": "mine.csv"}))
        assert list(config.ranked()) == ["wikitext", "wiki-news", "books", "all"]
        found = [f"results/papers/mc-released/{name}/ranking/tuning.csv" for name in files]
        assert outputs.tuning_files(config, config.ranked()) == found
    shared = {"ranking": config.experiment.tasks["wiki-news"].ranking}
    whole = with_task(config, "wikitext", **shared)
    assert whole.ratings("all") == "mine.csv"


def test_no_essay_score_without_the_essays(demo: Config) -> None:
    assert missing_families(demo) == []


def test_a_run_without_the_package_of_an_extra_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_packages(["score_ngram", "score_readability"])
    monkeypatch.setitem(sys.modules, "textstat", None)  # how Python marks what cannot be found
    check_packages(["score_ngram"])
    with pytest.raises(TextgamutError, match=r"pip install 'textgamut\[readability\]'"):
        check_packages(["score_ngram", "score_readability"])


def test_small_tasks_are_named(demo: Config) -> None:
    [*notices] = small_tasks(demo)
    assert any(notice.startswith("task news: N = ") for notice in notices)
    assert small_tasks(with_task(with_task(demo, "news", n=1000), "topics", n=1000)) == [
        notice for notice in notices if not notice.startswith(("task news", "task topics"))
    ]
