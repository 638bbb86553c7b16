"""Who plays the games of a training run."""

from dataclasses import dataclass
from typing import Literal

from damas_rl.strict import check_ranges


@dataclass(frozen=True)
class ClusterConfig:
    """Who plays the games.

    Attributes:
        kind: ``none`` = this process; ``ray`` = actors, processes of their own on one machine or many (needs Ray).
        address: of a running Ray cluster, host:port, or ``auto`` for the one that this machine belongs to; empty = Ray
            is started on this machine for this run alone.
        actors: most actors; 0 = as many as there is room for, also on machines that join later.
        cpus: cores of an actor, each of which serves a thread of its self-play; on a machine with GPUs there is an
            actor for each GPU, else one for each so many cores.
        steps: plies of each game between two deliveries of an actor.
        most_lag: iterations by which the weights of a delivery may be behind; what is older is thrown away.
    """

    kind: Literal["none", "ray"] = "none"
    address: str = ""
    actors: int = 0
    cpus: int = 1
    steps: int = 2
    most_lag: int = 16

    def __post_init__(self) -> None:
        check_ranges("cluster", self, actors=(0, 100_000), cpus=(1, 1024), steps=(1, 10_000), most_lag=(0, 1_000_000))
