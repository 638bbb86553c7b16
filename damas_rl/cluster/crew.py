"""A crew of actors as a source of games: actors join and leave while it runs.

Each actor always has two orders, one that it plays and one that waits, so that it never waits for the learner. Whoever
delivers gets a new order with the newest weights. An actor that is lost takes its games in progress with it; another
one, with another random stream, starts in its place.
"""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from damas_rl import saved
from damas_rl.cluster.actor import Delivery, Weights
from damas_rl.cluster.config import ClusterConfig
from damas_rl.networks import Evaluator
from damas_rl.records import Records, concatenate, empty_records
from damas_rl.rundir import RunError
from damas_rl.selfplay import SelfPlayBatch
from damas_rl.tablebase import Tablebase

ORDERS = 2
"""Deliveries that an actor is asked for at a time."""

_LOOK_SECONDS = 2.0
"""Time between two looks for machines that have joined."""

_MOST_FAILURES = 3
"""Starts that may fail for each actor of the crew, none succeeding in between, before the run gives up."""


class ActorLostError(Exception):
    """An actor, or its machine, is gone."""


class Machines(Protocol):
    """Where actors run: what a crew needs of Ray."""

    def room(self) -> Mapping[str, int]:
        """How many actors fit on the machines that are there now, by device (``cuda``, ``cpu``)."""

    def start(self, number: int, device: str) -> Any:
        """Starts an actor as soon as a machine has room for it; its handle."""

    def publish(self, weights: Weights) -> Any:
        """Makes weights known to all machines; what :meth:`order` takes."""

    def order(self, actor: Any, weights: Any, version: int) -> Hashable:
        """Asks an actor for a delivery; a ticket for it."""

    def delivered(self, tickets: Sequence[Hashable], seconds: float) -> Hashable | None:
        """A ticket whose delivery is there, or whose actor is lost; None if there is none within some time."""

    def take(self, ticket: Hashable) -> Delivery:
        """The delivery. ActorLostError if there will be none; an error that the actor met is raised as it was."""

    def dismiss(self, actor: Any) -> None:
        """Ends an actor."""

    def close(self) -> None:
        """Ends all of them."""


@dataclass
class _Member:
    """One actor.

    Attributes:
        handle: what the machines know it by.
        device: where its network is.
        deliveries: that it has made.
    """

    handle: Any
    device: str
    deliveries: int = 0


class Crew:
    """Plays like :class:`~damas_rl.selfplay.SelfPlay`, of which each actor has one.

    Args:
        config: see :class:`ClusterConfig`.
        connect: finds the machines, when the first games are wanted.
        tablebase: exact endgames, for whoever learns; actors open their own.
        stop: true once somebody wants the run to end.
        say: tells people a sentence.
    """

    def __init__(
        self,
        config: ClusterConfig,
        connect: Callable[[], Machines],
        tablebase: Tablebase | None,
        stop: object,
        say: Callable[[str], None],
    ) -> None:
        self.config, self.tablebase = config, tablebase
        self._connect, self._stop, self._say = connect, stop, say
        self._machines: Machines | None = None
        self._members: list[_Member] = []
        self._tickets: dict[Hashable, _Member] = {}
        self._weights: Any = None
        self._version = 0
        self._started = 0
        self._failures = 0
        self._waiting = False
        self._next_look = self._since = 0.0

    def run(
        self, evaluator: Evaluator, positions_target: int, progress: Callable[[int], None] | None = None
    ) -> SelfPlayBatch:
        """Collects deliveries of at least ``positions_target`` searched plies, and as many as there are actors.

        So new weights do not come faster than actors can follow. A wish to stop ends it at once.

        Args:
            evaluator: the newest network; actors play with the weights that it has.
            positions_target: searched plies; random and forced plies come on top.
            progress: called with the searched plies of each delivery, and with 0 while there is none.

        Returns:
            everything delivered; ``seconds`` is the time since the last call, through which actors have played.

        Raises:
            RunError: no actor can be started.
        """
        if self._machines is None:
            self._machines, self._since = self._connect(), time.monotonic()
        self._version += 1
        self._weights = self._machines.publish(evaluator.weights())
        batch = SelfPlayBatch(empty_records(0), [], 0, 0.0)
        parts: list[Records] = []
        lags: list[int] = []
        searched, lost, stale = 0, 0, 0
        while (searched < positions_target or len(lags) < self.playing) and not self._stop:
            self._recruit(self._machines)
            ticket = self._machines.delivered(list(self._tickets), 1.0)
            if ticket is None:
                if progress is not None:
                    progress(0)
                continue
            member = self._tickets.pop(ticket)
            try:
                delivery = self._machines.take(ticket)
            except ActorLostError as error:
                lost += 1
                self._lose(self._machines, member, error)
                continue
            self._failures, member.deliveries = 0, member.deliveries + 1
            self._order(self._machines, member)
            lag = self._version - delivery.version
            if lag > self.config.most_lag:
                stale += 1
                continue
            searched += delivery.searched
            batch.plies += delivery.batch.plies
            batch.games += delivery.batch.games
            batch.search.add(delivery.batch.search)
            parts.append(delivery.batch.records)
            lags.append(lag)
            if progress is not None:
                progress(delivery.searched)
        batch.records = concatenate(parts)
        now = time.monotonic()
        batch.seconds, self._since = now - self._since, now
        batch.extra = {
            "actors": float(self.playing),
            "lost_actors": float(lost),
            "weights_lag": float(np.mean(lags)) if lags else 0.0,
            "largest_lag": float(max(lags, default=0)),
            "stale_deliveries": float(stale),
        }
        return batch

    @property
    def playing(self) -> int:
        """Actors that have begun to deliver."""
        return sum(member.deliveries > 0 for member in self._members)

    def _recruit(self, machines: Machines) -> None:
        """Starts actors where there is room for them."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_SECONDS
        there, before = Counter(member.device for member in self._members), self._started
        for device, places in machines.room().items():
            while there[device] < places and not 0 < self.config.actors <= len(self._members):
                member = _Member(machines.start(self._started, device), device)
                self._started += 1
                there[device] += 1
                self._members.append(member)
                for _ in range(ORDERS):
                    self._order(machines, member)
        if self._started > before:
            self._say(f"Actors started: {self._started - before}; there are {len(self._members)} now.")
        elif not self._members and not self._waiting:
            self._waiting = True
            self._say(f"No machine has room for an actor (cluster.cpus={self.config.cpus}); waiting for one to join.")

    def _order(self, machines: Machines, member: _Member) -> None:
        self._tickets[machines.order(member.handle, self._weights, self._version)] = member

    def _lose(self, machines: Machines, member: _Member, error: ActorLostError) -> None:
        """Forgets a lost actor; the next look finds its place free."""
        if not member.deliveries:
            self._failures += 1
            if self._failures >= _MOST_FAILURES * len(self._members):
                raise RunError(f"The actors of the cluster end before they have played a game: {error}")
        self._tickets = {ticket: other for ticket, other in self._tickets.items() if other is not member}
        self._members.remove(member)
        machines.dismiss(member.handle)
        self._say(f"An actor is lost: {error}")
        self._next_look = 0.0

    def close(self) -> None:
        """Ends all actors, and their games with them."""
        if self._machines is not None:
            self._machines.close()
            self._machines = None

    def state_dict(self) -> dict[str, Any]:
        """How many actors there have been, so that those of a later run have other random streams."""
        return {"actors": self._started}

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuses (SavedError) what :meth:`load_state_dict` would refuse, and changes nothing."""
        saved.whole(state, "actors")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores :meth:`state_dict`; the games in progress were the actors' own, and start anew."""
        self._started = saved.whole(state, "actors")
