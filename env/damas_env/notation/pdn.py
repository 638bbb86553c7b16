"""PDN files: the games of a text, replayed, with a report for each."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from damas_env.errors import FenError, IllegalMoveError, NotationError, PdnError, quoted
from damas_env.notation.fen import format_fen, parse_fen
from damas_env.notation.game_types import (
    WINNER_OF,
    GameType,
    capture_separator,
    differences,
    format_result,
    note_on,
    parse_game_type,
    rules_of,
)
from damas_env.notation.moves import Move, parse_move
from damas_env.notation.pdn_text import Item, RawGame, split_games
from damas_env.position import Positions
from damas_env.presets import DEFAULT_RULES, RULE_SETS
from damas_env.rules import RuleSet
from damas_env.termination import Outcome, Termination

_SHOWN = 80


@dataclass(frozen=True)
class PdnIssue:
    """Where and why a game of a file cannot be followed.

    Attributes:
        line: line of the file, from 1.
        ply: the ply that could not be played, from 1; 0 if the game could not even be set up.
        text: what stands there.
        reason: one sentence.
    """

    line: int
    ply: int
    text: str
    reason: str


@dataclass
class PdnGame:
    """One game, read from a PDN file or to be written to one.

    Attributes:
        rules: the rule set.
        moves: the moves, as far as they are legal.
        tags: header of the file, ``Result``, ``FEN``, ``SetUp``, ``GameType`` and ``RuleSet`` included when read; when
            written, those come from the other fields.
        result: as in the file (``"1-0"``, ``"2-0"``, ``"*"``, ...).
        fen: where the game starts, None = the initial position.
        line: first line of the game in the file.
        numbering: how its squares were read: ``"algebraic"``, or the corner of square 1
            (``squares.CORNERS``).
        final_fen: position after the last legal move.
        outcome: how the game stands after the last legal move under the rules, None if it could go on.
        error: why it could not be followed to the end, None if all is legal.
        notes: what else is remarkable, or was read although it is not as it should be, one sentence each.
        remarks: comments on moves by ply, from 0; they are written, and passed over when a file is read.
    """

    rules: RuleSet
    moves: list[Move] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    result: str = "*"
    fen: str | None = None
    line: int = 1
    numbering: str = "algebraic"
    final_fen: str = ""
    outcome: Outcome | None = None
    error: PdnIssue | None = None
    notes: list[str] = field(default_factory=list)
    remarks: dict[int, str] = field(default_factory=dict)


def result_of(outcome: Outcome | None, rules: RuleSet) -> str:
    """The PDN result of an outcome in the convention of the rule set; ``"*"`` if the game is undecided."""
    if outcome is None or outcome.termination == Termination.PLY_CAP:
        return "*"
    return format_result(outcome.winner, rules)


def read_pdn(
    text: str, rules: RuleSet | None = None, progress: Callable[[int, int], None] | None = None
) -> list[PdnGame]:
    """Reads and replays every game of a PDN text.

    A game that cannot be followed keeps its legal moves and says in ``error`` where and why it stops. Squares
    written as numbers are read as the GameType tag says: the long form names the corner of square 1, without
    it the rule set's own numbering is meant. Where that reading is illegal and the other usual one (from a1,
    or the rule set's own) gets to the end, the other one is taken and noted; likewise for the side that begins.
    Draw laws do not stop a game here, since players may go on.

    Args:
        text: the file, see ``pdn_text.decode``.
        rules: rule set of all games; None = what the header of each asks for (see ``game_types.rules_of``).
        progress: called with (games read, games in all).
    """
    raw_games = split_games(text)
    games = []
    for raw in raw_games:
        games.append(_read_game(raw, rules))
        if progress is not None:
            progress(len(games), len(raw_games))
    return games


@dataclass(frozen=True)
class _Reading:
    """One way to read a game: corner of square 1 (None = there are no numbers), colour that begins."""

    corner: str | None
    first: int


def _read_game(raw: RawGame, rules: RuleSet | None) -> PdnGame:
    if rules is None:
        try:
            rules = rules_of(raw.tags)
        except PdnError as error:
            return _unread(raw, RULE_SETS[DEFAULT_RULES], PdnIssue(raw.line, 0, "", str(error)))
    tag = raw.tags.get("GameType")
    stated = parse_game_type(tag) if tag is not None else None
    readings = _readings(raw, stated, rules)
    games = []
    for reading in readings:
        games.append(_replay(raw, rules, reading))
        if games[-1].error is None:
            break
    best = next((game for game in games if game.error is None), max(games, key=lambda game: len(game.moves)))
    used = readings[games.index(best)]
    notes = list(raw.notes)
    if tag is not None:
        notes += differences(stated, rules) if stated else [note_on(tag)]
    if used.first != rules.first_color:
        notes.append(f"{_SIDES[used.first]} begins as the GameType tag says, not as under the rules {rules.name!r}")
    elif used.first != readings[0].first:
        other = _SIDES[readings[0].first]
        notes.append(f"{_SIDES[used.first]} was taken to begin, since the moves are not legal if {other} does")
    if used.corner != readings[0].corner:
        notes.append(
            f"square 1 was taken to be {_plain(used.corner)}, since the moves are not legal with "
            f"{_plain(readings[0].corner)}"
        )
    best.notes[:0] = notes
    return best


_SIDES = ("White", "Black")


def _plain(corner: str | None) -> str:
    return (corner or "").replace("_", " ")


def _unread(raw: RawGame, rules: RuleSet, error: PdnIssue | None = None) -> PdnGame:
    """The game before its first move."""
    tag_result = _tagged_result(raw)
    result = tag_result if raw.result in ("", "*") and tag_result else raw.result or "*"
    return PdnGame(rules, tags=dict(raw.tags), result=result, line=raw.line, error=error)


def _tagged_result(raw: RawGame) -> str:
    """The Result tag, without blanks where it is a usual result."""
    tag = raw.tags.get("Result", "").strip()
    bare = "".join(tag.split()).replace("\u00bd", "1/2")
    return bare if bare in WINNER_OF or bare == "0-0" else tag


def _readings(raw: RawGame, stated: GameType | None, rules: RuleSet) -> list[_Reading]:
    """The ways in which a game can be read, the one that its file asks for first."""
    corners: list[str | None] = [None]
    written = [item.text for item in raw.items] + [raw.tags.get("FEN", "")]
    if any(re.search(r"(?<![A-Ja-j0-9])[0-9]", text) for text in written):
        named = stated.corner if stated else None
        corners = list(dict.fromkeys((named or rules.square_one, rules.square_one, "bottom_left")))
    firsts = [rules.first_color]
    if stated and stated.first is not None and stated.first != rules.first_color:
        firsts.insert(0, stated.first)
    if "FEN" in raw.tags or (raw.items and raw.items[0].setup):
        firsts = firsts[-1:]
    return [_Reading(corner, first) for corner, first in product(corners, firsts)]


class _Remarks:
    """Slips that the reader lives with: of each kind the number and the first place."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[int, str]] = {}

    def add(self, kind: str, item: Item, number: str = "") -> None:
        count, first = self._kinds.get(kind, (0, f"{quoted(number + item.text, 20)} in line {item.line}"))
        self._kinds[kind] = count + 1, first

    def sentences(self) -> list[str]:
        return [
            f"{kind}: {first}" + (f" and {count - 1} more" if count > 1 else "")
            for kind, (count, first) in self._kinds.items()
        ]


def _replay(raw: RawGame, rules: RuleSet, reading: _Reading) -> PdnGame:
    """Plays a game through in one reading."""
    corner = reading.corner
    game = _unread(raw, rules)
    game.numbering = corner or "algebraic"
    items = list(raw.items)
    fen = Item(raw.tags["FEN"], raw.line, setup=True) if "FEN" in raw.tags else None
    while items and items[0].setup:
        fen = items.pop(0)
    try:
        boards, color = parse_fen(fen.text if fen else None, rules, corner)
    except FenError as error:
        game.error = PdnIssue(fen.line if fen else raw.line, 0, fen.text[:_SHOWN] if fen else "", str(error))
        return game
    if fen is None:
        color = reading.first  # the starting position looks the same to both sides
    if fen or color != rules.first_color:
        game.fen = format_fen(boards, color, rules)
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    numbers = _numbers(items, color, rules.first_color)
    over: str | None = None
    remarks = _Remarks()
    for item in items:
        if over is None and positions.terminations[0] and not positions.lost[0]:
            over = f"{Termination(int(positions.terminations[0])).name} after ply {len(game.moves)}"
        try:
            if item.setup:
                raise PdnError("the position is set up anew in the middle of the game")
            positions = afresh(positions)
            move = _move(item, positions, corner, remarks)
        except NotationError as error:
            game.error = PdnIssue(item.line, len(game.moves) + 1, item.text[:_SHOWN], str(error))
            break
        if item.number and (shift := item.number - numbers[len(game.moves)]):
            remarks.add("a move number does not follow the one before", item, f"{item.number}. ")
            numbers = [number + shift for number in numbers]
        positions.step(np.array([move.action]))
        game.moves.append(move)
    if game.error is None and raw.error:
        game.error = PdnIssue(raw.error.line, len(game.moves) + 1, raw.error.text, raw.error.reason)
    game.final_fen = format_fen(positions.boards[0], int(positions.colors[0]), rules)
    game.outcome = positions.outcome()
    game.notes += remarks.sentences()
    if over:
        game.notes.append(f"the rules {rules.name!r} end the game ({over}), but it goes on")
    game.notes += _result_notes(raw, game)
    return game


def _numbers(items: list[Item], color: int, first_color: int) -> list[int]:
    """The move number that belongs to each ply; the first one in the file is believed."""
    behind = color != first_color
    numbers = [1 + (ply + behind) // 2 for ply in range(len(items))]
    shift = next((item.number - number for item, number in zip(items, numbers, strict=True) if item.number), 0)
    return [number + shift for number in numbers]


def _move(item: Item, positions: Positions, corner: str | None, remarks: _Remarks) -> Move:
    """The move that an item means; its separator may be the wrong one."""
    try:
        move = parse_move(item.text, positions, corner)
    except IllegalMoveError:
        quiet = re.sub("[xX:]", "-", item.text)
        try:
            move = parse_move(quiet, positions, corner)
        except NotationError:
            quiet = item.text
        if quiet == item.text:
            raise
        remarks.add("a move that takes nothing is written like a capture", item)
        return move
    if move.captures and "-" in item.text and capture_separator(positions.rules) != "-":
        remarks.add("a capture is written like a move that takes nothing", item)
    return move


def _result_notes(raw: RawGame, game: PdnGame) -> list[str]:
    """What is wrong with the result of a game."""
    notes, tag = [], _tagged_result(raw)
    if raw.result not in ("", "*") and tag not in ("", "?", "*", raw.result):
        notes.append(f"the Result tag says {tag[:20]!r}, the moves end with {raw.result!r}")
    if not raw.result and not tag and game.moves:
        notes.append("no result stands behind the moves or in the header")
    winner = game.outcome.winner if game.outcome else None
    if winner and WINNER_OF.get(game.result, winner) != winner:
        notes.append(f"the result is {game.result[:20]!r}, but {winner} has won on the board")
    return notes


def afresh(positions: Positions) -> Positions:
    """The same position to be played on from, even if a draw law has ended the game."""
    if positions.terminations[0] and not positions.lost[0]:
        return Positions.from_boards(positions.rules, positions.boards, positions.colors)
    return positions
