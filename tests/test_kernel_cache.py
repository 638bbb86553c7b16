"""Machine code that is cached on disk: kept while its sources stay, replaced when they change."""

import errno
import os
import subprocess
import sys
from pathlib import Path

from damas_env.kernel import _CacheFile

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


def test_signatures_that_are_saved_at_the_same_time_stay_apart(tmp_path: Path, monkeypatch) -> None:
    """Two processes have seen an empty index; one saves in the midst of the other's saving."""
    one, other, later = (_CacheFile(str(tmp_path), "kernel", "stamp") for _ in range(3))
    for cache in (one, other):
        monkeypatch.setattr(cache, "_load_index", dict)
    write = one._save_data

    def write_after_the_other(name: str, data: str) -> None:
        other.save("float64", "code for float64")
        write(name, data)

    monkeypatch.setattr(one, "_save_data", write_after_the_other)
    one.save("int64", "code for int64")
    found = {key: later.load(key) for key in ("int64", "float64")}
    assert any(found.values())
    assert all(code in (None, f"code for {key}") for key, code in found.items())
    for key in found:
        later.save(key, f"code for {key}")
    assert [later.load(key) for key in found] == ["code for int64", "code for float64"]


def test_a_new_version_removes_the_files_of_the_old_one(tmp_path: Path) -> None:
    for stamp in ("old", "new"):
        for key in (1, 2, 3):
            _CacheFile(str(tmp_path), "kernel", stamp).save(key, stamp)
    assert len(list(tmp_path.glob("*.nbc"))) == 3
    assert [_CacheFile(str(tmp_path), "kernel", "new").load(key) for key in (1, 2, 3)] == ["new"] * 3
    assert _CacheFile(str(tmp_path), "kernel", "old").load(1) is None


def test_damaged_code_is_compiled_anew(tmp_path: Path) -> None:
    run(tmp_path, "Pair", 1)
    (code,) = (tmp_path / "__pycache__").glob("*.nbc")
    for left in (0, 100):
        code.write_bytes(code.read_bytes()[:left])
        assert run(tmp_path, "Pair", 1) == "7 0"
        assert run(tmp_path, "Pair", 1) == "7 1"


def test_a_full_disk_does_not_stop_a_kernel(tmp_path: Path, monkeypatch) -> None:
    cache = _CacheFile(str(tmp_path), "kernel", "stamp")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "_save_data", full)
    cache.save("int64", "code")
    assert cache.load("int64") is None
