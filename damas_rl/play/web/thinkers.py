"""The players behind the levels of a server, and the threads on which they think."""

import asyncio
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from damas_env.position import Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_rl.play.levels import ADVISER, LEVELS, Level, make_level
from damas_rl.play.web.stop import Stop
from damas_rl.players import Choice, Player, read_spec

AT_ONCE = 32
"""Searches that run together. They share the cores: where time is limited they answer in time, but see less."""


class Thinkers:
    """The levels of a server, and players for them.

    Players serve one search at a time; idle ones are kept with their memory. Further ones come from the first one of
    their level, so that a network is loaded once.

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
        self._first: dict[tuple[str, str], Player] = {}
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

    async def choose(self, level: str, positions: Positions) -> Choice:
        """What a level plays in a position, a batch of one that goes on; cancelling ends the search."""
        stop = Stop()
        search = asyncio.get_running_loop().run_in_executor(self._pool, self._search, level, positions, stop)
        try:
            return await search
        except asyncio.CancelledError:
            stop.now()
            raise

    def close(self) -> None:
        """Ends the threads; searches that still run finish within their limits."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _search(self, level: str, positions: Positions, stop: Stop) -> Choice:
        player = self._take(level, positions.rules)
        try:
            return stop.choice(player, positions)
        finally:
            # A stopped player stays so; it is replaced by one like it.
            self._keep(level, positions.rules, player.for_search(None) if stop.asked else player)

    def _take(self, level: str, rules: RuleSet) -> Player:
        key = level, rules.name
        with self._lock:
            if self._idle.get(key):
                return self._idle[key].pop()
            if key in self._first and self._first[key].parallel:
                return self._first[key].for_search(None)
            seed = int(self._seeds.spawn(1)[0].generate_state(1)[0])
        player = make_level(self.all[level], rules, seed)
        with self._lock:
            self._first.setdefault(key, player)
        return player

    def _keep(self, level: str, rules: RuleSet, player: Player) -> None:
        with self._lock:
            idle = self._idle.setdefault((level, rules.name), [])
            if len(idle) < AT_ONCE:
                idle.append(player)
