"""The players of this package: random moves, alpha-beta, tree search with a network, a network's raw policy."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from damas_env.observation import features
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet
from damas_rl.players.base import Choice, Player
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.learned import HAND_MADE
from damas_rl.search.mcts import Evaluate, Search, SearchConfig, SearchResult, new_search
from damas_rl.tablebase import Tablebase

_SIMULATIONS = 200

PLAYING = SearchConfig(prior_temperature=1.4)
"""How players search trees.

Networks that learn from Gumbel policies are surer of their first moves than a search of hundreds of simulations should
be: with 1.4 the network ``base`` gained 53 Elo (27 to 76) at 200 simulations (docs/search.md).
"""

MOST_SIMULATIONS = 1 << 14
"""For each move. A batch of 256 games takes 3.6 GB of trees then."""

_LEAVES_IN_TIME = 4
"""Leaves of one tree that the network is asked about together where time is limited.

Two or four are worth about 60 Elo more than one at equal time (docs/strength.md).
"""

_MOST_IN_TIME, _MOST_IN_A_MS = 1 << 18, 100
"""Simulations where time is limited, in all and for each millisecond: 220 MB of trees for a thread at most.

A millisecond has time for about 11 with the network ``small`` (docs/performance.md). Simulations that end in proven
positions do not look at the clock; so many of them take a tenth of the time.
"""


class RandomPlayer(Player):
    """Plays each legal move with equal probability."""

    def __init__(self, seed: int, name: str = "random") -> None:
        self.name = name
        self._rng = np.random.default_rng(seed)

    def choose(self, positions: Positions) -> Choice:
        """See :class:`Player`."""
        size = len(positions)
        actions = positions.sample_legal(self._rng)
        return Choice(actions, np.zeros(size, np.float32), np.zeros(size, np.int64), [[] for _ in range(size)])


class AlphaBetaPlayer(Player):
    """Plays what alpha-beta finds; moves of equal score are drawn between."""

    def __init__(
        self,
        rules: RuleSet,
        limits: Limits,
        seed: int,
        tablebase: Tablebase | None = None,
        weights: np.void = HAND_MADE,
        name: str = "alphabeta",
    ) -> None:
        self.name = name
        self._search = AlphaBeta(rules, limits, tablebase, weights)
        self._weights = weights
        self._rng = np.random.default_rng(seed)

    def choose(self, positions: Positions) -> Choice:
        """See :class:`Player`."""
        seeds = self._rng.integers(0, 1 << 63, size=len(positions), dtype=np.uint64)
        result = self._search.search(positions, seeds)
        return Choice(result.actions, result.values(), result.nodes, result.variations())

    def for_search(self, limits: Limits | None) -> Player:
        """See :class:`Player`."""
        search, seed = self._search, int(self._rng.integers(1 << 63))
        return AlphaBetaPlayer(search.rules, limits or search.limits, seed, search.tablebase, self._weights, self.name)

    def stop(self) -> None:
        """See :class:`Player`."""
        self._search.stop()


class MctsPlayer(Player):
    """Plays the choice of tree search with a network, without exploration noise.

    Without a time limit all games of a batch are searched together, so that the network answers them in one call. With
    one, each game is searched by itself: it gets its milliseconds of one thread, whatever the size of the batch.

    Args:
        rules: rule set of the games.
        evaluator: the network.
        simulations: for each move; None = 200, or what a time limit allows.
        tablebase: exact endgames that the search asks.
        name: for tables and files.
        ms: milliseconds for each move, None = no limit.
        config: how trees are searched; None = as usual.
    """

    def __init__(
        self,
        rules: RuleSet,
        evaluator: Evaluate,
        simulations: int | None = None,
        tablebase: Tablebase | None = None,
        name: str = "mcts",
        ms: int | None = None,
        config: SearchConfig | None = None,
    ) -> None:
        self.name, self._config = name, config or PLAYING
        self._rules, self._evaluator, self._tablebase, self._ms = rules, evaluator, tablebase, ms
        possible = MOST_SIMULATIONS if ms is None else min(_MOST_IN_TIME, _MOST_IN_A_MS * ms)
        default = _SIMULATIONS if ms is None else possible
        self._simulations = min(simulations or default, possible)
        self._searches: list[Search] = []
        self._stopped = False

    def choose(self, positions: Positions) -> Choice:
        """See :class:`Player`."""
        size = len(positions)
        if self._ms is not None:
            return _joined(self._in_time(positions))
        parts = np.array_split(np.arange(size), min(THREADS, size))
        if not self._searches or self._searches[0].games < len(parts[0]) or len(self._searches) < len(parts):
            self._searches = [self._new_search(len(parts[0])) for _ in parts]
        if len(parts) == 1:
            choices = [self._run(self._searches[0], positions)[0]]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                taken = [positions.take(part) for part in parts]
                choices = [choice for choice, _ in pool.map(self._run, self._searches, taken)]
        return _joined(choices)

    def look(self, positions: Positions) -> tuple[Choice, SearchResult]:
        """The choice in one game, and all that the search has found at its root."""
        return self._run(self._new_search(1), positions)

    def for_search(self, limits: Limits | None) -> Player:
        """See :class:`Player`."""
        simulations, ms = (limits.nodes, limits.ms) if limits else (None, None)
        if simulations is ms is None:
            simulations, ms = self._simulations, self._ms
        return MctsPlayer(self._rules, self._evaluator, simulations, self._tablebase, self.name, ms, self._config)

    def stop(self) -> None:
        """See :class:`Player`."""
        self._stopped = True

    def _in_time(self, positions: Positions) -> list[Choice]:
        """The choice in each game, searched by itself on one of the threads."""
        while len(self._searches) < min(THREADS, len(positions)):
            search = self._new_search(1)
            search.run(positions.take(np.zeros(1, int)), 1)  # kernels are compiled outside the time limit
            self._searches.append(search)
        idle: SimpleQueue[Search] = SimpleQueue()
        for search in self._searches:
            idle.put(search)

        def choose(game: int) -> Choice:
            search = idle.get()
            try:
                return self._run(search, positions.take(np.array([game])))[0]
            finally:
                idle.put(search)

        with ThreadPoolExecutor(len(self._searches)) as pool:
            return list(pool.map(choose, range(len(positions))))

    def _new_search(self, games: int) -> Search:
        leaves = self._config.leaves_per_tree if self._ms is None else _LEAVES_IN_TIME
        config = dataclasses.replace(self._config, leaves_per_tree=leaves)
        return new_search(self._rules, self._evaluator, config, games, self._simulations, self._tablebase)

    def _run(self, search: Search, positions: Positions) -> tuple[Choice, SearchResult]:
        # A forced move is played whatever the search says.
        budget = np.where(positions.counts > 1, self._simulations, 1).astype(np.int32)
        seconds = None if self._ms is None else self._ms / 1000
        result = search.run(positions, budget, seconds=seconds, stop=lambda: self._stopped)
        pvs = [search.principal_variation(game) for game in range(len(positions))]
        # The most visited line need not begin with the chosen move.
        pvs = [pv if pv[:1] == [choice] else [choice] for pv, choice in zip(pvs, result.choice.tolist(), strict=True)]
        return Choice(result.choice, result.value, result.simulations.astype(np.int64), pvs), result


def _joined(choices: list[Choice]) -> Choice:
    """The choices in the parts of a batch as one."""
    return Choice(
        np.concatenate([choice.actions for choice in choices]),
        np.concatenate([choice.values for choice in choices]),
        np.concatenate([choice.nodes for choice in choices]),
        [pv for choice in choices for pv in choice.pvs],
    )


class PolicyPlayer(Player):
    """Plays the legal move to which a network gives the highest probability."""

    def __init__(self, evaluator: Evaluate, name: str = "policy") -> None:
        self.name = name
        self._evaluator = evaluator

    def choose(self, positions: Positions) -> Choice:
        """See :class:`Player`."""
        logits, values, _ = self._evaluator.evaluate(positions.boards, features(positions))
        actions = np.where(positions.masks(), logits, -np.inf).argmax(axis=1).astype(np.int16)
        return Choice(actions, values, np.ones(len(positions), np.int64), [[int(action)] for action in actions])
