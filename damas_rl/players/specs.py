"""Reads the specs of players (see :mod:`damas_rl.players`), and makes the players that they name."""

import contextlib
import difflib
import re
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from damas_env.rules import RuleSet, get_rules
from damas_rl.evaluations import load_evaluation
from damas_rl.players.base import Player, PlayerError
from damas_rl.players.kinds import MOST_SIMULATIONS, PLAYING, AlphaBetaPlayer, MctsPlayer, PolicyPlayer, RandomPlayer
from damas_rl.plugins import HINT, check_name, known
from damas_rl.search.alphabeta import Limits
from damas_rl.search.learned import HAND_MADE
from damas_rl.search.mcts import Evaluate, SearchConfig
from damas_rl.strict import ConfigError, build
from damas_rl.tablebase import Tablebase, open_tablebase
from damas_rl.tablebase.index import MOST_PIECES

_SEARCH_KEYS = ("kind", "c_puct", "fpu_reduction", "prior_temperature", "considered", "c_visit", "c_scale")
"""What a spec may say of a tree search, as ``SearchConfig`` names it."""

_PATHS = ("net", "eval", "path")
"""Keys of specs that may name files."""

_HUB_MS = 1000
"""For a move of another program, where its spec sets no limit."""


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
        spec: see :mod:`damas_rl.players`.
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


def anchored_spec(spec: str) -> str:
    """The spec with absolute paths of the files and folders that it names and that are there."""
    kind, _, rest = spec.strip().partition(":")
    keys, _ = _KINDS[kind]
    for key, value in _options(spec, kind, f"path={rest}" if kind == "hub" else rest, keys).items():
        if key in _PATHS and not Path(value).is_absolute() and Path(value).exists():
            before = "hub:" if key == "path" else f"{key}="
            spec = spec.replace(f"{before}{value}", f"{before}{Path(value).absolute()}")
    return spec


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
    tables, config = _tables(spec, options), _search_config(spec, options)
    return lambda rules, seed: MctsPlayer(
        rules, _evaluator(spec, net, transfer, rules, few=ms is not None), simulations, tables(rules), spec, ms, config
    )


def _search_config(spec: str, options: dict[str, str]) -> SearchConfig:
    """How the trees of a spec are searched."""
    given: dict[str, str | int | float] = asdict(PLAYING)
    for key in _SEARCH_KEYS:
        if (text := options.get(key)) is not None:
            given[key] = text if key == "kind" else _number(text)
    try:
        return build(SearchConfig, given, "search")
    except ConfigError as error:
        raise PlayerError(f"Player {spec!r}: {str(error).replace('search.', '', 1)}") from None


def _number(text: str) -> str | int | float:
    """The number that a text reads as, the text itself if it reads as none."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text) if text.isascii() and "_" not in text else text
    return text


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
    "mcts": (("net", "sims", "ms", "tables", "transfer", *_SEARCH_KEYS), _read_mcts),
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
