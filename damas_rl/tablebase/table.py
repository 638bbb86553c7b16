"""A tablebase: asking it, checking it, and keeping it in a file."""

import json
import lzma
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from damas_env.errors import shown
from damas_env.kernel import kernel
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet
from damas_rl.files import atomic_write, why
from damas_rl.tablebase.build import HOLE, LONGEST, build
from damas_rl.tablebase.index import MOST_PIECES, Slice, new_index, number, slices, slot

_FORMAT = "damas-tablebase 1"
_LONGEST_HEADER = 4096


class TablebaseError(ValueError):
    """A file that is no tablebase, or not the one that is wanted; the message is one sentence."""


@kernel
def _look_up(spec, index, values, boards, out):
    """Values of many positions; ``HOLE`` for those that are not in the table."""
    for row in range(len(boards)):
        here = number(spec, index, boards[row, 0], boards[row, 1], boards[row, 2], boards[row, 3])
        out[row] = values[here] if here >= 0 else HOLE


class Tablebase:
    """Exact values of all positions of few pieces under one way of moving; draw laws are left out.

    Attributes:
        rules: a rule set of that way of moving.
        pieces: pieces of both sides together, at most.
        values: uint8, see :mod:`damas_rl.tablebase.build`.
    """

    def __init__(self, rules: RuleSet, pieces: int, values: NDArray[np.uint8]) -> None:
        self.rules, self.pieces, self.values = rules, pieces, values
        self.index = new_index(rules.size, pieces)

    @classmethod
    def build(cls, rules: RuleSet, pieces: int, progress: Callable[[int, int], None] | None = None) -> "Tablebase":
        """Computes the table.

        Args:
            rules: rule set.
            pieces: 2 to 6; 4 take seconds, 5 minutes.
            progress: called with (numbers done, all numbers).
        """
        if not 2 <= pieces <= MOST_PIECES:
            raise ValueError(f"pieces={shown(pieces)}: choose from 2 to {MOST_PIECES}.")
        return cls(rules, pieces, build(rules, pieces, progress))

    def look_up(self, positions: Positions) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
        """(result, plies) of each position.

        Returns:
            result: int8[B], 1 = won, 0 = drawn, -1 = lost for the side to move. plies: int16[B], to the end with best
            play of both, 0 in draws; -1 for positions that are not in the table (their result is 0).
        """
        if positions.rules.spec.flags != self.rules.spec.flags:
            raise ValueError(f"This table is for {self.rules.name!r}; {positions.rules.name!r} moves otherwise.")
        found = np.empty(len(positions), dtype=np.uint8)
        _look_up(self.rules.spec, self.index, self.values, positions.boards, found)
        values = found.astype(np.int16)
        missing, decided = values == HOLE, values > 0
        result = np.where(decided, 1 - 2 * (values & 1), 0)
        result[missing] = 0
        return result.astype(np.int8), np.where(missing, -1, np.maximum(values - 1, 0)).astype(np.int16)

    def statistics(self) -> list[dict[str, int]]:
        """Positions, wins, draws and losses of each balance: White to move, results for White."""
        rows = []
        for balance in slices(self.pieces):
            counts = np.bincount(self._part(balance), minlength=256)
            win, loss, draw = int(counts[2:HOLE:2].sum()), int(counts[1:HOLE:2].sum()), int(counts[0])
            names = ("white_men", "white_kings", "black_men", "black_kings")
            row = dict(zip(names, balance, strict=True))
            rows.append({**row, "positions": win + draw + loss, "win": win, "draw": draw, "loss": loss})
        return rows

    def longest(self, balance: Slice) -> int:
        """Plies of the longest win or loss of a balance."""
        part = self._part(balance)
        return max(int(part[part != HOLE].max(initial=0)) - 1, 0)

    def _part(self, balance: Slice) -> NDArray[np.uint8]:
        first = int(self.index["offsets"][slot(*balance)])
        return self.values[first : first + balance.size(self.rules.size)]

    def save(self, path: Path) -> None:
        """Writes a file, all or nothing: one line of JSON, then the values, each balance compressed by itself.

        Raises:
            OSError: it cannot be written.
        """
        with ThreadPoolExecutor(THREADS) as pool:
            packed = list(pool.map(lambda balance: lzma.compress(self._part(balance).tobytes()), slices(self.pieces)))
        header = {"format": _FORMAT, **_movement(self.rules), "pieces": self.pieces, "sizes": list(map(len, packed))}
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, [json.dumps(header).encode() + b"\n", *packed])

    @classmethod
    def load(cls, path: Path, rules: RuleSet, pieces: int) -> "Tablebase":
        """Reads a file.

        Raises:
            TablebaseError: it cannot be read, is no tablebase, is damaged, or is for other rules or another number of
                pieces.
        """
        try:
            if path.exists() and not path.is_file():
                raise TablebaseError(f"{path} is no file, so it is no tablebase.")
            with open(path, "rb") as file:
                header = _header(file.readline(_LONGEST_HEADER), path)
                data = file.read()
        except OSError as error:
            raise TablebaseError(f"The tablebase {path} cannot be read: {why(error)}.") from None
        if header.get("movement") != _movement(rules)["movement"]:
            raise TablebaseError(f"The tablebase {path} is for {shown(header.get('rules'))}, not for {rules.name!r}.")
        if header.get("pieces") != pieces:
            raise TablebaseError(f"The tablebase {path} is for {shown(header.get('pieces'))} pieces, not for {pieces}.")
        table = cls(rules, pieces, np.empty(int(new_index(rules.size, pieces)["size"]), dtype=np.uint8))
        try:
            for balance, part in zip(slices(pieces), _split(data, header.get("sizes")), strict=True):
                table._part(balance)[:] = _unpacked(part, balance.size(rules.size))
        except (ValueError, lzma.LZMAError, TypeError):
            raise TablebaseError(f"The tablebase {path} is damaged; build it again: damas tablebase build.") from None
        return table


def _movement(rules: RuleSet) -> dict[str, Any]:
    return {"rules": rules.name, "movement": rules.spec.flags}


def _header(line: bytes, path: Path) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise TablebaseError(f"{path} is no tablebase of this version of the program.")
    return header


def _split(data: bytes, sizes: Any) -> Iterator[bytes]:
    if not isinstance(sizes, list) or sum(sizes) != len(data):
        raise ValueError
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size


def _unpacked(part: bytes, size: int) -> NDArray[np.uint8]:
    """The ``size`` values of a slice; ValueError if there are more, fewer or impossible ones."""
    values = np.frombuffer(lzma.LZMADecompressor().decompress(part, max_length=size + 1), dtype=np.uint8)
    if len(values) != size or ((values > LONGEST + 1) & (values != HOLE)).any():
        raise ValueError
    return values


def default_path(rules: RuleSet, pieces: int) -> Path:
    """Where the table of a rule set is kept: one file for each way of moving, in the user's data folder."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not home.is_absolute():  # the specification says to ignore others
        home = Path.home() / ".local" / "share"
    return home / "damas-rl" / "tablebases" / f"{rules.spec.flags:x}-{pieces}.dtb"
