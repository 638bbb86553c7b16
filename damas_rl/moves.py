"""Moves by their actions, which are what players choose."""

from damas_env.notation import Move, legal_moves
from damas_env.position import Positions


def move_of(positions: Positions, action: int) -> Move:
    """The legal move of a position, a batch of one, that has an action."""
    return next(move for move in legal_moves(positions) if move.action == action)
