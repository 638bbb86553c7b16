"""Several processes that learn together, one for each GPU: each takes a part of every batch (torch DDP).

The leader is the process that trains. It starts the others, its followers, hands each its part of a batch, and alone
knows of the replay buffer, of checkpoints and of people. After each step all hold the same weights.
"""

import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from damas_env.rules import RuleSet
from damas_rl.networks import NetworkConfig, PolicyValueNet, build_network

if TYPE_CHECKING:
    from damas_rl.learner import LearnerConfig

Arrays = Mapping[str, NDArray[Any]]

_PATIENCE = timedelta(minutes=5)
"""Time after which a process that does not answer is lost."""

_LAST_WORDS = 60.0
"""Seconds that a follower has to end by itself."""


@dataclass(frozen=True)
class _Place:
    """What a follower is told when it starts: its number, where all meet, and a learner like the leader's."""

    rank: int
    meeting: str
    config: "LearnerConfig"
    network: NetworkConfig
    rules: RuleSet
    device: str
    threads: int
    state: bytes


class Member:
    """This process's part in a team.

    Args:
        net: the network that learns; equal in all processes.
        rank: number of this process; the leader's is 0.
        processes: of the team.
        meeting: a file through which they find each other.

    Attributes:
        model: the network; differentiating what it computes gives each process the mean gradient of all.
    """

    def __init__(self, net: PolicyValueNet, rank: int, processes: int, meeting: str) -> None:
        for library in ("GLOO", "NCCL"):  # all are on this machine, and nobody else is to reach them
            os.environ.setdefault(f"{library}_SOCKET_IFNAME", "lo")
        backend = "nccl" if next(net.parameters()).is_cuda else "gloo"
        store = distributed.FileStore(meeting, processes)
        distributed.init_process_group(backend, store=store, rank=rank, world_size=processes, timeout=_PATIENCE)
        self._processes = processes
        with warnings.catch_warnings():  # newer versions of torch have another name for it, older ones do not know that
            warnings.simplefilter("ignore", FutureWarning)
            self.model: nn.Module = DistributedDataParallel(net, broadcast_buffers=False)

    def mean(self, values: Tensor) -> Tensor:
        """The mean over all processes."""
        distributed.all_reduce(values)
        return values / self._processes

    def leave(self) -> None:
        """Takes this process out of the team."""
        distributed.destroy_process_group()


class Team:
    """The team as its leader sees it.

    Args:
        net: the network that learns.
        config: of its learner, which says how many processes there are.
        rules: rule set of the positions.
        threads: CPU threads of each process.
        state: of the leader's learner.

    Attributes:
        member: the leader's own part.

    Raises:
        ChildProcessError: a process could not be started, or has ended.
    """

    def __init__(
        self, net: PolicyValueNet, config: "LearnerConfig", rules: RuleSet, threads: int, state: Mapping[str, Any]
    ) -> None:
        self._processes = config.processes
        self._folder = tempfile.TemporaryDirectory(prefix="damas-")
        self._followers: list[subprocess.Popen[bytes]] = []
        packed = io.BytesIO()
        torch.save(state, packed)  # unlike pickle, it can be read where that GPU is another one
        place = _Place(
            0, str(Path(self._folder.name) / "meeting"), config, net.config, replace(rules),
            next(net.parameters()).device.type, threads, packed.getvalue(),
        )  # fmt: skip
        try:
            for rank in range(1, self._processes):
                self._followers.append(_follower())
                self._tell(self._followers[-1], replace(place, rank=rank))
            for follower in self._followers:
                assert follower.stdout is not None
                if not follower.stdout.readline():
                    self.check()
            self.member = Member(net, 0, self._processes, place.meeting)
        except RuntimeError as error:  # torch has no common type for what a lost connection may look like
            try:
                self.check()
            finally:
                self.close()
            raise ChildProcessError(f"the processes that learn together did not find each other ({error})") from error
        except BaseException:
            self.close()
            raise

    def share(self, arrays: Arrays, done: float) -> Arrays:
        """Hands each follower its part of a batch, and how far the run has come; the leader's own part."""
        parts = [dict[str, NDArray[Any]]() for _ in range(self._processes)]
        for name, array in arrays.items():
            for part, rows in zip(parts, np.split(array, self._processes), strict=True):
                part[name] = rows
        for follower, part in zip(self._followers, parts[1:], strict=True):
            self._tell(follower, (part, done))
        return parts[0]

    def check(self) -> None:
        """ChildProcessError if a follower has ended, or does so within a second: its connections end first."""
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            for follower in self._followers:
                if follower.poll() is not None:
                    raise ChildProcessError(f"a process that learns with this one has ended ({follower.returncode})")
            time.sleep(0.01)

    def close(self) -> None:
        """Ends all followers."""
        for follower in self._followers:
            assert follower.stdin is not None
            with suppress(BrokenPipeError):
                follower.stdin.close()  # what they wait for
        if distributed.is_initialized():  # also where a member was not made to its end
            distributed.destroy_process_group()
        for follower in self._followers:
            assert follower.stdout is not None
            try:
                follower.wait(_LAST_WORDS)
            except subprocess.TimeoutExpired:
                follower.kill()
                follower.wait()
            follower.stdout.close()
        self._folder.cleanup()

    def _tell(self, follower: subprocess.Popen[bytes], content: object) -> None:
        assert follower.stdin is not None
        try:
            pickle.dump(content, follower.stdin, pickle.HIGHEST_PROTOCOL)
            follower.stdin.flush()
        except BrokenPipeError:
            self.check()
            raise


def _follower() -> subprocess.Popen[bytes]:
    """A process that waits for its place; out of reach of Ctrl-C."""
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-c", "from damas_rl.team import follow; follow()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, start_new_session=True,
    )  # fmt: skip


def follow() -> None:
    """What a follower does until its leader closes the pipe between them, or is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the leader may need this process for its last iteration
    with suppress(EOFError, pickle.UnpicklingError):  # the leader is gone, perhaps while it wrote
        _learn(os.getppid())


def _learn(leader: int) -> None:
    """Takes the steps that the leader asks for."""
    from damas_rl.learner import Learner

    place: _Place = pickle.load(sys.stdin.buffer)
    if place.device == "cuda":
        torch.cuda.set_device(place.rank)
    learner = Learner(build_network(place.network, place.rules), place.config, place.device, place.threads)
    learner.load_state_dict(torch.load(io.BytesIO(place.state), "cpu", weights_only=True))
    print("ready", flush=True)
    member = Member(learner.net, place.rank, place.config.processes, place.meeting)
    try:
        while True:
            part, done = pickle.load(sys.stdin.buffer)
            learner.follow(part, done, member)
    except FloatingPointError:  # the leader meets the same numbers that are not finite, and tells of them
        pass
    except RuntimeError as error:
        if os.getppid() == leader:
            sys.exit(f"A process that learns ends: {error}")
    finally:
        member.leave()
