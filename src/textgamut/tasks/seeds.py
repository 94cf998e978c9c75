"""The prompts of a generation seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def of_seed(prompts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows of a task's table of prompts that belong to a generation seed.

    Args:
        prompts: The table; it has a column ``seed`` if each seed has its own prompts (see ``tasks.draws``).
        seed: The generation seed.
    """
    return prompts[prompts["seed"] == seed] if "seed" in prompts else prompts
