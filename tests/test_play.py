"""The terminal game: moves in both notations, all commands, levels, clock, saving, endings, and polite ends."""

import functools
import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from damas_env.game import Game
from damas_env.notation import read_pdn, write_pdn
from damas_env.rules import get_rules
from damas_rl.cli import main
from damas_rl.console import Console
from damas_rl.play import terminal
from damas_rl.play.clocks import Clock, TimeControl
from damas_rl.play.languages import ENGLISH, PORTUGUESE
from damas_rl.play.levels import ADVISER, LEVELS, make_opponent
from damas_rl.play.table import OTHER, PERSON, RequestError, Table, read_position
from damas_rl.play.terminal import TerminalGame
from damas_rl.play.web.store import Store
from damas_rl.players import Player, strong_spec

CBD = get_rules("cbd")
START = Game(CBD)


class Script(io.StringIO):
    """Standard input with given lines; raises KeyboardInterrupt at a line ``^C``."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        line = super().readline(size)
        if line.strip() == "^C":
            raise KeyboardInterrupt
        return line


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def run(
        *lines: str,
        fen: str | None = None,
        color: str = "W",
        opponent: str = "alphabeta:depth=2",
        rules: str = "cbd",
        you: str = PERSON,
        clock: TimeControl | None = None,
        language: str = ENGLISH,
        games: Path | None = None,
    ) -> str:
        output = io.StringIO()
        monkeypatch.setattr(sys, "stdin", Script("".join(f"{line}\n" for line in lines)))
        console = Console(file=output, width=100, force_terminal=False)
        monkeypatch.setattr(sys, "stdout", output)

        @functools.cache
        def player(name: str) -> Player:  # adviser and analyst take less time here
            spec = "alphabeta:depth=4" if name == ADVISER or "ms=" in name else name
            return make_opponent(spec, get_rules(rules), 1)

        table = Table(
            Game(rules, fen), {color: you, OTHER[color]: opponent}, clock=Clock(clock) if clock else None, fen=fen
        )
        game = TerminalGame(table, player, console, language, games)
        game.run()
        run.game = game  # type: ignore[attr-defined]
        return output.getvalue()

    yield run


def test_moves_are_read_in_every_notation(play) -> None:  # type: ignore[no-untyped-def]
    for text in ("22-18", "c3-d4", "c3d4", "cd4", "3"):
        output = play(text, "quit")
        moves = play.game.game.moves
        assert (moves[0].frm, moves[0].to) == (22, 18)
        assert len(moves) == 2
        assert "Black plays" in output
        assert " 3  c3-d4 (22-18)" in output
        assert "The moves were: 1. c3-d4 " in output
        assert output.endswith("Goodbye.\n")


def test_wrong_moves_are_explained_and_change_nothing(play) -> None:  # type: ignore[no-untyped-def]
    output = play("22-10", "hello", "", "99", "undo", "hint please", "quit")
    assert "'22-10' is illegal" in output
    assert "'hello' is not a move" in output
    assert "'99' is not a move" in output
    assert "You have not moved yet" in output
    assert not play.game.game.moves
    assert "The moves were" not in output


def test_undo_goes_back_to_the_own_turn(play) -> None:  # type: ignore[no-untyped-def]
    play("22-18", "undo", "quit")
    assert not play.game.game.moves
    play("22-18", "1", "undo", "quit")
    assert play.game.game.ply == 2
    play("undo", "1", "undo", "quit", color="B")
    assert play.game.game.ply == 1  # White's first move stays
    output = play("1", "undo", "quit", fen="W:W29,18:B14,5")  # undo after the game may be over
    assert play.game.game.fen() == "W:W18,29:B5,14"
    assert output.count("You must capture.") >= 1


def test_the_board_is_turned_for_black(play) -> None:  # type: ignore[no-untyped-def]
    output = play("flip", "quit", color="B")
    assert "You play Black" in output
    first, second = (output.index(files) for files in ("h  g  f", "a  b  c"))
    assert first < second


def test_hint_is_a_legal_move_in_both_notations(play) -> None:  # type: ignore[no-untyped-def]
    output = play("hint", "quit", fen="W:WK29,K30:BK22")
    hint = output.split("Hint: ")[1].split(" (")[0]
    assert hint in {
        Game(CBD, "W:WK29,K30:BK22").san(move, "algebraic") for move in Game(CBD, "W:WK29,K30:BK22").legal_moves()
    }
    assert "value +1.00" in output


def test_resignation_and_its_undo(play) -> None:  # type: ignore[no-untyped-def]
    output = play("resign", "22-18", "undo", "22-18", "quit")
    assert "Black wins: White resigns." in output
    assert "The game is over: undo, rematch, review, save FILE or quit." in output
    assert play.game.game.ply == 2
    assert "White wins: Black resigns." in play("resign", "quit", color="B")


def test_a_draw_is_agreed_only_if_the_opponent_expects_no_more(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "drawn.pdn"
    output = play("draw", "1", f"save {path}", "undo", "1", "quit", fen="W:WK29:BK2")
    assert output.count("Draw by agreement.") == 1 and "The game is over: undo" in output
    (game,) = read_pdn(path.read_text(), CBD)
    assert (game.result, game.moves) == ("1/2-1/2", [])
    assert play.game.game.ply > 0
    worse, better = "W:W21,30:BK1,K2,3,4", "W:WK1,K2,29,30:B5,12"
    output = play("draw", "1", "quit", fen=worse)
    assert "The computer declines the draw: it expects more." in output and play.game.game.ply == 2
    assert "Draw by agreement." in play("draw", "draw", "quit", fen=better)
    output = play("draw", "1", "quit")
    assert "It is too early for a draw: the computer takes one after 20 moves of each side" in output
    assert play.game.game.ply == 2


@pytest.mark.parametrize(("rules", "agreed"), [("ttakji", True), ("dogames", False), ("damasite", False)])
def test_draws_are_agreed_only_where_the_rules_know_them(play, rules: str, agreed: bool) -> None:  # type: ignore[no-untyped-def]
    output = play("draw", "quit", fen="W:W21,22,23,24:B9,10,11,12", rules=rules, opponent="random")
    assert ("Draw by agreement." in output) == agreed == (play.game.table.outcome() is not None)
    assert (f"The rules {rules} know no draw by agreement." in output) == (not agreed)


@pytest.mark.parametrize(
    ("fen", "moves", "sentence"),
    [
        ("W:WK29,K30:BK22", ["1"], "White wins: Black has no piece left. Well played!"),
        ("W:W21,30:B13,9", ["21-17"], ""),
        ("W:WK18,30:B21", ["18-25"], "White wins: Black has no legal move. Well played!"),
        ("B:W21:B17,14,10", [], "Black wins: White has no legal move."),
    ],
)
def test_endings_are_told_in_a_sentence(play, fen: str, moves: list[str], sentence: str) -> None:  # type: ignore[no-untyped-def]
    output = play(*moves, "moves", fen=fen)
    assert sentence in output
    assert "End of input." in output


def test_draw_counters_and_draws_are_shown(play) -> None:  # type: ignore[no-untyped-def]
    shuffle = ["32-28", "28-32"] * 12
    output = play(*shuffle, fen="W:WK32,21:BK1,5,13")
    assert "2 of 40 kings-only plies" in output
    output = play(*(["1"] * 40), fen="W:WK29:BK1")
    assert "of 10 ending plies" in output
    assert "Draw: " in output
    assert play.game.table.outcome().winner is None


@pytest.mark.parametrize(
    ("rules", "fen", "counter", "move", "sentence"),
    [
        ("cbd", "W:WK1,K29,21:BK28,K3,20", "kings_only", "1-5", "Draw: 40 plies without progress."),
        ("russian", "W:WK1,K2,21:BK31,K32", "balance", "21-17", "Draw: 60 plies without progress."),  # a man may move
        ("pool", "W:WK1,K2,K3:BK31", "three_kings", "2-6", "Draw: 26 plies in an ending that is drawn by rule."),
    ],
)
def test_draws_by_a_count_name_that_count(play, rules, fen, counter, move, sentence) -> None:  # type: ignore[no-untyped-def]
    play("quit", rules=rules, fen=fen)
    terminal, game = play.game, play.game.game
    slot = game.rules.counter_names.index(counter)
    game.positions.counters[0, slot] = game.counters()[counter]["limit"] - 1
    game.push(move)
    assert terminal._ending(game.outcome()) == sentence


def test_moves_after_a_save_are_not_lost(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    output = play("1", f"save {tmp_path / 'game.pdn'}", "1", "quit")
    assert "The moves were: 1. " in output and " 2. " in output


def test_save_and_read_again(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "my game.pdn"
    output = play("1", "1", f"save {path}", "1", f"save {path}", "save", "save /no/such/folder/x.pdn", "quit")
    assert output.count(f"The game is in {path}.".replace("\n", "")) == 2
    assert "Say where: save FILE." in output
    assert "could not be written: no such file or directory." in output
    assert "The moves were" not in output
    (game,) = read_pdn(path.read_text(), CBD)
    assert game.error is None
    assert len(game.moves) == 6
    assert game.tags["White"] == "You"
    assert "there already" in play(f"save {path}", "quit")
    (same,) = read_pdn(path.read_text(), CBD)
    assert len(same.moves) == 6

    other = tmp_path / "resigned.pdn"
    play("1", "resign", f"save {other}", "quit", fen="B:W21,31:B1,5", color="B")
    (game,) = read_pdn(other.read_text(), CBD)
    assert (game.fen, game.result) == ("B:W21,31:B1,5", "1-0")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x" * 5000, "is no name for a file"),
        ("~no-such-user-here/x", "is no name for a file"),
        ("a\0b", "could not be written"),
        ("/", "is there already"),
        ("/dev/null", "is there already"),
    ],
)
def test_no_name_of_a_file_ends_the_game(play, name: str, message: str) -> None:  # type: ignore[no-untyped-def]
    output = play("1", f"save {name}", "fen", "quit")
    assert message in output and "W:W" in output and output.endswith("Goodbye.\n")


def test_rematch_swaps_the_colours_and_begins_anew(play) -> None:  # type: ignore[no-untyped-def]
    output = play("rematch", "1", "rematch", "quit", fen="W:WK29,K30:BK22")
    assert "The game goes on" in output
    assert output.index("White wins: Black has no piece left. Well played!") < output.index("You play Black")
    assert "White wins: Black has no piece left. Better luck next time." in output
    assert output.count("The moves were: ") == 2 and play.game.game.ply == 1


def test_only_games_without_help_change_the_rating(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "web.sqlite"
    assert "rating" not in play("resign", "quit", opponent="beginner")  # nobody keeps one
    output = play("resign", "moves", "rematch", "resign", "quit", opponent="beginner", games=path)
    assert output.count("Your rating: 1171 (-29), rated games: 1.") == 1  # 1200 against 800
    assert output.count("Your rating: 1142 (-29), rated games: 2.") == 1
    for helped in (["hint"], ["analyse"], ["1", "undo"], ["1", "review"]):
        assert "rating" not in play(*helped, "resign", "quit", opponent="beginner", games=path), helped
    assert "rating" not in play("resign", "quit", games=path)  # against a player without an Elo
    assert "Seu rating: 1114 (-28), jogos que contam: 3." in play(
        "desistir", "sair", opponent="beginner", games=path, language=PORTUGUESE
    )
    with closing(Store(path)) as store:  # as if damas web were running
        assert "The game is not rated: The games cannot be kept in" in play(
            "resign", "quit", opponent="beginner", games=path
        )
        assert store.rating()[1] == 3


def test_two_people_share_a_screen(play) -> None:  # type: ignore[no-untyped-def]
    output = play("22-18", "9-14", "undo", "hint", "resign", "quit", opponent=PERSON)
    assert "Two people play here." in output and "Black, move 1> " in output and "Hint: " in output
    assert play.game.game.ply == 1
    assert "White wins: Black resigns.\n" in output  # nobody is told that it was well played
    assert "Draw by agreement." in play("draw", "quit", opponent=PERSON)


def test_two_players_can_be_watched(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "watched.pdn"
    output = play(
        "undo", "resign", f"save {path}", "quit", you="amateur", opponent="random", fen="W:W21,22,23,K30:B1,9"
    )
    assert "White is amateur (alphabeta:depth=2, 5% at random), Black is random." in output
    assert "Machines take nothing back." in output and "The game is over." in output
    (game,) = read_pdn(path.read_text(), CBD)
    assert game.result in ("1-0", "0-1", "1/2-1/2") and output.count(" plays ") == len(game.moves)
    assert (game.tags["White"], game.tags["Black"]) == ("amateur", "random")


def test_who_is_out_of_time_loses(play, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    moment = [1000.0]

    def read(game: TerminalGame) -> str:
        line = sys.stdin.readline().strip()
        if not line:
            raise EOFError
        print(game._prompt())
        seconds, _, command = line.rpartition(" ")
        moment[0] += float(seconds or 0)
        return command

    monkeypatch.setattr(terminal.time, "time", lambda: moment[0])
    monkeypatch.setattr(TerminalGame, "_read", read)
    control = TimeControl(60, 2, 10)
    output = play("30 1", "59 1", "5 1", "9 1", "11 1", "1", "resign", color="W", opponent="random", clock=control)
    assert "Clock: White 1:00 + 2 × 10 s, Black 1:00 + 2 × 10 s" in output
    assert "White, move 3 (0:01 + 2 × 10 s)> " in output  # thirty seconds before the first move count for nobody
    assert "White, move 4 (10 s, 2 periods)> " in output
    assert "White, move 5 (10 s, 2 periods)> " in output  # a period is used up by a longer move only
    assert "White, move 6 (10 s, last period)> " in output
    output = play("1", "85 1", "moves", "undo", "quit", opponent="random", clock=control)
    assert "Black wins: White's time is over. Better luck next time." in output
    assert "The game is over: undo" in output
    assert play.game.table.outcome() is None  # taken back


def test_a_position_and_a_game_are_analysed(play) -> None:  # type: ignore[no-untyped-def]
    output = play("review", "analyse", "18x9", "analyse", "review", "quit", fen="W:W29,18:B14,5", opponent="random")
    assert "There is no move to look at yet." in output
    assert "White to move: " in output and "18x9" in output.split("White to move: ")[1]
    reviewed = play("22-17", "review", "quit", fen="W:W22,29:B5,1", opponent="random")
    assert "2 plies, " in reviewed and "You - random" in reviewed


def test_a_game_from_a_file_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Game(CBD)
    for move in ("22-18", "9-13"):
        begun.push(move)
    (tmp_path / "begun.pdn").write_text(write_pdn([begun.pdn({})]))
    monkeypatch.setattr(sys, "stdin", Script(f"save {tmp_path / 'more.pdn'}\nquit\n"))
    assert main(["play", "--pdn", str(tmp_path / "begun.pdn"), "--opponent", "random", "--color", "black"]) == 0
    assert "You play Black against random." in capsys.readouterr().out
    (more,) = read_pdn((tmp_path / "more.pdn").read_text(), CBD)
    assert more.moves[:2] == begun.moves and len(more.moves) == 3


def test_a_game_from_a_file_goes_on_by_its_own_rules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other.pdn").write_text('[GameType "25"]\n\n1. c3-d4 *\n')
    for given, number in (([], "25,"), (["--rules", "cbd"], "26,")):
        path = tmp_path / f"saved-{number}.pdn"
        monkeypatch.setattr(sys, "stdin", Script(f"save {path}\nquit\n"))
        assert main(["play", "--pdn", str(tmp_path / "other.pdn"), "--opponent", "person", *given]) == 0
        assert f'[GameType "{number}' in path.read_text()
    capsys.readouterr()


def test_of_a_file_only_the_first_game_is_read() -> None:
    game, _ = read_position("1. 22-18\n9-13 * 1. 22-17 *\n" + "1. 21-17 9-14 *\n" * 20_000, None)
    assert len(game.moves) == 2
    with pytest.raises(RequestError, match="Too many games begin in line 1"):
        read_position("1. 22-18 " * 20_000, CBD)
    with pytest.raises(RequestError, match="more than 1000 plies"):
        read_position("22-18 " * 20_000, CBD)


def test_a_command_stands_alone(play) -> None:  # type: ignore[no-untyped-def]
    assert "Nothing can follow review." in play("resign", "review x", "quit")
    assert "Nada pode vir depois de rever." in play("resign", "rever x", "sair", language=PORTUGUESE)


def test_everything_is_said_in_portuguese_too(play, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    fen, clock = "W:WK29,K30:BK22", TimeControl(60, 3, 10)
    commands = ("rever", "dica", "22-10", "analisar", "girar", "1", "rever", "revanche", "salvar")
    more = (f"salvar {tmp_path / 'a'}", "1", "dica", "analisar", "lances", "desfazer", "desistir", "ajuda")
    output = play(*commands, *more, "sair", fen=fen, clock=clock, language=PORTUGUESE)
    output += play("empate", "hello", "1", "dica", fen="W:W21,30:BK1,K2,3,4", language=PORTUGUESE)
    for sentence in (
        "Você joga com as Brancas contra alphabeta:depth=2. Digite um lance, ou ajuda.",
        "Relógio: Brancas 1:00 + 3 × 10 s, Pretas",
        "Brancas, lance 1 (1:00 + 3 × 10 s)> ",
        "Ainda não há lance para examinar.",
        "), valor +1.00 para você (-1 a 1).",
        "Jogam as Brancas: +1.00, ",
        "tabela de finais, sem as regras de empate: vitória em 1 lance",
        "A captura é obrigatória.",
        "(a captura é obrigatória); legais: 29x",
        "O computador recusa o empate: espera mais.",
        "As Brancas vencem: as Pretas ficaram sem peças. Muito bem!",
        "1 lance, nenhum pôs o resultado a perder",
        "As Brancas vencem: as Pretas ficaram sem peças. Mais sorte na próxima.",
        "Fim de jogo (desfazer, revanche, rever, salvar ARQUIVO, sair)> ",
        f"O jogo está em {tmp_path / 'a'}.",
        "'hello' não é um lance",
    ):
        assert sentence in output, sentence
    for word in ("White", "Black", "game", "move", "value", "draw", "win", "You", "The", "help"):
        assert not re.search(rf"\b{word}\b", output), word
    assert "hint" not in play("help", "sair", language=PORTUGUESE)
    assert "Hint: " in play("dica", "sair")  # understood in both languages


def test_levels_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert ", ".join(level.id for level in LEVELS[:-1]) + f" or {LEVELS[-1].id};" in told


def test_full_strength_is_the_strongest_player_that_ships() -> None:
    for rules in map(get_rules, ("cbd", "international")):
        assert make_opponent("full", rules, 0).name == strong_spec(rules, 1000)


def test_end_of_input_and_interruption_are_polite(play) -> None:  # type: ignore[no-untyped-def]
    output = play("22-18")
    assert output.rstrip().endswith("Goodbye.")
    assert "End of input." in output
    output = play("22-18", "^C", "22-18")
    assert "Stopped." in output
    assert "The moves were: 1. c3-d4" in output
    assert play.game.game.ply == 2


def test_help_lists_the_commands(play) -> None:  # type: ignore[no-untyped-def]
    output = play("help", "fen", "QUIT")
    for word in ("hint", "undo", "analyse", "review", "flip", "draw", "resign", "rematch", "save FILE", "quit"):
        assert word in output
    assert START.fen() in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--opponent", "alphabeta"], "needs a limit"),
        (["--opponent", "clbu"], "Did you mean 'club'?"),
        (["--watch", "nobody"], "Unknown player 'nobody'"),
        (["--clock", "soon"], "is not a clock such as"),
        (["--clock", "0"], "needs main time or byo-yomi periods"),
        (["--clock", "5+3x0"], "go together"),
        (["--pdn", "no-such-file.pdn"], "cannot read"),
        (["--pdn", "/dev/null"], "'/dev/null' is empty"),
        (["--pdn", "x", "--fen", "W:W21:B1"], "give one of them"),
        (["--color", "red"], "invalid choice"),
        (["--fen", "W:W33:B1"], "FEN"),
        (["--rules", "chess"], "Unknown rule set"),
    ],
)
def test_command_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_command_with_piped_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "damas_rl.cli", "play", "--color", "random", "--seed", "3", "--opponent", "random"],
        input="1\nquit\n", capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.endswith("Goodbye.\n")


def test_who_wants_no_colours_gets_letters() -> None:
    assert Console(force_terminal=True, color_system="truecolor", no_color=False).colored
    assert not Console(force_terminal=True, color_system="truecolor", no_color=True).colored
    assert not Console(force_terminal=False, color_system=None).colored


def test_command_on_a_terminal_has_colours() -> None:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "damas_rl.cli", "play"], stdin=slave, stdout=slave, stderr=slave, env=environment,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    seen = b""

    def read_until(wanted: bytes, seconds: float) -> bool:
        nonlocal seen
        until = time.monotonic() + seconds
        while wanted not in seen and time.monotonic() < until:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    seen += os.read(master, 4096)
                except OSError:  # the other end is closed
                    break
        return wanted in seen

    try:
        assert read_until(b"move 1> ", 120)
        assert b"\x1b[" in seen
        os.write(master, b"quit\n")
        assert read_until(b"Goodbye.", 60)
        read_until(b"nothing more than this", 2)  # takes what is still to come, so that the process can end
        assert process.wait(60) == 0
    finally:
        process.kill()
        os.close(master)
    assert b"Traceback" not in seen
