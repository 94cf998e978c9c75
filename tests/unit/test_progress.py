"""What long-running work shows of warnings."""

from __future__ import annotations

import logging
import warnings

import pytest

from textgamut.progress import recorded_warnings


def test_warnings_for_users_are_shown_once_and_those_for_developers_never(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING), recorded_warnings(SyntaxWarning) as messages:
        for _ in range(2):
            warnings.warn("for users", stacklevel=1)
            warnings.warn("soon different", FutureWarning, stacklevel=1)
        warnings.warn("left open", ResourceWarning, stacklevel=1)
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        warnings.warn("reported elsewhere", SyntaxWarning, stacklevel=1)
    assert messages == caplog.messages == ["for users", "soon different"]
