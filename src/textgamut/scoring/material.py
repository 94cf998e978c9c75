"""What the families of metrics read of the texts, and the differences between models."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, Family
from textgamut.metrics.rows import ALL, HUMANS, USED_REFERENCES, YARDSTICK, units_of_prompts
from textgamut.scoring.check import Texts
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.features.embed import Features
    from textgamut.inference.differences import Difference
    from textgamut.inference.set_differences import Run
    from textgamut.metrics.rows import Row, Scores
    from textgamut.metrics.statistic import Key


RESAMPLES_OF_PARTS = 200
"""Number of resamples of a part of the texts, for the deviation of a difference."""


@dataclass(frozen=True)
class Material:
    """The texts of several models with their features, as the families read them."""

    texts: Texts
    options: Options
    resolved: Resolved
    features: Mapping[str, Features]
    """Features of the references, of each model and of the held-out texts; empty if no family needs them."""
    no_yardstick: str
    """Why no human texts are held out; empty if there are."""
    recompute: Callable[[Texts, Options, Resolved], Any]
    """``scoring.compute``, which scores other texts in the same way."""
    warnings: list[str] = field(default_factory=list)
    """The warnings raised while the texts were scored; ``textgamut.score`` fills it."""

    @property
    def embedder(self) -> str | None:
        """Label of the embedder; None if no family needs one."""
        return None if self.resolved.embedder is None else self.resolved.embedder.label

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
            "language": self.texts.language,
            "refusals": self.options.refusals,
            "references": self.texts.reference,
            "reference_features": self._vectors(USED_REFERENCES),
            "reference_groups": self.texts.labels_of(USED_REFERENCES),
        }

    def _vectors(self, name: str) -> Any:
        return self.features[name].vectors if name in self.features else None

    def humans(self, family: Family) -> list[str]:
        """Return the sets of human texts that a family scores as it scores those of a model."""
        prompted = self.texts.prompts is not None and MODEL in family.reads
        held_out = bool(self.texts.held_out) and not family.of_prompts and not prompted
        return [YARDSTICK] * held_out + [USED_REFERENCES] * family.of_wording

    def own(self, family: Family, name: str) -> dict[str, Any]:
        """Return what a family reads of a model, or of human texts.

        A family that compares the completions of one prompt reads the texts with a prompt only.
        """
        generated = self.texts.of(name)
        asked = None if self.texts.prompts is None else self.texts.prompts.get(name)
        features = self._vectors(name)
        clusters = self._clusters(name)
        groups = self.texts.labels_of(name)
        if family.of_prompts and asked is not None:
            rows = [row for row, prompt in enumerate(asked) if prompt]
            generated, asked = [generated[row] for row in rows], [asked[row] for row in rows]
            features = None if features is None else features[rows]
            clusters = [clusters[row] for row in rows]
            groups = {column: [labels[row] for row in rows] for column, labels in groups.items()}
        return {
            "texts": generated,
            "continuations": generated,
            "prompts": None if asked is None else [prompt or "" for prompt in asked],
            "prompt_ids": asked,
            "units": clusters
            if self.texts.clusters
            else asked and units_of_prompts(_keys(asked), family.of_prompts),
            "features": features,
            "groups": groups,
        }

    def with_intervals(
        self, family: Family, name: str, scores: Scores, common: Mapping[str, Any]
    ) -> list[Row]:
        """Add intervals to the scores of a set of texts by a family, see ``inference.intervals``."""
        from textgamut.inference.intervals import add_intervals

        own = self.own(family, name)
        given, units = _given(family, own), own["units"]
        return add_intervals(scores, family, given, common, units, self.options.bootstrap)

    def differences(
        self, values: Mapping[str, Mapping[Key, float]], texts: Mapping[str, pd.DataFrame]
    ) -> pd.DataFrame:
        """Return the differences between sets of texts, see ``Comparison.differences``.

        Args:
            values: Name of each set, the models first -> metric, of all texts or of a group -> value.
            texts: Name of each set -> its texts with their metrics.
        """
        from textgamut.inference.differences import differences_table
        from textgamut.inference.text_differences import text_differences
        from textgamut.progress import Progress

        models = [name for name in values if name in self.texts.generated]
        tables = {name: _by_prompt(table) for name, table in texts.items()}
        human = next((name for name in HUMANS if name in values), None)
        pairs = [*itertools.combinations(models, 2), *((name, human) for name in models if human)]
        progress = Progress(len(pairs) * len(self._tested), "tests of differences", "tests")

        def differences(first: str, second: str) -> Iterator[Difference]:
            one, other = values[first], values[second]
            apart = {name: one[name] - other[name] for name in one if name in other}
            for family in self._tested:
                if self._scores(family, second):
                    yield from self.set_differences(family, first, second, apart)
                progress.advance(1)
            clusters = (self._clusters(first), self._clusters(second)) if self.texts.clusters else None
            yield from text_differences(tables[first], tables[second], clusters)

        return differences_table((*pair, differences(*pair)) for pair in pairs)

    def set_differences(
        self,
        family: Family,
        first: str,
        second: str,
        apart: Mapping[Key, float],
        level: float | None = None,
    ) -> list[Difference]:
        """Return the differences of the metrics of sets of a family between two models.

        Args:
            family: The family.
            first: Name of a model.
            second: Name of another model.
            apart: Metric, of all texts or of a group -> difference between the values of the two models.
            level: As for ``inference.resamples.resampled_tests``.
        """
        from textgamut.inference.set_differences import set_differences

        run = self._run(family, first, second)
        return set_differences(family, [run], (first, second), apart, level=level)

    def _run(self, family: Family, first: str, second: str) -> Run:
        from textgamut.inference.set_differences import Run

        read = [self.own(family, name) for name in (first, second)]
        prompts = [_keys(own["prompt_ids"] or [None] * len(own["texts"])) for own in read]
        return Run(
            (_given(family, read[0]), _given(family, read[1])),
            self.common(family),
            (prompts[0], prompts[1]),
            clusters=(read[0]["units"], read[1]["units"]) if self.texts.clusters else None,
        )

    def _clusters(self, name: str) -> Sequence[str | None]:
        """Return the cluster of each text of a set; those of human texts are not known."""
        return (self.texts.clusters or {}).get(name, [None] * len(self.texts.of(name)))

    def _scores(self, family: Family, name: str) -> bool:
        """Return whether a family scores a set of texts: those of models all, human ones in part."""
        return name in self.texts.generated or name in self.humans(family)

    def deviations(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the deviations of differences in all texts and in parts, see ``Comparison.deviations``.

        Args:
            table: The table of differences.
        """
        import pandas as pd

        from textgamut.inference.sample_sizes import COLUMNS, parts_of
        from textgamut.inference.set_differences import set_differences

        table = table[table["group"] == ALL]
        rows: list[dict[Any, Any]] = table[COLUMNS].to_dict("records")
        for _, own in table.groupby("paired", sort=False):
            pair = (str(own["model_1"].iloc[0]), str(own["model_2"].iloc[0]))
            named = {"model_1": pair[0], "model_2": pair[1]}
            for family in self._tested:
                if not self._scores(family, pair[1]):
                    continue
                run = self._run(family, *pair)
                for part in (*parts_of(run, 2), *parts_of(run, 4)):
                    with warnings.catch_warnings():  # the tests of all texts have warned
                        warnings.simplefilter("ignore")
                        found = set_differences(family, [part], pair, {}, RESAMPLES_OF_PARTS)
                    rows += [named | of._asdict() for of in found if of.group == ALL]
        return pd.DataFrame(rows, columns=COLUMNS)

    @property
    def _tested(self) -> list[Family]:
        """The families whose differences of sets are tested, in the order of the catalogue."""
        return [family for name, family in FAMILIES.items() if name in self.options.metrics and family.tested]


def _given(family: Family, own: Mapping[str, Any]) -> dict[str, Any]:
    return {name: own[name] for name in family.reads if own.get(name) is not None}


def _keys(prompts: Sequence[str | None]) -> list[str | None]:
    """Return the prompt of each text; None for an empty one."""
    return [prompt or None for prompt in prompts]


def _by_prompt(texts: pd.DataFrame) -> pd.DataFrame:
    """Index texts by prompt, if there are prompts; a text without one stands alone."""
    import pandas as pd

    if "prompt" not in texts:
        return texts
    return texts.set_index(pd.Index([prompt or object() for prompt in texts["prompt"]], dtype=object))
