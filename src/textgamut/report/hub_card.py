"""The card of a dataset of generated texts, as Markdown with the metadata of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textgamut.report.dataset_card import escape
from textgamut.report.rendering import load_template

if TYPE_CHECKING:
    import pandas as pd


def render_export_card(
    settings: Mapping[str, Any], generated: Mapping[str, pd.DataFrame], first: Mapping[str, Any], folder: str
) -> str:
    """Render the card of exported texts.

    Args:
        settings: Settings of the texts: ``experiment``, ``textgamut`` (version), ``datasets``.
        generated: Task -> its texts: ``model``, ``decoding``, ``seed``.
        first: A model, as an example: ``model`` (slug), ``label``, ``family``, ``chat``.
        folder: Name of the folder.

    Returns:
        The text of ``README.md``. All values are escaped.
    """
    cells = [
        {
            "task": task,
            "model": model,
            "decoding": decoding,
            "seeds": ", ".join(map(str, dict.fromkeys(of_cell["seed"]))),
            "texts": len(of_cell),
        }
        for task, table in generated.items()
        for (model, decoding), of_cell in table.groupby(["model", "decoding"], sort=False)
    ]
    return load_template("export.md", escape).render(
        experiment=settings["experiment"],
        version=settings["textgamut"],
        licences={name: entry["licence"] for name, entry in settings["datasets"].items()},
        tasks=list(generated),
        texts=sum(map(len, generated.values())),
        cells=cells,
        first=first,
        folder=folder,
    )
