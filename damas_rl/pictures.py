"""What a network thinks of a few positions, as pictures: the board with a line for each likely move."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from damas_env.notation import Move, format_fen, legal_moves, spell_moves, square_table
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.render import rgb_array
from damas_env.rules import RuleSet
from damas_rl.search.mcts import Evaluate

_PLIES = (0, 15, 28, 41)
"""Plies of random play after which positions are taken: the start, and the ways from there to an ending."""

_GAMES = 64

_FAINTEST = 0.02
"""Probability of the least likely move that is drawn."""

_INK = np.array((30, 90, 220), dtype=np.float64)


class Picture(NamedTuple):
    """A position, and what a network thinks of it.

    Attributes:
        name: tells the positions apart.
        image: uint8[H, W, 3].
        text: the same in words, as Markdown.
    """

    name: str
    image: NDArray[np.uint8]
    text: str


def sample_positions(rules: RuleSet) -> dict[str, Positions]:
    """A few positions with a choice, the same in every run under the same rules, by name."""
    rng = np.random.default_rng(0)
    games = Positions.initial(rules, _GAMES)
    sample = {}
    for ply in range(_PLIES[-1] + 1):
        open_games = np.flatnonzero((games.terminations == 0) & (games.counts > 1))
        if ply in _PLIES and len(open_games):
            sample[f"after {ply} plies"] = games.take(open_games[:1])
        games.step(games.sample_legal(rng), games.terminations == 0)
    return sample


def thoughts(rules: RuleSet, evaluator: Evaluate) -> list[Picture]:
    """What a network, without any search, thinks of the sampled positions."""
    made = []
    for name, positions in sample_positions(rules).items():
        logits, values, plies_left = evaluator.evaluate(positions.boards, features(positions))
        legal = legal_moves(positions)
        scores = logits[0, [move.action for move in legal]].astype(np.float64)
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        order = np.argsort(-chances, kind="stable")
        spelled = spell_moves(legal, positions)
        likely = ", ".join(f"{spelled[index]} {chances[index]:.0%}" for index in order[:5])
        text = (
            f"`{format_fen(positions.boards[0], int(positions.colors[0]), rules)}`  \n"
            f"value {values[0]:+.2f} for the side to move, {plies_left[0]:.0f} plies left  \n{likely}"
        )
        made.append(Picture(name, policy_picture(positions, legal, chances), text))
    return made


def policy_picture(
    positions: Positions, legal: list[Move], chances: NDArray[np.float64], cell: int = 30
) -> NDArray[np.uint8]:
    """The board of a single position, with a line from square to square for each move that is likely enough.

    Args:
        positions: one position.
        legal: its legal moves.
        chances: probability of each; likely moves get thick and strong lines, with a dot where they end.
        cell: side of a square in pixels.
    """
    image = rgb_array(positions, cell=cell).astype(np.float64)
    cells = np.array(square_table(positions.rules).cells) + 1.0  # centres, in squares from the corner of the frame
    for index in np.argsort(chances, kind="stable"):
        if chances[index] >= _FAINTEST:
            _draw_move(
                image, cells[legal[index].frm] * cell, cells[legal[index].to] * cell, float(chances[index]), cell
            )
    return np.rint(image).astype(np.uint8)


def _draw_move(
    image: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64], chance: float, cell: int
) -> None:
    """Draws a line with a dot at its end into an image; places are (row, column) in pixels."""
    half, dot = (0.03 + 0.06 * chance) * cell, (0.1 + 0.08 * chance) * cell
    low = np.floor(np.minimum(start, end) - dot - 1).astype(int)
    high = np.ceil(np.maximum(start, end) + dot + 1).astype(int)
    part = image[low[0] : high[0], low[1] : high[1]]
    places = np.moveaxis(np.mgrid[low[0] : high[0], low[1] : high[1]] + 0.5, 0, -1)
    way = end - start
    along = np.clip(((places - start) @ way) / max(float(way @ way), 1.0), 0.0, 1.0)
    aside = np.linalg.norm(places - start - along[..., None] * way, axis=-1)
    apart = np.linalg.norm(places - end, axis=-1)
    covered = np.clip(np.maximum(half - aside, dot - apart) + 0.5, 0.0, 1.0) * (0.35 + 0.65 * chance)
    part += covered[..., None] * (_INK - part)
