"""All groups of a training run, and the threads that serve them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from damas_env import position
from damas_env.errors import shown
from damas_env.rules import RuleSet
from damas_rl import saved
from damas_rl.openings import Opening, load_openings
from damas_rl.records import Records, concatenate, empty_records
from damas_rl.search.mcts import Evaluate, SearchConfig
from damas_rl.selfplay.batch import SelfPlayBatch
from damas_rl.selfplay.config import SelfPlayConfig
from damas_rl.selfplay.group import Group
from damas_rl.tablebase import open_tablebase


class SelfPlay:
    """All groups of a training run."""

    def __init__(self, rules: RuleSet, config: SelfPlayConfig, search: SearchConfig, seed: int) -> None:
        """Starts ``config.games`` games; group i draws from the i-th child of ``SeedSequence(seed)``.

        Raises:
            ValueError: the file of openings or the endgame table cannot be used.
        """
        self.config = config
        seeds = np.random.SeedSequence(seed).spawn(config.groups)
        book = _book(config.openings, rules) if config.openings else None
        self.tablebase = open_tablebase(rules, config.tablebase) if config.tablebase else None
        self.groups = [Group(rules, config, search, child, book, self.tablebase) for child in seeds]
        self.threads = min(config.threads or position.THREADS, config.groups)
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="selfplay")

    def run(
        self, evaluator: Evaluate, positions_target: int, progress: Callable[[int], None] | None = None
    ) -> SelfPlayBatch:
        """Plays about ``positions_target`` plies, the same number of steps in every game.

        Args:
            evaluator: current network; called from several threads at once.
            positions_target: searched plies over all games; random and forced plies come on top.
            progress: called with the searched plies of each group when it has finished.
        """
        started = time.perf_counter()
        steps = max(1, round(positions_target / self.config.games))
        jobs = [self._pool.submit(group.run, evaluator, steps) for group in self.groups]
        batch = SelfPlayBatch(empty_records(0), [], 0, 0.0)
        parts: list[Records] = []
        for group, job in zip(self.groups, jobs, strict=True):
            records, games, plies, stats = job.result()
            batch.plies += plies
            parts += records
            batch.games += games
            batch.search.add(stats)
            if progress is not None:
                progress(steps * group.size)
        batch.records = concatenate(parts)
        batch.seconds = time.perf_counter() - started
        return batch

    def close(self) -> None:
        """Ends the threads that serve the groups."""
        self._pool.shutdown()

    def state_dict(self) -> dict[str, Any]:
        """Everything that a later run needs to go on bit for bit."""
        return {"groups": [group.state_dict() for group in self.groups]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores :meth:`state_dict`.

        Raises:
            ValueError: the state belongs to another number or size of groups; SavedError: it is no such state. Nothing
                has changed then.
        """
        self.check_state_dict(state)
        for group, part in zip(self.groups, state["groups"], strict=True):
            group.load_state_dict(part)

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuses what :meth:`load_state_dict` would refuse, and changes nothing."""
        groups = saved.part(state, "groups", "the self-play")
        if not isinstance(groups, list) or not groups:
            raise saved.SavedError(f"The groups of the self-play are {shown(groups, 30)}, not a list of groups.")
        size = len(np.atleast_1d(saved.part(groups[0], "opening", "a group of the self-play")))
        if len(groups) != len(self.groups) or size != self.groups[0].size:
            raise ValueError(
                f"The saved self-play has {len(groups)} groups of {size} games, this run "
                f"{len(self.groups)} of {self.groups[0].size}: resume with the same selfplay.games and groups."
            )
        for group, part in zip(self.groups, groups, strict=True):
            group.check_state_dict(part)


def _book(path: str, rules: RuleSet) -> tuple[NDArray[np.uint64], NDArray[np.int8]]:
    """Boards and side to move of the positions of a file of openings."""
    positions = Opening.positions(rules, load_openings(path, rules))
    return positions.boards, positions.colors
