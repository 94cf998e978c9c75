"""Generation with a server that implements OpenAI's protocol; replies are cached on disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from textgamut.config.entries.decoding import Decoding, SamplingDecoding, unsupported
from textgamut.config.entries.models import Chat, Reasoning
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ConfigError
from textgamut.generation.requests import Request, Sample, seed_of
from textgamut.generation.thoughts import UNCLOSED
from textgamut.sources.chat_server import ServedModel

logger = logging.getLogger(__name__)

PLAIN = Chat("none")
OFF = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}


class OpenAIEngine:
    """A model behind an OpenAI-compatible server.

    With the endpoint ``completions`` the text of a request is the prompt. With ``chat`` it is the user
    message, and the server applies the model's chat template; most servers cannot prefill the answer.

    Temperature, top-p and the number of new tokens are always sent. Top-k, min-p and the penalties are sent
    only if they are enabled, since OpenAI's protocol has no ``top_k``, ``min_p`` and ``repetition_penalty``;
    a server that does not support them returns an error or ignores them. A server may use its own defaults
    for settings that are not sent (docs/how-to/decoding.md).

    The seed of a sample depends on (seed, prompt, completion). Its effect depends on the server. No server
    guarantees identical texts for identical requests; only the cache makes the texts reproducible.
    """

    def __init__(
        self,
        source: OpenAISource,
        concurrency: int,
        cache: Path | None = None,
        chat: Chat = PLAIN,
        reasoning: Reasoning | None = None,
    ) -> None:
        """Create the client; this sends no request.

        Args:
            source: The model's source in the registry.
            concurrency: Maximum number of concurrent requests.
            cache: Cache folder. Defaults to ``cache_folder()``.
            chat: The chat settings of the model. With the endpoint ``chat``, the system prompt is sent as a
                message, and the arguments of the template as ``chat_template_kwargs``, as vLLM calls them;
                a server that does not know this field ignores or refuses it.
            reasoning: For a model that thinks before it answers. Servers have one limit for thought and
                answer together, and the tokens are not known here, so that the answer after a short thought
                can be longer than ``max_new_tokens``. A server may return the thought apart from the answer.
        """
        self._model, self.batch_size = ServedModel(source, cache), concurrency
        self._reasoning = reasoning
        self._chat = chat
        self._system = system_message(chat)

    identity = ""
    """See ``Engine.identity``: a server returns no such information."""

    @property
    def facts(self) -> dict[str, Any]:
        """Return the metadata for the job's output; see ``ServedModel.facts``."""
        return self._model.facts

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. If one request fails, running ones finish, and their replies are cached.

        ``Sample.finish`` is the server's finish reason. It is logged if neither ``stop`` nor ``length``.
        """
        settings = server_settings(decoding, self._chat, self._reasoning)
        finished: SimpleQueue[Future[Sample]] = SimpleQueue()
        pool = ThreadPoolExecutor(self.batch_size)
        try:
            for request in requests:
                future = pool.submit(self._sample, request, settings, decoding, seed)
                future.add_done_callback(finished.put)
            left = len(requests)
            while left:
                batch = [finished.get()]
                while not finished.empty():
                    batch.append(finished.get())
                left -= len(batch)
                yield [future.result() for future in batch]
        finally:
            pool.shutdown(cancel_futures=True)

    def _sample(self, request: Request, settings: dict[str, Any], decoding: Decoding, seed: int) -> Sample:
        which = (seed, request.prompt_id, request.completion)
        settings = settings | sample_settings(request, decoding, seed)
        reply = self._model.ask(request.text, settings, which, self._system)
        if reply.finish not in ("stop", "length"):
            logger.warning("%s/%d: unusual finish reason: %s", *which[1:], reply.finish)
        text, finish = reply.text, reply.finish
        if self._reasoning:
            if reply.thought and reply.text:
                text = f"{reply.thought}{self._reasoning.strip}{reply.text}"
            elif self._reasoning.strip not in text:
                text, finish = reply.thought + text, UNCLOSED
        return Sample(
            prompt_id=request.prompt_id,
            completion=request.completion,
            continuation=text,
            tokens=reply.new_tokens,
            finish=finish,
            log_likelihood=None,
            scored_tokens=0,
        )


def server_settings(
    decoding: Decoding, chat: Chat = PLAIN, reasoning: Reasoning | None = None
) -> dict[str, Any]:
    """Return the fields of a request for a model and a decoding setting, without the seed.

    Args:
        decoding: The decoding setting.
        chat: The chat settings of the model.
        reasoning: For a model that thinks before it answers.

    Raises:
        TextgamutError: If OpenAI's protocol does not support the setting.
    """
    if reason := unsupported("openai", decoding):
        raise ConfigError(reason)
    most = decoding.max_new_tokens + (reasoning.budget if reasoning else 0)
    settings: dict[str, Any] = {"max_tokens": most, "temperature": 0.0}
    if isinstance(decoding, SamplingDecoding):
        settings |= {"temperature": decoding.temperature, "top_p": decoding.top_p}
        if decoding.top_k is not None:
            settings["top_k"] = decoding.top_k
        if decoding.min_p > 0:
            settings["min_p"] = decoding.min_p
    if chat.arguments:
        settings["chat_template_kwargs"] = dict(chat.arguments)
    return settings | {name: value for name in OFF if (value := getattr(decoding, name)) != OFF[name]}


def system_message(chat: Chat) -> str | None:
    """Return the system prompt that is sent as a message; other formats have it in the prompt."""
    return chat.system if chat.format == "template" else None


def sample_settings(request: Request, decoding: Decoding, seed: int) -> dict[str, Any]:
    """Return the fields of a request that only one sample has: its seed, unless the decoding is greedy."""
    return {"seed": seed_of(request, seed)} if isinstance(decoding, SamplingDecoding) else {}
