"""A batch of games as a struct of arrays. A single position is a batch of one."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from damas_env.actions import encode, find
from damas_env.board import GEOMETRY
from damas_env.errors import IllegalActionError, shown
from damas_env.kernel import kernel
from damas_env.movegen import WORK, generate, play
from damas_env.outcome import advance_counters, events_of, judge, key, standing_laws
from damas_env.rules import EVENT_CAPTURE, EVENT_MAN_MOVE, MAX_COUNTERS, RuleSet, get_rules
from damas_env.termination import Outcome, Termination

THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
"""Threads over which kernels split a large batch."""

COLORS = ("W", "B")
"""Letters of the colours 0 and 1."""

_SMALLEST_CHUNK = 4096  # with fewer games a second thread costs more than it gains (docs/performance.md)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="damas")


def in_chunks(function: Callable[..., Any], size: int, *arguments: Any) -> None:
    """Calls ``function(start, end, *arguments)`` over parts of ``range(size)``, on several threads if that pays."""
    parts = min(THREADS, size // _SMALLEST_CHUNK)
    if parts <= 1:
        function(0, size, *arguments)
        return
    edges = [size * part // parts for part in range(parts + 1)]
    pool = _pool(parts)
    jobs = [pool.submit(function, start, end, *arguments) for start, end in pairwise(edges)]
    for job in jobs:
        job.result()


@kernel
def remember(history, length, repeatable, new_key):
    """Adds a position key to a game's history (uint64[H]); returns (new length, earlier occurrences of the key).

    ``repeatable`` is False after a capture or a man move: no earlier position can come back, so the history starts
    again. Only positions with the same side to move are compared.
    """
    if not repeatable:
        length = 0
    if length == history.shape[0]:
        for index in range(1, length):
            history[index - 1] = history[index]
        length -= 1
    seen = 0
    index = length - 2
    while index >= 0:
        if history[index] == new_key:
            seen += 1
        index -= 2
    history[length] = new_key
    return length + 1, seen


@kernel
def _locate(start, end, actions, where, terminations, legal, counts, chosen):
    """Index of each played action in the legal list: -1 illegal, -2 not to be played."""
    for game in range(start, end):
        if not where[game] or terminations[game] != 0:
            chosen[game] = -2
        else:
            chosen[game] = find(legal[game], counts[game], actions[game])


@kernel
def _refresh(spec, tables, game, boards, counters, plies, repetitions, moves, actions, counts, terminations, work):
    """Legal moves, their actions and the termination of one game."""
    a, b, c, d = boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3]
    count = min(generate(spec, a, b, c, d, work), moves.shape[1])
    encode(spec, count, work)
    for index in range(count):
        moves[game, index], actions[game, index] = work.moves[index], work.actions[index]
    counts[game] = count
    laws = standing_laws(tables, a, b, c, d)
    terminations[game] = judge(tables, count, a | b, laws, counters[game], repetitions[game], plies[game])


@kernel
def _advance(
    start, end, spec, tables, chosen, boards, colors, plies, counters, repetitions, history, history_len, moves,
    actions, counts, terminations,
):  # fmt: skip
    """Plays the chosen move of each game and brings everything else up to date."""
    work = np.empty(1, WORK)[0]
    for game in range(start, end):
        if chosen[game] < 0:
            continue
        code = moves[game, chosen[game]]
        a, b, c, d = boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3]
        before, events = standing_laws(tables, a, b, c, d), events_of(a, code)
        a, b, c, d = play(spec, a, b, c, d, code)
        boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3] = a, b, c, d
        after = standing_laws(tables, a, b, c, d)
        advance_counters(tables, before, after, events, counters[game], counters[game])
        colors[game] = 1 - colors[game]
        plies[game] += 1
        repeatable = events & (EVENT_CAPTURE | EVENT_MAN_MOVE) == 0
        length, seen = remember(history[game], history_len[game], repeatable, key(a, b, c, d))
        history_len[game], repetitions[game] = length, seen
        _refresh(spec, tables, game, boards, counters, plies, repetitions, moves, actions, counts, terminations, work)


@kernel
def _set_up(
    start, end, spec, tables, where, boards, counters, plies, repetitions, history, history_len, moves, actions,
    counts, terminations,
):  # fmt: skip
    """Starts each game of a mask afresh from its boards."""
    work = np.empty(1, WORK)[0]
    for game in range(start, end):
        if not where[game]:
            continue
        counters[game] = 0
        plies[game], repetitions[game], history_len[game] = 0, 0, 1
        history[game, 0] = key(boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3])
        _refresh(spec, tables, game, boards, counters, plies, repetitions, moves, actions, counts, terminations, work)


@kernel
def _fill_masks(start, end, actions, counts, masks):
    for game in range(start, end):
        masks[game] = False
        for index in range(counts[game]):
            masks[game, actions[game, index]] = True


def _refuse_impossible(rules: RuleSet, boards: np.ndarray) -> None:
    """ValueError for boards that the kernels' tables have no room for."""
    counts = np.bitwise_count(boards).astype(np.int64)
    sides = counts[:, :2].sum(axis=1), counts[:, 2:].sum(axis=1)
    union = np.bitwise_or.reduce(boards, axis=1)
    geometry = GEOMETRY[rules.size]
    rows = np.uint64(1) << geometry.bit_of_view.astype(np.uint64)
    far, near = rows[: geometry.half].sum(), rows[-geometry.half :].sum()
    for fault, message in (
        (union & ~np.uint64(geometry.board) != 0, "has pieces off the board"),
        (np.bitwise_count(union) != counts.sum(axis=1), "has two pieces on one square"),
        (np.maximum(*sides) > rules.men, f"has more than {rules.men} pieces on one side"),
        (union == 0, "has no piece at all"),
        ((boards[:, 0] & far) | (boards[:, 2] & near) != 0, "has a man on its crowning row"),
    ):
        if fault.any():
            raise ValueError(f"Position {int(np.flatnonzero(fault)[0])} of the batch {message}.")


class Positions:
    """A batch of B games, each at some position; every array is public and always up to date.

    A game is over when the side to move has no legal move or a draw law says so. A position that is set up with no
    piece for the side that is *not* to move is therefore not over yet; no game gets there, and any move wins it.

    Attributes:
        rules: the rule set.
        boards: uint64[B, 4], own men, own kings, other men, other kings in the view of the side to move.
        colors: int8[B], side to move, 0 = White, 1 = Black.
        plies: int32[B], plies played since the start or set-up.
        counters: int16[B, 4], counters of the draw laws in the order of ``rules.counter_names``.
        repetitions: int8[B], earlier occurrences of the current position in the game.
        history: uint64[B, H], keys of the positions since the last capture or man move, the current one last.
        history_len: int32[B], keys in use.
        moves: uint64[B, M], legal move codes in canonical order; actions: int16[B, M], their action indices;
            counts: int32[B], how many there are.
        terminations: int8[B], 0 or a :class:`~damas_env.termination.Termination`; a finished game keeps its last
            position (and the moves that would have been legal if it was drawn).
    """

    ARRAYS = (
        "boards", "colors", "plies", "counters", "repetitions", "history", "history_len", "moves", "actions",
        "counts", "terminations",
    )  # fmt: skip

    def __init__(self, rules: str | RuleSet, size: int) -> None:
        """Room for ``size`` games; use :meth:`initial` or :meth:`from_boards`."""
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise ValueError(f"size={shown(size)} is impossible; a batch has a whole number of games, 0 or more.")
        self.rules = get_rules(rules)
        moves = self.rules.max_moves
        self.boards = np.zeros((size, 4), dtype=np.uint64)
        self.colors = np.zeros(size, dtype=np.int8)
        self.plies = np.zeros(size, dtype=np.int32)
        self.counters = np.zeros((size, MAX_COUNTERS), dtype=np.int16)
        self.repetitions = np.zeros(size, dtype=np.int8)
        self.history = np.zeros((size, self.rules.history_length), dtype=np.uint64)
        self.history_len = np.zeros(size, dtype=np.int32)
        self.moves = np.zeros((size, moves), dtype=np.uint64)
        self.actions = np.full((size, moves), -1, dtype=np.int16)
        self.counts = np.zeros(size, dtype=np.int32)
        self.terminations = np.zeros(size, dtype=np.int8)

    def __len__(self) -> int:
        return len(self.plies)

    @classmethod
    def initial(cls, rules: str | RuleSet, size: int = 1) -> "Positions":
        """``size`` games at the starting position."""
        positions = cls(rules, size)
        positions.reset(np.ones(size, dtype=np.bool_))
        return positions

    @classmethod
    def from_boards(cls, rules: str | RuleSet, boards: np.ndarray, colors: np.ndarray) -> "Positions":
        """Games set up at ``boards`` (uint64[B, 4], view of the side to move) with ``colors`` (int8[B]) to move.

        Raises:
            ValueError: an array of another shape or type; or a position has no piece, pieces off the board, two on one
                square, too many on one side, a man on its crowning row, or more legal moves than there is room for.
        """
        boards, colors = np.asarray(boards), np.asarray(colors)
        if boards.ndim != 2 or boards.shape[1] != 4 or boards.dtype.kind not in "iu":
            raise ValueError(f"boards must be uint64[B, 4], not {boards.dtype}{list(boards.shape)}.")
        if colors.shape != (len(boards),) or colors.dtype.kind not in "iu" or not np.isin(colors, (0, 1)).all():
            raise ValueError(f"colors must be {len(boards)} integers, each 0 (White) or 1 (Black).")
        positions = cls(rules, len(boards))
        _refuse_impossible(positions.rules, boards.astype(np.uint64))
        positions.boards[:] = boards
        positions.colors[:] = colors
        positions._set_up(np.ones(len(positions), dtype=np.bool_))
        positions._check_room()
        return positions

    def reset(self, where: np.ndarray) -> None:
        """Puts the games of a bool[B] mask back to the starting position; ValueError for anything but such a mask."""
        self._check_mask(where)
        self.boards[where] = self.rules.initial_boards
        self.colors[where] = self.rules.first_color
        self._set_up(where)

    def _check_mask(self, where: np.ndarray) -> None:
        if not isinstance(where, np.ndarray) or where.dtype != np.bool_ or where.shape != (len(self),):
            raise ValueError(f"where must be a bool[{len(self)}] array, one entry for each game.")

    def _set_up(self, where: np.ndarray) -> None:
        in_chunks(
            _set_up, len(self), self.rules.spec, self.rules.tables, where, self.boards, self.counters, self.plies,
            self.repetitions, self.history, self.history_len, self.moves, self.actions, self.counts,
            self.terminations,
        )  # fmt: skip

    def _check_room(self) -> None:
        """ValueError for a position whose moves fill the move list, since further ones may have been dropped."""
        full = np.flatnonzero(self.counts >= self.rules.max_moves)
        if len(full):
            room = self.rules.max_moves
            raise ValueError(f"Position {int(full[0])} of the batch has {room} legal moves or more; there is no room.")

    def step(self, actions: np.ndarray, where: np.ndarray | None = None) -> None:
        """Plays one action in each game that is going on, in place.

        Args:
            actions: int[B], action indices; ignored where a game is finished or left out.
            where: bool[B], games to advance; None = all.

        Raises:
            IllegalActionError: an action is not legal in its game; nothing has been changed then.
            ValueError: ``where`` is no mask of the games; or a game came to more legal moves than there is room for,
                and cannot go on.
        """
        actions = np.asarray(actions)
        if where is None:
            where = np.ones(len(self), dtype=np.bool_)
        self._check_mask(where)
        if actions.shape != (len(self),) or actions.dtype.kind not in "iu":
            raise IllegalActionError(
                f"Expected one integer action for each of the {len(self)} games, got shape {actions.shape} "
                f"and type {actions.dtype}."
            )
        chosen = np.empty(len(self), dtype=np.int32)
        actions = actions.astype(np.int64, copy=False)
        in_chunks(_locate, len(self), actions, where, self.terminations, self.actions, self.counts, chosen)
        if (chosen == -1).any():
            game = int(np.flatnonzero(chosen == -1)[0])
            legal = self.actions[game, : self.counts[game]].tolist()
            raise IllegalActionError(
                f"Action {int(actions[game])} is not legal in game {game}; legal actions are {legal}."
            )
        in_chunks(
            _advance, len(self), self.rules.spec, self.rules.tables, chosen, self.boards, self.colors, self.plies,
            self.counters, self.repetitions, self.history, self.history_len, self.moves, self.actions, self.counts,
            self.terminations,
        )  # fmt: skip
        self._check_room()

    def masks(self, out: np.ndarray | None = None) -> np.ndarray:
        """bool[B, N]: the legal actions, written into ``out`` if given (ValueError if it has another shape or type)."""
        shape = len(self), self.rules.num_actions
        if out is None:
            out = np.empty(shape, dtype=np.bool_)
        if out.shape != shape or out.dtype != np.bool_:
            raise ValueError(f"out must be bool{list(shape)}, not {out.dtype}{list(out.shape)}.")
        in_chunks(_fill_masks, len(self), self.actions, self.counts, out)
        return out

    @property
    def lost(self) -> np.ndarray:
        """bool[B]: games that the side to move has lost."""
        return (self.terminations == Termination.NO_PIECES) | (self.terminations == Termination.BLOCKED)

    def rewards(self) -> np.ndarray:
        """float32[B]: result for the side to move, -1 where it has lost, 0 in draws and games that go on."""
        return -self.lost.astype(np.float32)

    def winners(self) -> np.ndarray:
        """int8[B]: colour that has won, 0 = White, 1 = Black, -1 = nobody (yet)."""
        return np.where(self.lost, 1 - self.colors, -1).astype(np.int8)

    def outcome(self, game: int = 0) -> Outcome | None:
        """How one of the games has ended, None while it goes on."""
        termination = Termination(int(self.terminations[game]))
        if termination == Termination.NONE:
            return None
        return Outcome(termination, COLORS[1 - int(self.colors[game])] if self.lost[game] else None)

    def sample_legal(self, rng: np.random.Generator) -> np.ndarray:
        """int16[B]: one legal action in each game, uniformly at random; without meaning for finished games."""
        picks = (rng.random(len(self)) * self.counts).astype(np.intp)
        return self.actions[np.arange(len(self)), picks]

    def take(self, indices: np.ndarray) -> "Positions":
        """A copy of some of the games."""
        chosen = Positions.__new__(Positions)
        chosen.rules = self.rules
        for name in self.ARRAYS:
            setattr(chosen, name, getattr(self, name)[indices].copy())
        return chosen

    def copy(self) -> "Positions":
        """A copy of all games."""
        return self.take(np.arange(len(self)))
