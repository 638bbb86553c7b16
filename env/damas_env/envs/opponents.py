"""Players that answer inside an environment."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from damas_env.position import Positions
from damas_env.rules import RuleSet


class Reply(Protocol):
    """What :meth:`Opponent.choose` returns."""

    @property
    def actions(self) -> NDArray[np.int16]:
        """int16[B], one legal action a game."""


class Opponent(Protocol):
    """Whoever answers inside an environment; every ``damas_rl`` player is one."""

    def choose(self, positions: Positions) -> Reply:
        """Chooses one legal action in each of the (unfinished) games ``positions``."""


class _Actions(NamedTuple):
    actions: NDArray[np.int16]


class RandomOpponent:
    """Plays each legal move with equal probability."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def choose(self, positions: Positions) -> Reply:
        """See :class:`Opponent`."""
        return _Actions(positions.sample_legal(self._rng))


def make_opponent(spec: str, rules: RuleSet, seed: int) -> Opponent:
    """The opponent that a player spec names.

    Args:
        spec: ``"random"``, or any player spec of ``damas_rl.players`` such as ``"alphabeta:depth=2"``.
        rules: rule set of the games.
        seed: of the opponent's random choices.

    Raises:
        ValueError: the spec is unknown, or needs ``damas_rl``, which is not installed.
    """
    if spec == "random":
        return RandomOpponent(seed)
    try:
        from damas_rl.players import make_player
    except ModuleNotFoundError as error:
        raise ValueError(
            f"Opponent {spec!r} needs the package damas_rl ({error}); install damas-rl, or use "
            "opponent='random' or an object with choose(positions)."
        ) from error
    opponent: Any = make_player(spec, rules, seed)
    return opponent
