"""The Hub protocol, version 2, as text: lines, positions and moves.

Fabien Letouzey's text describes boards of 10x10; here its "standard order" of squares is that of the rule set's
numbers, so on Brazilian boards square 1 is b8.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from damas_env.errors import quoted
from damas_env.notation import Move, legal_moves, one_line, parse_fen, pieces_of, square_table
from damas_env.notation.pdn import afresh
from damas_env.position import COLORS, Positions
from damas_env.presets import RULE_SETS
from damas_env.rules import RuleSet
from damas_rl.moves import move_of

_VARIANTS: Final = {26: "brazilian", 25: "russian", 20: "normal"}
"""Names of games in use among programs that speak Hub, by their PDN numbers; "normal" is international draughts."""

_ARGUMENT = re.compile(r'\s*([^\s="]+)(?:=(?:"([^"]*)"|([^\s"]*))(?=\s|$)|(?=\s|$))')
_MOST_SHOWN = 60

_MEN_OF_A_UNIT = 4.0
"""Men to an argument of 1 of the tanh that squeezes scores into values, see ``AlphaBetaResult.values``."""

_WON = 100.0
"""Score in men of a proven win; scores from 90 men up are understood as one."""


class HubError(ValueError):
    """A line that does not say what it should; the message is one sentence."""


def parse_line(line: str) -> tuple[str, dict[str, str]]:
    """The command of a line and its arguments; flags have the value "". An empty line has the command "".

    Raises:
        HubError: it is not written like ``command name=value name="some value" flag``.
    """
    words: list[tuple[str, str]] = []
    end = 0
    line = line.rstrip()
    while end < len(line):
        match = _ARGUMENT.match(line, end)
        if not match:
            raise HubError(f'{quoted(line, _MOST_SHOWN)} is not written like command name=value name="a value"')
        words.append((match[1], match[2] or match[3] or ""))
        end = match.end()
    return (words[0][0], dict(words[1:])) if words else ("", {})


def format_line(command: str, arguments: Mapping[str, str] | None = None) -> str:
    """A line; values are put in quotes where they need them."""
    words = [command]
    for name, value in (arguments or {}).items():
        plain = one_line(value).replace('"', "'")
        words.append(f"{name}={plain}" if re.fullmatch(r"[^\s=]+", plain) else f'{name}="{plain}"')
    return " ".join(words)


def format_position(positions: Positions) -> str:
    """The position of a batch of one: the side to move, then one letter for each square."""
    rules, color = positions.rules, int(positions.colors[0])
    pieces = pieces_of(positions.boards[0], color, rules)
    return COLORS[color] + "".join(pieces.get(number, "e") for number in range(1, square_table(rules).count + 1))


def parse_position(text: str, moves: str, rules: RuleSet) -> Positions:
    """The position (a batch of one) that a ``pos`` command names: a position and moves that were played from there.

    A draw law that those moves have passed over counts anew: the game goes on, whoever plays it.

    Raises:
        HubError: one sentence that says what is wrong.
    """
    count = square_table(rules).count
    if len(text) != count + 1 or text[0] not in COLORS or set(text[1:]) - set("wbWBe"):
        raise HubError(
            f"the position {quoted(text, _MOST_SHOWN)} is not W or B and {count} letters out of w, b, W, B and e"
        )
    sides: dict[str, list[str]] = {"w": [], "b": []}
    for number, piece in enumerate(text[1:], 1):
        if piece != "e":
            sides[piece.lower()].append(f"K{number}" if piece.isupper() else str(number))
    try:
        boards, color = parse_fen(f"{text[0]}:W{','.join(sides['w'])}:B{','.join(sides['b'])}", rules)
        positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    except ValueError as error:
        raise HubError(str(error)) from None
    for word in moves.split():
        move = find_move(word, positions)
        positions.step(np.array([move.action]))
        positions = afresh(positions)
    return positions


def format_move(move: Move) -> str:
    """``22-18``; a capture as its origin, its target and the squares of all captured pieces: ``28x19x23``."""
    return ("x" if move.captures else "-").join(map(str, (move.frm, move.to, *move.captures)))


def find_move(text: str, positions: Positions) -> Move:
    """The legal move of a batch of one that a text means; captured pieces may stand in any order.

    Raises:
        HubError: none.
    """
    legal = legal_moves(positions)
    if re.fullmatch(r"[0-9]{1,3}-[0-9]{1,3}|[0-9]{1,3}(x[0-9]{1,3}){2,}", text):
        frm, to, *captures = map(int, re.split("[-x]", text))
        for move in legal:
            if (move.frm, move.to, move.captures) == (frm, to, tuple(sorted(captures))):
                return move
    raise HubError(
        f"the move {quoted(text, _MOST_SHOWN)} is not legal in {format_position(positions)}; "
        f"legal: {' '.join(map(format_move, legal)) or 'none'}"
    )


def format_line_of_play(positions: Positions, actions: Iterable[int]) -> list[str]:
    """The moves of a continuation of a batch of one."""
    line, texts = positions.copy(), []
    for action in actions:
        texts.append(format_move(move_of(line, action)))
        line.step(np.array([action]))
    return texts


def variant_of(rules: RuleSet) -> str:
    """The name of a game for programs that speak Hub; games without one go by the name of the rule set."""
    return _VARIANTS.get(rules.game_type, rules.name)


def variants_beside(rules: RuleSet) -> dict[str, RuleSet]:
    """The games that a program can be asked for by name, with their rule sets: first the given one, then the usual."""
    found = {variant_of(rules): rules}
    for other in RULE_SETS.values():
        if other.game_type in _VARIANTS:
            found.setdefault(variant_of(other), other)
    return found


def men_of_value(value: float) -> float:
    """A player's value, from -1 to 1, as a score in men; +-100 for a proven result."""
    return math.copysign(_WON, value) if abs(value) >= 1.0 else _MEN_OF_A_UNIT * math.atanh(value)


def value_of_men(men: float) -> float:
    """A score in men as a value from -1 to 1; 0 for what is no number."""
    if abs(men) >= _WON - 10.0:
        return math.copysign(1.0, men)
    return 0.0 if math.isnan(men) else min(max(math.tanh(men / _MEN_OF_A_UNIT), -0.99), 0.99)
