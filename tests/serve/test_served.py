"""Texts from `transformers serve`, a real server: whatever fails on the way, they are the same."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from serve.conftest import KEY, VARIABLE
from servers import FaultProxy

from textgamut.config.entries.decoding import Decoding, GreedyDecoding, SamplingDecoding
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import TextgamutError
from textgamut.generation.engines.openai import OpenAIEngine
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request, Sample
from textgamut.models.checkpoints import load_causal_model, load_tokenizer
from textgamut.sources import chat_server as client
from textgamut.sources import http

pytestmark = pytest.mark.slow

GREEDY = GreedyDecoding(strategy="greedy", max_new_tokens=4)
SAMPLING = SamplingDecoding(strategy="sampling", max_new_tokens=4, top_p=0.9)
REQUESTS = [
    Request(f"p{i}", completion, text, False)
    for completion in (0, 1)
    for i, text in enumerate(["The moon is", "Café: «où est", "In 1905,\nAlbert", "Once upon a time"])
]
Proxied = Callable[..., tuple[FaultProxy, OpenAISource]]
Table = dict[tuple[str, int], Sample]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BACKOFF", 0.001)
    for name in ("TEXTGAMUT_OFFLINE", VARIABLE):
        monkeypatch.delenv(name, raising=False)


def run(engine: OpenAIEngine | TransformersEngine, decoding: Decoding = GREEDY, seed: int = 1) -> Table:
    """Generate, and make sure that there is one sample for each request."""
    samples = [sample for batch in engine.generate(REQUESTS, decoding, seed) for sample in batch]
    table = {(sample["prompt_id"], sample["completion"]): sample for sample in samples}
    assert len(table) == len(samples) == len(REQUESTS)
    return table


@pytest.fixture(scope="module")
def undisturbed(served: OpenAISource, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return run(OpenAIEngine(served, 4, tmp_path_factory.mktemp("undisturbed")))


def test_greedy_texts_are_those_of_the_engine_transformers(undisturbed: Table, smollm2: Path) -> None:
    model = load_causal_model(smollm2, torch.float32, torch.device("cpu"))
    own = run(TransformersEngine(model, load_tokenizer(smollm2), 8))
    unknown = {"log_likelihood": None, "scored_tokens": 0}  # to a server
    assert {key: sample | unknown for key, sample in own.items()} == undisturbed


def test_a_chat_puts_the_text_into_the_template_of_the_model(
    served: OpenAISource, smollm2: Path, tmp_path: Path
) -> None:
    conversation = [{"role": "user", "content": "Name a colour."}]
    dressed = load_tokenizer(smollm2).apply_chat_template(
        conversation, tokenize=False, add_generation_prompt=True
    )
    chat = served.model_copy(update={"endpoint": "chat"})
    asked = client.ServedModel(chat, tmp_path).ask("Name a colour.", {"max_tokens": 6, "temperature": 0})
    given = client.ServedModel(served, tmp_path).ask(dressed, {"max_tokens": 6, "temperature": 0})
    assert asked == given
    assert asked.text


def test_faults_leave_no_trace_in_the_table(
    proxied: Proxied, undisturbed: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "READ_TIMEOUT", 8.0)
    # not more than the attempts of one request, lest a single one meet them all
    kinds = {"429", "503", "reset", "cut", "truncated-json", "html", "wrong-encoding", "error-200"}
    proxy, source = proxied(["timeout", *sorted(kinds)])
    assert run(OpenAIEngine(source, 3, tmp_path)) == undisturbed
    assert {request.fault for request in proxy.requests} == {"timeout", "pass"} | kinds


def test_a_sample_that_is_asked_for_again_has_the_same_seed(
    served: OpenAISource, proxied: Proxied, tmp_path: Path
) -> None:
    _, source = proxied(["cut", "pass", "503", "pass", "truncated-json", "html"])
    # one at a time: the seed of this server is that of the whole process
    direct = run(OpenAIEngine(served, 1, tmp_path / "direct"), SAMPLING)
    assert run(OpenAIEngine(source, 1, tmp_path / "spoilt"), SAMPLING) == direct
    other = run(OpenAIEngine(served, 1, tmp_path / "direct"), SAMPLING, seed=2)
    for table in (direct, other):
        assert table["p0", 0]["continuation"] != table["p0", 1]["continuation"]
    assert direct != other


def test_the_wait_that_the_server_asks_for_is_kept(proxied: Proxied, tmp_path: Path) -> None:
    proxy, source = proxied(["429", "pass"])
    client.ServedModel(source, tmp_path).ask("The moon", {"max_tokens": 1})
    first, second = proxy.requests
    assert second.time - first.time >= proxy.retry_after


def test_as_many_requests_as_wanted_run_at_a_time(proxied: Proxied, tmp_path: Path) -> None:
    proxy, source = proxied(["timeout"] * 3)
    proxy.patience = 3.0
    run(OpenAIEngine(source, 3, tmp_path))
    after = [request.time - proxy.requests[0].time for request in proxy.requests]
    assert after[2] < 2.9 < after[3]


def test_answers_are_kept_and_counted_apart(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy, source = proxied()
    engine = OpenAIEngine(source, 4, tmp_path)
    first = run(engine)
    tokens = sum(sample["tokens"] for sample in first.values())
    asked, kept = engine.facts["asked"], engine.facts["kept"]
    assert (asked["answers"], asked["new_tokens"]) == (len(REQUESTS), tokens)
    assert asked["us_dollars"] == pytest.approx((3 * asked["prompt_tokens"] + 15 * tokens) / 1e6)
    assert set(kept.values()) == {0}

    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    again = OpenAIEngine(source, 4, tmp_path)
    assert run(again) == first
    assert again.facts == engine.facts | {"asked": kept, "kept": asked}
    assert len(proxy.requests) == len(REQUESTS)
    with pytest.raises(TextgamutError, match="TEXTGAMUT_OFFLINE"):
        run(again, seed=2)


KILLED = """
import json, sys
from pathlib import Path
from serve.test_served import GREEDY, REQUESTS
from textgamut.generation.engines.openai import OpenAIEngine
from textgamut.config.entries.sources import OpenAISource

engine = OpenAIEngine(OpenAISource.model_validate_json(sys.argv[1]), 2, Path(sys.argv[2]))
list(engine.generate(REQUESTS, GREEDY, 1))
"""


def test_a_killed_run_asks_only_for_what_is_missing(
    proxied: Proxied, undisturbed: Table, tmp_path: Path
) -> None:
    proxy, source = proxied()
    command = [sys.executable, "-c", KILLED, source.model_dump_json(), str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(command, env=environment) as killed:
        while len(kept := list(tmp_path.rglob("*.json.gz"))) < 3:
            assert killed.poll() is None
            time.sleep(0.01)
        killed.kill()
    proxy.settle()  # a request may have been under way
    kept = list(tmp_path.rglob("*.json.gz"))
    assert 3 <= len(kept) < len(REQUESTS)
    before = len(proxy.requests)
    engine = OpenAIEngine(source, 2, tmp_path)
    assert run(engine) == undisturbed
    assert len(proxy.requests) - before == len(REQUESTS) - len(kept) == engine.facts["asked"]["answers"]


def said(source: OpenAISource, folder: Path, decoding: Decoding = GREEDY) -> str:
    """Run into an error; return all that it says, with the trace."""
    with pytest.raises(TextgamutError) as caught:
        run(OpenAIEngine(source, 1, folder), decoding)
    assert source.model in str(caught.value)
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("fault", "words"), [("401", "HTTP 401"), ("429-quota", "exceeded your current quota")]
)
def test_what_no_patience_can_heal_is_asked_once(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    proxy, source = proxied([fault], key_variable=VARIABLE)
    message = said(source, tmp_path)
    assert words in message
    assert VARIABLE in message
    assert sum(request.fault == fault for request in proxy.requests) == 1


@pytest.mark.parametrize(
    ("wrong", "decoding", "words"),
    [
        ({"model": "nobody/nothing"}, GREEDY, "HTTP 400.*pinned"),
        ({"url": "/nowhere"}, GREEDY, "HTTP 404"),
        ({}, SAMPLING.model_copy(update={"top_k": 5}), "HTTP 422.*top_k"),
    ],
)
def test_what_the_server_refuses_is_told(
    proxied: Proxied, tmp_path: Path, wrong: dict[str, str], decoding: Decoding, words: str
) -> None:
    proxy, source = proxied()
    if "url" in wrong:
        wrong = {"url": source.url + wrong["url"]}
    message = said(source.model_copy(update=wrong), tmp_path, decoding)
    assert re.search(words, message)
    assert "no key" in message
    assert len(proxy.requests) < len(REQUESTS)  # one, and the next ones that were under way already
    assert not list(tmp_path.rglob("*.json.gz"))


def test_max_tokens_may_have_its_new_name(proxied: Proxied, undisturbed: Table, tmp_path: Path) -> None:
    proxy, source = proxied(["400-max-tokens"] * 99, endpoint="chat")
    run(OpenAIEngine(source, 1, tmp_path))
    bodies = [json.loads(request.body) for request in proxy.requests]
    assert [("max_tokens" in body, body.get("max_completion_tokens")) for body in bodies] == [
        (True, None),
        *[(False, GREEDY.max_new_tokens)] * len(REQUESTS),
    ]


def test_the_key_is_sent_and_nowhere_to_be_found(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(VARIABLE, f" {KEY}\n")
    proxy, source = proxied(["429", "error-200", "html", "reset", "pass", "401"], key_variable=VARIABLE)
    engine = OpenAIEngine(source, 1, tmp_path)
    shown = said(source, tmp_path)
    run(engine)
    assert {request.headers["authorization"] for request in proxy.requests} == {f"Bearer {KEY}"}
    assert "trying again" in caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == len(REQUESTS)
    kept = b"".join(gzip.decompress(path.read_bytes()) + os.fsencode(path) for path in files)
    for text in (shown, caplog.text, repr(engine.facts), kept.decode()):
        assert KEY not in text
        assert KEY[3:] not in text


@pytest.mark.parametrize("value", ["", "  ", "schlüssel", "a\nb"])
def test_a_key_that_is_none_is_told_before_anything_is_asked(
    proxied: Proxied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    proxy, source = proxied(key_variable=VARIABLE)
    with pytest.raises(TextgamutError, match=VARIABLE) as caught:
        run(OpenAIEngine(source, 1, tmp_path))
    assert not value.strip() or value not in str(caught.value)
    assert not proxy.requests
