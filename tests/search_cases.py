"""Positions for the tests of search and self-play, a network without symmetry, and an exhaustive solver."""

from functools import cache

import numpy as np

from damas_env.game import Game
from damas_env.position import Positions
from damas_env.rules import get_rules

RULES = get_rules("cbd")


def _mix(words: np.ndarray) -> np.ndarray:
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))


class HashEvaluator:
    """A network without any symmetry: logits in [-2, 2) and values in [-0.9, 0.9) hashed from all inputs."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.batches.append(len(boards))
        code = np.zeros(len(boards), np.uint64)
        for word in (*boards.T, *np.ascontiguousarray(features, np.float32).view(np.uint32).T):
            code = _mix(code * np.uint64(31) + word.astype(np.uint64) + np.uint64(1))
        each = _mix(code[:, None] + np.arange(1, RULES.num_actions + 1, dtype=np.uint64))
        logits = (each >> np.uint64(40)) / 2.0**24 * 4 - 2
        values = (_mix(code) >> np.uint64(40)) / 2.0**24 * 1.8 - 0.9
        return logits.astype(np.float32), values.astype(np.float32), np.ones(len(boards), np.float32)


def join(parts: list[Positions]) -> Positions:
    """Several batches as one."""
    joined = Positions(RULES, sum(map(len, parts)))
    for name in Positions.ARRAYS:
        getattr(joined, name)[:] = np.concatenate([getattr(part, name) for part in parts])
    return joined


def after(fen: str | None, moves: str = "", **counters: int) -> Positions:
    """A batch of one: a FEN, then moves; counters may be set to stand in for plies before the FEN."""
    game = Game(RULES, fen)
    for name, plies in counters.items():
        game.positions.counters[0, RULES.counter_names.index(name)] = plies
    for move in moves.split():
        game.push(move)
    return game.positions


@cache
def random_games() -> tuple[list[Positions], np.ndarray]:
    """96 random games: the batch after 0, 1, 2, ... plies, and the length of each game."""
    rng = np.random.default_rng(7)
    batch = Positions.initial(RULES, 96)
    snapshots = [batch.copy()]
    while (batch.terminations == 0).any():
        picks = (rng.random(len(batch)) * np.maximum(batch.counts, 1)).astype(int)
        batch.step(batch.actions[np.arange(len(batch)), picks])
        snapshots.append(batch.copy())
    return snapshots, batch.plies


def before_the_end(plies: int, games: range) -> Positions:
    """Positions so many plies before the end of random games: they have terminal children, or soon do."""
    snapshots, lengths = random_games()
    return join([snapshots[lengths[game] - plies].take(np.array([game])) for game in games])


SHUFFLE = "W:WK30,K31,K32,K28:BK1,K2,K3,K5"


@cache
def draws() -> Positions:
    """Positions in which counters and repetitions decide, within reach of a search."""
    return join([
        after("W:WK9,K22:B28", kings_only=39),  # blocking the man with the last ply wins, all else draws
        after("W:WK9,K22:B28", kings_only=37),
        after("B:WK9,K22:BK28,K12,4", kings_only=36),
        after("W:WK29:BK4", ending=9),  # on the main diagonal, one king each
        after("W:WK29,25:BK4", ending=9),  # two moves, each of which draws
        after("W:WK30:BK3", ending=7),
        after("B:WK30:BK3", ending=8, kings_only=20),
        after("W:WK30,K31:BK3,K1", ending=6, kings_only=31),
        after("W:WK30,K18:BK3", ending=5),
        after(SHUFFLE, "31-26 2-9 26-31 9-2 31-26 2-9"),  # two plies before the third occurrence
        after(SHUFFLE, "31-26 2-9 26-31 9-2 31-26 2-9 26-31"),
        after(SHUFFLE, "31-26 2-9 26-31 9-2 31-26"),
    ])  # fmt: skip


@cache
def everything() -> Positions:
    """Start, opening, middle games, endings with terminal children, draw counters, repetitions."""
    snapshots, _ = random_games()
    return join([
        snapshots[0].take(np.arange(1)),
        *(snapshots[plies].take(np.arange(2 * k, 2 * k + 2)) for k, plies in enumerate((3, 10, 20, 30))),
        *(before_the_end(plies, range(10 * plies, 10 * plies + 4)) for plies in (1, 2, 3, 5, 9)),
        draws(),
    ])  # fmt: skip


def mates() -> Positions:
    """Positions with a move that wins at once."""
    last = before_the_end(1, range(96))
    won = random_games()[0][-1].lost
    return join([last.take(np.flatnonzero(won)), after("W:WK9,K22:B28", kings_only=39)])


def solve(position: Positions, depth: int) -> float | None:
    """Exact value of a batch of one for the side to move, None if ``depth`` plies do not decide it: all lines."""
    levels, parents = [position], []
    for _ in range(depth):
        last = levels[-1]
        rows = np.repeat(np.arange(len(last)), np.where(last.terminations == 0, last.counts, 0))
        columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
        children = last.take(rows)
        if len(rows):
            children.step(last.actions[rows, columns])
        levels.append(children)
        parents.append(rows)
    values = np.where(levels[-1].terminations == 0, np.nan, levels[-1].rewards())
    for level, rows in zip(levels[-2::-1], parents[::-1], strict=True):
        best, open_ = np.full(len(level), -np.inf), np.zeros(len(level), bool)
        np.fmax.at(best, rows, -values)
        open_[rows[np.isnan(values)]] = True
        inner = np.where(open_ & (best < 1), np.nan, best)
        values = np.where(level.terminations == 0, inner, level.rewards())
    return None if np.isnan(values[0]) else float(values[0])


def twin(fen: str) -> str:
    """The FEN with colours swapped and the board turned."""
    turn, white, black = fen.split(":")

    def turned(side: str) -> str:
        return ",".join(f"{'K' * ('K' in field)}{33 - int(field.strip('WBK'))}" for field in side.split(","))

    return f"{'BW'['WB'.index(turn)]}:W{turned(black)}:B{turned(white)}"
