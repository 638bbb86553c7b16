"""The Hub protocol: a recorded session, texts there and back, limits that hold, errors in the protocol's own form."""

import fnmatch
import queue
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import legal_moves
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.cli import main
from damas_rl.networks.evaluator import NetworkError
from damas_rl.players import Choice, MctsPlayer, RandomPlayer, make_player
from damas_rl.protocols import hub_server
from damas_rl.protocols.hub import HubError, find_move, format_line, format_move, format_position, parse_line
from damas_rl.protocols.hub import parse_position as read
from damas_rl.protocols.hub_server import HubServer
from damas_rl.search.alphabeta import Limits

CBD = get_rules("cbd")
DATA = Path(__file__).parent / "data"
START = "Wbbbbbbbbbbbbeeeeeeeewwwwwwwwwwww"


class Engine:
    """A server on a thread; lines go to it and come from it as through pipes."""

    def __init__(self, spec: str | None = "alphabeta:depth=2", rules: str = "cbd") -> None:
        self._to: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.answers: queue.Queue[str] = queue.Queue()
        self._server = HubServer(get_rules(rules), spec, 0, self.answers.put)
        self._thread = threading.Thread(target=self._server.run, args=(iter(self._to.get, None),), daemon=True)
        self._thread.start()

    def send(self, *lines: str) -> None:
        for line in lines:
            self._to.put(line + "\n")

    def read(self, seconds: float = 100) -> str:
        return self.answers.get(timeout=seconds)

    def until(self, command: str) -> str:
        while not (line := self.read()).startswith(command):
            pass
        return line

    def end(self) -> None:
        self._to.put(None)
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    engine.send("init")
    assert engine.read() == "ready"
    yield engine
    engine.end()


def test_recorded_session() -> None:
    command = [sys.executable, "-m", "damas_rl.cli", "hub", "--player", "alphabeta:depth=4"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            for number, line in enumerate((DATA / "hub_session.txt").read_text().splitlines(), 1):
                if line.startswith("> "):
                    process.stdin.write(line[2:] + "\n")
                    process.stdin.flush()
                elif line.startswith("< "):
                    answer = process.stdout.readline().rstrip("\n")
                    assert fnmatch.fnmatchcase(answer, line[2:]), f"line {number}: {answer}"
            assert process.communicate(timeout=60) == ("", "")
            assert process.returncode == 0
        finally:
            process.kill()


def test_lines_are_read_and_written() -> None:
    assert parse_line('pos pos=Wbbb  moves="1-5 32-28"\tflag x="" y=\n') == (
        "pos", {"pos": "Wbbb", "moves": "1-5 32-28", "flag": "", "x": "", "y": ""}
    )  # fmt: skip
    assert parse_line(" \n") == ("", {})
    assert format_line("done", {"move": "32-28", "a": "", "b": "c d", "e": 'f"g', "h": "i=j"}) == (
        """done move=32-28 a="" b="c d" e=f'g h="i=j\""""
    )
    for text in ("a b=c d", "x", 'info pv="1-5 6-9" depth=3'):
        command, arguments = parse_line(text)
        assert parse_line(format_line(command, arguments)) == (command, arguments)
    for text in ('"', "=", "a =b", 'a b="c', 'a b="c"d', 'a b=c"d'):
        with pytest.raises(HubError, match="is not written like"):
            parse_line(text)


@pytest.mark.parametrize("rules", ["cbd", "russian", "international", "spanish"])
def test_positions_and_moves_there_and_back(rules: str) -> None:
    rng = np.random.default_rng(3)
    positions = Positions.initial(rules, 40)
    captures = 0
    for _ in range(60):
        for number in np.flatnonzero(positions.terminations == 0)[:4]:
            one = positions.take(np.array([number]))
            text = format_position(one)
            again = read(text, "", one.rules)
            np.testing.assert_array_equal(again.boards, one.boards)
            assert again.colors == one.colors
            for move in legal_moves(one):
                captures += len(move.captures) > 1
                assert find_move(format_move(move), one) == move
        positions.step(positions.sample_legal(rng))
    assert captures > 5


def test_squares_stand_in_the_order_of_numbers() -> None:
    positions = Game(CBD, "B:WK1,32:BK4,28").positions
    assert format_position(positions) == "BWeeB" + "e" * 23 + "beeew"


def test_captured_pieces_may_stand_in_any_order() -> None:
    positions = Game(CBD, "W:WK21:B8,11,17,19").positions
    for move in legal_moves(positions):
        assert len(move.captures) > 1
        text = "x".join(map(str, (move.frm, move.to, *reversed(move.captures))))
        assert text != format_move(move) and find_move(text, positions) == move


@pytest.mark.parametrize("text", ["21-12", "21x17", "", "21 17", "22x17x", "a3-b4", "²-5", "21-17-13", "9" * 5000])
def test_moves_that_are_none(text: str) -> None:
    with pytest.raises(HubError, match=r"is not legal in W.*legal: 21-17 ") as error:
        find_move(text, Positions.initial(CBD))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("pos", "moves", "message"),
    [
        ("", "", "is not W or B and 32 letters"),
        (START.lower(), "", "is not W or B and 32 letters"),
        (START[:-1] + "x", "", "is not W or B and 32 letters"),
        ("W" + "e" * 32, "", "no piece"),
        ("Ww" + "e" * 30 + "B", "", "crowning row"),
        (START, "22-18 22-18", "is not legal in B"),
    ],
)
def test_positions_that_are_none(pos: str, moves: str, message: str) -> None:
    with pytest.raises(HubError, match=message):
        read(pos, moves, CBD)


def test_moves_of_a_position_tell_repetitions() -> None:
    there_and_back = "1-5 32-28 5-1 28-32"
    positions = read("W" + "W" + "e" * 30 + "B", there_and_back, CBD)
    assert positions.repetitions == 1 and positions.terminations == 0
    # The other program goes on behind a draw: the game begins anew there.
    positions = read("W" + "W" + "e" * 30 + "B", f"{there_and_back} {there_and_back} 1-10", CBD)
    assert positions.terminations == 0 and positions.colors == 1


@pytest.mark.parametrize(
    ("level", "low", "high"),
    [
        ("move-time=0.4", 0.2, 0.4),
        ("time=10", 0.2, 0.4),  # a 25th
        ("time=1 moves=1", 0.6, 0.8),
        ("time=4 moves=10 inc=0.1", 0.3, 0.5),
        ("time=0 inc=0.5", 0.2, 0.4),
        ("time=-3", 0.0, 0.1),
    ],
)
def test_time_limits_hold(engine: Engine, level: str, low: float, high: float) -> None:
    engine.send(f"pos pos={START}", f"level {level}")
    started = time.perf_counter()
    engine.send("go think")
    engine.until("done")
    seconds = time.perf_counter() - started
    assert low <= seconds < high + 1.5  # a busy machine may be late


@pytest.mark.parametrize("mode", ["think", "ponder", "analyze"])
def test_stop_is_answered_soon(engine: Engine, mode: str) -> None:
    engine.send(f"pos pos={START}", "level infinite", f"go {mode}")
    time.sleep(0.3)
    assert engine.answers.empty()
    started = time.perf_counter()
    engine.send("ping", "stop")
    assert engine.read() == "pong"
    move = parse_line(engine.until("done"))[1]["move"]
    assert time.perf_counter() - started < 2
    find_move(move, Positions.initial(CBD))
    # The next search is not cut short by an old stop.
    engine.send("stop", f"pos pos={START}", "level depth=6", "go think")
    assert int(parse_line(engine.until("info"))[1]["nodes"]) > 1000
    engine.until("done")


def test_the_clock_of_a_pondered_move_starts_at_the_hit(engine: Engine) -> None:
    engine.send(f"pos pos={START}", "level move-time=0.3", "go ponder")
    time.sleep(0.6)
    assert engine.answers.empty()
    started = time.perf_counter()
    engine.send("ponder-hit")
    engine.until("done")
    assert 0.2 < time.perf_counter() - started < 2


def test_the_end_of_the_input_ends_a_search_with_its_move() -> None:
    engine = Engine()
    engine.send("init", f"pos pos={START}", "level infinite", "go analyze")
    assert engine.read() == "ready"
    engine.end()
    assert [engine.read(1).split()[0] for _ in range(2)] == ["info", "done"]


def test_the_variant_chooses_the_game() -> None:
    engine = Engine("random")
    engine.send("set-param name=variant value=russian", "init")
    assert engine.read() == "ready"
    # A man that is crowned within a capture goes on as a king: Russian only.
    engine.send(f"pos pos=Weeeeebbewe{'e' * 9}b{'e' * 12} moves=9x16x6x7", "go think")
    engine.until("done")
    engine.end()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["set-param name=variant value=chess"], "the variant 'chess' is not known here; known: brazilian"),
        (["set-param name=book value=true"], "there is no parameter 'book'"),
        (["go think"], "init comes before go"),
        (["level depth=0"], "depth='0' is not a whole number from 1 up"),
        (["level depth=x"], "is not a whole number"),
        (["level time=1e9"], "is not a number of seconds"),
        (["level nodes=99999999999999999999"], "is not a whole number"),
    ],
)
def test_errors_have_the_form_of_the_protocol(lines: list[str], message: str) -> None:
    engine = Engine()
    engine.send(*lines, "ping")
    command, arguments = parse_line(engine.read())
    assert command == "error" and message in arguments["message"]
    assert engine.read() == "pong"
    engine.end()


def test_damaged_lines_are_answered_in_the_form_of_the_protocol() -> None:
    session = (DATA / "hub_session.txt").read_text().splitlines()
    lines = [line[2:] for line in session if re.match("> (hub|init|new-game|pos|set-param|level d|ping)", line)]
    rng, answers = random.Random(1), list[str]()

    def damaged(line: str) -> str:
        for _ in range(rng.choice((0, 1, 2, 5))):
            place = rng.randrange(len(line) + 1)
            line = line[:place] + rng.choice('abWBew="-x 09\t\0é\u2028') + line[place + rng.randrange(2) :]
        return line

    HubServer(CBD, "alphabeta:depth=2", 0, answers.append).run(damaged(rng.choice(lines)) for _ in range(2000))
    assert answers.count("pong") > 50
    for answer in answers:
        assert parse_line(answer)[0] in ("id", "param", "wait", "ready", "pong", "error") and answer.isprintable()


@pytest.mark.parametrize("spec", ["mcts:net=/no/such/file", "alphabeta:depth=2,eval=/no/such/file"])
def test_a_player_that_cannot_be_made_is_an_error_at_init(spec: str) -> None:
    engine = Engine(spec)
    engine.send("init", f"pos pos={START}", "go think")
    assert "/no/such/file" in engine.until("error")
    assert "init comes before go" in engine.read()
    engine.end()


def test_level_of_an_earlier_position_is_forgotten(engine: Engine) -> None:
    engine.send(f"pos pos={START}", "level depth=7", f"pos pos={START}", "go think")
    assert int(parse_line(engine.until("info"))[1]["nodes"]) < 200


class Failing(RandomPlayer):
    """A player that fails in every search, or in every one but the first."""

    def __init__(self, error: Exception, good: int) -> None:
        super().__init__(0)
        self.error, self.good = error, good

    def choose(self, positions: Positions) -> Choice:
        self.good -= 1
        if self.good < 0:
            raise self.error
        return super().choose(positions)


@pytest.mark.parametrize("error", [NetworkError("no numbers"), RuntimeError("no memory left")])
def test_a_search_that_fails_is_an_error_and_the_next_one_is_begun(monkeypatch, error: Exception) -> None:
    for good, answer in (1, "ready"), (0, "error"):
        monkeypatch.setattr(hub_server, "make_player", lambda *_, good=good: Failing(error, good))
        engine = Engine()
        engine.send("init")
        assert engine.read().startswith(answer)
        for _ in range(2):
            engine.send(f"pos pos={START}", "go think")
            assert str(error) in engine.until("error")
        engine.end()


class Slow:
    """A stand-in for a network that takes its time."""

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        time.sleep(0.01)
        size = len(boards)
        return np.zeros((size, CBD.num_actions), np.float32), np.zeros(size, np.float32), np.zeros(size, np.float32)


@pytest.mark.parametrize("limits", [None, Limits(nodes=5000), Limits(ms=60_000)])
def test_tree_search_is_stopped_too(limits: Limits | None) -> None:
    player = MctsPlayer(CBD, Slow(), 10_000).for_search(limits)
    positions = Positions.initial(CBD)
    MctsPlayer(CBD, Slow(), 20).choose(positions)  # kernels are loaded
    timer = threading.Timer(0.3, player.stop)
    timer.start()
    started = time.perf_counter()
    choice = player.choose(positions)
    assert time.perf_counter() - started < 5
    assert positions.masks()[0, choice.actions[0]] and 1 < choice.nodes[0] < 5000


def test_limits_of_one_search_do_not_stay() -> None:
    player = make_player("alphabeta:depth=3", CBD, 0)
    positions = Positions.initial(CBD)
    nodes = [int(each.choose(positions).nodes[0]) for each in (player, player.for_search(Limits(depth=6)), player)]
    assert nodes[1] > 3 * max(nodes[0], nodes[2])
    tree = MctsPlayer(CBD, Slow(), 20)
    sizes = [int(tree.for_search(limits).choose(positions).nodes[0]) for limits in (Limits(nodes=7), None)]
    assert sizes == [7, 20]


def test_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--player", "alphabeta"], "needs a limit"),
        (["--rules", "chess"], "Unknown rule set"),
    ):
        assert main(["hub", *arguments]) == 2
        captured = capsys.readouterr()
        assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""
