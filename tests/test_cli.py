"""The ``damas`` command: JSON shapes, exit statuses, one line for every bad input, never a traceback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from damas_env.game import Game
from damas_env.notation import format_moves, write_pdn
from damas_rl.cli import main

INITIAL = "W:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
DATA = Path(__file__).parent / "data"
COMMANDS = ("rules", "moves", "play-moves", "perft", "pdn")


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def document(capsys: pytest.CaptureFixture[str], *argv: str):
    status, out, err = run(capsys, *argv)
    assert (status, err) == (0, "") and out.count("\n") == 1
    return json.loads(out)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line on stderr of a command that must exit with 2."""
    status, out, err = run(capsys, *argv)
    assert status == 2 and out == "" and err.count("\n") == 1 and err.startswith("damas")
    return err


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def damas(*argv: str, **options) -> subprocess.CompletedProcess:
    options = {"capture_output": True, "env": ENVIRONMENT, **options}
    return subprocess.run([sys.executable, "-m", "damas_rl.cli", *argv], timeout=120, check=False, **options)


def start(*argv: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "damas_rl.cli", *argv]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, **options)


# rules


def test_rules(capsys) -> None:
    (rules, *_) = document(capsys, "rules", "--json")
    assert rules["name"] == "cbd" and rules["initial_fen"] == INITIAL and rules["num_actions"] == 1152
    assert [law["plies"] for law in rules["draw_laws"]] == [40, 10, 10] and rules["repetition"] == 3
    status, out, _ = run(capsys, "rules")
    assert status == 0 and "cbd" in out and "8x8" in out
    status, out, _ = run(capsys, "rules", "cbd", "--lang", "pt")
    assert status == 0 and "cbd: Damas brasileiras" in out


# moves


def test_moves_of_the_start(capsys) -> None:
    found = document(capsys, "moves", "--rules", "cbd", "--json")
    assert list(found) == ["fen", "rules", "to_move", "moves", "outcome"]
    assert (found["fen"], found["rules"], found["to_move"], found["outcome"]) == (INITIAL, "cbd", "W", None)
    assert found["moves"][1] == {
        "action": 688, "from": 22, "to": 17, "captures": [], "promotes": False, "pdn": "22-17",
    }  # fmt: skip
    assert found == document(capsys, "moves", "--fen", "initial", "--json")


@pytest.mark.parametrize("name", ["positions", "extremes"])
def test_moves_of_published_positions(capsys, name: str, tmp_path: Path) -> None:
    cases = json.loads((DATA / f"{name}.json").read_text())["positions"]
    fens = tmp_path / "fens"
    fens.write_text("\n".join(case["fen"] for case in cases) + "\n")
    status, out, err = run(capsys, "moves", "--fens", str(fens))
    documents = [json.loads(line) for line in out.splitlines()]
    assert (status, err, len(documents)) == (0, "", len(cases))
    for case, found in zip(cases, documents, strict=True):
        assert found["fen"] == case["fen"] and found["to_move"] == case["fen"][0]
        moves = found["moves"]
        assert len({move["action"] for move in moves}) == len({move["pdn"] for move in moves}) == len(moves)
        if "legal" in case:
            assert sorted([m["from"], m["to"], m["captures"]] for m in moves) == sorted(case["legal"])
        else:
            assert len(moves) == case.get("moves", 1)
        assert (found["outcome"] is None) == bool(moves)
        assert found == document(capsys, "moves", "--fen", case["fen"], "--json")


def test_moves_of_a_finished_game(capsys) -> None:
    found = document(capsys, "moves", "--fen", "B:W22,25:BK29", "--json")
    assert found["moves"] == [] and found["outcome"] == {"termination": "BLOCKED", "winner": "W"}
    found = document(capsys, "moves", "--fen", "W:W:B1", "--json")
    assert found["outcome"] == {"termination": "NO_PIECES", "winner": "B"}


def test_moves_in_other_spellings(capsys) -> None:
    fen = "W:WK21:B8,11,17,19"
    numeric = [move["pdn"] for move in document(capsys, "moves", "--fen", fen, "--json")["moves"]]
    letters = document(capsys, "moves", "--fen", fen, "--json", "--notation", "algebraic")["moves"]
    assert numeric == format_moves(Game(fen=fen).positions) and "21x3x12x30" in numeric
    assert [move["pdn"] for move in letters] == format_moves(Game(fen=fen).positions, notation="algebraic")


def test_bad_lines_stay_in_their_place(capsys, tmp_path: Path) -> None:
    fens = tmp_path / "fens"
    fens.write_bytes(b"\xef\xbb\xbf" + INITIAL.encode() + b"\r\nW:W33:B1\r\n\r\nB:W22:B\xff1\r\nW:W:B1")
    status, out, err = run(capsys, "moves", "--fens", str(fens), "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert (status, err, len(found)) == (0, "", 5)
    assert found[0]["fen"] == INITIAL and found[4]["outcome"]["winner"] == "B"
    assert found[1]["fen"] == "W:W33:B1" and "square 33" in found[1]["error"]
    assert all(set(entry) == {"fen", "error"} for entry in found[1:4]) and "empty" in found[2]["error"]


def test_many_fens_in_batches(capsys, tmp_path: Path) -> None:
    fens = tmp_path / "fens"
    fens.write_text("".join(f"{INITIAL}\nW:W{20 + i % 20}:B1\n" for i in range(1500)))
    _, out, _ = run(capsys, "moves", "--fens", str(fens))
    found = [json.loads(line) for line in out.splitlines()]
    assert len(found) == 3000 and all(len(entry["moves"]) == 7 for entry in found[::2])
    assert ["error" in entry for entry in found[1::2]] == [20 + i % 20 > 32 for i in range(1500)]


def test_a_file_without_fens_gives_no_document(capsys, tmp_path: Path) -> None:
    fens = tmp_path / "fens"
    fens.write_text("")
    assert run(capsys, "moves", "--fens", str(fens)) == (0, "", "")


def test_moves_for_people(capsys) -> None:
    status, out, err = run(capsys, "moves", "--fen", "W:W22:B11,18")
    assert status == 0 and err == "" and "1 legal moves" in out and "22x8" in out and "a  b  c" in out
    _, out, _ = run(capsys, "moves", "--fen", "W:W29:B22,25")
    assert "Black has won (blocked)" in out


# play-moves


def test_play_moves(capsys) -> None:
    found = document(capsys, "play-moves", "--moves", "22-17 9-13", "--json")
    assert found == {
        "fen": "W:W17,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,10,11,12,13",
        "ply": 2,
        "outcome": None,
        "counters": {
            "kings_only": {"plies": 0, "limit": 40},
            "ending": {"plies": 0, "limit": 10},
            "repetitions": {"count": 1, "limit": 3},
        },
    }
    same = document(capsys, "play-moves", "--moves", " 1. c3-b4  1...b6a5 ", "--json")
    assert same == found
    assert document(capsys, "play-moves", "--moves", "", "--json")["fen"] == INITIAL


def test_play_moves_to_a_draw(capsys) -> None:
    moves = 2 * "g1-f2 b8-c7 f2-g1 c7-b8 "
    found = document(capsys, "play-moves", "--fen", "W:W21,K32:B12,K1", "--moves", moves, "--json")
    assert found["outcome"] == {"termination": "REPETITION", "winner": None}
    assert found["ply"] == 8 and found["counters"]["kings_only"]["plies"] == 8
    assert found["counters"]["repetitions"] == {"count": 3, "limit": 3}
    error = refused(capsys, "play-moves", "--fen", "W:W21,K32:B12,K1", "--moves", moves + "g1-f2", "--json")
    assert "ply 9" in error and "the game is over" in error


def test_play_moves_for_people(capsys) -> None:
    status, out, err = run(capsys, "play-moves", "--moves", "22-17 9-13")
    assert status == 0 and err == "" and "ending: 0 of 10 plies" in out and "[b]" in out and "ply 2" in out


def test_illegal_moves_name_the_ply_and_the_legal_ones(capsys) -> None:
    error = refused(capsys, "play-moves", "--moves", "22-17 9-14 24-27", "--fen", "initial")
    assert "ply 3" in error and "legal: " in error and "24-20" in error
    error = refused(capsys, "play-moves", "--moves", "22-17 9-10")
    assert "ply 2" in error and "9-13" in error
    assert "ply 1" in refused(capsys, "play-moves", "--moves", "hello")
    error = refused(capsys, "play-moves", "--fen", "W:WK21:B8,11,17,19", "--moves", "21x30")
    assert "ambiguous" in error and "21x3x12x30" in error and "21x7x16x30" in error


# perft


def test_perft(capsys) -> None:
    found = document(capsys, "perft", "--depth", "6", "--json")
    assert found["depth"] == 6 and found["nodes"] == [7, 49, 302, 1469, 7473, 37628] and found["seconds"] > 0
    found = document(capsys, "perft", "--rules", "cbd", "--fen", "W:W29:B22,25", "--depth", "3", "--json")
    assert found["nodes"] == [0, 0, 0]
    status, out, _ = run(capsys, "perft", "--depth", "4")
    assert status == 0 and "1,469" in out and out.count("\n") == 4


# pdn


@pytest.fixture
def pdn_file(tmp_path: Path) -> Path:
    path = tmp_path / "games.pdn"
    path.write_text('[White "Ana"]\n[Result "1-0"]\n\n1. c3-d4 d6-c5 1-0\n\n[White "Rui"]\n\n1. 22-18 10-14 *\n')
    return path


def test_pdn(capsys, pdn_file: Path) -> None:
    found = document(capsys, "pdn", str(pdn_file), "--rules", "cbd", "--json")
    assert (found["total"], found["legal"], found["rules"]) == (2, 2, "cbd")
    first, second = found["games"]
    assert first["white"] == "Ana" and first["result"] == "1-0" and first["plies"] == 2 and first["legal"] is True
    assert first["error"] is None and first["numbering"] == "algebraic" and second["numbering"] == "top_left"
    assert second["fen"] == first["fen"] and (second["game"], second["line"]) == (2, 6)
    status, out, _ = run(capsys, "pdn", str(pdn_file))
    assert status == 0 and "2 of 2 games are legal" in out


def test_bad_pdn_reports_on_both_streams(capsys, pdn_file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdn"
    bad.write_bytes(b"\xef\xbb\xbf1. c3-d4 d6-c5\r\n2. c3-d4 *\r\n")
    status, out, err = run(capsys, "pdn", str(pdn_file), str(bad), "--json")
    found = json.loads(out)
    assert status == 2 and (found["total"], found["legal"]) == (3, 2)
    error = found["games"][2]["error"]
    assert (error["line"], error["ply"], error["text"]) == (2, 3, "c3-d4") and "illegal" in error["reason"]
    assert err.count("\n") == 1 and "1 of 3 games" in err and "line 2, ply 3" in err
    status, out, err = run(capsys, "pdn", str(bad))
    assert status == 2 and "illegal" in out and err.count("\n") == 1


def test_nothing_from_a_file_steers_the_terminal(capsys, tmp_path: Path) -> None:
    """Escape sequences in tags, comments, moves and names of files are written out."""
    path = tmp_path / "bad\x1b[2J.pdn"
    path.write_text('[White "\x1b]0;mine\x07Ana"]\n[GameType "\x1b[31m"]\n\n1. c3-d4 \x1b[5mx *\n')
    status, out, err = run(capsys, "pdn", str(path))
    assert status == 2 and "\\x1b]0;" in out and "\\x1b[2J.pdn" in err
    assert not {"\x1b", "\x07"} & {*out, *err}
    assert "\x1b" not in refused(capsys, "moves", "--fens", "/no/\x1b[2Jsuch")
    assert "\\x1b" in refused(capsys, "moves", "--rules", "\x1b[2J")
    assert "\x1b" not in refused(capsys, "\x1b[2J")


def test_undecodable_input_does_not_end_a_game() -> None:
    played = damas("play", "--opponent", "random", "--seed", "1", input=b"22-18\n\xff\xfe\nfen\nquit\n")
    assert played.returncode == 0 and b"Goodbye." in played.stdout and b"B:W" not in played.stderr
    assert played.stderr == b""


def test_pdn_is_written_again(capsys, pdn_file: Path, tmp_path: Path) -> None:
    for notation, first in (("algebraic", "1. c3-d4 d6-c5 *"), ("numeric", "1. 22-18 10-14 *")):
        out = tmp_path / f"{notation}.pdn"
        document(capsys, "pdn", str(pdn_file), "--json", "--output", str(out), "--notation", notation)
        assert out.read_text().count(first) == 2 and '[White "Ana"]' in out.read_text()
        assert document(capsys, "pdn", str(out), "--json")["legal"] == 2
    for place in (tmp_path / "nowhere" / "x.pdn", tmp_path):
        error = refused(capsys, "pdn", str(pdn_file), "--output", str(place))
        assert f"{place}: " in error and ".tmp" not in error


def test_written_random_games_pass(capsys, tmp_path: Path) -> None:
    game = Game()
    while game.outcome() is None:
        game.push(game.legal_moves()[-1])
    path = tmp_path / "x.pdn"
    path.write_text(write_pdn([game.pdn({})]))
    found = document(capsys, "pdn", str(path), "--json")["games"][0]
    assert found["plies"] == game.ply and found["fen"] == game.fen()
    assert found["outcome"]["winner"] == game.outcome().winner


# Bad input


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["nonsense"], "invalid choice"),
        (["moves", "--fen", "W:W33:B1"], "square 33"),
        (["moves", "--fen", "W:W33:B1", "--json"], "square 33"),
        (["moves", "--fen", ""], "empty FEN"),
        (["moves", "--fen", "W:W:W21:B1"], "twice"),
        (["moves", "--fen", "x" * 100_000], "100000 characters"),
        (["moves", "--fen", "W:W\udcff:B1"], "not a playable square"),
        (["moves", "--fen"], "expected one argument"),
        (["moves", "--fen", "initial", "--fens", "x"], "not allowed with"),
        (["moves", "--rules", "chess"], "cbd"),
        (["moves", "--rules", ""], "cbd"),
        (["moves", "--js"], "unrecognized"),
        (["moves", "--notation", "san"], "invalid choice"),
        (["moves", "--fens", "/no/such/file"], "no such file"),
        (["moves", "--fens", "/"], "cannot read"),
        (["moves", "--fens", "/dev/zero"], "holds more than 256 MiB"),
        (["pdn", "/dev/zero"], "holds more than 256 MiB"),
        (["perft", "--depth", "1_0"], "'1_0' is not a whole number from 1"),
        (["perft", "--depth", "\u0663"], "whole number"),
        (["pdn", "/dev/null", "--output", ""], "this file cannot be written: is a directory"),
        (["moves", "--fens", "a\0b"], "cannot read"),
        (["play-moves"], "--moves"),
        (["play-moves", "--moves", "22-17", "--fen", "W"], "White's pieces"),
        (["perft"], "--depth"),
        (["perft", "--depth", "0"], "whole number"),
        (["perft", "--depth", "-3"], "whole number"),
        (["perft", "--depth", "1e3"], "whole number"),
        (["perft", "--depth", "9" * 50], "whole number"),
        (["perft", "--depth", "²"], "whole number"),
        (["perft", "--depth", "2", "--fen", "W:W1:B5"], "crowning row"),
        (["pdn"], "FILE"),
        (["pdn", "/no/such/file"], "no such file"),
        (["pdn", "/dev/null"], "holds no PDN game"),
        (["pdn", "/dev/null", "--rules", "cbx"], "Did you mean 'cbd'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_status_2(capsys, argv: list[str], text: str) -> None:
    assert text in refused(capsys, *argv)


def test_help_and_version(capsys) -> None:
    status, out, err = run(capsys)
    assert status == 0 and all(command in out for command in COMMANDS) and err == ""
    assert run(capsys, "--version")[1].startswith("damas ")
    for command in COMMANDS:
        status, out, err = run(capsys, command, "--help")
        assert status == 0 and out.startswith(f"usage: damas {command}") and "--json" in out and err == ""


# As a process


def test_process_statuses() -> None:
    good = damas("moves", "--json")
    assert good.returncode == 0 and good.stderr == b"" and json.loads(good.stdout)["fen"] == INITIAL
    bad = damas("moves", "--fen", b"W:W\xff:B1".decode("utf-8", "surrogateescape"))
    assert bad.returncode == 2 and bad.stdout == b"" and bad.stderr.count(b"\n") == 1
    assert b"Traceback" not in bad.stderr


def test_standard_input() -> None:
    fens = damas("moves", "--fens", "-", input=b"initial\nrubbish\n")
    assert fens.returncode == 0 and fens.stdout.count(b"\n") == 2 and b'"error"' in fens.stdout
    games = damas("pdn", "-", "--json", input=b"1. c3-d4 d6-c5 *")
    assert games.returncode == 0 and json.loads(games.stdout)["legal"] == 1


def test_output_that_cannot_be_written_or_is_not_wanted(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        failed = damas("moves", "--json", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert failed.returncode == 2 and failed.stderr == b"damas: the disk is full\n"
    fens = tmp_path / "fens"
    fens.write_text(f"{INITIAL}\n" * 5000)
    process = start("moves", "--fens", str(fens))
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(60) == 0
    process.stderr.close()


def test_ascii_terminal() -> None:
    done = damas("rules", env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stderr == b"" and b"cbd" in done.stdout


def test_interrupt_ends_a_long_perft_without_traceback() -> None:
    process = start("perft", "--depth", "40", text=True)
    for _ in range(8):
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and time.monotonic() - started < 5
    assert "Traceback" not in err


def test_interrupt_is_one_line(capsys, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("damas_rl.cli.position_commands._document", interrupted)
    status, out, err = run(capsys, "moves", "--json")
    assert (status, out, err) == (130, "", "damas: interrupted\n")


def test_interrupted_match_says_what_is_missing(capsys, monkeypatch) -> None:
    monkeypatch.setattr("damas_rl.arena.play_pairs", lambda *_: None)
    status, out, err = run(capsys, "match", "random", "random", "--games", "4")
    assert (status, out) == (130, "")
    assert err == "damas: interrupted: no batch of games was finished (up to 256 are played at once)\n"


def test_importing_the_command_does_not_import_torch() -> None:
    code = "import sys, damas_rl.cli; damas_rl.cli.main(['rules']); sys.exit('torch' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, env=ENVIRONMENT, capture_output=True, timeout=120, check=False).returncode == 0


def test_colours_only_on_terminals(capsys, monkeypatch) -> None:
    _, out, _ = run(capsys, "moves")
    assert "\x1b" not in out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    _, out, _ = run(capsys, "moves")
    assert re.search("\x1b\\[[0-9;]*m", out) and "●" in out


# what the commands share


def test_moves_read_alike_in_every_command(capsys) -> None:
    played = document(capsys, "play-moves", "--moves", "1. 22-17 9-13 2. 17-14", "--json")
    assert played["ply"] == 3
    chosen = document(capsys, "bestmove", "--player", "random", "--moves", "1. 22-17 9-13 2.17-14", "--json")
    assert chosen["move"].startswith(("10x", "11x"))
    assert "ply 2: " in refused(capsys, "bestmove", "--player", "random", "--moves", "1. 22-17 9-9")


@pytest.mark.parametrize(
    ("error", "expected"),
    [(MemoryError("Unable to allocate"), "not enough memory"), (FloatingPointError("not a number"), "not a number")],
)
def test_no_memory_and_no_numbers_are_one_line(capsys, monkeypatch, error, expected) -> None:
    def fail(*arguments):
        raise error

    monkeypatch.setattr("damas_rl.players.make_player", fail)
    assert expected in refused(capsys, "bestmove", "--player", "random")
