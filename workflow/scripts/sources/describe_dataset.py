"""Write the card of a dataset."""

from pathlib import Path
from typing import Any

from textgamut.datasets.card import make_card
from textgamut.files import meta_path, read_json, read_table, write_bytes, write_json
from textgamut.report.dataset_card import render_card
from textgamut.run.script import run


def describe_dataset(settings: dict[str, Any], dataset: str, texts: Path, card: Path, page: Path) -> None:
    extraction = read_json(meta_path(texts))
    made = make_card(dataset, settings["dataset"], read_table(texts, ["text"]), extraction)
    write_bytes(page, render_card(made).encode())
    write_json(card, made)


if __name__ == "__main__":
    run(describe_dataset)
