"""A release: its version and date are the same wherever they are written."""

from __future__ import annotations

import re
import tomllib
from datetime import date

import yaml
from helpers import ROOT

from textgamut import __version__

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
HEADINGS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_newest_release_in_the_changelog_is_this_one() -> None:
    unreleased, newest, *_ = HEADINGS
    version, day = newest.split(" - ")
    assert unreleased == "Unreleased"
    assert version == __version__
    assert date.fromisoformat(day) == CITATION["date-released"]


def test_releases_are_in_order() -> None:
    releases = [heading.split(" - ") for heading in HEADINGS[1:]]
    keys = [(day, tuple(map(int, version.split(".")))) for version, day in releases]
    assert keys == sorted(keys, reverse=True)


def test_the_citation_is_that_of_this_release() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert str(CITATION["version"]) == __version__
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["license"] == about["license"]
    assert CITATION["title"] == about["name"]
    assert CITATION["authors"] == about["authors"]
    assert len(CITATION["references"]) == 3
