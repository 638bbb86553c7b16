"""Command line, environments and the room for moves under rule sets other than the default."""

import json
import warnings

import gymnasium
import numpy as np
import pytest

from damas_env import movegen
from damas_env.envs.aec import DamasAECEnv
from damas_env.envs.vector import DamasVectorEnv
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl import cli
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.mcts import Search, SearchConfig


@pytest.mark.parametrize(
    ("rules", "leaves", "first"), [("russian", 302, "22-17"), ("international", 658, "32-28")]
)  # published perft numbers at depth 3
def test_command_line(capsys, rules, leaves, first) -> None:
    assert cli.main(["perft", "--rules", rules, "--depth", "3", "--json"]) == 0
    assert str(leaves) in capsys.readouterr().out
    assert cli.main(["moves", "--rules", rules, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rules"] == rules and first in json.dumps(found["moves"])
    assert cli.main(["play-moves", "--rules", rules, "--moves", first]) == 0
    assert cli.main(["bestmove", "--rules", rules, "--player", "alphabeta:depth=1"]) == 0


def test_single_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gymnasium.make("damas_env/Damas-v0", rules="russian", opponent="random")
    _, info = env.reset(seed=1)
    over = False
    while not over:
        mask = info["action_mask"]
        _, reward, terminated, truncated, info = env.step(int(np.flatnonzero(mask)[0]))
        over = terminated or truncated
    assert reward in (-1.0, 0.0, 1.0)


def test_aec_environment() -> None:
    env = DamasAECEnv(rules="international")
    env.reset(seed=1)
    for _ in env.agent_iter(60):
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(np.flatnonzero(observation["action_mask"])[0]))
    assert observation["action_mask"].shape == (3524,)


def test_vector_environment() -> None:
    env = DamasVectorEnv(num_envs=3, rules="international")
    _, infos = env.reset(seed=1)
    for _ in range(40):
        _, rewards, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    assert env.single_action_space.n == 3524 and rewards.shape == (3,)


def test_game_without_room_for_its_moves(monkeypatch) -> None:
    monkeypatch.setattr(RuleSet, "max_moves", property(lambda rules: 9))
    positions = Positions.initial("russian", 2)
    with pytest.raises(ValueError, match="9 legal moves or more; there is no room"):
        for _ in range(40):
            positions.step(positions.actions[:, 0])
    assert positions.counts.max() == 9


class Even:
    """Finds everything equal."""

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def evaluate(self, boards, features):
        zeros = np.zeros((len(boards), self.actions), np.float32)
        return zeros, np.zeros(len(boards), np.float32), np.zeros(len(boards), np.float32)


def test_search_without_room_for_the_moves(monkeypatch) -> None:
    monkeypatch.setattr(RuleSet, "max_moves", property(lambda rules: 9))
    rules = get_rules("russian")
    search = Search(rules, Even(rules.num_actions), SearchConfig(kind="puct"), 1, 200)
    with pytest.raises(ValueError, match="9 legal moves or more; there is no room"):
        search.run(Positions.initial(rules), 200)


def test_alphabeta_without_room_for_the_moves(monkeypatch) -> None:
    monkeypatch.setattr(RuleSet, "max_moves", property(lambda rules: 9))
    rules = get_rules("russian")
    with pytest.raises(ValueError, match="9 legal moves or more; there is no room"):
        AlphaBeta(rules, Limits(depth=8)).search(Positions.initial(rules), np.zeros(1, np.uint64))


@pytest.mark.parametrize(("depth", "room"), [(1, 7), (2, 7), (3, 8), (4, 8)])
def test_perft_without_room_for_the_moves(depth: int, room: int, monkeypatch, capsys) -> None:
    monkeypatch.setattr(RuleSet, "max_moves", property(lambda rules: room))
    rules = get_rules("russian")
    with pytest.raises(ValueError, match=f"{room} legal moves or more; there is no room"):
        movegen.perft(rules, rules.initial_boards, depth)
    assert cli.main(["perft", "--rules", "russian", "--depth", str(depth)]) == 2
    assert f"{room} legal moves or more; there is no room" in capsys.readouterr().err
