"""FEN and PDN of every rule set: tags, orientation, first player, signs; round trips; damaged texts."""

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import PdnGame, format_fen, parse_fen, read_pdn, write_pdn
from damas_env.notation.game_types import format_game_type, parse_game_type, rules_of
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from mutations import check_fen, check_pdn, mutated, numbered, pdn_of, random_game

NOTATIONS = ("numeric", "algebraic")
NAMES = (
    "cbd", "damas-brasileiro", "american", "russian", "pool", "spanish", "portuguese", "international", "thai",
    "filipino",
)  # fmt: skip
"""One rule set for each way to move and to write; those left out differ in draw laws alone."""


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("international", "20,W,10,10,N2,0"), ("american", "21,B,8,8,N1,0"), ("pool", "23,B,8,8,N1,0"),
        ("spanish", "24,W,8,8,N1,1"), ("russian", "25,W,8,8,A0,0"), ("cbd", "26,W,8,8,A0,0"),
        ("portuguese", "28,W,8,8,N1,1"), ("thai", "31,B,8,8,N2,0"),
    ],
)  # fmt: skip
def test_tags_are_those_of_the_standard(name: str, tag: str) -> None:
    rules = get_rules(name)
    assert format_game_type(rules, rules.notation) == tag
    stated = parse_game_type(tag)
    assert stated is not None and stated.first == rules.first_color and stated.mirrored == rules.mirrored
    assert stated.corner == (rules.square_one if rules.notation == "numeric" else "bottom_left")
    assert rules_of({"GameType": tag}) == rules_of({"GameType": tag[:2]}) == rules


@pytest.mark.parametrize(
    ("number", "name"), [(22, "Italian"), (27, "Canadian"), (29, "Czech"), (30, "Turkish"), (0, "no game of draughts")]
)
def test_games_that_nobody_here_plays_are_refused_by_name(number: int, name: str) -> None:
    (game,) = read_pdn(f'[GameType "{number}"]\n\n1. c3-d4 *', None)
    assert game.error is not None and game.error.ply == 0 and name in game.error.reason and game.moves == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("international", '[GameType "20"]\n\n1. 32-28 18-23 2. 34-29 23x34 3. 40x29 *'),
        ("american", '[GameType "21,B,8,8,N1,0"]\n\n1. 11-15 23-19 2. 8-11 22-17 3. 11-16 24-20 *'),
        ("american", '[GameType "21"]\n\n1. 11-15 22-18 2. 15x22 25x18 1-0'),
        ("spanish", '[GameType "24,W,8,8,N1,1"]\n\n1. 10-13 22-18 2. 13x22 27x18 *'),
        ("russian", '[GameType "25"]\n\n1. c3-d4 d6-c5 2. b2-c3 f6-g5 3. c3-b4 g5-h4 4. b4:d6 e7:c5 2-0'),
        ("thai", '[GameType "31,B,8,8,N2,0"]\n\n1. 26-23 6-10 *'),
        ("pool", '[GameType "23,W,8,8,A0,0"]\n\n1. c3-d4 d6-c5 2. b2-c3 *'),
        ("cbd", '[GameType "26,B,8,8,A3,0"]\n\n1. d6-c5 c3-d4 2. f6-g5 *'),
        ("filipino", '[RuleSet "filipino"]\n\n1. 22-18 11-14 2. 18x11 7x14 *'),
    ],
)
def test_the_rule_set_comes_from_the_header(name: str, text: str) -> None:
    (game,) = read_pdn(text)
    assert game.error is None, game.error
    assert game.rules.name == name and len(game.moves) > 1
    (again,) = read_pdn(write_pdn([game]))
    assert (again.moves, again.rules, again.fen) == (game.moves, game.rules, game.fen)


def test_the_side_that_begins_comes_from_the_header() -> None:
    (game,) = read_pdn('[GameType "23,W,8,8,A0,0"]\n\n1. c3-d4 d6-c5 *')
    assert game.fen is not None and game.fen.startswith("W:") and "White begins" in game.notes[0]
    (game,) = read_pdn('[GameType "26,B,8,8,N1,0"]\n\n1. 22-18 11-15 2. 18x11 *')  # but White does
    assert game.error is None and game.fen is None and "White was taken to begin" in game.notes[0]


def test_a_rule_set_that_only_a_tag_can_name() -> None:
    rules = RULE_SETS["damasite"]
    text = write_pdn([PdnGame(rules)])
    assert '[RuleSet "damasite"]' in text and read_pdn(text)[0].rules is rules
    (game,) = read_pdn('[RuleSet "of my club"]\n\n1. c3-d4 *')
    assert game.error and "'of my club'" in game.error.reason
    assert read_pdn('[RuleSet "of my club"]\n\n1. c3-d4 *', rules)[0].error is None


@pytest.mark.parametrize("name", NAMES)
def test_squares_have_the_numbers_and_names_of_the_variant(name: str) -> None:
    rules = get_rules(name)
    names = numbered(rules)
    numeric = format_fen(rules.initial_boards, rules.first_color, rules)
    algebraic = format_fen(rules.initial_boards, rules.first_color, rules, "algebraic")
    turn, *sides = algebraic.split(":")
    written = [",".join(str(number) for number in sorted(names[n] for n in side[1:].split(","))) for side in sides]
    assert numeric == f"{turn}:W{written[0]}:B{written[1]}" and turn == rules.first[0].upper()


@pytest.mark.parametrize("name", NAMES)
def test_random_games_come_back(name: str) -> None:
    """Games and positions through text and back, the rule set found by the header alone."""
    rules, rng = get_rules(name), np.random.default_rng(len(name))
    games = [random_game(rules, rng, 300 if number % 3 else 30) for number in range(9)]
    for notation in NOTATIONS:
        pdn_games = [game.pdn({"Event": "x"}) for game in games]
        text = write_pdn(pdn_games, notation)
        read = read_pdn(text)
        assert [(g.moves, g.result, g.rules) for g in read] == [(g.moves, g.result, g.rules) for g in pdn_games]
        assert all(g.error is None and g.notes == [] for g in read), [g.notes for g in read]
        assert [(g.final_fen, g.outcome) for g in read] == [(g.fen(), g.outcome()) for g in games]
        assert [(g.final_fen, g.outcome) for g in pdn_games] == [(g.fen(), g.outcome()) for g in games]
        assert write_pdn(read, notation) == text
        fen = games[0].fen(notation)
        assert Game(rules, fen).fen(notation) == fen
        middle = games[1]
        while middle.ply > 15:
            middle.pop()
        start, rest = middle.fen(), random_game(rules, rng, 0)
        rest = Game(rules, start)
        while rest.outcome() is None and rest.ply < 12:
            rest.push(rest.legal_moves()[int(rng.integers(len(rest.legal_moves())))])
        set_up = write_pdn([rest.pdn({})], notation)
        (again,) = read_pdn(set_up)
        assert again.moves == rest.moves and again.fen == start and write_pdn([again], notation) == set_up
    captures = {move.captures for game in games for move in game.moves}
    assert len(captures) > 3


@pytest.mark.parametrize(("name", "sign"), [("russian", ":"), ("thai", "-"), ("cbd", "x"), ("international", "x")])
def test_captures_have_the_sign_of_the_game(name: str, sign: str) -> None:
    rules = get_rules(name)
    text = "".join(pdn_of(random_game(rules, np.random.default_rng(seed), 60), rules.notation) for seed in range(3))
    moves = text.replace("\n\n", "]").split("]")
    body = " ".join(part for part in moves if not part.strip().startswith("["))
    assert (sign in body) and all(other not in body for other in {"x", ":"} - {sign})


@pytest.mark.parametrize("name", ["cbd", "american", "spanish", "international"])
def test_damaged_texts_are_refused_or_read_rightly(name: str) -> None:
    """A share of what benchmarks/mutations.py does."""
    rules, rng = get_rules(name), np.random.default_rng(7)
    games = [random_game(rules, rng, int(rng.integers(2, 24))) for _ in range(6)]
    fens = sum(check_fen(mutated(games[i % 6].fen(NOTATIONS[i % 2]), rng), rules) for i in range(400))
    pdns = sum(check_pdn(mutated(pdn_of(games[i % 6], NOTATIONS[i % 2]), rng), (None, rules)[i % 2]) for i in range(60))
    assert 8 < fens < 380 and 2 < pdns < 58


def test_fen_of_another_corner() -> None:
    for name in NAMES:
        rules = get_rules(name)
        boards, color = parse_fen(None, rules)
        letters = format_fen(boards, color, rules, "algebraic")
        for corner in ("bottom_left", "top_right"):
            again, _ = parse_fen(letters, rules, corner)
            assert again.tolist() == boards.tolist()
