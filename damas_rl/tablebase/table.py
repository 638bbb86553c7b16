"""A tablebase: asking it, checking it, and keeping it in a file."""

import contextlib
import fcntl
import hashlib
import json
import lzma
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from damas_env.errors import shown
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet
from damas_rl.files import atomic_write, read_header, why
from damas_rl.tablebase.build import pairs, solve
from damas_rl.tablebase.endgames import DRAW, LOSS, WIN, judge_positions, new_endgames, rank_moves
from damas_rl.tablebase.index import HOLE, LONGEST, MOST_PIECES, Slice, new_index, slices, slot
from damas_rl.tablebase.paths import cache_path

_FORMAT = "damas-tablebase 1"

_DIGEST = hashlib.sha256
"""What the values of a cached file are checked by."""


class TablebaseError(ValueError):
    """A file that is no tablebase, or not the one that is wanted; the message is one sentence."""


class Verdicts(NamedTuple):
    """What a table says of B positions (see :func:`~damas_rl.tablebase.endgames.verdict`).

    Attributes:
        proof: int8[B]. result: int8[B]. distance: int16[B].
    """

    proof: NDArray[np.int8]
    result: NDArray[np.int8]
    distance: NDArray[np.int16]


class Tablebase:
    """Exact values of all positions of few pieces under one way of moving; draw laws are left out.

    Attributes:
        rules: the rule set of the games that are looked up.
        pieces: pieces of both sides together, at most.
        values: uint8, see :mod:`damas_rl.tablebase.build`; mapped from a file where there is one.
        endgames: what kernels ask; valid as long as this object lives.
    """

    def __init__(self, rules: RuleSet, pieces: int, values: NDArray[np.uint8]) -> None:
        self.rules, self.pieces, self.values = rules, pieces, values
        self.index = new_index(rules.size, pieces)
        size = int(self.index["size"])
        # Kernels read them by their address.
        if values.dtype != np.uint8 or values.shape != (size,) or not values.flags.c_contiguous:
            raise ValueError(f"The values must be uint8[{size}] in one piece, not {values.dtype}{list(values.shape)}.")
        self.endgames = new_endgames(rules, pieces, values)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, in this process or another one, has its values at an address of its own."""
        return Tablebase, (self.rules, self.pieces, self.values)

    @classmethod
    def build(
        cls,
        rules: RuleSet,
        pieces: int,
        progress: Callable[[int, int], None] | None = None,
        partial: Path | None = None,
    ) -> "Tablebase":
        """Computes the table.

        Args:
            rules: rule set.
            pieces: 2 to 6; 4 take seconds, 5 minutes, 6 hours.
            progress: called with (numbers done, all numbers).
            partial: a file in which the values are kept while they are found; a later call goes on from there. It is
                as large as the table, and left in place.

        Raises:
            TablebaseError: another process is building in ``partial``.
            OSError: ``partial`` cannot be written.
        """
        if not 2 <= pieces <= MOST_PIECES:
            raise ValueError(f"pieces={shown(pieces)}: choose from 2 to {MOST_PIECES}.")
        size, steps = int(new_index(rules.size, pieces)["size"]), len(pairs(pieces))
        with contextlib.closing(_Partial(partial, size, steps)) as work:
            for known in solve(rules, pieces, work.values, work.solved):
                work.advance()
                if progress is not None:
                    progress(known, size)
        return cls(rules, pieces, work.values)

    def look_up(self, positions: Positions) -> tuple[NDArray[np.int8], NDArray[np.int16]]:
        """(result, plies) of each position by the board alone.

        Returns:
            result: int8[B], 1 = won, 0 = drawn, -1 = lost for the side to move. plies: int16[B], to the end with best
            play of both, 0 in draws; -1 for positions that are not in the table (their result is 0).
        """
        verdicts = self.judge(positions)
        return verdicts.result, verdicts.distance

    def judge(self, positions: Positions) -> Verdicts:
        """What the table says of each position and of the game from there, the draw laws included."""
        self._check(positions)
        size = len(positions)
        found = Verdicts(np.zeros(size, np.int8), np.zeros(size, np.int8), np.zeros(size, np.int16))
        judge_positions(
            self.rules.spec, self.rules.tables, self.endgames, positions.boards, positions.counters,
            positions.history_len, positions.plies, *found,
        )  # fmt: skip
        return found

    def best_moves(self, positions: Positions, proven: NDArray[np.int8] | None = None) -> NDArray[np.bool_]:
        """bool[B, M]: the moves that the table holds for best.

        Won: those that win soonest. Lost: those that lose last. Drawn: those that keep the draw. Rows of positions
        that are not in the table are empty.

        Args:
            positions: B positions.
            proven: int8[B, M], what is known of the game behind each move, for the side to move there. A move that
                wins for certain is better than one that wins on the board, and so on.
        """
        worth = self._worth(positions)
        if proven is not None:
            kinds = np.select([proven == LOSS, proven == DRAW, proven == WIN], [2, 0, -2], np.sign(worth))
            worth += 10_000 * kinds
        return np.isfinite(worth) & (worth == worth.max(axis=1, keepdims=True))

    def keeping_moves(self, positions: Positions) -> NDArray[np.bool_]:
        """bool[B, M]: the moves that keep the result of the board; empty rows as in :meth:`best_moves`."""
        worth = self._worth(positions)
        return np.isfinite(worth) & (np.sign(worth) == np.sign(worth.max(axis=1, keepdims=True)))

    def _worth(self, positions: Positions) -> NDArray[np.float64]:
        """float64[B, M]: what each move leads to, for the side that chooses it.

        Quick wins are best, slow losses better than quick ones; minus infinity where there is no move, or the position
        is not in the table.
        """
        self._check(positions)
        values = np.full(positions.moves.shape, HOLE, dtype=np.uint8)
        rank_moves(self.rules.spec, self.endgames, positions.boards, positions.moves, positions.counts, values)
        moves = np.arange(values.shape[1]) < positions.counts[:, None]
        known = np.bitwise_count(positions.boards).sum(axis=1) <= self.pieces
        worth = np.where(values == 0, 0.0, np.where(values & 1, 1000.0 - values, values - 1000.0))
        return np.where(moves & known[:, None], worth, -np.inf)

    def _check(self, positions: Positions) -> None:
        if positions.rules is not self.rules and positions.rules != self.rules:
            raise ValueError(f"This table is for the rules {self.rules.name!r}, not {positions.rules.name!r}.")

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
        """Opens a file. Its values are unpacked once, into a cache, from where they are mapped into memory.

        Raises:
            TablebaseError: it cannot be read, is no tablebase, is damaged, or is for other rules or another number of
                pieces.
        """
        try:
            if path.exists() and not path.is_file():
                raise TablebaseError(f"{path} is no file, so it is no tablebase.")
            with open(path, "rb") as file:
                header = read_header(file, _FORMAT)
                if header is None:
                    raise TablebaseError(f"{path} is no tablebase of this version of the program.")
                if header.get("movement") != _movement(rules)["movement"]:
                    raise TablebaseError(
                        f"The tablebase {path} is for {shown(header.get('rules'))}, not for {rules.name!r}."
                    )
                if header.get("pieces") != pieces:
                    raise TablebaseError(
                        f"The tablebase {path} is for {shown(header.get('pieces'))} pieces, not for {pieces}."
                    )
                data = file.read()
        except OSError as error:
            raise TablebaseError(f"The tablebase {path} cannot be read: {why(error)}.") from None
        size = int(new_index(rules.size, pieces)["size"])
        cached = cache_path(f"{path.stem[:40]}-{hashlib.sha256(data).hexdigest()[:16]}.values")
        try:
            values = _mapped(cached, size)
            if values is None:
                cached.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(cached, _with_digest(_unpacked(data, header, rules, pieces, path)))
                values = np.memmap(cached, np.uint8, "c", shape=(size,))
            return cls(rules, pieces, np.asarray(values))
        except OSError:  # no room for a cache: memory serves as well
            parts = _unpacked(data, header, rules, pieces, path)
            return cls(rules, pieces, np.frombuffer(b"".join(parts), dtype=np.uint8).copy())


class _Partial:
    """Values under way, in memory or mapped from a file that also tells how many pairs of slices are solved.

    The file is locked until :meth:`close`: two builders would wipe out each other's work.
    """

    def __init__(self, path: Path | None, size: int, steps: int) -> None:
        self.solved = 0
        self._map, self._lock = None, -1
        if path is None:
            self.values = np.zeros(size, dtype=np.uint8)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(self._lock).st_size != size + 8:
                os.ftruncate(self._lock, 0)
            _reserve(self._lock, path, size + 8)
            self._map = np.memmap(path, np.uint8, "r+", shape=(size + 8,))
        except BlockingIOError:
            self.close()
            raise TablebaseError(f"Another process is building this table already, in {path}.") from None
        except OSError:
            self.close()
            raise
        self.values = np.asarray(self._map[:size])
        self._count = self._map[size:].view(np.int64)
        if not 0 <= self._count[0] <= steps:  # not written by this class
            self._count[0] = 0
        self.solved = int(self._count[0])

    def advance(self) -> None:
        """One more pair is solved: its values are on disk before the count says so."""
        self.solved += 1
        if self._map is not None:
            self._map.flush()
            self._count[0] = self.solved
            self._map.flush()

    def close(self) -> None:
        """Lets others build in the file; the values stay."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _reserve(descriptor: int, path: Path, size: int) -> None:
    """Gives a file its size, with room on the disk: a mapped file without ends the process once the disk is full."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
    except OSError as error:
        os.ftruncate(descriptor, 0)
        error.filename = str(path)
        raise


def _movement(rules: RuleSet) -> dict[str, Any]:
    return {"rules": rules.name, "movement": rules.spec.flags}


def _unpacked(data: bytes, header: dict[str, Any], rules: RuleSet, pieces: int, path: Path) -> Iterator[bytes]:
    """The values of each slice; TablebaseError if there are more, fewer or impossible ones."""
    sizes, balances = header.get("sizes"), slices(pieces)
    try:
        if not isinstance(sizes, list) or sum(sizes) != len(data) or len(sizes) != len(balances):
            raise ValueError
        start = 0
        for size, balance in zip(sizes, balances, strict=True):
            numbers = balance.size(rules.size)
            unpacker = lzma.LZMADecompressor()
            part = unpacker.decompress(data[start : start + size], max_length=numbers + 1)
            values = np.frombuffer(part, dtype=np.uint8)
            if not unpacker.eof or len(values) != numbers or ((values > LONGEST + 1) & (values != HOLE)).any():
                raise ValueError
            yield part
            start += size
    except (ValueError, lzma.LZMAError, TypeError):
        raise TablebaseError(f"The tablebase {path} is damaged; build it again: damas tablebase build.") from None


def _with_digest(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts of a cached file: values, then their digest."""
    digest = _DIGEST()
    for part in parts:
        digest.update(part)
        yield part
    yield digest.digest()


def _mapped(cached: Path, size: int) -> NDArray[np.uint8] | None:
    """The values of a cached file; None if it is not there, or damaged.

    It is read from end to end, since kernels believe what the values say. That takes a fraction of a second for each
    hundred million of them.
    """
    length = _DIGEST().digest_size
    if not cached.is_file() or cached.stat().st_size != size + length:
        return None
    whole = np.memmap(cached, np.uint8, "c")
    values, digest = whole[:size], whole[size:].tobytes()
    return values if _DIGEST(values.data).digest() == digest else None
