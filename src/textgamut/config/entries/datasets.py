"""Datasets: an entry of ``datasets.yaml``, a class for each format."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textgamut.config.entries.base import Moment, Strict
from textgamut.config.entries.sources import FilesSource, HfDatasetSource, MediaWikiSource, WikidataSource

Files = Annotated[FilesSource, Field(discriminator="kind")]
"""Source of a format that is a file or a folder."""

Rows = Annotated[FilesSource | HfDatasetSource, Field(discriminator="kind")]
"""Source of a format that is a table."""


class DatasetBase(Strict):
    """What all datasets share."""

    licence: str = "not stated"
    """Terms under which the texts may be used: for the card, the extraction does not depend on it."""
    texts: Annotated[int, Field(ge=1)] | None = None
    """How many texts it has, for ``textgamut plan`` before it is extracted."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend."""
        return self.model_dump(mode="json", exclude={"licence", "texts"})


class NewsArticlesDataset(DatasetBase):
    """Web news of 2016 and 2017 with title, date and URL; the URL's section gives the topic."""

    format: Literal["news-articles"]
    source: Files


class TableDataset(DatasetBase):
    """Texts in a file, by suffix: JSONL, CSV or parquet with one text a row, or .txt with one a line.

    Or the rows of a dataset of the Hugging Face hub.
    """

    format: Literal["table"]
    source: Rows
    text: str = "text"
    """Column of the text."""
    id: str | None = None
    """Column of a unique id; none given: the row number."""
    groups: list[str] = []
    """Group columns to keep (topic, gender, ...)."""

    @model_validator(mode="after")
    def _own_columns(self) -> TableDataset:
        if reserved := {"id", "text"} & set(self.groups):
            raise ValueError(f"groups: {', '.join(sorted(reserved))} is textgamut's own column: rename yours")
        return self


class WebTextDataset(DatasetBase):
    """A draw from a large table, which is read as a stream: gpt-2-output-dataset (PR appendix B.4).

    JSONL, parquet or a dataset of the Hugging Face hub, with a column ``text``.
    """

    format: Literal["webtext"]
    source: Rows
    id: str | None = "id"
    """Column of a unique id; null: the row number."""
    n: Annotated[int, Field(ge=1)] | None = 15_000
    """Texts to draw; null: all."""
    seed: Annotated[int, Field(ge=0)] = 0
    min_words: Annotated[int, Field(ge=1)] = 11


class AgNewsDataset(DatasetBase):
    """AG news: title and description of an item, with its topic (PR section 5.2).

    The original CSV (class, title, description), or the Hugging Face hub's rows (text, label).
    """

    format: Literal["ag-news"]
    source: Rows


class ContinuationsDataset(DatasetBase):
    """Prompts with their human continuations: the decoding benchmark's JSON (MC section 3).

    A list of objects with ``prefix_text`` and ``reference_text``, as .json or .json.gz.
    """

    format: Literal["continuations"]
    source: Files


class CreativeDataset(DatasetBase):
    """The 50 creative prompts of PR Listing 1; they have no references."""

    format: Literal["creative"]
    source: None = None


class NewWikiDataset(DatasetBase):
    """Wikipedia articles by their date of creation (NW section 3): prompt, and the rest as reference."""

    format: Literal["new-wiki"]
    source: Annotated[FilesSource | MediaWikiSource, Field(discriminator="kind")]
    """A wiki, or a dump, ``pages-articles.xml.bz2``, for older articles."""
    created_from: Moment | None
    """First moment of creation; null: older articles, drawn by page id (NW section 5, "old"). Articles that
    began as drafts or elsewhere than among the articles are not in the window's set."""
    created_before: Moment
    """First moment after the window."""
    n: Annotated[int, Field(ge=1)] | None = 3000
    """Articles to draw; null: all of the window."""
    seed: Annotated[int, Field(ge=0)] = 0
    min_revisions: Annotated[int, Field(ge=1)] = 11
    """NW section 3: more than 10."""
    min_words: Annotated[int, Field(ge=1)] = 501
    """Words of prose (NW section 3: more than 500; old ones more than 400)."""

    @model_validator(mode="after")
    def _a_window(self) -> NewWikiDataset:
        if self.created_from and self.created_from >= self.created_before:
            raise ValueError("created_from is not before created_before")
        if self.created_from is None and self.n is None:
            raise ValueError("n: older articles are drawn: say how many")
        if not isinstance(self.source, MediaWikiSource) and (self.created_from or self.min_revisions > 1):
            raise ValueError(
                "a dump knows neither creation nor history: created_from: null, min_revisions: 1"
            )
        return self


Badge = Literal["good", "featured"]


class BiographiesDataset(DatasetBase):
    """Leads of Wikipedia biographies that have a badge (PR appendix B.5).

    Source ``wikidata``: badges, gender, birth date and occupations by SPARQL. ``mediawiki``: badges by
    category or template, persons by their categories. A file: a dump, ``pages-articles.xml.bz2``.
    """

    format: Literal["biographies"]
    source: Annotated[FilesSource | MediaWikiSource | WikidataSource, Field(discriminator="kind")]
    badges: list[Badge] = ["good", "featured"]
    """Badges of which one is needed; empty: with or without (of a dump only)."""
    badge_pages: dict[Badge, str] = {
        "good": "Category:Good articles",
        "featured": "Category:Featured articles",
    }
    """For ``mediawiki``: the category, or the template, that marks a badge."""
    min_words: Annotated[int, Field(ge=1)] = 80
    max_words: Annotated[int, Field(ge=1)] = 350
    """Longer leads are left out."""
    required: list[Literal["gender", "birth_date", "occupations"]] = ["gender", "birth_date"]
    """Persons of whom one of these is not known are left out."""

    @model_validator(mode="after")
    def _badges_of_a_wiki(self) -> BiographiesDataset:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words ({self.min_words}) exceeds max_words ({self.max_words})")
        if isinstance(self.source, MediaWikiSource | WikidataSource) and not self.badges:
            raise ValueError("badges: a wiki is asked for its badges: name one")
        if isinstance(self.source, MediaWikiSource) and (without := set(self.badges) - set(self.badge_pages)):
            raise ValueError(f"badge_pages: no page for the badge {', '.join(sorted(without))}")
        return self


Dataset = Annotated[
    NewsArticlesDataset
    | TableDataset
    | WebTextDataset
    | AgNewsDataset
    | ContinuationsDataset
    | CreativeDataset
    | NewWikiDataset
    | BiographiesDataset,
    Field(discriminator="format"),
]
