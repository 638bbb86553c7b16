"""The distribution holds all packages, the configuration groups, and nothing else that matters is missing."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "README.pt-BR.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("env", "damas_rl", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return tmp_path


def build(copy, kind):
    code = f"from setuptools.build_meta import build_{kind}; print(build_{kind}('.'))"
    built = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return copy / built.stdout.split()[-1]


def test_a_source_distribution_holds_both_readmes(copy):
    with tarfile.open(build(copy, "sdist")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "README.pt-BR.md", "LICENSE", "damas_rl/players.py"} <= names


def test_a_wheel_holds_packages_and_configs(copy):
    with zipfile.ZipFile(build(copy, "wheel")) as wheel:
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
