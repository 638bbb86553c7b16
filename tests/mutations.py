"""Damaged FENs and PDNs, and what must hold for each: a sentence or a right reading, soon, and never a traceback."""

import re

import numpy as np

from damas_env.errors import FenError
from damas_env.game import Game
from damas_env.notation import PdnGame, format_fen, parse_fen, pieces_of, read_pdn, result_of, square_table, write_pdn
from damas_env.notation.game_types import WINNER_OF
from damas_env.notation.pdn_text import split_games
from damas_env.rules import RuleSet

LETTERS = '0123456789WBKabcdefghij:,.-x()[]{}"\\/;%*!?$#\n\r\t \x00\x1b\x85\u2028\u00bd\u0663\u00e7\ufeff\U0001f600'
PIECES = (
    "1-0",
    "1. ",
    "1... ",
    '[FEN "',
    "]\n",
    "\n\n",
    "{",
    "(",
    "K",
    "W:",
    ":B",
    "22-18",
    "x",
    "*",
    "  ",
    "999",
    "-1",
)


def mutated(text: str, rng: np.random.Generator) -> str:
    """``text`` with one to three slips: letters or parts lost, doubled, swapped, changed or put in."""
    for _ in range(rng.integers(1, 4)):
        place, length = int(rng.integers(0, len(text) + 1)), int(rng.integers(1, 8))
        before, part, after = text[:place], text[place : place + length], text[place + length :]
        letter = LETTERS[rng.integers(len(LETTERS))]
        slips = (
            before + after,
            before + part + part + after,
            before + part[::-1] + after,
            before + letter + text[place:],
            before + letter + text[place + 1 :],
            before + PIECES[rng.integers(len(PIECES))] + text[place:],
            before,
        )
        text = slips[rng.choice(len(slips), p=(0.2, 0.15, 0.15, 0.15, 0.2, 0.12, 0.03))]
    return text


def random_game(rules: RuleSet, rng: np.random.Generator, plies: int) -> Game:
    game = Game(rules)
    while game.outcome() is None and game.ply < plies:
        legal = game.legal_moves()
        game.push(legal[rng.integers(len(legal))])
    return game


def pdn_of(game: Game, notation: str) -> str:
    result = result_of(game.outcome(), game.rules)
    return write_pdn([PdnGame(game.rules, list(game.moves), {"White": "Ana", "Black": "Rui"}, result)], notation)


def numbered(rules: RuleSet) -> dict[str, int]:
    """The number of each algebraic name, written without the code under test."""
    size = rules.size
    cells = [
        (row, column)  # from the top and from the left, as White sees them
        for row in range(size)
        for column in range(size)
        if ((size - 1 - row + column) % 2 == 0) != rules.mirrored
    ]
    if rules.square_one == "bottom_right":
        cells.reverse()
    return {f"{'abcdefghij'[column]}{size - row}": number for number, (row, column) in enumerate(cells, 1)}


def plain_reading(fen: str, rules: RuleSet) -> dict[int, str]:
    """The pieces of a FEN, read without the code under test; fails where the text is no FEN."""
    names = numbered(rules)
    body = fen.strip()
    body = body[:-1] if body.endswith(".") else body
    turn, *fields = body.split(":")
    assert turn in ("W", "B"), turn
    fields = [field.strip() for field in fields]
    while len(fields) > 2:
        assert re.fullmatch("[HF][0-9]+", fields.pop(2))
    assert sorted(field[:1] for field in fields) == ["B", "W"]
    found: dict[int, str] = {}
    for field in fields:
        for item in filter(None, (item.strip() for item in field[1:].split(","))):
            letter = field[0] if item[0] == "K" else field[0].lower()
            ends = item.removeprefix("K").split("-")
            assert len(ends) < 3 and all(end.isascii() and end.isalnum() for end in ends), item
            numbers = [int(end) if end.isdigit() else names[end.lower()] for end in ends]
            for number in range(numbers[0], numbers[-1] + 1):
                assert number not in found and 1 <= number <= len(names), item
                found[number] = letter
    return dict(sorted(found.items()))


def check_fen(text: str, rules: RuleSet) -> bool:
    """Reads a damaged FEN; True if it was accepted."""
    try:
        boards, color = parse_fen(text, rules)
    except FenError as error:
        assert "\n" not in str(error) and len(str(error)) < 400, str(error)
        return False
    if text.strip() == "initial":
        return True
    pieces = plain_reading(text, rules)
    assert pieces == pieces_of(boards, color, rules), text
    assert "WB"[color] == text.strip()[0] and max(map("".join(pieces.values()).lower().count, "wb")) <= rules.men
    again, color_again = parse_fen(format_fen(boards, color, rules), rules)
    assert again.tolist() == boards.tolist() and color_again == color
    return True


def check_pdn(text: str, rules: RuleSet | None) -> bool:
    """Reads a damaged PDN; True if every game of it was accepted."""
    games = read_pdn(text, rules)
    for game, raw in zip(games, split_games(text), strict=True):
        for sentence in (*game.notes, *([game.error.reason] if game.error else [])):
            assert sentence.isprintable() and len(sentence) < 1500, sentence
        table, replayed = (
            square_table(game.rules, None if game.numbering == "algebraic" else game.numbering),
            Game(game.rules, game.fen),
        )
        own = square_table(game.rules)
        items = [item for item in raw.items if not item.setup]
        assert game.error or len(items) == len(game.moves)
        for move, item in zip(game.moves, items, strict=False):
            if replayed.outcome() is None:
                assert replayed.push(move) == move
            names = re.findall("[a-j]?[0-9]{1,3}", item.text.lower())
            last = table.numbers[names[-1]] if names[-1] in table.numbers else int(names[-1])
            assert own.names[move.to] == table.names[last], (item, move)
            if len(names) > 1:
                first = table.numbers[names[0]] if names[0] in table.numbers else int(names[0])
                assert own.names[move.frm] == table.names[first], (item, move)
        (again,) = read_pdn(write_pdn([game]), game.rules)
        assert again.error is None and again.moves == game.moves and again.fen == game.fen
        assert again.result == game.result or game.result not in (*WINNER_OF, "0-0", "*")
    return all(game.error is None for game in games)
