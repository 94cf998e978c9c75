"""Metrics of single texts: seconds of each family, compared with its library on one text at a time.

    .venv/bin/python benchmarks/per_text.py [--texts 1000] [--words 300] [--share 10] [--peer-texts 100]

Texts and references are pieces of the demo's news articles; ten texts share a reference, like the ten
completions of a prompt that NW keeps. Times are from texts to numbers, including the loading of models.
The peers read fewer of the same texts, and no references for entities; their times exclude loading and are
extrapolated:

- readability: ``textstat.flesch_reading_ease`` and ``textstat.gunning_fog``
- entities: the same pipeline with all its components, ``nlp(text)``, in one process; ours has one per thread
- BLEU: ``sacrebleu.sentence_bleu``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import sacrebleu
import spacy
import torch
from embedding import demo, pieces
from textstat import textstat

from textgamut.features.embed import embed
from textgamut.metrics.entities import entity_metrics, find_entities, load_tagger
from textgamut.metrics.ngram import repetition_n, text_distinct_n, text_diversity
from textgamut.metrics.readability import readability
from textgamut.metrics.similarity import bleu, cosine_similarity
from textgamut.models.checkpoints import silence_transformers
from textgamut.models.devices import choose_device, device_name
from textgamut.sources.fetch import fetch


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--share", type=int, default=10, help="texts that share a reference")
    parser.add_argument("--peer-texts", type=int, default=100)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()

    silence_transformers()
    torch.set_num_threads(arguments.threads)
    config, articles = demo()
    device = choose_device()
    embedder, minilm = config.embedders["minilm"], fetch(config.embedders["minilm"].source)
    folder = fetch(config.taggers["en-core-web-sm"].source)
    n = arguments.texts
    both = pieces(articles, arguments.words, n + -(-n // arguments.share))
    texts, references = both[:n], both[n:]
    reference_of = np.arange(n) // arguments.share
    paired = [references[row] for row in reference_of]
    words = [text.split() for text in texts]
    lengths = [len(tokens) for tokens in words]
    print(
        f"{n} texts and {len(references)} references of up to {arguments.words} words "
        f"({np.mean(lengths):.0f} on average), S-BERT on {device_name(device)}, {arguments.threads} threads"
    )

    def grams() -> None:
        for tokens in words:
            text_distinct_n(tokens, 2), repetition_n(tokens, 4), text_diversity(tokens)

    def entities() -> None:
        found = find_entities(both, load_tagger(folder), processes=arguments.threads)
        entity_metrics(found[:n], lengths, [found[n + row] for row in reference_of])

    def sbert() -> None:
        features = embed(both, minilm, embedder, device).vectors
        cosine_similarity(features[:n], features[n + reference_of])

    nlp = spacy.load(folder)
    textstat.syllable_count("a")  # loads its dictionary

    def flesch_and_fog(row: int) -> None:
        textstat.flesch_reading_ease(texts[row])
        textstat.gunning_fog(texts[row])

    families: list[tuple[str, Callable[[], object], Callable[[int], object] | None]] = [
        ("readability", lambda: readability(texts), flesch_and_fog),
        ("n-grams", grams, None),
        ("entities", entities, lambda row: list(nlp(texts[row]).ents)),
        ("S-BERT", sbert, None),
        ("BLEU", lambda: bleu(texts, paired), lambda row: sacrebleu.sentence_bleu(texts[row], [paired[row]])),
    ]
    total = 0.0
    for name, ours, theirs in families:
        start = time.perf_counter()
        ours()
        seconds = time.perf_counter() - start
        total += seconds
        line = f"{name:<12} {seconds:7.1f} s"
        if theirs is not None:
            start = time.perf_counter()
            for row in range(min(arguments.peer_texts, len(texts))):
                theirs(row)
            peer = (time.perf_counter() - start) * len(texts) / (row + 1)
            line += f"   peer {peer:7.1f} s   ratio {peer / seconds:.1f}"
        print(line, flush=True)
    print(f"{'in all':<12} {total:7.1f} s")


if __name__ == "__main__":
    main()
