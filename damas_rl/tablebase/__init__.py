"""Exact endgames: win, draw or loss and its distance for every position of few pieces, by retrograde analysis."""

from damas_rl.tablebase.table import Tablebase, TablebaseError, default_path

__all__ = ["Tablebase", "TablebaseError", "default_path"]
