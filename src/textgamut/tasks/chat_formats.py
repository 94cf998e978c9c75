"""Render prompts in the chat format of a model."""

from __future__ import annotations

import json
import multiprocessing
import re
import resource
from collections.abc import Callable, Sequence
from typing import Any

from textgamut.config.entries.models import Chat
from textgamut.errors import ConfigError, DataError, ModelError, TextgamutError
from textgamut.tasks.templates import Prompt

CHAT_FORMATS = {"llama-2": ("[INST] ", " [/INST]"), "vicuna": ("USER: ", " \n\nASSISTANT:")}
"""Format -> texts before and after the instruction (PR Tables B.3, B.6, with the line breaks of the authors'
code). Mistral Instruct uses Llama-2's."""

LLAMA_2_SYSTEM = "<<SYS>>\n{system}\n<</SYS>>\n\n"
"""The system prompt, before the instruction (Touvron et al. 2023)."""


SECONDS, BYTES = 20.0, 2**30
"""Limits of a chat template for a short message."""

MESSAGE = "First <line> & 'more' of \"it\": 100 % {Ünïcöde}\n" + "\nAnother line, which is longer." * 40
"""A message that shows whether a template cuts or changes what it is given."""


def render_prompt(prompt: Prompt, chat: Chat, tokenizer: Any) -> tuple[str, bool]:
    """Render a prompt for a model.

    If the tokenizer's own template is used, special tokens that are spelled out in the prompt get a space
    after their first character, so that no text of a dataset can begin or end a turn.

    Args:
        prompt: The prompt in its variants.
        chat: Chat settings of the model.
        tokenizer: Tokenizer of the model; its template is used if the format is ``template``.

    Returns:
        The text, and whether it already contains the special tokens of a chat template, including BOS, so
        that they must not be added again.

    Raises:
        TextgamutError: If the format is ``template`` and the tokenizer has no template, or the template
            refuses the conversation.
    """
    if chat.format == "none":
        return prompt.base, False
    if chat.format == "template":
        require_chat_template(tokenizer)
        special = special_strings(tokenizer)
        if not chat.prefill:
            return _templated(neutralised(prompt.user + prompt.start, special), chat, tokenizer), True
        text = _templated(neutralised(prompt.user, special), chat, tokenizer)
        start = prompt.start.lstrip() if text[-1:].isspace() else prompt.start
        return text + neutralised(start, special), True
    before, after = CHAT_FORMATS[chat.format]
    if chat.system:
        before += LLAMA_2_SYSTEM.format(system=chat.system)
    return before + prompt.user + after + prompt.start, False


def _templated(user: str, chat: Chat, tokenizer: Any) -> str:
    """Apply the tokenizer's chat template to a message of the user, after the system prompt, if any.

    Raises:
        ConfigError: If the template refuses the conversation.
        ModelError: If the message is not in the result as it is, apart from white space around it.
    """
    for form in (str, _in_parts):  # templates of models that also read images may only know parts
        system = [{"role": "system", "content": form(chat.system)}] if chat.system else []
        try:
            text: str = tokenizer.apply_chat_template(
                [*system, {"role": "user", "content": form(user)}],
                tokenize=False,
                add_generation_prompt=True,
                **chat.arguments,
            )
        except MemoryError:
            raise
        except Exception as error:  # a template is code of its checkpoint
            if form is _in_parts:  # which it does not know, either
                break
            raise ConfigError(f"the chat template cannot be applied: {error}") from error
        if user.strip() in text:
            return text
    raise ModelError(
        f"the chat template leaves out the message of the user, or changes it: {user.strip()[:60]!r}"
    )


def _in_parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def render_for_server(prompt: Prompt, chat: Chat) -> tuple[str, bool]:
    """Render a prompt for a served model; see ``render_prompt``.

    Servers apply the model's chat template to the messages, and most do not support a given beginning of the
    answer. The prompt's ``start`` is therefore appended to the message. The system prompt and the template's
    arguments are sent apart from it.
    """
    if chat.format != "template":
        return render_prompt(prompt, chat, None)
    return prompt.user + prompt.start, True


def encode_prompt(prompt_id: str, text: str, templated: bool, tokenizer: Any) -> list[int]:
    """Tokenize a rendered prompt, with exactly one BOS token for models that have one.

    Special tokens that are spelled out in the text of a dataset, such as ``<|endoftext|>``, are tokenized as
    plain text. Only the tokens of a chat template are special.

    Args:
        prompt_id: Id of the prompt, for the error message.
        text: Text returned by ``render_prompt``.
        templated: Flag returned by ``render_prompt``.
        tokenizer: Tokenizer of the model.

    Raises:
        TextgamutError: If there are no tokens.
    """
    options = {"add_special_tokens": not templated, "split_special_tokens": not templated}
    ids: list[int] = tokenizer(text, **options)["input_ids"]
    if not ids:
        raise DataError(f"prompt {prompt_id!r} is empty, and the model has no BOS token")
    return ids


def special_strings(tokenizer: Any) -> list[str]:
    """List the special tokens of a tokenizer and the added tokens in its chat template, longest first."""
    added = {token.content: token.special for token in tokenizer.added_tokens_decoder.values()}
    template = tokenizer.chat_template if isinstance(tokenizer.chat_template, str) else ""
    marks = {text for text, special in added.items() if special or text in template}
    marks |= set(tokenizer.all_special_tokens)
    return sorted((text for text in marks if len(text) > 1 and text.strip()), key=lambda t: (-len(t), t))


def neutralised(text: str, special: Sequence[str]) -> str:
    """Insert a space after the first character of all special strings, so that they become plain text."""
    if not special:
        return text
    pattern = "|".join(map(re.escape, special))
    return re.sub(pattern, lambda found: f"{found[0][0]} {found[0][1:]}", text)


def check_chat(chat: Chat, tokenizer: Any) -> None:
    """Check that a tokenizer has all that the chat settings of its model use.

    Raises:
        TextgamutError: If the format is ``template``, and the tokenizer has no chat template, or the template
            does not mention one of the arguments, has no place for the system prompt, leaves out or changes
            messages, or takes more than ``SECONDS`` or ``BYTES`` for a short one.
    """
    if chat.format != "template":
        return
    require_chat_template(tokenizer)
    template = str(tokenizer.chat_template)
    for name in chat.arguments:
        if name not in template:
            raise ConfigError(f"chat_arguments: the chat template has no argument {name!r}")
    _bounded(lambda: _check_template(chat, tokenizer))


def _check_template(chat: Chat, tokenizer: Any) -> None:
    _templated(MESSAGE, chat._replace(system=None), tokenizer)
    if chat.system:
        try:
            shown = chat.system.strip() in _templated(MESSAGE, chat, tokenizer)
        except ConfigError as error:
            raise ConfigError(f"system: {error}") from error
        if not shown:
            raise ConfigError("system: the chat template has no place for a system prompt")


def _bounded(check: Callable[[], None]) -> None:
    """Run a check of a template in a child process with limits of time and memory.

    Raises:
        TextgamutError: As the check, or if a limit is exceeded.
    """
    processes = multiprocessing.get_context("fork")  # the tokenizer is there, and nothing is imported again
    receiver, sender = processes.Pipe(duplex=False)
    child = processes.Process(target=_report, args=(check, sender))
    child.start()
    sender.close()
    try:
        kind, message = json.loads(receiver.recv_bytes()) if receiver.poll(SECONDS) else ("time", "")
    except EOFError:
        kind, message = "memory", ""
    finally:
        child.kill()
        child.join()
    if kind == "time":
        raise ModelError(f"the chat template does not end within {SECONDS:g} s for a short message")
    if kind == "memory":
        raise ModelError(f"the chat template needs more than {BYTES >> 20} MiB for a short message")
    if message:
        raise (ModelError if kind == "ModelError" else ConfigError)(message)


def _report(check: Callable[[], None], sender: Any) -> None:
    """Run a check, and send the type and the message of its error; empty ones if there is none."""
    import psutil

    kind = message = ""
    most = psutil.Process().memory_info().vms + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        check()
    except TextgamutError as error:
        kind, message = type(error).__name__, str(error)
    except MemoryError:
        kind = "memory"
    sender.send_bytes(json.dumps([kind, message]).encode())


def require_chat_template(tokenizer: Any) -> None:
    """Check that a tokenizer has a chat template.

    Raises:
        TextgamutError: If it has none.
    """
    if not tokenizer.chat_template:
        formats = ", ".join(["none", *CHAT_FORMATS])
        raise ConfigError(
            "chat: 'template' is requested, but the tokenizer of this checkpoint has no chat template; "
            f"use chat: none for a pre-trained model (all choices: template, {formats})"
        )
