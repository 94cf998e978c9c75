"""A model behind an OpenAI-compatible server: asked for texts, which are kept on disk and counted.

Answers stand in ``<cache>/answers/<host>/`` under the SHA-256 of address, model, prompt, settings and what
else tells two samples apart. So a job that was interrupted pays for nothing twice. The key of the server is
sent, and stands in no file, message or log.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut import __version__
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ConfigError, SourceError, TextgamutError
from textgamut.sources.answers import AnswerStore, ask_once, ask_until_answered
from textgamut.sources.http import PassingError, open_client, redacted

if TYPE_CHECKING:
    import httpx

PATIENCE = 600.0  # seconds of silence: a server has a queue, and answers when the whole text is written


class Reply(NamedTuple):
    """What a served model answers."""

    text: str
    """Empty where it says nothing."""
    finish: str
    """Why the text ends, in the server's words: ``stop``, ``length``, ``content_filter``, ..."""
    prompt_tokens: int
    """As the server counts them; 0 where it does not."""
    new_tokens: int
    model: str
    """The model as the server names it."""


class ServedModel:
    """A model behind a server, to be asked from several threads at once."""

    def __init__(self, source: OpenAISource, cache: Path | None = None) -> None:
        """Name the model; nothing is asked yet, and no key is needed for what is kept already.

        Args:
            source: What the registry says.
            cache: Folder of the caches; none given: ``cache_folder()``.
        """
        self.source = source
        self._address = f"{source.url.rstrip('/')}/{'chat/' * (source.endpoint == 'chat')}completions"
        self._kept = AnswerStore(source.url, cache)
        self._lock = threading.Lock()
        self._open: httpx.Client | None = None
        self._renamed = False  # whether the server wants max_completion_tokens
        self._models: set[str] = set()
        self._counts = {"asked": Counter[str](), "kept": Counter[str]()}

    def ask(self, prompt: str, settings: Mapping[str, Any], which: Sequence[str | int] = ()) -> Reply:
        """Return the answer to a prompt, from the cache or from the server.

        Args:
            prompt: With the endpoint ``chat`` the whole message of the user.
            settings: Fields of the request besides model and prompt, such as ``temperature``.
            which: What tells this question from others of the same words. It is not sent.

        Raises:
            TextgamutError: The server cannot be reached, refuses, or gives no valid answer; its key is not
                set; or it would have to be asked, and TEXTGAMUT_OFFLINE forbids it.
        """
        words = {"messages": [{"role": "user", "content": prompt}]}
        payload: dict[str, Any] = {
            "model": self.source.model,
            **(words if self.source.endpoint == "chat" else {"prompt": prompt}),
            **settings,
        }
        place = self._kept.place(self.source.endpoint, payload, list(which))
        answer = self._kept.read(place)
        state = "asked" if answer is None else "kept"
        if answer is None:
            self._kept.refuse_offline()
            answer, body = self._asked(payload)
            with self._kept.storing():
                self._kept.write(place, body)
        reply = _read(answer)
        with self._lock:
            self._models.add(reply.model)
            self._counts[state].update(
                answers=1, prompt_tokens=reply.prompt_tokens, new_tokens=reply.new_tokens
            )
        return reply

    @property
    def facts(self) -> dict[str, Any]:
        """Return whom was asked, and what it took.

        ``asked`` is what this run asked for, ``kept`` what it found in the cache and paid for earlier: each
        with ``answers``, ``prompt_tokens``, ``new_tokens`` and, where the registry has both prices,
        ``us_dollars``.
        """
        prices = self.source.price_input, self.source.price_output
        counts: dict[str, dict[str, float]] = {}
        for state, counter in self._counts.items():
            counts[state] = {name: counter[name] for name in ("answers", "prompt_tokens", "new_tokens")}
            if prices[0] is not None and prices[1] is not None:
                tokens = counter["prompt_tokens"], counter["new_tokens"]
                counts[state]["us_dollars"] = (tokens[0] * prices[0] + tokens[1] * prices[1]) / 1e6
        return {"url": redacted(self.source.url), "models": sorted(self._models), **counts}

    def _asked(self, payload: Mapping[str, Any]) -> tuple[Any, bytes]:
        client = self._client()

        def attempt() -> tuple[Any, bytes]:
            sent = dict(payload)
            if self._renamed:
                sent["max_completion_tokens"] = sent.pop("max_tokens")
            try:
                return ask_once(client, "POST", self._address, lambda answer, _: _read(answer), json=sent)
            except (PassingError, TextgamutError) as error:
                said = str(error)
                if isinstance(error, TextgamutError) and "max_tokens" in sent and "max_completion" in said:
                    self._renamed = True
                    raise PassingError("the server wants max_completion_tokens, no max_tokens") from None
                if isinstance(error, PassingError) and "insufficient_quota" not in said:
                    raise PassingError(said, error.wait) from None
                raise SourceError(said) from None

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
                # No limit to the wait for one of the client's connections: a thread more than it has.
                self._open.timeout = httpx.Timeout(PATIENCE, connect=15.0, pool=None)
            return self._open


def key_of(source: OpenAISource) -> str | None:
    """Return the key of a server, from the environment; None where the registry names no variable.

    Raises:
        TextgamutError: The variable is not set, or holds what is no key.
    """
    if source.key_variable is None:
        return None
    key = os.environ.get(source.key_variable, "").strip()
    if not key:
        raise ConfigError(
            f"{redacted(source.url)}: the environment variable {source.key_variable} is not set: it must "
            f"hold the key for {source.model}"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the environment variable {source.key_variable} holds what no key can be")
    return key


def _read(answer: Any) -> Reply:
    """Read an answer.

    Raises:
        PassingError: It has no text, such as one that tells of a fault in spite of its status.
    """
    try:
        choice, usage = answer["choices"][0], answer.get("usage") or {}
        text = choice["message"]["content"] if "message" in choice else choice["text"]
        if isinstance(text, str | None):
            return Reply(
                # half a character, as where the tokens run out, is no text that a file can hold
                text=(text or "").encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
                finish=choice.get("finish_reason") or "not told",
                prompt_tokens=int(usage.get("prompt_tokens") or 0),
                new_tokens=int(usage.get("completion_tokens") or 0),
                model=answer.get("model") or "",
            )
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        pass
    raise PassingError(f"an answer without a text: {json.dumps(answer)[:200]}")
