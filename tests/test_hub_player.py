"""Foreign engines as players: our own one plays a match, a bad one ends in one sentence and leaves no process."""

import gc
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import parse_move
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.cli import main
from damas_rl.players import Player, PlayerError, make_player
from damas_rl.protocols import hub_player
from damas_rl.protocols.hub import format_position
from damas_rl.protocols.hub_player import HubPlayer, _Lines
from damas_rl.search.alphabeta import Limits

CBD = get_rules("cbd")
OWN = f"hub:{sys.executable},depth=2,args=-m damas_rl.cli hub --player alphabeta:depth=2"

FAKE = """
import json, os, sys, time
answers, log = json.loads(sys.argv[1]), open(sys.argv[2], "a")
print(os.getpid(), file=log, flush=True)
for line in sys.stdin:
    print(line, end="", file=log, flush=True)
    for answer in answers.get(line.split()[0], []):
        if answer == "EXIT":
            sys.exit(7)
        if answer == "SLEEP":
            time.sleep(1000)
        if answer == "FLOOD":
            while True:
                sys.stdout.write("x" * 65536)
        if answer == "LINES":
            while True:
                print("info depth=1")
        if answer == "CLOSE":
            os.close(1)
            time.sleep(1000)
        if answer == "BYTES":
            sys.stdout.buffer.write(bytes(range(128, 256)) + b"\\n")
            answer = ""
        print(answer, flush=True)
"""
GOOD = {
    "hub": ["id name=fake", 'param name=variant value=normal type=enum values="normal brazilian"', "wait"],
    "init": ["loading", "ready"],
    "go": [
        "info depth=1 score=0.1",
        'info depth=2 score=-0.5 nodes=17 pv="22-18 9-14 18x9x14 nonsense"',
        "done move=22-18 ponder=9-14",
    ],
}


class Fake:
    """Makes players whose engine is a script with fixed answers, and tells what became of them."""

    def __init__(self, folder: Path) -> None:
        self.script, self.log = folder / "engine.py", folder / "log.txt"
        self.script.write_text(FAKE)

    def make(self, answers: dict[str, list[str]], limits: Limits = Limits(ms=100)) -> HubPlayer:  # noqa: B008
        arguments = ["-I", "-S", str(self.script), json.dumps({**GOOD, **answers}), str(self.log)]
        return HubPlayer(CBD, sys.executable, arguments, limits, None, "hub:fake")

    def heard(self, lines: int = 0) -> list[str]:
        """What the engine has read so far; waits until it has read so many lines, which takes it a moment."""
        end = time.monotonic() + 20.0
        while True:
            read = self.log.read_text().splitlines()[1:]
            if len(read) >= lines or time.monotonic() > end:
                return read
            time.sleep(0.01)

    def running(self) -> bool:
        try:
            os.kill(int(self.log.read_text().splitlines()[0]), 0)
        except ProcessLookupError:
            return False
        return True


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    monkeypatch.setattr(hub_player, "START_SECONDS", 20.0)
    monkeypatch.setattr(hub_player, "LATE_SECONDS", 2.0)
    return Fake(tmp_path)


def test_conversation(fake: Fake) -> None:
    player = fake.make({}, Limits(depth=5, nodes=100, ms=250))
    choice = player.choose(Positions.initial(CBD))
    assert choice.actions[0] == parse_move("22-18", Positions.initial(CBD)).action
    assert choice.values[0] == pytest.approx(np.tanh(-0.5 / 4), abs=1e-6)
    assert choice.nodes[0] == 17 and len(choice.pvs[0]) == 3
    player.for_search(Limits(ms=1500)).choose(Positions.initial(CBD))
    player.stop()
    player.choose(Positions.initial(CBD))
    player.for_search(None).choose(Positions.initial(CBD))  # another search has not been stopped
    start = "pos pos=Wbbbbbbbbbbbbeeeeeeeewwwwwwwwwwww"
    expected = [
        "hub", "set-param name=variant value=brazilian", "init",
        start, "level depth=5 nodes=100 move-time=0.25", "go think",
        start, "level move-time=1.5", "go think",
        "stop", start, "level depth=5 nodes=100 move-time=0.25", "go think", "stop",
        start, "level depth=5 nodes=100 move-time=0.25", "go think",
    ]  # fmt: skip
    assert fake.heard(len(expected)) == expected


def test_engines_are_ended_with_their_players(fake: Fake) -> None:
    player: Player = fake.make({})
    other = player.for_search(None)
    assert fake.running()
    del player
    gc.collect()
    assert fake.running()
    del other
    gc.collect()
    assert not fake.running()
    assert fake.heard()[-1] == "quit"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"hub": ["EXIT"]}, "ended with exit status 7 instead of sending 'wait'"),
        ({"hub": ["FLOOD"]}, "sent an endless line instead of 'wait'"),
        ({"hub": ["LINES"]}, "sent 4096 other lines instead of 'wait'"),
        ({"hub": ["CLOSE"]}, "closed its output instead of sending 'wait'"),
        ({"hub": ["error message=\"no licence\""]}, "reported an error: 'no licence'"),
        (
            {"hub": ['param name=variant value=normal values="normal killer bt"', "wait"]},
            "does not play the game 'brazilian'; it knows normal, killer, bt (variant= names another)",
        ),
        ({"init": ["EXIT"]}, "ended with exit status 7 instead of sending 'ready'"),
        ({"go": ["EXIT"]}, "ended with exit status 7 instead of sending a move"),
        ({"go": ["info pv=", "CLOSE"]}, "closed its output instead of sending a move"),
        ({"go": ["FLOOD"]}, "sent an endless line instead of a move"),
        ({"go": ["LINES"]}, "did not send a move within 4.1 seconds"),
        ({"go": ["SLEEP"]}, "did not send a move within 4.1 seconds"),
        ({"go": []}, "did not send a move within 4.1 seconds"),
        ({"go": ['error message="what now"']}, "reported an error: 'what now'"),
        ({"go": ["done"]}, "answered wrongly: the move '' is not legal in Wbbb"),
        ({"go": ["done move=21-12"]}, "answered wrongly: the move '21-12' is not legal in Wbbb"),
        ({"go": ["done move=" + "x" * 500]}, "answered wrongly"),
    ],
)  # fmt: skip
def test_bad_engines(fake: Fake, answers: dict[str, list[str]], message: str) -> None:
    started = time.monotonic()
    with pytest.raises(PlayerError, match=re.escape(message)) as error:
        fake.make(answers).choose(Positions.initial(CBD))
    text = str(error.value)
    assert text.startswith("Engine 'hub:fake' ") and text.endswith(".") and "\n" not in text and len(text) < 400
    assert time.monotonic() - started < 60
    assert not fake.running()


def test_engine_that_hangs_from_the_start(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_player, "START_SECONDS", 1.0)
    with pytest.raises(PlayerError, match="did not send 'wait' within 1 seconds"):
        fake.make({"hub": ["SLEEP"]})
    assert not fake.running()


def test_a_late_move_counts_once_the_engine_is_told_to_stop(fake: Fake) -> None:
    player = fake.make({"go": ["info score=1000"], "stop": ["done move=22-18"]})
    choice = player.choose(Positions.initial(CBD))
    assert choice.values[0] == 1.0 and fake.heard()[-1] == "stop"


def test_garbage_around_the_answer_is_passed_over(fake: Fake) -> None:
    answers = ["BYTES", "", "=", 'info score="', "info score=nan nodes=-5 pv=1", "done move=22-18"]
    choice = fake.make({"go": answers}).choose(Positions.initial(CBD))
    assert (choice.values[0], choice.nodes[0], len(choice.pvs[0])) == (0.0, 0, 1)


def test_after_a_failure_the_engine_is_not_asked_again(fake: Fake) -> None:
    player = fake.make({"go": ["EXIT"]})
    for message in ("exit status 7", "was ended after an earlier failure"):
        with pytest.raises(PlayerError, match=message):
            player.choose(Positions.initial(CBD))


def test_moves_since_the_last_irreversible_one_are_sent() -> None:
    """Two players in turn, each of which sees every second position."""
    lines, others = _Lines(), _Lines()
    game = Game(CBD, "W:WK1,K2,21:BK32,12")
    start = format_position(game.positions)
    assert lines.of(game.positions) == (start, [])
    played = []
    for number, text in enumerate(("1-5", "32-28", "5-1", "28-32", "2-7", "32-28"), 1):
        move = game.push(text)
        played.append(f"{move.frm}-{move.to}")
        seen = (lines, others)[number % 2].of(game.positions)
        if number % 2 == 0:
            assert seen == (start, played)
        elif number == 1:
            begin = seen[0]
            assert seen == (format_position(game.positions), [])
        else:
            assert seen == (begin, played[1:])
    game.push("21-17")
    assert others.of(game.positions) == (format_position(game.positions), [])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hub:", "needs a program: hub:PATH"),
        ("hub", "needs a program: hub:PATH"),
        ("hub:/no/such/engine", "Engine 'hub:/no/such/engine' cannot be started: "),
        ("hub:no-such-engine-here", "there is no program 'no-such-engine-here' on the search path"),
        ("hub:/tmp", "cannot be started"),
        ("hub:x,ms=0", "ms=0 must be a whole number"),
        ("hub:x,args='", "args=' cannot be read"),
        ("hub:x,sims=3", "unknown key 'sims'"),
        ("hub:cat", "did not send 'wait'|sent 4096 other lines"),
    ],
)
def test_bad_specs(spec: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_player, "START_SECONDS", 1.0)
    with pytest.raises(PlayerError, match=message) as error:
        make_player(spec, CBD, 0)
    assert "\n" not in str(error.value)


def test_match_of_our_own_engine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status = main(
        ["match", OWN, "alphabeta:depth=2", "--games", "2", "--json", "--pdn", str(tmp_path / "games.pdn")]
    )  # fmt: skip
    captured = capsys.readouterr()
    assert (status, captured.err) == (0, "")
    found = json.loads(captured.out)
    assert found["player"] == OWN and found["games"] == 2
    assert main(["pdn", str(tmp_path / "games.pdn"), "--json"]) == 0
    capsys.readouterr()
    assert main(["match", f"{OWN} --seed x", "random", "--games", "2"]) == 2
    captured = capsys.readouterr()
    assert "ended with exit status 2 instead of sending 'wait'" in captured.err and captured.err.count("\n") == 1
