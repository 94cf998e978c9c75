"""Watch the texts of a model while the ``Trainer`` of transformers trains it."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from transformers import Trainer, TrainerCallback

from textgamut import validation
from textgamut.catalogue.family import REFERENCES
from textgamut.catalogue.gate import GATE_METRICS
from textgamut.config.entries.decoding import SamplingDecoding
from textgamut.errors import ConfigError, DataError, ModelError
from textgamut.features.embed import Features, LoadedEmbedder, load_embedder
from textgamut.files import read_json, write_json
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.requests import Request
from textgamut.inference.gates import FAIL, PASS, Check
from textgamut.metrics.rows import USED_REFERENCES
from textgamut.scoring.gate import check_settings, run_gate
from textgamut.scoring.gate_results import GateResult
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, GateSettings, Side
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved, check_options, resolve

logger = logging.getLogger(__name__)

LEAST_PROMPTS = 64
"""Smallest number of prompts: with fewer, only very large changes can be proved."""
LEAST_TOKENS = 8
"""Smallest number of new tokens of a text."""
MOST_TRIES = 4
"""Largest number of attempts to find the number of tokens that fits the budget."""
RESERVE = 0.8
"""Share of the budget that an evaluation may be expected to take, since later ones can be slower."""
FAMILIES = ("support", "vendi", "ngram", "defects")
"""Families that are quick to compute for a few hundred texts."""
MARGINS = {
    "precision": 0.05,
    "recall": 0.05,
    "vendi_ratio": 0.05,
    "self_bleu": 0.02,
    "distinct_texts": 0.03,
    "repetition_4": 0.05,
    "empty_texts": 0.03,
}
"""Metrics that are logged -> largest drop that passes. Some are smaller than those of a gate: texts of a few
tokens share fewer phrases, and a collapse is to be seen when it begins."""
OPTIONS = ("embedder", "pooling", "max_tokens", "language", "k", "registries")
"""Options of ``textgamut.score`` that the callback has, too."""
NAMES = ("collapse", "degeneration")
"""Failures that are logged as 0 or 1."""
BASELINE_FILE = "gamut_baseline.json"
"""File in the trainer's output folder with the texts of the baseline, for runs that are resumed."""


class _Generated(NamedTuple):
    """Generated texts, and what generating them took."""

    texts: list[str]
    seconds: float
    longest: int
    """Number of tokens of the longest text."""


class _Baseline(NamedTuple):
    """The baseline, compared with itself."""

    result: GateResult
    texts: list[str]
    seconds: float
    """What an evaluation takes, if all texts have as many tokens as they may."""
    generating: float
    """What generating them takes."""


class GamutCallback(TrainerCallback):  # type: ignore[misc]
    """Measure the texts of a model every few steps of its training, and report when they collapse.

    The model continues the same prompts every ``every`` steps. Precision, recall, Vendi ratio, Self-BLEU,
    distinct texts, repetition and empty texts are logged with ``Trainer.log``, so that W&B, MLflow,
    TensorBoard and ``trainer.state.log_history`` have them, as ``gamut/precision`` and so on.

    The texts are compared with those of a baseline, by default of the untrained model, by the tests of
    ``textgamut.gate``. ``gamut/collapse`` (less varied texts), ``gamut/degeneration`` (texts that repeat
    themselves or are empty) and ``gamut/worse`` (any metric) are 1 if a metric is worse than the baseline's
    beyond its margin, which is proved, and also worse than that of human texts by more than the margin: that
    a model comes to write as people do is no failure. The first of each is a warning in the log. If nothing
    gets worse, a whole run reports something with a probability of at most ``alpha``.

    ``gamut/seconds`` is what the evaluation took, and ``gamut/time_share`` the share of all evaluations in
    the time since the training began.

    The random state and the modes of the model's modules are the same after an evaluation as before. An error
    in the callback ends its work with a warning, and the training goes on.

    Supported are causal language models and encoder-decoders on one device, with ``DataParallel`` and, where
    each process has all weights, with several processes: the main one generates, and the others wait for it
    at the next step. PEFT adapters that change layers, such as LoRA, are supported; models whose weights are
    divided over processes (FSDP, ZeRO stage 3) and prompt tuning are not: the callback says so and does
    nothing.

    Args:
        trainer: The trainer, also one of TRL. Add the callback with ``trainer.add_callback``.
        prompts: At least 64 prompts: strings, or chats as lists of messages for the tokenizer's chat
            template. More of them show smaller changes.
        references: A human text for each prompt, which is cut to as many tokens as are generated. It must not
            be among the texts that the model is trained on.
        every: Number of steps between evaluations. There is one at the end, too.
        max_new_tokens: Largest number of tokens of a text.
        temperature: Temperature of the sampling.
        budget: Largest number of seconds of an evaluation. If the first ones take longer, texts have fewer
            tokens in the whole run, which is said once.
        baseline_step: The first evaluation at this step, or after it, is the baseline. If the model has to
            learn first what the references are like, choose the end of that phase.
        margins: Metric -> largest drop that passes. Defaults to 0.05 for precision, recall, ``vendi_ratio``
            and ``repetition_4``, 0.02 for ``self_bleu``, and 0.03 for ``distinct_texts`` and ``empty_texts``.
        alpha: Probability of a false alarm in a run, spent evenly over its evaluations.
        batch_size: Number of texts that are generated at once.
        seed: Seed of the texts, which are the same in a repeated run.
        tokenizer: Defaults to the trainer's ``processing_class``.
        options: ``embedder``, ``pooling``, ``max_tokens``, ``language``, ``k`` and ``registries`` of
            :func:`textgamut.score`.

    Raises:
        TypeError: If there is no such option.
        DataError: If there are fewer than 64 prompts, or not as many references, or a number is out of range.
        ConfigError: If a metric, a language or an embedder does not exist, or there is no tokenizer.
        SourceError: If the embedder cannot be downloaded or found.
        ModelError: If the embedder cannot be loaded.

    Examples:
        >>> callback = GamutCallback(trainer, prompts, references, every=200)  # doctest: +SKIP
        >>> trainer.add_callback(callback)  # doctest: +SKIP
    """

    def __init__(
        self,
        trainer: Any,
        prompts: Iterable[Any],
        references: Iterable[str],
        *,
        every: int = 100,
        max_new_tokens: int = 32,
        temperature: float = 1.0,
        budget: float = 60.0,
        baseline_step: int = 0,
        margins: Mapping[str, float] | None = None,
        alpha: float = 0.05,
        batch_size: int = 64,
        seed: int = 0,
        tokenizer: Any = None,
        **options: Any,
    ) -> None:
        self.every = validation.integer("every", every, 1)
        self._asked = validation.integer("max_new_tokens", max_new_tokens, LEAST_TOKENS)
        self.max_new_tokens = self._asked
        self.budget = validation.number("budget", budget)
        self._first = -(-validation.integer("baseline_step", baseline_step) // self.every) * self.every
        self._trainer, self._seed = trainer, validation.seed("seed", seed)
        self._temperature = validation.number("temperature", temperature)
        if self._temperature <= 0 or self.budget <= 0:
            name, value = ("budget", budget) if self.budget <= 0 else ("temperature", temperature)
            raise DataError(f"{name} = {value}: must be above 0")
        self._batch_size = validation.integer("batch_size", batch_size, 1)
        self._tokenizer = trainer.processing_class if tokenizer is None else tokenizer
        self._tokenizer = getattr(self._tokenizer, "tokenizer", self._tokenizer)  # that of a processor
        if self._tokenizer is None:
            raise ConfigError("tokenizer: the trainer has no processing_class, so pass a tokenizer")
        self._references = validation.texts("references", references)
        self._requests = _requests(list(prompts), self._tokenizer)
        _check_numbers(len(self._requests), len(self._references))
        self._settings = _settings(margins or {}, alpha)
        if unknown := set(options) - set(OPTIONS):
            raise TypeError(f"GamutCallback has no option {min(unknown)!r}: it has {', '.join(OPTIONS)}")
        families = Options(metrics=FAMILIES, bootstrap=0, **options)
        self._options = check_options(families, with_prompts=False)
        with _undisturbed():
            self._resolved: Resolved = resolve(self._options)
        self._embedder: LoadedEmbedder | None = None
        self._human: Side | None = None
        self._baseline: Side | None = None
        self._from = 0
        self._reported: set[str] = set()
        self._began = self._spent = 0.0
        self._over = False
        self._ended = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Generate the texts of the baseline, if it is the untrained model."""
        self._baseline, self._human, self._ended, self._over = None, None, "", False
        self._reported, self._began, self._spent = set(), perf_counter(), 0.0
        if self._first <= state.global_step:
            self._run(self._begin, args, state, control)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Evaluate, every few steps and after the last one, before the integrations close their logs."""
        step = state.global_step
        if step % self.every and step < state.max_steps:
            return
        if self._baseline is not None:
            self._run(self._evaluate, args, state, control)
        elif step >= self._first:
            self._run(self._begin, args, state, control)

    def _run(self, work: Callable[[Any, Any], dict[str, float]], args: Any, state: Any, control: Any) -> None:
        """Do something in the main process; an error ends the callback's work and not the training."""
        if self._ended or not state.is_world_process_zero:
            return
        should_log, started = control.should_log, perf_counter()
        try:
            with _undisturbed(), _evaluated(self._trainer.model):
                values = work(args, state)
            now = perf_counter()
            self._spent += now - started
            if values:
                share = self._spent / max(now - self._began, 1e-9)
                # Not the method of a subclass: those of TRL would move the means of their own metrics, which
                # belong to the next entry of the loss, into this entry.
                Trainer.log(self._trainer, values | {"gamut/time_share": share})
        except Exception as error:
            self._ended = str(error) or type(error).__name__
            logger.warning(
                "step %d: textgamut no longer watches this training, which goes on: %s: %s",
                *(state.global_step, type(error).__name__, self._ended),
                exc_info=None if isinstance(error, ValueError) else error,
            )
        control.should_log = should_log  # Trainer.log resets it, and the loss of this step would be lost

    def _begin(self, args: Any, state: Any) -> dict[str, float]:
        """Make the texts of the baseline, or read those of a run that is resumed."""
        self._check_supported()
        file = Path(args.output_dir) / BASELINE_FILE
        if self._embedder is None:
            entry = self._resolved.embedder
            assert entry is not None
            self._embedder = load_embedder(
                self._resolved.embedder_folder, entry, args.device, entry.batch_size
            )
        if self._first < state.global_step and self._resumed(file):
            return {}
        self._from = state.global_step
        made = self._within_budget(state.global_step)
        content = {"key": self._key, "tokens": self.max_new_tokens, "step": self._from}
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, content | {"texts": made.texts})
        return _values(made.result.checks, candidate=False) | {"gamut/seconds": made.seconds}

    def _check_supported(self) -> None:
        """Check that this process can generate by itself.

        Raises:
            ModelError: If it cannot.
        """
        trainer = self._trainer
        divided = getattr(trainer, "is_fsdp_enabled", False)
        if getattr(trainer, "is_deepspeed_enabled", False):
            plugin = getattr(trainer.accelerator.state, "deepspeed_plugin", None)
            divided = plugin is not None and plugin.zero_stage == 3
        if divided:
            raise ModelError("the weights are divided over processes (FSDP or ZeRO stage 3)")
        adapter = getattr(trainer.model, "active_peft_config", None)
        if getattr(adapter, "is_prompt_learning", False):
            raise ModelError("adapters that are prompts are not supported")

    def _within_budget(self, step: int) -> _Baseline:
        """Make the baseline with as many tokens as the budget allows.

        Begin with few tokens, and go on with as many as seem to fit.
        """
        tokens, tried = LEAST_TOKENS, {LEAST_TOKENS: self._begun(step, LEAST_TOKENS)}
        if tried[tokens].seconds > RESERVE * self.budget:  # the first one also imports what is needed
            tried[tokens] = self._begun(step, tokens)
        for _ in range(MOST_TRIES):
            fitting = _affordable(tried, tokens, RESERVE * self.budget)
            fitting = min(self._asked, max(LEAST_TOKENS, fitting))
            if fitting in tried:
                break
            tokens, tried[fitting] = fitting, self._begun(step, fitting)
        within = [number for number, made in tried.items() if made.seconds <= self.budget]
        if not within:
            raise ConfigError(
                f"budget = {self.budget:g} s: an evaluation of {len(self._requests)} prompts takes "
                f"{tried[LEAST_TOKENS].seconds:.3g} s with {LEAST_TOKENS} new tokens, the smallest number: "
                "raise the budget, or pass fewer prompts"
            )
        most = max(within)
        made = tried[most] if most == tokens else self._begun(step, most)
        if most < self._asked:
            logger.warning(
                "texts have %d new tokens instead of %d, so that an evaluation takes less than %g s",
                *(most, self._asked, self.budget),
            )
        return made

    def _begun(self, step: int, tokens: int) -> _Baseline:
        """Make a baseline with a number of tokens."""
        self.max_new_tokens, self._human = tokens, None
        started = perf_counter()
        generated = self._generate(step)
        self._baseline = self._side(generated.texts)
        result = self._gate(self._baseline, looks=1)
        other = perf_counter() - started - generated.seconds
        generating = generated.seconds * tokens / generated.longest  # later texts may be longer
        return _Baseline(result, generated.texts, other + generating, generating)

    def _evaluate(self, args: Any, state: Any) -> dict[str, float]:
        """Compare the texts of the model with those of the baseline."""
        started = perf_counter()
        generated = self._generate(state.global_step)
        result = self._gate(self._side(generated.texts), self._looks(state.max_steps))
        found = {failure.name for failure in result.failures if failure.fails}
        values = _values(result.checks) | {f"gamut/{name}": float(name in found) for name in NAMES}
        values["gamut/worse"] = float(result.outcome == FAIL)
        self._report(result, state.global_step)
        values["gamut/seconds"] = seconds = perf_counter() - started
        if seconds > self.budget and not self._over:
            self._over = True
            logger.warning(
                "step %d: an evaluation took %.3g s, more than the budget of %g s: the machine is busier, or "
                "texts are longer, than when the training began",
                *(state.global_step, seconds, self.budget),
            )
        return values

    def _report(self, result: GateResult, step: int) -> None:
        """Warn of what has become worse for the first time."""
        said = {failure.name: failure.says for failure in result.failures if failure.fails}
        named = {check.metric for failure in result.failures for check in failure.checks}
        for check in result.checks:
            if check.outcome == FAIL and check.metric not in named:
                label = GATE_METRICS[check.metric].label
                said[check.metric] = f"{label} {check.baseline:.3g} → {check.candidate:.3g}."
        for name in [name for name in said if name not in self._reported]:
            self._reported.add(name)
            logger.warning("step %d: the texts are worse than at step %d. %s", step, self._from, said[name])

    def _looks(self, steps: int) -> int:
        """Return the number of evaluations that are compared with the baseline."""
        last = math.ceil(steps / self.every)
        return max(1, last - self._from // self.every)

    def _generate(self, step: int) -> _Generated:
        """Sample a text for each prompt, with random numbers that belong to the seed and the step."""
        model = self._trainer.model
        if hasattr(model, "get_base_model"):  # PEFT's wrapper hides what the model's forward accepts
            model = model.get_base_model()
        decoding = SamplingDecoding(
            strategy="sampling", temperature=self._temperature, max_new_tokens=self.max_new_tokens
        )
        started = perf_counter()
        engine = TransformersEngine(model, self._tokenizer, self._batch_size)
        with self._trainer.accelerator.autocast():
            batches = engine.generate(self._requests, decoding, (self._seed << 32) + step)
            found = {of["prompt_id"]: of for batch in batches for of in batch}
        self._batch_size = engine.batch_size
        texts = [found[request.prompt_id]["continuation"] for request in self._requests]
        return _Generated(texts, perf_counter() - started, max(of["tokens"] for of in found.values()))

    def _side(self, texts: Sequence[str]) -> Side:
        return Side(texts, prompts=[of.prompt_id for of in self._requests], features=self._embed(texts))

    def _embed(self, texts: Sequence[str]) -> Features:
        assert self._embedder is not None
        return self._embedder.embed(texts)

    def _gate(self, candidate: Side, looks: int) -> GateResult:
        """Test the texts; what is as good as human texts, within the margin, passes."""
        assert self._baseline is not None
        if self._human is None:
            cut = _cut(self._references, self._tokenizer, self.max_new_tokens)
            self._human = Side(cut, features=self._embed(cut))
        settings = replace(self._settings, looks=looks)
        sides = {BASELINE: self._baseline, CANDIDATE: candidate, REFERENCE: self._human}
        result = run_gate(sides, settings, self._options, self._resolved, None)
        human = _human_values(result)
        return replace(result, checks=tuple(_against_humans(check, human) for check in result.checks))

    def _resumed(self, file: Path) -> bool:
        """Read the baseline of the run that is resumed, and return whether there is one."""
        try:
            content = read_json(file)
        except (OSError, DataError):
            content = {}
        if content.get("key") != self._key:
            logger.warning(
                "%s has no texts of these prompts: the baseline is the model with which training resumes",
                file,
            )
            return False
        self.max_new_tokens, self._from = content["tokens"], content["step"]
        self._baseline = self._side(content["texts"])
        return True

    @property
    def _key(self) -> str:
        """A digest of what the texts of the baseline are made of."""
        made = [[of.text for of in self._requests], self._temperature, self._seed, self._first]
        return hashlib.sha256(json.dumps(made).encode()).hexdigest()


def _affordable(tried: Mapping[int, _Baseline], tokens: int, seconds: float) -> int:
    """Return the number of tokens with which an evaluation takes that long.

    Args:
        tried: Number of tokens -> an evaluation.
        tokens: Number of tokens of the last one.
        seconds: What it may take.
    """
    last, others = tried[tokens], [number for number in tried if number != tokens]
    each = last.generating / tokens  # too much, since reading the prompts is in it
    if others:
        before = min(others, key=lambda number: abs(number - tokens))
        each = min(each, max((last.seconds - tried[before].seconds) / (tokens - before), 0.01 * each))
    return tokens + math.floor((seconds - last.seconds) / each)


def _requests(prompts: Sequence[Any], tokenizer: Any) -> list[Request]:
    """Return a request for each prompt, of which chats are rendered by the chat template."""
    found = []
    for row, prompt in enumerate(prompts):
        if not isinstance(prompt, str | list):
            raise DataError(
                f"prompts: row {row + 1} is neither a string nor a list of messages but "
                f"{validation.described(prompt)}"
            )
        text = (
            prompt
            if isinstance(prompt, str)
            else tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        )
        found.append(Request(str(row), 0, text, not isinstance(prompt, str)))
    return found


def _check_numbers(prompts: int, references: int) -> None:
    if prompts < LEAST_PROMPTS:
        raise DataError(
            f"prompts: {prompts} are too few to tell whether texts got worse: at least {LEAST_PROMPTS} are "
            "needed, each with a reference"
        )
    if references != prompts:
        raise DataError(f"references: {references} texts for {prompts} prompts: one for each is needed")


def _settings(margins: Mapping[str, float], alpha: float) -> GateSettings:
    """Check the margins, which are those of the metrics that are logged."""
    for name in margins:
        if name not in MARGINS:
            raise ConfigError(f"margins: {name!r} is not computed during training: {', '.join(MARGINS)}")
    return replace(check_settings(margins, alpha, (), 1), margins=MARGINS | dict(margins))


def _cut(texts: Sequence[str], tokenizer: Any, tokens: int) -> list[str]:
    """Cut texts to a number of tokens."""
    found = []
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        found.append(text if len(ids) <= tokens else tokenizer.decode(ids[:tokens], skip_special_tokens=True))
    return found


def _human_values(result: GateResult) -> dict[str, float]:
    """Return the values that human texts would have: the ideal ones, or those of the references."""
    own = result.tested.comparison.results[CANDIDATE].humans
    values = own[USED_REFERENCES].values if USED_REFERENCES in own else {}
    found = {}
    for name in MARGINS:
        ideal = GATE_METRICS[name].ideal
        if isinstance(ideal, int | float):
            found[name] = float(ideal)
        elif ideal == REFERENCES and name in values:
            found[name] = values[name]
    return found


def _against_humans(check: Check, human: Mapping[str, float]) -> Check:
    """Let a drop pass that leaves a metric within its margin of human texts."""
    if check.margin is None or check.metric not in human:
        return check
    better = GATE_METRICS[check.metric].better
    sign = -1 if better == "lower" else 1
    if sign * (human[check.metric] - check.candidate) > check.margin:
        return check
    return replace(check, outcome=PASS, found=False) if check.outcome == FAIL else check


def _values(checks: Iterable[Check], candidate: bool = True) -> dict[str, float]:
    """Return the values of the logged metrics; those that are not known are left out."""
    values = {of.metric: of.candidate if candidate else of.baseline for of in checks if of.metric in MARGINS}
    return {f"gamut/{name}": float(value) for name, value in values.items() if math.isfinite(value)}


@contextmanager
def _evaluated(model: Any) -> Iterator[None]:
    """Set a model to evaluation, and each of its modules back as it was."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the random states, transformers' logging and the environment as they are; ignore warnings."""
    import torch
    from transformers.utils import logging as transformers_logging

    offline, verbosity = os.environ.get("HF_HUB_OFFLINE"), transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    python, numbers = random.getstate(), np.random.get_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with torch.random.fork_rng():
                yield
    finally:
        random.setstate(python)
        np.random.set_state(numbers)
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
        if offline is None:
            os.environ.pop("HF_HUB_OFFLINE", None)
