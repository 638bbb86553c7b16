"""The distribution holds all packages, the configuration groups, and nothing else that matters is missing."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

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


def test_a_wheel_holds_packages_and_configs(tmp_path):
    # Built in a copy, since building leaves folders behind.
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("env", "damas_rl", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    code = "from setuptools.build_meta import build_wheel; print(build_wheel('.'))"
    built = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    with zipfile.ZipFile(tmp_path / built.stdout.split()[-1]) as wheel:
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
