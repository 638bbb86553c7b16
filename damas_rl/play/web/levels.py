"""The opponents that the page offers, from beginner to full strength, and the threads on which they think."""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from damas_env.position import THREADS, Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_rl.players import Choice, Player, make_player, read_spec


@dataclass(frozen=True)
class Level:
    """One opponent.

    Attributes:
        id: its name in files and requests; the page has a title for each of ``LEVELS``.
        spec: the player.
        slips: share of its moves that are drawn at random, so that beginners find something to take.
        elsewhere: the player under rules that ``spec`` cannot play, "" = none.
        elo: measured under the rules ``cbd`` (benchmarks/levels.py) on a scale where the beginner has 800; None = not
            measured.
    """

    id: str
    spec: str
    slips: float = 0.0
    elsewhere: str = ""
    elo: int | None = None


LEVELS = (
    Level("beginner", "alphabeta:depth=1", slips=0.5, elo=800),
    Level("casual", "alphabeta:depth=1", slips=0.15, elo=1115),
    Level("amateur", "alphabeta:depth=2", slips=0.05, elo=1365),
    Level("club", "alphabeta:depth=4", elo=1725),
    Level("strong", "alphabeta:depth=7", elo=2095),
    Level("network", "mcts:net=small,ms=1000", elsewhere="mcts:net=small,ms=1000,transfer=true"),
    Level("full", "alphabeta:ms=1000,eval=cbd,tables=4", elsewhere="alphabeta:ms=1000"),
)

AT_ONCE = max(8, THREADS)
"""Searches that run together. Alpha-beta lets its own wait where they are more than the cores."""

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


def make_level(level: Level, rules: RuleSet, seed: int) -> Player:
    """The player of a level.

    Raises:
        ValueError: it cannot play by these rules.
    """
    try:
        player = make_player(level.spec, rules, seed)
    except ValueError:
        if not level.elsewhere:
            raise
        player = make_player(level.elsewhere, rules, seed)
    return Careless(player, level.slips, seed) if level.slips else player


class Levels:
    """The levels of a server, and players for them.

    Players serve one search at a time; idle ones are kept, so that the tables of a search are allocated once.

    Args:
        specs: further players, such as the network of a run; each becomes a level that is named like its spec.

    Raises:
        PlayerError: a spec cannot be read.
    """

    def __init__(self, specs: Iterable[str] = ()) -> None:
        extra = []
        for spec in specs:
            read_spec(spec)
            extra.append(Level(spec, spec))
        self.all = {level.id: level for level in (*LEVELS, *extra)}
        self._seeds = np.random.SeedSequence()
        self._idle: dict[tuple[str, str], list[Player]] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="damas-web")

    def why_not(self, level: str, rules: RuleSet) -> str | None:
        """Why a level cannot play by these rules, in one sentence; None if it can."""
        try:
            self._keep(level, rules, self._take(level, rules))
        except (ValueError, OSError) as error:
            return str(error)
        return None

    @property
    def pool(self) -> ThreadPoolExecutor:
        """Where searches run, ``AT_ONCE`` of them together."""
        return self._pool

    def warm_up(self) -> None:
        """Makes the level that gives hints ready for the usual rules, which takes a while on a new machine."""
        self.why_not(ADVISER, get_rules(DEFAULT_RULES))

    def choose(self, level: str, positions: Positions) -> Choice:
        """What a level plays in a position, a batch of one that goes on. Takes as long as the player takes."""
        player = self._take(level, positions.rules)
        try:
            return player.choose(positions)
        finally:
            self._keep(level, positions.rules, player)

    def close(self) -> None:
        """Ends the threads; searches that still run finish within their limits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _take(self, level: str, rules: RuleSet) -> Player:
        with self._lock:
            idle = self._idle.get((level, rules.name))
            if idle:
                return idle.pop()
            seed = int(self._seeds.spawn(1)[0].generate_state(1)[0])
        return make_level(self.all[level], rules, seed)

    def _keep(self, level: str, rules: RuleSet, player: Player) -> None:
        with self._lock:
            idle = self._idle.setdefault((level, rules.name), [])
            if len(idle) < AT_ONCE:
                idle.append(player)
