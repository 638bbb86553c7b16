"""The draughts exchange protocol: a recorded session, games between our two ends, and peers that misbehave."""

import fnmatch
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from damas_env.notation import read_pdn, write_pdn
from damas_env.rules import get_rules
from damas_env.termination import Termination
from damas_rl.cli import main
from damas_rl.players import make_player
from damas_rl.protocols import dxp
from damas_rl.protocols.dxp import DxpError, Finished, Link, Terms, connect, initiate, listen, serve

CBD = get_rules("cbd")
DATA = Path(__file__).parent / "data"
REQUEST = "R01Another program                 W005000A"
ACCEPTED = "A" + "Another program".ljust(32) + "0"


class Server:
    """A follower on a thread."""

    def __init__(self, games: int | None = None, rules: str = "cbd", player: str = "alphabeta:depth=3") -> None:
        self.socket = listen(0)
        self.port = self.socket.getsockname()[1]
        self.found: list[Finished | DxpError] = []
        arguments = self.socket, get_rules(rules), make_player(player, rules, 0), games
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def _run(self, *arguments: object) -> None:
        for each in serve(*arguments):  # type: ignore[arg-type]
            self.found.append(each)

    def join(self) -> list[Finished | DxpError]:
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.socket.close()
        return self.found


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dxp, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(dxp, "_IDLE_SECONDS", 1.0)


def test_recorded_session() -> None:
    server = Server(games=2)
    link = connect(server.port)
    for line in (DATA / "dxp_session.txt").read_text().splitlines():
        if line.startswith("> "):
            link.send(line[2:])
        elif line.startswith("< "):
            assert fnmatch.fnmatchcase(link.read(), line[2:].ljust(len(line) - 2))
    one, other = server.join()
    link.close()
    assert isinstance(one, Finished) and isinstance(other, Finished)
    assert (one.white, one.black, one.result) == ("alphabeta:depth=3", "Another program", "1-0")
    assert one.outcome and one.outcome.termination == Termination.RESIGNATION and one.game.ply == 13
    assert (other.white, other.result) == ("Another program", "0-1")
    assert other.outcome and other.outcome.termination == Termination.NO_PIECES
    assert all(game.error is None for game in read_pdn(write_pdn([one.pdn(), other.pdn()])))


@pytest.mark.parametrize("rules", ["cbd", "international"])
@pytest.mark.parametrize("color", ["W", "B"])
def test_games_between_our_two_ends(rules: str, color: str) -> None:
    server = Server(1, rules, "random")
    link = connect(server.port)
    mine = initiate(link, get_rules(rules), make_player("random", rules, 1), Terms(color, 5, 0))
    link.close()
    (theirs,) = server.join()
    assert isinstance(theirs, Finished)
    assert mine.outcome == theirs.outcome == mine.game.outcome() and mine.game.moves == theirs.game.moves
    assert mine.result == theirs.result != "*"
    assert (mine.white, mine.black) == (("damas-rl", "random") if color == "W" else ("random", "damas-rl"))


@pytest.mark.parametrize("fen", ["W:WK1:BK32", "B:WK4,K32:BK5,K13"])
def test_games_that_a_law_draws(fen: str) -> None:
    server = Server(1, player="random")
    link = connect(server.port)
    mine = initiate(link, CBD, make_player("random", CBD, 3), Terms("B", 5, 0, fen))
    link.close()
    (theirs,) = server.join()
    assert isinstance(theirs, Finished) and theirs.outcome == mine.outcome and mine.game.moves == theirs.game.moves
    assert mine.outcome is not None


def test_a_program_that_does_not_see_the_draw_is_told() -> None:
    server = Server(1, player="alphabeta:depth=1")
    link = connect(server.port)
    link.send("R01X" + " " * 31 + "Z005000BWWeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeZ")
    assert link.read().endswith("0")
    # Kings alone; we go to and fro until a law has struck, and once more.
    moves = ["M0000010500", "M0000050100"] * 30
    said = ""
    for move in moves:
        link.send(move)
        said = link.read()
        if said[0] == "E":
            break
    assert said == "E20"
    link.send("E00")
    (game,) = server.join()
    link.close()
    assert isinstance(game, Finished) and game.outcome and game.outcome.winner is None


@pytest.mark.parametrize(("message", "result"), [("E11", "1-0"), ("E31", "0-1"), ("E21", "1/2-1/2"), ("E01", "*")])
def test_the_other_program_ends_the_game(message: str, result: str) -> None:
    server = Server(1)
    link = connect(server.port)
    link.send(REQUEST)
    assert link.read()[0] == "A" and link.read()[0] == "M"
    link.send(message)
    assert link.read() == "E00"
    (game,) = server.join()
    link.close()
    assert isinstance(game, Finished) and game.result == result


@pytest.mark.parametrize(
    ("messages", "answer", "message"),
    [
        (["M0001101400"], "", "did not ask for a game but sent 'M0001101400'"),
        (["hello"], "", "did not ask for a game but sent 'hello'"),
        ([REQUEST.replace("R01", "R02")], "1", "declined: it speaks another version"),
        ([REQUEST[:-1] + "BW" + "e" * 50], "2", "declined: not this game"),
        ([REQUEST[:-1] + "BW" + "z" * 32], "2", "declined: not this game"),
        ([REQUEST, "M0001101500x"], "0", "played wrongly: the move 'M0001101500x' is not legal"),
        ([REQUEST, "M0001010900"], "0", "played wrongly: the move '1-9' is not legal"),
        ([REQUEST, "M000110140518"], "0", "is not legal"),
        ([REQUEST, "Q"], "0", "sent 'Q' in the middle of a game"),
        ([REQUEST, REQUEST], "0", "in the middle of a game"),
        ([REQUEST, ""], "0", "sent '' in the middle of a game"),
        ([REQUEST, "\xff\x00\xfe"], "0", "in the middle of a game"),
        (["x" * 1000], "", "sent a message without end"),
    ],
)
def test_bad_peers(messages: list[str], answer: str, message: str) -> None:
    server = Server(1)
    for peer in range(2):  # the second one finds the server unharmed
        link = connect(server.port)
        for number, text in enumerate(messages):
            link.send(text)
            if number == 0 and answer:
                assert link.read()[-1] == answer
        if peer == 0:
            with pytest.raises(DxpError, match="the other program is gone"):
                while True:
                    link.read()
        link.close()
    link = connect(server.port)
    link.send(REQUEST)
    link.read()
    link.read()
    link.send("E11")
    *errors, game = server.join()
    link.close()
    assert isinstance(game, Finished) and len(errors) == 2
    assert message in str(errors[0]) and "\n" not in str(errors[0]) and len(str(errors[0])) < 300


def test_peers_that_are_silent_or_leave(hasty: None) -> None:
    server = Server(1)
    silent = connect(server.port)
    leaving = connect(server.port)
    leaving.send(REQUEST)
    leaving.close()
    link = connect(server.port)
    link.send(REQUEST)
    assert link.read(10)[0] == "A" and link.read(10)[0] == "M"
    link.send("E11")
    first, second, game = server.join()
    silent.close()
    link.close()
    assert "sent nothing for 2 seconds" in str(first) and "is gone" in str(second) and isinstance(game, Finished)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([ACCEPTED[:-1] + "1"], "declines: it speaks another version"),
        ([ACCEPTED[:-1] + "7"], "declines: it gives no reason"),
        (["E00"], "answered the request by 'E00'"),
        ([], "is gone"),
        ([ACCEPTED, "M0001010900"], "played wrongly"),
    ],
)
def test_bad_followers(answers: list[str], message: str) -> None:
    listening = listen(0)

    def follow() -> None:
        link = Link(listening.accept()[0])
        assert re.fullmatch(r"R01damas-rl {24}W005010A", link.read())
        for answer in answers:
            link.send(answer)
        link.close()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    link = connect(listening.getsockname()[1])
    with pytest.raises(DxpError, match=re.escape(message)):
        initiate(link, CBD, make_player("random", CBD, 0), Terms("W", 5, 10))
    link.close()
    thread.join(10)
    listening.close()


def test_only_this_machine_is_listened_to() -> None:
    with listen(0) as server:
        assert server.getsockname()[0] == "127.0.0.1"


def test_time_of_the_game_stops_a_long_search() -> None:
    """One minute for 240 moves: a quarter of a second for the first."""
    server = Server(1, player="alphabeta:ms=60000")
    link = connect(server.port)
    link.send("R01X" + " " * 31 + "W001240A")
    assert link.read()[0] == "A"
    assert re.fullmatch(r"M000[0-2].{6}", link.read())
    link.send("E11")
    server.join()
    link.close()


@pytest.fixture
def free_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
    yield number


def test_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    server = Server(1, player="random")
    output = tmp_path / "game.pdn"
    arguments = ["--player", "alphabeta:depth=3", "--port", str(server.port), "--pdn", str(output)]
    assert main(["dxp", "connect", *arguments]) == 0
    server.join()
    captured = capsys.readouterr()
    assert re.match(r"1\. alphabeta:depth=3 - damas-rl  1-0  White has won", captured.out) and captured.err == ""
    (game,) = read_pdn(output.read_text())
    assert game.error is None and game.result == "1-0"


def test_commands_refuse(capsys: pytest.CaptureFixture[str], free_port: int) -> None:
    for arguments, message in (
        (["connect", "--player", "random", "--port", str(free_port)], "no program answers on port"),
        (["connect", "--player", "random", "--port", "99999999"], "no program answers on port"),
        (["serve", "--player", "random", "--port", "99999999"], "cannot be listened on"),
        (["connect", "--player", "alphabeta"], "needs a limit"),
        (["connect", "--minutes", "1000"], "1000 is more than 999"),
        (["connect", "--fen", "W:W:B1"], "there is no game to play"),
        (["serve", "--rules", "chess"], "Unknown rule set"),
        ([], "required"),
    ):
        assert main(["dxp", *arguments]) == 2
        captured = capsys.readouterr()
        assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""
