"""`GamutCallback`: the texts of a model while a real Trainer trains it."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from transformers import Trainer, TrainingArguments
from transformers.utils import logging as transformers_logging

from textgamut.callbacks import BASELINE_FILE, MARGINS, GamutCallback, _against_humans
from textgamut.errors import ConfigError, DataError
from textgamut.inference.gates import Check

WORDS = ("the", "old", "river", "town", "school", "morning", "paper", "light", "garden", "market", "winter")
COUNT = 64

pytestmark = pytest.mark.usefixtures("few_resamples")


def sentences(count: int, seed: int) -> list[str]:
    """Return texts of random words."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=7)) for _ in range(count)]


PROMPTS, REFERENCES = sentences(COUNT, 1), sentences(COUNT, 2)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("embedder"), "llama", seed=1)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.WARNING, "textgamut.callbacks"):
        yield caplog


def examples(texts: list[str], tokenizer: Any) -> list[dict[str, list[int]]]:
    ids = [tokenizer(text)["input_ids"][:40] for text in texts]
    return [{"input_ids": of, "labels": of} for of in ids]


def collated(rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    most = min(len(row["input_ids"]) for row in rows)
    return {name: torch.tensor([row[name][:most] for row in rows]) for name in ("input_ids", "labels")}


def trainer(folder: Path, texts: list[str] | None = None, model: Any = None, **arguments: Any) -> Trainer:
    """Return a trainer of a tiny model, by default on texts of random words."""
    tokenizer = tiny.tokenizer()
    settings = {
        "max_steps": 4,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 3,
    }
    return Trainer(
        model=model or tiny.model("llama", attention_dropout=0.1),
        args=TrainingArguments(output_dir=str(folder), **settings | arguments),
        train_dataset=examples(texts or sentences(32, 3), tokenizer),
        data_collator=collated,
        processing_class=tokenizer,
    )


@pytest.fixture
def watched(embedder: Path, tmp_path: Path) -> Any:
    """A trainer with the callback."""

    def make(trained: Trainer | None = None, **options: Any) -> Trainer:
        trained = trained or trainer(tmp_path)
        own = {"every": 2, "max_new_tokens": 12, "embedder": embedder, "pooling": "mean", "max_tokens": 64}
        trained.add_callback(GamutCallback(trained, PROMPTS, REFERENCES, **own | options))
        return trained

    return make


def history(of: Trainer, name: str) -> dict[int, float]:
    return {row["step"]: row[name] for row in of.state.log_history if name in row}


def test_the_trainers_log_has_the_values(watched: Any) -> None:
    trained = watched()
    trained.train()
    for name in set(MARGINS) - {"repetition_4"}:  # texts of two words have no 4-grams
        assert list(history(trained, f"gamut/{name}")) == [0, 2, 4]
    assert all(0 <= value <= 1 for value in history(trained, "gamut/precision").values())
    for name in ("collapse", "degeneration", "worse"):
        assert list(history(trained, f"gamut/{name}")) == [2, 4]
    assert all(seconds > 0 for seconds in history(trained, "gamut/seconds").values())


def test_there_is_an_evaluation_after_the_last_step(watched: Any) -> None:
    trained = watched(every=3)
    trained.train()
    assert list(history(trained, "gamut/recall")) == [0, 3, 4]


def test_the_training_is_undisturbed(watched: Any, tmp_path: Path) -> None:
    """Losses, with dropout, and the logging of transformers are those of a training without the callback."""
    alone = trainer(tmp_path)
    alone.train()
    transformers_logging.set_verbosity_warning()
    trained = watched()
    state = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    trained.callback_handler.on_train_begin(trained.args, trained.state, trained.control)
    assert random.getstate() == state[0]
    assert np.random.get_state()[1].tolist() == state[1]
    assert torch.equal(torch.get_rng_state(), state[2])
    trained.train()
    assert len(history(alone, "loss")) == 4
    assert history(alone, "loss") == history(trained, "loss")
    assert transformers_logging.get_verbosity() == logging.WARNING


def test_the_values_are_the_same_in_a_repeated_run(watched: Any, tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        trained = watched(trainer(tmp_path))
        trained.train()
        found.append(history(trained, "gamut/self_bleu"))
    assert found[0] == found[1]


def test_modules_get_their_modes_back(watched: Any, tmp_path: Path) -> None:
    model = tiny.model("llama").train()
    model.model.embed_tokens.eval()
    trained = watched(trainer(tmp_path, model=model))
    trained.callback_handler.on_train_begin(trained.args, trained.state, trained.control)
    assert model.training
    assert not model.model.embed_tokens.training


def test_collapse_is_reported_once(watched: Any, tmp_path: Path, logged: Any) -> None:
    """All texts become the same one."""
    trained = watched(
        trainer(tmp_path, ["the same"] * 8, max_steps=120, learning_rate=1e-2, logging_steps=50), every=40
    )
    trained.train()
    assert history(trained, "gamut/collapse")[120] == 1
    assert history(trained, "gamut/worse")[120] == 1
    said = [of.getMessage() for of in logged.records if "Collapse" in of.getMessage()]
    assert len(said) == 1
    assert "worse than at step 0" in said[0]
    assert "recall" in said[0]


def test_nothing_is_reported_if_nothing_is_learned(watched: Any, tmp_path: Path, logged: Any) -> None:
    trained = watched(trainer(tmp_path, learning_rate=0.0, max_steps=10))
    trained.train()
    assert set(history(trained, "gamut/worse").values()) == {0}
    assert not logged.records


@pytest.mark.parametrize("text", [" ", "the the the the the the"])
def test_texts_that_are_all_the_same(
    watched: Any, logged: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The model ends its texts at once, or repeats a word."""
    generate = GamutCallback._generate

    def same(callback: GamutCallback, step: int) -> Any:
        found = generate(callback, step)
        return found._replace(texts=[text] * COUNT) if step else found

    monkeypatch.setattr(GamutCallback, "_generate", same)
    trained = watched()
    trained.train()
    for name in ("collapse", "degeneration", "worse"):
        assert history(trained, f"gamut/{name}") == {2: 1, 4: 1} or (name == "degeneration" and text)
    assert all("the texts are worse" in of.getMessage() for of in logged.records)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_an_adapter_is_trained(watched: Any, tmp_path: Path, logged: Any, checkpointing: bool) -> None:
    """LoRA, and gradient checkpointing, with which models switch their cache off in training."""
    peft = pytest.importorskip("peft")
    model = peft.get_peft_model(
        tiny.model("llama"), peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    )
    trained = watched(trainer(tmp_path, model=model, gradient_checkpointing=checkpointing, bf16=True))
    trained.train()
    assert list(history(trained, "gamut/recall")) == [0, 2, 4]
    assert not logged.records


def test_an_encoder_decoder_is_trained(watched: Any, tmp_path: Path) -> None:
    trained = watched(trainer(tmp_path, model=tiny.model("t5")))
    trained.train()
    assert list(history(trained, "gamut/recall")) == [0, 2, 4]


def test_the_budget_decides_the_number_of_tokens(
    watched: Any, logged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock on which a token takes a second and everything else half a second."""
    now = [0.0]
    generate = GamutCallback._generate
    monkeypatch.setattr("textgamut.callbacks.perf_counter", lambda: now[0])

    def timed(callback: GamutCallback, step: int) -> Any:
        found = generate(callback, step)
        now[0] += 0.5 + found.longest
        return found._replace(seconds=float(found.longest))

    monkeypatch.setattr(GamutCallback, "_generate", timed)
    trained = watched(max_new_tokens=30, budget=20.0)
    trained.train()
    callback = trained.callback_handler.callbacks[-1]
    assert callback.max_new_tokens == 15  # 0.8 of the budget, less half a second
    assert max(history(trained, "gamut/seconds").values()) <= 20
    assert [of.getMessage() for of in logged.records] == [
        "texts have 15 new tokens instead of 30, so that an evaluation takes less than 20 s"
    ]


def test_a_budget_that_is_too_small(watched: Any, logged: Any) -> None:
    trained = watched(budget=1e-6)
    trained.train()
    assert len(history(trained, "loss")) == 4
    assert not history(trained, "gamut/precision")
    [said] = logged.records
    assert "budget = 1e-06 s: an evaluation of 64 prompts takes" in said.getMessage()


def test_an_error_does_not_stop_the_training(
    watched: Any, logged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = watched(every=1)

    def broken(*_: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(GamutCallback, "_evaluate", broken)
    trained.train()
    assert len(history(trained, "loss")) == 4
    [said] = logged.records
    assert "step 1: textgamut no longer watches this training, which goes on: RuntimeError: no" in (
        said.getMessage()
    )


def test_weights_that_are_not_finite(watched: Any, tmp_path: Path, logged: Any) -> None:
    trained = watched(trainer(tmp_path, learning_rate=1e30))
    trained.train()
    [said] = logged.records
    assert "logits are not finite" in said.getMessage()


def test_the_baseline_may_be_a_later_step(watched: Any, tmp_path: Path) -> None:
    trained = watched(baseline_step=3, every=2)
    trained.train()
    assert list(history(trained, "gamut/recall")) == [4]
    assert not history(trained, "gamut/collapse")


def test_a_resumed_run_has_the_same_baseline(watched: Any, tmp_path: Path, logged: Any) -> None:
    saving = {"save_strategy": "steps", "save_steps": 2}
    whole = watched(trainer(tmp_path / "a", **saving))
    whole.train()
    resumed = watched(trainer(tmp_path / "a", **saving))
    resumed.train(resume_from_checkpoint=str(tmp_path / "a/checkpoint-2"))
    for name in ("gamut/recall", "gamut/self_bleu", "gamut/worse"):
        assert history(resumed, name)[4] == history(whole, name)[4]
    assert json.loads((tmp_path / "a" / BASELINE_FILE).read_text())["step"] == 0
    assert not logged.records
    (tmp_path / "a" / BASELINE_FILE).unlink()
    again = watched(trainer(tmp_path / "a", **saving))
    again.train(resume_from_checkpoint=str(tmp_path / "a/checkpoint-2"))
    assert "the baseline is the model with which training resumes" in logged.text


def test_only_the_main_process_generates(watched: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = watched()
    trained.state.is_world_process_zero = False
    trained.callback_handler.on_train_begin(trained.args, trained.state, trained.control)
    assert not trained.state.log_history


@pytest.mark.slow
def test_the_values_of_two_processes_are_those_of_one(watched: Any, embedder: Path, tmp_path: Path) -> None:
    """With DistributedDataParallel, each process has half of a batch."""
    trained = watched(trainer(tmp_path / "one", model=tiny.model("llama")))
    trained.train()
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", __file__]
    path = os.pathsep.join([str(Path(tiny.__file__).parent), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    subprocess.run(
        [sys.executable, *command, str(embedder), str(tmp_path / "two")], env=environment, check=True
    )
    own = json.loads((tmp_path / "two/history.json").read_text())
    assert [row["step"] for row in own if "gamut/worse" in row] == [2, 4]
    for name in ("gamut/recall", "gamut/vendi_ratio", "gamut/self_bleu"):
        expected = history(trained, name)
        found = {row["step"]: row[name] for row in own if name in row}
        assert found[0] == pytest.approx(expected[0], rel=1e-6)  # other batches are embedded together
        assert found == pytest.approx(expected, abs=0.1)


def test_divided_weights_are_not_supported(watched: Any, logged: Any) -> None:
    trained = watched()
    trained.is_fsdp_enabled = True
    callback = trained.callback_handler.callbacks[-1]
    callback.on_train_begin(trained.args, trained.state, trained.control)
    assert "the weights are divided over processes" in logged.text


def test_chats_are_rendered(embedder: Path, tmp_path: Path) -> None:
    trained = trainer(tmp_path)
    trained.processing_class.chat_template = (
        "{% for m in messages %}<end>{{ m.content }}{% endfor %}{% if add_generation_prompt %}: {% endif %}"
    )
    chats = [[{"role": "user", "content": prompt}] for prompt in PROMPTS]
    callback = GamutCallback(trained, chats, REFERENCES, embedder=embedder, pooling="mean", max_tokens=64)
    assert callback._requests[0].text == f"<end>{PROMPTS[0]}: "
    assert callback._requests[0].templated


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prompts": PROMPTS[:63]}, DataError, "prompts: 63 are too few to tell whether texts got worse"),
        ({"references": REFERENCES[1:]}, DataError, "references: 63 texts for 64 prompts"),
        ({"prompts": [1] * 64}, DataError, "prompts: row 1 is neither a string nor a list of messages"),
        ({"every": 0}, DataError, "every = 0"),
        ({"budget": 0}, DataError, "budget = 0: must be above 0"),
        ({"temperature": -1}, DataError, "temperature = -1: must be above 0"),
        ({"max_new_tokens": 7}, DataError, "max_new_tokens = 7"),
        ({"margins": {"mauve": 0.1}}, ConfigError, "margins: 'mauve' is not computed during training"),
        ({"alpha": 2}, DataError, "alpha = 2"),
        ({"metrics": ["support"]}, TypeError, "GamutCallback has no option 'metrics'"),
        ({"embedder": "minlm"}, ConfigError, "nearest valid: 'minilm'"),
    ],
)
def test_mistakes(
    embedder: Path, tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    given = {"prompts": PROMPTS, "references": REFERENCES, "embedder": embedder, "pooling": "mean"}
    with pytest.raises(error, match=message):
        GamutCallback(trainer(tmp_path), **given | options)


def test_a_trainer_without_a_tokenizer(tmp_path: Path) -> None:
    trained = trainer(tmp_path)
    trained.processing_class = None
    with pytest.raises(ConfigError, match="the trainer has no processing_class"):
        GamutCallback(trained, PROMPTS, REFERENCES)


@pytest.mark.parametrize(("candidate", "outcome"), [(0.85, "fail"), (0.92, "pass"), (1.2, "pass")])
def test_what_is_as_good_as_human_texts_passes(candidate: float, outcome: str) -> None:
    """A base model that writes about more than the references do may become as varied as they are."""
    numbers = (1.5, candidate, 1.5 - candidate, 0.9, 0.1, 0.0, 0.0)
    check = Check("vendi_ratio", "all", *numbers, "fail", True, None, 64)
    assert _against_humans(check, {"vendi_ratio": 1.0}).outcome == outcome


def train_in_parallel(embedder: Path, folder: Path) -> None:
    """Train in one of two processes; the main one writes the log."""
    arguments = {"per_device_train_batch_size": 2, "ddp_backend": "gloo"}
    trained = trainer(folder, model=tiny.model("llama"), **arguments)
    assert trained.args.world_size == 2
    own = {"every": 2, "max_new_tokens": 12, "embedder": embedder, "pooling": "mean", "max_tokens": 64}
    trained.add_callback(GamutCallback(trained, PROMPTS, REFERENCES, **own))
    trained.train()
    if trained.is_world_process_zero():
        (folder / "history.json").write_text(json.dumps(trained.state.log_history))


if __name__ == "__main__":
    train_in_parallel(*map(Path, sys.argv[1:]))
