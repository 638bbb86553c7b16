"""A game against a player in the terminal; works as well with piped input and without colours."""

import datetime
import sys
from collections.abc import Callable
from pathlib import Path

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from damas_env import render
from damas_env.errors import shown
from damas_env.game import Game
from damas_env.notation import Move, result_of, write_pdn
from damas_env.termination import Outcome, Termination
from damas_rl.console import Console
from damas_rl.files import atomic_write, why
from damas_rl.play.lines import signed, spell_line
from damas_rl.players import Choice, Player

_LEVEL = 0.1
"""Value, for itself, up to which an opponent takes an offered draw."""

_SIDES = {"W": "White", "B": "Black"}
_HELP = (
    ("a move", "c3-d4, 22-18, or its number in the list; a capture as a3xc5, full path where needed"),
    ("hint", "what a strong player would do"),
    ("undo", "take back your last move and the reply"),
    ("moves", "show board and legal moves again"),
    ("flip", "turn the board"),
    ("fen", "print the position"),
    ("save FILE", "write the game as PDN"),
    ("draw", "offer a draw; your opponent takes it unless it expects more"),
    ("resign", "give the game up"),
    ("quit", "leave"),
)


class TerminalGame:
    """One game between a person and a player.

    Args:
        game: where it begins, without moves.
        opponent: who answers.
        adviser: who gives hints.
        color: side of the person, ``"W"`` or ``"B"``.
        console: where everything is shown and read.
    """

    def __init__(self, game: Game, opponent: Player, adviser: Player, color: str, console: Console) -> None:
        self.game, self.opponent, self.adviser, self.color = game, opponent, adviser, color
        self._console = console
        self._flip = color == "B"
        self._ended: Outcome | None = None  # by the players, not by the rules
        self._saved: Path | None = None
        self._saved_moves: list[Move] = []
        self._commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "undo": self._undo,
            "moves": self._show,
            "flip": self._turn,
            "fen": lambda: self._say(self.game.fen()),
            "draw": self._offer_draw,
            "resign": self._resign,
            "help": self._help,
        }

    def run(self) -> None:
        """Plays until the person leaves, the input ends or Ctrl-C is pressed."""
        self._say(f"You play {_SIDES[self.color]} against {escape(self.opponent.name)}. Type a move, or help.")
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

    def outcome(self) -> Outcome | None:
        """How the game has ended, None while it goes on."""
        return self._ended or self.game.outcome()

    def _command(self, line: str) -> bool:
        """Does what a line asks for; False if it asks to leave."""
        word, _, rest = line.partition(" ")
        word = word.lower()
        if word in ("quit", "exit"):
            return False
        if word == "save":
            self._save(rest.strip())
        elif word in self._commands and not rest:
            self._commands[word]()
        elif line:
            self._move(line)
        return True

    def _move(self, text: str) -> None:
        """Plays the person's move and the reply."""
        if self.outcome():
            self._warn("The game is over: undo, save FILE or quit.")
            return
        legal = self.game.legal_moves()
        if text.isascii() and text.isdigit() and 1 <= int(text) <= len(legal):
            self.game.push(legal[int(text) - 1])
        else:
            try:
                self.game.push(text)
            except ValueError as error:
                self._warn(f"{error}. Type help for the commands.")
                return
        self._advance()

    def _advance(self) -> None:
        """Lets the opponent move if it is its turn, then shows where the game stands."""
        if not self.outcome() and self.game.color != self.color:
            choice = self._ask(self.opponent, f"{escape(self.opponent.name)} is thinking")
            move = next(move for move in self.game.legal_moves() if move.action == int(choice.actions[0]))
            spelled = self._spell(move)
            self._say(f"{_SIDES[self.game.color]} plays [bold]{spelled}[/bold].")
            self.game.push(move)
        self._show()

    def _ask(self, player: Player, doing: str) -> Choice:
        if not self._console.is_terminal:
            return player.choose(self.game.positions)
        with self._console.status(f"{doing} ..."):
            return player.choose(self.game.positions)

    def _show(self) -> None:
        """Prints the board, the draw counters, and the legal moves or the end of the game."""
        last = self.game.moves[-1] if self.game.moves else None
        board = render.text(self.game.positions, flip=self._flip, color=self._console.colored, last_move=last)
        self._console.print(Text.from_ansi(board), soft_wrap=True)
        for line in self._draw_counters():
            self._say(f"[yellow]{line}[/yellow]")
        if outcome := self.outcome():
            self._say(f"[bold]{self._ending(outcome)}[/bold]")
            return
        legal = self.game.legal_moves()
        if legal[0].captures:
            self._say("You must capture.")
        table = Table.grid(padding=(0, 3))
        entries = [f"[dim]{number:2}[/dim]  {self._spell(move)}" for number, move in enumerate(legal, 1)]
        columns = max(1, min(4, self._console.width // (max(len(self._spell(move)) for move in legal) + 8)))
        for start in range(0, len(entries), columns):
            table.add_row(*entries[start : start + columns])
        self._console.print(table)

    def _draw_counters(self) -> list[str]:
        """How near the draws are: counters that run, and a repeated position."""
        lines = [
            f"{count['plies']} of {count['limit']} {name.replace('_', '-')} plies"
            for name, count in self.game.counters().items()
            if count["plies"]
        ]
        if earlier := int(self.game.positions.repetitions[0]):
            limit = f" of {self.game.rules.repetition}" if self.game.rules.repetition else ""
            lines.append(f"occurrence {earlier + 1}{limit} of this position")
        return lines

    def _ending(self, outcome: Outcome) -> str:
        """How the game has ended, in one sentence."""
        winner = _SIDES.get(outcome.winner or "", "")
        loser = "Black" if winner == "White" else "White"
        counts = self.game.counters().values()
        full = max((count["plies"] for count in counts if count["plies"] >= count["limit"]), default=0)
        reasons = {
            Termination.NO_PIECES: f"{winner} wins: {loser} has no piece left.",
            Termination.BLOCKED: f"{winner} wins: {loser} has no legal move.",
            Termination.RESIGNATION: f"{winner} wins: {loser} resigns.",
            Termination.AGREEMENT: "Draw by agreement.",
            Termination.REPETITION: f"Draw: the position has occurred {self.game.rules.repetition} times.",
            Termination.NO_PROGRESS: f"Draw: {full} plies without progress.",
            Termination.ENDING: f"Draw: {full} plies in an ending that is drawn by rule.",
            Termination.PLY_CAP_DRAW: f"Draw: the game has lasted {self.game.ply} plies.",
            Termination.PLY_CAP: f"Stopped without a result: the game has lasted {self.game.ply} plies.",
        }
        verdict = reasons[outcome.termination]
        if not outcome.winner:
            return verdict
        return f"{verdict} {'Well played!' if outcome.winner == self.color else 'Better luck next time.'}"

    def _spell(self, move: Move) -> str:
        """A legal move in both notations."""
        return f"{self.game.san(move, 'algebraic')} ({self.game.san(move)})"

    def _prompt(self) -> str:
        if self.outcome():
            return "Game over (undo, save FILE, quit)> "
        return f"{_SIDES[self.color]}, move {self.game.ply // 2 + 1}> "

    def _hint(self) -> None:
        if self.outcome():
            self._warn("The game is over, there is nothing to advise.")
            return
        choice = self._ask(self.adviser, "looking for a hint")
        action = int(choice.actions[0])
        move = next(move for move in self.game.legal_moves() if move.action == action)
        text = f"Hint: [bold]{self._spell(move)}[/bold], value {signed(choice.values[0])} for you (-1 to 1)"
        after = spell_line(self.game.positions, choice.pvs[0][:6], "algebraic")[1:]
        self._say(f"{text}, then {' '.join(after)}." if after else f"{text}.")

    def _undo(self) -> None:
        """Back to the person's previous turn."""
        if self._ended:
            self._ended = None
            self._show()
            return
        mine = [ply for ply in range(self.game.ply) if self._to_move(ply) == self.color]
        if not mine:
            self._warn("You have not moved yet, so there is nothing to take back.")
            return
        while self.game.ply > mine[-1]:
            self.game.pop()
        self._show()

    def _to_move(self, ply: int) -> str:
        """Side to move at an earlier ply."""
        same = (self.game.ply - ply) % 2 == 0
        return self.game.color if same else "B" if self.game.color == "W" else "W"

    def _turn(self) -> None:
        self._flip = not self._flip
        self._show()

    def _offer_draw(self) -> None:
        if self.outcome():
            self._warn("The game is over already.")
            return
        if not self.game.rules.draw_by_agreement:
            self._warn(f"The rules {self.game.rules.name} know no draw by agreement.")
            return
        name = escape(self.opponent.name)
        yours = self._ask(self.opponent, f"{name} is thinking").values[0]  # the value for the person, who is to move
        if yours < -_LEVEL:
            self._say(f"{name} declines: it expects more than a draw.")
            return
        self._ended = Outcome(Termination.AGREEMENT, None)
        self._show()

    def _resign(self) -> None:
        if self.outcome():
            self._warn("The game is over already.")
            return
        self._ended = Outcome(Termination.RESIGNATION, "B" if self.color == "W" else "W")
        self._show()

    def _help(self) -> None:
        table = Table.grid(padding=(0, 3))
        for command, meaning in _HELP:
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
        names = {self.color: "You", "B" if self.color == "W" else "W": self.opponent.name}
        tags = {
            "Event": "damas play",
            "Date": datetime.date.today().strftime("%Y.%m.%d"),
            "White": names["W"],
            "Black": names["B"],
        }
        game = self.game.pdn(tags)
        game.result = result_of(self.outcome(), self.game.rules)  # that of a resignation or an agreement too
        try:
            atomic_write(path, [write_pdn([game]).encode()])
        except (OSError, ValueError) as error:
            self._warn(f"{shown(name)} could not be written: {why(error)}.")
            return
        self._saved, self._saved_moves = path, list(self.game.moves)
        self._say(f"The game is in {escape(str(path))}.")

    def _farewell(self) -> None:
        """Says how the game stood, and gives its moves, so that nothing is lost."""
        if self.game.moves and self.game.moves != self._saved_moves:
            moves = write_pdn([self.game.pdn({})])
            self._say("The moves were: " + " ".join(moves.split("\n\n", 1)[1].removesuffix("*\n").split()))
        self._say("Goodbye.")

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def _warn(self, text: str) -> None:
        self._console.print(Text(text, style="yellow"), soft_wrap=True)
