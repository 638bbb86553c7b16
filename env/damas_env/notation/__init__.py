"""Squares, positions, moves and games as text: numbers and algebraic names, FEN, PDN."""

from damas_env.notation.display import one_line, visible
from damas_env.notation.fen import boards_of, format_fen, parse_fen, pieces_of
from damas_env.notation.moves import Move, format_move, format_moves, legal_moves, parse_move, spell_moves
from damas_env.notation.pdn import PdnGame, PdnIssue, read_pdn, result_of
from damas_env.notation.pdn_text import decode, encoding_of
from damas_env.notation.pdn_write import write_pdn
from damas_env.notation.squares import SquareTable, parse_square, square_name, square_table

__all__ = [
    "Move",
    "PdnGame",
    "PdnIssue",
    "SquareTable",
    "boards_of",
    "decode",
    "encoding_of",
    "format_fen",
    "format_move",
    "format_moves",
    "legal_moves",
    "one_line",
    "parse_fen",
    "parse_move",
    "parse_square",
    "pieces_of",
    "read_pdn",
    "result_of",
    "spell_moves",
    "square_name",
    "square_table",
    "visible",
    "write_pdn",
]
