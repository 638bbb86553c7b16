"""Where tables are kept."""

from pathlib import Path

from damas_env.rules import RuleSet
from damas_rl.files import user_folder


def default_path(rules: RuleSet, pieces: int) -> Path:
    """Where the table of a rule set is kept: one file for each way of moving, in the user's data folder."""
    return user_folder("XDG_DATA_HOME", ".local/share") / "tablebases" / f"{rules.spec.flags:x}-{pieces}.dtb"


def partial_path(rules: RuleSet, pieces: int) -> Path:
    """Where a table is kept while it is built."""
    return cache_path(f"{rules.spec.flags:x}-{pieces}.partial")


def cache_path(name: str) -> Path:
    """A file that can be made again, in the user's cache folder."""
    return user_folder("XDG_CACHE_HOME", ".cache") / "tablebases" / name
