"""The GameType tag of PDN 3.0: which game a file holds, who begins, where square 1 is, how results are written.

After the table in doc/gametype.rst of github.com/wiegerw/pdn. The tag tells the corner of square 1 as the side that
begins sees the board; here corners are always as White sees it.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from damas_env.errors import PdnError, quoted
from damas_env.notation.squares import CORNERS
from damas_env.presets import DEFAULT_RULES, RULE_SETS
from damas_env.rules import RuleSet

GAMES: Final = {
    20: "international draughts", 21: "English draughts", 22: "Italian draughts", 23: "American pool checkers",
    24: "Spanish draughts", 25: "Russian draughts", 26: "Brazilian draughts", 27: "Canadian draughts",
    28: "Portuguese draughts", 29: "Czech draughts", 30: "Turkish draughts", 31: "Thai draughts",
    40: "Frisian draughts", 41: "Spantsiretti draughts",
}  # fmt: skip
"""The games that have a number."""

_RESULTS: Final = {"W": ("1-0", "2-0"), "B": ("0-1", "0-2"), None: ("1/2-1/2", "1-1")}
WINNER_OF: Final = {result: winner for winner, results in _RESULTS.items() for result in results}
"""The winner ("W", "B", None = draw) of each result; ``0-0`` (both have lost) and ``*`` name none."""

_POINTS_OF_TWO: Final = (20, 27)
_SEPARATORS: Final = {25: ":", 31: "-", 41: ":"}
_TAG = re.compile(r"([0-9]{1,3})(?:,([WB]),([0-9]{1,2}),([0-9]{1,2}),([ANS])([0-3])(?:,([01]))?)?")


class GameType(NamedTuple):
    """What a GameType tag says; None where it is silent.

    Attributes:
        number: of the game.
        first: colour that begins, 0 = White, 1 = Black.
        board: (columns, rows).
        corner: corner of square 1 as White sees it, one of ``squares.CORNERS``.
        mirrored: White's left-hand corner is not a playing square.
    """

    number: int
    first: int | None = None
    board: tuple[int, int] | None = None
    corner: str | None = None
    mirrored: bool | None = None


def parse_game_type(tag: str) -> GameType | None:
    """Reads a GameType tag; None if it is not written like one."""
    match = _TAG.fullmatch(tag.replace(" ", ""))
    if not match:
        return None
    if not match[6]:
        return GameType(int(match[1]))
    first, digit = "WB".index(match[2]), int(match[6])
    if match[5] == "A" and digit == 1:
        digit = 0  # files from before April 2014 write A1 for the corner that is A0 now
    elif first:
        digit = 3 - digit
    mirrored = match[7] == "1" if match[7] else None
    return GameType(int(match[1]), first, (int(match[3]), int(match[4])), CORNERS[digit], mirrored)


def format_game_type(rules: RuleSet, notation: str) -> str:
    """The long form of the tag: ``"26,W,8,8,A0,0"``."""
    digit = 0 if notation == "algebraic" else CORNERS.index(rules.square_one)
    digit = 3 - digit if rules.first_color else digit
    letter = "A" if notation == "algebraic" else "N"
    board = f"{rules.size},{rules.size}"
    return f"{rules.game_type},{'WB'[rules.first_color]},{board},{letter}{digit},{int(rules.mirrored)}"


def rules_of(tags: Mapping[str, str]) -> RuleSet:
    """The rule set that a header asks for: that of the tag RuleSet, the first one of the GameType, or the default.

    Raises:
        PdnError: no rule set here plays that game.
    """
    if (name := tags.get("RuleSet")) is not None:
        if name in RULE_SETS:
            return RULE_SETS[name]
        raise PdnError(f"the rule set {quoted(name, 40)} of the game is not known here: name one to read it by")
    stated = parse_game_type(tags.get("GameType", ""))
    if stated is None:
        return RULE_SETS[DEFAULT_RULES]
    for rules in RULE_SETS.values():
        if rules.game_type == stated.number in GAMES:
            return rules
    game = GAMES.get(stated.number, "no game of draughts")
    raise PdnError(f"GameType {stated.number} is {game}, which no rule set here plays: name one to read it by")


def rules_tag(rules: RuleSet) -> str | None:
    """Value of the tag RuleSet that a game needs to be read by its own rules again; None if the GameType is enough."""
    try:
        found = rules_of({"GameType": str(rules.game_type)})
    except PdnError:
        return rules.name
    return None if found == rules else rules.name


def differences(stated: GameType, rules: RuleSet) -> list[str]:
    """What a tag says otherwise than the rule set that the game is read by, one sentence each."""
    found = []
    if stated.number != rules.game_type:
        found.append(f"the file says GameType {stated.number}, the rule set {rules.name!r} is {rules.game_type}")
    if stated.board and stated.board != (rules.size, rules.size):
        found.append(
            f"the file says {stated.board[0]}x{stated.board[1]} squares, the rule set {rules.name!r} has {rules.size}"
        )
    if stated.mirrored is not None and stated.mirrored != rules.mirrored:
        found.append(
            f"the file says that White's left-hand corner is {'no' if stated.mirrored else 'a'} playing square, "
            f"with the rule set {rules.name!r} it is {'none' if rules.mirrored else 'one'}"
        )
    return found


def format_result(winner: str | None, rules: RuleSet) -> str:
    """The result of a finished game in the convention of the rule set; ``winner`` None = draw."""
    return _RESULTS[winner][rules.game_type in _POINTS_OF_TWO]


def capture_separator(rules: RuleSet) -> str:
    """The sign between the squares of a capture in files of this game."""
    return _SEPARATORS.get(rules.game_type, "x")


def note_on(tag: str) -> str:
    """The sentence on a GameType tag that cannot be read."""
    return f"GameType {quoted(tag, 40)} is not understood"
