"""Fixtures of the tests of the command line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from huggingface_hub import constants


@pytest.fixture
def plain_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and no setting of the user's that would change what is found."""
    for name in os.environ:
        if name.lower().endswith("_proxy") or name in ("TEXTGAMUT_OFFLINE", "PIP_INDEX_URL", "HF_TOKEN"):
            monkeypatch.delenv(name)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
