"""Where tables are kept."""

import os
from pathlib import Path

from damas_env.rules import RuleSet


def default_path(rules: RuleSet, pieces: int) -> Path:
    """Where the table of a rule set is kept: one file for each way of moving, in the user's data folder."""
    return _folder("XDG_DATA_HOME", ".local/share") / f"{rules.spec.flags:x}-{pieces}.dtb"


def partial_path(rules: RuleSet, pieces: int) -> Path:
    """Where a table is kept while it is built."""
    return cache_path(f"{rules.spec.flags:x}-{pieces}.partial")


def cache_path(name: str) -> Path:
    """A file that can be made again, in the user's cache folder."""
    return _folder("XDG_CACHE_HOME", ".cache") / name


def _folder(variable: str, otherwise: str) -> Path:
    home = Path(os.environ.get(variable, ""))
    if not home.is_absolute():  # the specification says to ignore others
        home = Path.home() / otherwise
    return home / "damas-rl" / "tablebases"
