"""The scripts in examples/ that train with other libraries run, at a size too small to learn anything."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = {  # needs, arguments
    "maskable_ppo.py": ("sb3_contrib", []),
    "torchrl_ppo.py": ("torchrl", ["--batch", "100"]),
    "tianshou_dqn.py": ("tianshou", []),
}


@pytest.mark.filterwarnings("ignore")  # other libraries' own
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_trains_and_plays(name, monkeypatch, capsys):
    needs, arguments = SCRIPTS[name]
    pytest.importorskip(needs)
    monkeypatch.setattr(sys, "argv", [name, "--steps", "200", "--games", "2", *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    result = re.search(r"against random: (\d) won, (\d) drawn, (\d) lost, score", capsys.readouterr().out)
    assert result and sum(map(int, result.groups())) == 2


def test_every_example_is_tested():
    tested = {*SCRIPTS, "own_network.py", "own_player.py", "own_rules.yaml", "own_search.py"}
    tested |= {"filipino_12_moves.yaml", "international_diagonal.yaml"}  # test_draw_laws.py
    assert {path.name for path in EXAMPLES.glob("*.*")} == tested
