"""The rating of the person who plays on this machine: which games change it, and by how much."""

from typing import TYPE_CHECKING

from damas_env.presets import DEFAULT_RULES
from damas_rl.elo import expected_score
from damas_rl.play.table import Table

if TYPE_CHECKING:  # the file of games belongs to the page
    from damas_rl.play.web.store import Store

_STEP = 32.0
"""Elo that a game can change a rating by, at most."""


def counts(table: Table) -> bool:
    """True if a game has ended, says something of the person's strength, and has not changed the rating yet."""
    known = table.game.rules.name == DEFAULT_RULES  # the levels were measured under these
    return known and table.score() is not None and not table.aided and table.gain is None


def rate(table: Table, elo: int, store: "Store") -> None:
    """Lets a game that :func:`counts` change the rating.

    Raises:
        sqlite3.Error: the rating cannot be kept; it stays as it was.
    """
    score = table.score()
    assert score is not None
    value, games = store.rating()
    gain = _STEP * (score - expected_score(value - elo))
    store.keep_rating(value + gain, games + 1)
    table.gain = gain
