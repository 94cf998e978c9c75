"""Made-up scores: runs of the models of PR Figure 1, simulated models, and methods on many prompts."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
from matplotlib.text import Text

from textgamut.rankings.method_scores import MethodScores
from textgamut.report.figures.model_styles import ModelStyle

# The models of PR Figure 1 in its two clusters: (precision, recall).
PAPER = {
    "llama-2-7b": (ModelStyle("Llama-2 7B", "Llama-2", False), (0.72, 0.60)),
    "llama-2-13b": (ModelStyle("Llama-2 13B", "Llama-2", False), (0.725, 0.64)),
    "llama-2-70b": (ModelStyle("Llama-2 70B", "Llama-2", False), (0.73, 0.70)),
    "llama-2-7b-chat": (ModelStyle("Llama-2 7B Chat", "Llama-2", True), (0.89, 0.17)),
    "llama-2-13b-chat": (ModelStyle("Llama-2 13B Chat", "Llama-2", True), (0.895, 0.20)),
    "llama-2-70b-chat": (ModelStyle("Llama-2 70B Chat", "Llama-2", True), (0.90, 0.24)),
    "mistral-7b": (ModelStyle("Mistral 7B", "Mistral", False), (0.71, 0.66)),
    "mistral-7b-instruct": (ModelStyle("Mistral 7B Instruct", "Mistral", True), (0.93, 0.30)),
    "vicuna-7b": (ModelStyle("Vicuna 7B", "Vicuna", True), (0.86, 0.28)),
    "vicuna-13b": (ModelStyle("Vicuna 13B", "Vicuna", True), (0.87, 0.32)),
    "pythia-12b": (ModelStyle("Pythia 12B", "Pythia", False), (0.62, 0.72)),
}
MODELS = {slug: style for slug, (style, _) in PAPER.items()}


def scores_of(centres, seeds=2, draws=2, spread=0.012, decoding="nucleus", **cell):
    rng = np.random.default_rng(0)
    rows = []
    for (slug, centre), seed, draw in itertools.product(centres.items(), range(seeds), range(draws)):
        run = {"task": "webtext", "model": slug, "decoding": decoding, "embedder": "minilm", "n": 240, "k": 4}
        run["group"] = "all"
        run |= {"seed": seed, "draw": draw} | cell
        for metric, value in zip(["precision", "recall"], centre + rng.normal(0, spread, 2), strict=True):
            rows.append(run | {"metric": metric, "value": float(np.clip(value, 0, 1))})
    return pd.DataFrame(rows)


def paper_scores(count=11, **options):
    return scores_of({slug: centre for slug, (_, centre) in list(PAPER.items())[-count:]}, **options)


SUBSETS = {name: ModelStyle(name.upper(), "news", False) for name in ("q1", "q2", "q3")}
DESCRIPTIONS = {"q1": "politics", "q2": "politics + world", "q3": "politics + world + business + sport"}


def subset_scores(**options):
    centres = {"q3": (0.52, 0.91), "q1": (0.93, 0.35), "q2": (0.96, 0.95)}
    return scores_of(centres, decoding="human", **options)


CRITERIA = ["coherence", "diversity", "perplexity"]


def method_scores(
    quality: dict[str, float], prompts: int = 60, noise: float = 0.3, seed: int = 0
) -> MethodScores:
    """Methods of which a larger quality is better on every criterion, with noise."""
    rng = np.random.default_rng(seed)
    true = np.array(list(quality.values()))[None, :, None] + rng.normal(
        0, noise, (prompts, len(quality), len(CRITERIA))
    )
    values = np.stack(
        [true[..., 0] - 4, 1 / (1 + np.exp(-true[..., 1])), np.exp(3 - true[..., 2])], axis=-1
    )  # coherence and diversity rise with quality, perplexity falls
    names = [f"p{i}" for i in range(prompts)]
    return MethodScores(names, list(quality), CRITERIA, values, np.array([True, True, False]))


QUALITY = {"c": 0.3, "a": 1.0, "d": 0.0, "b": 0.6, "e": -0.4}


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def small_print(figure):
    return figure.get_supxlabel().replace("\n", " ")
