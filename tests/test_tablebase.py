"""Exact endgames: against their own definition by the rules core, published facts, alpha-beta, and as files."""

import copy
import json
import lzma
import pickle
from pathlib import Path

import numpy as np
import pytest

from damas_env.board import main_diagonal
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl import cli
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.transpositions import WON
from damas_rl.tablebase import Tablebase, TablebaseError, default_path
from damas_rl.tablebase.index import HOLE, Slice, number, place, slices, slot
from damas_rl.tablebase.probe import table_kept

RULES = ("cbd", "russian", "american", "thai", "spanish")


@pytest.fixture(scope="module")
def tables() -> dict[str, Tablebase]:
    return {name: Tablebase.build(get_rules(name), 3) for name in RULES}


@pytest.fixture(scope="module")
def four() -> Tablebase:
    return Tablebase.build(get_rules("cbd"), 4)


def boards_of(table: Tablebase, balance: Slice, ranks: np.ndarray) -> np.ndarray:
    """uint64[n, 4]: placements of a slice."""
    return np.array([place(table.rules.spec, rank, *balance) for rank in ranks], dtype=np.uint64)


def whole(table: Tablebase, balance: Slice) -> tuple[np.ndarray, np.ndarray]:
    """All positions of a slice, and their values."""
    first = int(table.index["offsets"][slot(*balance)])
    values = table.values[first : first + balance.size(table.rules.size)]
    boards = boards_of(table, balance, np.arange(len(values)))
    return boards[values != HOLE], values[values != HOLE]


def best_of_successors(table: Tablebase, boards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(result, plies) of positions from those of their successors, played by the rules core; no code of the builder."""
    positions = Positions.from_boards(table.rules, boards, np.zeros(len(boards), np.int8))
    rows = np.repeat(np.arange(len(positions)), positions.counts)
    columns = np.arange(len(rows)) - np.searchsorted(rows, rows)
    children = positions.take(rows)
    children.step(positions.actions[rows, columns])
    result, plies = table.look_up(children)
    gone = (children.boards[:, 0] | children.boards[:, 1]) == 0
    result[gone], plies[gone] = -1, 0
    assert (plies >= 0).all()
    # Each move as one number for the side that chooses it: quick wins best, slow losses better than quick ones.
    worth = np.where(result < 0, 1000 - plies, np.where(result > 0, plies - 1000, 0)).astype(np.int64)
    best = np.full(len(positions), -1000)  # no move: lost in 0 plies
    np.maximum.at(best, rows, np.where(worth > 0, worth - 1, np.where(worth < 0, worth + 1, 0)))
    return np.sign(best), np.where(best == 0, 0, 1000 - np.abs(best))


@pytest.mark.parametrize("name", RULES)
def test_every_value_is_the_best_of_its_successors(name: str, tables: dict[str, Tablebase]) -> None:
    table, seen = tables[name], 0
    for balance in slices(3):
        boards, values = whole(table, balance)
        result, plies = best_of_successors(table, boards)
        assert (values == np.where(result == 0, 0, plies + 1)).all(), balance
        assert ((result > 0) == ((values > 0) & (values % 2 == 0))).all(), balance
        seen += len(boards)
    assert seen > 190_000


def test_four_pieces(four: Tablebase) -> None:
    rng = np.random.default_rng(4)
    for balance in slices(4):
        boards = boards_of(four, balance, rng.integers(0, balance.size(8), 3000))
        a, b, c, d = boards.T
        boards = boards[((a & b) | (c & d) | ((a | b) & (c | d))) == 0]
        positions = Positions.from_boards(four.rules, boards, np.zeros(len(boards), np.int8))
        result, plies = four.look_up(positions)
        wanted = best_of_successors(four, boards)
        assert (result == wanted[0]).all() and (plies == wanted[1]).all(), balance


@pytest.mark.parametrize("balance", slices(4))
def test_numbers_and_placements_are_inverse(balance: Slice, four: Tablebase) -> None:
    size, spec = balance.size(8), four.rules.spec
    first = int(four.index["offsets"][slot(*balance)])
    for rank in {0, size - 1, *np.random.default_rng(1).integers(0, size, 200).tolist()}:
        boards = place(spec, rank, *balance)
        assert [int(board).bit_count() for board in boards] == list(balance)
        assert number(spec, four.index, *boards) == first + rank


def test_three_kings_against_one(four: Tablebase) -> None:
    """The classical ending: a lone king that holds the main diagonal draws, any other one loses (White to move).

    What happens at once, by a capture or a shot, is apart from that.
    """
    boards, values = whole(four, Slice(0, 3, 0, 1))
    diagonal = np.uint64(main_diagonal(8))
    lone, strong = boards[:, 3] & diagonal != 0, boards[:, 1] & diagonal != 0
    won = (values > 0) & (values % 2 == 0)
    assert (values % 2 == 0).all()  # the strong side, to move, never loses
    assert won[lone & strong].all()
    assert (lone & ~strong).sum() == 16_192 and not won[lone & ~strong & (values > 10)].any()
    assert (values[lone & ~strong] == 0).mean() > 0.66
    assert won[~lone].mean() > 0.99


def test_alphabeta_agrees(four: Tablebase) -> None:
    """Wins and losses within seven plies, before any draw law can strike."""
    rng, chosen = np.random.default_rng(2), []
    for balance in slices(3):
        boards, values = whole(four, balance)
        short = np.flatnonzero((values > 1) & (values <= 8))
        chosen.append(boards[rng.choice(short, min(30, len(short)), replace=False)] if len(short) else boards[:0])
    positions = Positions.from_boards("cbd", np.concatenate(chosen), np.zeros(sum(map(len, chosen)), np.int8))
    positions = positions.take(np.flatnonzero(positions.terminations == 0))
    result, plies = four.look_up(positions)
    found = AlphaBeta("cbd", Limits(depth=9)).search(positions, np.zeros(len(positions), np.uint64))
    assert len(positions) > 100
    assert (found.scores == result * (WON - plies.astype(np.int64))).all()


def test_statistics_are_those_of_the_contract(four: Tablebase) -> None:
    rows = four.statistics()
    assert len(rows) == len(slices(4)) == len({tuple(row.values())[:4] for row in rows})
    for row, balance in zip(rows, slices(4), strict=True):
        if balance.pieces > 3:
            continue
        boards, values = whole(four, balance)
        result, plies = four.look_up(Positions.from_boards("cbd", boards, np.zeros(len(boards), np.int8)))
        assert [row[name] for name in ("positions", "win", "draw", "loss")] == [
            len(values), (result > 0).sum(), (result == 0).sum(), (result < 0).sum()
        ]  # fmt: skip
        assert four.longest(balance) == plies.max()
    (kings,) = (row for row in rows if tuple(row.values())[:4] == (0, 1, 0, 1))
    assert kings["positions"] == 32 * 31


def test_files(tmp_path: Path, tables: dict[str, Tablebase]) -> None:
    table, path = tables["cbd"], tmp_path / "deep" / "three.dtb"
    table.save(path)
    again = Tablebase.load(path, get_rules("dogames"), 3)  # the same moves under other draw laws
    assert again.pieces == 3 and (again.values == table.values).all()
    data = path.read_bytes()
    for cut in (0, 5, data.index(b"\n"), data.index(b"\n") + 1, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(TablebaseError, match=r"damaged|no tablebase"):
            Tablebase.load(path, table.rules, 3)
    path.write_bytes(data[:-40] + bytes(40))
    with pytest.raises(TablebaseError, match="damaged"):
        Tablebase.load(path, table.rules, 3)
    path.write_bytes(data)
    with pytest.raises(TablebaseError, match="is for 'cbd', not for 'russian'"):
        Tablebase.load(path, get_rules("russian"), 3)
    with pytest.raises(TablebaseError, match="is for 3 pieces, not for 4"):
        Tablebase.load(path, table.rules, 4)
    for values in (b"\x02", bytes(10**6), b"\xfe" * 1024):  # too few, too many, impossible ones
        part = lzma.compress(values)
        header = json.loads(data.split(b"\n")[0])
        header["sizes"] = [len(part), *header["sizes"][1:]]
        rest = data[data.index(b"\n") + 1 :][json.loads(data.split(b"\n")[0])["sizes"][0] :]
        path.write_bytes(json.dumps(header).encode() + b"\n" + part + rest)
        with pytest.raises(TablebaseError, match="damaged"):
            Tablebase.load(path, table.rules, 3)
    header = json.loads(data.split(b"\n")[0])  # all values are there, but not the check that follows them
    header["sizes"][-1] -= 24
    path.write_bytes(json.dumps(header).encode() + data[data.index(b"\n") : -24])
    with pytest.raises(TablebaseError, match="damaged"):
        Tablebase.load(path, table.rules, 3)
    for head in (b"[" * 4000, b"\x00" * 5000):
        path.write_bytes(head)
        with pytest.raises(TablebaseError, match="no tablebase"):
            Tablebase.load(path, table.rules, 3)
    with pytest.raises(TablebaseError, match="is no file"):
        Tablebase.load(tmp_path, table.rules, 3)
    with pytest.raises(TablebaseError, match="cannot be read"):
        Tablebase.load(tmp_path / "none.dtb", table.rules, 3)
    with pytest.raises(ValueError, match="is for the rules 'cbd'"):
        table.look_up(Positions.initial("russian"))


def test_a_damaged_cache_is_noticed(tmp_path: Path, tables: dict[str, Tablebase], monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    table, path = tables["cbd"], tmp_path / "three.dtb"
    table.save(path)
    assert (Tablebase.load(path, table.rules, 3).values == table.values).all()
    (cached,) = tmp_path.rglob("*.values")
    whole = cached.read_bytes()
    assert whole[: len(table.values)] == table.values.tobytes()
    for byte in (0, len(table.values) // 2, len(whole) - 1):  # the last byte belongs to the check itself
        cached.write_bytes(whole[:byte] + bytes([whole[byte] ^ 2]) + whole[byte + 1 :])
        assert (Tablebase.load(path, table.rules, 3).values == table.values).all()
        assert cached.read_bytes() == whole
    cached.write_bytes(whole[:-1])
    assert (Tablebase.load(path, table.rules, 3).values == table.values).all()
    before = cached.stat().st_mtime_ns
    Tablebase.load(path, table.rules, 3)
    assert cached.stat().st_mtime_ns == before  # a whole one is left alone


def test_values_that_kernels_may_read(tables: dict[str, Tablebase]) -> None:
    """They are read by their address: others are refused, and a copy of a table does not point into the first one."""
    table = tables["cbd"]
    values = table.values
    for wrong in (values[:-1], values.astype(np.int8), values[::-1], np.repeat(values, 2)[::2], values.reshape(1, -1)):
        with pytest.raises(ValueError, match="in one piece"):
            Tablebase(table.rules, 3, wrong)
    for again in (copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert again.endgames["address"] == again.values.ctypes.data != values.ctypes.data
        assert (again.values == values).all()


def test_positions_outside_the_table(tables: dict[str, Tablebase]) -> None:
    result, plies = tables["cbd"].look_up(Positions.initial("cbd", 2))
    assert (result == 0).all() and (plies == -1).all()


def test_a_damaged_table_does_not_hide_a_larger_one(tmp_path: Path, tables, four, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    rules, probed = four.rules, ["tablebase", "probe", "--fen", "W:WK29,K30:BK11", "--json"]
    three_path, four_path = default_path(rules, 3), default_path(rules, 4)
    tables["cbd"].save(three_path)
    three_path.write_bytes(three_path.read_bytes()[:-9])
    assert cli.main(probed) == 2
    assert f"{three_path.name} is damaged; build it again" in capsys.readouterr().err
    four.save(four_path)
    assert cli.main(probed) == 0
    assert json.loads(capsys.readouterr().out)["plies"] == 1
    table = table_kept(rules, 2)
    assert table is not None and table.pieces == 4
    four_path.write_bytes(b"nothing")
    assert cli.main(probed) == 2
    assert three_path.name in capsys.readouterr().err


def test_commands(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert cli.main(["tablebase", "stats", "--pieces", "3"]) == 2
    assert "damas tablebase build --rules cbd --pieces 3" in capsys.readouterr().err
    assert cli.main(["tablebase", "build", "--pieces", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(default_path(get_rules("cbd"), 3))
    assert cli.main(["tablebase", "stats", "--pieces", "3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"white_men": 0, "white_kings": 1, "black_men": 0, "black_kings": 1, "positions": 992} | rows[0] == rows[0]
    assert cli.main(["tablebase", "probe", "--fen", "W:WK29,K30:BK11", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["plies"]) == (1, 1)
    assert found["moves"] == [{"pdn": move, "result": 1, "plies": 1} for move in ("29x8", "29x4")]

    def interrupt(*_: object) -> Tablebase:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(Tablebase, "build", interrupt)
        assert cli.main(["tablebase", "build", "--pieces", "3"]) == 130
    assert "interrupted: the same command goes on from" in capsys.readouterr().err
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null")
    assert cli.main(["tablebase", "build", "--pieces", "3"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    for wrong in (
        ["build", "--pieces", "7"],
        ["stats", "--pieces", "1"],
        ["probe"],
        ["probe", "--fen", "W:W1:B"],
        ["probe", "--fen", "W:WK3:B"],
    ):
        assert cli.main(["tablebase", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
