"""Every command and environment under rule sets of one's own, as YAML files: each board size, Black moves first.

At the end the rule sets that have a name, from a match to training records and an opening book.
"""

import dataclasses
import io
import json
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
import torch
from gymnasium.utils.env_checker import check_env

from damas_env.envs.aec import DamasAECEnv
from damas_env.envs.vector import DamasVectorEnv
from damas_env.game import Game
from damas_env.presets import RULE_SETS
from damas_env.rule_files import to_yaml
from damas_env.rules import get_rules
from damas_rl import cli, launch
from damas_rl.checkpoint import load_network, network_content, write_checkpoint
from damas_rl.networks import NetworkConfig, build_network

OWN = {
    rules.name: rules
    for rules in (
        dataclasses.replace(get_rules("cbd"), name="six", size=6, men_rows=2, first="black", game_type=0),
        dataclasses.replace(get_rules("russian"), name="eight", first="black", game_type=0),
        dataclasses.replace(
            get_rules("international"), name="ten", first="black", mirrored=True, square_one="bottom_right", game_type=0
        ),
    )
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds ``NAME.yaml`` and the network ``NAME.pt`` for each of them."""
    folder = tmp_path_factory.mktemp("own")
    for name, rules in OWN.items():
        (folder / f"{name}.yaml").write_text(to_yaml(rules), encoding="utf-8")
        torch.manual_seed(0)
        config = NetworkConfig(width=16, blocks=1)
        content = network_content(config, build_network(config, rules).state_dict(), rules)
        write_checkpoint(folder / f"{name}.pt", {"kind": "network", **content})
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints that must succeed."""
    assert cli.main(words) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize("name", list(OWN))
def test_a_file_of_rules_in_every_command(folder, name, capsys, monkeypatch) -> None:
    rules, net = ("--rules", str(folder / f"{name}.yaml")), folder / f"{name}.pt"
    found = json.loads(said(capsys, "moves", *rules, "--json"))
    assert (found["rules"], found["to_move"]) == (name, "B")
    first = found["moves"][0]["pdn"]
    assert json.loads(said(capsys, "play-moves", *rules, "--moves", first, "--json"))["fen"].startswith("W:")
    nodes = json.loads(said(capsys, "perft", *rules, "--depth", "3", "--json"))["nodes"]
    assert nodes[0] == len(found["moves"])

    players = [f"policy:net={net}"] + ([f"mcts:net={net},sims=8"] if name == "eight" else [])
    for player in players:
        best = json.loads(said(capsys, "bestmove", *rules, "--player", player, "--moves", first, "--json"))
        legal = json.loads(said(capsys, "moves", *rules, "--fen", start_after(rules[1], first), "--json"))["moves"]
        assert best["action"] in {move["action"] for move in legal}
    games, book = folder / f"{name}.pdn", folder / f"{name}.txt"
    match = ("match", players[-1], "random", *rules, "--games", "4")
    assert json.loads(said(capsys, *match, "--pdn", str(games), "--json"))["rules"] == name
    made = ("--records", str(folder / f"{name}.npz"), "--openings", str(book))
    replayed = json.loads(said(capsys, "pdn", str(games), *rules, *made, "--plies", "4", "--json"))
    assert (replayed["rules"], replayed["legal"]) == (name, 4)
    assert all(game["outcome"] for game in replayed["games"])
    said(capsys, "match", "random", "random", *rules, "--games", "2", "--openings", str(book))

    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{first}\nquit\n"))
    shown = said(capsys, "play", *rules, "--opponent", players[-1], "--color", "black")
    assert "White plays" in shown and f"({first})" in shown


def start_after(rules: str, move: str) -> str:
    game = Game(rules)
    game.push(move)
    return game.fen()


def test_games_under_a_file_of_rules_say_which_one_they_need(folder, capsys) -> None:
    said(capsys, "match", "random", "random", "--rules", str(folder / "eight.yaml"), "--games", "2",
         "--pdn", str(folder / "own.pdn"))  # fmt: skip
    assert cli.main(["pdn", str(folder / "own.pdn")]) == 2
    assert "the rule set 'eight' of the game is not known here: name one to read it by" in capsys.readouterr().err


@pytest.mark.parametrize("kwargs", [{}, {"opponent": "random", "illegal_action": "lose"}], ids=str)
@pytest.mark.parametrize("name", list(OWN))
def test_single_environment_under_a_file_of_rules(folder, name, kwargs) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("damas_env/Damas-v0", rules=str(folder / f"{name}.yaml"), **kwargs).unwrapped
        check_env(env)
    assert env.rules == OWN[name]
    _, info = env.reset(seed=0)
    assert info["to_move"] == "B" or kwargs
    over = False
    while not over:
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        over = terminated or truncated
    assert reward in (-1.0, 0.0, 1.0) and info["outcome"]


@pytest.mark.parametrize("name", list(OWN))
def test_vector_environment_under_a_file_of_rules(folder, name) -> None:
    rules = OWN[name]
    env = gymnasium.make_vec("damas_env/Damas-v0", num_envs=4, rules=str(folder / f"{name}.yaml")).unwrapped
    assert isinstance(env, DamasVectorEnv) and env.rules == rules
    observation, info = env.reset(seed=1)
    assert observation.shape == (4, 10, rules.size, rules.size) and (env.positions.colors == 1).all()
    ended = 0
    for _ in range(200):
        observation, _, terminations, truncations, info = env.step(env.sample_legal())
        assert observation in env.observation_space and info["action_mask"].shape == (4, rules.num_actions)
        ended += int((terminations | truncations).sum())
    assert ended > 0


@pytest.mark.parametrize("name", list(OWN))
def test_aec_environment_under_a_file_of_rules(folder, name, capsys) -> None:
    from pettingzoo.test import api_test

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # see test_env_aec
        api_test(DamasAECEnv(str(folder / f"{name}.yaml")), num_cycles=100)
    env = DamasAECEnv(str(folder / f"{name}.yaml"))
    env.reset(seed=0)
    assert env.agent_selection == "black" and env.rules == OWN[name]


def test_training_under_a_file_of_rules(folder, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    words = ["experiment=tiny", "iterations=1", "arena.ladder=[random]", f"run_dir={tmp_path / 'run'}"]
    assert launch.main([*words, "rules=eight.yaml"]) == 0, capsys.readouterr().err
    assert f"--rules {folder / 'eight.yaml'}" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert launch.main([f"resume={tmp_path / 'run'}", "iterations=2"]) == 0, capsys.readouterr().err
    assert load_network(tmp_path / "run")[1] == OWN["eight"]
    capsys.readouterr()
    assert cli.main(["bestmove", "--player", f"policy:net={tmp_path / 'run'}", "--rules", "russian"]) == 2
    assert "trained for the rules 'eight', not for 'russian'" in capsys.readouterr().err
    assert (
        cli.main(["bestmove", "--player", f"policy:net={tmp_path / 'run'}", "--rules", str(folder / "eight.yaml")]) == 0
    )


@pytest.mark.parametrize("name", list(RULE_SETS))
def test_from_a_match_to_records_and_a_book(name, tmp_path, capsys) -> None:
    """The file of games names its rules itself."""
    games, records, book = (str(tmp_path / file) for file in ("games.pdn", "records.npz", "book.txt"))
    played = json.loads(
        said(capsys, "match", "random", "random", "--rules", name, "--games", "8", "--pdn", games, "--json")
    )
    replayed = json.loads(said(capsys, "pdn", games, "--records", records, "--openings", book, "--json"))
    assert (replayed["rules"], replayed["legal"], [game["notes"] for game in replayed["games"]]) == (name, 8, [[]] * 8)
    results = [game["result"] for game in replayed["games"]]
    drawn = sum(result in ("1/2-1/2", "1-1", "*") for result in results)
    assert drawn == played["draws"] and replayed["records"]["games"] >= 1
    again = said(capsys, "match", "random", "random", "--rules", name, "--games", "2", "--openings", book, "--json")
    assert json.loads(again)["games"] == 2
