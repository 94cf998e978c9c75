"""Models: an entry of ``models.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from textgamut.config.entries.sources import (
    FinetunedSource,
    GenerationsSource,
    ModelSource,
    OpenAISource,
    Source,
)
from textgamut.errors import ConfigError
from textgamut.fields import Count, Quantity, Strict, Text

Bos = Literal["auto", "always", "never"]
"""Whether a prompt begins with BOS: as the tokenizer does it by itself (``auto``), always, or never."""
ChatFormat = Literal["none", "template", "llama-2", "vicuna"]

# Parameters of transformers' apply_chat_template. All others are passed on to the template.
_NO_ARGUMENTS = (
    "conversation", "messages", "tools", "documents", "chat_template", "add_generation_prompt",
    "continue_final_message", "tokenize", "sanitize_control_tokens", "padding", "truncation", "max_length",
    "return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs",
)  # fmt: skip


def _no_parameter(name: str) -> str:
    if name in _NO_ARGUMENTS:
        raise ValueError(f"{name} is not an argument of a template")
    return name


_OF_RUNS = {
    "adapter", "bos", "dtype", "engine", "batch_invariant", "batch_size", "gpus", "shards",
    "tokens_per_second", "speed_on", "speed_from", "gigabytes",
}  # fmt: skip
"""Fields of a model that a run loads or asks."""

ArgumentName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$"), AfterValidator(_no_parameter)]


class Reasoning(Strict):
    """How a model thinks before it answers. The thought is kept with the samples, but not measured."""

    strip: Text
    """The text that closes a thought, such as ``</think>``. The answer begins after it."""
    budget: Count
    """Maximum number of tokens of a thought, with those of ``strip``. The text ends if the thought is not
    closed by then, and the answer is empty. The decoding's limits of length hold for the answer alone."""


class Chat(NamedTuple):
    """How a model is given its prompts."""

    format: ChatFormat
    system: str | None = None
    """System prompt."""
    arguments: Mapping[str, bool | int | float | str] = {}
    """Arguments of the chat template."""
    prefill: bool = True
    """Whether the prompt ends with the beginning of the answer; if not, the user asks for it."""


class Weights(Strict):
    """What a model is loaded from."""

    source: ModelSource
    """Where the weights come from, the server that has them, or the texts that were generated elsewhere."""
    adapter: Source | None = None
    """A LoRA adapter, a folder in peft's format, which is merged into the weights when these are loaded. It
    needs the extra ``lora`` and the engine transformers."""

    @property
    def checkpoint(self) -> Source:
        """The source of the weights.

        Raises:
            ConfigError: If there is none: a server has them, a run makes them, or only texts are known. The
                message is what follows the name of the model.
        """
        if isinstance(self.source, GenerationsSource):
            raise ConfigError("has texts that were generated elsewhere: choose one with available weights")
        if isinstance(self.source, OpenAISource):
            raise ConfigError("is served over the network: choose one with available weights")
        if isinstance(self.source, FinetunedSource):
            raise ConfigError("is fine-tuned by a run of the workflow: give the folder of its weights")
        return self.source


class TextModel(Weights):
    """What decides the texts of a model: a change of a field causes a rerun."""

    chat: ChatFormat
    """Prompt format: ``none`` for a pre-trained model, ``template`` for the tokenizer's own chat template."""
    system: Text | None = None
    """System prompt, for the formats ``template`` and ``llama-2``."""
    chat_arguments: dict[ArgumentName, bool | int | float | Text] = {}
    """Arguments of the chat template, such as ``enable_thinking: false``, for the format ``template``."""
    reasoning: Reasoning | None = None
    """For a model that thinks before it answers, with the format ``template``."""
    bos: Bos = "auto"
    """Whether prompts begin with BOS, in generation and in likelihoods. ``auto``: if the tokenizer adds it by
    itself; ``always``: even if it does not, as Pythia's; ``never``: not even if it does."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """``auto``: bfloat16 if the hardware supports it, else float16 on a GPU and float32 on a CPU."""
    engine: Literal["transformers", "vllm", "openai"] = "transformers"
    """Generation engine: transformers, vLLM (needs a GPU and the extra of that name) or a server."""
    batch_invariant: bool = False
    """With engine vLLM: use kernels whose results do not depend on the other samples of a batch. They are
    slower, and need a GPU of compute capability 8.0 or higher."""

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if (self.engine == "openai") != isinstance(self.source, OpenAISource):
            raise ValueError("engine openai and source kind openai require each other")
        if isinstance(self.source, OpenAISource):
            if (self.source.endpoint == "chat") != (self.chat == "template"):
                raise ValueError(
                    "endpoint chat requires chat: template, endpoint completions requires another format"
                )
            if self.bos != "auto":
                raise ValueError(
                    f"bos: {self.bos} does not apply to a served model: the server tokenizes prompts"
                )
        if self.batch_invariant and self.engine != "vllm":
            raise ValueError("batch_invariant: true requires engine vllm")
        if self.adapter and self.engine != "transformers":
            raise ValueError(f"adapter does not apply to engine {self.engine}, only to transformers")
        if self.system and self.chat not in ("template", "llama-2"):
            raise ValueError(f"system does not apply to chat: {self.chat}, which has no system prompt")
        if self.chat_arguments and self.chat != "template":
            raise ValueError(f"chat_arguments do not apply to chat: {self.chat}, only to template")
        if self.reasoning and self.chat != "template":
            raise ValueError(f"reasoning does not apply to chat: {self.chat}, only to template")
        if self.bos != "auto" and self.chat == "template":
            raise ValueError(
                f"bos: {self.bos} does not apply to chat: template, which adds its special tokens"
            )
        return self

    @property
    def given(self) -> bool:
        """Whether the texts were generated elsewhere, so that no run loads or asks the model."""
        return isinstance(self.source, GenerationsSource)

    @property
    def chat_settings(self) -> Chat:
        """Everything on which the form of a prompt depends."""
        # After a prompt that asks for a thought, the answer would begin with the thought.
        return Chat(self.chat, self.system, self.chat_arguments, prefill=self.reasoning is None)

    def most_new_tokens(self, answer: int) -> int:
        """Return the maximum number of new tokens: of an answer (``max_new_tokens``) and of a thought."""
        return answer + (self.reasoning.budget if self.reasoning else 0)

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend; a change of them causes a rerun."""
        content = self.model_dump(mode="json", include=set(TextModel.model_fields))
        if isinstance(self.source, OpenAISource):
            content["source"] = self.source.science()
        return content


class Model(TextModel):
    """A checkpoint or a served model that generates text, or texts that were generated elsewhere.

    The fields of this class describe names, hardware and cost; a change of them causes no rerun.
    """

    label: Text
    """Name in tables and figures."""
    family: Text
    """Models of the same family share a colour in figures."""
    batch_size: Count = 32
    """Samples per batch, halved when memory runs out; for ``openai``, the number of concurrent requests."""
    gpus: Annotated[int, Field(ge=0, le=10_000)] = 1
    """GPUs per job. A model larger than one GPU is spread over them."""
    shards: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Number of jobs that share the prompts of a cell, at most one for each text. After a change, texts are
    reused."""
    tokens_per_second: Quantity | None = None
    """New tokens per second and job, for ``textgamut plan``."""
    speed_on: Text | None = None
    """GPU that ``tokens_per_second`` is of, such as ``A100 80 GB``."""
    speed_from: Text | None = None
    """Where ``tokens_per_second`` comes from: a paper, or a measurement of yours."""
    gigabytes: Quantity | None = None
    """Size of the weights, for ``textgamut plan`` and the memory that a job requests."""
    gated: Text | None = None
    """Licence that the hub asks to accept before it gives the weights out, for ``textgamut plan``."""
    parameters: Quantity | None = None
    """Number of parameters in billions, for a table of models."""
    released: Annotated[str, Field(pattern=r"^\d{4}-(0[1-9]|1[0-2])$")] | None = None
    """Month in which the model was announced, such as ``2019-02``, for a table of models."""

    @model_validator(mode="after")
    def _runs(self) -> Self:
        if self.given and (set_ := self.model_fields_set & _OF_RUNS):
            raise ValueError(
                f"{', '.join(sorted(set_))}: does not apply to texts that were generated elsewhere"
            )
        if isinstance(self.source, OpenAISource) and (self.gpus or self.dtype != "auto"):
            raise ValueError("a served model requires gpus: 0 and no dtype, since the server chooses them")
        if isinstance(self.source, FinetunedSource) and self.source.batch_size % max(self.gpus, 1):
            size = self.source.batch_size
            raise ValueError(f"source.batch_size: {size} texts cannot be shared evenly by {self.gpus} GPUs")
        return self
