"""A batch of requests that a real server answers: the same texts as those of the engine ``openai``."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pandas as pd
import pytest
from helpers import GIVE_UP

from textgamut.config.cells import Cell
from textgamut.config.entries.decoding import Decoding, GreedyDecoding, SamplingDecoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import GenerationsSource, OpenAISource
from textgamut.generation.batch import batch_requests
from textgamut.generation.engines.openai import OpenAIEngine
from textgamut.generation.given.given_text import read_texts
from textgamut.generation.given.matching import CellTexts, cell_samples
from textgamut.generation.requests import Request
from textgamut.tasks.templates import dataset_prompt

pytestmark = pytest.mark.slow

BEGINNINGS = ["The moon is", "Café: «où est", "In 1905,\nAlbert", "Once upon a time"]
GREEDY = GreedyDecoding(strategy="greedy", max_new_tokens=4)
SAMPLING = SamplingDecoding(strategy="sampling", max_new_tokens=4, top_p=0.9)


@pytest.mark.parametrize("decoding", [GREEDY, SAMPLING], ids=["greedy", "sampling"])
def test_answers_to_a_batch_are_the_texts_of_the_engine(
    served: OpenAISource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoding: Decoding
) -> None:
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)
    prompts = {f"p{i}": dataset_prompt(text) for i, text in enumerate(BEGINNINGS)}
    model = Model(label="m", family="m", chat="none", engine="openai", gpus=0, source=served)
    cell = Cell("task", "m", "short", 1)
    lines = []
    for request in batch_requests(cell, model, served.model, decoding, prompts, completions=2):
        url = served.url.removesuffix("/v1") + request["url"]
        answer = httpx.request(request["method"], url, json=request["body"], timeout=GIVE_UP)
        response = {"status_code": answer.status_code, "request_id": "r", "body": answer.json()}
        lines.append(json.dumps({"custom_id": request["custom_id"], "response": response, "error": None}))
    (tmp_path / "answers.jsonl").write_text("\n".join(reversed(lines)))
    source = GenerationsSource(
        kind="generations", path=str(tmp_path / "answers.jsonl"), format="openai-batch"
    )
    table = pd.DataFrame([{"id": id_, **prompt._asdict()} for id_, prompt in prompts.items()])
    imported = cell_samples(
        list(read_texts(tmp_path / "answers.jsonl", source)),
        CellTexts("task", None, "short", ["short"], 1, [1], 2, own_prompts=False),
        table,
        table.head(0),
        "auto",
    )
    requests = [
        Request(id_, completion, prompt.base, False)
        for id_, prompt in prompts.items()
        for completion in (0, 1)
    ]
    # one at a time: the seed of this server is that of the whole process
    engine = OpenAIEngine(served, 1, tmp_path)
    expected = [sample for batch in engine.generate(requests, decoding, 1) for sample in batch]

    def texts(samples: list) -> dict[tuple[str, int], tuple[str, int]]:
        return {(s["prompt_id"], s["completion"]): (s["continuation"], s["tokens"]) for s in samples}

    assert texts(imported) == texts(expected)
    assert len(imported) == 8
