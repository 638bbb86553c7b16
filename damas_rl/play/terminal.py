"""A game in the terminal; works as well with piped input and without colours."""

import math
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from damas_env import render
from damas_env.errors import shown
from damas_env.game import Game
from damas_env.notation import Move, PdnGame, parse_move, write_pdn
from damas_env.termination import Outcome, Termination
from damas_rl.analysis import look_at, review
from damas_rl.console import Console
from damas_rl.files import atomic_write, why
from damas_rl.moves import move_of
from damas_rl.play.draw_offers import refusal, too_early
from damas_rl.play.languages import ENGLISH, PORTUGUESE, said_in
from damas_rl.play.levels import ADVISER, LEVELS
from damas_rl.play.lines import signed, spell_line
from damas_rl.play.printed import SIDES, game_lines, position_lines
from damas_rl.play.ratings import counts, rated
from damas_rl.play.table import OTHER, PERSON, RequestError, Table
from damas_rl.play.web.store import Store, StoreError
from damas_rl.players import Choice, Player, strong_spec

_ANALYST_MS = 500
"""For each position that is analysed, as in ``damas analyse``."""

_ENGLISH_HELP = (
    ("a move", "c3-d4, 22-18, or its number in the list; a capture as a3xc5, full path where needed"),
    ("hint", "what the strongest player would do"),
    ("undo", "take back your last move and the reply"),
    ("analyse", "every move of this position with its value"),
    ("review", "the game so far, with the moves that threw a result away"),
    ("moves", "show board and legal moves again"),
    ("flip", "turn the board"),
    ("fen", "print the position"),
    ("save FILE", "write the game as PDN"),
    ("draw", "offer a draw; your opponent takes it late in the game, unless it expects more"),
    ("resign", "give the game up"),
    ("rematch", "once more with the colours swapped, when the game is over"),
    ("help", "this list"),
    ("quit", "leave"),
)
_PORTUGUESE_HELP = (
    ("um lance", "c3-d4, 22-18, ou seu número na lista; uma captura como a3xc5, com o caminho onde for preciso"),
    ("dica", "o que o jogador mais forte faria"),
    ("desfazer", "volta atrás o seu último lance e a resposta"),
    ("analisar", "cada lance desta posição com seu valor"),
    ("rever", "o jogo até aqui, com os lances que puseram o resultado a perder"),
    ("lances", "mostra de novo o tabuleiro e os lances legais"),
    ("girar", "gira o tabuleiro"),
    ("fen", "escreve a posição"),
    ("salvar ARQUIVO", "grava o jogo em PDN"),
    ("empate", "propõe empate; seu adversário aceita no fim da partida, se não espera mais que isso"),
    ("desistir", "entrega o jogo"),
    ("revanche", "mais uma com as cores trocadas, quando o jogo acaba"),
    ("ajuda", "esta lista"),
    ("sair", "termina"),
)

_IN_ENGLISH = {
    theirs.split()[0]: ours.split()[0]
    for (ours, _), (theirs, _) in zip(_ENGLISH_HELP[1:], _PORTUGUESE_HELP[1:], strict=True)
}
"""Commands in Portuguese; they are understood in both languages."""


class TerminalGame:
    """One game after the other: a person against a player, two persons at one screen, or two players to watch.

    Args:
        table: the game, with its seats and clock. Seats are ``PERSON`` or names that ``players`` knows.
        players: the player of a seat, of ``ADVISER`` (who gives hints) and of the spec of an analyst.
        console: where everything is shown and read.
        language: of all that is said.
        games: file with the rating of the person, which the page keeps too; None = no game is rated.
    """

    def __init__(
        self,
        table: Table,
        players: Callable[[str], Player],
        console: Console,
        language: str = ENGLISH,
        games: Path | None = None,
    ) -> None:
        self.table, self._games = table, games
        self._players, self._console, self._language = players, console, language
        self._flip = self._alone() == "B"
        self._saved: Path | None = None
        self._saved_moves: list[Move] = []
        self._commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "undo": self._undo,
            "analyse": self._analyse,
            "review": self._review,
            "moves": self._show,
            "flip": self._turn,
            "fen": lambda: self._print(self.game.fen()),
            "draw": self._offer_draw,
            "resign": lambda: self._end(self.table.resign),
            "rematch": self._rematch,
            "help": self._help,
        }

    @property
    def game(self) -> Game:
        """Position and moves."""
        return self.table.game

    def run(self) -> None:
        """Plays until the person leaves, the input ends or Ctrl-C is pressed."""
        self._introduce()
        try:
            self._advance()
            while self._command(self._read()):
                pass
        except (EOFError, KeyboardInterrupt) as end:
            self._console.print()
            self._say("End of input." if isinstance(end, EOFError) else "Stopped.")
        self._farewell()

    def _read(self) -> str:
        # Not the console's own input(): with this one, line editing knows how long the prompt is.
        line = input(self._prompt()).strip()
        if not sys.stdin.isatty():
            self._console.print(line, markup=False, highlight=False)
        return line

    def _alone(self) -> str | None:
        """The side of the only person, None if there are two or none."""
        persons = [side for side in "WB" if self.table.seats[side] == PERSON]
        return persons[0] if len(persons) == 1 else None

    def _side(self) -> str:
        """The side that a command speaks for."""
        return self._alone() or self.game.color

    def _introduce(self) -> None:
        alone = self._alone()
        if self.table.machines:
            self._say(f"White is {self._described('W')}, Black is {self._described('B')}. Ctrl-C ends the game.")
            return
        who = f"You play {SIDES[alone]} against {self._described(OTHER[alone])}." if alone else "Two people play here."
        self._print(f"{self._said(who)} {self._said('Type a move, or help.')}")

    def _described(self, side: str) -> str:
        """Who plays a side that no person plays, such as ``club (alphabeta:depth=4)``."""
        seat = self.table.seats[side]
        name = self._players(seat).name
        return escape(seat if name == seat else f"{seat} ({name})")

    def _command(self, line: str) -> bool:
        """Does what a line asks for; False if it asks to leave."""
        word, _, rest = line.partition(" ")
        word = _IN_ENGLISH.get(word.lower(), word.lower())
        if word in ("quit", "exit"):
            return False
        self._look_at_clock()
        if word == "save":
            self._save(rest.strip())
        elif word in self._commands and rest:
            self._warn(f"Nothing can follow {line.split()[0]}.")
        elif word in self._commands:
            self._commands[word]()
        elif line:
            self._move(line)
        return True

    def _look_at_clock(self) -> None:
        """Ends the game if the line that was just typed has come too late."""
        if not self.table.outcome():
            self.table.flag(time.time())
            if self.table.outcome():
                self._show()

    def _move(self, text: str) -> None:
        """Plays the person's move and the reply."""
        if self.table.outcome():
            self._warn("The game is over: undo, rematch, review, save FILE or quit.")
            return
        legal = self.game.legal_moves()
        try:
            numbered = text.isascii() and text.isdigit() and 1 <= int(text) <= len(legal)
            move = legal[int(text) - 1] if numbered else parse_move(text, self.game.positions)
        except ValueError as error:
            self._warn(f"{self._said(str(error))}. {self._said('Type help for the commands.')}")
            return
        self.table.move(move.action, time.time())
        self._advance()

    def _advance(self) -> None:
        """Lets players move until it is a person's turn, then shows where the game stands."""
        while seat := self.table.thinker:
            choice = self._ask(self._players(seat), f"{escape(seat)} is thinking")
            self.table.flag(time.time())
            if self.table.outcome():
                break
            move = move_of(self.game.positions, int(choice.actions[0]))
            self._say(f"{SIDES[self.game.color]} plays [bold]{self._spell(move)}[/bold].")
            self.table.move(move.action, time.time())
            if self.table.thinker:
                self._show_board()
        self._show()

    def _ask(self, player: Player, doing: str) -> Choice:
        with self._thinking(doing):
            return player.choose(self.game.positions)

    def _thinking(self, doing: str) -> AbstractContextManager[object]:
        """Tells on a terminal what takes time."""
        return self._console.status(f"{self._said(doing)} ...") if self._console.is_terminal else nullcontext()

    def _show_board(self) -> None:
        """Prints the board and what tells the end: draw counters and clock."""
        last = self.game.moves[-1] if self.game.moves else None
        board = render.text(self.game.positions, flip=self._flip, color=self._console.colored, last_move=last)
        self._console.print(Text.from_ansi(board), soft_wrap=True)
        for line in self._draw_counters():
            self._print(f"[yellow]{self._said(line)}[/yellow]")
        if self.table.clock:
            self._say(f"Clock: White {self._time_left('W')}, Black {self._time_left('B')}")

    def _show(self) -> None:
        """Prints the board, and the legal moves or the end of the game."""
        self._show_board()
        if outcome := self.table.outcome():
            self._print(f"[bold]{self._ending(outcome)}[/bold]")
            self._rate()
            return
        legal = self.game.legal_moves()
        if legal[0].captures:
            self._say("You must capture.")
        table = Grid.grid(padding=(0, 3))
        entries = [f"[dim]{number:2}[/dim]  {self._spell(move)}" for number, move in enumerate(legal, 1)]
        columns = max(1, min(4, self._console.width // (max(len(self._spell(move)) for move in legal) + 8)))
        for start in range(0, len(entries), columns):
            table.add_row(*entries[start : start + columns])
        self._console.print(table)

    def _rate(self) -> None:
        """Lets a game that has ended change the rating of the person, and tells it."""
        elo = next((level.elo for level in LEVELS if level.id == self.table.opponent), None)
        if self._games is None or elo is None or not counts(self.table):
            return
        try:
            with closing(Store(self._games)) as store:  # only now, so that the page can be used meanwhile
                value, number = rated(self.table, elo, store.rating())
                store.keep_rating(value, number)
        except (StoreError, sqlite3.Error) as error:
            self.table.gain = None
            self._warn(f"The game is not rated: {error}")
            return
        self._say(f"Your rating: {value:.0f} ({self.table.gain:+.0f}), rated games: {number}.")

    def _draw_counters(self) -> list[str]:
        """How near the draws are: counters that run, and a repeated position."""
        lines = [
            f"{count['plies']} of {count['limit']} {name.replace('_', '-')} plies"
            for name, count in self.game.counters().items()
            if count["plies"]
        ]
        repeated = self.game.repetitions()
        if repeated["count"] > 1:
            limit = f" of {repeated['limit']}" if repeated["limit"] else ""
            lines.append(f"occurrence {repeated['count']}{limit} of this position")
        return lines

    def _time_left(self, side: str) -> str:
        """What the clock shows for a side, such as ``4:57 + 3 × 30 s``."""
        assert self.table.clock is not None
        shown = self.table.clock.view(time.time())
        left, period = shown["sides"][side], shown["control"]["period"]
        main, periods = math.ceil(left["main"]), left["periods"]
        if not main and periods:
            which = "last period" if periods == 1 else f"{periods} periods"
            return self._said(f"{math.ceil(left['period'])} s, {which}")
        return f"{main // 60}:{main % 60:02}" + (f" + {periods} × {period} s" if periods else "")

    def _ending(self, outcome: Outcome) -> str:
        """How the game has ended, in one sentence."""
        winner = SIDES.get(outcome.winner or "", "")
        loser = "Black" if winner == "White" else "White"
        counters = self.game.counters().values()
        full = max((count["plies"] for count in counters if count["plies"] >= count["limit"]), default=0)
        reasons = {
            Termination.NO_PIECES: f"{winner} wins: {loser} has no piece left.",
            Termination.BLOCKED: f"{winner} wins: {loser} has no legal move.",
            Termination.RESIGNATION: f"{winner} wins: {loser} resigns.",
            Termination.TIME: f"{winner} wins: {loser}'s time is over.",
            Termination.AGREEMENT: "Draw by agreement.",
            Termination.REPETITION: f"Draw: the position has occurred {self.game.rules.repetition} times.",
            Termination.NO_PROGRESS: f"Draw: {full} plies without progress.",
            Termination.ENDING: f"Draw: {full} plies in an ending that is drawn by rule.",
            Termination.PLY_CAP_DRAW: f"Draw: the game has lasted {self.game.ply} plies.",
            Termination.PLY_CAP: f"Stopped without a result: the game has lasted {self.game.ply} plies.",
        }
        verdict = self._said(reasons[outcome.termination])
        alone = self._alone()
        if not outcome.winner or not alone:
            return verdict
        return f"{verdict} {self._said('Well played!' if outcome.winner == alone else 'Better luck next time.')}"

    def _spell(self, move: Move) -> str:
        """A legal move in both notations."""
        return f"{self.game.san(move, 'algebraic')} ({self.game.san(move)})"

    def _prompt(self) -> str:
        if self.table.outcome():
            return f"{self._said('Game over (undo, rematch, review, save FILE, quit)')}> "
        side = self.game.color
        left = f" ({self._time_left(side)})" if self.table.clock else ""
        return f"{self._said(f'{SIDES[side]}, move {self.game.ply // 2 + 1}')}{left}> "

    def _hint(self) -> None:
        if self.table.outcome():
            self._warn("The game is over, there is nothing to advise.")
            return
        self.table.aided = True
        choice = self._ask(self._players(ADVISER), "looking for a hint")
        move = move_of(self.game.positions, int(choice.actions[0]))
        self._say(f"Hint: [bold]{self._spell(move)}[/bold], value {signed(choice.values[0])} for you (-1 to 1).")
        if after := spell_line(self.game.positions, choice.pvs[0][:6], "algebraic")[1:]:
            self._say(f"Then {' '.join(after)}.")

    def _analyst(self) -> Player:
        return self._players(strong_spec(self.game.rules, _ANALYST_MS))

    def _analyse(self) -> None:
        if self.table.outcome():
            self._warn("The game is over: review looks at its moves.")
            return
        self.table.aided = True
        with self._thinking("analysing"):
            view = look_at(self.game.positions, self._analyst(), self.game.rules.notation)
        self._console.print(*position_lines(self.game.color, view, self._said), sep="\n")

    def _review(self) -> None:
        if not self.game.moves:
            self._warn("There is no move to look at yet.")
            return
        self.table.aided |= self.table.outcome() is None
        with self._thinking("looking at the moves"):
            view = review(self._pdn(), self._analyst())
        self._console.print(*game_lines(view, said=self._said), sep="\n")

    def _undo(self) -> None:
        """Back to the person's previous turn."""
        try:
            self.table.undo("all", time.time())
        except RequestError as error:
            self._warn(str(error))
            return
        self._show()

    def _turn(self) -> None:
        self._flip = not self._flip
        self._show()

    def _offer_draw(self) -> None:
        side = self._side()
        try:
            self.table.make_offer("draw", side)
        except RequestError as error:
            self._warn(str(error))
            return
        self.table.offer = None  # answered at once
        other = self.table.seats[OTHER[side]]
        if other != PERSON and (reason := self._why_no_draw(other)):
            self._say(reason)
            return
        self._end(lambda side, now: self.table.agree(now))

    def _why_no_draw(self, opponent: str) -> str | None:
        """Why the opponent declines, None if it takes the draw."""
        if reason := too_early(self.game):
            return reason
        choice = self._ask(self._players(opponent), f"{escape(opponent)} is thinking")
        return refusal(float(choice.values[0]))

    def _end(self, end: Callable[[str, float], None]) -> None:
        """Ends the game, for the person who types."""
        try:
            end(self._side(), time.time())
        except RequestError as error:
            self._warn(str(error))
            return
        self._show()

    def _rematch(self) -> None:
        if not self.table.outcome():
            self._warn("The game goes on: resign first, or offer a draw.")
            return
        self._tell_moves()
        self.table = self.table.rematch()
        self._flip = self._alone() == "B"
        self._saved, self._saved_moves = None, []
        self._introduce()
        self._advance()

    def _help(self) -> None:
        table = Grid.grid(padding=(0, 3))
        for command, meaning in _PORTUGUESE_HELP if self._language == PORTUGUESE else _ENGLISH_HELP:
            table.add_row(f"[bold]{command}[/bold]", meaning)
        self._console.print(table)

    def _save(self, name: str) -> None:
        if not name:
            self._warn("Say where: save FILE.")
            return
        try:
            path = Path(name).expanduser()
            taken = path.exists() and path != self._saved
        except (OSError, RuntimeError):  # too long a name, no such user
            self._warn(f"{shown(name)} is no name for a file: choose another one.")
            return
        if taken:
            self._warn(f"{path} is there already: choose another name.")
            return
        try:
            atomic_write(path, [write_pdn([self._pdn()]).encode()])
        except (OSError, ValueError) as error:
            self._warn(f"{shown(name)} could not be written: {why(error)}.")
            return
        self._saved, self._saved_moves = path, list(self.game.moves)
        self._say(f"The game is in {escape(str(path))}.")

    def _pdn(self) -> PdnGame:
        person = self._said("Person" if self._alone() is None else "You")
        return self.table.pdn_game(
            {side: person if seat == PERSON else seat for side, seat in self.table.seats.items()}, "damas play"
        )

    def _farewell(self) -> None:
        self._tell_moves()
        self._say("Goodbye.")

    def _tell_moves(self) -> None:
        """Prints the moves of a game that was not saved, so that nothing is lost."""
        if self.game.moves and self.game.moves != self._saved_moves:
            moves = write_pdn([self.game.pdn({})])
            self._say("The moves were: " + " ".join(moves.split("\n\n", 1)[1].removesuffix("*\n").split()))

    def _said(self, text: str) -> str:
        """A sentence in the language of the person."""
        return said_in(self._language, text)

    def _say(self, sentence: str) -> None:
        self._print(self._said(sentence))

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def _warn(self, sentence: str) -> None:
        self._console.print(Text(self._said(sentence), style="yellow"), soft_wrap=True)
