"""Errors of users: ``ValueError`` subclasses whose message is one sentence that names problem and remedy."""


class NotationError(ValueError):
    """A text that does not say what it should."""


class SquareError(NotationError):
    """Not a square of this board."""


class FenError(NotationError):
    """Not a position of this rule set."""


class PdnError(NotationError):
    """Not a PDN file, or a game that cannot be written as PDN."""


class InvalidMoveError(NotationError):
    """Not written like a move."""


class IllegalMoveError(NotationError):
    """Written like a move, but not legal in this position; the message lists the legal ones."""


class AmbiguousMoveError(NotationError):
    """Fits several legal moves; the message lists them."""


class IllegalActionError(ValueError):
    """An action index that is not legal in its game; the message names the game and lists the legal ones."""


class OpponentError(ValueError):
    """The player that answers inside an environment gave no legal action; nothing has changed in the environment."""


def quoted(text: str, limit: int = 60) -> str:
    """``text`` in quotes for a message: control characters escaped, at most ``limit`` characters of it."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def shown(value: object, limit: int = 60) -> str:
    """Whatever a user gave, as Python writes it, for a message: on one line and at most ``limit`` characters."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no integers of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= limit else text[: limit - 3] + "..."
