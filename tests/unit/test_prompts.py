"""Prompts: the formats of PR Table B.3."""

import pytest

from textgamut.errors import TextgamutError
from textgamut.prompts import continuation_prompt, dress

TEXT = "one two  three\nfour five six seven eight nine ten eleven twelve"
PROMPT = continuation_prompt(TEXT, 10)


class Tokenizer:
    """Stands in where only the presence of a template matters."""

    chat_template = None


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        ("none", "one two three four five six seven eight nine ten"),
        (
            "llama-2",
            "[INST] Continue the following text: one two three four five six seven eight nine [/INST] ten",
        ),
        (
            "vicuna",
            "USER: Continue the following text: one two three four five six seven eight nine ASSISTANT: ten",
        ),
    ],
)
def test_table_b3(chat: str, expected: str) -> None:
    assert dress(PROMPT, chat, Tokenizer()) == (expected, True)


def test_text_is_data_not_a_template() -> None:
    prompt = continuation_prompt("{user} {0} %s {{x}} five", 4)
    assert prompt.user == "Continue the following text: {user} {0} %s"
    assert dress(prompt, "llama-2", Tokenizer())[0].startswith(
        "[INST] Continue the following text: {user} {0} %s"
    )


def test_too_short_a_text() -> None:
    with pytest.raises(TextgamutError, match="a prompt of 10 words cannot be made"):
        continuation_prompt("only three words", 10)


def test_template_without_a_template() -> None:
    with pytest.raises(TextgamutError, match=r"no chat template.*chat: none"):
        dress(PROMPT, "template", Tokenizer())


@pytest.mark.slow
def test_smollm2_template(smollm2) -> None:
    """The answer begins with the tenth word, and the begin token stands once per message."""
    from textgamut.generation.checkpoints import load_tokenizer

    tokenizer = load_tokenizer(smollm2)
    text, add_special_tokens = dress(PROMPT, "template", tokenizer)
    assert text.endswith("eight nine<|im_end|>\n<|im_start|>assistant\nten")
    ids = tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"]
    assert ids.count(tokenizer.bos_token_id) == 3  # system, user, assistant
    assert tokenizer.decode(ids) == text
