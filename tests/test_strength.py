"""The parts of the strength benchmarks that can be wrong without anyone noticing: legality, counting, intervals."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.arena import play_match
from damas_rl.openings import Opening
from damas_rl.players import PlayerError, RandomPlayer

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

import calibration  # noqa: E402
import common  # noqa: E402
import doubling  # noqa: E402
import strength  # noqa: E402


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """What makes a player of an engine that gives one answer to all positions."""

    def make(answer):
        (tmp_path / "peers.py").write_text(f"for line in __import__('sys').stdin: print('{answer}', flush=True)")
        monkeypatch.setattr(strength, "HERE", tmp_path)
        return strength.PyDraughts(Path(sys.executable), "py-draughts:ms=5")

    return make


def test_the_answer_of_an_engine_is_found_among_the_legal_moves(engine):
    positions = Positions.initial("cbd", 2)
    player = engine("21 17")
    actions = player.choose(positions).actions
    positions.step(actions)
    assert (positions.boards[0] == positions.boards[1]).all() and positions.colors.tolist() == [1, 1]
    with pytest.raises(PlayerError, match=r"21 to 17.*illegal in B:W17,22"):
        player.choose(positions)


@pytest.mark.parametrize("answer", ["21 16", "21 17 9"])
def test_an_illegal_answer_of_an_engine_ends_the_match(engine, answer):
    with pytest.raises(PlayerError, match="illegal in W:W21"):
        engine(answer).choose(Positions.initial("cbd"))


def test_pairs_survive_a_cut_and_are_counted_for_the_player(tmp_path):
    common = {"player": "us", "openings": None, "seed": 1, "moves": [2, 1], "actions": [[1, 2], [1, 2, 3, 4]]}
    rows = [
        common | {"opponent": "them", "pair": 0, "points": [1.0, 0.5], "seconds": [0.2, 0.3], "worst": [0.1, 0.3]},
        common | {"opponent": "them", "pair": 1, "points": [0.0, 1.0], "seconds": [0.4, 0.1], "worst": [0.3, 0.1]},
        common | {"opponent": "others", "pair": 0, "points": [0.0, 0.0], "seconds": [0.0, 0.0], "worst": [9.0, 9.0]},
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"player": "us", "oppo')
    assert strength.kept(file) == rows
    assert file.read_text().count("\n") == len(file.read_text().splitlines()) == 3
    lines = list(strength.table("us", ["them", "nobody"], rows))
    assert len(lines) == 4
    assert lines[3].startswith("| `them` | 2-1-1 | 62.5% | +89 (") and lines[3].endswith(
        " | 3 | 0.150, 0.300 | 0.200, 0.300 |"
    )


def test_an_unbiased_value_is_calibrated_and_a_bold_one_is_not():
    rng = np.random.default_rng(0)
    games = np.repeat(np.arange(4000), 2)
    truth = np.repeat(rng.uniform(-0.9, 0.9, 4000), 2)
    results = np.where(rng.random(4000).repeat(2) < (1 + truth) / 2, 1.0, -1.0)
    fair = calibration.calibration(games, results, truth)
    assert sum(row["positions"] for row in fair["rows"]) == 8000
    assert sum(row["low"] <= row["value"] <= row["high"] for row in fair["rows"]) >= calibration.BINS - 2
    # Two positions of a game are one sample: 400 games a bin, standard deviation at most 1.
    assert all(0.04 < row["high"] - row["low"] < 0.25 for row in fair["rows"])
    bold = calibration.calibration(games, results, np.sign(truth))
    assert fair["error"] < 0.08 < 0.4 < bold["error"]


def test_results_are_those_of_the_side_to_move():
    rules = get_rules("cbd")
    judge = RandomPlayer(0)
    opening = Opening("W:WK1,K5:BK32")
    games = play_match(judge, RandomPlayer(1), rules, 20, [opening]).games
    numbers, results, (values,) = calibration.judged(games, rules, [judge])
    assert len(numbers) == len(results) == len(values)
    for number, game in enumerate(games):
        sign, expected = {-1: 0.0, 0: 1.0, 1: -1.0}[game.winner], []
        positions = Opening.positions(rules, [game.opening])
        for ply, action in enumerate(game.actions):
            if positions.counts[0] > 1:
                expected.append(sign * (-1) ** ply)
            positions.step(np.array([action]))
        assert results[numbers == number].tolist() == expected
        assert 0 < len(expected) <= len(game.actions)
    assert {game.winner for game in games} > {0}


def test_a_doubling_is_less_than_its_step_where_the_step_is_longer():
    row = {"fewer": 4, "more": 16, "wins": 3, "draws": 0, "losses": 1, "score": 0.75, "elo": 190.0, "low": -50.0,
           "high": 400.0, "distinct": 1.0, "taken": "0123456, Some CPU"}  # fmt: skip
    told = "| 4 to 16 | 3-0-1 | 75.0% | +190 (-50 to +400) | +95 | 100% | 0123456, Some CPU |"
    assert doubling.line(row) == told
    assert doubling.STEPS[-2:] == (1024, 1600)


@pytest.mark.parametrize("mark", ["strength-100", "strength-1000", "doubling", "calibration", "endgames"])
def test_the_page_has_a_place_for_each_table(mark):
    page = (ROOT / "docs" / "strength.md").read_text(encoding="utf-8")
    assert f"<!-- {mark} -->\nfigures\n<!-- end -->" in common.pasted(page, mark, "figures")
