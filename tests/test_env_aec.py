"""The PettingZoo environment: its API tests, rewards of both agents, views and masks."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pettingzoo")
from pettingzoo.test import api_test, seed_test

from damas_env.envs.aec import DamasAECEnv, env
from damas_env.errors import IllegalActionError
from damas_env.game import Game
from damas_env.observation import planes
from damas_env.rules import get_rules


@pytest.mark.parametrize("rules", ["cbd", replace(get_rules("cbd"), ply_cap=30)], ids=["cbd", "capped"])
def test_pettingzoo_api(rules, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Advice that a board game with masks does not follow: names like player_0, plain boxes; and the mask
        # of a finished game is empty.
        for advice in (
            "We recommend agents to be named",
            "Observation space for each agent probably",
            "Observation is not a NumPy array",
            "Action mask numpy array is all zeros",
        ):
            warnings.filterwarnings("ignore", message=advice)
        api_test(env(rules), num_cycles=300)
        api_test(DamasAECEnv(rules), num_cycles=300)
    assert "Passed" in capsys.readouterr().out


def test_pettingzoo_seeds():
    seed_test(env, num_cycles=100)


def test_turns_masks_and_views_follow_the_game():
    game, table, rng = Game("cbd"), env(), np.random.default_rng(4)
    table.reset(seed=0)
    while game.outcome() is None:
        mover = "white" if game.color == "W" else "black"
        assert table.agent_selection == mover
        seen, reward, terminated, truncated, _ = table.last()
        assert (reward, terminated, truncated) == (0, False, False)
        legal = sorted(move.action for move in game.legal_moves())
        np.testing.assert_array_equal(np.flatnonzero(seen["action_mask"]), legal)
        np.testing.assert_array_equal(seen["observation"], planes(game.positions)[0])
        waiting = table.observe("black" if mover == "white" else "white")
        assert not waiting["action_mask"].any()
        np.testing.assert_array_equal(waiting["observation"][2:4, ::-1, ::-1], seen["observation"][:2])
        np.testing.assert_array_equal(waiting["observation"][4:], seen["observation"][4:])
        action = int(rng.choice(legal))
        game.push(action)
        table.step(action)
    assert all(table.terminations.values())
    assert table.infos["white"]["outcome"]["termination"] == game.outcome().termination.name


@pytest.mark.parametrize(
    ("fen", "action", "rewards"),
    [
        ("W:W22:B18", 21 * 32 + 14, {"white": 1.0, "black": -1.0}),
        ("B:W22:B18", (32 - 18) * 32 + 32 - 25, {"white": -1.0, "black": 1.0}),
    ],
)
def test_rewards_of_both_agents(fen, action, rewards):
    table = env()
    table.reset(options={"fen": fen})
    assert table.agent_selection == ("white" if fen[0] == "W" else "black")
    table.step(action)
    assert table.rewards == rewards and table.terminations == {"white": True, "black": True}
    assert table.truncations == {"white": False, "black": False}
    received = {}
    for agent in table.agent_iter():
        observation, received[agent], *_ = table.last()
        assert not observation["action_mask"].any()
        table.step(None)
    assert received == rewards and table.agents == []


def test_ply_cap_truncates_both():
    table = env(replace(get_rules("cbd"), ply_cap=3))
    table.reset()
    for _ in range(3):
        table.step(int(np.flatnonzero(table.last()[0]["action_mask"])[0]))
    assert table.truncations == {"white": True, "black": True}
    assert table.terminations == {"white": False, "black": False} and set(table.rewards.values()) == {0.0}


def test_illegal_action_raises_and_changes_nothing():
    table = env()
    table.reset()
    with pytest.raises(IllegalActionError, match="Action 0 is not legal"):
        table.step(0)
    assert table.agent_selection == "white" and table.unwrapped.positions.plies[0] == 0


def test_wrong_arguments_are_explained_and_the_game_goes_on():
    table = DamasAECEnv()
    table.reset()
    table.step(int(np.flatnonzero(table.last()[0]["action_mask"])[0]))
    for options in (5, "fen", {"fen": 3}, {"fen": "W:W:BK1"}):
        with pytest.raises(ValueError, match=r"must be|already over"):
            table.reset(options=options)
    for seed in (-1, "1"):
        with pytest.raises(ValueError, match=r"seed=.* is impossible"):
            table.reset(seed=seed)
    with pytest.raises(ValueError, match="agent='red' is unknown; use 'white' or 'black'"):
        table.observe("red")
    with pytest.raises(ValueError, match="rules=3 is neither"):
        DamasAECEnv(rules=3)
    assert table.agent_selection == "black" and table.positions.plies[0] == 1


@pytest.mark.parametrize("wrong", [0, -1, 1.0, "a", None, 10**30, [688]])
def test_no_wrong_action_changes_anything(wrong):
    table = DamasAECEnv()
    table.reset()
    with pytest.raises(IllegalActionError):
        table.step(wrong)
    assert table.agent_selection == "white" and table.positions.plies[0] == 0


def test_unknown_render_mode_is_explained():
    with pytest.raises(ValueError, match="'ansi' or 'rgb_array'"):
        env(render_mode="human")
