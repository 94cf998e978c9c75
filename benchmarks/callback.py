"""When ``GamutCallback`` reports a collapse, and what it costs.

    .venv/bin/python benchmarks/callback.py
    .venv/bin/python benchmarks/callback.py --cost

A language model of 1.4 million weights is trained on news articles (ten minutes on two cores; kept in a
folder). Then the ``Trainer`` of transformers trains it on texts that make it collapse, ten times with other
prompts and another order of the texts:

- own: texts that it generated itself at a low temperature, as models do that learn from their own texts;
- few: eight news articles, over and over;
- news: other news articles, as a control: nothing should be reported.

Tabulated are the steps of the first report of a collapse, and of the first evaluation whose loss, of
held-out articles, exceeds its minimum by 5 %. Both are looked at at the same steps; a run ends when both are
known. Finished runs are kept: an interrupted command goes on where it was.

With ``--cost``: seconds of a training step of SmolLM2-135M (batches of 8 texts of 256 tokens), and of an
evaluation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import torch
from setup_generation import DEMO
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

from textgamut.callbacks import GamutCallback
from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.config.loading import load_config
from textgamut.datasets.extract import extract
from textgamut.draws import shuffled
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request
from textgamut.models.checkpoints import load_tokenizer, load_weights, prepare
from textgamut.sources.fetch import fetch
from textgamut.text import cut_words

VOCABULARY, WIDTH, LAYERS, LENGTH = 4096, 128, 4, 64
STEPS, BATCH, RATE = 1500, 24, 3e-3
"""Of the training on news."""
HELD_OUT = 1000
"""Number of articles on which the model is not trained."""
PROMPTS, PROMPT_WORDS, NEW_TOKENS = 128, 12, 32
RISE = 1.05
"""Evaluation loss over its minimum that counts as too late."""
EVERY = 10
OWN_TEXTS, OWN_TEMPERATURE = 256, 0.7
SCENARIOS = {"own": 200, "few": 200, "news": 100}
"""What the model is trained on -> largest number of steps."""
LEARNING_RATE = 3e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    parser.add_argument("--scenarios", nargs="+", default=list(SCENARIOS), choices=list(SCENARIOS))
    parser.add_argument("--kept", type=Path, default=Path("callback"), help="folder of model and runs")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--every", type=int, default=200, help="steps between evaluations, for --cost")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    articles = news()
    if arguments.cost:
        cost(articles, arguments.every)
        return
    folder = pretrained(articles, arguments.kept / "model")
    path = arguments.kept / "runs.jsonl"
    runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for scenario in arguments.scenarios:
        for seed in arguments.seeds:
            if not any(of["trained on"] == scenario and of["seed"] == seed for of in runs):
                runs.append(collapse(scenario, seed, folder, articles))
                with path.open("a") as file:
                    file.write(json.dumps(runs[-1]) + "\n")
                print(runs[-1], flush=True)
    print(pd.DataFrame(runs).to_string(index=False))


def news() -> list[str]:
    """Return news articles in random order; the first ones are not for training."""
    dataset = load_config(DEMO).datasets["news-articles"]
    texts = extract(fetch(dataset.source), dataset).set_index("id")["text"]
    return [texts[name] for name in shuffled(texts.index, "callback")]


def pretrained(articles: Sequence[str], folder: Path) -> Path:
    """Train the tokenizer and the model, unless the folder has them."""
    if (folder / "model.safetensors").exists():
        return folder
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    train = articles[HELD_OUT:]
    backend = ByteLevelBPETokenizer()
    backend.train_from_iterator(train, vocab_size=VOCABULARY, min_frequency=2, special_tokens=["<end>"])
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<end>")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend._tokenizer, padding_side="left", **special)
    ids = np.concatenate([[0, *tokenizer(text)["input_ids"]] for text in train])
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=3 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0),
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.05, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS, pct_start=0.05)
    draw = np.random.default_rng(0)
    for _ in range(STEPS):
        starts = draw.integers(0, len(ids) - LENGTH, BATCH)
        batch = torch.tensor(np.stack([ids[start : start + LENGTH] for start in starts]))
        model(input_ids=batch, labels=batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def blocks(texts: Sequence[str], tokenizer: Any, length: int = LENGTH) -> list[dict[str, list[int]]]:
    """Return training examples of one length, each from the beginning of a text."""
    ids = [tokenizer(f"<end>{text}" if length == LENGTH else text)["input_ids"][:length] for text in texts]
    return [{"input_ids": of, "labels": of} for of in ids if len(of) == length]


def collated(rows: Sequence[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor([row[name] for row in rows]) for name in ("input_ids", "labels")}


def asked(articles: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the beginnings of articles, and how they go on."""
    prompts = [cut_words(text, PROMPT_WORDS) for text in articles]
    return prompts, [text[len(prompt) :] for text, prompt in zip(articles, prompts, strict=True)]


def own_texts(model: Any, tokenizer: Any, articles: Sequence[str], seed: int) -> list[str]:
    """Return texts that the model generates, with their prompts."""
    prompts = [cut_words(text, 4) for text in articles]
    requests = [Request(str(row), 0, text, False) for row, text in enumerate(prompts)]
    decoding = SamplingDecoding(
        strategy="sampling", temperature=OWN_TEMPERATURE, max_new_tokens=LENGTH, min_new_tokens=LENGTH
    )
    engine = TransformersEngine(model.eval(), tokenizer, 128)
    found = {
        of["prompt_id"]: of["continuation"] for b in engine.generate(requests, decoding, seed) for of in b
    }
    return [prompt + found[str(row)] for row, prompt in enumerate(prompts)]


class Watch(TrainerCallback):
    """End the evaluations of texts after a report, and a run when both events have happened."""

    def __init__(self, callback: GamutCallback) -> None:
        self._callback = callback

    def on_evaluate(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Look at the losses."""
        report, late = events(state.log_history)
        if report is not None:
            self._callback.every = 10**9
        if report is not None and late is not None:
            control.should_training_stop = True


def events(history: Sequence[dict[str, float]]) -> tuple[int | None, int | None]:
    """Return the steps of the first report, and of the first evaluation whose loss is too high."""
    report = next((int(row["step"]) for row in history if row.get("gamut/collapse") == 1), None)
    losses = [(int(row["step"]), row["eval_loss"]) for row in history if "eval_loss" in row]
    lowest, late = np.inf, None
    for step, loss in losses:
        lowest = min(lowest, loss)
        if late is None and loss > RISE * lowest:
            late = step
    return report, late


def trainer_of(
    model: Any, tokenizer: Any, datasets: tuple[Any, Any], steps: int, seed: int, output: str
) -> Trainer:
    """Return a trainer that evaluates the loss at the steps of the callback."""
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=output,
            max_steps=steps,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=64,
            learning_rate=LEARNING_RATE,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=20,
            eval_strategy="steps",
            eval_steps=EVERY,
            eval_on_start=True,
            logging_steps=EVERY,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            seed=seed,
        ),
        train_dataset=datasets[0],
        eval_dataset=datasets[1],
        data_collator=collated,
        processing_class=tokenizer,
    )


def collapse(scenario: str, seed: int, folder: Path, articles: Sequence[str]) -> dict[str, Any]:
    """Train the model on the texts of a scenario, and return what happened."""
    model, tokenizer = load_weights(folder, torch.float32), load_tokenizer(folder)
    order = np.random.default_rng(seed).permutation(HELD_OUT)
    held_out = [articles[row] for row in order]
    train = articles[HELD_OUT:]
    texts = {
        "own": lambda: own_texts(model, tokenizer, train[:OWN_TEXTS], seed),
        "few": lambda: train[8 * seed : 8 * seed + 8],
        "news": lambda: train,
    }[scenario]()
    with tempfile.TemporaryDirectory() as output:
        datasets = blocks(texts, tokenizer), blocks(held_out[PROMPTS:][:100], tokenizer)
        trainer = trainer_of(model, tokenizer, datasets, SCENARIOS[scenario], seed, output)
        options: dict[str, Any] = {"every": EVERY, "max_new_tokens": NEW_TOKENS, "seed": seed}
        callback = GamutCallback(trainer, *asked(held_out[:PROMPTS]), **options)
        trainer.add_callback(callback)
        trainer.add_callback(Watch(callback))
        trainer.train()
    history = trainer.state.log_history
    report, late = events(history)
    losses = [row["eval_loss"] for row in history if "eval_loss" in row]
    watched = [row for row in history if "gamut/recall" in row]
    return {
        "trained on": scenario,
        "seed": seed,
        "report": report,
        "loss + 5 %": late,
        "before": report is not None and (late is None or report < late),
        "evaluations": len(watched),
        "worse": sum(row.get("gamut/worse", 0) == 1 for row in watched),
        "steps": trainer.state.global_step,
        **{
            f"{name} {place}": round(watched[row][f"gamut/{name}"], 3)
            for name in ("recall", "vendi_ratio", "self_bleu")
            for place, row in (("first", 0), ("last", -1))
        },
        "least loss": round(min(losses), 3),
        "last loss": round(losses[-1], 3),
        "seconds": round(statistics.median(row["gamut/seconds"] for row in watched), 2),
    }


class Clock(TrainerCallback):
    """Seconds of each training step; added before the callback that is watched."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        self.began = perf_counter()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Stop the clock."""
        self.steps.append(perf_counter() - self.began)


def cost(articles: Sequence[str], every: int) -> None:
    """Print the seconds of a step and of an evaluation of a model of realistic size."""
    folder = prepare(load_config(DEMO).models["smollm2-135m-instruct"].source)
    model, tokenizer = load_weights(folder, torch.float32), load_tokenizer(folder)
    clock = Clock()
    with tempfile.TemporaryDirectory() as output:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=output,
                max_steps=4,
                per_device_train_batch_size=8,
                learning_rate=1e-5,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=blocks(articles[HELD_OUT:][:200], tokenizer, 256),
            data_collator=collated,
            processing_class=tokenizer,
            callbacks=[clock],
        )
        prompts, references = asked(articles[:64])
        trainer.add_callback(GamutCallback(trainer, prompts, references, every=2, budget=300))
        trainer.train()
    seconds = [row["gamut/seconds"] for row in trainer.state.log_history if "gamut/seconds" in row]
    step, evaluation = statistics.median(clock.steps), statistics.median(seconds)
    print(f"step {step:.2f} s ({min(clock.steps):.2f} to {max(clock.steps):.2f})")
    print(f"evaluation of 64 prompts {evaluation:.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")
    print(f"every {every} steps: {evaluation / (every * step):.2%} of the time of the training steps")


if __name__ == "__main__":
    main()
