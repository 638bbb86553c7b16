"""Monte-Carlo tree search over a batch of games: kernels grow the trees, one network call evaluates all leaves."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from damas_env.errors import shown
from damas_env.observation import NUM_FEATURES, fill_features
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.plugins import HINT, check_name, known
from damas_rl.search import pools, roots, tree
from damas_rl.strict import check_ranges
from damas_rl.tablebase import Tablebase
from damas_rl.tablebase.endgames import UNKNOWN, WIN, new_endgames

_LOOK_EVERY = 16
"""Calls of the network between two looks at whether a search with limited time can still change its choice."""


class Evaluate(Protocol):
    """What the search needs of a network."""

    def evaluate(
        self, boards: NDArray[np.uint64], features: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """(logits [B, N], value [B] for the side to move, moves left [B]) of boards [B, 4] and features [B, 6]."""
        ...


@dataclass(frozen=True)
class SearchConfig:
    """How trees are searched.

    Attributes:
        kind: ``"puct"`` (AlphaZero) or ``"gumbel"`` (sequential halving at the root, Danihelka et al. 2022; PUCT
            below the root), or one of your own (docs/extending.md).
        c_puct: exploration constant of PUCT.
        fpu_reduction: how much worse than its parent an unvisited edge is taken to be.
        prior_temperature: of the softmax that makes priors of logits; above 1 they lie closer together.
        noise_fraction: share of Dirichlet noise in the root priors during self-play (PUCT).
        noise_concentration: total concentration of the Dirichlet noise, spread over the legal moves (PUCT).
        forced_playouts: k; at a noisy root with N visits a move of prior P that has been tried gets at least
            sqrt(k P N) visits; those that PUCT would not have made are taken out of the policy (PUCT; Wu 2019).
        considered: root moves that enter sequential halving (Gumbel).
        c_visit, c_scale: sigma(Q) = (c_visit + most visits) * c_scale * Q (Gumbel).
        leaves_per_tree: leaves of one tree that are evaluated together, with virtual loss in between.
    """

    kind: str = "puct"
    c_puct: float = 1.5
    fpu_reduction: float = 0.3
    prior_temperature: float = 1.0
    noise_fraction: float = 0.25
    noise_concentration: float = 10.0
    forced_playouts: float = 0.0
    considered: int = 16
    c_visit: float = 50.0
    c_scale: float = 0.1
    leaves_per_tree: int = 1

    def __post_init__(self) -> None:
        if not known(_KINDS, self.kind):
            raise ValueError(f"search.kind={shown(self.kind)}: choose from {', '.join(_KINDS)}. {HINT}")
        check_ranges(
            "search",
            self,
            c_puct=(0.0, 100.0),
            fpu_reduction=(0.0, 2.0),
            prior_temperature=(0.1, 10.0),
            noise_fraction=(0.0, 1.0),
            noise_concentration=(1e-3, 1e4),
            forced_playouts=(0.0, 100.0),
            considered=(2, 128),
            c_visit=(0.0, 1e4),
            c_scale=(0.0, 100.0),
            leaves_per_tree=(1, 256),
        )

    @property
    def root(self) -> Literal["puct", "gumbel"]:
        """How moves of the root are explored and chosen between."""
        return _KINDS[self.kind][0]


@dataclass(frozen=True)
class SearchResult:
    """What a search found at B roots; rows are padded behind ``counts`` legal moves.

    Attributes:
        actions: int16[B, M], legal actions in canonical order. counts: int32[B].
        visits: int32[B, M]. q: float32[B, M], value of each move for the side to move (unvisited: estimated).
        priors: float32[B, M], noise included if there was any. logits: float32[B, M].
        value: float32[B], value of the root for the side to move; exact where proven.
        policy: float32[B, M], training target, rows sum to 1.
        choice: int16[B], the action to play.
        proven: int8[B], 0 unknown, 1 won, 2 lost, 3 drawn for the side to move.
        simulations: int32[B].
    """

    actions: NDArray[np.int16]
    counts: NDArray[np.int32]
    visits: NDArray[np.int32]
    q: NDArray[np.float32]
    priors: NDArray[np.float32]
    logits: NDArray[np.float32]
    value: NDArray[np.float32]
    policy: NDArray[np.float32]
    choice: NDArray[np.int16]
    proven: NDArray[np.int8]
    simulations: NDArray[np.int32]


@dataclass
class SearchStats:
    """What searches cost so far: leaves evaluated, room in the network calls, seconds."""

    evaluations: int = 0
    capacity: int = 0
    net_seconds: float = 0.0
    seconds: float = 0.0

    def add(self, other: "SearchStats") -> None:
        """Adds the costs of another search."""
        for name in ("evaluations", "capacity", "net_seconds", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Search:
    """Trees for up to ``games`` games; one object serves one thread."""

    def __init__(
        self,
        rules: RuleSet,
        evaluator: Evaluate,
        config: SearchConfig,
        games: int,
        simulations: int,
        tablebase: Tablebase | None = None,
    ) -> None:
        """Allocates the pools.

        Args:
            rules: rule set of the games.
            evaluator: the network.
            config: see :class:`SearchConfig`.
            games: most games in one call of :meth:`run`.
            simulations: most simulations for one move.
            tablebase: exact endgames that are asked within the trees.
        """
        self.rules, self.evaluator, self.config, self.games = rules, evaluator, config, games
        self.simulations, self.tablebase = simulations, tablebase
        self._endgames = tablebase.endgames if tablebase else new_endgames(rules)
        self.stats = SearchStats()
        self.trees = pools.new_trees(rules, games, simulations)
        self._leaves = pools.new_leaves(games * config.leaves_per_tree)
        self._features = np.zeros((len(self._leaves.game), NUM_FEATURES), dtype=np.float32)
        self._scales = pools.Scales(
            config.c_puct, config.fpu_reduction, config.root == "gumbel", config.considered, config.c_visit,
            config.c_scale,
        )  # fmt: skip

    def run(
        self,
        positions: Positions,
        simulations: int | NDArray[np.int32],
        rng: np.random.Generator | None = None,
        seconds: float | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> SearchResult:
        """Searches the current position of every game.

        Args:
            positions: B <= ``games`` games, none of them finished.
            simulations: for all games, or int32[B]; at most the number given at construction.
            rng: source of the exploration noise at the roots; None = no noise.
            seconds: for all games together, None = no limit. The search ends when they are over, after two calls of the
                network at least, or (PUCT) as soon as they are too few to change a choice.
            stop: asked after each call of the network but the first; True ends the search.

        Raises:
            ValueError: too many games, games of other rules or finished ones, an impossible number of simulations, an
                evaluator that answers with arrays of another shape or type, or a position of the tree with more legal
                moves than there is room for.
        """
        started = time.perf_counter()
        size = len(positions)
        if positions.rules is not self.rules and positions.rules != self.rules:
            raise ValueError(f"This search is for the rules {self.rules.name!r}, not {positions.rules.name!r}.")
        if size > self.games:
            raise ValueError(f"This search has room for {self.games} games, not {size}.")
        if (positions.terminations != 0).any():
            raise ValueError("A finished game cannot be searched.")
        budget = np.broadcast_to(np.asarray(simulations, dtype=np.int32), (size,))
        if budget.max() > self.simulations or budget.min() < 1:
            wrong = budget.min() if budget.min() < 1 else budget.max()
            raise ValueError(f"This search runs 1 to {self.simulations} simulations a move, not {wrong}.")
        spec, tables = self.rules.spec, self.rules.tables
        tree.plant(
            spec, tables, self._endgames, self.trees, self._leaves, positions.boards, positions.counters,
            positions.plies, positions.repetitions, positions.history, positions.history_len, budget,
        )  # fmt: skip
        self._evaluate(size)
        if rng is not None:
            self.add_noise(rng, positions.counts)
        for turn in itertools.count(1):
            found = tree.select(
                spec, tables, self._endgames, self.trees, self._scales, self._leaves, size, self.config.leaves_per_tree
            )
            if found == 0:
                break
            self._evaluate(found)
            if stop is not None and stop():
                break
            if seconds is not None:
                spent = time.perf_counter() - started
                if spent >= seconds or (turn % _LOOK_EVERY == 0 and self._settled(size, seconds / spent - 1.0)):
                    break
        room = self.rules.max_moves
        if self.trees.nodes["num_edges"][:size].max() >= room:
            raise ValueError(f"A position in the search has {room} legal moves or more; there is no room.")
        result = self.read(size)
        if self.tablebase is not None:
            _follow(self.tablebase, positions, self.trees, result)
        self.stats.seconds += time.perf_counter() - started
        return result

    def _settled(self, size: int, left: float) -> bool:
        """True if ``left`` times as many simulations as so far could make no other move the most visited one."""
        if self.config.root != "puct":
            return False
        for game in range(size):
            root, done = self.trees.nodes[game, 0], int(self.trees.roots["simulations"][game])
            first, count = int(root["first_edge"]), int(root["num_edges"])
            edges = self.trees.edges[game, first : first + count]
            visits = np.sort(edges["visits"][edges["proven"] != WIN])  # nobody chooses what is lost
            if len(visits) > 1 and visits[-1] - visits[-2] <= left * done:
                return False
        return True

    def _evaluate(self, count: int) -> None:
        leaves, rules = self._leaves, self.rules
        fill_features(
            0, count, leaves.counters, leaves.repetitions, leaves.plies, rules.counter_limits,
            (rules.repetition or 3) - 1, rules.ply_cap, self._features,
        )  # fmt: skip
        started = time.perf_counter()
        logits, values, _ = self.evaluator.evaluate(leaves.boards[:count], self._features[:count])
        for name, array, shape in (("logits", logits, (count, rules.num_actions)), ("values", values, (count,))):
            if array.shape != shape or array.dtype != np.float32:
                raise ValueError(
                    f"The evaluator's {name} must be float32{list(shape)}, not {array.dtype}{list(array.shape)}."
                )
        self.stats.net_seconds += time.perf_counter() - started
        self.stats.evaluations += count
        self.stats.capacity += len(leaves.game)
        tree.expand(self.trees, leaves, count, logits, values, self.config.prior_temperature)

    def add_noise(self, rng: np.random.Generator, counts: NDArray[np.int32]) -> None:
        """Makes the roots explore, after the network has been asked about them; ``counts`` int32[B] legal moves."""
        size, width = len(counts), self.rules.max_moves
        if self.config.root == "gumbel":
            self.trees.roots["noise"][:size] = rng.gumbel(size=(size, width))
            return
        self.trees.roots["owed"][:size] = self.config.forced_playouts
        if self.config.noise_fraction > 0.0:
            legal = np.arange(width) < counts[:, None]
            alpha = np.where(legal, self.config.noise_concentration / counts[:, None], 1.0)
            noise = np.where(legal, rng.standard_gamma(alpha), 0.0) + 1e-12
            noise = (noise / noise.sum(axis=1, keepdims=True)).astype(np.float32)
            tree.mix_root_noise(self.trees, size, noise, self.config.noise_fraction)

    def read(self, size: int) -> SearchResult:
        """What the trees of the first ``size`` games say; endgame tables have their say after that."""
        width = self.rules.max_moves
        result = SearchResult(
            actions=np.full((size, width), -1, np.int16), counts=np.zeros(size, np.int32),
            visits=np.zeros((size, width), np.int32), q=np.zeros((size, width), np.float32),
            priors=np.zeros((size, width), np.float32), logits=np.zeros((size, width), np.float32),
            value=np.zeros(size, np.float32), policy=np.zeros((size, width), np.float32),
            choice=np.zeros(size, np.int16), proven=self.trees.nodes["proven"][:size, 0].copy(),
            simulations=self.trees.roots["simulations"][:size].copy(),
        )  # fmt: skip
        roots.read_roots(
            self.trees, self._scales, size, result.actions, result.counts, result.visits, result.q, result.priors,
            result.logits, result.value, result.policy, result.choice,
        )  # fmt: skip
        return result

    def principal_variation(self, game: int, length: int = 16) -> list[int]:
        """Actions of the most visited line of the latest search of one game."""
        out = np.zeros(length, dtype=np.int16)
        return [int(action) for action in out[: roots.principal_variation(self.trees, game, out)]]


_KINDS: dict[str, tuple[Literal["puct", "gumbel"], type[Search]]] = {
    "puct": ("puct", Search),
    "gumbel": ("gumbel", Search),
}
"""For each ``search.kind``: what its roots do, and its class."""


def register_search(kind: str, search: type[Search], root: Literal["puct", "gumbel"] = "puct") -> None:
    """Adds a kind of search, which ``search.kind`` can name from then on.

    Args:
        kind: its name.
        search: a subclass of :class:`Search`, constructed as that one is.
        root: how moves of the root are explored and chosen between.

    Raises:
        PluginError: the name is taken, or is none.
    """
    check_name(_KINDS, kind)
    _KINDS[kind] = root, search


def new_search(
    rules: RuleSet,
    evaluator: Evaluate,
    config: SearchConfig,
    games: int,
    simulations: int,
    tablebase: Tablebase | None = None,
) -> Search:
    """The search of the kind that a configuration names; see :class:`Search` for the arguments."""
    known(_KINDS, config.kind)  # the configuration may have been made in another process
    return _KINDS[config.kind][1](rules, evaluator, config, games, simulations, tablebase)


def _follow(tablebase: Tablebase, positions: Positions, trees: pools.Trees, result: SearchResult) -> None:
    """Where a root is in the table itself, only the table's best moves remain: among won moves some never win.

    Where a draw law may still decide, what the tree has proven of a move comes first.
    """
    pieces = np.bitwise_count(positions.boards).sum(axis=1)
    rows = np.flatnonzero(pieces <= tablebase.pieces)
    if not len(rows):
        return
    held = positions.take(rows)
    certain = tablebase.judge(held).proof != UNKNOWN
    proven = trees.edges["proven"][rows, : held.moves.shape[1]]  # edges of roots come first
    best = tablebase.best_moves(held, np.where(certain[:, None], np.int8(UNKNOWN), proven))
    rows, best = rows[best.any(axis=1)], best[best.any(axis=1)]
    policy = np.where(best, result.policy[rows], 0.0)
    policy = np.where(policy.sum(axis=1, keepdims=True) > 1e-3, policy, best)
    result.policy[rows] = policy / policy.sum(axis=1, keepdims=True)
    chosen = np.where(best, result.visits[rows] + result.policy[rows], -1.0).argmax(axis=1)
    result.choice[rows] = result.actions[rows, chosen]
