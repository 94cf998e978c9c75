"""Read MediaWiki XML dumps (such as ``pages-articles.xml.bz2``) as a stream, in constant memory.

bz2 takes about nine tenths of the time, so a second thread for the XML would save little.

Own code instead of mwxml or gensim: on 122 MB of XML, mwxml takes 1.27 times and gensim 1.23 times as long
for the same texts (python benchmarks/dump.py), and the limits below bound the memory used for a hostile file.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from textgamut.archives import check_growth
from textgamut.errors import DataError, TextgamutError
from textgamut.language import ENGLISH
from textgamut.sources.mediawiki import Siteinfo
from textgamut.user_files import guarded

LONGEST_TEXT = 2**25
"""Maximum number of characters of a page's text. The default limit of MediaWiki is 2 MiB."""

# Far beyond any real dump; without these limits a hostile file could fill the memory.
_LONGEST_FIELD = 4096  # characters of a title, an id, a timestamp, the name of a namespace
_LONGEST_TAG = 2**16  # bytes of one tag, comment or the like, which expat buffers
_LONGEST_NAMES = 2**16  # characters of all distinct names of elements and attributes, which expat keeps
_MOST_NAMESPACES = 1000
_DEEPEST = 8  # nested elements

_CHUNK = 2**17  # bytes that are read, decompressed and parsed at once

# Path -> its relevant children, by name. Fields, which contain characters, have no children.
_LAYOUT = {
    "": {},  # irrelevant elements
    "mediawiki": {"siteinfo": "siteinfo", "page": "page"},
    "siteinfo": {"namespaces": "namespaces"},
    "namespaces": {"namespace": "namespace"},
    "page": {"title": "title", "ns": "ns", "id": "id", "redirect": "redirect", "revision": "revision"},
    # The text of the main slot. Since export-0.11, other slots are in <content>.
    "revision": {"id": "revision/id", "timestamp": "revision/timestamp", "text": "revision/text"},
}
_FIELDS = frozenset(child for children in _LAYOUT.values() for child in children.values()) - set(_LAYOUT)

# export-0.3 has no <redirect>. Every wiki accepts the English word besides the one in its own language, which
# an old dump does not name: any word before a link is taken for it.
_REDIRECT_WORD = re.compile(r"\s*#REDIRECT\b", re.IGNORECASE)
_ANY_REDIRECT_WORD = re.compile(r"\s*#[^\W\d_]+\s*:?\s*\[\[")
_NO_SITEINFO = Siteinfo(ENGLISH, {})


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a wiki in a dump."""

    id: int
    title: str
    """The full title, with the name of the namespace: ``Talk:Ayn Rand``."""
    namespace: int
    """0 for articles. Derived from the title and the dump's list of namespaces before export-0.6."""
    redirect: bool
    """In export-0.3, whether the text begins with ``#REDIRECT`` or its translation."""
    revision: int
    """Id of the last revision of the page in the dump, to which ``timestamp`` and ``text`` belong."""
    timestamp: str
    """ISO 8601, as in the dump: ``2016-05-14T07:40:37Z``."""
    text: str
    """The wikitext of the main slot; empty if it is deleted or the dump contains no texts."""
    siteinfo: Siteinfo = field(default=_NO_SITEINFO, compare=False, repr=False)
    """What the dump says about its wiki."""


def pages(path: Path, advance: Callable[[int], object] | None = None) -> Iterator[Page]:
    """Read the pages of a dump.

    Supported are the schemas from export-0.3 to 0.11; one revision per page or the whole history, of which
    the last revision in the file is used; bz2 and gzip with one or several streams; and concatenated dumps.

    Args:
        path: File with the suffix ``.xml``, ``.bz2`` or ``.gz``.
        advance: Called from time to time with the number of bytes of the file read since the last call, such
            as ``Progress(path.stat().st_size, "bytes").advance``.

    Yields:
        The pages in the order of the dump.

    Raises:
        TextgamutError: If the file cannot be read, is not a dump, is damaged or truncated, or has a text
            longer than ``LONGEST_TEXT``. It is raised after the pages before the error were yielded. The
            message names the file, the error, the number of bytes read and the last page before the error.
            Some damage is only found by the checksum that follows the data, so the last pages before an error
            can be wrong.
    """
    unpack = {".xml": _read_plain, ".bz2": _unpack_bz2, ".gz": _unpack_gzip}.get(path.suffix)
    if unpack is None:
        raise DataError(f"{path}: not the name of a dump: dumps end in .xml, .xml.bz2 or .xml.gz")
    with guarded(path), path.open("rb") as stream:
        last = "at its beginning"
        try:
            last = f"which begins with {stream.peek()[:32]!r}"
            done, document, unpacked = 0, None, 0
            for chunk in chain(unpack(stream), [b""]):
                unpacked += len(chunk)
                check_growth(path, unpacked)
                while chunk:
                    if document is None or document.complete:
                        chunk = chunk.lstrip()  # XML allows no white space before its first character
                        if not chunk:
                            break
                        document = _Document()
                    try:
                        chunk = document.parse(chunk)
                    finally:  # yield the pages before an error too
                        for page in document.pages:
                            yield page
                            last = f"after the page {page.title!r}"
                        document.pages.clear()
                if advance is not None and stream.tell() > done:
                    advance(stream.tell() - done)
                    done = stream.tell()
            if document is None or not document.complete:
                raise DataError("the file ends before </mediawiki>")
        except (OSError, EOFError, zlib.error, TextgamutError) as error:
            if isinstance(error, OSError) and error.errno:  # of the disk; bz2 raises it for damage
                raise
            own = isinstance(error, TextgamutError)
            fault = (
                str(error).removeprefix(f"{path}: ") if own else f"the file cannot be decompressed: {error}"
            )
            raise DataError(
                f"{path}: {fault} (after reading {stream.tell()} bytes of the file, {last})"
            ) from error


def siteinfo(path: Path) -> Siteinfo:
    """Return the language and the namespaces of the wiki of a dump, which are at its beginning.

    Returns:
        English without namespaces if the dump has no pages.

    Raises:
        TextgamutError: See :func:`pages`.
    """
    first = next(pages(path), None)
    return first.siteinfo if first else _NO_SITEINFO


class _Document:
    """Incremental parser of one XML document."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        """Pages that are complete; the caller removes them."""
        self.complete = False

        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.buffer_size = _CHUNK
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start_root
        self._parser.EndElementHandler = self._end
        self._characters: list[str] = []
        """Text since the last start tag."""
        self._parser.CharacterDataHandler = self._characters.append

        self._parsed = 0  # bytes
        self._end_tag = 0
        self._open: list[str] = []
        """Paths of the open elements, as in ``_LAYOUT``."""
        self._attributes: dict[str, str] = {}
        self._has_redirect = True
        self._siteinfo = _NO_SITEINFO
        self._namespaces: dict[str, int] = {}
        self._values: dict[str, str] = {}
        """Fields of the current page."""

    def parse(self, chunk: bytes) -> bytes:
        """Parse the next bytes; return those that follow the end of the document."""
        try:
            self._parser.Parse(chunk, False)
        except expat.ExpatError as error:
            if not self.complete:
                raise DataError(f"not valid XML: {error}") from error
        if self.complete:
            return chunk[chunk.index(b">", max(self._end_tag - self._parsed, 0)) + 1 :]
        self._parsed += len(chunk)
        if self._parsed - self._parser.CurrentByteIndex > _LONGEST_TAG:
            raise DataError(f"a tag or a comment is longer than {_LONGEST_TAG} bytes")
        if sum(map(len, self._parser.intern)) > _LONGEST_NAMES:
            raise DataError("there are too many different names of elements or attributes")
        if len(self._open) > _DEEPEST:
            raise DataError(f"elements are nested more than {_DEEPEST} deep")
        self._limit(sum(map(len, self._characters)), LONGEST_TEXT)
        return b""

    def _doctype(self, *_: object) -> None:
        # Without a DOCTYPE, a file cannot define entities that expand or read other files.
        raise DataError("the file has a <!DOCTYPE>, which MediaWiki dumps do not have")

    def _start_root(self, name: str, attributes: dict[str, str]) -> None:
        if name != "mediawiki":
            raise DataError(f"not a MediaWiki dump: the root element is <{name}>, not <mediawiki>")
        self._has_redirect = attributes.get("version") not in ("0.1", "0.2", "0.3")
        self._siteinfo = Siteinfo(attributes.get("xml:lang", ENGLISH)[:_LONGEST_FIELD], self._namespaces)
        self._open.append(name)
        self._parser.StartElementHandler = self._start

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        children = _LAYOUT.get(self._open[-1])
        if children is None:
            raise DataError(f"element <{name}> inside the field {self._open[-1]}")
        path = children.get(name, "")
        self._open.append(path)
        self._attributes = attributes
        self._characters.clear()
        if path == "revision":
            for field in _LAYOUT["revision"].values():
                self._values.pop(field, None)

    def _end(self, name: str) -> None:
        path = self._open.pop()
        if path == "":
            return
        if path in _FIELDS:
            value = "".join(self._characters)
            self._limit(len(value), LONGEST_TEXT if path == "revision/text" else _LONGEST_FIELD)
            if path != "namespace":
                self._values[path] = value
                return
            self._namespaces[value] = _number(self._attributes.get("key", ""), "the key of a namespace")
            if len(self._namespaces) > _MOST_NAMESPACES:
                raise DataError(f"there are more than {_MOST_NAMESPACES} namespaces")
        elif path == "page":
            self.pages.append(self._page())
            self._values.clear()
        elif path == "mediawiki":
            self.complete = True
            self._end_tag = self._parser.CurrentByteIndex

    def _page(self) -> Page:
        values = self._values
        for path in ("title", "id", "revision/id", "revision/timestamp"):
            if path not in values:
                raise DataError(f"a page has no {path}: {values.get('title', '')!r}")
        title, text = values["title"], values.get("revision/text", "")
        if "ns" in values:
            namespace = _number(values["ns"], "the namespace of a page")
        else:
            prefix, colon, _ = title.partition(":")
            namespace = self._namespaces.get(prefix, 0) if colon else 0
        return Page(
            id=_number(values["id"], "the id of a page"),
            title=title,
            namespace=namespace,
            redirect="redirect" in values if self._has_redirect else self._redirects(text),
            revision=_number(values["revision/id"], "the id of a revision"),
            timestamp=values["revision/timestamp"],
            text=text,
            siteinfo=self._siteinfo,
        )

    def _redirects(self, text: str) -> bool:
        localized = self._siteinfo.language != ENGLISH and _ANY_REDIRECT_WORD.match(text)
        return bool(localized or _REDIRECT_WORD.match(text))

    def _limit(self, characters: int, most: int) -> None:
        if characters > most:
            page = self._values.get("title", "")[:256]
            raise DataError(f"an element has more than {most} characters, in the page {page!r}")


def _number(value: str, what: str) -> int:
    if not re.fullmatch(r"\s*-?\d{1,18}\s*", value, re.ASCII):
        raise DataError(f"{what} is not a number of at most 18 digits: {value[:40]!r}")
    return int(value)


def _read_plain(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


def _unpack_gzip(stream: BinaryIO) -> Iterator[bytes]:
    with gzip.open(stream) as unpacked:
        # on an error, read() would discard the data before it
        while chunk := unpacked.read1(_CHUNK):
            yield chunk


def _unpack_bz2(stream: BinaryIO) -> Iterator[bytes]:
    # bz2.open() treats damage at the start of a later stream as the end of the file.
    unpacker = bz2.BZ2Decompressor()
    while packed := stream.read(_CHUNK):
        while packed or not (unpacker.needs_input or unpacker.eof):
            if unpacker.eof:
                unpacker = bz2.BZ2Decompressor()
            yield unpacker.decompress(packed, _CHUNK)
            packed = unpacker.unused_data
    if not unpacker.eof:
        raise EOFError("the bz2 stream is truncated")
