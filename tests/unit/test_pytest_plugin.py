"""The fixture of the pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from gate_texts import HUMAN, OLD, REFUSING, SAME

pytest_plugins = ["pytester"]
LOOSE = "dict.fromkeys(['precision', 'recall', 'mauve', 'f_8', 'f_1_8', 'vendi_ratio', 'self_bleu'], 2.0)"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedder, made before pytester, which forgets what is imported after it: torch loads only once."""
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


@pytest.fixture
def folder(checkpoint: Path, pytester: pytest.Pytester) -> Path:
    """A folder with files of texts, and the options to use the embedder."""
    for name, texts in {"human": HUMAN, "old": OLD, "same": SAME, "refusing": REFUSING}.items():
        lines = (json.dumps({"text": text}) for text in texts)
        (pytester.path / f"{name}.jsonl").write_text("\n".join(lines))
    pytester.makeconftest(
        f"""
        import textgamut.inference.resamples
        textgamut.inference.resamples.MOST = 1000
        OPTIONS = {{
            "embedder": {str(checkpoint)!r}, "pooling": "mean", "max_tokens": 64, "kmeans_seeds": [0],
        }}
        """
    )
    return pytester.path


def test_a_gate_passes_fails_and_skips_tests(pytester: pytest.Pytester, folder: Path) -> None:
    pytester.makepyfile(
        f"""
        from conftest import OPTIONS

        def test_equal(gamut_gate):
            margins = {LOOSE} | {{"unfinished_texts": 1, "repetition_4": 1, "distinct_texts": 1}}
            assert gamut_gate("old.jsonl", "same.jsonl", "human.jsonl", margins=margins, **OPTIONS)

        def test_refusing(gamut_gate):
            gamut_gate("old.jsonl", "refusing.jsonl", "human.jsonl", training="same.jsonl", **OPTIONS)

        def test_undecided(gamut_gate):
            gamut_gate("old.jsonl", "same.jsonl", "human.jsonl", margins={{"precision": 0.001}}, **OPTIONS)
        """
    )
    found = pytester.runpytest_subprocess("-p", "textgamut.pytest_plugin")
    found.assert_outcomes(passed=1, failed=1, skipped=1)
    found.stdout.fnmatch_lines(["*Fail: the candidate is worse.*"])
    found.stdout.fnmatch_lines(["*Refusals: texts refuse to answer*", "*Copying: texts are copied*"])


def test_the_fixture_is_listed_and_loads_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it(gamut_gate):
            assert not {"torch", "pandas", "transformers"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-p", "textgamut.pytest_plugin").assert_outcomes(passed=1)
