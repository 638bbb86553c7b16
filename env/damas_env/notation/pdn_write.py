"""Writing PDN files (PDN 3.0)."""

import re
from collections.abc import Iterable
from typing import Final

import numpy as np

from damas_env.errors import PdnError
from damas_env.notation.display import one_line
from damas_env.notation.fen import format_fen, parse_fen
from damas_env.notation.game_types import capture_separator, format_game_type, rules_tag
from damas_env.notation.moves import NOTATIONS, format_move, legal_moves
from damas_env.notation.pdn import PdnGame, afresh
from damas_env.notation.pdn_text import TAG_NAME
from damas_env.position import Positions

SEVEN_TAGS: Final = {
    "Event": "?", "Site": "?", "Date": "????.??.??", "Round": "?", "White": "?", "Black": "?", "Result": "*",
}  # fmt: skip
"""The tags that every written game has, with the values for "unknown"."""

_COMPUTED = ("GameType", "RuleSet", "SetUp", "FEN")
_LINE_LENGTH = 80


def write_pdn(games: Iterable[PdnGame], notation: str | None = None) -> str:
    """Writes games as PDN 3.0: seven tags first, ``*`` behind every game, lines of at most 80 characters.

    Args:
        games: rule set, moves, remarks, result, FEN and tags of each are used.
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
    for computed in _COMPUTED:
        tags.pop(computed, None)
    if rules.game_type:
        tags["GameType"] = format_game_type(rules, notation)
    if name := rules_tag(rules):
        tags["RuleSet"] = name
    if game.fen is not None:
        tags["SetUp"], tags["FEN"] = "1", format_fen(boards, color, rules, notation)
    header = []
    for name, value in tags.items():
        if not TAG_NAME.fullmatch(name):
            raise PdnError(f"{name[:40]!r} is no name of a PDN tag: use letters, digits and underscores")
        escaped = one_line(value).replace("\\", "\\\\").replace('"', '\\"')
        header.append(f'[{name} "{escaped}"]')
    words, separator = [], capture_separator(rules)
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    for ply, move in enumerate(game.moves):
        positions = afresh(positions)
        if move not in legal_moves(positions):
            raise PdnError(f"ply {ply + 1}, {move.frm} to {move.to}, is not legal where it stands")
        # A number stands before each move of the side that begins: "1. a3-b4 b6-a5", "1... b6-a5 2. a3-b4".
        if positions.colors[0] == rules.first_color or ply == 0:
            number = (ply + (color != rules.first_color)) // 2 + 1
            words.append(f"{number}." if positions.colors[0] == rules.first_color else f"{number}...")
        words.append(format_move(move, positions, notation).replace("x", separator))
        words += _remark(game.remarks.get(ply, ""))
        positions.step(np.array([move.action]))
    return "\n".join((*header, "", *_wrapped([*words, "*"]), ""))


def _remark(text: str) -> list[str]:
    """The words of a comment; a leading ``$2`` or the like, PDN's marks of good and bad moves, stands before it."""
    found = re.fullmatch(r"(\$[0-9]{1,3})? *(.*)", one_line(text).replace("{", "(").replace("}", ")"))
    assert found is not None, "any line fits"
    mark, comment = found.groups()
    return ([mark] if mark else []) + ([*f"{{{comment}}}".split()] if comment else [])


def _wrapped(words: list[str]) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _LINE_LENGTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines
