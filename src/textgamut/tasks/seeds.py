"""The prompts of a generation seed, and of a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textgamut.draws import draw_prompt_ids

if TYPE_CHECKING:
    import pandas as pd


def of_seed(prompts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return the rows of a task's table of prompts that belong to a generation seed.

    Args:
        prompts: The table; it has a column ``seed`` if each seed has its own prompts (see ``tasks.drawing``).
        seed: The generation seed.
    """
    return prompts[prompts["seed"] == seed] if "seed" in prompts else prompts


def of_cell(prompts: pd.DataFrame, seed: int, task: str, n: int | None) -> pd.DataFrame:
    """Return the rows of a task's table of prompts that belong to a cell, in their order.

    Args:
        prompts: The table.
        seed: The generation seed.
        task: Slug of the task, for which the prompts are drawn.
        n: Number of prompts; None for all.

    Raises:
        TextgamutError: If there are fewer.
    """
    own = of_seed(prompts, seed)
    return own[own["id"].isin(draw_prompt_ids(own["id"], task, n))]
