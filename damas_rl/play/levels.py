"""The opponents that the page and the terminal offer, from beginner to full strength."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from damas_env.position import Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_rl.players import Choice, Player, PlayerError, make_player, strong_spec
from damas_rl.search.alphabeta import Limits


@dataclass(frozen=True)
class Level:
    """One opponent.

    Attributes:
        id: its name in files and requests; the page has a title for each of ``LEVELS``.
        spec: the player.
        slips: share of its moves that are drawn at random, so that beginners find something to take.
        elsewhere: gives the player under rules that ``spec`` cannot play, None = there is none.
        elo: measured under the rules ``cbd`` (docs/web.md) on a scale where the beginner has 800; None = not measured.
    """

    id: str
    spec: str
    slips: float = 0.0
    elsewhere: Callable[[RuleSet], str] | None = None
    elo: int | None = None


def _strongest(rules: RuleSet) -> str:
    return strong_spec(rules, 1000)


LEVELS = (
    Level("beginner", "alphabeta:depth=1", slips=0.5, elo=800),
    Level("casual", "alphabeta:depth=1", slips=0.15, elo=1115),
    Level("amateur", "alphabeta:depth=2", slips=0.05, elo=1365),
    Level("club", "alphabeta:depth=4", elo=1725),
    Level("strong", "alphabeta:depth=7", elo=2095),
    Level("network", "mcts:net=base,ms=1000", elsewhere=lambda rules: "mcts:net=base,ms=1000,transfer=true", elo=2270),
    Level("full", _strongest(get_rules(DEFAULT_RULES)), elsewhere=_strongest, elo=2700),
)

ADVISER = "full"
"""The level that gives hints."""


class Careless(Player):
    """A player that plays a share of its moves at random; what it expects is its own judgement all the same.

    Args:
        player: whose other moves it plays.
        slips: the share.
        seed: of the slips.
    """

    def __init__(self, player: Player, slips: float, seed: int) -> None:
        self.name = f"{player.name}, {slips:.0%} at random"
        self.parallel = player.parallel
        self._player, self._slips = player, slips
        self._rng = np.random.default_rng(seed)

    def choose(self, positions: Positions) -> Choice:
        """See :class:`~damas_rl.players.Player`."""
        choice = self._player.choose(positions)
        slip = self._rng.random(len(positions)) < self._slips
        actions = np.where(slip, positions.sample_legal(self._rng), choice.actions).astype(np.int16)
        pvs = [
            [action] if slipped else pv
            for slipped, action, pv in zip(slip.tolist(), actions.tolist(), choice.pvs, strict=True)
        ]
        return Choice(actions, choice.values, choice.nodes, pvs)

    def for_search(self, limits: Limits | None) -> Player:
        """See :class:`~damas_rl.players.Player`."""
        return Careless(self._player.for_search(limits), self._slips, int(self._rng.integers(1 << 63)))

    def stop(self) -> None:
        """See :class:`~damas_rl.players.Player`."""
        self._player.stop()


def make_level(level: Level, rules: RuleSet, seed: int) -> Player:
    """The player of a level.

    Raises:
        ValueError: it cannot play by these rules.
    """
    try:
        player = make_player(level.spec, rules, seed)
    except ValueError:
        if level.elsewhere is None:
            raise
        player = make_player(level.elsewhere(rules), rules, seed)
    return Careless(player, level.slips, seed) if level.slips else player


def make_opponent(name: str, rules: RuleSet, seed: int) -> Player:
    """The player of a level's name or of a player's spec.

    Raises:
        ValueError: it is neither, or cannot play by these rules.
    """
    known = {level.id: level for level in LEVELS}
    if name in known:
        return make_level(known[name], rules, seed)
    near = difflib.get_close_matches(name, known, n=1)
    if near and ":" not in name:
        raise PlayerError(f"Unknown level {name!r}. Did you mean {near[0]!r}? Levels: {', '.join(known)}.")
    return make_player(name, rules, seed)
