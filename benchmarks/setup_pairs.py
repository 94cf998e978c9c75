"""Shared by the statistical benchmarks: pairs of models and references, of which the truth is known."""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from setup_generation import DEMO, load
from tqdm import tqdm

from textgamut import catalogue
from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.features.cache import cached_features
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.journal import Journal
from textgamut.inference.differences import Difference
from textgamut.inference.set_differences import Run, set_differences
from textgamut.models.checkpoints import prepare
from textgamut.sources.fetch import fetch

REFERENCE = Path(__file__).parents[1] / "docs/reference"
"""Folder of the tables that the documentation is made from."""
SETTINGS = {"k": 4, "seeds": (0, 1, 2, 3, 4), "clusters": None, "tokenizer": None, "text_scores": {}}
FAMILIES = {
    "normal": ("support", "divergence", "distance", "vendi"),
    "ag-news": ("support", "divergence", "distance", "vendi", "ngram", "compression"),
    "generated": ("support", "divergence", "distance", "vendi", "completions", "ngram", "compression"),
}
"""Families of metrics for each kind of data."""
DESIGNS = {
    "normal": ("equal", "invented", "lost"),
    "ag-news": ("equal", "dropped", "invented", "repeated"),
    "generated": ("equal", "temperature"),
}
"""Designs of each kind of data.

- ``equal``: both models and the references have the same distribution; of generated texts, each prompt's
  completions are divided between the models at random.
- ``invented``: a part of the second model's texts lies where no references are. Normal data: a third. AG
  news: a twentieth, of a topic that the others lack.
- ``lost``: the second model lacks an eighth of the space.
- ``dropped``: the second model lacks one of four topics, business.
- ``repeated``: a tenth of the second model's texts are copies of its others.
- ``temperature``: the first model samples with a temperature of 0.7, the second of 1.0.
"""
PROMPTS, COMPLETIONS = 400, 4
TEMPERATURES = (0.7, 1.0)


def pair(data: str, design: str, n: int, paired: bool, number: int, news: Path | None) -> Run:
    """Draw the texts of two models, and the references.

    Args:
        data: ``normal`` (features, d = 8), ``ag-news`` (MiniLM, never paired) or ``generated`` (MiniLM, two
            completions of each prompt, always paired).
        design: How the models differ; see ``DESIGNS``.
        n: Number of texts of each set.
        paired: Whether the models have common prompts. Normal features then share half of their variance.
        number: Number of the pair, the seed of all draws.
        news: ``test.csv`` of AG news.
    """
    seed = [number, n, int(paired), *data.encode(), *design.encode()]
    rng = np.random.default_rng(seed)
    if data == "normal":
        return _normal(design, n, paired, rng)
    if data == "ag-news":
        assert news is not None
        return _news(design, n, rng, news)
    return _generated(design, n, rng)


def compare(run: Run, families: Sequence[str], number: int, resamples: int | None = None) -> list[Difference]:
    """Test the differences of some families between the models of a pair.

    The names of the models decide the resamples, which differ between pairs.

    Args:
        run: The pair.
        families: Names of families.
        number: Number of the pair.
        resamples: Number of resamples; defaults to as many as the p-values need.
    """
    found: list[Difference] = []
    for family in (catalogue.FAMILIES[name] for name in families):
        first, second = ({name: of[name] for name in family.reads if name in of} for of in run.own)
        own = run._replace(own=(first, second))
        found += set_differences(family, [own], (f"a{number}", f"b{number}"), {}, resamples)
    return found


def _normal(design: str, n: int, paired: bool, rng: np.random.Generator, d: int = 8) -> Run:
    prompts = rng.normal(size=(n, d)) * np.sqrt(0.5)
    own = [rng.normal(size=(n, d)) for _ in range(2)]
    first, second = (prompts + of * np.sqrt(0.5) for of in own) if paired else own
    if design == "invented":
        second[: n // 3, 0] += 6
    if design == "lost":
        signs = np.where((second[:, :3] > 0).all(axis=1), -1, 1)
        second[:, 0] *= signs
    asked = (list(range(n)), list(range(n))) if paired else None
    reference = rng.normal(size=(n, d))
    return Run(
        ({"features": first}, {"features": second}), SETTINGS | {"reference_features": reference}, asked
    )


def _news(design: str, n: int, rng: np.random.Generator, path: Path) -> Run:
    texts, topics, features = _embedded_news(path)
    order = rng.permutation(len(texts))
    if design == "invented":
        elsewhere, order = order[topics[order] == 1], order[topics[order] != 1]
    reference, first, rest = order[:n], order[n : 2 * n], order[2 * n :]
    second = rest[:n]
    if design == "invented":
        second = np.concatenate([elsewhere[: n // 20], rest[: n - n // 20]])
    if design == "dropped":
        second = rest[topics[rest] != 3][:n]
    if design == "repeated":
        second = np.concatenate([rest[: n - n // 10], rest[: n // 10]])
    sets = [rng.permutation(of) for of in (first, second)]
    own = [{"features": features[of], "texts": [texts[i] for i in of]} for of in sets]
    return Run((own[0], own[1]), _references(texts, features, reference), None)


def _generated(design: str, n: int, rng: np.random.Generator) -> Run:
    texts, features, human_texts, human_features = _embedded_pool()
    prompts = rng.permutation(PROMPTS)[: n // 2]
    sides = np.array([rng.permutation(COMPLETIONS) for _ in prompts])
    other = np.array([rng.permutation(COMPLETIONS) for _ in prompts])
    rows = (
        [(1, sides[:, :2]), (1, sides[:, 2:])]
        if design == "equal"
        else [(0, sides[:, :2]), (1, other[:, :2])]
    )
    own, asked = [], np.repeat(prompts, 2)
    for temperature, completions in rows:
        of = ((temperature * PROMPTS + prompts[:, None]) * COMPLETIONS + completions).ravel()
        chosen = [texts[i] for i in of]
        own.append({"features": features[of], "texts": chosen, "prompt_ids": list(map(str, asked))})
    reference = rng.permutation(len(human_texts))[:n]
    common = _references(human_texts, human_features, reference)
    return Run((own[0], own[1]), common, (asked.tolist(), asked.tolist()))


def _references(texts: Sequence[str], features: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    chosen = [texts[i] for i in rows]
    return SETTINGS | {"reference_features": features[rows], "references": chosen}


def read_news(path: Path) -> tuple[list[str], np.ndarray]:
    """Return the texts of ``test.csv`` of AG news, and their topics from 1 to 4."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [(int(topic), f"{title} {text}") for topic, title, text in csv.reader(file)]
    return [text for _, text in rows], np.array([topic for topic, _ in rows])


@cache
def _embedded_news(path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    texts, topics = read_news(path)
    return texts, topics, _features(texts)


@cache
def _embedded_pool() -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Return texts (temperature, prompt, completion) and human ones, both with features."""
    texts = generate_pool(Path("pool.jsonl"))
    config = load_config(DEMO)
    dataset = config.datasets["news-articles"]
    human = extract(fetch(dataset.source), dataset)["text"].str.split().str[10:50].str.join(" ").tolist()
    random.Random(0).shuffle(human)
    return texts, _features(texts), human, _features(human)


def _features(texts: Sequence[str]) -> np.ndarray:
    embedder = load_config(DEMO).embedders["minilm"]
    return cached_features({"texts": texts}, prepare(embedder.source), embedder)["texts"].vectors


def generate_pool(path: Path) -> list[str]:
    """Generate ``COMPLETIONS`` texts of 40 tokens for each of ``PROMPTS`` prompts and temperature.

    Finished batches are kept in journals beside ``path``.
    """
    model, tokenizer, requests = load("smollm2-135m-instruct", PROMPTS)
    requests = [request._replace(completion=i) for request in requests for i in range(COMPLETIONS)]
    texts = []
    for temperature in TEMPERATURES:
        decoding = SamplingDecoding(strategy="sampling", temperature=temperature, max_new_tokens=40)
        journal = Journal(path.with_stem(f"{path.stem}-{temperature}"), "pool")
        done = {(of["prompt_id"], of["completion"]) for of in journal.samples}
        left = [request for request in requests if request.key not in done]
        engine = TransformersEngine(model, tokenizer, 64)
        with tqdm(total=len(left), desc=f"temperature {temperature}", mininterval=10) as bar:
            for batch in engine.generate(left, decoding, seed=1) if left else ():
                journal.append(batch, 64, 0.0)
                bar.update(len(batch))
        journal.close()
        of_key = {(of["prompt_id"], of["completion"]): of["continuation"] for of in journal.samples}
        texts += [of_key[request.key] for request in requests]
    return texts
