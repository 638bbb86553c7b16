"""The distribution holds all packages, the configuration groups, and nothing else that matters is missing."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import damas_env

ROOT = Path(__file__).parents[1]
FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "README.pt-BR.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())


def on_disk(folder, name):
    """Packages under ``folder`` with Python files in them."""
    found = {path.parent for path in (folder / name).rglob("*.py")}
    return {".".join(path.relative_to(folder).parts) for path in found}


def test_every_package_is_listed():
    listed = set(SETTINGS["tool"]["setuptools"]["packages"])
    assert listed == on_disk(ROOT / "env", "damas_env") | on_disk(ROOT, "damas_rl") | {"damas_rl.configs"}


def test_pinned_versions_cover_what_is_required():
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    extras = SETTINGS["project"]["optional-dependencies"]
    required = [*SETTINGS["project"]["dependencies"], *(name for names in extras.values() for name in names)]
    names = {name.split(">")[0].split("[")[0].lower() for name in required} - {"damas-rl"}
    assert names <= pinned


def test_the_game_does_without_torch():
    code = "import sys, damas_env, damas_env.envs, damas_env.game; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


@pytest.fixture
def copy(tmp_path):
    """What distributions are made of, in a folder of its own, since building leaves folders behind."""
    for name in FILES:
        shutil.copy(ROOT / name, tmp_path)
    for name in ("env", "damas_rl", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return tmp_path


def build(copy, kind):
    code = f"from setuptools.build_meta import build_{kind}; print(build_{kind}('.'))"
    built = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return copy / built.stdout.split()[-1]


def test_the_wheel_of_the_source_distribution_holds_packages_and_configs(copy, tmp_path_factory):
    with tarfile.open(build(copy, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        archive.extractall(unpacked := tmp_path_factory.mktemp("unpacked"), filter="data")
    assert {*FILES, "damas_rl/players/specs.py"} <= names
    with zipfile.ZipFile(build(next(unpacked.iterdir()), "wheel")) as wheel:
        names = set(wheel.namelist())
    for folder in ("env", "."):
        for path in (ROOT / folder).glob("damas_*/**/*"):
            # Installing leaves a folder behind that is no package.
            if path.relative_to(ROOT / folder).parts[0].endswith(".egg-info"):
                continue
            if path.suffix in (".py", ".typed", ".pt", ".txt", ".eval", ".js", ".css", ".html", ".svg"):
                assert path.relative_to(ROOT / folder).as_posix() in names
    for path in (ROOT / "configs").rglob("*.yaml"):
        assert f"damas_rl/configs/{path.relative_to(ROOT / 'configs')}" in names
    assert not [name for name in names if name.startswith(("tests", "runs"))]


def test_one_version_everywhere():
    version = damas_env.__version__
    assert SETTINGS["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "damas_env.__version__"
    releases = re.findall(r"^## \[(\d[^]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["date-released"]) == releases[0] and releases[0][0] == version
    assert citation["license"] == SETTINGS["project"]["license"]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
