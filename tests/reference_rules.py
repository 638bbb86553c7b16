"""A second, slow implementation of draughts, written from the rule texts alone.

It exists to disagree with the rules core: it shares no code and no data structure with `damas_env`. A board
is a plain dictionary from (file, rank) to a letter, captures are a recursive search over that dictionary,
and every rule is written out as the texts say it, with no thought for speed. Every variant of
`data/variants.json` is supported; draw laws are in `reference_draws.py`.

Squares are (file, rank) pairs, both from 0, as White sees the board: (0, 0) is the corner at White's left
hand. Letters: "w", "b" men, "W", "B" kings. Moves leave this module in square numbers (1-based).
"""

import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parent / "data"
DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))

Square = tuple[int, int]
Pieces = dict[Square, str]


class RefMove(NamedTuple):
    """A move in square numbers; equal tuples are one move, whatever path was taken."""

    frm: int
    to: int
    captures: tuple[int, ...]
    promotes: bool


@dataclass(frozen=True)
class Variant:
    """The movement rules of one draughts system, fields as in `data/variants.json`."""

    name: str
    size: int
    men_rows: int
    mirrored: bool
    square_one: str
    first: str
    men_capture_backward: bool
    men_capture_kings: bool
    flying_kings: bool
    king_lands_adjacent: bool
    remove_at_end: bool
    majority: str
    promotion: str
    initial_fen: str = ""

    @functools.cached_property
    def squares(self) -> list[Square]:
        """The playable squares in the order of their numbers (index = number - 1)."""
        rows = range(self.size - 1, -1, -1)
        playable = [
            (file, rank)
            for rank in rows
            for file in range(self.size)
            if (file + rank) % 2 == (1 if self.mirrored else 0)
        ]
        return playable if self.square_one == "top_left" else playable[::-1]

    @functools.cached_property
    def numbers(self) -> dict[Square, int]:
        """Square -> its number, from 1."""
        return {square: index + 1 for index, square in enumerate(self.squares)}

    @functools.cached_property
    def rays(self) -> dict[Square, list[tuple[int, list[Square]]]]:
        """Square -> for each diagonal direction (its step in ranks, the squares met in that direction)."""
        return {
            (file, rank): [
                (
                    step_rank,
                    [
                        (file + step_file * n, rank + step_rank * n)
                        for n in range(1, self.size)
                        if 0 <= file + step_file * n < self.size and 0 <= rank + step_rank * n < self.size
                    ],
                )
                for step_file, step_rank in DIAGONALS
            ]
            for file, rank in self.squares
        }

    def crowning_rank(self, white: bool) -> int:
        return self.size - 1 if white else 0

    def on_main_diagonal(self, square: Square) -> bool:
        """Whether a square lies on the long diagonal, that between the playable corners."""
        return square[0] == (self.size - 1 - square[1] if self.mirrored else square[1])


def load_variants() -> dict[str, Variant]:
    """All variants of the data file, and the unusual boards that the published perft counts use."""
    data = json.loads((DATA / "variants.json").read_text(encoding="utf-8"))
    variants = {entry["name"]: Variant(**entry) for entry in data["variants"]}
    american = data["variants"][[entry["name"] for entry in data["variants"]].index("american")]
    brazilian, thai = variants["brazilian"].__dict__, variants["thai"].__dict__

    def derive(base: dict, name: str, **changes: object) -> None:
        known = {key: base[key] for key in Variant.__dataclass_fields__}
        variants[name] = Variant(**{**known, "initial_fen": "", "name": name, **changes})

    derive(american, "english", first="white")
    derive(american, "english6", first="white", size=6, men_rows=2)
    derive(brazilian, "international6", size=6, men_rows=2)
    derive(thai, "thai12", men_rows=3, first="white")
    return variants


@dataclass
class State:
    """One position: the pieces on the board and whose turn it is."""

    variant: Variant
    pieces: Pieces
    white: bool

    @classmethod
    def initial(cls, variant: Variant) -> "State":
        """Men on the rows nearest to each side; the side that the rules name moves first."""
        pieces: Pieces = {}
        for file, rank in variant.squares:
            if rank < variant.men_rows:
                pieces[file, rank] = "w"
            elif rank >= variant.size - variant.men_rows:
                pieces[file, rank] = "b"
        return cls(variant, pieces, variant.first == "white")

    @classmethod
    def from_fen(cls, variant: Variant, fen: str) -> "State":
        """Reads a well-formed draughts FEN such as `W:WK23,5:B14`; nothing is checked here."""
        turn, *sides = fen.strip().rstrip(".").split(":")
        pieces: Pieces = {}
        for side in sides:
            for word in filter(None, side[1:].split(",")):
                letter = side[0].upper() if word[0] == "K" else side[0].lower()
                pieces[variant.squares[int(word.lstrip("K")) - 1]] = letter
        return cls(variant, pieces, turn == "W")

    def fen(self) -> str:
        """The position as FEN, squares in ascending order."""
        lists: dict[str, list[str]] = {"W": [], "B": []}
        for number, letter in sorted(self.board().items()):
            lists[letter.upper()].append(("K" if letter.isupper() else "") + str(number))
        return f"{'W' if self.white else 'B'}:W{','.join(lists['W'])}:B{','.join(lists['B'])}"

    def board(self) -> dict[int, str]:
        """Square number -> letter."""
        return {self.variant.numbers[square]: letter for square, letter in self.pieces.items()}

    def rotated(self) -> "State":
        """The same position seen from the other side of the table with the colours exchanged."""
        last = self.variant.size - 1
        swap = {"w": "b", "W": "B", "b": "w", "B": "W"}
        pieces = {(last - file, last - rank): swap[letter] for (file, rank), letter in self.pieces.items()}
        return State(self.variant, pieces, not self.white)

    def count(self, letter: str) -> int:
        return sum(1 for piece in self.pieces.values() if piece == letter)

    # Moves ------------------------------------------------------------------------------------------------

    def legal_moves(self) -> list[RefMove]:
        """Every legal move once. Capturing is compulsory; the majority rule chooses among the captures."""
        return list(dict.fromkeys(move for move, _ in self.paths()))

    def paths(self) -> list[tuple[RefMove, tuple[Square, ...]]]:
        """Legal moves, once for each order in which the same pieces can be taken (none: a quiet move)."""
        captures = [capture for square in self._own_squares() for capture in self._captures_of(square)]
        if captures:
            best = max(rank for rank, _, _ in captures)
            chosen = [(move, order) for rank, move, order in captures if rank == best]
            return list(dict.fromkeys(chosen))
        return [(move, ()) for square in self._own_squares() for move in self._quiet_moves_of(square)]

    def play(self, move: RefMove) -> "State":
        """The position after a legal move."""
        squares = self.variant.squares
        pieces = dict(self.pieces)
        letter = pieces.pop(squares[move.frm - 1])
        for number in move.captures:
            del pieces[squares[number - 1]]
        pieces[squares[move.to - 1]] = letter.upper() if move.promotes else letter
        return State(self.variant, pieces, not self.white)

    def _own_squares(self) -> list[Square]:
        own = "wW" if self.white else "bB"
        return [square for square, letter in self.pieces.items() if letter in own]

    def _quiet_moves_of(self, square: Square) -> Iterator[RefMove]:
        variant = self.variant
        is_king = self.pieces[square].isupper()
        forward = 1 if self.white else -1
        for step_rank, ray in variant.rays[square]:
            if not is_king and step_rank != forward:
                continue
            reach = ray if is_king and variant.flying_kings else ray[:1]
            for target in reach:
                if target in self.pieces:
                    break
                crowned = not is_king and target[1] == variant.crowning_rank(self.white)
                yield RefMove(variant.numbers[square], variant.numbers[target], (), crowned)

    def _captures_of(self, origin: Square) -> Iterator[tuple[tuple, RefMove, tuple[Square, ...]]]:
        """Each complete capture of one piece: (its rank under the majority rule, move, order of victims)."""
        variant = self.variant
        letter = self.pieces[origin]
        others = {square: piece for square, piece in self.pieces.items() if square != origin}
        for target, taken, became_king in self._sequences(others, origin, letter.isupper(), ()):
            at_end = letter.islower() and target[1] == variant.crowning_rank(self.white)
            numbers = tuple(sorted(variant.numbers[square] for square in taken))
            move = RefMove(variant.numbers[origin], variant.numbers[target], numbers, at_end or became_king)
            yield self._rank(letter.isupper(), taken), move, taken

    def _sequences(
        self, others: Pieces, square: Square, is_king: bool, taken: tuple[Square, ...]
    ) -> list[tuple[Square, tuple[Square, ...], bool]]:
        """All ways to go on capturing from `square`: (last square, all victims in order, became a king).

        `others` are the pieces on the board without the moving one: its origin counts as empty.
        """
        variant = self.variant
        found: list[tuple[Square, tuple[Square, ...], bool]] = []
        for victim, landings in self._jumps(others, square, is_king, taken):
            longer: list[tuple[Square, tuple[Square, ...], bool]] = []
            last: list[tuple[Square, tuple[Square, ...], bool]] = []
            for landing in landings:
                crossing = not is_king and landing[1] == variant.crowning_rank(self.white)
                crowned_now = crossing and variant.promotion == "continue"
                last.append((landing, (*taken, victim), crowned_now))
                if crossing and variant.promotion == "stop":
                    continue
                further = self._sequences(others, landing, is_king or crowned_now, (*taken, victim))
                longer += [(end, victims, became or crowned_now) for end, victims, became in further]
            # A capture goes on as long as it can: landing squares that lead on exclude those that do not.
            found += longer or last
        return found

    def _jumps(
        self, others: Pieces, square: Square, is_king: bool, taken: tuple[Square, ...]
    ) -> Iterator[tuple[Square, list[Square]]]:
        """Single jumps from a square: (victim, the squares on which the jump may land)."""
        variant = self.variant
        enemies = "bB" if self.white else "wW"
        forward = 1 if self.white else -1
        far = is_king and variant.flying_kings
        on_board = others
        if taken and not variant.remove_at_end:
            on_board = {place: piece for place, piece in others.items() if place not in taken}
        for step_rank, ray in variant.rays[square]:
            if not is_king and not variant.men_capture_backward and step_rank != forward:
                continue
            occupied = [n for n, place in enumerate(ray) if place in on_board]
            if not occupied or (occupied[0] > 0 and not far):
                continue
            first = occupied[0]
            victim = ray[first]
            piece = on_board[victim]
            if piece not in enemies or victim in taken:
                continue
            if piece.isupper() and not is_king and not variant.men_capture_kings:
                continue
            stop = occupied[1] if len(occupied) > 1 else len(ray)
            landings = ray[first + 1 : stop]
            if not far or variant.king_lands_adjacent:
                landings = landings[:1]
            if landings:
                yield victim, landings

    def _rank(self, by_king: bool, taken: tuple[Square, ...]) -> tuple:
        """What the majority rule compares: of all captures those with the greatest rank are legal."""
        kings = tuple(self.pieces[square].isupper() for square in taken)
        match self.variant.majority:
            case "none":
                return ()
            case "quantity":
                return (len(taken),)
            case "quantity_kings":
                return (len(taken), sum(kings))
            case "king_first":
                return (by_king,)
            case "italian":
                # Most pieces; then by a king; then most kings taken; then the king met soonest.
                return (len(taken), by_king, sum(kings) if by_king else 0, kings if by_king else ())
        raise ValueError(f"unknown majority rule {self.variant.majority!r}")


def perft(state: State, depth: int, *, merge: bool = True) -> int:
    """Leaves of the tree of legal moves; `merge=False` counts each order of capturing as its own move."""
    paths = state.paths()
    moves = list(dict.fromkeys(move for move, _ in paths)) if merge else [move for move, _ in paths]
    if depth == 1:
        return len(moves)
    return sum(perft(state.play(move), depth - 1, merge=merge) for move in moves)
