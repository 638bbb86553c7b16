"""Reanalysis: old records are searched anew with the newest network (Schrittwieser et al. 2021, MuZero Reanalyse).

A record keeps the result of its game; its policy and the value that the search found are replaced.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.records import policy_rows
from damas_rl.replay import ReplayBuffer
from damas_rl.search.mcts import Evaluate, Search, SearchConfig, SearchResult, new_search
from damas_rl.tablebase import Tablebase

_AT_ONCE = 256
"""Records that are searched in one batch."""


class Reanalysis:
    """Searches records of a replay buffer anew."""

    def __init__(
        self, rules: RuleSet, search: SearchConfig, simulations: int, threads: int, tablebase: Tablebase | None
    ) -> None:
        """Searches like those of self-play: ``simulations`` a record, on so many threads, with its endgame table."""
        self.rules, self.config, self.simulations, self.tablebase = rules, search, simulations, tablebase
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reanalysis")
        self._idle: list[Search] = []

    def run(self, replay: ReplayBuffer, evaluator: Evaluate, count: int, seed: tuple[int, int]) -> int:
        """Replaces policy and search value of ``count`` records drawn from the window (of all, if it has fewer).

        Those that the endgame table holds are passed over: their values are exact, and a search of them could not
        tell which draw law is near, since earlier positions are lost. What is drawn and found depends on ``seed``, not
        on the threads. Returns the number of records that have been searched.
        """
        streams = np.random.SeedSequence(seed).spawn(2)
        rows = replay.draw(np.random.default_rng(streams[0]), count)
        if self.tablebase is not None:
            boards, _ = replay.positions(rows)
            rows = rows[np.bitwise_count(boards).sum(axis=1) > self.tablebase.pieces]
        parts = [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)]
        seeds = streams[1].spawn(len(parts))
        for part, result in zip(
            parts, self._pool.map(lambda part, child: self._search(replay, evaluator, part, child), parts, seeds),
            strict=True,
        ):  # fmt: skip
            replay.revise(part, *policy_rows(result.actions, result.policy), result.value)
        return len(rows)

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

    def _search(
        self, replay: ReplayBuffer, evaluator: Evaluate, rows: NDArray[np.int64], seed: np.random.SeedSequence
    ) -> SearchResult:
        try:
            search = self._idle.pop()
        except IndexError:
            search = new_search(self.rules, evaluator, self.config, _AT_ONCE, self.simulations, self.tablebase)
        search.evaluator = evaluator
        boards, features = replay.positions(rows)
        result = search.run(restored(self.rules, boards, features), self.simulations, np.random.default_rng(seed))
        self._idle.append(search)
        return result


def restored(rules: RuleSet, boards: NDArray[np.uint64], features: NDArray[np.float32]) -> Positions:
    """The positions of records, as far as they are known: the network sees what it saw, earlier positions are lost.

    White is to move in all of them; a record does not tell, and nothing depends on it.
    """
    positions = Positions.from_boards(rules, boards, np.zeros(len(boards), np.int8))
    positions.counters[:] = np.rint(features[:, :4] * rules.counter_limits)
    positions.repetitions[:] = np.rint(features[:, 4] * ((rules.repetition or 3) - 1))
    positions.plies[:] = np.rint(features[:, 5] * rules.ply_cap)
    return positions
