"""What the families of metrics read of the texts, and the differences between models."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import Family
from textgamut.scoring.check import Texts
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.inference.differences import Difference


@dataclass(frozen=True)
class Material:
    """The texts of several models with their features, as the families read them."""

    texts: Texts
    options: Options
    resolved: Resolved
    features: Sequence[Any]
    """Features of the references and of each model; empty if no family needs them."""

    def common(self, family: Family) -> dict[str, Any]:
        """Return the settings of a family, and the references."""
        defaults = {
            name: field.get_default()
            for name, field in family.settings.model_fields.items()
            if not field.is_required()
        }
        return defaults | {
            "k": self.options.k,
            "bootstrap": self.options.bootstrap,
            "seeds": self.options.kmeans_seeds,
            "tokenizer": self.resolved.tokenizer,
            "references": self.texts.reference,
            "reference_features": self.features[0] if self.features else None,
        }

    def own(self, family: Family, name: str) -> dict[str, Any]:
        """Return what a family reads of a model.

        A family that compares the completions of one prompt reads the texts with a prompt only.
        """
        generated = self.texts.generated[name]
        asked = None if self.texts.prompts is None else self.texts.prompts[name]
        place = 1 + list(self.texts.generated).index(name)
        features = self.features[place] if self.features else None
        if family.of_prompts and asked is not None:
            rows = [row for row, prompt in enumerate(asked) if prompt]
            generated, asked = [generated[row] for row in rows], [asked[row] for row in rows]
            features = None if features is None else features[rows]
        return {
            "texts": generated,
            "continuations": generated,
            "prompts": None if asked is None else [prompt or "" for prompt in asked],
            "prompt_ids": asked,
            "features": features,
        }

    def groups(self, name: str) -> dict[str, tuple[Any, Any]]:
        """Return the label of each reference, and of each text of a model, in each group column."""
        return {column: (side, of[name]) for column, (side, of) in self.texts.labels.items()}

    def differences(
        self, values: Mapping[str, Mapping[str, float]], texts: Mapping[str, pd.DataFrame]
    ) -> pd.DataFrame:
        """Return the differences between each two models, see ``Comparison.differences``.

        Args:
            values: Model -> metric -> value.
            texts: Model -> its texts with their metrics.
        """
        from textgamut.inference.differences import differences_table, text_differences
        from textgamut.progress import Progress

        tables = _by_prompt(texts)
        tested = [
            FAMILIES[name] for name in FAMILIES if name in self.options.metrics and FAMILIES[name].tested
        ]
        pairs = list(itertools.combinations(values, 2))
        progress = Progress(len(pairs) * len(tested), "tests of differences", "tests")

        def differences(first: str, second: str) -> Iterator[Difference]:
            one, other = values[first], values[second]
            apart = {name: one[name] - other[name] for name in one if name in other}
            for family in tested:
                yield from self._set_differences(family, first, second, apart)
                progress.advance(1)
            yield from text_differences(tables[first], tables[second])

        return differences_table((*pair, differences(*pair)) for pair in pairs)

    def _set_differences(
        self, family: Family, first: str, second: str, apart: Mapping[str, float]
    ) -> list[Difference]:
        from textgamut.inference.differences import Run, set_differences

        read = [self.own(family, name) for name in (first, second)]
        prompts = [own["prompt_ids"] for own in read]
        run = Run(
            (_given(family, read[0]), _given(family, read[1])),
            self.common(family),
            None if None in prompts else (_keys(prompts[0]), _keys(prompts[1])),
        )
        return set_differences(family, [run], (first, second), apart)


def _given(family: Family, own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in family.reads if own.get(name) is not None}


def _keys(prompts: Sequence[str | None]) -> list[str | None]:
    """Return the prompt of each text; None for an empty one."""
    return [prompt or None for prompt in prompts]


def _by_prompt(texts: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """Index the texts of each model by prompt if all models have common prompts, else by row."""
    if not all("prompt" in table for table in texts.values()):
        return texts
    by_prompt = {name: table[table["prompt"] != ""].set_index("prompt") for name, table in texts.items()}
    common = set.intersection(*(set(table.index) for table in by_prompt.values()))
    return by_prompt if common else texts
