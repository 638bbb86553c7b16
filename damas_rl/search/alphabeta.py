"""Alpha-beta over a batch of games: limits, threads and results around the kernels."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.search.alphabeta_kernels import MAX_DEPTH, new_frames, new_state, search_games
from damas_rl.search.learned import HAND_MADE
from damas_rl.search.transpositions import MAX_GENERATION, PROVEN, new_table
from damas_rl.tablebase import Tablebase
from damas_rl.tablebase.endgames import new_endgames

_LINE = 32
_CHUNK = 8
_LARGEST_TABLE = 17


@dataclass(frozen=True)
class Limits:
    """When a search of one position ends; at least one limit is needed, the first one that is reached counts.

    Attributes:
        depth: plies, up to ``MAX_DEPTH``. A search that is limited by depth alone is of full width: its score is that
            of plain negamax to this depth with captures searched out. With other limits, late moves are searched
            less deep.
        nodes: positions looked at.
        ms: milliseconds of one thread.
        LARGEST: the largest value of each limit.
    """

    LARGEST: ClassVar[dict[str, int]] = {"depth": MAX_DEPTH, "nodes": 10**15, "ms": 10**9}

    depth: int | None = None
    nodes: int | None = None
    ms: int | None = None

    def __post_init__(self) -> None:
        if self.depth is None and self.full_width:
            raise ValueError("Alpha-beta needs a limit: depth=, nodes= or ms=.")
        for name, most in self.LARGEST.items():
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise ValueError(f"Alpha-beta takes {name}=1 to {most}, not {value}.")

    @property
    def full_width(self) -> bool:
        """True if nothing but the depth limits the search."""
        return self.nodes is None and self.ms is None


@dataclass(frozen=True)
class AlphaBetaResult:
    """What a search of B positions found.

    Attributes:
        actions: int16[B], the chosen actions.
        scores: int64[B], in hundredths of a man for the side to move; ``WON - n`` is a win in n plies.
        depths: int64[B], deepest iteration that had a say.
        nodes: int64[B], positions looked at.
        lines: int16[B, L], principal variations as actions, padded with -1.
    """

    actions: np.ndarray
    scores: np.ndarray
    depths: np.ndarray
    nodes: np.ndarray
    lines: np.ndarray

    def values(self) -> np.ndarray:
        """float32[B] in [-1, 1]: +-1 for proven results, else the scores squeezed (a man is worth 0.24)."""
        squeezed = np.clip(np.tanh(self.scores / 400.0), -0.99, 0.99)
        return np.where(np.abs(self.scores) >= PROVEN, np.sign(self.scores), squeezed).astype(np.float32)

    def variations(self) -> list[list[int]]:
        """The principal variations without padding."""
        return [[int(action) for action in line if action >= 0] for line in self.lines]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="alphabeta")


class _Searcher:
    """Memory of one thread: work space, transposition table and the mark of its next search."""

    def __init__(self, rules: RuleSet, buckets: int) -> None:
        self.state = new_state(rules)
        self.frames = new_frames(rules)
        self.table = new_table(buckets)
        self.generation = 1

    def marks(self, count: int) -> int:
        """The first of ``count`` marks that no entry of the table carries."""
        if self.generation + count >= MAX_GENERATION:
            self.table[:] = 0
            self.generation = 1
        first = self.generation
        self.generation += count
        return first


class AlphaBeta:
    """A search with fixed limits. Results depend on positions, limits and seeds only, unless time is limited.

    Args:
        rules: name of a rule set, or a rule set.
        limits: when a search ends.
        tablebase: exact endgames that are asked at every node.
        weights: of a learned evaluation for these rules (see ``damas_rl.evaluations``).
    """

    def __init__(
        self,
        rules: str | RuleSet,
        limits: Limits,
        tablebase: Tablebase | None = None,
        weights: np.void = HAND_MADE,
    ) -> None:
        self.rules = get_rules(rules)
        self.limits, self.tablebase = limits, tablebase
        self._endgames = tablebase.endgames if tablebase else new_endgames(self.rules)
        self._weights = weights
        self._stop = np.zeros(1, dtype=np.int64)
        self._idle: list[_Searcher] = []
        self._lock = threading.Lock()
        size = _LARGEST_TABLE
        if limits.depth is not None:
            size = min(size, 6 + 2 * limits.depth)
        if limits.nodes is not None:
            size = min(size, limits.nodes.bit_length())
        self._buckets = 1 << size

    def search(self, positions: Positions, seeds: np.ndarray) -> AlphaBetaResult:
        """Searches each game of a batch on as many threads as there are cores.

        A single game is searched by the thread that asks, unless that is the main one: whoever asks from many threads
        gets each answer in time, however many they are.

        Args:
            positions: B unfinished games.
            seeds: uint64[B], decide between moves of equal score.

        Raises:
            ValueError: a game is over or of other rules, the seeds are of another shape or type, or a position of the
                search has more legal moves than there is room for.
        """
        if positions.rules is not self.rules and positions.rules != self.rules:
            raise ValueError(f"This search is for the rules {self.rules.name!r}, not {positions.rules.name!r}.")
        if seeds.shape != (len(positions),) or seeds.dtype != np.uint64:
            raise ValueError(f"seeds must be uint64[{len(positions)}], not {seeds.dtype}{list(seeds.shape)}.")
        if positions.terminations.any():
            game = int(np.flatnonzero(positions.terminations)[0])
            raise ValueError(f"Game {game} is over: there is nothing to search.")
        size = len(positions)
        result = AlphaBetaResult(
            actions=np.zeros(size, dtype=np.int16),
            scores=np.zeros(size, dtype=np.int64),
            depths=np.zeros(size, dtype=np.int64),
            nodes=np.zeros(size, dtype=np.int64),
            lines=np.full((size, _LINE), -1, dtype=np.int16),
        )
        step = max(1, min(_CHUNK, size // THREADS))
        chunks = [(start, min(start + step, size)) for start in range(0, size, step)]
        if len(chunks) == 1 and threading.current_thread() is not threading.main_thread():
            self._run(*chunks[0], positions, seeds, result)
            chunks = []
        # The main thread must stay able to receive a Ctrl-C.
        jobs = [_pool().submit(self._run, *chunk, positions, seeds, result) for chunk in chunks]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            self._stop[0] = 1
            for job in jobs:
                job.cancel()
            wait(jobs)
            self._stop[0] = 0
            raise
        if (result.actions < 0).any():
            room = self.rules.max_moves
            raise ValueError(f"A position in the search has {room} legal moves or more; there is no room.")
        return result

    def stop(self) -> None:
        """From now on searches end soon, the one in hand too; may be called from another thread."""
        self._stop[0] = 1

    def _run(self, start: int, end: int, positions: Positions, seeds: np.ndarray, result: AlphaBetaResult) -> None:
        """Searches a few games with the memory of an idle searcher."""
        with self._lock:
            searcher = self._idle.pop() if self._idle else _Searcher(self.rules, self._buckets)
        limits = self.limits
        search_games(
            start, end, self.rules.spec, self.rules.tables, self._endgames, self._weights, searcher.state[0],
            searcher.frames, searcher.table, self._stop, searcher.marks(end - start),
            positions.boards, positions.plies, positions.counters, positions.repetitions, positions.history,
            positions.history_len, positions.moves, positions.actions, positions.counts, seeds,
            limits.depth or MAX_DEPTH, limits.nodes or 0, (limits.ms or 0) * 1_000_000, limits.full_width,
            result.actions, result.scores, result.depths, result.nodes, result.lines,
        )  # fmt: skip
        with self._lock:
            self._idle.append(searcher)
