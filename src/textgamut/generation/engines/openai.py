"""Generation by a server: any endpoint that speaks OpenAI's protocol, its answers kept on disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from textgamut.config.entries.decoding import Decoding, GreedyDecoding, SamplingDecoding
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ConfigError
from textgamut.generation.requests import Request, Sample, seed_of
from textgamut.sources.chat_server import ServedModel

logger = logging.getLogger(__name__)

OFF = {"repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}


class OpenAIEngine:
    """A model behind an OpenAI-compatible server.

    With the endpoint ``completions`` the text of a request is the prompt. With ``chat`` it is the message of
    the user, and the server puts it into the model's chat template: most have no way to begin the answer.

    Temperature, top-p and the number of new tokens are always sent; top-k and the penalties only where they
    are not off, since OpenAI knows no ``top_k`` and no ``repetition_penalty``: a server that refuses one says
    so. What is not sent, a server may set by itself (README).

    The seed of a sample depends on (seed, prompt, completion). Whether it has an effect is up to the server,
    and the same text twice is promised by none: the texts are those in the cache.
    """

    def __init__(self, source: OpenAISource, concurrency: int, cache: Path | None = None) -> None:
        """Name the model; nothing is asked yet.

        Args:
            source: What the registry says.
            concurrency: Requests at a time.
            cache: Folder of the caches; none given: ``cache_folder()``.
        """
        self._model, self.batch_size = ServedModel(source, cache), concurrency

    @property
    def facts(self) -> dict[str, Any]:
        """Return what the record of a job says: see ``ServedModel.facts``."""
        return self._model.facts

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. Once one request fails, those under way end, and their answers are kept.

        ``Sample.finish`` is the server's word for it; other than ``stop`` and ``length``, it is also logged.
        """
        settings = server_settings(decoding)
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
        if isinstance(decoding, SamplingDecoding):
            settings = settings | {"seed": seed_of(request, seed)}
        which = (seed, request.prompt_id, request.completion)
        reply = self._model.ask(request.text, settings, which)
        if reply.finish not in ("stop", "length"):
            logger.warning("%s/%d: the text ended by: %s", *which[1:], reply.finish)
        return Sample(
            prompt_id=request.prompt_id,
            completion=request.completion,
            continuation=reply.text,
            tokens=reply.new_tokens,
            finish=reply.finish,
        )


def server_settings(decoding: Decoding) -> dict[str, Any]:
    """Return a decoding setting as fields of a request; the seed is each sample's own.

    Raises:
        TextgamutError: OpenAI's protocol has no words for it.
    """
    if not isinstance(decoding, GreedyDecoding | SamplingDecoding):
        raise ConfigError(
            f"engine openai: a server has no {decoding.strategy} decoding: take greedy or sampling, or "
            "another engine"
        )
    if decoding.min_new_tokens > 1:
        raise ConfigError(
            f"engine openai: min_new_tokens: {decoding.min_new_tokens}: a server lets the model end the text "
            "when it likes: leave it at 1"
        )
    settings: dict[str, Any] = {"max_tokens": decoding.max_new_tokens, "temperature": 0.0}
    if isinstance(decoding, SamplingDecoding):
        settings |= {"temperature": decoding.temperature, "top_p": decoding.top_p}
        if decoding.top_k is not None:
            settings["top_k"] = decoding.top_k
    return settings | {name: value for name in OFF if (value := getattr(decoding, name)) != OFF[name]}
