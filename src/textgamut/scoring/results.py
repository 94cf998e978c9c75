"""Scores of generated texts against reference texts, as tables and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut import validation
from textgamut.catalogue import METRICS
from textgamut.catalogue.family import DIVERSITY, FIDELITY
from textgamut.errors import ConfigError, nearest
from textgamut.language import ENGLISH, described
from textgamut.metrics.rows import YARDSTICK
from textgamut.progress import step

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.inference.verdicts import Verdict
    from textgamut.metrics.missed import EmbeddedTexts, MissedText
    from textgamut.metrics.regions import Region
    from textgamut.metrics.rows import Row
    from textgamut.metrics.statistic import Key
    from textgamut.metrics.support import Interval
    from textgamut.metrics.support_scores import SupportScores
    from textgamut.report.experiment_page import Page, Table
    from textgamut.report.explorer_chunks import GeneratedSet, TextSet
    from textgamut.scoring.material import Material

EXPLORED = "texts"
"""Name of the task in the explorer of a page."""
MISSED = ["side", "id", "text", "distance", "neighbour_id", "neighbour_text"]
COLUMNS = ["group", "metric", "value", "low", "high", "deviation", "n", "k"]


class MissedTexts(NamedTuple):
    """Texts outside the other side's support, in descending order of their distance from the other side."""

    generated: list[MissedText]
    """Generated texts outside the references' support, which lower precision."""
    reference: list[MissedText]
    """References outside the generated texts' support, which lower recall."""

    def to_frame(self) -> pd.DataFrame:
        """Return the texts as a table.

        Returns:
            One row per text, with the columns ``side`` ("generated" or "reference"), ``id``, ``text``,
            ``distance``, ``neighbour_id`` and ``neighbour_text``.
        """
        import pandas as pd

        rows = [{"side": side, **vars(text)} for side, texts in self._asdict().items() for text in texts]
        return pd.DataFrame(rows, columns=MISSED)

    def _repr_html_(self) -> str:
        from textgamut.report.notebook import texts_html

        return texts_html(self.to_frame())


class MissedRegions(NamedTuple):
    """Regions of the texts outside the other side's support, the largest first."""

    generated: list[Region]
    """Regions of generated texts, which lower precision."""
    reference: list[Region]
    """Regions of references, which lower recall."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult:
    """The scores of generated texts against reference texts.

    Each computed metric is an attribute: ``result.precision``, ``result.mauve``, ``result.self_bleu``, ...
    Any other name raises an ``AttributeError`` that lists the computed ones.
    """

    name: str
    """Name of the model."""
    rows: tuple[Row, ...]
    """One dictionary per metric and group: the rows of ``to_frame``."""
    generated_texts: tuple[str, ...]
    """The generated texts that were scored, in the given order."""
    support: SupportScores | None
    """Reduced features and memberships of the first N texts of each side; None if ``"support"`` was not
    computed."""
    human: TextSet
    """The references that are compared with their places on the map, as the page shows them."""
    generated: GeneratedSet
    """The generated texts, likewise, with their per-text metrics."""
    humans: dict[str, ScoreResult]
    """The scores of human texts: of held-out ones and, of metrics of wording, of the references."""
    material: Material
    """What the scores were computed from."""

    @property
    def k(self) -> int:
        """Number of nearest neighbours that define the radius of a ball."""
        return self.material.options.k

    @property
    def embedder(self) -> str | None:
        """Label of the embedder; None if no metric needed one."""
        return self.material.embedder

    @property
    def computed_with(self) -> str | None:
        """Label of the embedder and, unless it is English, the language; None for neither."""
        language = "" if self.language == ENGLISH else described(self.language)
        return ", ".join(filter(None, (self.embedder, language))) or None

    @property
    def language(self) -> str:
        """Code of the language of the texts, which decides where words end."""
        return self.material.texts.language

    @property
    def reference_texts(self) -> list[str]:
        """The references, in the given order. The first N are compared with the generated texts."""
        return self.material.texts.reference

    @property
    def warnings(self) -> list[str]:
        """The warnings raised while the texts were scored, each once."""
        return self.material.warnings

    @property
    def yardstick(self) -> ScoreResult | None:
        """The scores of as many held-out human texts; None if there are none, see ``no_yardstick``."""
        return self.humans.get(YARDSTICK)

    @property
    def no_yardstick(self) -> str:
        """Why there is no yardstick; empty if there is."""
        return self.material.no_yardstick

    def __getattr__(self, name: str) -> float:
        values = {} if name.startswith("_") else self.values
        if name in values:
            return values[name]
        known = f"computed: {', '.join(values)}" if name in METRICS else nearest(name, values)
        raise AttributeError(f"{name!r} was not computed; {known}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.values]

    def _repr_html_(self) -> str:
        return self._alone._repr_html_()

    def __repr__(self) -> str:
        return f"ScoreResult({', '.join(f'{name}={value:.4f}' for name, value in self.values.items())})"

    @property
    def values(self) -> dict[str, float]:
        """Metric -> its value for all texts."""
        from textgamut.metrics.rows import ALL

        return {row["metric"]: row["value"] for row in self.rows if row["group"] == ALL}

    @property
    def _by_key(self) -> dict[Key, float]:
        from textgamut.metrics.rows import ALL
        from textgamut.metrics.statistic import InGroup

        return {
            row["metric"] if row["group"] == ALL else InGroup(row["group"], row["metric"]): row["value"]
            for row in self.rows
        }

    @property
    def intervals(self) -> dict[str, Interval]:
        """95 % intervals of the metrics that have one: metric -> (low, high, deviation)."""
        from textgamut.metrics.rows import ALL
        from textgamut.metrics.support import Interval

        return {
            row["metric"]: Interval(row["low"], row["high"], row["deviation"])
            for row in self.rows
            if "low" in row and row["group"] == ALL
        }

    @cached_property
    def regions(self) -> MissedRegions:
        """Regions of the texts outside the other side's support, with their key phrases.

        Raises:
            ConfigError: If ``"support"`` was not computed.
        """
        from textgamut.metrics.regions import missed_regions

        support, (human, written) = self._sides()
        return MissedRegions(
            missed_regions(written, support.in_reference, self.language),
            missed_regions(human, support.in_generated, self.language),
        )

    @cached_property
    def missed(self) -> MissedTexts:
        """Texts outside the other side's support, each with its nearest neighbour on the other side.

        Raises:
            ConfigError: If ``"support"`` was not computed.
        """
        from textgamut.metrics.missed import missed_texts

        support, (human, written) = self._sides()
        return MissedTexts(
            missed_texts(written, human, support.in_reference),
            missed_texts(human, written, support.in_generated),
        )

    def _sides(self) -> tuple[SupportScores, tuple[EmbeddedTexts, EmbeddedTexts]]:
        """Return the support scores, and the references and generated texts that were compared."""
        from textgamut.metrics.missed import EmbeddedTexts

        if self.support is None:
            raise ConfigError(
                "the texts missed by precision and recall are unknown: add 'support' to metrics"
            )
        support, (references, generated) = self.support, self._ids()
        n = len(references)
        human = EmbeddedTexts(support.reference, references, self.reference_texts[:n])
        return support, (human, EmbeddedTexts(support.generated, generated, self.generated_texts[:n]))

    @cached_property
    def verdict(self) -> Verdict:
        """What the tests against human texts say of the model in words, see ``Comparison.verdicts``."""
        return self._alone.verdicts[self.name]

    def methods(self, bibtex: bool = False) -> str:
        """Return a paragraph on how the texts were compared, for a paper.

        Args:
            bibtex: Whether the entries of BibTeX that it cites follow it.
        """
        return self._alone.methods(bibtex)

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a table.

        Returns:
            One row per metric and group, with the columns ``group`` ("all", or "column=label"), ``metric``,
            ``value``, ``low`` and ``high`` (95 % interval), ``deviation`` (standard deviation: over
            parts of the texts or, without these, of divergence metrics over k-means seeds; of means over
            texts the standard error), ``n`` (texts per side) and ``k``; NaN where a column does not apply.
        """
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=COLUMNS)

    def plot(self) -> Any:
        """Plot precision and recall, see ``Comparison.plot``."""
        return self._alone.plot()

    def to_html(self, path: str | Path, title: str = "Generated against reference texts") -> None:
        """Write a page with the scores, and all texts with their neighbours.

        Args:
            path: Path of the file, which is replaced if it exists. The page is self-contained up to 25 MB of
                texts; beyond, a folder ``{name}.texts`` is written beside it.
            title: Title of the page.
        """
        self._alone.to_html(path, title)

    @cached_property
    def _alone(self) -> Comparison:
        return Comparison({self.name: self}, self.material)

    def explored(self) -> GeneratedSet:
        """Return the generated texts as the page shows them, under the name of their model."""
        found = replace(self.generated, method=self.name, model=self.name)
        if self.support is None:
            return found
        from textgamut.metrics.neighbours import neighbour_table

        return replace(found, neighbours=neighbour_table(self.support, self.k, *self._ids()))

    def _ids(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the ids of the texts whose features were compared."""
        assert self.support is not None
        n = len(self.support.in_reference)
        return list(self.human.texts["id"].head(n)), list(self.generated.texts["id"].head(n))


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The scores of the texts of several models against the same references."""

    results: dict[str, ScoreResult]
    """The scores of each model, in the order in which the models were given."""
    material: Material
    """The texts and features that the differences are computed from."""

    def _repr_html_(self) -> str:
        from textgamut.report.notebook import result_html

        said = {name: verdict.sentences for name, verdict in self.verdicts.items()}
        return result_html(said, self.pair_verdicts, self.to_frame())

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self.results))})"

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Differences between each two models, and between each model and human texts, with p-values.

        Human texts are the held-out ones; without them, the references, of metrics of wording.

        One row per pair, group and metric, with the columns ``group`` (``all``, or ``column=label``),
        ``metric``, ``model_1``, ``model_2``, ``difference`` (of the values, the first minus the second),
        ``tested`` (the difference that is tested), ``low`` and ``high`` (its interval), ``deviation`` (its
        standard deviation if the two do not differ), ``p``, ``p_holm`` (corrected for all rows of ``all``, or
        for all of groups, Holm 1979), ``verdict`` on the first model (better, worse, higher, lower, or cannot
        tell, where ``p_holm`` is 0.05 or more), ``n`` (texts of each model), ``resamples`` (0 for
        tests by t), ``fitted`` (whether p is from a fitted tail) and ``paired`` (whether texts of the same
        prompts are compared).

        Metrics of sets are tested by resamples. If the models have prompts in common, the texts of a prompt
        are swapped at random; else all texts are divided at random. Both models then share one PCA, one
        clustering and one length, so that ``tested`` may differ a little from ``difference``; where the signs
        differ, one cannot tell. Metrics of single texts: Student's t for the means of the prompts or, if the
        models have no prompts in common, Welch's t. Each interval is that of a single pair: of many pairs,
        some intervals exclude 0 by chance. The resamples are computed when the differences are first asked
        for.
        """
        with step("testing differences"):
            return self.material.differences(
                {name: result._by_key for name, result in self._sets.items()},
                {name: result.generated.texts for name, result in self._sets.items()},
            )

    @cached_property
    def deviations(self) -> pd.DataFrame:
        """Deviations of the differences, from which ``textgamut plan --from`` plans other studies.

        Columns ``metric``, ``model_1``, ``model_2``, ``paired``, ``n`` and ``deviation``: those of
        ``differences`` and, of the metrics of sets of the first pair with common prompts, and of the first
        pair without, those of both halves and of the four quarters of the texts.
        """
        table = self.differences
        with step("deviations of smaller samples"):
            return self.material.deviations(table)

    @property
    def humans(self) -> dict[str, ScoreResult]:
        """The scores of human texts, which stand beside those of the models."""
        return next(iter(self.results.values())).humans

    @property
    def _sets(self) -> dict[str, ScoreResult]:
        return self.results | self.humans

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Name of each set of texts, the models first -> metric -> value for all texts."""
        return {name: result.values for name, result in self._sets.items()}

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """What the tests say of each model against human texts, in words.

        If lengths differ, the tests are repeated on texts cut to one length.
        """
        from textgamut.scoring.verdicts import verdicts

        return verdicts(self.material, self.values, self.differences)

    @cached_property
    def lost(self) -> dict[str, MissedRegions]:
        """Where a model's verdict says that precision or recall is lost: its regions of missed texts.

        The side that has lost nothing is empty; a model that has lost nothing, or has no support metrics, is
        left out.
        """
        from textgamut.inference.verdicts import lost_roles

        found = {}
        for name, verdict in self.verdicts.items():
            roles, result = lost_roles(verdict), self.results[name]
            if roles and result.support is not None:
                generated, reference = result.regions
                found[name] = MissedRegions(
                    generated if FIDELITY in roles else [], reference if DIVERSITY in roles else []
                )
        return found

    @cached_property
    def pair_verdicts(self) -> list[str]:
        """What the tests say of each two models, in words."""
        from textgamut.inference.verdicts import pair_verdicts

        return pair_verdicts(self.differences, self.results)

    def methods(self, bibtex: bool = False) -> str:
        """Return a paragraph on how the models were compared, for a paper: numbers, settings and versions.

        Args:
            bibtex: Whether the entries of BibTeX that it cites follow it.
        """
        from textgamut.report.methods import bibliography
        from textgamut.scoring.methods import methods

        computed = {name for of in self.values.values() for name in of}
        said = methods(self.material, computed, self.differences)
        return (
            f"{said}\n\n{bibliography(self.material.options.metrics)}"
            if validation.flag("bibtex", bibtex)
            else said
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a table: that of ``ScoreResult.to_frame``, after a first column ``model``.

        The rows of human texts follow those of the models.
        """
        import pandas as pd

        rows = [{"model": name} | row for name, result in self._sets.items() for row in result.rows]
        return pd.DataFrame(rows, columns=["model", *COLUMNS])

    @property
    def warnings(self) -> list[str]:
        """The warnings raised while the texts were scored, each once."""
        return self.material.warnings

    def plot(self) -> Any:
        """Plot precision and recall of all models and of human texts.

        Returns:
            A figure of matplotlib: ``savefig`` writes it, and a notebook shows it.

        Raises:
            ConfigError: If ``"support"`` was not computed.
        """
        from textgamut.report.comparison import facts_of, models_table
        from textgamut.report.score_page import scores_figure

        first, scores = next(iter(self.results.values())), self.to_frame()
        if first.support is None:
            raise ConfigError("precision and recall are unknown: add 'support' to metrics")
        facts = facts_of(scores, len(first.reference_texts), first.computed_with)
        return scores_figure(models_table(scores), facts)

    def to_html(self, path: str | Path, title: str = "Generated against reference texts") -> None:
        """Write a page with the scores, the differences, and all texts with their neighbours.

        Args:
            path: Path of the file, which is replaced if it exists; ``~`` is expanded. The page is
                self-contained up to 25 MB of texts; beyond, a folder ``{name}.texts`` is written beside it.
            title: Title of the page.

        Raises:
            DataError: If the path is a folder, a device, a FIFO or a socket.
            OSError: If the file cannot be written.
        """
        from textgamut.fields import expanded
        from textgamut.files import check_writable
        from textgamut.report.experiment_page import write_page

        file, (title,) = expanded(str(validation.path("path", path))), validation.texts("title", [title])
        check_writable(file)  # before the page is made, which may take a while
        write_page(file, self.page(title))

    def page(self, title: str, notes: Sequence[str] = ()) -> Page:
        """Return what ``to_html`` writes, with notes before the verdicts."""
        from textgamut.features.projection import PROJECTIONS
        from textgamut.report.experiment_page import Page
        from textgamut.report.explorer_chunks import ExplorerTask, explorer_data
        from textgamut.report.score_page import comparison_section, verdicts_section

        first = next(iter(self.results.values()))
        said = {name: verdict.sentences for name, verdict in self.verdicts.items()}
        section = comparison_section(
            self.to_frame(), self.differences, len(first.reference_texts), first.computed_with
        )
        mapped = first.human.positions is not None
        task = ExplorerTask(
            name=EXPLORED,
            title=title,
            human=first.human,
            cells=[
                result.explored()
                for name, result in self._sets.items()
                if name in self.results or name == YARDSTICK
            ],
            k=first.k,
            embedder=first.embedder,
            projection=PROJECTIONS["pca"] if mapped else None,
        )
        metrics = dict.fromkeys(row["metric"] for row in first.rows)
        lost = list(self._lost_tables())
        return Page(
            title,
            [verdicts_section(said, self.pair_verdicts, lost, notes), section],
            methods=self.methods(bibtex=True),
            explorer=explorer_data([task]),
            metrics=list(metrics),
        )

    def _lost_tables(self) -> Iterator[Table]:
        """Yield tables of what is missed, for the page."""
        from textgamut.report.missed import missed_tables

        for cell, name in enumerate(self.results):
            if name in self.lost:
                yield from missed_tables(EXPLORED, cell, name, *self.lost[name])
