"""How a game can end."""

from dataclasses import dataclass
from enum import IntEnum


class Termination(IntEnum):
    """Why a game is over; the numbers are those of ``Positions.terminations``."""

    NONE = 0
    """The game goes on."""
    NO_PIECES = 1
    """The side to move has no piece left and loses."""
    BLOCKED = 2
    """The side to move has pieces but no legal move and loses."""
    REPETITION = 3
    """The position has occurred as often as the rules allow, with the same side to move: draw."""
    NO_PROGRESS = 4
    """Too many plies without progress, by a draw law such as kings only, without capture or man move: draw."""
    ENDING = 5
    """A theoretically drawn ending has gone on for as long as the rules allow: draw."""
    PLY_CAP_DRAW = 6
    """The rule set's longest game: draw."""
    PLY_CAP = 7
    """The ply cap truncates the game; nobody has won."""
    RESIGNATION = 8
    """A player has resigned."""
    AGREEMENT = 9
    """The players have agreed to a draw."""
    TIME = 10
    """A player's time is up."""


@dataclass(frozen=True)
class Outcome:
    """How a game ended.

    Attributes:
        termination: the reason.
        winner: ``"W"``, ``"B"`` or None (draw or truncation).
    """

    termination: Termination
    winner: str | None

    def as_dict(self) -> dict[str, str | None]:
        """Both as text: ``{"termination": "BLOCKED", "winner": "W"}``."""
        return {"termination": self.termination.name, "winner": self.winner}
