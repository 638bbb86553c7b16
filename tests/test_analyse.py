"""``damas analyse``: values with the right sign, results thrown away, annotated games that are read back, Ctrl-C."""

import json
from pathlib import Path

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import PdnGame, read_pdn, write_pdn
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.analysis import DECIDED, look_at, review, thrown_away
from damas_rl.cli import main
from damas_rl.players import Choice, MctsPlayer, Player, make_player

CBD = get_rules("cbd")
FAST = "alphabeta:depth=4"


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands speak the language of the system."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


class Material(Player):
    """Plays the first legal move, and values a position by its men."""

    name = "material"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def choose(self, positions: Positions) -> Choice:
        self.batches.append(len(positions))
        counts = np.bitwise_count(positions.boards).astype(float)
        values = np.tanh((counts @ np.array([1.0, 3.0, -1.0, -3.0])) / 2).astype(np.float32)
        actions = positions.actions[:, 0]
        return Choice(actions, values, np.ones(len(positions), np.int64), [[] for _ in actions])


class Network:
    """A stand-in for a network: all moves alike, value by material."""

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        counts = np.bitwise_count(boards).astype(float)
        values = np.tanh((counts @ np.array([1.0, 3.0, -1.0, -3.0])) / 4).astype(np.float32)
        return np.zeros((len(boards), CBD.num_actions), np.float32), values, np.zeros(len(boards), np.float32)


def played(text: str, fen: str | None = None) -> PdnGame:
    game = Game(CBD, fen)
    for move in text.split():
        game.push(move)
    return game.pdn({"White": "Ana", "Black": "Rui"})


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main(["analyse", *argv])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("fen", ["W:W22,26:B18,17,9", "B:W24,16,15:B7,11"])
def test_values_of_moves_belong_to_the_side_that_plays_them(fen: str) -> None:
    """One capture takes one man, another two, so the values differ."""
    positions = Game(CBD, fen).positions
    view = look_at(positions, make_player(FAST, CBD, 0))
    direct = make_player("alphabeta:depth=5", CBD, 0).choose(positions)
    assert len(view.moves) == positions.counts[0]
    assert view.moves[0].value == pytest.approx(max(move.value for move in view.moves))
    assert view.moves[0].value == pytest.approx(float(direct.values[0]), abs=1e-6)
    for move in view.moves:
        assert move.line[0] == move.pdn and move.prior is move.visits is None
        game = Game(CBD, fen)
        for text in move.line:
            game.push(text)


def test_a_move_that_wins_at_once_is_worth_one() -> None:
    view = look_at(Game(CBD, "W:W22,31:B18").positions, Material())
    assert [move.value for move in view.moves] == [1.0] and view.line == ["22x15"]


def test_tree_search_shows_priors_and_visits() -> None:
    positions = Positions.initial(CBD)
    view = look_at(positions, MctsPlayer(CBD, Network(), 60), "algebraic")
    assert sum(move.prior for move in view.moves) == pytest.approx(1.0, abs=1e-5)
    assert 50 <= sum(move.visits for move in view.moves) <= 60
    assert view.moves[0].pdn == view.line[0] and view.moves[0].line == view.line
    assert [move.visits for move in view.moves[1:]] == sorted((move.visits for move in view.moves[1:]), reverse=True)


def test_endgame_tables_have_their_say() -> None:
    view = look_at(Game(CBD, "W:WK1:BK32").positions, make_player(FAST, CBD, 0))
    assert view.table is not None and str(view.table) == "draw"
    view = look_at(Game(CBD, "W:WK15,K30:BK4").positions, make_player(FAST, CBD, 0))
    assert str(view.table) == "win in 3 plies"
    assert {(move.pdn, str(move.table)) for move in view.moves} >= {
        ("15-29", "win in 3 plies"), ("30-21", "draw"), ("30-25", "loss in 2 plies")
    }  # fmt: skip
    assert look_at(Positions.initial(CBD), make_player(FAST, CBD, 0)).table is None


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (0.9, 0.1, "win"), (0.9, -0.9, "win"), (0.1, -0.8, "draw"), (0.0, -1.0, "draw"), (1.0, 0.0, "win"),
        (0.1, 0.1, None), (0.55, 0.45, None), (-0.45, -0.55, None), (-0.6, -1.0, None), (0.9, 0.6, None),
        (0.3, -0.4, None), (-0.9, 0.9, None), (DECIDED, 0.0, "win"), (0.0, -DECIDED, "draw"),
    ],
)  # fmt: skip
def test_what_is_thrown_away(before: float, after: float, lost: str | None) -> None:
    assert thrown_away(before, after) == lost


def test_review_of_a_game() -> None:
    game = played("22-18 9-14 18x9 5x14 23-18 14x23 27x18 10-14")
    view = review(game, make_player(FAST, CBD, 0), "numeric")
    assert [ply.ply for ply in view.plies] == list(range(1, 9))
    assert [ply.color for ply in view.plies] == ["W", "B"] * 4
    assert [ply.pdn for ply in view.plies][:2] == ["22-18", "9-14"]
    for ply, following in zip(view.plies, view.plies[1:], strict=False):
        assert ply.after == -following.before
    assert all(abs(ply.before) < 0.5 for ply in view.plies[:3])


def test_thrown_results_are_marked_and_read_back() -> None:
    for moves, fen, lost in (("30-21 4x22", "W:WK15,K30:BK4", "win"), ("1-19 12x30", "W:WK1,29:BK12,5", "draw")):
        game = played(moves, fen)
        view = review(game, make_player(FAST, CBD, 0))
        assert [ply.lost for ply in view.plies] == [lost, None]
        text = write_pdn([game])
        assert f"$4 {{+{view.plies[0].before:.2f} before" in text
        assert f"throws the {lost} away, better {view.plies[0].best[0]}" in " ".join(text.split())
        (again,) = read_pdn(text)
        assert again.error is None and again.moves == game.moves


def test_remarks_cannot_break_the_file() -> None:
    game = played("22-18 9-14 18x9")
    game.remarks = {0: "$4 a } b { c\nd\x1b[31m", 1: "", 2: "$2"}
    text = write_pdn([game])
    assert "c3-d4 $4 {a ) b ( c d" in text and "$2 *" in text and "\x1b" not in text
    (again,) = read_pdn(text)
    assert again.error is None and again.moves == game.moves


def test_games_that_pass_a_draw_law_over_are_followed() -> None:
    moves = "1-5 32-28 5-1 28-32 " * 3 + "1-5"
    text = '[FEN "W:WK1:BK32"]\n' + moves + " *"
    (game,) = read_pdn(text, CBD)
    assert game.error is None and len(game.moves) == 13
    view = review(game, Material())
    assert len(view.plies) == 13 and all(abs(ply.after) < 0.1 for ply in view.plies)


def test_a_finished_game_has_its_result() -> None:
    game = played("22x15", "W:W22,31:B18")
    (ply,) = review(game, Material()).plies
    assert (ply.after, ply.lost) == (1.0, None)


def test_a_stop_keeps_what_is_done() -> None:
    game = played("22-18 9-14 18x9 5x14 23-18 14x23 27x18 10-14")
    player = Material()
    view = review(game, player, stop=lambda: len(player.batches) >= 2)
    done = sum(player.batches)
    assert 0 < done < 9 and len(view.plies) == done - 1
    assert sorted(game.remarks) == list(range(done - 1))


def test_command_on_a_position(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "W:W21,22,23,31:B1,2,10,12", "--player", FAST, "--json", "--notation", "numeric")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert list(document) == [
        "fen", "rules", "player", "to_move", "value", "nodes", "line", "moves", "table"
    ]  # fmt: skip
    assert len(document["moves"]) == 7 and list(document["moves"][0]) == [
        "action", "pdn", "value", "line", "prior", "visits", "table"
    ]  # fmt: skip
    status, out, err = run(capsys, "initial", "--player", FAST)
    assert (status, err) == (0, "") and "White to move" in out and "c3-d4" in out and "22-18" not in out


def test_command_on_games(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path, output = tmp_path / "games.pdn", tmp_path / "annotated.pdn"
    path.write_text(write_pdn([played("22-18 9-14 18x9"), played("21-17")]))
    status, out, err = run(capsys, str(path), "--player", FAST, "--json", "--pdn", str(output))
    document = json.loads(out)
    assert (status, err, document["complete"]) == (0, "", True)
    assert [len(game["plies"]) for game in document["games"]] == [3, 1]
    first, second = read_pdn(output.read_text())
    assert first.error is second.error is None and first.tags["Annotator"] == f"damas analyse, {FAST}"
    assert output.read_text().count("before") == 4
    status, out, err = run(capsys, str(path), "--player", FAST)
    assert status == 0 and "Ana - Rui" in out and "no result thrown away" in out
    path.write_text("1. c3-d4 d4-e5 *")
    status, out, err = run(capsys, str(path), "--player", FAST)
    assert status == 2 and "game 1 cannot be followed to the end: line 1, ply 2" in err and err.count("\n") == 1


def test_tables_speak_the_language_of_the_person(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "games.pdn"
    path.write_text(write_pdn([played("29-15 10x19", "W:WK29:B10")]))
    monkeypatch.setenv("LC_ALL", "pt_BR.UTF-8")
    position, game = (run(capsys, what, "--player", FAST)[1] for what in ("initial", str(path)))
    for told in ("Jogam as Brancas: ", "posições examinadas", "lance", "valor", "linha"):
        assert told in position, told
    for told in ("nº", "antes", "depois", "observação", "as Brancas põem", "vitória", "melhor", "2 lances, um pôs"):
        assert told in game, told
    for word in ("White", "Black", "move", "value", "before", "ply", "win", "better"):
        assert word not in position + game, word
    assert "White to move" in run(capsys, "initial", "--player", FAST, "--lang", "en")[1]
    assert '"to_move": "W"' in run(capsys, "initial", "--player", FAST, "--json")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such/file.pdn"], "'/no/such/file.pdn' is no file and no position (a FEN begins with W: or B:)"),
        (["w:W21:B3"], "must begin with the side to move, 'W:' or 'B:', not 'w'"),
        (["W:W33:B1"], "FEN"),
        (["W:W:B1"], "there is nothing to analyse"),
        (["initial", "--pdn", "x"], "--pdn belongs to a file of games"),
        (["initial", "--player", "alphabeta"], "needs a limit"),
        (["initial", "--rules", "chess"], "Unknown rule set"),
    ],
)
def test_command_refuses(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2 and out == "" and message in err and err.count("\n") == 1
