"""Train the essay model on the user's graded essays, and write its cross-validation scores to its card."""

import time
from pathlib import Path
from typing import Any

from textgamut.files import write_json, write_meta
from textgamut.metrics import essay
from textgamut.sources.cache import digest
from textgamut.workflow.jobs import job


def train_essay_model(settings: dict[str, Any], essays: Path, card: Path) -> None:
    started = time.monotonic()
    frame = essay.read_essays(essays)
    model = essay.train_essay_model(list(frame["essay"]), frame["score"])
    essay.save_essay_model(model, card.parent)
    write_meta(card, settings, started)
    write_json(
        card,
        {
            "essays": model.essays,
            "sha256": digest(essays),
            "words_known": len(model.tokens),
            "mean_score": model.mean,
            "quadratic_weighted_kappa": model.kappa,
            "quadratic_weighted_kappa_of_folds": list(model.fold_kappas),
        },
    )


if __name__ == "__main__":
    with job() as snakemake:
        train_essay_model(
            snakemake.params.settings,
            Path(snakemake.input.essays),
            Path(snakemake.output.card),
        )
