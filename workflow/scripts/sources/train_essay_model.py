"""Train the essay model on the user's graded essays, and write its cross-validation scores to its card."""

from pathlib import Path

from textgamut.files import digest, write_json
from textgamut.models import essay_model as essay
from textgamut.run.script import run


def train_essay_model(essays: Path, card: Path) -> None:
    frame = essay.read_essays(essays)
    model = essay.train_essay_model(list(frame["essay"]), frame["score"])
    essay.save_essay_model(model, card.parent)
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
    run(train_essay_model)
