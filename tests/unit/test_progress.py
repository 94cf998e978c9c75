"""What long-running work shows of its progress and of warnings."""

from __future__ import annotations

import logging
import warnings

import pytest

from textgamut.progress import Event, Progress, heard_by, recorded_warnings, report, step


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


def test_progress_says_how_many_of_how_many(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "textgamut")
    logging.getLogger("textgamut").propagate = True
    progress = Progress(10, "samples", "tokens", done=2)
    progress.advance(4, 100)
    progress.advance(1, 25)  # too soon for another line
    progress.advance(3, 75)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "6 of 10 samples", "10 of 10 samples"
    ]  # fmt: skip
    assert "tokens/s" in caplog.text
    assert "left" in caplog.records[0].getMessage()


def test_bytes_are_told_as_megabytes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "textgamut")
    logging.getLogger("textgamut").propagate = True
    progress = Progress(0, "bytes", name="model org/name")
    progress.total = 3_000_000  # known later
    progress.advance(1_500_000)
    progress.advance(1_500_000)
    first, last = caplog.messages
    assert first.startswith("model org/name: 1.5 of 3.0 MB, ")
    assert " MB/s, 0:0" in first
    assert last.startswith("model org/name: 3.0 of 3.0 MB, ")
    assert not last.endswith("left")


def test_progress_emits_events_in_place_of_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "textgamut")
    heard: list[Event] = []
    with heard_by(heard.append), step("embedding"), step("references"):
        progress = Progress(2, "texts")
        progress.advance(1)
        progress.advance(1)
    assert heard == [
        Event(("embedding",), 0, None, ""),
        Event(("embedding", "references"), 0, None, ""),
        Event(("embedding", "references"), 0, 2, "texts"),
        Event(("embedding", "references"), 1, 2, "texts"),
        Event(("embedding", "references"), 2, 2, "texts"),
        Event(("embedding", "references"), 1, 1, ""),
        Event(("embedding",), 1, 1, ""),
    ]
    assert not caplog.records
    assert not report(1, 1, "texts")  # nobody listens any more


def test_a_step_that_fails_is_not_told_as_done() -> None:
    heard: list[Event] = []
    with heard_by(heard.append):
        with pytest.raises(ValueError, match="wrong"), step("embedding"):
            raise ValueError("wrong")
        report(1, 1, "texts")
    assert heard == [Event(("embedding",), 0, None, ""), Event((), 1, 1, "texts")]
