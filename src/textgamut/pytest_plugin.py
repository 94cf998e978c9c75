"""A fixture for pytest: a test that fails if a model's texts got worse than those of a baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from textgamut.scoring.gate_results import GateResult
    from textgamut.scoring.gate_sides import Side

    Texts = str | Path | Side | Iterable[str]


@pytest.fixture
def gamut_gate() -> Callable[..., GateResult]:
    """Return a function that fails the test if a gate fails.

    It takes what :func:`textgamut.gate` takes, of which strings are paths, and returns its result.
    ``undecided`` says what a gate that cannot tell does with the test: ``skip``, ``pass`` or ``fail``.
    """
    return _gate


def _gate(
    baseline: Texts,
    candidate: Texts,
    reference: Texts | None = None,
    *,
    training: Texts | None = None,
    undecided: Literal["skip", "pass", "fail"] = "skip",
    **options: Any,
) -> GateResult:
    import textgamut

    if undecided not in ("skip", "pass", "fail"):
        raise ValueError(f"undecided = {undecided!r}: must be skip, pass or fail")
    old, new, human, learned = (
        Path(of) if isinstance(of, str) else of for of in (baseline, candidate, reference, training)
    )
    assert old is not None
    assert new is not None
    found = textgamut.gate(old, new, human, training=learned, **options)
    said = "\n".join([found.headline, *found.reasons])
    if found.outcome == "fail" or (found.outcome, undecided) == ("cannot tell", "fail"):
        pytest.fail(said, pytrace=False)
    if (found.outcome, undecided) == ("cannot tell", "skip"):
        pytest.skip(said)
    return found
