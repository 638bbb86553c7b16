"""One actor: a process that plays games with the weights that it is handed, and delivers them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

import damas_env
from damas_env.rules import RuleSet
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.networks.evaluator import Precision
from damas_rl.search.mcts import SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayBatch, SelfPlayConfig

VERSIONS = (damas_env.__version__, damas_env.RULES_VERSION, damas_env.ACTION_VERSION)
"""What must be the same on all machines of a run."""

Weights = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Setup:
    """What all actors of a run are told once.

    Attributes:
        rules, network, selfplay, search, precision: as in the run's configuration.
        seed: of the run's self-play; each actor draws from a stream of its own.
        threads: groups of games that an actor serves at once.
        steps: plies of each game in one delivery.
        versions: of the code that learns.
    """

    rules: RuleSet
    network: NetworkConfig
    selfplay: SelfPlayConfig
    search: SearchConfig
    precision: Precision
    seed: int
    threads: int
    steps: int
    versions: tuple[object, ...] = VERSIONS


@dataclass(frozen=True)
class Delivery:
    """What an actor hands over at once.

    Attributes:
        batch: records, finished games, costs.
        searched: searched plies.
        version: of the weights that it played with.
    """

    batch: SelfPlayBatch
    searched: int
    version: int


class Actor:
    """Games in progress, and a network on this process's device.

    Args:
        setup: see :class:`Setup`.
        number: of this actor; no two of a run have the same, an actor that replaces a lost one neither.
        device: ``cpu`` or ``cuda``.
    """

    def __init__(self, setup: Setup, number: int, device: str) -> None:
        # What may fail is left to the first delivery, where a failure reaches the learner as it is.
        self._setup, self._number, self._device = setup, number, device
        self._selfplay: SelfPlay | None = None
        self._version = -1

    def play(self, weights: Weights, version: int) -> Delivery:
        """Goes on with the games by ``setup.steps`` plies.

        Args:
            weights: of the network, by name.
            version: number of these weights.

        Raises:
            ValueError: another version of the code is installed here, or a file that the configuration names is not.
        """
        if self._selfplay is None:
            self._selfplay = self._start()
        if version != self._version:
            self._network.load_state_dict({name: torch.tensor(array) for name, array in weights.items()})
            self._evaluator.update(self._network)
            self._version = version
        searched = self._setup.steps * self._setup.selfplay.games
        return Delivery(self._selfplay.run(self._evaluator, searched), searched, version)

    def _start(self) -> SelfPlay:
        """Network and games; group i of actor n draws from a stream that follows from the seed, n and i."""
        setup = self._setup
        if setup.versions != VERSIONS:
            raise ValueError(f"An actor's machine has version {VERSIONS} of damas-rl, the learner {setup.versions}.")
        self._network = build_network(setup.network, setup.rules)
        self._evaluator = Evaluator(self._network, self._device, setup.precision)
        seed = np.random.SeedSequence((setup.seed, self._number)).generate_state(1, np.uint64)
        config = replace(setup.selfplay, threads=setup.selfplay.threads or setup.threads)
        return SelfPlay(setup.rules, config, setup.search, int(seed[0]))
