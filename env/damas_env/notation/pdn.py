"""PDN files: reading with a report for each game, and writing (PDN 3.0)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from damas_env.errors import FenError, NotationError, PdnError
from damas_env.notation.fen import format_fen, parse_fen
from damas_env.notation.moves import NOTATIONS, Move, format_move, legal_moves, parse_move
from damas_env.notation.pdn_text import TAG_NAME, Item, RawGame, split_games
from damas_env.notation.squares import CORNERS
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_env.termination import Outcome, Termination

SEVEN_TAGS = {
    "Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", "Result": "*",
}  # fmt: skip
"""The tags that every written game has, with the values for "unknown"."""

_INTERNATIONAL_RESULTS = {20, 27}
_RESULTS = {"W": ("1-0", "2-0"), "B": ("0-1", "0-2"), None: ("1/2-1/2", "1-1")}
_GAME_TYPE = re.compile(r"([0-9]{1,3})(?:,([WB]),([0-9]{1,2}),([0-9]{1,2}),([ANS])([0-3])(?:,([01]))?)?")
_LINE_LENGTH = 80


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
        tags: header of the file, ``Result``, ``FEN``, ``SetUp`` and ``GameType`` included when read; when
            written, those four come from the other fields.
        result: as in the file (``"1-0"``, ``"2-0"``, ``"*"``, ...).
        fen: where the game starts, None = the initial position.
        line: first line of the game in the file.
        numbering: how its squares were read: ``"algebraic"``, or the corner of square 1
            (``squares.CORNERS``).
        final_fen: position after the last legal move.
        outcome: how the game stands after the last legal move under the rules, None if it could go on.
        error: why it could not be followed to the end, None if all is legal.
        notes: what else is remarkable, one sentence each.
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


def result_of(outcome: Outcome | None, rules: RuleSet) -> str:
    """The PDN result of an outcome in the convention of the rule set; ``"*"`` if the game is undecided."""
    if outcome is None or outcome.termination == Termination.PLY_CAP:
        return "*"
    return _RESULTS[outcome.winner][rules.game_type in _INTERNATIONAL_RESULTS]


def game_type(rules: RuleSet, notation: str) -> str:
    """The long form of the GameType tag: ``"26,W,8,8,A0,0"``."""
    color = "WB"[rules.first_color]
    digit = 0 if notation == "algebraic" else CORNERS.index(rules.square_one)
    digit = 3 - digit if color == "B" else digit
    letter = "A" if notation == "algebraic" else "N"
    return f"{rules.game_type},{color},{rules.size},{rules.size},{letter}{digit},{int(rules.mirrored)}"


def read_pdn(text: str, rules: RuleSet) -> list[PdnGame]:
    """Reads and replays every game of a PDN text.

    A game that cannot be followed keeps its legal moves and says in ``error`` where and why it stops. Squares
    written as numbers are read as the GameType tag says: the long form names the corner of square 1, without
    it the rule set's own numbering is meant. Where that reading is illegal and the other usual one (from a1,
    or the rule set's own) gets to the end, the other one is taken and noted. Draw laws do not stop a game
    here, since players may go on.

    Args:
        text: the file, see ``pdn_text.decode``.
        rules: rule set of all games.
    """
    return [_read_game(raw, rules) for raw in split_games(text)]


def _read_game(raw: RawGame, rules: RuleSet) -> PdnGame:
    stated, notes = _stated_corner(raw.tags.get("GameType"), rules)
    written = [item.text for item in raw.items] + [raw.tags.get("FEN", "")]
    if not any(re.search(r"(?<![A-Ja-j0-9])[0-9]", text) for text in written):
        readings = [_replay(raw, rules, None)]
        readings[0].numbering = "algebraic"
    else:
        corners = dict.fromkeys((stated or rules.square_one, rules.square_one, "bottom_left"))
        readings = []
        for corner in corners:
            readings.append(_replay(raw, rules, corner))
            if readings[-1].error is None or raw.error:
                break
    best = next((r for r in readings if r.error is None), max(readings, key=lambda r: len(r.moves)))
    if best.numbering != readings[0].numbering:
        notes.append(
            f"square 1 was taken to be {best.numbering.replace('_', ' ')}, "
            f"since the moves are not legal with {readings[0].numbering.replace('_', ' ')}"
        )
    best.notes[:0] = notes
    return best


def _stated_corner(tag: str | None, rules: RuleSet) -> tuple[str | None, list[str]]:
    """(corner of square 1 that a GameType tag names, notes on the tag)."""
    if tag is None:
        return None, []
    match = _GAME_TYPE.fullmatch(tag.replace(" ", ""))
    if not match:
        return None, [f"GameType {tag[:40]!r} is not understood"]
    notes = []
    if int(match[1]) != rules.game_type:
        notes.append(f"the file says GameType {match[1]}, the rule set {rules.name!r} is {rules.game_type}")
    if not match[6]:
        return None, notes
    if {int(match[3]), int(match[4])} != {rules.size}:
        notes.append(f"the file says {match[3]}x{match[4]} squares, the rule set {rules.name!r} has {rules.size}")
    digit = int(match[6])
    if match[5] == "A" and digit == 1:
        digit = 0  # the same corner in files from before April 2014
    elif match[2] == "B":
        digit = 3 - digit  # the tag is written as the starting player sees the board
    return CORNERS[digit], notes


def _replay(raw: RawGame, rules: RuleSet, corner: str | None) -> PdnGame:
    """Plays a game through with numbers read from one corner."""
    tag_result = raw.tags.get("Result", "")
    result = tag_result if raw.result in ("", "*") and tag_result else raw.result or "*"
    game = PdnGame(rules, tags=dict(raw.tags), result=result, line=raw.line, numbering=corner or "algebraic")
    if raw.result not in ("", "*") and tag_result not in ("", "?", "*", raw.result):
        game.notes.append(f"the Result tag says {tag_result[:20]!r}, the moves end with {raw.result!r}")
    items = list(raw.items)
    fen = Item(raw.tags["FEN"], raw.line, setup=True) if "FEN" in raw.tags else None
    while items and items[0].setup:
        fen = items.pop(0)
    try:
        boards, color = parse_fen(fen.text if fen else None, rules, corner)
    except FenError as error:
        game.error = PdnIssue(fen.line if fen else raw.line, 0, fen.text[:80] if fen else "", str(error))
        return game
    if fen:
        game.fen = format_fen(boards, color, rules)
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    over: str | None = None
    for item in items:
        if over is None and positions.terminations[0] and not positions.lost[0]:
            over = f"{Termination(int(positions.terminations[0])).name} after ply {len(game.moves)}"
        try:
            if item.setup:
                raise PdnError("the position is set up anew in the middle of the game")
            positions = _afresh(positions)
            move = parse_move(item.text, positions, corner)
        except NotationError as error:
            game.error = PdnIssue(item.line, len(game.moves) + 1, item.text[:80], str(error))
            break
        positions.step(np.array([move.action]))
        game.moves.append(move)
    if game.error is None and raw.error:
        game.error = PdnIssue(raw.error.line, len(game.moves) + 1, raw.error.text, raw.error.reason)
    game.final_fen = format_fen(positions.boards[0], int(positions.colors[0]), rules)
    game.outcome = _outcome(positions)
    if over:
        game.notes.append(f"the rules {rules.name!r} end the game ({over}), but it goes on")
    known = {result: winner for winner, results in _RESULTS.items() for result in results}
    if game.outcome and game.outcome.winner and known.get(result, game.outcome.winner) != game.outcome.winner:
        game.notes.append(f"the result is {result!r}, but {game.outcome.winner} has won on the board")
    return game


def _afresh(positions: Positions) -> Positions:
    """The same position to be played on from, even if a draw law has ended the game."""
    if positions.terminations[0] and not positions.lost[0]:
        return Positions.from_boards(positions.rules, positions.boards, positions.colors)
    return positions


def _outcome(positions: Positions) -> Outcome | None:
    if not positions.terminations[0]:
        return None
    winner = int(positions.winners()[0])
    return Outcome(Termination(int(positions.terminations[0])), None if winner < 0 else "WB"[winner])


def write_pdn(games: Iterable[PdnGame], notation: str | None = None) -> str:
    """Writes games as PDN 3.0: seven tags first, ``*`` behind every game, lines of at most 80 characters.

    Args:
        games: rule set, moves, result, FEN and tags of each are used.
        notation: ``"algebraic"`` or ``"numeric"``; None = that of each rule set.

    Raises:
        PdnError: a move is not legal where it stands, or a tag cannot be written.
    """
    return "\n".join(_write_game(game, notation or game.rules.notation) for game in games)


def _write_game(game: PdnGame, notation: str) -> str:
    if notation not in NOTATIONS:
        raise PdnError(f"unknown notation {notation!r}: choose from {', '.join(NOTATIONS)}")
    rules = game.rules
    boards, color = parse_fen(game.fen, rules)
    tags = {**SEVEN_TAGS, **game.tags, "Result": game.result}
    for computed in ("GameType", "SetUp", "FEN"):
        tags.pop(computed, None)
    if rules.game_type:
        tags["GameType"] = game_type(rules, notation)
    if game.fen is not None:
        tags["SetUp"], tags["FEN"] = "1", format_fen(boards, color, rules, notation)
    header = []
    for name, value in tags.items():
        if not TAG_NAME.fullmatch(name):
            raise PdnError(f"{name[:40]!r} is no name of a PDN tag: use letters, digits and underscores")
        escaped = " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')
        header.append(f'[{name} "{escaped}"]')
    words = []
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    for ply, move in enumerate(game.moves):
        positions = _afresh(positions)
        if move not in legal_moves(positions):
            raise PdnError(f"ply {ply + 1}, {move.frm} to {move.to}, is not legal where it stands")
        # A number stands before each move of the side that begins: "1. a3-b4 b6-a5", "1... b6-a5 2. a3-b4".
        if positions.colors[0] == rules.first_color or ply == 0:
            number = (ply + (color != rules.first_color)) // 2 + 1
            words.append(f"{number}." if positions.colors[0] == rules.first_color else f"{number}...")
        words.append(format_move(move, positions, notation))
        positions.step(np.array([move.action]))
    return "\n".join((*header, "", *_wrapped([*words, "*"]), ""))


def _wrapped(words: list[str]) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _LINE_LENGTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
