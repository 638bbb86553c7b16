"""Quiet positions with results: of games that alpha-beta plays against itself, and of endgame tables."""

import dataclasses
import io
import zipfile
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from damas_env.movegen import is_capture
from damas_env.position import Positions
from damas_rl.endgames import sample_endgames
from damas_rl.files import atomic_write
from damas_rl.search.alphabeta import AlphaBeta
from damas_rl.search.transpositions import PROVEN, WON
from damas_rl.tablebase import Tablebase
from damas_rl.tablebase.endgames import LOSS, WIN

FEWEST_PLIES, MOST_PLIES = 3, 16
"""Random plies at the start of a game. Many such games are lopsided: an evaluation has to know these too."""


@dataclass(frozen=True)
class Samples:
    """N quiet positions of games.

    Attributes:
        boards: uint64[N, 4], in the view of the side to move.
        scores: int32[N], of the search, for the side to move.
        results: int8[N], of the game, for the side to move: 1 = won, 0 = drawn, -1 = lost.
        games: int32[N], which game a position is from.
    """

    boards: NDArray[np.uint64]
    scores: NDArray[np.int32]
    results: NDArray[np.int8]
    games: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.games)

    @staticmethod
    def join(parts: "list[Samples]") -> "Samples":
        """Several lists as one; games keep their numbers."""
        names = [field.name for field in fields(Samples)]
        return Samples(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def save(self, path: Path) -> None:
        """Writes a file, all or nothing; OSError if it cannot be written."""
        buffer = io.BytesIO()
        np.savez(buffer, **{field.name: getattr(self, field.name) for field in fields(self)})
        atomic_write(path, [buffer.getbuffer()])

    @staticmethod
    def load(path: Path, number: int) -> "Samples":
        """Reads a file of :meth:`save`; its games are numbered from ``number``.

        Raises:
            ValueError: it is damaged, or holds something else.
        """
        try:
            with np.load(path, allow_pickle=False) as columns:
                samples = Samples(*(columns[field.name] for field in fields(Samples)))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            raise ValueError(f"{path} holds no games; remove it, and it is played again.") from None
        return dataclasses.replace(samples, games=samples.games + np.int32(number))


def play_games(search: AlphaBeta, table: Tablebase, count: int, seed: int) -> Samples:
    """Plays ``count`` games at once, numbered from 0.

    A game ends as well when the search has proven its result, or when the table knows it.

    Args:
        search: makes the moves.
        table: endgame table of these rules.
        count: games.
        seed: of the random plies and of choices between moves of equal score.
    """
    rng = np.random.default_rng(seed)
    positions = _start(search, count, rng)
    results = np.zeros(count, dtype=np.int8)  # for White
    boards, scores, colors, games = [], [], [], []
    going_on = np.flatnonzero(positions.terminations == 0)
    while len(going_on):
        current = positions.take(going_on)
        found = search.search(current, rng.integers(0, 1 << 63, size=len(current), dtype=np.uint64))
        # Captures are never mixed with quiet moves.
        quiet = ~is_capture(current.moves[:, 0])
        boards.append(current.boards[quiet])
        scores.append(found.scores[quiet].astype(np.int32))
        colors.append(current.colors[quiet])
        games.append(going_on[quiet].astype(np.int32))
        proven = np.abs(found.scores) >= PROVEN
        results[going_on[proven]] = (np.sign(found.scores) * (1 - 2 * current.colors))[proven]
        going_on, actions = going_on[~proven], np.full(count, -1, dtype=np.int16)
        actions[going_on] = found.actions[~proven]
        positions.step(actions, actions >= 0)
        over = positions.terminations[going_on] != 0
        lost = going_on[positions.lost[going_on]]
        results[lost] = 2 * positions.colors[lost] - 1
        going_on = going_on[~over]
        known, plies = table.look_up(positions.take(going_on))
        settled = going_on[plies >= 0]
        results[settled] = known[plies >= 0] * (1 - 2 * positions.colors[settled])
        going_on = going_on[plies < 0]
    game = np.concatenate(games)
    return Samples(
        np.concatenate(boards),
        np.concatenate(scores),
        results[game] * (1 - 2 * np.concatenate(colors)),
        game,
    )


def solved_endgames(table: Tablebase, count: int, seed: int) -> Samples:
    """Quiet ones of ``count`` random positions of an endgame table, each a game of its own, numbered from 0.

    Games end where the table begins, so without these nothing would be learned of such positions.
    """
    positions = sample_endgames(table, count, np.random.default_rng(seed))
    positions = positions.take(np.flatnonzero(~is_capture(positions.moves[:, 0])))
    proofs = table.judge(positions).proof
    results = np.select([proofs == WIN, proofs == LOSS], [1, -1], 0)
    return Samples(
        positions.boards,
        (WON * results).astype(np.int32),
        results.astype(np.int8),
        np.arange(len(positions), dtype=np.int32),
    )


def _start(search: AlphaBeta, count: int, rng: np.random.Generator) -> Positions:
    """Unfinished games after random plies."""
    positions = Positions.initial(search.rules, count)
    plies = rng.integers(FEWEST_PLIES, MOST_PLIES + 1, size=count)
    while True:
        for _ in range(MOST_PLIES):
            positions.step(positions.sample_legal(rng), (positions.terminations == 0) & (positions.plies < plies))
        over = positions.terminations != 0
        if not over.any():
            return positions
        positions.reset(over)
