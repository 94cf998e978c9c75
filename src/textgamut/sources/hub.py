"""Download models of the Hugging Face hub, pinned by commit, to the hub's own cache (``HF_HOME``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import HfSource
from textgamut.errors import FULL, SourceError, nearest, reason
from textgamut.progress import Progress, step

logger = logging.getLogger(__name__)

WRITTEN = "Reconstructing"
"""First word of the hub's bar that counts the bytes on disk; the others are of files, and of the network."""


def fetch(source: HfSource, offline: bool) -> Path:
    """Return the folder of a snapshot, without network access if the hub's cache contains all of it.

    The cache stores the list of files of each commit, which shows whether a snapshot is complete. A folder
    that was filled file by file has no such list, so the hub is contacted. Offline, the folder is used with a
    warning if it contains a match for each pattern of ``files``.

    Raises:
        TextgamutError: If the snapshot is missing or incomplete and cannot be downloaded.
    """
    import huggingface_hub as hf  # slow to import
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import CachedRepoTreeNotFoundError, LocalEntryNotFoundError

    name = f"model {source.repo} at commit {source.revision}"
    repo_folder = Path(HF_HUB_CACHE) / f"models--{source.repo.replace('/', '--')}"
    by_hand = f"copy the folder {repo_folder} from a machine that has it"
    offline = offline or hf.is_offline_mode()

    def snapshot(local: bool) -> Path:
        return Path(
            hf.snapshot_download(
                source.repo,
                revision=source.revision,
                allow_patterns=source.files or None,
                local_files_only=local,
                tqdm_class=_told_bars(name),
            )
        )

    def listed() -> bool:
        try:
            hf.get_cached_repo_tree(source.repo, revision=source.revision)
        except CachedRepoTreeNotFoundError:
            return False
        return True

    folder, missing = None, "it is not in the hub's cache"
    try:
        folder = snapshot(local=True)
        missing = f"its copy in the hub's cache, {folder}, may be incomplete"
    except LocalEntryNotFoundError as error:
        if (cached := getattr(error, "snapshot_path", None)) is not None:
            missing = f"its copy in the hub's cache, {cached}, is incomplete"
    if folder is None and offline:
        raise SourceError(
            f"{name}: {missing}, and TEXTGAMUT_OFFLINE or HF_HUB_OFFLINE forbids downloading it: "
            f"unset them, or {by_hand}"
        )
    if not offline and (folder is None or not listed()):
        logger.info("%s: checking the hub", name)
        try:
            with step(f"fetching {name}"):
                folder = snapshot(local=False)
        except Exception as error:  # the hub's client raises a dozen unrelated types
            raise _failure(error, f"{name}: {missing}", repo_folder, by_hand) from error
        logger.info("%s: complete", name)
    assert folder is not None
    _check_files(name, folder, source.files or ["*"])
    if not listed():
        logger.warning(
            "%s: using the copy in %s; whether it is complete can only be checked with the hub", name, folder
        )
    return folder


def _check_files(name: str, folder: Path, patterns: Iterable[str]) -> None:
    """Check that a snapshot has a match for each pattern."""
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for pattern in patterns:
        # same rule as in the hub's client
        if not any(fnmatch(file, pattern + "*" if pattern.endswith("/") else pattern) for file in files):
            raise SourceError(
                f"{name}: no file matches {pattern!r} in {folder}; {nearest(pattern, files)[:300]}"
            )


def _failure(error: Exception, missing: str, folder: Path, by_hand: str) -> SourceError:
    """Return what to tell of an error of the hub's client."""
    if isinstance(error, OSError) and error.errno in FULL:
        return SourceError(f"{folder}: {reason(error)}")
    why = " ".join(str(error).split()).rstrip(".")
    return SourceError(
        f"{missing}, and it cannot be downloaded from the hub: {why}. Check the connection (for a gated "
        f"repository, log in with `hf auth login`), or {by_hand}"
    )


def _told_bars(name: str) -> type:
    """Return the class of the hub's bars: it draws nothing, and tells the bytes as a ``Progress``."""
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    class Told(tqdm):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options | {"disable": True})
            written = str(options.get("desc", "")).startswith(WRITTEN)
            self.told = Progress(0, "bytes", name=name) if written else None

        def update(self, n: float | None = 1) -> None:
            if self.told:
                self.told.total = int(self.total or 0)  # grows with each file that begins
                self.told.advance(int(n or 0))

    return Told
