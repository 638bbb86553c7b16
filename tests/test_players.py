"""Players: legal choices of every kind, reproducible by seed, and specs that are refused in one sentence."""

import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from damas_env.game import Game
from damas_env.observation import features
from damas_env.position import THREADS, Positions
from damas_env.rules import get_rules
from damas_rl.checkpoint import network_content, write_checkpoint
from damas_rl.networks import NetworkConfig, build_network
from damas_rl.players import PLAYING, MctsPlayer, Player, PlayerError, PolicyPlayer, anchored_spec, make_player
from damas_rl.search.mcts import SearchConfig, new_search

CBD = get_rules("cbd")


class Material:
    """A stand-in for a network: all moves alike, value by material."""

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        weights = np.array([1.0, 3.0, -1.0, -3.0])
        counts = np.array([[int(word).bit_count() for word in row] for row in boards], dtype=np.float64)
        values = np.tanh(counts @ weights / 4).astype(np.float32)
        return np.zeros((len(boards), CBD.num_actions), np.float32), values, np.full(len(boards), 30, np.float32)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = NetworkConfig(width=16, blocks=1)
    path = tmp_path_factory.mktemp("network") / "a,b.pt"
    weights = build_network(config, CBD).state_dict()
    write_checkpoint(path, {"kind": "network", **network_content(config, weights, CBD)})
    return path


def some_positions(number: int = 20) -> Positions:
    rng = np.random.default_rng(0)
    positions = Positions.initial(CBD, number)
    make = make_player("random", CBD, 1)
    plies = rng.integers(0, 40, size=number)
    for ply in range(40):
        positions.step(make.choose(positions).actions, ply < plies)
    return positions.take(np.flatnonzero(positions.terminations == 0))


def check(player: Player, positions: Positions) -> None:
    choice = player.choose(positions)
    size = len(positions)
    assert choice.actions.shape == choice.values.shape == choice.nodes.shape == (size,)
    assert (choice.actions.dtype, choice.values.dtype, choice.nodes.dtype) == (np.int16, np.float32, np.int64)
    assert len(choice.pvs) == size
    assert positions.masks()[np.arange(size), choice.actions].all()
    assert (np.abs(choice.values) <= 1).all()
    for game, line in enumerate(choice.pvs):
        one = positions.take(np.array([game]))
        assert not line or line[0] == choice.actions[game]
        for action in line:
            one.step(np.array([action]))  # raises if it is not legal


@pytest.mark.parametrize("spec", ["random", "alphabeta:depth=2", "alphabeta:nodes=500", "alphabeta:depth=9,ms=5"])
def test_choices_are_legal(spec: str) -> None:
    check(make_player(spec, "cbd", 3), some_positions())


def test_choices_of_networks_are_legal(network: Path) -> None:
    for keys in ("policy:", "mcts:sims=12,", "mcts:ms=3,", "mcts:ms=20,sims=12,"):
        spec = f"{keys}net={network}"
        player = make_player(spec, CBD, 0)
        assert player.name == spec
        for positions in (some_positions(3), some_positions(20), some_positions(1)):
            check(player, positions)


def test_constants_of_a_spec_reach_the_search(network: Path) -> None:
    positions = Positions.initial(CBD, 1)
    for keys, config in {
        "kind=gumbel,considered=4,c_visit=9,c_scale=0.5": replace(
            PLAYING, kind="gumbel", considered=4, c_visit=9, c_scale=0.5
        ),
        "c_puct=5,fpu_reduction=0": replace(PLAYING, c_puct=5.0, fpu_reduction=0.0),
        "prior_temperature=4": SearchConfig(prior_temperature=4.0),
    }.items():
        plain, player = (make_player(f"mcts:net={network},sims=60{more}", CBD, 0) for more in ("", f",{keys}"))
        search = new_search(CBD, player._evaluator, config, 1, 60)
        found = player.look(positions)[1].visits
        assert (found == search.run(positions, 60).visits).all(), keys
        assert (found != plain.look(positions)[1].visits).any(), keys
        assert (player.for_search(None).look(positions)[1].visits == found).all(), keys


def test_policy_plays_the_likeliest_legal_move(network: Path) -> None:
    from damas_rl.checkpoint import load_network
    from damas_rl.networks import Evaluator

    evaluator = Evaluator(load_network(network)[0])
    positions = some_positions()
    logits, values, _ = evaluator.evaluate(positions.boards, features(positions))
    choice = PolicyPlayer(evaluator).choose(positions)
    for game in range(len(positions)):
        legal = positions.actions[game, : positions.counts[game]]
        assert choice.actions[game] == legal[logits[game, legal].argmax()]
    np.testing.assert_array_equal(choice.values, values)


@pytest.mark.parametrize("fen", ["W:W21,22,23,31:B1,2", "B:W31,32:B2,10,11,12"])
def test_values_belong_to_the_side_to_move(fen: str) -> None:
    """Four men against two, seen by the stronger side; then by the weaker one, whose move it is."""
    other = f"{'WB'[fen[0] == 'W']}{fen[1:]}"
    players = MctsPlayer(CBD, Material(), 50), PolicyPlayer(Material()), make_player("alphabeta:depth=2", CBD, 0)
    for player in players:
        strong, weak = (player.choose(Game(CBD, each).positions).values[0] for each in (fen, other))
        assert strong > 0.2 and weak < -0.2, player.name


def test_tree_search_takes_what_is_offered() -> None:
    """A shot for four men: 22-18 lets Black take one and then takes four."""
    positions = Game(CBD, "W:W20,22,26,31:B2,5,15,16").positions
    player = MctsPlayer(CBD, Material(), 400)
    plain, deep = player.choose(positions), make_player("alphabeta:depth=6", CBD, 0).choose(positions)
    assert plain.actions[0] == deep.actions[0]
    assert plain.nodes[0] <= 400


def test_a_forced_move_costs_one_simulation() -> None:
    forced = Game(CBD, "W:W22:BK1,K2,17").positions
    free = Positions.initial(CBD, 1)
    assert (forced.counts[0], free.counts[0] > 1) == (1, True)
    both = Positions.from_boards(CBD, np.concatenate((forced.boards, free.boards)), np.zeros(2, np.int8))
    for simulations in (7, 50):
        choice = MctsPlayer(CBD, Material(), simulations).choose(both)
        assert choice.nodes.tolist() == [1, simulations]
        assert choice.actions[0] == forced.actions[0, 0]


class Slow(Material):
    """A network that takes its time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.asked = seconds, 0

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.asked += 1
        time.sleep(self.seconds)
        return super().evaluate(boards, features)


def test_each_game_gets_its_time() -> None:
    """Of one thread: the whole batch takes as many turns as there are games for each thread."""
    player = MctsPlayer(CBD, Slow(0.005), ms=100)
    player.choose(Positions.initial(CBD, 1))  # compiles
    started = time.perf_counter()
    choice = player.choose(Positions.initial(CBD, 3 * THREADS))
    seconds = time.perf_counter() - started
    assert 3 * 0.1 * 0.9 < seconds < 3 * 0.1 * 1.9  # a busy machine may be late, but one thread would need twice that
    assert (choice.nodes >= 5).all()


def test_a_search_that_is_late_from_the_start_still_moves() -> None:
    network = Slow(0.02)
    player = MctsPlayer(CBD, network, ms=1)
    positions = Positions.initial(CBD, 1)
    player.choose(positions)
    network.asked = 0
    choice = player.choose(positions)
    assert network.asked == 2  # the root, then a few leaves together
    assert 1 <= choice.nodes[0] <= 8
    assert positions.masks()[0, choice.actions[0]]


def test_simulations_cap_a_search_with_limited_time() -> None:
    positions = some_positions()
    player = MctsPlayer(CBD, Material(), 30, ms=60_000)
    started = time.perf_counter()
    nodes = player.choose(positions).nodes
    assert (nodes <= 30).all() and (nodes[positions.counts > 1] == 30).sum() > 5
    assert time.perf_counter() - started < 60


def test_time_that_can_change_nothing_is_not_used() -> None:
    """One move wins all the men, the others lose all of one's own: its lead grows with every simulation."""

    class Clear(Slow):
        def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            logits, values, moves_left = super().evaluate(boards, features)
            logits[:, best] = 8.0
            return logits, values, moves_left

    positions = Positions.initial(CBD, 1)
    best = int(positions.actions[0, 3])
    player = MctsPlayer(CBD, Clear(0.001), ms=400)
    player.choose(positions)
    started = time.perf_counter()
    choice = player.choose(positions)
    assert choice.actions[0] == best
    assert 0.4 / 2 * 0.8 < time.perf_counter() - started < 0.4 * 0.9


def test_memory_of_a_search_with_limited_time_is_bounded() -> None:
    for ms, most in ((1, 100), (100, 10_000), (10**9, 1 << 18)):
        assert MctsPlayer(CBD, Material(), ms=ms)._simulations == most
    assert MctsPlayer(CBD, Material())._simulations == 200


def test_equal_seeds_play_alike_and_different_seeds_differ() -> None:
    positions = Game(CBD, "W:WK1:BK4,12").positions.take(np.zeros(50, dtype=int))
    for spec in ("random", "alphabeta:depth=1"):
        one, same, other = (make_player(spec, CBD, seed).choose(positions).actions for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()
        assert len(set(one.tolist())) > 1


def test_specs_keep_their_files_from_other_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("net.pt", "own.eval", "engine"):
        (tmp_path / name).touch()
    for spec, kept in {
        "mcts:net=net.pt,sims=5,c_puct=1": f"mcts:net={tmp_path}/net.pt,sims=5,c_puct=1",
        "alphabeta:depth=2,eval=own.eval": f"alphabeta:depth=2,eval={tmp_path}/own.eval",
        "hub:engine,ms=5": f"hub:{tmp_path}/engine,ms=5",
    }.items():
        assert anchored_spec(spec) == kept == anchored_spec(kept)
    for spec in ("random", "mcts:net=small,sims=5", "alphabeta:ms=5,eval=cbd,tables=4", "hub:/bin/no,ms=5"):
        assert anchored_spec(spec) == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "Unknown player ''"),
        ("alphbeta:depth=3", "Did you mean 'alphabeta'"),
        ("alphabeta", "needs a limit: depth=, nodes= or ms="),
        ("alphabeta:", "needs a limit"),
        ("alphabeta:dept=3", "unknown key 'dept'. Did you mean 'depth'"),
        ("alphabeta:depth=0", "depth=0 must be a whole number from 1 to 60"),
        ("alphabeta:depth=61", "from 1 to 60"),
        ("alphabeta:depth=-1", "whole number"),
        ("alphabeta:depth=3.5", "whole number"),
        ("alphabeta:depth=three", "whole number"),
        ("alphabeta:ms=99999999999999999999999", "whole number"),
        ("alphabeta:depth", "does not read like key=value"),
        ("alphabeta:depth=", "does not read like key=value"),
        ("alphabeta:depth=3,depth=4", "gives depth= twice"),
        ("alphabeta:depth=3,", "whole number"),
        ("random:seed=1", "unknown key 'seed'. random takes no keys"),
        ("mcts:sims=10", "needs a network"),
        ("mcts:net=x,simulations=3", "Did you mean 'sims'"),
        ("mcts:net=x,ms=0", "ms=0 must be a whole number from 1 to 1000000000"),
        ("mcts:net=x,ms=0.5", "whole number"),
        ("mcts:net=x,time=5", "mcts takes net, sims, ms, tables, transfer"),
        ("mcts:ms=100", "needs a network"),
        ("mcts:net=x,c_puct=-1", "c_puct=-1.0: choose a value from 0.0 to 100.0"),
        ("mcts:net=x,c_puct=much", "c_puct must be a number, not 'much'"),
        ("mcts:net=x,c_puct=nan", "c_puct must be a finite number"),
        ("mcts:net=x,c_puct=1_0", "c_puct must be a number, not '1_0'"),
        ("mcts:net=x,considered=2.5", "considered must be a whole number, not 2.5"),
        ("mcts:net=x,kind=uct", "kind='uct': choose from puct, gumbel"),
        ("mcts:net=x,noise_fraction=0.5", "unknown key 'noise_fraction'"),
        ("policy:net=x,ms=100", "unknown key 'ms'"),
        ("policy:net=/no/such/file", "/no/such/file"),
        ("policy:net=x,transfer=false", "transfer=false must be true, or be left out"),
        ("mcts:net=x,transfer=yes", "transfer=yes must be true"),
        ("alphabeta:depth=2,transfer=true", "unknown key 'transfer'"),
    ],
)
def test_bad_specs_are_refused_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        make_player(spec, "cbd", 0)
    assert "\n" not in str(error.value)


def test_network_of_other_rules_plays_only_with_transfer(network: Path) -> None:
    for rules in ("dogames", "lidraughts", "russian", "spanish"):
        for kind in ("policy:", "mcts:sims=8,"):
            spec = f"{kind}net={network}"
            with pytest.raises(
                PlayerError, match=f"for the rules 'cbd', not for '{rules}'; with transfer=true"
            ) as error:
                make_player(spec, rules, 0)
            assert "\n" not in str(error.value)
            player = make_player(f"{spec},transfer=true", rules, 0)
            assert player.name == f"{spec},transfer=true"
            positions = Positions.initial(rules, 2)
            for _ in range(12):
                choice = player.choose(positions)
                assert positions.masks()[[0, 1], choice.actions].all()
                positions.step(choice.actions)


def test_a_rule_set_of_the_same_name_is_another_one(tmp_path: Path) -> None:
    mine = replace(CBD, name="mine", game_type=0)
    config = NetworkConfig(width=16, blocks=1)
    content = network_content(config, build_network(config, mine).state_dict(), mine)
    write_checkpoint(tmp_path / "mine.pt", {"kind": "network", **content})
    spec = f"policy:net={tmp_path / 'mine.pt'}"
    assert make_player(spec, mine, 0).name == spec
    with pytest.raises(PlayerError, match="for the rules 'mine', not for others of that name; with transfer=true"):
        make_player(spec, replace(mine, repetition=4), 0)


def test_transfer_changes_nothing_under_the_own_rules(network: Path) -> None:
    positions = some_positions()
    with_it, without = (make_player(f"policy:net={network}{key}", CBD, 0) for key in (",transfer=true", ""))
    np.testing.assert_array_equal(with_it.choose(positions).actions, without.choose(positions).actions)


@pytest.mark.parametrize("transfer", ["", ",transfer=true"])
def test_network_of_another_board_is_refused(network: Path, transfer: str) -> None:
    with pytest.raises(PlayerError, match="for the rules 'cbd' on 8x8, not for a board of 10x10"):
        make_player(f"mcts:net={network}{transfer}", "international", 0)


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="Unknown rule set"):
        make_player("random", "chess", 0)
