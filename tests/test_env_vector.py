"""DamasVectorEnv: every game equals a game played alone; autoreset, final observations, buffers, seeds."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

import damas_env  # noqa: F401  (registers the environment)
from damas_env import notation
from damas_env.envs import DamasEnv, DamasVectorEnv
from damas_env.errors import IllegalActionError
from damas_env.game import Game
from damas_env.observation import features, planes
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_env.termination import Termination

CBD = get_rules("cbd")


def put(env: DamasVectorEnv, fens: list[str]) -> None:
    """Replaces the games of an environment by positions."""
    parsed = [notation.parse_fen(fen, env.rules) for fen in fens]
    boards = np.array([board for board, _ in parsed])
    env.positions = Positions.from_boards(env.rules, boards, np.array([color for _, color in parsed], np.int8))


def test_make_vec_and_spaces():
    env = gymnasium.make_vec("damas_env/Damas-v0", num_envs=3, rules="cbd")
    assert isinstance(env, VectorEnv) and isinstance(env.unwrapped, DamasVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert env.single_action_space == gymnasium.spaces.Discrete(1152)
    assert env.single_observation_space.shape == (10, 8, 8) and env.observation_space.shape == (3, 10, 8, 8)
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space
    actions = env.unwrapped.sample_legal()
    assert actions.shape == (3,) and actions.astype(np.int64) in env.action_space
    observation, rewards, terminations, truncations, info = env.step(actions)
    assert observation in env.observation_space
    assert rewards.dtype == np.float32 and terminations.dtype == truncations.dtype == np.bool_
    assert rewards.shape == terminations.shape == truncations.shape == (3,)
    assert info["action_mask"].shape == (3, 1152) and info["action_mask"].dtype == np.int8
    env.close()


def test_every_game_equals_a_game_played_alone():
    """Follows each game with a ``Game``, step by step over several autoresets."""
    rules = replace(CBD, ply_cap=60)
    env = DamasVectorEnv(num_envs=12, rules=rules)
    observation, info = env.reset(seed=11)
    games = [Game(rules) for _ in range(env.num_envs)]
    seen: set[str] = set()
    for _ in range(200):
        for index, game in enumerate(games):
            legal = sorted(move.action for move in game.legal_moves())
            np.testing.assert_array_equal(np.flatnonzero(info["action_mask"][index]), legal)
            np.testing.assert_array_equal(observation[index], planes(game.positions)[0])
        np.testing.assert_array_equal(env.action_masks(), info["action_mask"])
        actions = env.sample_legal()
        movers = [game.color for game in games]
        observation, rewards, terminations, truncations, info = env.step(actions)
        ended = np.zeros(env.num_envs, dtype=bool)
        for index, game in enumerate(games):
            game.push(int(actions[index]))
            outcome = game.outcome()
            won = outcome is not None and outcome.winner == movers[index]
            assert rewards[index] == won
            truncated = outcome is not None and outcome.termination == Termination.PLY_CAP
            assert truncations[index] == truncated
            assert terminations[index] == (outcome is not None and not truncated)
            if outcome is None:
                continue
            ended[index] = True
            seen.add("cap" if truncated else outcome.winner or "draw")
            np.testing.assert_array_equal(info["final_obs"][index], planes(game.positions)[0])
            assert info["final_info"]["termination"][index] == outcome.termination
            assert info["final_info"]["winner"][index] == {"W": 0, "B": 1, None: -1}[outcome.winner]
            assert info["final_info"]["ply"][index] == game.ply
            games[index] = Game(rules)
        if ended.any():
            for key in ("_final_obs", "_final_info"):
                np.testing.assert_array_equal(info[key], ended)
            for key in ("_termination", "_winner", "_ply"):
                np.testing.assert_array_equal(info["final_info"][key], ended)
            assert [row is not None for row in info["final_obs"]] == ended.tolist()
        else:
            assert "final_obs" not in info and "final_info" not in info
    assert {"W", "B", "cap"} <= seen, f"wins of both sides and the cap must have been met, not only {seen}"


def test_scripted_wins_of_both_colours_and_autoreset():
    env = DamasVectorEnv(num_envs=3)
    env.reset()
    put(env, ["W:W22:B18", "B:W22:B18", "W:W22:B18,1"])
    actions = np.array([21 * 32 + 14, (32 - 18) * 32 + 32 - 25, 21 * 32 + 14])
    observation, rewards, terminations, truncations, info = env.step(actions)
    np.testing.assert_array_equal(rewards, [1, 1, 0])
    np.testing.assert_array_equal(terminations, [True, True, False])
    assert not truncations.any()
    np.testing.assert_array_equal(info["final_info"]["winner"][:2], [0, 1])
    fresh = planes(Positions.initial(CBD, 1))[0]
    for game in (0, 1):
        np.testing.assert_array_equal(observation[game], fresh)
        assert info["final_obs"][game][:2].sum() == 0 and info["final_obs"][game][2:4].sum() == 1
        assert info["action_mask"][game].sum() == 7
    assert info["final_obs"][2] is None and not (observation[2] == fresh).all()
    np.testing.assert_array_equal(env.positions.plies, [0, 0, 1])
    *_, info = env.step(env.sample_legal())
    assert "final_obs" not in info, "a game is reported in the step in which it ended only"
    np.testing.assert_array_equal(env.positions.plies, [1, 1, 2])


@pytest.mark.parametrize("draws", [False, True])
def test_ply_cap_truncates_unless_it_is_a_draw(draws):
    env = DamasVectorEnv(num_envs=4, rules=replace(CBD, ply_cap=5, ply_cap_draws=draws))
    env.reset(seed=0)
    for step in range(1, 11):
        _, rewards, terminations, truncations, info = env.step(env.sample_legal())
        at_cap = step % 5 == 0
        assert not rewards.any()
        assert terminations.all() == terminations.any() == (at_cap and draws)
        assert truncations.all() == truncations.any() == (at_cap and not draws)
        np.testing.assert_array_equal(env.positions.plies, step % 5)
        if at_cap:
            assert (info["final_info"]["ply"] == 5).all() and (info["final_info"]["winner"] == -1).all()


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("observation", ["planes", "boards"])
def test_final_observation_is_not_aliased(observation, copy):
    env = DamasVectorEnv(num_envs=2, observation=observation, copy=copy)
    current, _ = env.reset(seed=0)
    put(env, ["W:W22:B18", "initial"])
    current, _, _, _, info = env.step(np.array([21 * 32 + 14, 21 * 32 + 17]))
    final = info["final_obs"][0]

    def arrays(tree):
        return list(tree.values()) if isinstance(tree, dict) else [tree]

    kept = [array.copy() for array in arrays(final)]
    held = [*arrays(current), info["action_mask"], env.positions.boards, env.positions.plies]
    assert not any(np.shares_memory(mine, other) for mine in arrays(final) for other in held)
    assert not np.array_equal(arrays(final)[0], arrays(current)[0][0]), "not the observation of the new game"
    report = {key: value.copy() for key, value in info["final_info"].items()}
    for _ in range(3):
        env.step(env.sample_legal())
    for array, before in zip(arrays(final), kept, strict=True):
        np.testing.assert_array_equal(array, before)
    for key, value in report.items():
        np.testing.assert_array_equal(info["final_info"][key], value)


def test_copy_option():
    copying, reusing = DamasVectorEnv(4, copy=True), DamasVectorEnv(4, copy=False)
    first, info_first = copying.reset(seed=0)
    kept = first.copy()
    (
        second,
        info_second,
    ) = copying.step(copying.sample_legal())[::4]
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(info_first["action_mask"], info_second["action_mask"])
    np.testing.assert_array_equal(first, kept)
    first, info_first = reusing.reset(seed=0)
    second, info_second = reusing.step(reusing.sample_legal())[::4]
    assert second is first and np.shares_memory(info_first["action_mask"], info_second["action_mask"])
    np.testing.assert_array_equal(second, planes(reusing.positions))


def test_compact_observations():
    env = DamasVectorEnv(num_envs=5, observation="boards")
    observation, _ = env.reset(seed=2)
    for _ in range(20):
        assert observation in env.observation_space
        np.testing.assert_array_equal(observation["boards"], env.positions.boards)
        assert not np.shares_memory(observation["boards"], env.positions.boards)
        np.testing.assert_array_equal(observation["features"], features(env.positions))
        observation, *_ = env.step(env.sample_legal())
    bare = DamasVectorEnv(num_envs=5, observation="none", masks=False)
    observation, info = bare.reset(seed=2)
    assert observation.shape == (5, 0) and info == {}
    for _ in range(20):
        bare.step(bare.sample_legal())
    np.testing.assert_array_equal(bare.positions.boards, env.positions.boards)


def test_illegal_action_names_the_game_and_changes_nothing():
    env = DamasVectorEnv(num_envs=3)
    env.reset(seed=0)
    actions = env.sample_legal()
    actions[1] = 5
    before = env.positions.copy()
    with pytest.raises(IllegalActionError, match="Action 5 is not legal in game 1"):
        env.step(actions)
    for name in ("boards", "colors", "plies", "counts", "history_len"):
        np.testing.assert_array_equal(getattr(env.positions, name), getattr(before, name))
    with pytest.raises(IllegalActionError):
        env.step(np.zeros(2, dtype=np.int64))
    with pytest.raises(IllegalActionError):
        env.step(np.zeros(3))


def play(env: DamasVectorEnv, seed: int, steps: int = 12) -> np.ndarray:
    """int16[steps, n]: the actions of seeded random play."""
    env.reset(seed=seed)
    rows = []
    for _ in range(steps):
        rows.append(env.sample_legal())
        env.step(rows[-1])
    return np.array(rows)


def test_seeds():
    one, two = DamasVectorEnv(64), DamasVectorEnv(64)
    first = play(one, seed=5)
    np.testing.assert_array_equal(first, play(two, seed=5))
    assert (first != play(two, seed=6)).any()
    assert len({tuple(column) for column in first.T}) > 60, "games of one batch differ from each other"
    one.reset(seed=5)
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(one.sample_legal(np.random.default_rng(1)), one.sample_legal(rng))


def test_sample_legal_is_uniform():
    env = DamasVectorEnv(14_000, observation="none", masks=False)
    env.reset(seed=0)
    actions, counts = np.unique(env.sample_legal(), return_counts=True)
    np.testing.assert_array_equal(np.sort(env.positions.actions[0, :7]), actions)
    assert np.abs(counts - 2_000).max() < 210, "seven first moves, each 1/7 (5 standard deviations)"


def test_threads_do_not_change_results(monkeypatch):
    trajectories = []
    for threads in (1, 2):
        monkeypatch.setattr("damas_env.position.THREADS", threads)
        monkeypatch.setattr("damas_env.position._SMALLEST_CHUNK", 256)
        env = DamasVectorEnv(1024)
        actions = play(env, seed=9, steps=70)
        trajectories.append((actions, planes(env.positions), env.action_masks()))
    for one, two in zip(*trajectories, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_envs": 0}, "num_envs=0 is impossible; use a whole number, 1 or more"),
        ({"num_envs": "a"}, "num_envs='a' is impossible"),
        ({"num_envs": 2.0}, "num_envs=2.0 is impossible"),
        ({"num_envs": True}, "num_envs=True is impossible"),
        ({"observation": "image"}, "'planes', 'boards' or 'none'"),
        ({"observation": None}, "observation=None is unknown"),
        ({"rules": 3}, "rules=3 is neither"),
        ({"masks": "no"}, "masks='no' is unknown; use True or False"),
        ({"copy": None}, "copy=None is unknown; use True or False"),
    ],
)
def test_wrong_arguments_are_explained(kwargs, message):
    with pytest.raises(ValueError, match=message):
        DamasVectorEnv(**kwargs)


def test_wrong_resets_are_refused_and_the_games_go_on():
    env = DamasVectorEnv(2)
    env.reset(seed=0)
    env.step(env.sample_legal())
    for options, message in ((({"fen": "initial"}), "Unknown reset option 'fen'"), (5, "must be a dict")):
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)
    for seed in (-1, 0.5, "0"):
        with pytest.raises(ValueError, match=r"seed=.* is impossible"):
            env.reset(seed=seed)
    assert env.positions.plies.tolist() == [1, 1]


def test_agrees_with_gymnasiums_own_vector_of_single_environments():
    """Same results and the same report of finished games as ``SyncVectorEnv`` in its SAME_STEP mode."""
    rules = replace(CBD, ply_cap=50)
    ours = DamasVectorEnv(4, rules=rules)
    theirs = SyncVectorEnv([lambda: DamasEnv(rules=rules)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)
    observation, info = ours.reset(seed=0)
    np.testing.assert_array_equal(observation, theirs.reset(seed=0)[0])
    finished = 0
    for _ in range(120):
        actions = ours.sample_legal()
        *results, info = ours.step(actions)
        *expected, expected_info = theirs.step(actions.astype(np.int64))
        for mine, other in zip(results, expected, strict=True):
            np.testing.assert_array_equal(mine, other)
        np.testing.assert_array_equal(info["action_mask"], expected_info["action_mask"])
        np.testing.assert_array_equal(info["_action_mask"], expected_info["_action_mask"])
        assert ("final_obs" in info) == ("final_obs" in expected_info)
        if "final_obs" in info:
            ended = info["_final_obs"]
            np.testing.assert_array_equal(ended, expected_info["_final_obs"])
            np.testing.assert_array_equal(info["_final_info"], expected_info["_final_info"])
            np.testing.assert_array_equal(info["final_info"]["ply"], expected_info["final_info"]["ply"])
            np.testing.assert_array_equal(info["final_info"]["_ply"], expected_info["final_info"]["_ply"])
            for index in np.flatnonzero(ended):
                np.testing.assert_array_equal(info["final_obs"][index], expected_info["final_obs"][index])
            finished += int(ended.sum())
    assert finished >= 8
