"""Games of databases as training records and opening books: what is kept, what it says, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import PdnGame, parse_fen, read_pdn, write_pdn
from damas_env.observation import features
from damas_env.rules import get_rules
from damas_rl.cli import main
from damas_rl.database import (
    DatabaseError,
    load_records,
    opening_book,
    rules_of_all,
    save_records,
    select,
    to_records,
)
from damas_rl.openings import load_openings
from damas_rl.records import empty_records

CBD = get_rules("cbd")
DECIDED = '[FEN "W:W22:B18"]\n[Result "0-1"]\n\n1. c3xe5 *'


def games_of(*texts: str) -> list[PdnGame]:
    return read_pdn("\n\n".join(texts), CBD)


def database(count: int, seed: int = 1) -> list[PdnGame]:
    """Random games that are over on the board."""
    rng, games = np.random.default_rng(seed), []
    for _ in range(count):
        game = Game(CBD)
        while game.outcome() is None:
            legal = game.legal_moves()
            game.push(legal[rng.integers(len(legal))])
        games.append(game.pdn({}))
    return games


def test_which_games_are_used() -> None:
    opening = "1. c3-d4 d6-c5 2. b2-c3 f6-g5"
    games = games_of(
        f"{opening} 1-0", f"{opening} 2-0", f"{opening} *", f"{opening} 0-0", "1. c3-d4 oops 1-0", '[Result "1-0"]\n*',
        "1. c3-b4 1/2-1/2", f'[FEN "W:W21-32:B1-12"]\n\n{opening} 1-0', DECIDED,
    )  # fmt: skip
    chosen = select(games)
    assert [len(game.moves) for game in chosen.games] == [4, 1, 4, 1]
    assert chosen.left_out == {
        "the same as an earlier one": 1,
        "without a result": 2,
        "cannot be followed to the end": 1,
        "without moves": 1,
    }


def test_records_of_one_game() -> None:
    (game,) = games_of("1. c3-d4 d6-c5 2. b2-c3 0-2")
    records = to_records([game])
    replayed = Game(CBD)
    for row, move in enumerate(game.moves):
        assert records.boards[row].tolist() == replayed.positions.boards[0].tolist()
        assert records.features[row].tolist() == features(replayed.positions)[0].tolist()
        assert records.actions[row].tolist() == [move.action] + [-1] * 31
        assert records.policy[row].tolist() == [1.0] + [0.0] * 31
        replayed.push(move)
    assert records.z.tolist() == [-1, 1, -1] == records.q.tolist()
    assert records.plies_left.tolist() == [3, 2, 1] and records.weight.tolist() == [1, 1, 1]
    assert [column.dtype for column in records] == [column.dtype for column in empty_records(0)]


def test_results_and_ends_of_games() -> None:
    assert to_records(games_of("1. c3-d4 d6-c5 1/2-1/2")).z.tolist() == [0, 0]
    assert to_records(games_of(DECIDED)).z.tolist() == [1]  # White has won on the board, whatever the file says
    back_and_forth = "g1-f2 b8-c7 f2-g1 c7-b8 "
    (drawn,) = games_of(f'[FEN "W:W21,K32:B12,K1"]\n\n{3 * back_and_forth} 1-0')
    records = to_records([drawn])  # the third repetition after eight plies has drawn it
    assert records.z.tolist() == [0] * 8 and records.plies_left.tolist() == list(range(8, 0, -1))


def test_records_of_many_games_are_those_of_each(monkeypatch) -> None:
    games = database(9)
    single = [to_records([game]) for game in games]
    monkeypatch.setattr("damas_rl.database._GAMES_AT_ONCE", 4)
    for name, column in to_records(games)._asdict().items():
        assert (column == np.concatenate([getattr(records, name) for records in single])).all(), name


def test_several_rule_sets_or_none() -> None:
    from dataclasses import replace

    with pytest.raises(DatabaseError, match=r"several rule sets \(cbd, other\)"):
        rules_of_all([PdnGame(CBD), PdnGame(replace(CBD, name="other"))])
    with pytest.raises(DatabaseError, match="no game"):
        to_records([])


def test_records_come_back_from_their_file(tmp_path: Path) -> None:
    records = to_records(database(3))
    save_records(tmp_path / "games.npz", records, CBD)
    buffer = load_records(tmp_path / "games.npz", CBD)
    assert len(buffer) == buffer.window == len(records.z)
    batch = buffer.batch(np.arange(len(records.z)))
    assert (batch.policy.sum(axis=1) == 1).all() and (batch.z == records.z).all()


def bent(**columns: np.ndarray) -> dict[str, np.ndarray]:
    about = json.dumps({"format": 1, "rules": "cbd", "rules_version": 1, "action_version": 1})
    return {"about": np.array(about), **to_records(database(1))._asdict(), **columns}


def changed(name: str, value: float) -> dict[str, np.ndarray]:
    column = getattr(to_records(database(1)), name).copy()
    column.flat[0] = value
    return bent(**{name: column})


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (lambda: bent(z=np.zeros(3, np.int8)), "boards is uint64"),
        (lambda: bent(z=np.array(1, np.int8)), "boards is uint64"),
        (lambda: bent(q=np.zeros(2, np.float64)), "q is float64[2]"),
        (lambda: empty_records(0)._asdict() | {"about": bent()["about"]}, "no record in it"),
        (lambda: bent(about=np.array("[]")), "format=None"),
        (lambda: bent(about=np.array('{"format": 1, "rules": "\x1b[31m"}')), "damaged"),
        (lambda: bent(about=np.array('{"format": 1, "rules": "checkers"}')), "rules='checkers', but here it is 'cbd'"),
        (lambda: {"about": bent()["about"]}, "damaged, or no file of training records"),
        (lambda: bent(about=np.array([object()])), "damaged"),
        (lambda: changed("boards", 1 << 63), "pieces off the board"),
        (lambda: changed("boards", 0xFFFFFFFF), "of the batch"),
        (lambda: changed("actions", 5), "actions holds moves that are not legal"),
        (lambda: changed("actions", 1151), "actions holds moves that are not legal"),
        (lambda: changed("actions", 1152), "actions holds numbers"),
        (lambda: changed("policy", -1), "policy holds numbers"),
        (lambda: changed("policy", 0.5), "policy holds rows whose sum is neither 1 nor 0"),
        (lambda: changed("policy", 0), "policy holds rows without a move"),
        (lambda: changed("policy", np.nan), "policy holds numbers"),
        (lambda: changed("q", np.inf), "q holds numbers"),
        (lambda: changed("z", 2), "z holds numbers that are not from -1 to 1"),
        (lambda: changed("weight", 0), "weight holds numbers"),
        (lambda: changed("plies_left", -1), "plies_left holds numbers"),
        (lambda: changed("features", np.nan), "features holds numbers"),
    ],
)
def test_bad_files_of_records_are_refused(
    tmp_path: Path, columns: Callable[[], dict[str, np.ndarray]], text: str
) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **columns())
    with pytest.raises(DatabaseError) as caught:
        load_records(path, CBD)
    assert text in str(caught.value) and "bad.npz" in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save_records(path, to_records(database(1)), CBD)
    whole = path.read_bytes()
    for data in (
        b"",
        b"PK",
        b"1. c3-d4 *",
        whole[: len(whole) // 2],
        b"\x93NUMPY\x01",
        whole[:300] + b"X" + whole[301:],
    ):
        path.write_bytes(data)
        with pytest.raises(DatabaseError, match=r"x\.npz"):
            load_records(path, CBD)
    for place in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(DatabaseError, match="could not be read"):
            load_records(place, CBD)


def test_an_opening_book_counts_positions() -> None:
    games = games_of(
        "1. c3-d4 d6-c5 2. b2-c3 1-0", "1. c3-d4 d6-c5 2. a1-b2 *", "1. c3-d4 f6-e5 *", "1. c3-d4 *",
        "1. c3-d4 d6-c5 2. oops *", '[FEN "W:W22:B18"]\n\n1. c3xe5 *',
    )  # fmt: skip
    book = opening_book(games, 2)
    assert sorted(book.values()) == [1, 3]
    for fen in book:
        assert parse_fen(fen, CBD)[1] == 0
    assert opening_book(games, 1).total() == 5  # the last game is over by then
    assert not opening_book(games, 7)


# The command


@pytest.fixture
def pdn(tmp_path: Path) -> Path:
    path = tmp_path / "games.pdn"
    path.write_text(write_pdn([*database(3), *database(1)]))
    return path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    return status, *capsys.readouterr()


def test_damas_pdn_makes_records_and_a_book(capsys, pdn: Path, tmp_path: Path) -> None:
    records, book = tmp_path / "r.npz", tmp_path / "book.txt"
    words = ("pdn", str(pdn), "--records", str(records), "--openings", str(book), "--plies", "3")
    status, out, err = run(capsys, *words, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert found["records"]["games"] == 3 and found["records"]["left_out"] == {"the same as an earlier one": 1}
    assert len(load_records(records, CBD)) == found["records"]["positions"] > 100
    openings = load_openings(str(book), CBD)
    assert found["openings"] == {"positions": len(openings), "games": 4, "plies": 3} and len(openings) > 1
    assert all(opening.fen is not None and opening.fen.startswith("B:") for opening in openings)
    status, out, _ = run(capsys, *words)
    assert status == 0 and "positions of 3 games; 1 the same as an earlier one" in out and "after 3 plies" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--records", "{tmp}/no/r.npz"], "--records {tmp}/no/r.npz: this file cannot be written: no such file"),
        (["--records", "{tmp}"], "--records {tmp}: this file cannot be written: is a directory"),
        (["--openings", "{tmp}/games.pdn/x"], "{tmp}/games.pdn/x: this file cannot be written: not a directory"),
        (["--openings", ""], "--openings : this file cannot be written"),
        (["--output", "/proc/x"], "--output /proc/x: this file cannot be written"),
        (["--records", "{tmp}/" + "x" * 300], "this file cannot be written: file name too long"),
        (["--plies", "3"], "--openings OUT, which is missing"),
        (["--openings", "{tmp}/b.txt", "--plies", "9999"], "no game goes on after 9999 plies"),
    ],
)
def test_places_are_checked_before_anything_is_read(capsys, pdn: Path, tmp_path: Path, words, text: str) -> None:
    before = sorted(tmp_path.iterdir())
    file = str(pdn) if "9999" in words else "/no/such/file"
    status, out, err = run(capsys, "pdn", file, *(word.format(tmp=tmp_path) for word in words))
    assert (status, out) == (2, "") and text.format(tmp=tmp_path) in err and err.count("\n") == 1 and ".tmp" not in err
    assert sorted(tmp_path.iterdir()) == before


def test_the_longest_name_that_a_folder_takes(capsys, pdn: Path, tmp_path: Path) -> None:
    name = "ä" * 127  # 254 bytes
    assert run(capsys, "pdn", str(pdn), "--output", str(tmp_path / name))[0] == 0
    assert len(read_pdn((tmp_path / name).read_text())) == 4


def test_games_that_give_no_records(capsys, tmp_path: Path) -> None:
    path = tmp_path / "x.pdn"
    path.write_text("1. c3-d4 *\n")
    status, _, err = run(capsys, "pdn", str(path), "--records", str(tmp_path / "r.npz"))
    assert status == 2 and "no game can become training records: 1 without a result" in err
    assert not (tmp_path / "r.npz").exists()


def test_a_long_list_shows_what_there_is_to_report(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.pdn").write_text("1. c3-d4 *\n" * 150 + "1. c3-d4 d6-e5\n")
    status, out, _ = run(capsys, "pdn", "x.pdn")
    assert status == 0 and "151 of 151 games" in out and out.count("x.pdn") == 1 and "no result" in out


def test_texts_of_files_cannot_steer_the_terminal(capsys, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    path = Path("evil\x1b[2J.pdn")
    escape = "\x1b[2J\x9b31m\u202e\x1b]0;owned\x07"
    path.write_text(
        f'[White "Ana{escape}"]\n[Black "[red]Rui"]\n[Result "{escape}"]\n[GameType "{escape}"]\n\n'
        f'1. c3-d4 {{{escape}}} d6-c5 *\n\n[Event {escape[:5]}]\n[Black "x"]\n\n1. c3-{escape} *\n'
    )
    output = tmp_path / "again.pdn"
    status, out, err = run(capsys, "pdn", str(path), "--output", str(output))
    assert status == 2 and "Ana" in out and "[red]Rui" in out
    for text in (out, err, output.read_text()):
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        assert "\\x1b" in text
    assert read_pdn(output.read_text())[0].tags["White"].endswith("\\x1b]0;owned\\x07")
    openings = tmp_path / "openings.txt"
    openings.write_text(f"{escape}\n")
    status, out, err = run(capsys, "match", "random", "random", "--games", "2", "--openings", str(openings))
    assert status == 2 and all(letter.isprintable() or letter == "\n" for letter in out + err)
