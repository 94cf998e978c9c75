"""Fine-tuning: tiny models learn what they are shown, and a killed one goes on as if nothing had happened."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

from textgamut.config.entries.decoding import GreedyDecoding
from textgamut.config.entries.sources import FinetunedSource
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request
from textgamut.models.checkpoints import load_generator, load_tokenizer
from textgamut.models.finetuning import Example, finetune

SMALL: dict[str, dict[str, Any]] = {
    "bart": {"init_std": 0.1, "dropout": 0.0},
    "t5": {"initializer_factor": 0.5, "num_layers": 1, "dropout_rate": 0.0},
    "llama": {"initializer_range": 0.1},
}
"""Architecture -> settings with which it learns fast."""
ANSWERS = {letter * 3: letter.upper() * 2 + "." for letter in "abcdef"}
"""What the models learn: prompt -> text."""
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The number of threads changes the last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def examples(architecture: str) -> list[Example]:
    tokenizer = tiny.tokenizer()
    # Without positions, T5 cannot tell two of the same tokens at the beginning of a text, its start and BOS.
    first = 0 if architecture == "bart" else 1
    pairs = [
        Example(
            tokenizer(prompt)["input_ids"], [*tokenizer(text)["input_ids"][first:], tokenizer.eos_token_id]
        )
        for prompt, text in ANSWERS.items()
    ]
    return pairs * 10


def settings(**changes: Any) -> FinetunedSource:
    entry = {"kind": "finetuned", "model": "base", "dataset": "wiki", "n": 60, "epochs": 6, "batch_size": 10}
    return FinetunedSource.model_validate(entry | {"learning_rate": 0.01} | changes)


def answers(folder: Path) -> dict[str, str]:
    engine = TransformersEngine(load_generator(folder, torch.float32, CPU), load_tokenizer(folder), 8)
    requests = [Request(prompt, 0, prompt, False) for prompt in ANSWERS]
    decoding = GreedyDecoding(strategy="greedy", max_new_tokens=5)
    samples = [sample for batch in engine.generate(requests, decoding, 1) for sample in batch]
    return {sample["prompt_id"]: sample["continuation"] for sample in samples}


@pytest.mark.parametrize("architecture", SMALL)
def test_a_model_learns_what_it_is_shown(
    architecture: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base = tiny.write_checkpoint(tmp_path / "base", architecture, **SMALL[architecture])
    before = answers(base)
    assert not set(before.items()) & set(ANSWERS.items())
    folder, unfinished = tmp_path / "folder", tmp_path / "unfinished"
    with caplog.at_level(logging.INFO, "textgamut"):
        losses = finetune(base, examples(architecture), settings(), torch.float32, CPU, folder, unfinished)
    assert answers(folder) == ANSWERS
    assert answers(base) == before
    assert len(losses) == 6
    assert losses[-1] < 0.3 < losses[0]
    assert f"epoch 6: loss {losses[-1]:.3f}" in caplog.text
    assert "36 of 36 steps" in caplog.text
    suffixes = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors"}
    forced = json.loads((folder / "generation_config.json").read_text()).get("forced_bos_token_id")
    assert forced == (0 if architecture == "bart" else None)


def test_the_end_of_a_killed_run_is_that_of_an_undisturbed_one(tmp_path: Path) -> None:
    """With dropout, whose random numbers are part of the state; a state that was being written is ignored."""
    base = tiny.write_checkpoint(tmp_path / "base", "bart", **SMALL["bart"] | {"dropout": 0.2})
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    expected = finetune(
        base, examples("bart"), settings(epochs=4), torch.float32, CPU, whole, tmp_path / "unfinished"
    )
    program = [sys.executable, __file__, str(base), str(killed), str(tmp_path / "state")]
    path = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)}
    assert subprocess.run(program, env=environment).returncode == -signal.SIGKILL
    assert not killed.exists()
    [state] = (tmp_path / "state").glob("checkpoint-*")
    assert state.name == "checkpoint-12"  # two of four epochs
    half = state.with_name("checkpoint-18")
    half.mkdir()
    (half / "trainer_state.json").write_text('{"global_s')
    losses = finetune(
        base, examples("bart"), settings(epochs=4), torch.float32, CPU, killed, tmp_path / "state"
    )
    assert losses == expected
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_a_loss_that_is_not_finite_is_told(tmp_path: Path) -> None:
    base = tiny.write_checkpoint(tmp_path / "base", "llama")
    model = tiny.model("llama")
    model.lm_head.weight.data[5] = 5e37  # finite predictions, but their sum is not
    model.save_pretrained(base)
    with pytest.raises(
        TextgamutError,
        match=r"the loss is not finite: .* or a value in .* is out of range",
    ):
        finetune(
            base,
            examples("llama")[:10],
            settings(epochs=1),
            torch.float32,
            CPU,
            tmp_path / "folder",
            tmp_path / "s",
        )
    assert not (tmp_path / "folder").exists()


def _die_after_two_epochs(base: str, folder: str, state: str) -> None:
    from textgamut.models import finetuning

    class Dying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "epoch 3" in record.getMessage():
                os.kill(os.getpid(), signal.SIGKILL)

    torch.set_num_threads(1)
    logging.getLogger("textgamut").setLevel(logging.INFO)
    finetuning.logger.addHandler(Dying())
    finetune(Path(base), examples("bart"), settings(epochs=4), torch.float32, CPU, Path(folder), Path(state))


if __name__ == "__main__":
    _die_after_two_epochs(*sys.argv[1:])
