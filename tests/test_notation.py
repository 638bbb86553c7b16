"""Squares, FEN and move text: round trips, every kind of bad input, ambiguous captures, shapes of other boards."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from damas_env.errors import AmbiguousMoveError, FenError, IllegalMoveError, InvalidMoveError, SquareError
from damas_env.game import Game
from damas_env.notation import (
    boards_of,
    format_fen,
    format_moves,
    legal_moves,
    parse_fen,
    parse_move,
    parse_square,
    pieces_of,
    square_name,
)
from damas_env.notation.squares import CORNERS, SquareTable
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules

DATA = Path(__file__).parent / "data"
CBD = get_rules("cbd")
INITIAL = "W:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
CASES = [
    case for name in ("positions", "extremes") for case in json.loads((DATA / f"{name}.json").read_text())["positions"]
]
FENS = [case["fen"] for case in CASES]
AMBIGUOUS = {case["id"]: case for case in CASES if "T058" <= case.get("id", "") <= "T063"}


VARIANTS = [
    CBD,
    RuleSet("mirrored", "", mirrored=True, square_one="bottom_right", men_capture_backward=False, promotion="stop"),
    RuleSet("ten", "", size=10, men_rows=4),
    RuleSet(
        "lifting", "", square_one="bottom_right", first="black", men_rows=2, king_lands_adjacent=True,
        remove_at_end=False, majority="none", promotion="stop", men_capture_backward=False,
    ),
    RuleSet("running", "", majority="none", promotion="continue"),
]  # fmt: skip


def position(fen: str, rules: RuleSet = CBD) -> Positions:
    return Game(rules, fen).positions


def random_positions(rules: RuleSet, games: int, plies: int, seed: int) -> Positions:
    """Positions on the way of random games, one batch for every ply, joined."""
    rng = np.random.default_rng(seed)
    positions = Positions.initial(rules, games)
    seen = []
    for _ in range(plies):
        choice = rng.integers(0, np.maximum(positions.counts, 1))
        positions.step(positions.actions[np.arange(games), choice])
        seen.append(positions.take(np.flatnonzero(positions.terminations == 0)))
    boards, colors = np.concatenate([p.boards for p in seen]), np.concatenate([p.colors for p in seen])
    return Positions.from_boards(rules, boards, colors)


def random_kings(rules: RuleSet, count: int, seed: int) -> Positions:
    """Crowded positions with many kings: the side to move has few pieces, the other side many."""
    rng = np.random.default_rng(seed)
    boards, colors = [], []
    for _ in range(count):
        color = int(rng.integers(2))
        squares = rng.permutation(np.arange(1, rules.num_squares + 1))[: int(rng.integers(4, rules.men + 1))]
        own = int(rng.integers(1, 4))
        pieces = {int(s): ("WB" if i < own else "BW")[color] for i, s in enumerate(squares)}
        boards.append(boards_of(pieces, color, rules))
        colors.append(color)
    return Positions.from_boards(rules, np.array(boards), np.array(colors, dtype=np.int8))


# Squares


def test_square_names_of_the_official_board() -> None:
    for number, name in ((1, "b8"), (4, "h8"), (5, "a7"), (22, "c3"), (29, "a1"), (32, "g1")):
        assert square_name(number, CBD) == name
        assert parse_square(name, CBD) == number == parse_square(str(number), CBD) == parse_square(name.upper(), CBD)
    assert sorted(parse_square(square_name(n, CBD), CBD) for n in range(1, 33)) == list(range(1, 33))


@pytest.mark.parametrize("text", ["0", "33", "a2", "i1", "b9", "", "-1", "1.0", "c", "²", "٣", "1000"])
def test_squares_that_are_not_on_the_board(text: str) -> None:
    with pytest.raises(SquareError, match="square"):
        parse_square(text, CBD)


@pytest.mark.parametrize(
    "rules",
    [*VARIANTS, RuleSet("six", "", size=6, men_rows=2), RuleSet("mirrored_left", "", mirrored=True)],
    ids=lambda rules: rules.name,
)
def test_every_square_has_one_number(rules: RuleSet) -> None:
    table = SquareTable(rules.size, rules.mirrored, rules.square_one)
    assert sorted(table.number_of_view) == list(range(1, rules.num_squares + 1))
    assert (parse_square_or_zero("a1", rules) == 0) == rules.mirrored


def parse_square_or_zero(text: str, rules: RuleSet) -> int:
    try:
        return parse_square(text, rules)
    except SquareError:
        return 0


def test_pdn_numbering_from_a1() -> None:
    table = SquareTable(8, False, "bottom_left")
    assert [table.names[n] for n in (1, 2, 4, 5, 32)] == ["a1", "c1", "g1", "b2", "h8"]
    corners = {corner: SquareTable(8, False, corner).names[1] for corner in CORNERS}
    assert corners == {"bottom_left": "a1", "bottom_right": "g1", "top_left": "b8", "top_right": "h8"}


# FEN


def test_initial_position() -> None:
    for text in (None, "initial", INITIAL, "W:W21-32:B1-12", INITIAL + ".", " " + INITIAL + "\n",
                 INITIAL + ":H0:F1", "W:B1-12:W21-32", "W:Wa1,c1,e1,g1,b2,d2,f2,h2,a3,c3,e3,g3:B1-12"):  # fmt: skip
        boards, color = parse_fen(text, CBD)
        assert boards.dtype == np.uint64 and boards.tolist() == CBD.initial_boards.tolist() and color == 0
        assert format_fen(boards, color, CBD) == INITIAL


@pytest.mark.parametrize("fen", FENS)
def test_canonical_fens_come_back_unchanged(fen: str) -> None:
    boards, color = parse_fen(fen, CBD)
    assert format_fen(boards, color, CBD) == fen
    again, color_again = parse_fen(format_fen(boards, color, CBD, "algebraic"), CBD)
    assert again.tolist() == boards.tolist() and color_again == color


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_fen_round_trip_over_random_games(rules: RuleSet) -> None:
    positions = random_positions(rules, 12, 60, seed=5)
    assert len(positions) > 300 and {0, 1} == set(positions.colors.tolist())
    for boards, color in zip(positions.boards, positions.colors.tolist(), strict=True):
        for notation in ("numeric", "algebraic"):
            again, color_again = parse_fen(format_fen(boards, color, rules, notation), rules)
            assert again.tolist() == boards.tolist() and color_again == color
        assert boards_of(pieces_of(boards, color, rules), color, rules).tolist() == boards.tolist()


def test_fen_in_letters_kings_ranges_and_empty_sides() -> None:
    assert format_fen(*parse_fen("W:Wa1,Kc3:Bf8", CBD), CBD) == "W:WK22,29:B3"
    assert format_fen(*parse_fen("B:WK1-4:B", CBD), CBD) == "B:WK1,K2,K3,K4:B"
    assert format_fen(*parse_fen("W:W:B1", CBD), CBD) == "W:W:B1"
    assert format_fen(*parse_fen("W:W 30 , K31 :B 1.", CBD), CBD) == "W:W30,K31:B1"


def test_fen_numbered_from_another_corner() -> None:
    boards, color = parse_fen("W:W1-12:B21-32", CBD, corner="bottom_left")
    assert format_fen(boards, color, CBD) == INITIAL


BAD_FENS = {
    "W:W:W21:B1": "White's pieces twice",
    "WW:W21:B1": "side to move",
    "W:B1:W21:B2": "Black's pieces twice",
    "W:W33:B1": "square 33",
    "W:W0:B1": "square 0",
    "W:W21:B33": "square 33",
    "W:W1:B5": "man on its crowning row",
    "W:W21:B32": "man on its crowning row",
    "B:Wb8:B5": "man on its crowning row",
    "W:W21,21:B1": "two pieces on square 21",
    "W:W21:B21": "two pieces on square 21",
    "W:W21,K21:B1": "two pieces on square 21",
    "W:W20-32:B1": "13 pieces",
    "W:WK13-25:B1": "13 pieces",
    "W:WX21:B1": "'X21'",
    "W:WKK21:B1": "'K21'",
    "W:Wk21:B1": "'k21'",
    "W:Wa2:B1": "'a2'",
    "W:W21,:B1": "''",
    "W:W21;22:B1": "'21;22'",
    "W:W25-21:B1": "backwards",
    "W:W21-:B1": "'21-'",
    "W:W21-22-23:B1": "'21-22-23'",
    "W:W-1:B1": "'-1'",
    "W:W1e1:B1": "'1e1'",
    "w:W21:B1": "side to move",
    "X:W21:B1": "side to move",
    "?:W21:B1": "side to move",
    ":W21:B1": "side to move",
    "W": "White's pieces",
    "W:": "does not begin",
    "W:W21": "Black's pieces",
    "W:B1": "White's pieces",
    "W:W21:B1:G5": "'G5'",
    "W:W21:B1:H": "'H'",
    "W:W21:B1:": "does not begin",
    "W:H0:F1:W21:B1": "'H0'",
    "W:W:B": "no piece",
    "": "empty",
    "  \n": "empty",
    ".": "empty",
    "hello": "side to move",
    "W:W²:B1": "'²'",
    "W:W٣:B1": "not a playable square",
    "W:W21\x00:B1": "'21\\\\x00'",
    "W:W21:B1" + ",2" * 600: "1208 characters",
    "W" * 100_000: "100000 characters",
    "W:W" + "9" * 500 + ":B1": "not a playable square",
}


@pytest.mark.parametrize("fen", BAD_FENS, ids=[fen[:24] for fen in BAD_FENS])
def test_bad_fens_are_refused_in_one_sentence(fen: str) -> None:
    with pytest.raises(FenError, match=BAD_FENS[fen].replace("(", r"\(").replace("?", r"\?")) as caught:
        parse_fen(fen, CBD)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


# Moves


def test_moves_of_the_initial_position() -> None:
    start = Positions.initial(CBD)
    assert format_moves(start) == ["21-17", "22-17", "22-18", "23-18", "23-19", "24-19", "24-20"]
    assert format_moves(start, notation="algebraic") == ["a3-b4", "c3-b4", "c3-d4", "e3-d4", "e3-f4", "g3-f4", "g3-h4"]
    move = parse_move("22-17", start)
    for text in ("c3-b4", "c3b4", "cb4", "C3-B4", " 22-17 ", "022-017", "c3-17"):
        assert parse_move(text, start) == move, text
    assert (move.frm, move.to, move.captures, move.promotes) == (22, 17, (), False)
    assert parse_move("9-13", start, corner="bottom_left") == parse_move("a3-b4", start)


def test_captures_can_be_written_in_every_usual_way() -> None:
    positions = position("W:W22:B11,18")  # one capture of two: c3xe5xg7
    move = legal_moves(positions)[0]
    for text in ("22x8", "22:8", "22X8", "c3xg7", "c3:g7", "c3g7", "cg7", "22x15x8", "c3:e5:g7", "22-8", "c3-g7"):
        assert parse_move(text, positions) == move, text
    assert format_moves(positions) == ["22x8"]


@pytest.mark.parametrize(
    "text", ["", " ", "22", "22-", "-17", "22--17", "22-17-", "22+17", "22 17", "hello", "22x17-13", "22-x17", "a-b",
             "c3", "33-17", "22-33", "0-17", "a2-b3", "c3-i4", "2²-17", "22-17!", "x", "22x", "9" * 300, "22-17\x00",
             "1" * 4 + "-17", "22x" * 100 + "17"],
)  # fmt: skip
def test_texts_that_are_no_moves(text: str) -> None:
    with pytest.raises(InvalidMoveError, match="is not a move") as caught:
        parse_move(text, Positions.initial(CBD))
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["21-16", "22-13", "22x17", "1-5", "9-13", "c3-b2", "22-17-13", "hg3"])
def test_illegal_moves_list_the_legal_ones(text: str) -> None:
    with pytest.raises(IllegalMoveError, match="legal: ") as caught:
        parse_move(text, Positions.initial(CBD))
    assert INITIAL in str(caught.value)
    assert ("a3-b4, c3-b4" if text[0].isalpha() else "21-17, 22-17") in str(caught.value)


def test_illegal_quiet_move_says_that_capturing_is_compulsory() -> None:
    with pytest.raises(IllegalMoveError, match=r"capturing is compulsory.*legal: 22x8$"):
        parse_move("22-17", position("W:W22:B11,18"))


def test_no_move_is_legal_in_a_lost_position() -> None:
    with pytest.raises(IllegalMoveError, match="the game is over"):
        parse_move("29-25", position("W:W29:B22,25"))


@pytest.mark.parametrize("case", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_ambiguous_captures_are_spelled_in_full_and_read_back(case: dict) -> None:
    positions = position(case["fen"])
    legal = legal_moves(positions)
    for notation in ("numeric", "algebraic"):
        texts = format_moves(positions, notation=notation)
        assert len(set(texts)) == len(texts)
        for move, text in zip(legal, texts, strict=True):
            assert parse_move(text, positions) == move
            alike = [other for other in legal if (other.frm, other.to) == (move.frm, move.to)]
            assert text.count("x") == (len(move.captures) if len(alike) > 1 else 1)
            short = f"{move.frm}x{move.to}"
            if len(alike) > 1:
                with pytest.raises(AmbiguousMoveError, match="ambiguous") as caught:
                    parse_move(short, positions)
                assert all(format_moves(positions)[legal.index(other)] in str(caught.value) for other in alike)
            else:
                assert parse_move(short, positions) == move


def walk(squares: list[int], positions: Positions) -> tuple[set[int], int]:
    """(pieces taken on a fully spelled path, how often it goes straight on), checking the rules of spelling.

    Written on coordinates, without the code under test: every leg is a diagonal with exactly one piece on it, of the
    other side and not taken before; an intermediate square is a turn, or right behind the piece just taken.
    """
    table = SquareTable(8, False, "top_left")
    pieces = pieces_of(positions.boards[0], int(positions.colors[0]), CBD)
    mover = pieces.pop(squares[0])
    at = {cell: number for number, cell in enumerate(table.cells) if number}
    taken: set[int] = set()
    legs = []
    for start, end in pairwise(squares):
        (row, column), (end_row, end_column) = table.cells[start], table.cells[end]
        distance = abs(end_row - row)
        assert distance == abs(end_column - column) >= 2
        down, right = (end_row - row) // distance, (end_column - column) // distance
        crossed = [at[row + down * i, column + right * i] for i in range(1, distance + 1)]
        met = [number for number in crossed if number in pieces]
        assert len(met) == 1 and pieces[met[0]].lower() != mover.lower() and met[0] not in taken
        taken.add(met[0])
        legs.append(((down, right), crossed.index(met[0]) == distance - 2))
    straight = 0
    for (direction, adjacent), (following, _) in pairwise(legs):
        if direction == following:
            straight += 1
            assert adjacent
    return taken, straight


def test_full_paths_are_real_normalised_and_read_back() -> None:
    fens = [fen for fen in FENS if "K" in fen]
    positions = random_kings(CBD, 4000, seed=11)
    batches = [position(fen) for fen in fens]
    shared = [
        len({(m.frm, m.to) for m in legal_moves(positions, i)}) < positions.counts[i] for i in range(len(positions))
    ]
    batches += [positions.take(np.array([i])) for i in np.flatnonzero(shared)]
    spelled, straight_on = 0, 0
    for batch in batches:
        for move, text in zip(legal_moves(batch), format_moves(batch), strict=True):
            assert parse_move(text, batch) == move
            squares = [int(square) for square in text.replace("-", "x").split("x")]
            if len(squares) > 2:
                taken, straight = walk(squares, batch)
                assert taken == set(move.captures) and (squares[0], squares[-1]) == (move.frm, move.to)
                spelled += 1
                straight_on += straight
    assert spelled > 100 and straight_on > 5


def test_full_path_of_a_published_example() -> None:
    # c1 takes d2 and turns on h6 or g5, takes g7 or f6, turns, takes b4: nothing is written after the last piece.
    assert format_moves(position("B:W8,11,17,26:BK30")) == ["30x12x3x21", "30x16x7x21"]


def test_longer_and_shorter_spellings_of_one_capture() -> None:
    positions = position("B:W8,11,17,26:BK30")  # c1xh6xf8xa3 takes g7, c1xg5xe7xa3 takes f6
    by_h6, by_g5 = legal_moves(positions)
    assert (by_h6.captures, by_g5.captures) == ((8, 17, 26), (11, 17, 26))
    for text in ("30x12x3x21", "30x12x21", "30x3x21", "30x23x19x16x12x3x7x10x14x21", "c1xh6xa3", "30:12:21"):
        assert parse_move(text, positions) == by_h6, text
    for text in ("30x16x7x21", "30x23x19x16x7x10x14x21", "c1xg5xe7xa3"):
        assert parse_move(text, positions) == by_g5, text
    for text in ("30x21", "30x16x21", "30x7x21", "c1a3", "ca3", "c1xa3"):
        with pytest.raises(AmbiguousMoveError, match="ambiguous"):
            parse_move(text, positions)
    for text in ("30x20x21", "30x3x12x21", "30x26x21", "30x12x3x2x21"):
        with pytest.raises(IllegalMoveError):
            parse_move(text, positions)


def test_landing_squares_of_a_flight_are_free_to_choose_when_read() -> None:
    positions = position("W:WK29:B19,22")  # a1 takes c3 and goes on: e5 and d4 lie behind, e5 is the turn to f4
    to_h2 = next(move for move in legal_moves(positions) if move.to == 28)
    assert parse_move("29x15x28", positions) == parse_move("29x18x15x28", positions) == to_h2
    straight = position("W:WK1:B10,23")  # b8 takes d6 and, straight on, ... e3: any landing square may be named
    with pytest.raises(IllegalMoveError):
        parse_move("1x15x28", straight)


def test_circular_capture() -> None:
    positions = position("B:W18,19,26,27:B15")
    (move,) = legal_moves(positions)
    assert (move.frm, move.to) == (15, 15) and format_moves(positions) == ["15x15"]
    assert parse_move("15x15", positions) == parse_move("e5xc3xe1xg3xe5", positions) == move


def test_a_short_pair_names_the_file_of_the_origin() -> None:
    positions = position("W:WK22,K9:B4")  # c3 and b6 both reach d4
    assert parse_move("cd4", positions).frm == 22 and parse_move("bd4", positions).frm == 9
    with pytest.raises(IllegalMoveError):
        parse_move("ad4", positions)
    with pytest.raises(AmbiguousMoveError, match="it can be c1-a3, c5-a3"):
        parse_move("ca3", position("W:WK14,K30:B4"))


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_move_text_round_trip_over_random_games(rules: RuleSet) -> None:
    positions = random_positions(rules, 12, 70, seed=9)
    captures = 0
    for index in range(0, len(positions), 3):
        for notation in ("numeric", "algebraic"):
            texts = format_moves(positions, index, notation)
            legal = legal_moves(positions, index)
            assert len(set(texts)) == len(texts) == positions.counts[index]
            for move, text in zip(legal, texts, strict=True):
                assert parse_move(text, positions, index=index) == move
                captures += bool(move.captures)
    assert captures > 50


@pytest.mark.parametrize("rules", VARIANTS, ids=lambda rules: rules.name)
def test_full_spelling_exists_for_every_capture_of_every_rule_set(rules: RuleSet) -> None:
    """Paths are found under each rule set's own way to capture, whether the short form is ambiguous or not."""
    from damas_env.notation.paths import CapturePaths
    from damas_env.notation.squares import square_table

    kings, plain = random_kings(rules, 150, seed=3), random_positions(rules, 12, 70, seed=4)
    several = 0
    for positions, step in ((kings, 1), (plain, 2)):
        for index in range(0, len(positions), step):
            pieces = pieces_of(positions.boards[index], int(positions.colors[index]), rules)
            for move in legal_moves(positions, index):
                if not move.captures:
                    continue
                paths = CapturePaths(
                    pieces, move.frm, move.to, move.captures, move.promotes, rules, square_table(rules)
                )
                squares = paths.spelled()
                assert len(squares) == len(move.captures) - 1
                assert paths.fits(squares, all_turns=True) and paths.fits(squares, all_turns=False)
                text = "x".join(map(str, (move.frm, *squares, move.to)))
                assert parse_move(text, positions, index=index) == move
                several += len(squares) > 0
    assert several > 20


def test_promotion_law_tells_paths_apart() -> None:
    """A man that runs through the crowning row goes on as a king only where the rules say so."""
    running = replace(CBD, name="running", majority="none", promotion="continue")
    stopping = replace(CBD, name="stopping", promotion="stop")
    fen = "W:W12:B8,17"  # h6xf8 takes g7; as a king it would go on over b4
    assert [move.captures for move in legal_moves(position(fen))] == [(8,)]
    assert [move.captures for move in legal_moves(position(fen, running))] == [(8, 17)]
    assert [move.captures for move in legal_moves(position(fen, stopping))] == [(8,)]
    assert parse_move("12x3x21", position(fen, running)).to == 21
