"""Catalogue of all metrics."""

from __future__ import annotations

READS_AS = {
    "precision": "generated texts inside the references' support ↑",
    "recall": "references inside the generated texts' support ↑",
    "density": "reference balls around a generated text, over k",
    "coverage": "reference balls that hold a generated text ↑",
    "mauve": "closeness of the two distributions ↑",
    "frontier_integral": "divergence of the two distributions ↓",
    "f_1_8": "quality: F-score, precision weighs 8 times ↑",
    "f_8": "diversity: F-score, recall weighs 8 times ↑",
    "self_bleu": "likeness of the generated texts to each other ↓",
    **{f"distinct_{n}": f"distinct {n}-grams among all {n}-grams ↑" for n in (1, 2, 3, 4)},
    "repetition_4": "repeated 4-grams within a text ↓",
    "diversity": "distinct 2-, 3- and 4-grams within texts ↑",
    "perplexity": "surprise of the scoring model",
    "coherence": "log-likelihood of a token given the prompt ↑",
    "text_distinct_2": "distinct 2-grams of a text, over its words ↑",
    "flesch": "reading ease: less is harder",
    "gunning_fog": "years of schooling to read it",
    "information_density": "named entities a word ↑",
    "entity_overlap": "entities shared with the reference ↑",
    "sbert": "cosine of the embeddings of text and reference ↑",
    "bleu": "n-grams shared with the reference, 0 to 100 ↑",
    "essay": "grade of an essay, by a trained LSTM ↑",
    "judge_coherence": "a model's verdict, 1 to 5 ↑",
    "judge_insightfulness": "a model's verdict, 1 to 5 ↑",
    "judge_plausibility": "a model's verdict, 1 to 5 ↑",
    "judge_diversity": "share of batches that a model finds diverse ↑",
}
"""All metrics, in the order of a table's columns -> what a value says; an arrow points to the better end."""


METRICS = list(READS_AS)


SUPPORT = METRICS[:4]


RANGES = {
    "flesch": (30, 60),
    "essay": (4.5, 5.5),
    "entity_overlap": (0, 1),
    "sbert": (0, 1),
    "information_density": (0, 0.5),
    "gunning_fog": (10, 25),
    "text_distinct_2": (0.5, 1),
}
"""Metric -> what its means are rescaled by in figures (NW section 6); others by their least and largest."""


LABELS = {
    "flesch": "Flesch",
    "gunning_fog": "Gunning fog",
    "text_distinct_2": "distinct-2",
    "repetition_4": "rep-4",
    "information_density": "info density",
    "entity_overlap": "entity overlap",
    "sbert": "S-BERT",
    "bleu": "BLEU",
}
"""Metric -> its name in print, where that is not its own with spaces."""


def label_of(metric: str) -> str:
    """Return the name of a metric in print."""
    return LABELS.get(metric, metric.replace("_", " "))
