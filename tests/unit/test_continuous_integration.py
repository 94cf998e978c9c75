"""CI that others can see: what it runs, and that the classifiers claim no more than is tested."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml
from helpers import ROOT
from packaging.specifiers import SpecifierSet

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
FAST = WORKFLOWS["tests"]["jobs"]["fast"]["strategy"]["matrix"]


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_fast_tests_run_on_linux_and_macos_for_all_pythons() -> None:
    assert FAST["os"] == ["ubuntu-latest", "macos-latest"]
    assert FAST["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert all(version in SpecifierSet(PROJECT["requires-python"]) for version in FAST["python"])
    commands = [step["run"] for step in steps(WORKFLOWS["tests"]) if "run" in step]
    assert "make lint" in commands
    assert any('pytest -m "not slow"' in command for command in commands)


def test_classifiers_claim_what_is_tested() -> None:
    claimed = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert "3.11" in claimed
    assert {*claimed} <= {*FAST["python"]}
    systems = [name for name in PROJECT["classifiers"] if name.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]


def test_a_release_is_published_without_a_key() -> None:
    release = WORKFLOWS["release"]
    assert release[True]["push"]["tags"] == ["v*"]  # YAML reads `on` as true
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]["name"] == "pypi"
    assert publish["needs"] == "build"
    assert not re.search(r"secrets\.|password", (ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    assert {"make release-check"} <= {step.get("run") for step in release["jobs"]["build"]["steps"]}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_commit_and_may_do_little(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    for step in steps(WORKFLOWS[name]):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
