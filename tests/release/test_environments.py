"""The packages of each conda environment can be installed together, as far as the package index can tell.

pip resolves them from the metadata on the index and installs nothing. Channels of conda are not asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers import ROOT
from unit.test_environments import NAMES


def requirements(name: str) -> list[str]:
    """Return the packages of an environment as pip names them, without Python and pip."""
    lines = yaml.safe_load((ROOT / f"envs/{name}.yaml").read_text(encoding="utf-8"))["dependencies"]
    found = []
    for line in lines:
        if isinstance(line, dict):
            found += line["pip"]
        elif (package := line.partition(" ")[0]) not in ("python", "pip"):
            found.append(NAMES.get(package, package) + line.partition(" ")[2])
    return found


@pytest.fixture(scope="module")
def pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new pip: the one that comes with Python 3.11 downloads whole packages to read their metadata."""
    folder = tmp_path_factory.mktemp("pip")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--upgrade", "pip"]
    subprocess.run(install, check=True)
    return folder / "bin/pip"


@pytest.mark.parametrize("name", ["cpu", "vllm"])
def test_the_packages_of_an_environment_resolve_together(pip: Path, name: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = [
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--only-binary",
        ":all:",
        "--report",
        str(report),
    ]
    done = subprocess.run([pip, "install", *options, *requirements(name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {item["metadata"]["name"].lower() for item in json.loads(report.read_text())["install"]}
    assert {"torch", "transformers", "numpy", *(["vllm"] if name == "vllm" else [])} <= found


def test_the_environments_of_cpus_and_gpus_are_the_same_to_pip() -> None:
    assert requirements("cpu") == requirements("cuda")
