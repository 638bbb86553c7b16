"""DamasEnv: contract of Gymnasium, rewards for both colours, truncation, illegal actions, seeds."""

import subprocess
import sys
import types
import warnings
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import damas_env  # noqa: F401  (registers the environment)
from damas_env.envs import DamasEnv
from damas_env.envs.opponents import RandomOpponent
from damas_env.errors import IllegalActionError, OpponentError
from damas_env.game import Game
from damas_env.observation import planes
from damas_env.position import Positions
from damas_env.rules import DrawLaw, get_rules
from damas_env.termination import Termination

CBD = get_rules("cbd")
WHITE_WINS_AT_ONCE = "W:W22:B18"  # c3xd4 takes the last piece
BLACK_WINS_AT_ONCE = "B:W22:B18"  # d4xc3 takes the last piece
WHITE_BLOCKS = "W:W25,30,K4:B21"  # any king move leaves the man on a3 without a move
WHITE_LOSES = "W:W26:B18"  # after d2-c3 Black takes the last piece
BLACK_LOSES = "B:W15:B7"  # the same, turned


def action(frm: int, to: int, black: bool = False) -> int:
    """The action of a move that is alone on its (from, to) squares."""
    return (32 - frm) * 32 + 32 - to if black else (frm - 1) * 32 + to - 1


class Scripted:
    """An opponent that plays given actions."""

    def __init__(self, *actions: int) -> None:
        self.actions = list(actions)

    def choose(self, positions):
        return types.SimpleNamespace(actions=np.array([self.actions.pop(0)]))


def start(fen: str, **kwargs):
    env = DamasEnv(**kwargs)
    env.reset(options={"fen": fen})
    return env


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"opponent": "random", "agent_color": "white", "illegal_action": "lose"},
        {"opponent": "random", "agent_color": "black", "illegal_action": "lose"},
        {"opponent": "random", "illegal_action": "lose"},
        {"render_mode": "ansi"},
        {"render_mode": "rgb_array"},
    ],
    ids=str,
)
def test_gymnasium_checker_has_no_complaint(kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("damas_env/Damas-v0", **kwargs).unwrapped)


def test_bare_samples_play_whole_games():
    env = gymnasium.make("damas_env/Damas-v0")
    env.action_space.seed(0)
    lengths = []
    for _ in range(5):
        env.reset(seed=1)
        done = False
        while not done:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            done = terminated or truncated
            assert type(terminated) is bool and type(truncated) is bool and type(reward) is float
        lengths.append(info["ply"])
        assert not info["action_mask"].any(), "nothing is legal when the game has ended"
    assert len(set(lengths)) > 1, "samples differ from game to game"


def test_masks_are_the_legal_moves_and_observations_the_planes():
    env, game, rng = DamasEnv(), Game("cbd"), np.random.default_rng(5)
    observation, info = env.reset()
    for _ in range(200):
        legal = sorted(move.action for move in game.legal_moves())
        np.testing.assert_array_equal(np.flatnonzero(info["action_mask"]), legal)
        np.testing.assert_array_equal(np.flatnonzero(env.action_masks()), legal)
        assert info["action_mask"].dtype == np.int8 and env.action_masks().dtype == np.bool_
        assert env.action_masks().shape == (1152,)
        assert info["to_move"] == game.color and info["ply"] == game.ply
        np.testing.assert_array_equal(observation, planes(game.positions)[0])
        chosen = int(rng.choice(legal))
        game.push(chosen)
        observation, reward, terminated, truncated, info = env.step(chosen)
        outcome = game.outcome()
        assert terminated == (outcome is not None) and not truncated
        if outcome is not None:
            assert info["outcome"] == {"termination": outcome.termination.name, "winner": outcome.winner}
            assert reward == (outcome.winner is not None), "only the side that has just moved can have won"
            break
    else:
        pytest.fail("a random game should end within 200 plies")


@pytest.mark.parametrize(
    ("fen", "chosen", "winner", "termination"),
    [
        (WHITE_WINS_AT_ONCE, action(22, 15), "W", "NO_PIECES"),
        (BLACK_WINS_AT_ONCE, action(18, 25, black=True), "B", "NO_PIECES"),
        (WHITE_BLOCKS, action(4, 8), "W", "BLOCKED"),
    ],
)
@pytest.mark.parametrize("with_opponent", [False, True])
def test_winning_ply_is_rewarded(fen, chosen, winner, termination, with_opponent):
    kwargs = {"opponent": Scripted(), "agent_color": "white" if winner == "W" else "black"}
    env = start(fen, **kwargs if with_opponent else {})
    observation, reward, terminated, truncated, info = env.step(chosen)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["outcome"] == {"termination": termination, "winner": winner}
    own, other = (observation[:2].sum(), observation[2:4].sum())
    last = {"NO_PIECES": (1, 0), "BLOCKED": (3, 1)}[termination]
    assert (own, other) == (last if with_opponent else last[::-1]), "view of the agent / of the loser"


@pytest.mark.parametrize(
    ("fen", "color", "chosen", "reply"),
    [
        (WHITE_LOSES, "white", action(26, 22), action(18, 25, black=True)),
        (BLACK_LOSES, "black", action(7, 11, black=True), action(15, 8)),
    ],
)
def test_losing_to_the_reply(fen, color, chosen, reply):
    env = start(fen, opponent=Scripted(reply), agent_color=color)
    observation, reward, terminated, truncated, info = env.step(chosen)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info["outcome"] == {"termination": "NO_PIECES", "winner": "B" if color == "white" else "W"}
    assert info["ply"] == 2
    assert observation[:2].sum() == 0 and observation[2:4].sum() == 1, "the agent has lost its only piece"


def test_draw_gives_nothing_and_terminates():
    env = start("W:WK21:BK12")
    white, black = [(21, 25), (25, 21)], [(12, 16), (16, 12)]
    for ply in range(8):
        move = (black if ply % 2 else white)[ply // 2 % 2]
        _, reward, terminated, truncated, info = env.step(action(*move, black=bool(ply % 2)))
        assert reward == 0.0 and not truncated
        assert terminated == (ply == 7), "the starting position has come back for the third time"
    assert info["outcome"] == {"termination": "REPETITION", "winner": None}


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("opponent", [None, "random"])
def test_ply_cap_truncates_unless_it_is_a_draw(draws, opponent):
    env = DamasEnv(rules=replace(CBD, ply_cap=6, ply_cap_draws=draws), opponent=opponent)
    observation, info = env.reset(seed=0)
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        done = terminated or truncated
        assert reward == 0.0
        assert done == (info["ply"] == 6)
    assert (terminated, truncated) == (draws, not draws)
    assert info["outcome"] == {"termination": "PLY_CAP_DRAW" if draws else "PLY_CAP", "winner": None}
    np.testing.assert_array_equal(observation[9], 1.0)
    assert not info["action_mask"].any()


def test_win_on_the_ply_of_the_cap_is_a_win():
    env = start(WHITE_WINS_AT_ONCE, rules=replace(CBD, ply_cap=1))
    _, reward, terminated, truncated, info = env.step(action(22, 15))
    assert (reward, terminated, truncated, info["outcome"]["winner"]) == (1.0, True, False, "W")


@pytest.mark.parametrize("wrong", [0, 1151, 1152, -1, action(9, 13)])
def test_illegal_action_raises_and_changes_nothing(wrong):
    env = DamasEnv()
    before, _ = env.reset()
    with pytest.raises(IllegalActionError, match=f"Action {wrong} is not legal"):
        env.step(wrong)
    assert env.positions.plies[0] == 0
    np.testing.assert_array_equal(planes(env.positions)[0], before)
    env.step(action(22, 18))


@pytest.mark.parametrize("opponent", [None, "random"])
def test_illegal_action_can_lose(opponent):
    env = DamasEnv(opponent=opponent, illegal_action="lose")
    _, info = env.reset(seed=3)
    winner = "B" if info["to_move"] == "W" else "W"
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated, info["illegal_action"]) == (-1.0, True, False, True)
    assert info["outcome"] == {"termination": "ILLEGAL_ACTION", "winner": winner}
    assert not info["action_mask"].any()
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_step_needs_a_running_game():
    with pytest.raises(ResetNeeded):
        DamasEnv().step(0)
    env = start(WHITE_WINS_AT_ONCE)
    env.step(action(22, 15))
    with pytest.raises(ResetNeeded):
        env.step(action(22, 15))


def trace(env: gymnasium.Env, seed: int, steps: int = 30) -> list[bytes]:
    """Observations of the first steps when the agent always plays its first legal action."""
    observation, info = env.reset(seed=seed)
    seen = [observation.tobytes()]
    for _ in range(steps):
        observation, _, terminated, truncated, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        seen.append(observation.tobytes())
        if terminated or truncated:
            break
    return seen


def test_seeds_decide_colour_and_replies():
    one, two = DamasEnv(opponent="random"), DamasEnv(opponent="random")
    first = trace(one, seed=7)
    assert first == trace(two, seed=7) == trace(one, seed=7)
    assert first != trace(one, seed=8)
    assert trace(one, seed=7) == first, "a seed means the same whatever was played before"
    colors = set()
    for _ in range(20):
        one.reset()
        colors.add(int(one.positions.colors[0]))
    assert colors == {0, 1}
    games = {tuple(trace(DamasEnv(opponent="random", agent_color="white"), seed=None)) for _ in range(3)}
    assert len(games) == 3, "unseeded environments differ"


@pytest.mark.parametrize(("color", "plies"), [("white", 0), ("black", 1)])
def test_agent_color(color, plies):
    env = DamasEnv(opponent="random", agent_color=color)
    _, info = env.reset(seed=0)
    assert info["ply"] == plies and info["to_move"] == color[0].upper()
    _, _, _, _, info = env.step(env.action_space.sample())
    assert info["ply"] == plies + 2 and info["to_move"] == color[0].upper()


def test_other_specs_come_from_the_players_package(monkeypatch):
    calls = []
    module = types.ModuleType("damas_rl.players")
    module.make_player = lambda spec, rules, seed: calls.append((spec, rules.name)) or RandomOpponent(seed)
    monkeypatch.setitem(sys.modules, "damas_rl.players", module)
    DamasEnv(opponent="alphabeta:depth=2").reset(seed=0)
    assert set(calls) == {("alphabeta:depth=2", "cbd")}
    monkeypatch.setitem(sys.modules, "damas_rl.players", None)
    with pytest.raises(ValueError, match="needs the package damas_rl"):
        DamasEnv(opponent="alphabeta:depth=2")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"rules": "cdb"}, "Did you mean 'cbd'"),
        ({"opponent": "random", "agent_color": "red"}, "agent_color='red' is unknown"),
        ({"agent_color": "white"}, "needs an opponent"),
        ({"illegal_action": "ignore"}, "'raise' or 'lose'"),
        ({"render_mode": "human"}, "render_mode='human' is unknown"),
        ({"rules": 3}, "rules=3 is neither"),
        ({"rules": ["cbd"]}, "rules=.* is neither"),
        ({"rules": None}, "rules=None is neither"),
        ({"opponent": 5}, "opponent=5 cannot play"),
        ({"opponent": object()}, "opponent=<object .* cannot play"),
        ({"opponent": RandomOpponent}, "opponent=<class .* cannot play"),
        ({"opponent": ""}, "Unknown player ''"),
        ({"opponent": "random", "agent_color": ["white"]}, "agent_color=.* is unknown; use None, 'white', 'black' or"),
        ({"opponent": "random", "agent_color": 0}, "agent_color=0 is unknown"),
        ({"illegal_action": None}, "illegal_action=None is unknown; use 'raise' or 'lose'"),
        ({"illegal_action": np.zeros(2)}, "illegal_action=array.* is unknown"),
        ({"render_mode": {}}, "render_mode={} is unknown; use None, 'ansi' or 'rgb_array'"),
    ],
)
def test_wrong_arguments_are_explained(kwargs, message):
    with pytest.raises(ValueError, match=message) as caught:
        DamasEnv(**kwargs)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"ply_cap": "6"},
        {"ply_cap": 6.0},
        {"ply_cap": True},
        {"ply_cap": -1},
        {"ply_cap": 10**30},
        {"size": 8.0},
        {"size": 7},
        {"men_rows": 4},
        {"repetition": "3"},
        {"flying_kings": 1},
        {"majority": 3},
        {"majority": "most"},
        {"name": None},
        {"draw_laws": [CBD.draw_laws[0]]},
        {"draw_laws": ("40 plies",)},
    ],
    ids=str,
)
def test_rule_sets_of_wrong_types_are_refused(change):
    (key,) = change
    with pytest.raises(ValueError, match=key) as caught:
        DamasEnv(rules=replace(CBD, **change))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "change",
    [
        {"plies": 40.0},
        {"plies": 0},
        {"termination": "ENDING"},
        {"termination": 4},
        {"termination": Termination.BLOCKED},
        {"termination": Termination.NONE},
        {"material": "2K-1K"},
        {"material": ("\u0662K-1K",)},
        {"material": ("0K-1K",)},
        {"material": ("+-1K",)},
        {"resets": ("captures",)},
        {"resets": (1,)},
    ],
    ids=str,
)
def test_draw_laws_of_wrong_types_are_refused(change):
    law = {"plies": 10, "counter": "mine", "termination": Termination.ENDING, **change}
    (key,) = change
    with pytest.raises(ValueError, match=f"(?i){key.removesuffix('s')}"):
        DrawLaw(**law)


@pytest.mark.parametrize("size", [-1, 1.0, "2", None, True])
def test_batches_of_impossible_size_are_refused(size):
    with pytest.raises(ValueError, match=r"size=.* is impossible"):
        Positions.initial("cbd", size)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, [1]])
def test_impossible_seeds_are_refused_and_the_game_goes_on(seed):
    env = DamasEnv(opponent="random")
    _, before = env.reset(seed=4)
    with pytest.raises(ValueError, match=r"seed=.* is impossible; use a whole number, 0 or more"):
        env.reset(seed=seed)
    observation, info = env.reset(seed=np.int64(4))
    np.testing.assert_array_equal(info["action_mask"], before["action_mask"])
    np.testing.assert_array_equal(observation, DamasEnv(opponent="random").reset(seed=4)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fenn": "initial"}, "Unknown reset option 'fenn'"),
        ({"fen": 3}, "must be a text"),
        ({"fen": None}, "must be a text"),
        ({3: 4, "x": 5}, "Unknown reset option 3"),
        ("fen", "must be a dict"),
        (5, "must be a dict"),
        ({"fen": "W:W99:B1"}, "99"),
        ({"fen": "W:W:BK1"}, "already over"),
    ],
)
def test_wrong_reset_options_are_explained(options, message):
    env = DamasEnv()
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)


def answers(*replies):
    """An opponent that gives these replies, whatever they are, one after the other."""
    left = list(replies)
    return types.SimpleNamespace(choose=lambda positions: left.pop(0))


def reply(value):
    return types.SimpleNamespace(actions=value)


NO_ANSWERS = [
    reply(np.array([5000])),
    reply(np.array([action(9, 13)])),  # legal for the agent, not for the opponent
    reply(np.array([])),
    reply(np.array([1.0])),
    reply(np.array([688, 688])),
    reply(688),
    reply(None),
    None,
    688,
]


@pytest.mark.parametrize("wrong", NO_ANSWERS, ids=str)
@pytest.mark.parametrize("illegal_action", ["raise", "lose"])
def test_an_illegal_answer_leaves_the_game_as_it_was(wrong, illegal_action):
    legal = action(9, 13, black=True)
    env = DamasEnv(
        opponent=answers(wrong, reply(np.array([legal]))), agent_color="white", illegal_action=illegal_action
    )
    before, info = env.reset(seed=0)
    mask = env.action_masks()
    with pytest.raises(OpponentError, match="The opponent answered") as caught:
        env.step(action(22, 18))
    assert "\n" not in str(caught.value)
    assert env.positions.plies[0] == 0 and env.positions.colors[0] == 0
    np.testing.assert_array_equal(planes(env.positions)[0], before)
    np.testing.assert_array_equal(env.action_masks(), mask)
    np.testing.assert_array_equal(env.action_space.legal, np.flatnonzero(info["action_mask"]))
    _, reward, terminated, truncated, info = env.step(action(22, 18))
    assert (reward, terminated, truncated, info["ply"]) == (0.0, False, False, 2)


def test_an_opponent_that_fails_leaves_the_game_as_it_was():
    env = DamasEnv(opponent=answers(), agent_color="white")  # has no reply at all
    before, _ = env.reset()
    with pytest.raises(IndexError):
        env.step(action(22, 18))
    np.testing.assert_array_equal(planes(env.positions)[0], before)


def test_an_illegal_first_answer_leaves_the_game_before():
    env = DamasEnv(opponent=answers(reply(np.array([action(22, 18)])), reply(np.array([0]))), agent_color="black")
    before, _ = env.reset()
    with pytest.raises(OpponentError):
        env.reset(options={"fen": "W:W21:B5"})
    np.testing.assert_array_equal(planes(env.positions)[0], before)
    assert env.positions.plies[0] == 1 and env.action_masks().any()


def test_an_opponent_may_play_on_what_it_is_given():
    class Trying:
        def choose(self, positions):
            chosen = positions.actions[:, 0].copy()
            positions.step(chosen)
            return reply(chosen)

    env = DamasEnv(opponent=Trying(), agent_color="white")
    env.reset()
    _, _, _, _, info = env.step(action(22, 18))
    assert info["ply"] == 2 and info["to_move"] == "W"


def test_reset_refuses_a_position_that_the_opponent_ends():
    env = DamasEnv(opponent=Scripted(action(22, 15)), agent_color="black")
    with pytest.raises(ValueError, match="would end the game"):
        env.reset(options={"fen": WHITE_WINS_AT_ONCE})


def test_rendering():
    env = DamasEnv(render_mode="ansi")
    env.reset()
    assert isinstance(env.render(), str) and len(env.render().splitlines()) >= 8
    assert env.svg().lstrip().startswith("<")
    image = DamasEnv(render_mode="rgb_array").render()
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3
    with pytest.raises(ValueError, match="render_mode"):
        DamasEnv().render()


def test_importing_the_game_imports_neither_torch_nor_pettingzoo():
    code = (
        "import sys, gymnasium, damas_env; gymnasium.make('damas_env/Damas-v0', opponent='random').reset(); "
        "print(sorted({'torch', 'pettingzoo', 'damas_rl'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
