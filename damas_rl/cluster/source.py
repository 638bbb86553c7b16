"""Where the games of a run come from: the seam between the trainer and whoever plays."""

import os
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Protocol

from damas_env.rules import RuleSet
from damas_rl.config import RunConfig
from damas_rl.networks import Evaluator
from damas_rl.selfplay import SelfPlay, SelfPlayBatch
from damas_rl.strict import ConfigError
from damas_rl.tablebase import Tablebase, open_tablebase

LOOPBACK = "127.0.0.1"


class GameSource(Protocol):
    """Plays games on demand.

    Attributes:
        tablebase: exact endgames that it plays with, if any.
    """

    tablebase: Tablebase | None

    def run(
        self, evaluator: Evaluator, positions_target: int, progress: Callable[[int], None] | None = None
    ) -> SelfPlayBatch:
        """Plays about so many searched plies with the newest network; ``progress`` hears of them as they come."""

    def state_dict(self) -> dict[str, Any]:
        """What a later run needs to go on."""

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuses (ValueError) what :meth:`load_state_dict` cannot take over, and changes nothing."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over :meth:`state_dict`."""

    def close(self) -> None:
        """Ends whatever plays."""


def check_ray(config: RunConfig) -> None:
    """ConfigError if the configuration needs Ray and it is not installed."""
    if config.cluster.kind == "ray" and find_spec("ray") is None:
        raise ConfigError("cluster=ray needs Ray, which is not installed: pip install 'damas-rl[ray]'.")


def game_source(config: RunConfig, rules: RuleSet, seed: int, stop: object, say: Callable[[str], None]) -> GameSource:
    """Self-play as configured: in this process, or by actors.

    Args:
        config: of the run.
        rules: rule set of the games.
        seed: of all games.
        stop: true once somebody wants the run to end.
        say: tells people a sentence.

    Raises:
        ValueError: the file of openings or the endgame table cannot be used.
    """
    if config.cluster.kind == "none":
        return SelfPlay(rules, config.selfplay, config.search, seed)
    _set_up_ray(config.cluster.address)
    # Ray and what talks to it are loaded only where they are used.
    from damas_rl.cluster.actor import Setup
    from damas_rl.cluster.crew import Crew
    from damas_rl.cluster.ray_machines import RayMachines

    # A fresh copy has none of the tables that a rule set computes on demand, which are large or cannot travel.
    setup = Setup(
        replace(rules), config.network, config.selfplay, config.search, config.precision, seed,
        threads=config.cluster.cpus, steps=config.cluster.steps,
    )  # fmt: skip
    pieces = config.selfplay.tablebase
    tablebase = open_tablebase(rules, pieces) if pieces else None
    return Crew(config.cluster, lambda: RayMachines(config.cluster, setup, config.device), tablebase, stop, say)


def _set_up_ray(address: str) -> None:
    """Sets what Ray reads when it is loaded: it reports to nobody; alone, it listens to nobody."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not address or address.startswith(f"{LOOPBACK}:"):
        # Otherwise Ray takes the loopback address for a slip, and listens on all interfaces.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def same_kind(config: RunConfig, state: object) -> bool:
    """True if a saved state is of the kind of source that the configuration asks for."""
    by_actors = isinstance(state, dict) and "actors" in state
    return by_actors == (config.cluster.kind == "ray")
