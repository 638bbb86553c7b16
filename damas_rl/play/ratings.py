"""The rating of the person who plays on this machine: which games change it, and by how much."""

from damas_env.presets import DEFAULT_RULES
from damas_rl.elo import expected_score
from damas_rl.play.table import Table

_STEP = 32.0
"""Elo that a game can change a rating by, at most."""


def counts(table: Table) -> bool:
    """True if a game has ended, says something of the person's strength, and has not changed the rating yet."""
    known = table.game.rules.name == DEFAULT_RULES  # the levels were measured under these
    return known and table.score() is not None and not table.aided and table.gain is None


def rated(table: Table, elo: int, rating: tuple[float, int]) -> tuple[float, int]:
    """The rating (Elo, games) after a game that :func:`counts`, which remembers what it has changed."""
    score, (value, games) = table.score(), rating
    assert score is not None
    table.gain = _STEP * (score - expected_score(value - elo))
    return value + table.gain, games + 1
