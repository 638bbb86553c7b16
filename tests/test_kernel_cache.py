"""Machine code that is cached on disk: kept while its sources stay, replaced when they change."""

import os
import subprocess
import sys
from pathlib import Path

MODULE = """
from typing import NamedTuple

from damas_env.kernel import kernel


class {name}(NamedTuple):
    value: int


@kernel
def add(pair, number):
    return pair.value + {factor} * number


print(add({name}(5), 2), sum(add.stats.cache_hits.values()))
"""


def run(folder: Path, name: str, factor: int) -> str:
    """What the module prints in a new process: a result, and how many kernels came from the disk."""
    (folder / "added.py").write_text(MODULE.format(name=name, factor=factor), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    command = [sys.executable, "-c", "import added"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_what_is_cached_is_used_until_a_source_changes(tmp_path: Path) -> None:
    assert run(tmp_path, "Pair", 1) == "7 0"
    assert run(tmp_path, "Pair", 1) == "7 1"
    assert run(tmp_path, "Pair", 10) == "25 0"
    # The index on the disk names a class that this module no longer has.
    assert run(tmp_path, "Couple", 10) == "25 0"
    assert run(tmp_path, "Couple", 10) == "25 1"


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    run(tmp_path, "Pair", 1)
    (index,) = (tmp_path / "__pycache__").glob("*.nbi")
    index.write_bytes(index.read_bytes()[:-20])
    assert run(tmp_path, "Pair", 1) == "7 0"
    assert run(tmp_path, "Pair", 1) == "7 1"
