"""The catalogue of metrics: complete, true of what is computed, and the one place to add a metric."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT
from matplotlib.text import Text

from textgamut.catalogue import FAMILIES, METRICS, MODULES, metrics_of, text_metrics_of
from textgamut.catalogue.family import Metric
from textgamut.cli.main import main
from textgamut.config.loading import validate_config
from textgamut.config.metrics import Metrics
from textgamut.config.yaml import read_yaml
from textgamut.errors import TextgamutError
from textgamut.metrics import (
    completions,
    compression,
    copying,
    defects,
    distance,
    divergence,
    entities,
    judge,
    judged_completions,
    lengths,
    likelihood_scores,
    ngram,
    readability,
    similarity,
    support_scores,
    vendi,
)
from textgamut.metrics.likelihood import Likelihood
from textgamut.metrics.rows import Scores
from textgamut.models.log_likelihood import ScoringModel
from textgamut.report.figures.text_figures import correlation_figure, parameter_figure, text_metrics_figure
from textgamut.report.tables import (
    correlation_table,
    parameter_table,
    rescaled,
    summary_table,
    texts_table,
    tidy,
)

DEMO = {
    "precision": (0.375, 1.0),
    "recall": (0.25, 1.0),
    "density": (0.21875, 1.515625),
    "coverage": (0.3125, 1.0),
    "clipped_density": (0.8260869565217391, 1.0),
    "clipped_coverage": (0.734375, 1.0),
    "symmetric_precision": (0.3, 1.0),
    "symmetric_recall": (0.36666666666666664, 1.0),
    "vendi": (39.47181778664466, 42.02887616724869),
    "vendi_reference": (41.65286253872871, 42.734068054635756),
    "vendi_ratio": (0.9236616026393674, 1.0090273178264846),
    "rke": (23.707553514104124, 28.77066979504194),
    "rke_ratio": (0.7857102114720217, 1.013621980191157),
    "mmd_gaussian": (-0.0008786861639970534, 0.007333175602050953),
    "mmd_gaussian_p": (0.004975124378109453, 0.6865671641791045),
    "mmd_polynomial": (-0.009953647574157135, 0.08370381578351355),
    "mmd_polynomial_p": (0.004975124378109453, 0.6965174129353234),
    "frechet": (0.8769142510332434, 0.9315781115886543),
    "unigram_entropy": (4.803222917927201, 6.948533161536912),
    "compression_ratio": (1.9865454869464492, 2.1073057235923685),
    "ngram_diversity": (3.4450101223461407, 3.5180040509192296),
    "self_repetition": (0.03662040962227032, 0.05972531564093517),
    "homogenization": (0.07283424317466286, 0.0920281343311991),
    "mauve": (0.884563648532804, 0.9528897965497585),
    "frontier_integral": (0.03407398490244708, 0.0666069597603283),
    "f_1_8": (0.931448075207238, 0.9752136555008708),
    "f_8": (0.9510147937137713, 0.9858957165098383),
    "mauve_star": (0.9477053, 0.9880973),
    "frontier_integral_star": (0.0168429, 0.0388044),
    "self_bleu": (0.022368562982818873, 0.1369138313563539),
    "distinct_1": (0.3786764705882353, 0.6124137931034482),
    "distinct_2": (0.6725, 0.9517229002153625),
    "distinct_3": (0.8125, 0.9963450292397661),
    "distinct_4": (0.875, 1.0),
    "diversity": (0.009954751131221719, 1.0),
    "text_distinct_2": (0.18867924528301888, 0.9916666666666667),
    "repetition_4": (0.0, 0.76),
    "coherence": (-5.462395626623484, -0.5284169291728997),
    "perplexity": (1.4210158355355242, 89.74882252454441),
    "flesch": (3.6098484848484986, 90.92357142857146),
    "gunning_fog": (3.752380952380953, 29.00740740740741),
    "information_density": (0.0, 0.2619047619047619),
    "entity_overlap": (0.0, 1.0),
    "sbert": (0.004770802374553856, 1.0),
    "bleu": (0.34864338456128136, 100.00000000000004),
}
"""Metric -> its smallest and its largest value in the demo, over cells, groups and single texts."""

TEXTS = [
    "a a a a a a a a a a",
    "The cat sat on the mat. Then it ran over the road and sat under a tree!",
    "Internationalization of incomprehensible institutional characteristics.",
    "no end",
    "",
]


class Words:
    """A tokenizer with a vocabulary of 99 words."""

    def __call__(self, texts: list[str], **options: bool) -> dict[str, list[list[str]]]:
        return {"input_ids": [text.split() for text in texts]}

    def __len__(self) -> int:
        return 99


def computed() -> dict[str, np.ndarray]:
    """Compute every family but the essay score on easy, extreme and empty input: metric -> its values."""
    found: dict[str, list[float]] = {}

    def add(values: dict[str, np.ndarray]) -> None:
        for name, column in values.items():
            found.setdefault(name, []).extend(np.ravel(column))

    sets = np.random.default_rng(0).standard_normal((3, 30, 6))
    scored = [ngram.score(TEXTS, Words())]
    for reference, generated in [(sets[0], sets[1]), (sets[0], sets[0]), (sets[0], sets[2] + 9)]:
        scored += [
            support_scores.score(generated, reference, 3),
            divergence.score(generated, reference, 5, [0]),
            vendi.score(generated, reference),
            distance.score(generated, reference, 19),
        ]
        for value in (0, 1):
            bar, texts = {"metric": "flesch", "at_least": 1}, {"flesch": np.full(30, value)}
            scored.append(completions.score(generated, [0, 1, 2] * 10, quality=bar, text_scores=texts))
    scored += [compression.score(TEXTS, words=30), readability.score(TEXTS)]
    scored += [defects.score([*TEXTS, ""]), copying.score(TEXTS, [*TEXTS, ""])]
    verdict = {"score_coherence": 1, "score_insightful": 5, "score_likely": 3, "similarity_score": 1}
    answer = SimpleNamespace(text=json.dumps(verdict | {"equivalent": 1}))
    served = SimpleNamespace(ask=lambda prompt, settings: answer, facts={})
    scored += [judge.score(["x"] * 10, served)]
    scored += [judged_completions.score(["x", "y", ""], ["p"] * 3, ["w"] * 3, served)]
    for scores in scored:
        for row in scores.rows:
            add({row["metric"]: row["value"]})
        add(dict(scores.columns or {}))
    likelihoods = Likelihood(np.array([-9.0, -1e-9, 0.0]), np.array([2, 3, 0]), 0)
    add({"text_words": lengths.score(TEXTS).columns["text_words"]})
    add({"perplexity": likelihoods.perplexities, "coherence": likelihoods.coherences})
    found_entities = entities.entity_metrics([["x", "x", "y"], [], ["z"]], [1, 0, 9], [["x"], [], ["z"]])
    add(asdict(found_entities))
    add(
        {"sbert": similarity.cosine_similarity(sets[0], sets[1]), "bleu": similarity.bleu(TEXTS, TEXTS[::-1])}
    )
    return {name: np.array(values, dtype=float) for name, values in found.items()}


def in_range(name: str, values: np.ndarray) -> bool:
    low, high = METRICS[name].range
    values = values[~np.isnan(values)]
    rounding = 1e-9  # sacrebleu gives equal texts 100.00000000000004
    return len(values) > 0 and bool(((values >= low - rounding) & (values <= high + rounding)).all())


@pytest.mark.filterwarnings("ignore")
def test_the_catalogue_names_what_is_computed_and_values_lie_in_its_ranges() -> None:
    values = computed()
    assert set(values) == set(METRICS) - {"essay"}  # which has no bounds
    for name in values:
        assert in_range(name, values[name]), name


def test_the_scores_of_the_demo_lie_in_the_ranges() -> None:
    elsewhere = {
        *metrics_of("essay"),
        *metrics_of("judge"),
        *metrics_of("completions"),
        *metrics_of("defects"),
        *metrics_of("copying"),
        "judged_distinct",
        "ead",
        "text_words",
    }
    assert set(METRICS) - set(DEMO) == elsewhere
    for name, extremes in DEMO.items():
        assert in_range(name, np.array(extremes)), name


@pytest.mark.filterwarnings("ignore")
def test_the_columns_of_single_texts_are_those_that_a_family_computes() -> None:
    nothing = ScoringModel(None, None, 1)
    found = {
        "ngram": ngram.score(TEXTS),
        "likelihood": likelihood_scores.score([""], ["a"], nothing),
        "readability": readability.score(TEXTS),
    }
    for family, scores in found.items():
        assert text_metrics_of(family) == list(scores.columns or ())
    assert text_metrics_of("entities") == list(asdict(entities.entity_metrics([[]], [1], [[]])))
    assert text_metrics_of("support") == text_metrics_of("divergence") == []


def test_the_families_are_those_that_an_experiment_can_name() -> None:
    assert list(FAMILIES) == list(MODULES) == list(Metrics.model_fields)
    assert {metric.family for metric in METRICS.values()} == set(FAMILIES)
    for metric in METRICS.values():
        assert metric.name in {each.name for each in FAMILIES[metric.family].metrics}


@pytest.mark.parametrize("name", METRICS)
def test_an_entry_is_complete(name: str) -> None:
    metric = METRICS[name]
    assert metric.name == name
    assert metric.label
    assert metric.source
    assert not {"↑", "↓", "|"} & set(metric.meaning + metric.definition)
    assert metric.range[0] < metric.range[1]
    if metric.rescale:
        assert metric.range[0] <= metric.rescale[0] < metric.rescale[1] <= metric.range[1]


DUMMY = Metric(
    name="sonority",
    family="ngram",
    label="Sonority index",
    meaning="how a text sounds",
    range=(0, 4),
    better="lower",
    level="text",
    source="nobody",
    rescale=(0, 2),
)


class TestOneMoreEntry:
    """A metric that is added to the catalogue, and nowhere else, arrives everywhere."""

    @pytest.fixture(autouse=True)
    def entry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(METRICS, DUMMY.name, DUMMY)

    def test_a_task_computes_it_for_each_text_and_ranks_by_it(self) -> None:
        experiment = read_yaml(ROOT / "config/demo.yaml")
        experiment["tasks"]["decoding"]["ranking"] = {"lower": ["sonority"]}
        config = validate_config(experiment, "demo.yaml", ROOT / "config")
        assert "sonority" in config.metrics("decoding").per_text()
        experiment["tasks"]["decoding"]["ranking"] = {"lower": ["sonorous"]}
        with pytest.raises(TextgamutError, match="nearest valid: 'sonority'"):
            validate_config(experiment, "demo.yaml", ROOT / "config")

    def test_tables_put_it_behind_the_others_and_before_what_the_catalogue_lacks(self) -> None:
        row = {"task": "t", "model": "m", "decoding": "d", "seed": 1, "n": 9, "group": "all", "value": 0.5}
        names = ["aardvark", "sonority", "bleu"]
        table = summary_table(tidy([row | {"metric": name} for name in names]))
        assert [name for name in table if name in names] == ["bleu", "sonority", "aardvark"]

    def test_tables_and_figures_of_texts_show_it(self) -> None:
        texts = pd.DataFrame(
            {
                "model": "m",
                "decoding": ["p-1"] * 3 + ["p-2"] * 3,
                "words": 9,
                "sonority": [0.0, 1, 2, 1, 2, 3],
                "flesch": [3.0, 1, 2, 5, 3, 3],
            }
        )
        table = texts_table(texts).assign(method=["p-1", "p-2"])
        assert [name for name in table if name in METRICS] == ["flesch", "sonority"]
        assert list(correlation_table(texts)) == ["flesch", "sonority"]
        assert rescaled(table, "sonority").tolist() == [0.5, 1]
        parameters = parameter_table(
            table, {"p-1": {"strategy": "s", "p": 1}, "p-2": {"strategy": "s", "p": 2}}
        )
        for figure in (
            text_metrics_figure(table, "t"),
            correlation_figure(correlation_table(texts), "t"),
            parameter_figure(parameters, "t"),
        ):
            figure.draw_without_rendering()
            assert "Sonority index" in [text.get_text() for text in figure.findobj(Text)]
        small_print = " ".join(text.get_text() for text in text_metrics_figure(table, "t").findobj(Text))
        assert "Flesch 30 to 60, Sonority index 0 to 2 from white to blue" in " ".join(small_print.split())

    def test_the_terminal_says_what_it_means(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        row = {"n": 2, "group": "all", "metric": "sonority", "value": 0.25}
        monkeypatch.setattr(ngram, "score", lambda: Scores([row]))
        file = tmp_path / "texts.txt"
        file.write_text("a b\nc d\n")
        assert main(["score", "--reference", str(file), "--generated", str(file), "--metrics", "ngram"]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("sonority"))
        assert " ".join(line.split()) == "sonority 0.2500 0.2500 how a text sounds ↓"
