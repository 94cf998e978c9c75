"""What an edit reruns: what depends on it, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from helpers import dry_run, edit, jobs, plan, run_warm

pytestmark = pytest.mark.slow

NEWS = "results/news/{model}/short/seed{seed}"
PAGE = {"make_page": 1, "all": 1}
TABLES = {"collect_scores": 1, "plot_precision_recall": 1, "tabulate_scores": 1} | PAGE
"""Of the task news, or of the task topics."""
ALONE = TABLES | {"tabulate_variance": 1}
"""Of a task with one method."""
DIFFERENCES = {"tabulate_differences": 1, "plot_differences": 1}
"""Of the task news, the only one with two methods."""
CUT = {"tabulate_cut_differences": 1}
"""Of the task news, the only one with held-out human texts."""
TESTED = {"compare_methods": 3} | CUT
"""The tests of these differences: of the two methods, and of each with held-out human texts."""
PLOTS = ALONE | DIFFERENCES | TESTED
"""Of the task news, whose table of deviations is the only one."""
BOTH = (
    DIFFERENCES
    | {
        "collect_scores": 2,
        "plot_precision_recall": 2,
        "tabulate_scores": 2,
        "tabulate_variance": 1,
    }
    | PAGE
)
MAP = {"project_features": 1}
ONE_CELL = (
    {"collect_generations": 1, "cut_texts": 1, "embed_texts": 2, "score_support": 1, "explain_support": 1}
    | MAP
    | PLOTS
    | {"compare_methods": 2}
)


@pytest.mark.parametrize(
    ("file", "keys", "value", "expected"),
    [
        # one model's entry: its cell alone, from its card on
        ("models", ["plain", "dtype"], "float32", {"generate_texts": 1} | ONE_CELL),
        ("models", ["plain", "chat"], "llama-2",
         {"fetch_model": 1, "check_prompts": 1, "generate_texts": 1} | ONE_CELL),
        # hardware is not science; a label is only shown
        ("models", ["plain", "batch_size"], 3, {}),
        ("models", ["plain", "gpus"], 2, {}),
        ("models", ["plain", "tokens_per_second"], 9, {}),
        ("models", ["plain", "shards"], 2, {"generate_texts": 2} | ONE_CELL),  # which generate nothing anew
        ("models", ["plain", "label"], "Plain", {"plot_precision_recall": 1} | DIFFERENCES | CUT | PAGE),
        # a second seed, a model, a decoding setting more
        ("demo", ["tasks", "news", "seeds"], [1, 2],
         {"generate_texts": 2, "collect_generations": 2, "embed_texts": 2, "score_support": 2,
          "explain_support": 2} | MAP | ALONE | DIFFERENCES | {"compare_methods": 1}),  # humans: seed 1
        ("demo", ["tasks", "topics", "seeds"], [1, 2],
         {"draw_subset": 1, "embed_texts": 1, "score_support": 1, "explain_support": 1} | MAP | ALONE),
        # a draw more: every cell of the task is scored again, none is generated again
        ("demo", ["tasks", "news", "draws"], [1, 2, 3],
         {"draw_references": 1, "draw_held_out": 1, "cut_texts": 2, "embed_texts": 4,
          "score_support": 3} | PLOTS),
        ("demo", ["tasks", "news", "k"], 3, {"score_support": 3, "explain_support": 2} | PLOTS),
        # a family of metrics more, and no other is computed again; a sweep; groups; the half-samples
        ("demo", ["metrics"], {"support": None, "ngram": None},
         {"score_ngram": 4, "collect_texts": 1} | BOTH | TESTED),
        ("demo", ["metrics"], {"support": None, "divergence": {"seeds": [1]}},
         {"score_divergence": 4} | BOTH | TESTED),
        ("demo", ["metrics"], {"support": None, "likelihood": {"scorer": "chat"}},
         {"score_likelihood": 3, "collect_texts": 1} | BOTH),
        ("demo", ["tasks", "topics", "metrics"], {"support": None, "readability": None},
         {"score_readability": 1, "collect_texts": 1, "tabulate_texts": 1, "plot_texts": 1,
          "plot_correlations": 1} | TABLES),
        ("demo", ["metrics"], {"support": {"bootstrap": 50}}, {"score_support": 4} | BOTH | TESTED),
        ("demo", ["tasks", "news", "sweep"], {"n": [4, 6], "k": [1, 3]},
         {"sweep_support": 2, "plot_sweep": 1} | PAGE),
        ("demo", ["tasks", "news", "groups"], ["topic"], {"score_support": 3} | PLOTS),
        # a model less: the rest stands
        ("demo", ["tasks", "news", "cells", 0, "models"], ["chat"], MAP | ALONE | DIFFERENCES | CUT),
        # another map of the same features
        ("demo", ["projection"], "tsne", {"project_features": 2} | PAGE),
        # exchanging two values must be seen: n and k hold the same two numbers as before
        ("decoding", ["short", "temperature"], 0.9,
         {"generate_texts": 2, "collect_generations": 2, "cut_texts": 2, "embed_texts": 4, "score_support": 2,
          "explain_support": 2} | MAP | PLOTS),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)  # fmt: skip
def test_an_edit_reruns_what_depends_on_it(
    edited: Path, file: str, keys: list, value, expected: dict
) -> None:
    edit(edited / f"config/{file}.yaml", *keys, value=value)
    assert plan(edited) == expected


def test_methods_are_ranked_and_a_method_more_ranks_them_anew(edited: Path) -> None:
    demo = edited / "config/demo.yaml"
    edit(demo, "tasks", "news", "metrics", value={"support": None, "ngram": None})
    edit(demo, "tasks", "news", "ranking", value={"higher": ["diversity", "text_distinct_2"]})
    ranking = {"collect_texts": 1, "rank_methods": 1}
    assert plan(edited) == {"score_ngram": 3} | ranking | PLOTS
    assert run_warm(edited, "--cores", "2").returncode == 0
    table = pd.read_csv(edited / "results/papers/tiny/news/ranking/ranking.csv")
    assert len(table) == 2
    texts = pd.read_parquet(edited / "results/papers/tiny/news/texts.parquet")
    means = texts.groupby("model")["diversity"].mean()
    assert sorted(table["diversity"]) == pytest.approx(sorted(means))
    assert plan(edited) == {}
    edit(demo, "tasks", "news", "ranking", value={"higher": ["diversity"]})
    assert plan(edited) == {"rank_methods": 1} | PAGE
    edit(edited / "config/models.yaml", "plain", "dtype", value="float32")
    assert plan(edited) == {"generate_texts": 1, "score_ngram": 1} | ranking | ONE_CELL


def test_metrics_of_wording_alone_need_no_embedder(edited: Path) -> None:
    """Only the families that are asked for: no features, no references, no figure of precision."""
    edit(edited / "config/demo.yaml", "metrics", value={"ngram": None})
    shutil.rmtree(edited / "results/papers")
    for path in edited.glob("**/features"):
        shutil.rmtree(path)
    tables = {"collect_scores": 2, "tabulate_scores": 2, "collect_texts": 1}
    tested = {"compare_methods": 1}  # without features, no human texts are held out
    assert plan(edited) == {"score_ngram": 3} | tables | DIFFERENCES | tested | PAGE


def test_a_third_model_reruns_nothing_else(edited: Path) -> None:
    models = yaml.safe_load((edited / "config/models.yaml").read_text())
    edit(edited / "config/models.yaml", "third", value=models["plain"] | {"chat": "vicuna"})
    edit(edited / "config/demo.yaml", "tasks", "news", "cells", 0, "models", value=["chat", "plain", "third"])
    three = {"compare_methods": 3}  # with each of the other two, and with held-out human texts
    expected = {"fetch_model": 1, "check_prompts": 1, "generate_texts": 1} | ONE_CELL
    assert plan(edited) == expected | three


def test_a_temperature_more_generates_its_own_texts_only(edited: Path) -> None:
    demo, block = edited / "config/demo.yaml", {"models": ["plain"], "decodings": ["short"], "top_p": [0.9]}
    edit(demo, "tasks", "news", "cells", value=[block | {"temperatures": [0.6, 1.0]}])
    results = "results/papers/tiny/news"
    targets = [f"{results}/{name}.csv" for name in ("temperatures", "scores")]
    done = run_warm(edited, *targets, "--cores", "2")
    assert done.returncode == 0, done.stdout
    drawn, scores = (pd.read_csv(edited / name) for name in targets)
    support = scores[scores["metric"].isin(["precision", "recall"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(drawn[scores.columns], support)
    assert drawn["temperature"].dropna().tolist() == [0.6, 0.6, 1.0, 1.0]
    edit(demo, "tasks", "news", "cells", value=[block | {"temperatures": [0.6, 0.8, 1.0]}])
    own = ("generate_texts", "collect_generations", "embed_texts", "score_support")
    once = dict.fromkeys((*own, "collect_scores", "plot_temperatures", "tabulate_scores", "total"), 1)
    assert jobs(dry_run(edited, *targets).stdout) == once | {"total": 7}


def test_blocks_give_the_scores_of_one_job(edited: Path) -> None:
    """Two blocks against each draw: reduced once, then neighbours and pairs. A lost part is made again."""
    cell = edited / NEWS.format(model="plain", seed=1)
    scores = cell / "scores/minilm/support.json"
    known = ("group", "metric", "seed", "draw", "value")
    whole = [[row[name] for name in known] for row in json.loads(scores.read_text())]
    edit(edited / "config/demo.yaml", "tasks", "news", "metrics", value={"support": {"blocks": 2}})
    of_news = TABLES | {"tabulate_variance": 1} | DIFFERENCES
    assert plan(edited) == {"score_support": 3, "measure_part": 3 * 2 * 5} | of_news
    target = str(scores.relative_to(edited))
    done = run_warm(edited, target, "--cores", "2")
    assert done.returncode == 0, done.stdout
    rows = json.loads(scores.read_text())
    assert [[row[name] for name in known] for row in rows] == whole
    assert not any("low" in row for row in rows)
    (cell / "support").rename(cell / "aside")
    assert jobs(dry_run(edited, target).stdout) == {}  # parts are not needed any more
    (cell / "aside").rename(cell / "support")
    for lost in (scores, cell / "support/minilm/draw2/pairs/1-of-2.npz"):
        lost.unlink()
    planned = jobs(dry_run(edited, target).stdout)
    assert planned == {"score_support": 1, "measure_part": 1, "total": 2}


def test_swapped_values_are_seen(edited: Path) -> None:
    """Snakemake compares params as a set of values: top_p and temperature exchanged must still rerun."""
    short = yaml.safe_load((edited / "config/decoding.yaml").read_text())["short"]
    swapped = short | {"top_p": short["temperature"], "temperature": short["top_p"]}
    edit(edited / "config/decoding.yaml", "short", value=swapped)
    assert plan(edited)["generate_texts"] == 2


def test_an_edit_of_a_script_or_a_comment_reruns_nothing(edited: Path) -> None:
    for path in [*edited.glob("workflow/scripts/*/*.py"), *edited.glob("config/*.yaml")]:
        path.write_text(path.read_text() + "\n# a comment\n")
    assert plan(edited) == {}


def test_a_raised_revision_reruns_its_stage_and_what_follows(edited: Path) -> None:
    path = edited / "workflow/rules/common.smk"
    raised = "from textgamut import generation\n\ngeneration.REVISION += 1\n"
    path.write_text(f"{path.read_text()}\n{raised}")
    assert plan(edited) == {"generate_texts": 2, "collect_generations": 2, "cut_texts": 2, "embed_texts": 4,
                            "score_support": 2, "explain_support": 2} | MAP | PLOTS  # fmt: skip


def test_the_report_holds_figures_tables_and_captions(edited: Path) -> None:
    done = run_warm(edited, "--report", "report.html")
    assert done.returncode == 0, done.stdout
    page = (edited / "report.html").read_text()
    for path in ("news/precision-recall.svg", "topics/precision-recall.svg", "news/scores.html"):
        assert path in page
    assert "two standard deviations" in page
    assert 'href=\\"results/papers/tiny/index.html\\"' in page  # the page of the results
    assert "Figures and tables are in the menu" in page  # it opens on the description


def test_the_page_has_a_heading_for_each_entry_of_its_tables(edited: Path) -> None:
    page = (edited / "results/papers/tiny/index.html").read_text()
    tables = re.findall(r'<table class="sortable">.*?</table>', page, re.DOTALL)
    assert len(tables) > 3
    for table in tables:
        headings, *rows = table.split("<tr>")[1:]
        assert {len(re.findall("<t[hd] ", row)) for row in rows} <= {headings.count('<th scope="col"')}
    assert page.count("data:image/svg") >= 2
    assert "you@example.org" not in page


def test_a_task_has_a_page_whose_links_lead_to_files(edited: Path) -> None:
    one = "results/papers/tiny/topics/index.html"
    done = run_warm(edited, one, "--cores", "1")
    assert done.returncode == 0, done.stdout
    for name in (one, "results/papers/tiny/index.html"):
        page = (edited / name).read_text()
        links = [link for link in re.findall(r'<a href="([^"]*)"', page) if not link.startswith("#")]
        assert len(links) >= 2
        assert all(((edited / name).parent / link).exists() for link in links), links
    assert ">topics</h2>" in (edited / one).read_text()
    assert ">news</h2>" not in (edited / one).read_text()
