"""Models: an entry of ``models.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textgamut.config.entries.base import Strict
from textgamut.config.entries.sources import ModelSource, OpenAISource


class Model(Strict):
    """A checkpoint, or a served model, that writes text.

    What follows ``engine`` is hardware and cost: a change of it generates nothing anew.
    """

    label: str
    """Name in tables and figures."""
    family: str
    """Models of one family share a colour."""
    source: ModelSource
    chat: Literal["none", "template", "llama-2", "vicuna"]
    """Prompt format: ``none`` for a pre-trained model, ``template`` for the tokenizer's own chat template."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """``auto``: bfloat16 where the hardware has it, else float16 on a GPU and float32 on a CPU."""
    engine: Literal["transformers", "vllm", "openai"] = "transformers"
    """What generates: transformers, vLLM (needs a GPU and the extra of that name), or a server."""
    batch_size: Annotated[int, Field(ge=1)] = 32
    """Samples at a time; with ``openai``, requests at a time. Halved where the memory is short."""
    gpus: Annotated[int, Field(ge=0)] = 1
    """GPUs of one job. A model larger than one GPU is spread over them."""
    shards: Annotated[int, Field(ge=1)] = 1
    """Jobs that share the prompts of a cell. With another number, they take the texts that there are."""
    tokens_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """New tokens that one job makes a second, for ``textgamut plan``."""
    gigabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Size of the weights, for ``textgamut plan`` and the memory that a job asks for."""

    @model_validator(mode="after")
    def _one_way_to_it(self) -> Model:
        if (self.engine == "openai") != isinstance(self.source, OpenAISource):
            raise ValueError("engine openai and source kind openai go together")
        if isinstance(self.source, OpenAISource):
            if (self.source.endpoint == "chat") != (self.chat == "template"):
                raise ValueError("endpoint chat goes with chat: template, completions with another format")
            if self.gpus or self.dtype != "auto":
                raise ValueError("a served model has gpus: 0 and no dtype: the server decides")
        return self

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend: what a change of must rerun."""
        content = self.model_dump(mode="json", include={"source", "chat", "dtype", "engine"})
        if isinstance(self.source, OpenAISource):
            content["source"] = self.source.science()
        return content
