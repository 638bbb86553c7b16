"""Whether a level takes the draw that a person offers.

A draw is agreed late and in a level game only: else one could draw with full strength on the first move.
"""

from damas_env.game import Game

_MOVES = 20
"""Moves of each side before which a level takes no draw, unless few pieces are left."""

_FEW = 8
"""Pieces with which a game is near its end however it began, at a position that was set up say."""

_LEVEL = 0.1
"""Value, for itself, up to which a level expects no more than a draw; a man more is worth 0.24."""


def too_early(game: Game) -> str | None:
    """Why no level takes a draw yet, in one sentence, without a search; None if it may."""
    if game.ply >= 2 * _MOVES or len(game.board()) <= _FEW:
        return None
    return (
        f"It is too early for a draw: the computer takes one after {_MOVES} moves of each side, or with {_FEW} pieces "
        "or fewer."
    )


def refusal(value: float) -> str | None:
    """Why a level declines, in one sentence; None if it takes the draw.

    Args:
        value: what its search expects for the person who offers, who is to move.
    """
    return "The computer declines the draw: it expects more." if -value > _LEVEL else None
