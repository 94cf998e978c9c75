"""Find a prompt at the beginning of a text that repeats it, as tokenizers and templates change it."""

from __future__ import annotations

import html
import re
import unicodedata

SHORTEST = 8
"""Letters of the shortest prompt that is also found if it was changed inside; others match by chance."""
LONG = 24
"""Letters of a part of a prompt that is found by itself."""
NEAR = 400
"""Characters before a prompt that is near the beginning of a text, such as a system prompt."""

_ROLE = "(?:system|user|assistant|model)"
_BAR = r"[|\uff5c]"
_SPECIAL = re.compile(
    rf"<{_BAR}(?:im_start|start_header_id){_BAR}>{_ROLE}?|<start_of_turn>{_ROLE}?"  # with the role after it
    rf"|<{_BAR}[^<>|\uff5c\s]{{1,40}}{_BAR}>|</?s>"
    r"|<(?:bos|eos|pad|unk|mask|cls|sep|start_of_turn|end_of_turn)>"
    r"|\[/?(?:INST|CLS|SEP|PAD|BOS|EOS|MASK|UNK|SYSTEM_PROMPT)\]|<</?SYS>>",
    re.IGNORECASE,
)
"""Special tokens of common tokenizers and chat templates."""
_BEFORE = rf"(?:[\s\u2581\ufeff]|{_SPECIAL.pattern})*"
"""What may precede a prompt that is too short to be found if it was changed."""


def echo_length(prompt: str, text: str) -> int:
    """Return the length of the beginning of a text that repeats a prompt; 0 if it does not.

    White space, special tokens, case and the form of Unicode do not count, since tokenizers change them:
    ``<s> King, Gertrude`` repeats ``King , Gertrude``. Special tokens that follow the prompt, such as those
    of a chat template before the answer, belong to the repetition.
    """
    if prompt and text.startswith(prompt):
        return len(prompt)
    wanted, _ = _compared(prompt)
    if len(wanted) < SHORTEST:
        short = re.compile(rf"{_BEFORE}{re.escape(prompt.strip())}(?!\w)", re.IGNORECASE).match(text)
        return short.end() if short and prompt.strip() else 0
    found, ends = _compared(text, len(wanted) + 1)
    if found[: len(wanted)] != wanted:
        return 0
    end = ends[len(wanted) - 1]
    following = found[len(wanted) :]
    if following and (ends[len(wanted)] == end or unicodedata.combining(following[0])):  # inside a letter
        return 0
    if after := re.compile(rf"(?:\s*(?:{_SPECIAL.pattern}))+\n*", re.IGNORECASE).match(text, end):
        return after.end()
    blanks = len(prompt) - len(prompt.rstrip())
    while blanks and _is_blank(text[end : end + 1]):
        end, blanks = end + 1, blanks - 1
    return end


def echoes_later(prompt: str, text: str) -> bool:
    """Return whether a text repeats a prompt near its beginning, after something else or changed.

    Only letters and digits count: quotes, dashes and accents are changed by tokenizers and programs. Of a
    longer prompt a half is enough, since programs cut prompts that are too long.
    """
    wanted = _letters(prompt)
    if len(wanted) < SHORTEST:
        return False
    found = _letters(text[: 4 * (len(prompt) + NEAR)])[: len(wanted) + NEAR]
    half = len(wanted) // 2
    return wanted in found or (half >= LONG and (wanted[:half] in found or wanted[-half:] in found))


def _letters(text: str) -> str:
    plain = html.unescape(text).translate({ord(mark): " " for mark in "ĠĊ"})  # blanks in GPT-2's vocabulary
    return "".join(filter(str.isalnum, _compared(plain)[0]))


def _is_blank(letter: str) -> bool:
    return letter.isspace() or letter == "▁"  # SentencePiece's


def _compared(text: str, most: int | None = None) -> tuple[str, list[int]]:
    """Return the characters of a text that are compared, and the end of each one's original in the text.

    Args:
        text: The text.
        most: Number of characters after which to stop.
    """
    characters: list[str] = []
    ends: list[int] = []
    special = {match.start(): match.end() for match in _SPECIAL.finditer(text)}
    place = 0
    while place < len(text) and (most is None or len(characters) < most):
        if place in special:
            place = special[place]
            continue
        letter = text[place]
        place += 1
        if _is_blank(letter) or unicodedata.category(letter) in ("Cc", "Cf"):
            continue
        for part in unicodedata.normalize("NFKD", letter).casefold():
            if not part.isspace():
                characters.append(part)
                ends.append(place)
    return "".join(characters), ends
