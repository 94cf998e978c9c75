"""The experiment of PR Figure 2 on real AG news: a lost topic costs recall, a foreign one precision."""

from __future__ import annotations

import pandas as pd
import pytest
from helpers import ROOT

from textgamut.metrics.support import reduce_features, support_metrics
from textgamut.tasks.drawing import draw_labels

FILE = ROOT.parent / "shared/data/ag_news/test.csv"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILE.exists(), reason=f"AG news is not at {FILE}"),
]


def test_figure_2(demo) -> None:
    import torch

    from textgamut.features.embed import embed
    from textgamut.sources.fetch import fetch

    raw = pd.read_csv(FILE, names=["class", "title", "text"])
    topics = {1: "world", 2: "sport", 3: "business", 4: "sci-tech"}
    frame = pd.DataFrame(
        {"id": raw.index.astype(str), "text": raw["text"], "topic": raw["class"].map(topics)}
    ).drop_duplicates("text")
    embedder = demo.embedders["minilm"]
    folder = fetch(embedder.source)

    def features(labels: list[str], role: str):
        drawn = draw_labels(frame, "ag-news", 200, 11, 60, "topic", labels, role, seed=1)
        return embed(list(drawn["text"]), folder, embedder, torch.device("cpu")).vectors

    reference = features(["world", "sport"], "references")
    q1, q2, q3 = (
        support_metrics(*reduce_features(reference, features(labels, "subset")))
        for labels in (["world"], ["world", "sport"], list(topics.values()))
    )
    assert q1.recall < q2.recall
    assert q1.coverage < q2.coverage - 0.2
    assert q1.precision > q2.precision - 0.1
    assert q3.precision < q2.precision
    assert q3.density < q2.density - 0.2
    assert q3.recall > q2.recall - 0.1
