"""What the tests with vLLM share: a checkpoint that vLLM's attention on CPUs supports, and how to run it."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import tiny

os.environ |= {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
HEADS = {"hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests where vLLM is not installed, or fail where TEXTGAMUT_REQUIRE_VLLM wants it."""
    if importlib.util.find_spec("vllm") is None:
        reason = "vLLM is not installed: `make test-vllm` installs it into an environment of its own"
        if os.environ.get("TEXTGAMUT_REQUIRE_VLLM"):
            pytest.exit(reason, returncode=1)
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason))


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A llama with random weights and heads of 32 dimensions, the fewest that vLLM takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny.ARCHITECTURES, "llama", tiny.ARCHITECTURES["llama"] | HEADS)
        return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"))
