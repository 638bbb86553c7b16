"""What every player is: it chooses moves in batches of games."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from damas_env.position import Positions
from damas_rl.search.alphabeta import Limits


class PlayerError(ValueError):
    """A player spec that cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True)
class Choice:
    """What a player chose in B games.

    Attributes:
        actions: int16[B], legal actions.
        values: float32[B] in [-1, 1], what the player expects for the side to move (0 if it has no idea).
        nodes: int64[B], positions looked at.
        pvs: the expected continuation of each game as actions, the chosen one first; may be empty.
    """

    actions: NDArray[np.int16]
    values: NDArray[np.float32]
    nodes: NDArray[np.int64]
    pvs: list[list[int]]


class Player(ABC):
    """Chooses moves in batches of games.

    Attributes:
        name: for tables and files.
        parallel: what :meth:`for_search` makes may choose at the same time.
    """

    name: str
    parallel = True

    @abstractmethod
    def choose(self, positions: Positions) -> Choice:
        """Chooses one legal action in each game of a batch; none of the games may be over."""

    def for_search(self, limits: Limits | None) -> "Player":
        """This player for one search, with other limits unless they are None.

        A player that does not search stays as it is, and tree search, to which depth means nothing, reads its
        simulations from the nodes.
        """
        return self

    def stop(self) -> None:  # noqa: B027 - nothing to do where no search takes time
        """From now on this player chooses soon, also where it is choosing; may be called from another thread."""
