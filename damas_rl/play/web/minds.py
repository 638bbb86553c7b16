"""Whose mind a person can look into: networks, by tree search, and other players, by a search behind each move."""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.analysis import judge_moves
from damas_rl.play.levels import LEVELS, Level, make_level
from damas_rl.play.table import RequestError
from damas_rl.play.web.stop import Stop
from damas_rl.play.web.training import TrainingRun
from damas_rl.players import PLAYING, Player, network_of
from damas_rl.search.alphabeta import Limits
from damas_rl.search.mcts import Evaluate, Search

_SIMULATIONS = (32, 128, 512, 2048, 8192)
"""Simulations of the searches that follow each other; each begins anew, the last takes three quarters of the time."""

_NODES = (1_000, 10_000, 100_000, 1_000_000)
"""The same for other players, behind each move."""

_SAMPLE = 256
"""Leaves of a tree, about, at which the network is asked how likely a draw is."""

_SHIPPED, _SIZE = ("network", "full"), 8
"""The levels that are minds, and the size of the boards that the first one knows."""

_MOST_MINDS = 8
"""Networks and players in memory; those that were asked longest ago leave first."""


class Thought(NamedTuple):
    """What a mind thinks of a position; values are from -1 to 1, for the side to move.

    Attributes:
        work: simulations, or positions looked at.
        value: of the position.
        draw: how likely a draw is, None if the mind says nothing of it.
        proven: the value is exact.
        actions, values: of each legal move.
        visits, priors: of each legal move, None where there is no tree search.
        line: the expected continuation, as actions.
    """

    work: int
    value: float
    draw: float | None
    proven: bool
    actions: list[int]
    values: list[float]
    visits: list[int] | None
    priors: list[float] | None
    line: list[int]


class Mind(Protocol):
    """One that thinks.

    Attributes:
        steps: how much work it may do, search after search.
        glance: how much for one position of a whole game.
    """

    steps: tuple[int, ...]
    glance: int

    def think(self, positions: Positions, work: int, stop: Stop) -> Thought:
        """Thinks about a position, a batch of one that goes on, until ``stop`` ends it; several threads may ask."""
        ...


class NetworkMind:
    """A network.

    Args:
        source: see :func:`damas_rl.checkpoint.load_network`.
    """

    steps: tuple[int, ...] = _SIMULATIONS
    glance = 256

    def __init__(self, source: str | Path) -> None:
        from damas_rl.checkpoint import load_network
        from damas_rl.networks import evaluator_of_few

        self._network, trained_for = load_network(source)
        self._evaluator, self._size = evaluator_of_few(self._network), trained_for.size
        self._idle: dict[str, list[Search]] = {}
        self._lock = threading.Lock()

    def think(self, positions: Positions, work: int, stop: Stop) -> Thought:
        """See :class:`Mind`."""
        rules = positions.rules
        if rules.size != self._size:
            raise RequestError(f"This network knows boards of {self._size}x{self._size} only.")
        with self._lock:
            idle = self._idle.setdefault(rules.name, [])
            search = idle.pop() if idle else None
        leaves = _Leaves(self._evaluator, work)
        if search is None:
            search = Search(rules, leaves, replace(PLAYING, leaves_per_tree=4), 1, self.steps[-1])
        search.evaluator = leaves
        try:
            result = search.run(positions, work, stop=lambda: stop.asked)
            line = search.principal_variation(0)
        finally:
            with self._lock:
                self._idle[rules.name].append(search)
        count, value, proven = int(result.counts[0]), float(result.value[0]), bool(result.proven[0])
        return Thought(
            work=int(result.simulations[0]),
            value=value,
            draw=1.0 - abs(value) if proven else self._draw(leaves, int(result.simulations[0]), value),
            proven=proven,
            actions=result.actions[0, :count].tolist(),
            values=result.q[0, :count].tolist(),
            visits=result.visits[0, :count].tolist(),
            priors=result.priors[0, :count].tolist(),
            line=line,
        )

    def _draw(self, leaves: "_Leaves", simulations: int, value: float) -> float:
        """The chance of a draw after the search: as the value is the mean of those at the leaves, so is this.

        Simulations that ended in finished games count as what the value says of them.
        """
        import torch

        from damas_rl.networks.evaluator import use_threads

        use_threads(1)
        with torch.inference_mode():
            boards, features = leaves.sample()
            outcome = self._network(torch.from_numpy(boards.view(np.int64)), torch.from_numpy(features))[1]
        share = min(1.0, leaves.count / (simulations + 1))
        draw = share * float(outcome.softmax(dim=1)[:, 1].mean()) + (1.0 - share) * (1.0 - abs(value))
        return min(draw, 1.0 - abs(value))


class _Leaves:
    """An evaluator that keeps some of the positions that it was asked about.

    Args:
        evaluator: who answers.
        simulations: of the search that asks.
    """

    def __init__(self, evaluator: Evaluate, simulations: int) -> None:
        self._evaluator, self._every = evaluator, max(1, simulations // _SAMPLE)
        self._kept: list[tuple[NDArray[np.uint64], NDArray[np.float32]]] = []
        self._calls = self.count = 0

    def evaluate(self, boards: NDArray[np.uint64], features: NDArray[np.float32]) -> Any:
        """See :meth:`damas_rl.networks.Evaluator.evaluate`."""
        if self._calls % self._every == 0:
            self._kept.append((boards.copy(), features.copy()))
        self._calls += 1
        self.count += len(boards)
        return self._evaluator.evaluate(boards, features)

    def sample(self) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
        """Boards uint64[B, 4] and features float32[B, 6] of the kept leaves."""
        boards, features = zip(*self._kept, strict=True)
        return np.concatenate(boards), np.concatenate(features)


class PlayerMind:
    """A player without a network.

    Args:
        level: names it.
    """

    steps: tuple[int, ...] = _NODES
    glance = 20_000

    def __init__(self, level: Level) -> None:
        self._level = level
        self._players: dict[str, Player] = {}
        self._lock = threading.Lock()

    def think(self, positions: Positions, work: int, stop: Stop) -> Thought:
        """See :class:`Mind`."""
        with self._lock:
            if positions.rules.name not in self._players:
                self._players[positions.rules.name] = make_level(self._level, positions.rules, 0)
            player = self._players[positions.rules.name].for_search(Limits(nodes=work))
        count = int(positions.counts[0])
        actions = positions.actions[0, :count].copy()
        children = positions.take(np.zeros(count, dtype=int))
        children.step(actions)
        values, lines, nodes = judge_moves(children, partial(stop.choice, player), lambda: stop.asked)
        best = int(np.argmax(values))
        return Thought(
            work=nodes,
            value=values[best],
            draw=None,
            proven=abs(values[best]) == 1.0,
            actions=actions.tolist(),
            values=values,
            visits=None,
            priors=None,
            line=[int(actions[best]), *lines[best]],
        )


class Minds:
    """The minds of a server, loaded when they are first asked.

    Args:
        levels: of these, the shipped network, full strength, and the players that do not ship.
        run: a training run, each of whose networks is a mind ``run:ITERATION``.
    """

    def __init__(self, levels: Iterable[Level], run: TrainingRun | None = None) -> None:
        weak = {level.id for level in LEVELS} - set(_SHIPPED)
        self._levels = {level.id: level for level in levels if level.id not in weak and _searches(level.spec)}
        self._run = run
        self._loaded: OrderedDict[str, Mind] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """Those of levels."""
        return list(self._levels)

    def get(self, name: str | None, rules: RuleSet) -> Mind:
        """A mind; loading one takes a while.

        Args:
            name: None = the shipped network, or alpha-beta on boards that it does not know.
            rules: what it is to think about.

        Raises:
            ValueError: there is none of that name, or it cannot be read.
        """
        name = name or _SHIPPED[rules.size != _SIZE]
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._load(name)
                while len(self._loaded) > _MOST_MINDS:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(name)
            return self._loaded[name]

    def _load(self, name: str) -> Mind:
        if name in self._levels:
            level = self._levels[name]
            network = network_of(level.spec)
            return PlayerMind(level) if network is None else NetworkMind(network)
        match = re.fullmatch(r"run:([0-9]{1,12})", name)
        if self._run is None or not match:
            raise RequestError("There is no such player to look into.")
        path = self._run.network(int(match[1]))
        try:
            return NetworkMind(path)
        except ValueError as error:  # the page need not know where the run lies
            raise RequestError(str(error).replace(str(path), path.name)) from None


def _searches(spec: str) -> bool:
    return spec.partition(":")[0] in ("alphabeta", "mcts", "policy")
