"""Positions that a person sets up on the page, and what is wrong with one, in terms that the page has words for."""

from typing import Any

import numpy as np

from damas_env.errors import shown
from damas_env.notation import boards_of, format_fen, parse_fen, pieces_of, square_table
from damas_env.position import COLORS, Positions
from damas_env.rules import RuleSet
from damas_rl.play.table import RequestError
from damas_rl.play.web.requests import read_rules
from damas_rl.play.web.view import board_view


def set_up(document: dict[str, Any]) -> dict[str, Any]:
    """A position as the page's editor shows it.

    Args:
        document: ``{"rules": name, "fen": text}`` or ``{"rules": name, "pieces": {"22": "w"}, "color": "W"}``; with
            neither it is the initial position.

    Returns:
        ``rules``, ``board``, ``pieces``, ``color``, ``fen``, ``moves`` (how many the side to move has) and ``fault``:
        None, or ``{"kind", "side"}`` with ``kind`` one of ``none`` (the side has no piece), ``many`` (it has more than
        the rules give), ``crowning`` (it has men on its last row: ``squares``), ``blocked`` (it cannot move).

    Raises:
        ValueError: there is no such board, or the text is no position.
    """
    for key in document:
        if key not in ("rules", "fen", "pieces", "color"):
            raise RequestError(f"A position knows no {shown(key)}; it takes rules, and fen, or pieces and color.")
    rules = read_rules(document)
    if "pieces" in document:
        pieces, color = _read_pieces(document, rules)
    else:
        text = document.get("fen", "initial")
        if not isinstance(text, str):
            raise RequestError("fen must be text.")
        boards, side = parse_fen(text.strip().strip('"'), rules)
        pieces, color = pieces_of(boards, side, rules), COLORS[side]
    boards = boards_of(pieces, COLORS.index(color), rules)
    moves, fault = 0, _fault_of(pieces, rules)
    if fault is None:
        moves = int(Positions.from_boards(rules, boards[None], np.array([COLORS.index(color)], np.int8)).counts[0])
        if not moves:
            fault = {"kind": "blocked", "side": color}
    return {
        "rules": rules.name,
        "board": board_view(rules),
        "pieces": pieces,
        "color": color,
        "fen": format_fen(boards, COLORS.index(color), rules),
        "moves": moves,
        "fault": fault,
    }


def _read_pieces(document: dict[str, Any], rules: RuleSet) -> tuple[dict[int, str], str]:
    color, listed = document.get("color"), document["pieces"]
    if color not in ("W", "B"):
        raise RequestError("color must be W or B.")
    if not isinstance(listed, dict):
        raise RequestError('pieces must be an object such as {"22": "w", "1": "B"}.')
    pieces = {}
    for square, piece in listed.items():
        if piece not in ("w", "b", "W", "B"):
            raise RequestError(f"pieces: {shown(piece)} is none of w, b (men), W, B (kings).")
        pieces[square_table(rules).parse(square)] = piece
    return pieces, color


def _fault_of(pieces: dict[int, str], rules: RuleSet) -> dict[str, Any] | None:
    """The first thing that keeps a position from being one of a game, whoever is to move."""
    table = square_table(rules)
    for side in COLORS:
        squares = [square for square, piece in pieces.items() if piece.upper() == side]
        if not squares:
            return {"kind": "none", "side": side}
        if len(squares) > rules.men:
            return {"kind": "many", "side": side, "count": len(squares), "most": rules.men}
        last = 0 if side == "W" else rules.size - 1
        wrong = [square for square in squares if pieces[square].islower() and table.cells[square][0] == last]
        if wrong:
            return {"kind": "crowning", "side": side, "squares": wrong}
    return None
