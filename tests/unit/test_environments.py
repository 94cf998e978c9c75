"""The environments of conda have the ranges of pyproject.toml, as conda reads them."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from helpers import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

NAMES = {"pytorch-cpu": "torch", "pytorch-gpu": "torch", "matplotlib-base": "matplotlib"}
"""Packages with another name on conda-forge."""

NOT_FOR_JOBS = {"cyclopts", "pygments", "snakemake", "snakemake-logger-plugin-rich"}
"""What only commands and the main process of a run need."""

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def requirements(*extras: str) -> dict[str, SpecifierSet]:
    """Return what the package and some of its extras need: name -> ranges, the narrowest ones."""
    found: dict[str, SpecifierSet] = {}
    for line in (
        *PROJECT["dependencies"],
        *(line for e in extras for line in PROJECT["optional-dependencies"][e]),
    ):
        need = Requirement(line)
        if need.name == PROJECT["name"]:
            continue
        name = canonicalize_name(need.name)
        found[name] = narrowest(found.get(name, SpecifierSet()) & need.specifier)
    return found


def narrowest(ranges: SpecifierSet) -> SpecifierSet:
    """Drop lower bounds below the highest one."""
    bounds = [part for part in ranges if part.operator == ">="]
    highest = max(bounds, key=lambda part: Version(part.version), default=None)
    return SpecifierSet(",".join(str(part) for part in ranges if part.operator != ">=" or part == highest))


def of_environment(name: str) -> tuple[dict[str, SpecifierSet], dict[str, SpecifierSet]]:
    """Return the packages of conda and those of pip in an environment: name on the index -> ranges."""
    by_conda: dict[str, SpecifierSet] = {}
    by_pip: dict[str, SpecifierSet] = {}
    for line in yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text(encoding="utf-8"))["dependencies"]:
        if isinstance(line, dict):
            by_pip |= {canonicalize_name(need.name): need.specifier for need in map(Requirement, line["pip"])}
            continue
        package, _, ranges = line.partition(" ")
        by_conda[canonicalize_name(NAMES.get(package, package))] = SpecifierSet(ranges)
    return by_conda, by_pip


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_the_environments_of_jobs_have_what_the_package_requires(name: str) -> None:
    by_conda, by_pip = of_environment(name)
    wanted = requirements("demo", "readability")
    assert by_conda.pop("python") == SpecifierSet(PROJECT["requires-python"])
    assert by_conda.pop("pip") == SpecifierSet()
    assert by_conda | by_pip == {package: wanted[package] for package in wanted.keys() - NOT_FOR_JOBS}
    assert by_pip.keys() == {"icu4py", "py3langid"}


def test_the_environment_of_vllm_has_the_ranges_of_the_package() -> None:
    by_conda, by_pip = of_environment("vllm")
    wanted = requirements("vllm")
    assert by_conda.keys() == {"python", "pip"}
    assert set(SpecifierSet(PROJECT["requires-python"])) <= set(by_conda["python"])
    assert by_pip == {package: wanted[package] for package in by_pip}
    assert {"torch", "transformers", "vllm"} <= by_pip.keys()


@pytest.mark.parametrize("path", sorted((ROOT / "envs").glob("*.yaml")), ids=lambda path: path.stem)
def test_conda_can_read_each_package(path) -> None:
    rattler = pytest.importorskip("rattler")
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert content["channels"] == ["conda-forge", "nodefaults"]
    for line in content["dependencies"]:
        if isinstance(line, dict):
            continue
        found = rattler.MatchSpec(line, strict=True)
        package, _, ranges = line.partition(" ")
        assert found.name.normalized == package
        assert str(found.version or "") == ranges
