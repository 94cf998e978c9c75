"""Download one split of a dataset of the Hugging Face hub, pinned by commit, to a parquet file.

No code of a repository is run: since version 4 ``datasets`` has neither loading scripts nor
``trust_remote_code``, and only data formats without pickle are accepted.

The split is streamed and written once, compressed. Without streaming, ``datasets`` would store all splits
twice, as downloaded and as Arrow files: 300 MB of text took 477 MB instead of 116. If the hub cannot be
reached, ``datasets`` falls back to the newest copy in its cache, even of another commit
(huggingface/datasets issue 7928), so each call uses an empty cache.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.config.entries.sources import HfDatasetSource
from textgamut.errors import SourceError, nearest
from textgamut.sources.http import redacted

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

FORMATS = ("arrow", "csv", "json", "parquet", "text")
"""Accepted data formats of ``datasets``."""

BATCH_ROWS = 1000
REPORT_SECONDS = 5.0


def download(source: HfDatasetSource, folder: Path, by_hand: str) -> Path:
    """Download the rows of a split, in their order, to a parquet file.

    A few batches of rows are in memory at a time. An interrupted download starts over.

    Args:
        source: The split.
        folder: Folder for the file and for temporary files; emptied first.
        by_hand: How to provide the file without a download, for the error message.

    Returns:
        The file.

    Raises:
        SourceError: If the repository, commit, configuration or split does not exist, has no rows or another
            format, or cannot be downloaded. The message lists the existing configurations or splits.
        OSError: If the file cannot be written.
    """
    import pyarrow.parquet as pq

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path, name = folder / "rows.parquet", describe(source)
    try:
        tables = _stream(source, folder / "datasets", by_hand)
        first = next(tables, None)
        if first is None:
            raise SourceError(f"{name}: the split has no rows")
        rows, start = 0, time.monotonic()
        reported = start
        with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
            for table in chain([first], tables):
                writer.write_table(table)
                rows += len(table)
                if (now := time.monotonic()) - reported >= REPORT_SECONDS:
                    reported = now
                    logger.info("%s: %s rows, %s rows/s", name, f"{rows:,}", f"{rows / (now - start):,.0f}")
    except BaseException:  # a partial file cannot be resumed and may fill the disk
        shutil.rmtree(folder, ignore_errors=True)
        raise
    logger.info("%s: %s rows, complete after %.0f s", name, f"{rows:,}", time.monotonic() - start)
    return path


def describe(source: HfDatasetSource) -> str:
    """Return the name of a split, for messages."""
    config = f", config {source.config}" if source.config else ""
    return f"dataset {source.repo} at commit {source.revision}{config}, split {source.split}"


def _stream(source: HfDatasetSource, cache: Path, by_hand: str) -> Iterator[pa.Table]:
    """Yield the rows of a split, batch by batch; ``cache`` is an empty folder."""
    import datasets  # slow to import

    name = describe(source)
    try:
        # The two steps of load_dataset(..., streaming=True), but the format is checked before files are read.
        # Without "hf://", a folder of that name in the working directory would be used.
        builder = datasets.load_dataset_builder(
            f"hf://datasets/{source.repo}", source.config, revision=source.revision, cache_dir=str(cache)
        )
        if builder.info.builder_name not in FORMATS:
            raise SourceError(
                f"{name}: its format {builder.info.builder_name!r} is not one of {', '.join(FORMATS)}"
            )
        splits = builder.as_streaming_dataset()
        if source.split not in splits:
            raise SourceError(f"{name}: no such split; {nearest(source.split, splits)}")
        yield from splits[source.split].with_format("arrow").iter(BATCH_ROWS)
    except SourceError:
        raise
    except Exception as error:  # the library raises a dozen unrelated types
        reason = " ".join(str(error).partition("Example of usage:")[0].split()).rstrip(".")
        reason = re.sub(r"https?://\S+", lambda url: redacted(url[0]), reason)
        raise SourceError(
            f"{name}: {reason}. Correct the entry, check the connection (for a gated repository, log in with "
            f"`hf auth login`), or {by_hand}"
        ) from None  # a URL in the library's own message may be signed
