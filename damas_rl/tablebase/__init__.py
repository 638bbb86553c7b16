"""Exact endgames: win, draw or loss and its distance for every position of few pieces, by retrograde analysis."""

from damas_rl.tablebase.paths import default_path
from damas_rl.tablebase.probe import BUILT_AT_ONCE, open_tablebase
from damas_rl.tablebase.table import Tablebase, TablebaseError

__all__ = ["BUILT_AT_ONCE", "Tablebase", "TablebaseError", "default_path", "open_tablebase"]
