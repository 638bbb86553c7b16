"""Continuations and values as text."""

from collections.abc import Sequence

import numpy as np

from damas_env.notation import legal_moves, spell_moves
from damas_env.position import Positions


def spell_line(positions: Positions, actions: Sequence[int], notation: str = "numeric") -> list[str]:
    """The moves of a continuation, each spelled where it is played.

    Args:
        positions: where it begins, a batch of one.
        actions: legal one after the other.
        notation: ``"numeric"`` or ``"algebraic"``.
    """
    line, texts = positions.copy(), []
    for action in actions:
        legal = legal_moves(line)
        number = [move.action for move in legal].index(action)
        texts.append(spell_moves(legal, line, notation=notation)[number])
        line.step(np.array([action]))
    return texts


def signed(value: float) -> str:
    """A value with its sign and two decimals; nothing is ``-0.00``."""
    return f"{round(float(value), 2) + 0.0:+.2f}"
