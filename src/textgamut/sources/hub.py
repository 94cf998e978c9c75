"""Models of the Hugging Face hub, pinned by their commit, in the hub's own cache (``HF_HOME``)."""

from __future__ import annotations

import logging
from fnmatch import fnmatch
from pathlib import Path

from textgamut.config.entries.sources import HfSource
from textgamut.errors import SourceError, nearest

logger = logging.getLogger(__name__)


def fetch(source: HfSource, offline: bool) -> Path:
    """Return the folder of a snapshot; without any network when the hub's cache is known to hold it whole.

    The hub keeps each commit's list of files, and with it tells a whole snapshot from a partial one. A folder
    that was filled file by file has no such list. Then the hub is asked; where that is impossible, the folder
    is taken as it is, with a warning, as long as every pattern of ``files`` matches something in it.

    Raises:
        TextgamutError: The snapshot is not here, or not whole, and the hub cannot be asked or refuses.
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
            f"{name}: {missing}, and TEXTGAMUT_OFFLINE or HF_HUB_OFFLINE forbids to fetch it: unset "
            f"them, or {by_hand}"
        )
    if not offline and (folder is None or not listed()):
        logger.info("%s: asking the hub", name)
        try:
            folder = snapshot(local=False)
        except Exception as error:  # the hub's client raises a dozen unrelated kinds
            reason = " ".join(str(error).split()).rstrip(".")
            raise SourceError(
                f"{name}: {missing}, and the hub does not give it: {reason}. Connect "
                f"(for a gated repository: log in with `hf auth login`), or {by_hand}"
            ) from error
        logger.info("%s: complete", name)
    assert folder is not None
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for pattern in source.files or ["*"]:
        # as the hub itself reads patterns
        if not any(fnmatch(file, pattern + "*" if pattern.endswith("/") else pattern) for file in files):
            raise SourceError(
                f"{name}: no file matches {pattern!r} in {folder}; {nearest(pattern, files)[:300]}"
            )
    if not listed():
        logger.warning("%s: taken as it is from %s; only the hub could tell if it is whole", name, folder)
    return folder
