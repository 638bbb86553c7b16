"""The examples of docs/extending.md: a network, a search, a player and a rule set of one's own, and what is refused."""

import dataclasses
import json
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from damas_env.game import Game
from damas_env.position import Positions
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from damas_env.termination import Termination
from damas_rl import checkpoint, cli, launch, networks, plugins
from damas_rl.checkpoint import CheckpointError, load_network, network_content, write_checkpoint
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.networks import config as network_config
from damas_rl.players import PlayerError, make_player, read_spec, specs
from damas_rl.plugins import PluginError
from damas_rl.search import mcts
from damas_rl.search.mcts import SearchConfig, new_search

EXAMPLES = Path(__file__).parents[1] / "examples"
CBD = get_rules("cbd")


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch, tmp_path):
    """What a test registers or imports from a file is gone after it."""
    for owner, name in ((network_config, "KINDS"), (mcts, "_KINDS"), (specs, "_KINDS")):
        monkeypatch.setattr(owner, name, dict(getattr(owner, name)))
    monkeypatch.setattr(networks, "KINDS", network_config.KINDS)
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith((str(EXAMPLES), str(tmp_path))):
            del sys.modules[name]


@pytest.fixture
def plug(monkeypatch):
    """Names modules in DAMAS_PLUGINS."""
    return lambda *names: monkeypatch.setenv(plugins.VARIABLE, ",".join(map(str, names)))


def middle_games(count, plies=24):
    positions, rng = Positions.initial("cbd", count), np.random.default_rng(3)
    for _ in range(plies):
        positions.step(positions.sample_legal(rng), positions.terminations == 0)
    return positions.take(np.flatnonzero((positions.terminations == 0) & (positions.counts > 1)))


# A network -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("policy[:, :5], summary", r"\[\[2, 5\], \[2, 16\]\]"),
        ("policy, summary[:, :5]", r"\[\[2, 1152\], \[2, 5\]\]"),
        ("policy", r"\[\[2, 1152\]\]"),
        ("policy, None", r"\[\[2, 1152\], 'NoneType'\]"),
    ],
)
def test_a_network_that_answers_in_another_shape_is_one_sentence(answer, told, tmp_path, plug, monkeypatch, capsys):
    (tmp_path / "crooked.py").write_text(f"""
import torch
from damas_rl.networks import PolicyValueNet, register_network


class Crooked(PolicyValueNet):
    def __init__(self, config, rules):
        super().__init__(config, rules, summary=16)
        self.num_actions = rules.num_actions

    def trunk(self, boards, features):
        policy, summary = torch.zeros(len(boards), self.num_actions), torch.zeros(len(boards), 16)
        return {answer}


register_network("crooked", Crooked)
""")
    plug(tmp_path / "crooked.py")
    run = tmp_path / "run"
    assert launch.main(["experiment=tiny", "network.kind=crooked", f"run_dir={run}"]) == 2
    error = capsys.readouterr().err
    assert re.search(r"network\.kind='crooked': .*trunk must return .*not " + told, error) and error.count("\n") == 1
    assert not run.exists()


def test_a_run_trains_and_plays_a_network_of_ones_own(tmp_path, plug, monkeypatch, capsys):
    plug(EXAMPLES / "own_network.py")
    run = tmp_path / "run"
    assert launch.main(["experiment=tiny", "iterations=1", "network.kind=mixer", f"run_dir={run}"]) == 0
    network, rules = load_network(run)
    assert type(network).__name__ == "Mixer" and rules == CBD
    assert cli.main(["bestmove", "--player", f"mcts:net={run},sims=4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["action"] in Game().positions.actions[0]

    del network_config.KINDS["mixer"]
    monkeypatch.delenv(plugins.VARIABLE)
    with pytest.raises(CheckpointError, match=r"built here: network\.kind='mixer': choose from resmlp.*DAMAS_PLUGINS"):
        load_network(run)
    assert launch.main([f"resume={run}"]) == 2
    error = capsys.readouterr().err
    assert "network.kind='mixer'" in error and plugins.HINT in error and error.count("\n") == 1


@pytest.mark.parametrize("rules", ["cbd", "international"])
def test_every_input_and_every_weight_of_that_network_matters(plug, rules):
    plug(EXAMPLES / "own_network.py")
    torch.manual_seed(0)
    net = build_network(NetworkConfig(kind="mixer", width=16, blocks=2), get_rules(rules))
    positions = Positions.initial(rules, 3)
    boards = torch.from_numpy(positions.boards.view(np.int64).copy())
    boards[1, 0] &= boards[1, 0] - 1  # a man less
    features = torch.zeros(3, 6)
    features[2, 5] = 0.5
    policy, outcome, left = net(boards, features)
    assert policy.shape == (3, positions.rules.num_actions)
    for output in (policy, outcome, left):
        assert not output[0].equal(output[1]) and not output[0].equal(output[2])
    (policy.square().sum() + outcome.square().sum() + left.sum()).backward()
    assert all(weights.grad is not None and weights.grad.any() for weights in net.parameters())
    logits, values, _ = Evaluator(net, "cpu", "bfloat16").evaluate(positions.boards, features.numpy())
    assert logits.dtype == np.float32 and (np.abs(values) <= 1).all()


def test_what_a_file_names_is_never_imported(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    config = NetworkConfig(width=8, local=4)
    content = network_content(config, build_network(config, CBD).state_dict(), CBD)
    content["network"]["config"]["kind"] = "evil:Net"
    write_checkpoint(tmp_path / "net.pt", {"kind": "network", **content})
    with pytest.raises(CheckpointError, match=r"network\.kind='evil:Net'"):
        load_network(tmp_path / "net.pt")
    assert "evil" not in sys.modules


# A search ------------------------------------------------------------------------------------------------------


def test_a_search_of_ones_own_changes_the_target_alone(plug):
    plug(EXAMPLES / "own_search.py")
    positions = middle_games(32)
    network = Evaluator(checkpoint.load_network("small")[0], "cpu", "float32")
    results = {}
    for kind in ("puct", "pruned"):
        search = new_search(CBD, network, SearchConfig(kind=kind), len(positions), 160)
        results[kind] = search.run(positions, 160, np.random.default_rng(0))
    plain, pruned = results["puct"], results["pruned"]
    assert (plain.visits == pruned.visits).all() and (plain.choice == pruned.choice).all()
    few = plain.visits < 0.05 * np.where(plain.policy > 0, plain.visits, 0).max(axis=1, keepdims=True)
    assert (plain.policy[few] > 0).sum() > 10 and (pruned.policy[few] == 0).all()
    assert ((pruned.policy > 0) == (plain.policy > 0) & ~few).all()
    np.testing.assert_allclose(pruned.policy.sum(axis=1), 1, rtol=1e-5)


def test_a_run_trains_with_a_search_of_ones_own(tmp_path, plug, monkeypatch):
    plug(EXAMPLES / "own_search.py")
    read = []
    launched = ["experiment=tiny", "iterations=1", "search.kind=pruned", f"run_dir={tmp_path / 'run'}"]
    mcts.SearchConfig(kind="pruned")  # the module is there
    search = sys.modules["own_search"].PrunedSearch
    original = search.read
    monkeypatch.setattr(search, "read", lambda self, size: read.append(size) or original(self, size))
    assert launch.main(launched) == 0 and read


def test_configurations_go_to_other_processes(plug):
    """There nothing has been registered before they are used."""
    plug(EXAMPLES / "own_network.py", EXAMPLES / "own_search.py")
    sent = [pickle.dumps(config) for config in (NetworkConfig(kind="mixer", width=8), SearchConfig(kind="pruned"))]
    del network_config.KINDS["mixer"], mcts._KINDS["pruned"], sys.modules["own_network"], sys.modules["own_search"]
    network, search = map(pickle.loads, sent)
    made = build_network(network, CBD)
    assert type(made).__name__ == "Mixer"
    assert type(new_search(CBD, Evaluator(made, "cpu"), search, 1, 1)).__name__ == "PrunedSearch"


# A player ------------------------------------------------------------------------------------------------------


def test_a_player_of_ones_own(plug, capsys):
    plug(EXAMPLES / "own_player.py")
    positions = middle_games(6)
    first, again, other = (make_player(f"rollouts:games={games}", CBD, 1).choose(positions) for games in (20, 20, 2))
    assert (first.actions == again.actions).all() and (first.values == again.values).all()
    assert positions.masks()[np.arange(len(positions)), first.actions].all()
    assert (first.nodes == 20 * positions.counts).all() and (other.nodes == 2 * positions.counts).all()
    assert cli.main(["match", "rollouts:games=4", "random", "--games", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["score"] > 0.6
    # Who takes the last piece wins at once, White or Black.
    for fen in ("W:W22,K32:B18", "B:W15:B11,K1"):
        game = Game("cbd", fen)
        assert make_player("rollouts:games=2", CBD, 0).choose(game.positions).values[0] == np.float32(2 / 3)
    with pytest.raises(PlayerError, match="games=0 must be a whole number from 1 to 1000"):
        read_spec("rollouts:games=0")


# Rules ---------------------------------------------------------------------------------------------------------


def test_rules_of_ones_own(capsys):
    path = str(EXAMPLES / "own_rules.yaml")
    rules = get_rules(path)
    assert rules.name not in RULE_SETS and rules.men == 8 and rules.spec.flags == get_rules("russian").spec.flags
    assert cli.main(["moves", "--rules", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["fen"].startswith("W:W25,26,27,28,29,")
    game = Game(dataclasses.replace(rules, repetition=0), "W:WK29:BK1")
    for ply in range(30):
        assert game.outcome() is None
        game.push(("a1-b2", "b8-a7", "b2-a1", "a7-b8")[ply % 4])
    assert game.outcome().termination == Termination.NO_PROGRESS


# What is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("nowhere.py", None, "DAMAS_PLUGINS: there is no file '.*nowhere.py'"),
        ("no_such_module_here", None, "no_such_module_here could not be imported: ModuleNotFoundError"),
        ("broken.py", "def", "broken.py could not be imported: SyntaxError: invalid syntax"),
        ("wrong.py", "1 / 0", "wrong.py could not be imported: ZeroDivisionError: division by zero"),
        ("leaving.py", "import sys; sys.exit()", "leaving.py could not be imported: SystemExit"),
        ("json.py", "", "json.py needs another name; a module 'json' is there already"),
        ("taken.py", "from damas_rl.players import *; register_player('random', (), None)", "'random' is taken"),
        ("name.py", "from damas_rl.networks import *; register_network('My Net', None)", "not 'My Net'"),
    ],
)
def test_plugins_that_cannot_be_used_are_named(tmp_path, plug, capsys, name, content, expected):
    if content is not None:
        (tmp_path / name).write_text(content)
    plug(tmp_path / name if name.endswith(".py") else name)
    for _ in range(2):  # a failed import leaves nothing behind
        with pytest.raises(PluginError, match=expected):
            read_spec("mine:depth=1")
    assert cli.main(["bestmove", "--player", "mine"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    read_spec("random")  # needs no plugin


def test_kinds_that_nobody_has_are_refused_with_a_hint(capsys):
    with pytest.raises(PlayerError, match=r"Unknown player 'mine'.*DAMAS_PLUGINS names its module \(docs/extending"):
        read_spec("mine")
    for words in (["network.kind=mine"], ["search.kind=mine"]):
        assert launch.main([*words, "minutes=1"]) == 2
        error = capsys.readouterr().err
        assert words[0].split("=")[0] in error and plugins.HINT in error and error.count("\n") == 1


def test_a_plugin_may_be_a_module_and_is_imported_once(tmp_path, plug, monkeypatch):
    (tmp_path / "my_players.py").write_text(
        "from damas_rl.players import RandomPlayer, register_player\n"
        "register_player('mine', (), lambda spec, options: lambda rules, seed: RandomPlayer(seed, spec))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plug("my_players", tmp_path / "my_players.py", EXAMPLES / "own_player.py")
    assert (
        make_player("mine", CBD, 0).name == "mine"
        and make_player("rollouts:games=1", CBD, 0).name == "rollouts:games=1"
    )
