"""Reanalysis: which records are searched anew, what of them changes, and that threads change nothing."""

from dataclasses import replace

import numpy as np

from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.reanalysis import Reanalysis, restored
from damas_rl.records import policy_rows
from damas_rl.replay import ReplayBuffer, ReplayConfig
from damas_rl.search.mcts import Search, SearchConfig
from learning_cases import random_positions, random_records
from search_cases import HashEvaluator, draws

CBD = get_rules("cbd")


def buffer() -> ReplayBuffer:
    replay = ReplayBuffer(CBD, ReplayConfig(capacity=2000, window=2000))
    records = random_records(CBD, 700)
    records.q[:] = 2.0  # which no search finds
    replay.add(records)
    return replay


def analysed(threads: int, count: int = 600) -> ReplayBuffer:
    replay, reanalysis = buffer(), Reanalysis(CBD, SearchConfig(kind="gumbel"), 8, threads, None)
    assert reanalysis.run(replay, HashEvaluator(), count, (7, 3)) == min(count, 700)
    reanalysis.close()
    return replay


def rows_of(replay: ReplayBuffer) -> dict[str, np.ndarray]:
    return replay.state_dict()["rows"]


def test_only_what_searches_find_is_replaced() -> None:
    before, after = rows_of(buffer()), rows_of(analysed(threads=1))
    for name in ("boards", "features", "z", "plies_left", "weight"):
        assert (before[name] == after[name]).all(), name
    changed = before["q"] != after["q"]
    assert changed.sum() == 600 and ((before["policy"] != after["policy"]).any(axis=1) <= changed).all()
    assert np.allclose(after["policy"].sum(axis=1), 1.0, atol=1e-5)


def test_threads_do_not_matter() -> None:
    one, two = rows_of(analysed(threads=1)), rows_of(analysed(threads=2))
    assert all((one[name] == two[name]).all() for name in one)


def test_all_records_are_taken_where_there_are_fewer() -> None:
    assert (rows_of(buffer())["q"] != rows_of(analysed(threads=2, count=5000))["q"]).all()


def test_records_say_what_a_search_of_the_position_says() -> None:
    """Positions as they stood in their games, without repetitions, are searched as they were there."""
    positions = random_positions(CBD, 60)
    positions = positions.take(np.flatnonzero((positions.repetitions == 0) & (positions.counts > 1)))
    again = restored(CBD, positions.boards, features(positions))
    assert (again.counters == positions.counters).all() and (positions.counters > 0).any()
    search = Search(CBD, HashEvaluator(), SearchConfig(), len(positions), 1)
    found = [search.run(each, 1) for each in (positions, again)]
    one, other = (policy_rows(result.actions, result.policy) for result in found)
    assert all((left == right).all() for left, right in zip(one, other, strict=True))


def test_counters_and_repetitions_survive() -> None:
    positions: Positions = draws()
    again = restored(CBD, positions.boards, features(positions))
    assert (again.counters == positions.counters).all() and (again.repetitions == positions.repetitions).all()
    assert (features(again) == features(positions)).all() and again.repetitions.any()


def test_plies_of_capped_games_survive() -> None:
    rules = replace(CBD, name="capped", ply_cap=100)
    positions = random_positions(rules, 60)
    again = restored(rules, positions.boards, features(positions))
    assert (again.plies == positions.plies).all() and (positions.plies > 0).any()


def test_nothing_to_search() -> None:
    reanalysis = Reanalysis(CBD, SearchConfig(), 8, 1, None)
    assert reanalysis.run(ReplayBuffer(CBD, ReplayConfig(capacity=10, window=10)), HashEvaluator(), 5, (1, 1)) == 0
    assert reanalysis.run(buffer(), HashEvaluator(), 0, (1, 1)) == 0
    reanalysis.close()
