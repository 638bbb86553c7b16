"""Memory by the formulas of docs/performance.md."""

import numpy as np
import pytest

from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.records import empty_records
from damas_rl.replay import ReplayBuffer, ReplayConfig
from damas_rl.search.alphabeta_kernels import new_frames, new_state
from damas_rl.search.mcts import Search, SearchConfig
from damas_rl.search.transpositions import new_table
from damas_rl.selfplay import SelfPlay, SelfPlayConfig


def size_of(arrays):
    return sum(array.nbytes for array in arrays)


def arrays_of(thing):
    return [value for value in vars(thing).values() if isinstance(value, np.ndarray)]


def game_bytes(rules):
    return 55 + 8 * rules.history_length + 10 * rules.max_moves


def tree_bytes(rules, simulations):
    return 848 * simulations + 5_352 + 44 * rules.max_moves


def progress_bytes(rules):
    return game_bytes(rules) + 67_371


@pytest.mark.parametrize("name", ["cbd", "international"])
def test_games(name):
    rules = get_rules(name)
    assert size_of(arrays_of(Positions(rules, 7))) == 7 * game_bytes(rules)


@pytest.mark.parametrize("name", ["cbd", "international"])
def test_trees_and_leaves(name):
    rules = get_rules(name)
    search = Search(rules, None, SearchConfig(leaves_per_tree=2), games=3, simulations=50)
    assert size_of(search.trees) == 3 * tree_bytes(rules, 50)
    assert size_of(search._leaves) + search._features.nbytes == 3 * 2 * 77


def test_replay_buffer():
    buffer = ReplayBuffer(get_rules("cbd"), ReplayConfig(capacity=100, window=50))
    assert size_of(buffer._rows) == size_of(empty_records(100)) == 100 * 259


def test_games_of_self_play():
    rules = get_rules("cbd")
    run = SelfPlay(rules, SelfPlayConfig(games=6, groups=2), SearchConfig(), seed=0)
    held = sum(size_of([*arrays_of(group), *group.rows, *arrays_of(group.positions)]) for group in run.groups)
    assert held == 6 * progress_bytes(rules)


def test_alpha_beta():
    rules = get_rules("cbd")
    # One searching thread: the path, the state, and the largest table.
    assert new_frames(rules).nbytes + new_state(rules).nbytes + new_table(1 << 17).nbytes == 7_125_136
