"""The Makefile: `make help` describes every target."""

import re
import subprocess

from helpers import ROOT


def test_help_lists_every_target() -> None:
    phony = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    described = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(described) == phony[0].split()
