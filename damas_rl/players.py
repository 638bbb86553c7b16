"""Players: one interface over random moves, alpha-beta, tree search with a network, and a network's raw policy.

A player is named by a *spec*, ``kind`` or ``kind:key=value,key=value``:

| spec | plays |
| --- | --- |
| ``random`` | each legal move with equal probability |
| ``alphabeta:depth=6`` | alpha-beta; ``depth=``, ``nodes=``, ``ms=`` or several of them |
| ``alphabeta:ms=100,eval=cbd`` | alpha-beta with a learned evaluation |
| ``mcts:net=NAME,sims=200`` | tree search with a network; ``sims=``, ``ms=`` or both |
| ``policy:net=NAME`` | the move that a network likes best, without search |
| ``hub:PATH,ms=500`` | another program that speaks the Hub protocol (docs/protocols.md) |

``net=`` takes a checkpoint, a run directory or the name of a network that ships with the package. A network plays the
rules that it was trained for; with ``transfer=true`` it plays others on a board of its size too, as well as it can: it
knows neither their moves nor what their draw counters mean.

``tables=4`` gives ``mcts`` and ``alphabeta`` the exact endgames of up to so many pieces. Those of up to four are built
when they are first needed, which takes seconds; larger ones by ``damas tablebase build``.

``hub:PATH`` starts that program. ``ms=``, ``depth=`` and ``nodes=`` limit its searches (1000 ms without them),
``args=`` are its arguments, as for a shell, ``variant=`` is its name for the game where it is not the usual one.

``eval=`` takes a file of ``scripts/tune_evaluation.py`` or the name of an evaluation that ships with the package;
without it, alpha-beta judges by a few rules made by hand.

Kinds of your own are found if ``DAMAS_PLUGINS`` names their modules (docs/extending.md).
"""

import difflib
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from damas_env.observation import features
from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.evaluations import load_evaluation
from damas_rl.plugins import HINT, check_name, known
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.learned import HAND_MADE
from damas_rl.search.mcts import Evaluate, Search, SearchConfig, SearchResult
from damas_rl.tablebase import Tablebase, open_tablebase
from damas_rl.tablebase.index import MOST_PIECES

_SIMULATIONS = 200

_HUB_MS = 1000
"""For a move of another program, where its spec sets no limit."""

MOST_SIMULATIONS = 1 << 14
"""For each move. A batch of 256 games takes 3.8 GB of trees then."""

_LEAVES_IN_TIME = 4
"""Leaves of one tree that the network is asked about together where time is limited.

Two or four are worth about 60 Elo more than one at equal time (docs/strength.md).
"""

_MOST_IN_TIME, _MOST_IN_A_MS = 1 << 18, 100
"""Simulations where time is limited, in all and for each millisecond: 220 MB of trees for a thread at most.

A millisecond has time for about 14 with the network ``small`` (docs/performance.md). Simulations that end in proven
positions do not look at the clock; so many of them take a tenth of the time.
"""


class PlayerError(ValueError):
    """A player spec that cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True)
class Choice:
    """What a player chose in B games.

    Attributes:
        actions: int16[B], legal actions.
        values: float32[B] in [-1, 1], what the player expects for the side to move (0 if it has no idea).
        nodes: int64[B], positions looked at.
        pvs: the expected continuation of each game as actions, the chosen one first; may be empty.
    """

    actions: NDArray[np.int16]
    values: NDArray[np.float32]
    nodes: NDArray[np.int64]
    pvs: list[list[int]]


class Player(ABC):
    """Chooses moves in batches of games.

    Attributes:
        name: for tables and files.
        parallel: what :meth:`for_search` makes may choose at the same time.
    """

    name: str
    parallel = True

    @abstractmethod
    def choose(self, positions: Positions) -> Choice:
        """Chooses one legal action in each game of a batch; none of the games may be over."""

    def for_search(self, limits: Limits | None) -> "Player":
        """This player for one search, with other limits unless they are None.

        A player that does not search stays as it is, and tree search, to which depth means nothing, reads its
        simulations from the nodes.
        """
        return self

    def stop(self) -> None:  # noqa: B027 - nothing to do where no search takes time
        """From now on this player chooses soon, also where it is choosing; may be called from another thread."""


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
    """

    def __init__(
        self,
        rules: RuleSet,
        evaluator: Evaluate,
        simulations: int | None = None,
        tablebase: Tablebase | None = None,
        name: str = "mcts",
        ms: int | None = None,
    ) -> None:
        self.name = name
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
            self._searches = [
                Search(self._rules, self._evaluator, SearchConfig(), len(parts[0]), self._simulations, self._tablebase)
                for _ in parts
            ]
        if len(parts) == 1:
            choices = [self._run(self._searches[0], positions)[0]]
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                taken = [positions.take(part) for part in parts]
                choices = [choice for choice, _ in pool.map(self._run, self._searches, taken)]
        return _joined(choices)

    def look(self, positions: Positions) -> tuple[Choice, SearchResult]:
        """The choice in one game, and all that the search has found at its root."""
        config = SearchConfig(leaves_per_tree=1 if self._ms is None else _LEAVES_IN_TIME)
        search = Search(self._rules, self._evaluator, config, 1, self._simulations, self._tablebase)
        return self._run(search, positions)

    def for_search(self, limits: Limits | None) -> Player:
        """See :class:`Player`."""
        simulations, ms = (limits.nodes, limits.ms) if limits else (None, None)
        if simulations is ms is None:
            simulations, ms = self._simulations, self._ms
        return MctsPlayer(self._rules, self._evaluator, simulations, self._tablebase, self.name, ms)

    def stop(self) -> None:
        """See :class:`Player`."""
        self._stopped = True

    def _in_time(self, positions: Positions) -> list[Choice]:
        """The choice in each game, searched by itself on one of the threads."""
        while len(self._searches) < min(THREADS, len(positions)):
            config = SearchConfig(leaves_per_tree=_LEAVES_IN_TIME)
            search = Search(self._rules, self._evaluator, config, 1, self._simulations, self._tablebase)
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


def strong_spec(rules: RuleSet, ms: int) -> str:
    """The spec of the strongest player that ships for a rule set, with milliseconds for a move.

    Endgame tables of larger boards are left out: they hold six times as many positions, and a player has to wait for
    what is not built yet.
    """
    usual = get_rules("cbd")
    learned = ",eval=cbd" if rules.spec.flags == usual.spec.flags else ""
    tables = ",tables=4" if rules.size == usual.size else ""
    return f"alphabeta:ms={ms}{learned}{tables}"


def make_player(spec: str, rules: str | RuleSet, seed: int) -> Player:
    """The player that a spec names.

    Args:
        spec: see the head of this module.
        rules: rule set of its games.
        seed: of its random choices.

    Raises:
        PlayerError: the spec cannot be read or its values are impossible.
        ValueError: unknown rule set, or the network (``CheckpointError``) or the evaluation cannot be used.
    """
    return read_spec(spec)(get_rules(rules), seed)


def read_spec(spec: str) -> Callable[[RuleSet, int], Player]:
    """What makes the player that a spec names from rules and seed; networks are not looked at before that.

    Raises:
        PlayerError: the spec cannot be read or its values are impossible.
    """
    kind, _, rest = spec.strip().partition(":")
    if not known(_KINDS, kind):
        listed = ", ".join(_KINDS)
        raise PlayerError(f"Unknown player {spec!r}.{_nearest(kind, list(_KINDS))} Players: {listed}. {HINT}")
    keys, read = _KINDS[kind]
    if kind == "hub":
        if not rest:
            raise PlayerError(f"Player {spec!r} needs a program: hub:PATH.")
        rest = f"path={rest}"
    return read(spec, _options(spec, kind, rest, keys))


def network_of(spec: str) -> str | None:
    """The network that the player of a spec has, as the spec names it; None if it has none."""
    kind, _, rest = spec.strip().partition(":")
    keys, _ = _KINDS[kind]
    return _options(spec, kind, rest, keys).get("net") if "net" in keys else None


def _nearest(text: str, known: list[str]) -> str:
    near = difflib.get_close_matches(text, known, n=1, cutoff=0.4)
    return f" Did you mean {near[0]!r}?" if near else ""


def _options(spec: str, kind: str, text: str, keys: tuple[str, ...]) -> dict[str, str]:
    """The ``key=value`` pairs of a spec; a value may hold commas as long as no ``key=`` follows."""
    options: dict[str, str] = {}
    for part in re.split(r",(?=\s*[A-Za-z_]+=)", text) if text else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise PlayerError(f"Player {spec!r}: {part.strip()!r} does not read like key=value.")
        if key not in keys:
            listed = f"{kind} takes {', '.join(keys)}" if keys else f"{kind} takes no keys"
            raise PlayerError(f"Player {spec!r}: unknown key {key!r}.{_nearest(key, list(keys))} {listed}.")
        if key in options:
            raise PlayerError(f"Player {spec!r} gives {key}= twice.")
        options[key] = value
    return options


def whole_option(spec: str, options: dict[str, str], key: str, most: int) -> int | None:
    """The whole number from 1 to ``most`` that a spec gives for a key, None if it does not give one.

    Raises:
        PlayerError: it is no such number.
    """
    if key not in options:
        return None
    text = options[key]
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most):
        raise PlayerError(f"Player {spec!r}: {key}={text} must be a whole number from 1 to {most}.")
    return int(text)


Make = Callable[[RuleSet, int], Player]
"""Makes a player for the rules and with the seed of its games."""


def _read_random(spec: str, options: dict[str, str]) -> Make:
    return lambda rules, seed: RandomPlayer(seed, spec)


def _read_alphabeta(spec: str, options: dict[str, str]) -> Make:
    given = {key: whole_option(spec, options, key, most) for key, most in Limits.LARGEST.items()}
    if not any(given.values()):
        raise PlayerError(f"Player {spec!r} needs a limit: depth=, nodes= or ms=.")
    tables, source = _tables(spec, options), options.get("eval")

    def make(rules: RuleSet, seed: int) -> Player:
        weights = load_evaluation(source, rules) if source else HAND_MADE
        return AlphaBetaPlayer(rules, Limits(**given), seed, tables(rules), weights, spec)

    return make


def _tables(spec: str, options: dict[str, str]) -> Callable[[RuleSet], Tablebase | None]:
    """What opens the endgame table that a spec names."""
    pieces = whole_option(spec, options, "tables", MOST_PIECES)
    if pieces == 1:
        raise PlayerError(f"Player {spec!r}: tables=1 must be a number of pieces from 2 to {MOST_PIECES}.")
    return lambda rules: open_tablebase(rules, pieces) if pieces else None


def _read_mcts(spec: str, options: dict[str, str]) -> Make:
    simulations = whole_option(spec, options, "sims", MOST_SIMULATIONS)
    ms = whole_option(spec, options, "ms", Limits.LARGEST["ms"])
    net, transfer = _net(spec, options)
    tables = _tables(spec, options)
    return lambda rules, seed: MctsPlayer(
        rules, _evaluator(spec, net, transfer, rules, few=ms is not None), simulations, tables(rules), spec, ms
    )


def _read_policy(spec: str, options: dict[str, str]) -> Make:
    net, transfer = _net(spec, options)
    return lambda rules, seed: PolicyPlayer(_evaluator(spec, net, transfer, rules), spec)


def _read_hub(spec: str, options: dict[str, str]) -> Make:
    given = {key: whole_option(spec, options, key, most) for key, most in Limits.LARGEST.items()}
    limits = Limits(**given) if any(given.values()) else Limits(ms=_HUB_MS)
    try:
        arguments = shlex.split(options.get("args", ""))
    except ValueError as error:
        raise PlayerError(f"Player {spec!r}: args={options['args']} cannot be read: {error}.") from None

    def make(rules: RuleSet, seed: int) -> Player:
        from damas_rl.protocols.hub_player import HubPlayer  # it is made of players

        return HubPlayer(rules, options["path"], arguments, limits, options.get("variant"), spec)

    return make


def _net(spec: str, options: dict[str, str]) -> tuple[str, bool]:
    """The network that a spec names, and whether it may play rules that it was not trained for."""
    if "net" not in options:
        raise PlayerError(f"Player {spec!r} needs a network: net=FILE, net=RUN-DIRECTORY or net=NAME.")
    if options.get("transfer", "true") != "true":
        raise PlayerError(f"Player {spec!r}: transfer={options['transfer']} must be true, or be left out.")
    return options["net"], "transfer" in options


def _evaluator(spec: str, net: str, transfer: bool, rules: RuleSet, few: bool = False) -> Evaluate:
    """The network of a spec, ready for play; ``few``: for few positions at a time."""
    # Loaded here, so that players without a network do without torch.
    from damas_rl.checkpoint import load_network
    from damas_rl.networks import Evaluator, evaluator_of_few

    network, trained_for = load_network(net)
    known = f"Player {spec!r}: this network was trained for the rules {trained_for.name!r}"
    if trained_for.size != rules.size:
        raise PlayerError(
            f"{known} on {trained_for.size}x{trained_for.size}, not for a board of {rules.size}x{rules.size}."
        )
    if trained_for != rules and not transfer:
        others = "others of that name" if trained_for.name == rules.name else repr(rules.name)
        raise PlayerError(f"{known}, not for {others}; with transfer=true it plays these too, untrained.")
    return evaluator_of_few(network) if few else Evaluator(network)


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[str, dict[str, str]], Make]]] = {
    "random": ((), _read_random),
    "alphabeta": ((*Limits.LARGEST, "tables", "eval"), _read_alphabeta),
    "mcts": (("net", "sims", "ms", "tables", "transfer"), _read_mcts),
    "policy": (("net", "transfer"), _read_policy),
    "hub": (("path", *Limits.LARGEST, "args", "variant"), _read_hub),
}
"""For each kind of player the keys of its spec, and what reads a spec with its values."""


def register_player(kind: str, keys: tuple[str, ...], read: Callable[[str, dict[str, str]], Make]) -> None:
    """Adds a kind of player, which specs can name from then on.

    Args:
        kind: its name.
        keys: that its spec takes.
        read: makes of a spec and the values that it gives, as text by key, what makes the player; raises
            :class:`PlayerError` for values that are impossible.

    Raises:
        PluginError: the name is taken, or is none.
    """
    check_name(_KINDS, kind)
    _KINDS[kind] = keys, read
