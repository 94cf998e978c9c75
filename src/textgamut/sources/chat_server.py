"""Client for a model on an OpenAI-compatible server; answers are cached on disk and counted.

An answer is stored in ``<cache>/answers/<host>/`` under the SHA-256 of URL, model, prompt, settings and the
key of the sample, so an interrupted job pays for nothing twice. The API key is sent to the server and appears
in no file, message or log.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from textgamut import __version__
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ConfigError, SourceError, TextgamutError
from textgamut.sources.http import TransientError, open_client, redacted
from textgamut.sources.json_requests import (
    Answer,
    AnswerStore,
    Text,
    ask_once,
    ask_until_answered,
    checked,
)

if TYPE_CHECKING:
    import httpx

READ_TIMEOUT = 600.0  # seconds: a server queues requests and answers only when the whole text is complete


class _Message(Answer):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(Answer):
    message: _Message | None = None
    text: str | None = None
    finish_reason: Text | None = None


Tokens = Annotated[int, Field(ge=0, le=10**9)]


class _Usage(Answer):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None


class _Answer(Answer):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None
    model: Text | None = None


class Reply(NamedTuple):
    """Answer of a served model."""

    text: str
    """The generated text; empty if there is none."""
    thought: str
    """The model's thought, if the server returns it apart from the text, as vLLM and others do; or empty."""
    finish: str
    """Finish reason as reported by the server: ``stop``, ``length``, ``content_filter``, ..."""
    prompt_tokens: int
    """As counted by the server; 0 if it does not count them."""
    new_tokens: int
    model: str
    """Name of the model as reported by the server."""


class ServedModel:
    """A model on a server; safe to use from several threads."""

    def __init__(self, source: OpenAISource, cache: Path | None = None) -> None:
        """Set up the model without a request; cached answers need no key.

        Args:
            source: Source of the registry's entry.
            cache: Folder of the caches. Defaults to ``cache_folder()``.
        """
        self.source = source
        self._address = f"{source.url.rstrip('/')}/{'chat/' * (source.endpoint == 'chat')}completions"
        self._store = AnswerStore(source.url, cache)
        self._lock = threading.Lock()
        self._open: httpx.Client | None = None
        self._renamed = False  # whether the server requires max_completion_tokens
        self._models: set[str] = set()
        self._counts = {"asked": Counter[str](), "kept": Counter[str]()}

    def ask(
        self,
        prompt: str,
        settings: Mapping[str, Any],
        which: Sequence[str | int] = (),
        system: str | None = None,
    ) -> Reply:
        """Return the answer to a prompt, from the cache or from the server.

        Args:
            prompt: The prompt; with the endpoint ``chat``, the user message.
            settings: Fields of the request besides model and prompt, such as ``temperature``.
            which: Key of the sample, to distinguish it from others with the same prompt. It is not sent.
            system: System prompt, for the endpoint ``chat``.

        Raises:
            TextgamutError: If the server cannot be reached, refuses the request or returns no valid answer;
                if its key is not set; or if the answer is not cached and TEXTGAMUT_OFFLINE is set.
        """
        payload = request_body(self.source.model, self.source.endpoint, prompt, settings, system)
        path = self._store.path(self.source.endpoint, payload, list(which))
        answer = self._store.read(path, lambda answer, _: _read(answer))
        state = "asked" if answer is None else "kept"
        if answer is None:
            self._store.require_online()
            answer, body = self._request(payload)
            with self._store.storing():
                self._store.write(path, body)
        reply = _read(answer)
        with self._lock:
            self._models.add(reply.model)
            self._counts[state].update(
                answers=1, prompt_tokens=reply.prompt_tokens, new_tokens=reply.new_tokens
            )
        return reply

    @property
    def facts(self) -> dict[str, Any]:
        """Return the server's URL, its models, and counts of answers and tokens.

        ``asked`` counts the answers requested in this run, ``kept`` those from the cache. Each has
        ``answers``, ``prompt_tokens``, ``new_tokens`` and, if the registry has both prices, ``us_dollars``.
        """
        prices = self.source.price_input, self.source.price_output
        counts: dict[str, dict[str, float]] = {}
        for state, counter in self._counts.items():
            counts[state] = {name: counter[name] for name in ("answers", "prompt_tokens", "new_tokens")}
            if prices[0] is not None and prices[1] is not None:
                tokens = counter["prompt_tokens"], counter["new_tokens"]
                counts[state]["us_dollars"] = (tokens[0] * prices[0] + tokens[1] * prices[1]) / 1e6
        return {"url": redacted(self.source.url), "models": sorted(self._models), **counts}

    def _request(self, payload: Mapping[str, Any]) -> tuple[Any, bytes]:
        client = self._client()

        def attempt() -> tuple[Any, bytes]:
            sent = dict(payload)
            if self._renamed:
                sent["max_completion_tokens"] = sent.pop("max_tokens")
            try:
                return ask_once(client, "POST", self._address, lambda answer, _: _read(answer), json=sent)
            except (TransientError, TextgamutError) as error:
                message = str(error)
                renamed = "max_tokens" in sent and "max_completion" in message
                if isinstance(error, TextgamutError) and renamed:
                    self._renamed = True
                    raise TransientError("the server requires max_completion_tokens") from None
                if isinstance(error, TransientError) and "insufficient_quota" not in message:
                    raise TransientError(message, error.wait) from None
                raise SourceError(message) from None

        try:
            return ask_until_answered(self._address, attempt)
        except TextgamutError as error:
            name = self.source.key_variable
            key = f"the key in {name}" if name else "no key"
            raise SourceError(f"{error} (model {self.source.model}, {key})") from None

    def _client(self) -> httpx.Client:
        with self._lock:
            if self._open is None:
                import httpx

                headers = {"User-Agent": f"textgamut/{__version__}", "Accept": "application/json"}
                if key := key_of(self.source):
                    headers["Authorization"] = f"Bearer {key}"
                self._open = open_client(self.source.url, headers)
                # No limit on the wait for a connection: there may be more threads than connections.
                self._open.timeout = httpx.Timeout(READ_TIMEOUT, connect=15.0, pool=None)
            return self._open


def request_body(
    model: str,
    endpoint: Literal["chat", "completions"],
    prompt: str,
    settings: Mapping[str, Any],
    system: str | None = None,
) -> dict[str, Any]:
    """Return a request as plain data; see ``ServedModel.ask``."""
    before = [] if system is None else [{"role": "system", "content": system}]
    words = {"messages": [*before, {"role": "user", "content": prompt}]}
    return {"model": model, **(words if endpoint == "chat" else {"prompt": prompt}), **settings}


def key_of(source: OpenAISource) -> str | None:
    """Return the API key of a server from the environment, or None if the source has no ``key_variable``.

    Raises:
        TextgamutError: If the variable is not set or its value is not a valid key.
    """
    if source.key_variable is None:
        return None
    key = os.environ.get(source.key_variable, "").strip()
    if not key:
        raise ConfigError(
            f"{redacted(source.url)}: the environment variable {source.key_variable} is not set: it must "
            f"contain the key for {source.model}"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the environment variable {source.key_variable} does not contain a valid key")
    return key


def _read(answer: Any) -> Reply:
    """Parse an answer.

    Raises:
        TransientError: If it has no text, such as an error message with status 200, or a field has another
            type or an impossible value.
    """
    checked_answer = checked(_Answer, answer, "an OpenAI-compatible server")
    choice, usage = checked_answer.choices[0], checked_answer.usage or _Usage()
    said: _Message | _Choice | None = choice.message if "message" in choice.model_fields_set else choice
    if said is None or not {"content", "text"} & said.model_fields_set:
        raise TransientError(f"the answer contains no text: {json.dumps(answer)[:200]}")
    message = choice.message or _Message()
    thought = message.reasoning_content or message.reasoning
    return Reply(
        text=_whole(_said(message) or choice.text or ""),
        thought=_whole(thought) if isinstance(thought, str) else "",
        finish=choice.finish_reason or "not told",
        prompt_tokens=usage.prompt_tokens or 0,
        new_tokens=usage.completion_tokens or 0,
        model=checked_answer.model or "",
    )


def _said(message: _Message) -> str | None:
    content = message.content
    return message.refusal or content if not (content or "").strip() else content


def _whole(text: str) -> str:
    # A text cut by the token limit may end in half a character, which cannot be encoded.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
