"""Models: an entry of ``models.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textgamut.config.entries.base import Count, Quantity, Strict, Text
from textgamut.config.entries.sources import ModelSource, OpenAISource


class Model(Strict):
    """A checkpoint or a served model that generates text.

    The fields after ``engine`` describe hardware and cost; a change of them causes no new generation.
    """

    label: Text
    """Name in tables and figures."""
    family: Text
    """Models of the same family share a colour in figures."""
    source: ModelSource
    chat: Literal["none", "template", "llama-2", "vicuna"]
    """Prompt format: ``none`` for a pre-trained model, ``template`` for the tokenizer's own chat template."""
    bos: Literal["tokenizer", "always"] = "tokenizer"
    """``always``: prompts begin with BOS even if the tokenizer adds none by itself, as Pythia's."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """``auto``: bfloat16 if the hardware supports it, else float16 on a GPU and float32 on a CPU."""
    engine: Literal["transformers", "vllm", "openai"] = "transformers"
    """Generation engine: transformers, vLLM (needs a GPU and the extra of that name) or a server."""
    batch_size: Count = 32
    """Samples per batch, halved when memory runs out; for ``openai``, the number of concurrent requests."""
    gpus: Annotated[int, Field(ge=0, le=10_000)] = 1
    """GPUs per job. A model larger than one GPU is spread over them."""
    shards: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Number of jobs that share the prompts of a cell. After a change, existing texts are reused."""
    tokens_per_second: Quantity | None = None
    """New tokens per second and job, for ``textgamut plan``."""
    gigabytes: Quantity | None = None
    """Size of the weights, for ``textgamut plan`` and the memory that a job requests."""

    @model_validator(mode="after")
    def _source_fits_engine(self) -> Model:
        if (self.engine == "openai") != isinstance(self.source, OpenAISource):
            raise ValueError("engine openai and source kind openai require each other")
        if isinstance(self.source, OpenAISource):
            if (self.source.endpoint == "chat") != (self.chat == "template"):
                raise ValueError(
                    "endpoint chat requires chat: template, endpoint completions requires another format"
                )
            if self.gpus or self.dtype != "auto":
                raise ValueError(
                    "a served model requires gpus: 0 and no dtype, since the server chooses them"
                )
            if self.bos == "always":
                raise ValueError("bos: always does not apply to a served model: the server tokenizes prompts")
        if self.bos == "always" and self.chat == "template":
            raise ValueError("bos: always does not apply to chat: template, which adds its special tokens")
        return self

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend; a change of them causes a rerun."""
        content = self.model_dump(mode="json", include={"source", "chat", "bos", "dtype", "engine"})
        if isinstance(self.source, OpenAISource):
            content["source"] = self.source.science()
        return content
