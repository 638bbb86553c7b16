"""Exact endgames: win, draw or loss and its distance for every position of few pieces, by retrograde analysis."""

from damas_rl.tablebase.table import AT_ONCE, Tablebase, TablebaseError, default_path, open_tablebase

__all__ = ["AT_ONCE", "Tablebase", "TablebaseError", "default_path", "open_tablebase"]
