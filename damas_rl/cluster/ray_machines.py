"""Actors as processes of a Ray cluster."""

import logging
import signal
import time
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import ray
from ray.exceptions import RayError, RayTaskError

from damas_rl.cluster.actor import Actor, Delivery, Setup, Weights
from damas_rl.cluster.config import ClusterConfig
from damas_rl.cluster.crew import ActorLostError
from damas_rl.cluster.source import LOOPBACK
from damas_rl.rundir import RunError

_STORE = 512 << 20
"""Bytes of shared memory for weights and deliveries of a Ray that is started for one run; more goes to disk."""

_FETCH_SECONDS = 60.0
"""Time within which a delivery that is there must have come here."""


class RayMachines:
    """The machines of a Ray cluster (see :class:`~damas_rl.cluster.crew.Machines`).

    Args:
        config: which cluster, and how large an actor is.
        setup: what all actors are told.
        device: ``auto``, or ``cpu`` or ``cuda`` for actors of that device only.

    Raises:
        RunError: there is no such cluster.
    """

    def __init__(self, config: ClusterConfig, setup: Setup, device: str) -> None:
        self._config, self._device = config, device
        _connect(config.address)
        self._actor = ray.remote(max_restarts=0, max_task_retries=0)(Actor)
        self._setup = ray.put(setup)

    def room(self) -> Mapping[str, int]:
        """How many actors fit, by device: one for each GPU, and on machines without any one for ``cpus`` cores."""
        room: Counter[str] = Counter()
        for node in ray.nodes():
            if not node["Alive"]:
                continue
            by_cores = int(node["Resources"].get("CPU", 0)) // self._config.cpus
            gpus = int(node["Resources"].get("GPU", 0)) if self._device != "cpu" else 0
            if gpus:
                room["cuda"] += min(gpus, by_cores)
            elif self._device != "cuda":
                room["cpu"] += by_cores
        return room

    def start(self, number: int, device: str) -> Any:
        """Starts an actor as soon as a machine has room for it."""
        needs = {"num_cpus": self._config.cpus, "num_gpus": int(device == "cuda")}
        return self._actor.options(**needs).remote(self._setup, number, device)

    def publish(self, weights: Weights) -> Any:
        """A reference to weights, which each machine fetches once."""
        return ray.put(dict(weights))

    def order(self, actor: Any, weights: Any, version: int) -> Hashable:
        """Asks an actor for a delivery."""
        return cast(Hashable, actor.play.remote(weights, version))

    def delivered(self, tickets: Sequence[Hashable], seconds: float) -> Hashable | None:
        """A ticket whose delivery is there, or whose actor is lost."""
        if not tickets:
            time.sleep(seconds)
            return None
        there, _ = ray.wait(list(tickets), num_returns=1, timeout=seconds)
        return there[0] if there else None

    def take(self, ticket: Hashable) -> Delivery:
        """The delivery of a ticket."""
        try:
            return cast(Delivery, ray.get(cast(Any, ticket), timeout=_FETCH_SECONDS))
        except RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else RunError(_first_line(error))) from None
        except RayError as error:  # the actor, its machine, or its delivery on the way
            raise ActorLostError(_first_line(error)) from error

    def dismiss(self, actor: Any) -> None:
        """Ends an actor."""
        ray.kill(actor)

    def close(self) -> None:
        """Leaves the cluster, which ends the actors; a Ray that was started here ends too."""
        ray.shutdown()


def _connect(address: str) -> None:
    """Joins the cluster at an address, or starts one on the loopback interface."""
    alone: dict[str, Any] = {
        "address": "local", "include_dashboard": False, "object_store_memory": _STORE, "_node_ip_address": LOOPBACK,
    }  # fmt: skip
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(**({"address": address} if address else alone), log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray has no common type for what may go wrong here
        where = f"the Ray cluster at {address}" if address else "Ray on this machine"
        raise RunError(f"Cannot use {where}: {_first_line(error)}") from error
    finally:
        for number, handler in handlers.items():  # Ray takes them for itself
            signal.signal(number, handler)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
