"""Escape untrusted texts for HTML, and allow the inline styles and scripts of a page."""

from __future__ import annotations

import base64
import hashlib
import html
import re

# Forbidden in HTML, or invisible: C0 except tab and line feed, DEL, C1, surrogates, noncharacters.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def escape(text: str) -> str:
    """Escape a text for HTML; control characters and lone surrogates become visible characters.

    Bidirectional controls are kept: the elements with untrusted texts must isolate them.
    """
    text = re.sub("\r\n?", "\n", text)
    return html.escape(_UNSHOWABLE.sub(lambda found: _replacement(ord(found[0])), text))


def _replacement(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)  # control pictures
    return "\u2421" if code == 0x7F else "\ufffd"


def csp_hash(inline: str) -> str:
    """Return the hash of an inline style or script that allows it in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"
