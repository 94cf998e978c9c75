"""The requests of a cell as an OpenAI batch, to be answered by any provider or by ``vllm run-batch``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from textgamut.config.cells import Cell
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Model
from textgamut.generation.engines.openai import sample_settings, server_settings, system_message
from textgamut.generation.given.openai_batch import custom_id
from textgamut.generation.requests import Request
from textgamut.sources.chat_server import request_body
from textgamut.tasks.chat_formats import render_for_server
from textgamut.tasks.templates import Prompt


def batch_requests(
    cell: Cell, model: Model, name: str, decoding: Decoding, prompts: Mapping[str, Prompt], completions: int
) -> Iterator[dict[str, Any]]:
    """Yield the requests of a cell, as a server would get them from the engine ``openai``.

    Args:
        cell: The cell.
        model: The model's registry entry. With ``chat: template``, the server applies its chat template.
        name: Name of the model on the server.
        decoding: The decoding setting.
        prompts: Id -> prompt.
        completions: Number of samples per prompt.

    Yields:
        One object per sample: ``custom_id``, ``method``, ``url``, ``body``.

    Raises:
        TextgamutError: If OpenAI's protocol does not support the decoding setting.
    """
    chat = model.chat_settings
    settings = server_settings(decoding, chat, model.reasoning)
    for id_, prompt in prompts.items():
        text, templated = render_for_server(prompt, chat)
        for completion in range(completions):
            request = Request(id_, completion, text, templated)
            yield {
                "custom_id": custom_id(cell.task, cell.decoding, cell.seed, id_, completion),
                "method": "POST",
                "url": f"/v1/{'chat/' * templated}completions",
                "body": request_body(
                    name,
                    "chat" if templated else "completions",
                    text,
                    settings | sample_settings(request, decoding, cell.seed),
                    system_message(chat),
                ),
            }
