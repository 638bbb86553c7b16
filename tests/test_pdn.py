"""PDN: reading what files in the wild hold, reports on sloppy files, writing, round trips."""

import numpy as np
import pytest

from damas_env.errors import PdnError
from damas_env.game import Game
from damas_env.notation import PdnGame, decode, encoding_of, format_move, read_pdn, result_of, visible, write_pdn
from damas_env.notation.game_types import format_game_type as game_type
from damas_env.notation.squares import square_table
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Outcome, Termination

CBD = get_rules("cbd")
OPENING = "1. c3-d4 d6-c5 2. b2-c3 f6-g5"
LOST = "W:W29:B22,25"


def random_game(seed: int, rules: RuleSet = CBD, plies: int = 300, fen: str | None = None) -> Game:
    rng = np.random.default_rng(seed)
    game = Game(rules, fen)
    while game.outcome() is None and game.ply < plies:
        legal = game.legal_moves()
        game.push(legal[rng.integers(len(legal))])
    return game


def only(text: str, rules: RuleSet = CBD) -> PdnGame:
    (game,) = read_pdn(text, rules)
    return game


def spelled(game: PdnGame) -> list[str]:
    replay, texts = Game(game.rules, game.fen), []
    for move in game.moves:
        texts.append(format_move(move, replay.positions, "algebraic"))
        replay.push(move)
    return texts


# Reading


def test_a_plain_game() -> None:
    game = only(
        f'[Event "Copa"]\n[White "Ana"]\n[Black "Rui \\"R\\" \\\\"]\n[Result "1-0"]\n[GameType "26"]\n\n{OPENING} 1-0\n'
    )
    assert game.error is None and game.notes == []
    assert game.tags["White"] == "Ana" and game.tags["Black"] == 'Rui "R" \\'
    assert spelled(game) == ["c3-d4", "d6-c5", "b2-c3", "f6-g5"]
    assert (game.result, game.line, game.numbering, game.fen, game.outcome) == ("1-0", 1, "algebraic", None, None)
    assert game.final_fen == "W:W18,21,22,23,24,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,12,14,16"


@pytest.mark.parametrize(
    "text",
    [
        "1. c3-d4 { a comment with 1. a3-b4 and ( } d6-c5 ; 2. nonsense\n2. b2-c3 f6-g5 *",
        "1. c3-d4! d6-c5?? $14 2. b2-c3 (2. a3-b4 f6-g5 (2... d8-e7 {(}) ) (2. g3-h4!?) f6-g5(?) $2 *",
        "1.c3-d4 d6-c5 2.b2-c3 f6-g5",
        "1. c3-d4 1... d6-c5 2. b2-c3 2... f6-g5 1/2-1/2",
        "c3d4 d6c5 b2c3 f6g5 2-0",
        "1. cd4 dc5 2. bc3 fg5",
        "1. 22-18 10-14 2. 25-22 11-16",
        "1. 22 - 18 10 -14 2. 25- 22 11-16 0-2",
        "1 22-18 10-14 2 25-22 11-16",
        "1. C3-D4 D6-C5 2. b2\u2013c3 f6\u2014g5",
        "% exported\n1. c3-d4 % why\n d6-c5\n2. b2-c3 f6-g5 1-1",
        "\ufeff1. c3-d4 d6-c5\r\n2. b2-c3\r\nf6-g5\r\n1-0\r\n",
        "1. c3-d4 d6-c5\r2. b2-c3 f6-g5\r*",
        "1. c3-d4* d6-c5* 2. b2-c3* f6-g5*",
        "01. 22-18 10-14 02. 025-22 11-16",
    ],
)
def test_ways_of_writing_one_game(text: str) -> None:
    game = only(text)
    assert game.error is None, game.error
    assert spelled(game) == ["c3-d4", "d6-c5", "b2-c3", "f6-g5"]


@pytest.mark.parametrize("result", ["1-0", "0-1", "1/2-1/2", "0-0", "2-0", "0-2", "1-1", "*"])
def test_results_of_both_conventions(result: str) -> None:
    assert only(f"{OPENING} {result}").result == result
    assert only(f'[Result "{result}"]\n\n{OPENING} *').result == result
    assert only(f'[Result "{result}"]\n').result == result
    games = read_pdn(f'{OPENING} {result} {OPENING} {result}\n\n[Event "third"]\n{OPENING}', CBD)
    assert [len(game.moves) for game in games] == [4, 4, 4]
    assert [game.result for game in games] == [result, result, "*"]


def test_several_games_and_their_lines() -> None:
    text = f'[Event "one"]\n\n{OPENING} *\n\n[Event "two"]\n{OPENING}\n\n[Event "three"]\n[Result "1-0"]\n*\n* *\n'
    games = read_pdn(text, CBD)
    assert [game.tags["Event"] for game in games] == ["one", "two", "three"]
    assert [game.line for game in games] == [1, 5, 8]
    assert [len(game.moves) for game in games] == [4, 4, 0]
    assert all(game.error is None for game in games)


def test_headers_without_moves_are_games() -> None:
    games = read_pdn('[Event "a"]\n[Result "*"]\n\n[Event "b"]\n[Event "c"]\n', CBD)
    assert [game.tags["Event"] for game in games] == ["a", "b", "c"]
    assert read_pdn("", CBD) == read_pdn(" \n ; nothing\n{nothing}\n*", CBD) == []


@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        ("B:W22:B11,K1", "1... f6-e5 2. c3-d4"),
        ("B:W22:B11,K1.", "1. ... f6-e5 2. c3-d4"),
        ("B:Wc3:Bf6,Kb8:H0:F1", "1... 11-15 2. 22-18"),
    ],
)
def test_set_up_positions(fen: str, moves: str) -> None:
    for header in (f'[SetUp "1"]\n[FEN "{fen}"]\n\n', f'/FEN "{fen}"/ '):
        game = only(header + moves)
        assert game.error is None, game.error
        assert game.fen == "B:W22:BK1,11"
        assert spelled(game) == ["f6-e5", "c3-d4"]


# Numbering


def renumbered(game: Game, corner: str) -> str:
    own, other = square_table(CBD), square_table(CBD, corner)
    texts = []
    for move in game.moves:
        squares = [other.numbers[own.names[n]] for n in (move.frm, move.to)]
        texts.append(("x" if move.captures else "-").join(map(str, squares)))
    return " ".join(texts)


@pytest.mark.parametrize("tag", ["26,W,8,8,A0,0", "26,W,8,8,A1,0", "26,W,8,8,A0", "26,W,8,8,N0,0"])
def test_numbers_count_from_a1_where_the_tag_says_so(tag: str) -> None:
    game = random_game(3, plies=40)
    read = only(f'[GameType "{tag}"]\n\n{renumbered(game, "bottom_left")} *')
    assert read.error is None and read.moves == game.moves
    assert read.numbering == "bottom_left" and read.notes == []


@pytest.mark.parametrize("header", ["", '[GameType "26"]\n\n', '[GameType "26,W,8,8,N2,0"]\n\n'])
def test_bare_numbers_count_from_the_top(header: str) -> None:
    game = random_game(4, plies=40)
    read = only(f"{header}{renumbered(game, 'top_left')} *")
    assert read.error is None and read.moves == game.moves
    assert read.numbering == "top_left" and read.notes == []


def test_the_legal_reading_wins_and_is_reported() -> None:
    game = random_game(5, plies=40)
    read = only(f'[GameType "26"]\n\n{renumbered(game, "bottom_left")} *')
    assert read.error is None and read.moves == game.moves and read.numbering == "bottom_left"
    assert read.notes == ["square 1 was taken to be bottom left, since the moves are not legal with top left"]
    read = only(f'[GameType "26,W,8,8,A0,0"]\n\n{renumbered(game, "top_left")} *')
    assert read.error is None and read.moves == game.moves and read.numbering == "top_left"
    assert "top left" in read.notes[0]


def test_numeric_fen_is_read_like_the_moves() -> None:
    read = only('[GameType "26,W,8,8,A0,0"]\n[FEN "W:W1-12:B21-32"]\n\n1. 10-14 23-19 *')
    assert read.error is None and spelled(read) == ["c3-d4", "f6-e5"]
    assert read.fen == Game().fen()


def test_foreign_game_types_are_noted() -> None:
    assert "GameType 20" in only(f'[GameType "20,W,10,10,N2,0"]\n{OPENING}').notes[0]
    assert "10x10" in only(f'[GameType "20,W,10,10,N2,0"]\n{OPENING}').notes[1]
    assert "not understood" in only(f'[GameType "damas"]\n{OPENING}').notes[0]


# Reports


@pytest.mark.parametrize(
    ("text", "line", "ply", "moves", "reason"),
    [
        (f"{OPENING}\n3. a3-b4 c5xa3\n4. a1-h8 *", 3, 7, 6, "illegal"),
        (f"{OPENING}\n3. White resigns 1-0", 2, 5, 4, "'White' is neither a move nor a result"),
        (f"{OPENING} 3. - -", 1, 5, 4, "neither a move"),
        (f"{OPENING}\n{{ open", 2, 5, 4, "comment opened by '{' is never closed"),
        (f"{OPENING} {{ a {{ b }} c }} 3. a3-b4", 1, 5, 4, "neither a move"),
        (f"{OPENING}\n(3. a3-b4 *", 2, 5, 4, "variation opened by '(' is never closed"),
        (f"{OPENING} ) *", 1, 5, 4, "never opened"),
        ("1. c3-d4 f6-e5\n2. d4xf6\n33-17", 3, 4, 3, "square 33"),
        ("1. c3-d4 c3-d4", 1, 2, 1, "illegal"),
        ('[FEN "W:W33:B1"]\n1. c3-d4', 1, 0, 0, "square 33"),
        ('[FEN ""]\n1. c3-d4', 1, 0, 0, "empty FEN"),
        (f'{OPENING}\n/FEN "W:W21:B1"/ 3. a3-b4', 2, 5, 4, "set up anew"),
        (f'[FEN "{LOST}"]\n\n1. a1-b2 *', 3, 1, 0, "the game is over"),
        ("[no tag at all]\n1. c3-d4 *".replace("no", "{no}"), 1, 1, 0, "neither a move"),
        ('[Event "a"\n1. c3-d4 oops', 2, 2, 1, "'oops'"),
        ("PK\x03\x04\x00\x00binary", 1, 1, 0, "neither a move"),
        ("1. 999-1", 1, 1, 0, "square 999"),
        ("1. c3-d4 d6-c5 2. b2-b2", 1, 3, 2, "illegal"),
    ],
)
def test_bad_games_say_where_and_why(text: str, line: int, ply: int, moves: int, reason: str) -> None:
    game = read_pdn(text, CBD)[0]
    assert game.error is not None
    assert (game.error.line, game.error.ply, len(game.moves)) == (line, ply, moves), game.error
    assert reason in game.error.reason and "\n" not in game.error.reason


def test_a_bad_game_does_not_hide_the_next_one() -> None:
    text = f'[Event "bad"]\n\n1. c3-d4 oops 2. b2-c3 *\n\n[Event "good"]\n\n{OPENING} *\n'
    bad, good = read_pdn(text, CBD)
    assert bad.error and bad.error.line == 3 and bad.error.text == "oops"
    assert good.error is None and len(good.moves) == 4 and good.line == 5


def test_contradictions_are_noted() -> None:
    assert "Result tag" in only(f'[Result "0-1"]\n\n{OPENING} 1-0').notes[0]
    won = only('[FEN "W:W22:B18"]\n[Result "0-1"]\n\n1. c3xe5 *')
    assert won.outcome == Outcome(Termination.NO_PIECES, "W")
    assert won.notes == ["the result is '0-1', but W has won on the board"]
    assert only('[FEN "W:W22:B18"]\n[Result "1-0"]\n\n1. c3xe5 *').notes == []


def test_a_game_that_goes_on_after_a_draw_is_legal_but_noted() -> None:
    there_and_back = "g1-f2 b8-c7 f2-g1 c7-b8 "
    game = only(f'[FEN "W:W21,K32:B12,K1"]\n\n{3 * there_and_back} *')
    assert game.error is None and len(game.moves) == 12
    assert game.notes == ["the rules 'cbd' end the game (REPETITION after ply 8), but it goes on"]


@pytest.mark.parametrize(
    "data",
    [
        OPENING.encode(),
        b"\xef\xbb\xbf" + OPENING.encode(),
        OPENING.encode("utf-16"),
        (OPENING + " {caf\xe9}").encode("latin-1"),
    ],
)
def test_encodings(data: bytes) -> None:
    assert len(only(decode(data)).moves) == 4


def test_arbitrary_bytes_never_raise() -> None:
    rng = np.random.default_rng(2)
    alphabet = np.frombuffer(b'0123456789abcdefgh-x:.*()[]{}"/$!?; \nWBKFEN\\\xff\x00', dtype=np.uint8)
    for _ in range(300):
        read_pdn(decode(alphabet[rng.integers(0, len(alphabet), 200)].tobytes()), CBD)


def test_slips_that_are_read_and_reported() -> None:
    text = (
        b'[Event "The "big" one"]\r\n[White "Jos\xe9"]\r\n[White "Ana"]\r\n1.c3xd4 d6:c5\r\n2.b2-c3... f6xg5'
        b"\r\n5. a3-b4 c5-a3\r\n"
        b"1. 22-18 10 -14 2. 25- 22 11-16 1 - 0 \r\n1. c3-d4 d6-c5 \xbd-\xbd"
    )
    first, second, third = read_pdn(decode(text), CBD)
    assert first.error is None and len(first.moves) == 6 and first.tags["White"] == "Jos\u00e9"
    assert first.tags["Event"] == 'The "big" one'
    assert first.notes == [
        'line 1: the tag Event is not written as [Event "..."]',
        "line 3: the tag White stands there again; the first one counts",
        "nothing separates this game from the next one, which begins in line 7",
        "a move that takes nothing is written like a capture: 'c3xd4' in line 4 and 2 more",
        "a move number does not follow the one before: '5. a3-b4' in line 6",
        "a capture is written like a move that takes nothing: 'c5-a3' in line 6",
        "no result stands behind the moves or in the header",
    ]
    assert (second.line, second.result, second.error, second.notes) == (7, "1-0", None, [])
    assert (third.line, third.result, third.error, third.notes) == (8, "1/2-1/2", None, [])


def test_latin_1_bytes_are_told_from_utf_8() -> None:
    assert [encoding_of(data) for data in (b"a", "\u00e9".encode(), b"\xe9", "a".encode("utf-16"))] == [
        "utf-8", "utf-8", "cp1252", "utf-16",
    ]  # fmt: skip


@pytest.mark.parametrize("number", ["1. c3-d4 1... d6-c5", "1. c3-d4 1. d6-c5", "1.. c3-d4 d6-c5", "17. c3-d4 d6-c5"])
def test_move_numbers_that_start_no_game(number: str) -> None:
    game = only(f"{number} *")
    assert len(game.moves) == 2 and game.notes == []


def test_a_game_from_the_middle_of_another_one_keeps_its_numbers() -> None:
    assert only('[FEN "B:W22:B11,K1"]\n\n31... f6-e5 32. c3-d4 *').notes == []
    assert only('[FEN "B:W22:B11,K1"]\n\n1. f6-e5 c3-d4 2. e5xc3 *').notes == []


def test_texts_are_made_visible() -> None:
    assert visible("Jos\u00e9 1\n\u0444") == "Jos\u00e9 1\n\u0444"
    assert visible("a\x1b[31m\x07\u202e\x9b\x00\ud800") == "a\\x1b[31m\\x07\\u202e\\x9b\\x00\\ud800"
    assert visible("a\tb\rc\u00a0d\u2028e\x85f") == "a b c d e f"


# Writing


@pytest.mark.parametrize("notation", ["algebraic", "numeric"])
def test_random_games_come_back(notation: str) -> None:
    games = [random_game(seed).pdn({"Event": "Self-play", "Round": str(seed)}) for seed in range(25)]
    games.append(random_game(1, plies=9).pdn({}))
    text = write_pdn(games, notation)
    assert all(len(line) <= 80 for line in text.splitlines())
    read = read_pdn(text, CBD)
    assert [game.moves for game in read] == [game.moves for game in games]
    assert [game.result for game in read] == [game.result for game in games]
    assert {game.result for game in games} == {"1-0", "0-1", "*"}
    assert all(game.error is None and game.notes == [] for game in read)
    assert {game.numbering for game in read} == {"algebraic" if notation == "algebraic" else "top_left"}
    assert write_pdn(read, notation) == text
    assert read_pdn(text.replace("\n", "\r\n"), CBD)[3].moves == games[3].moves


@pytest.mark.parametrize("notation", ["algebraic", "numeric"])
@pytest.mark.parametrize("fen", ["B:W21,22,23,K24:BK1,2,3,4", "W:WK21:B8,11,17,19", "B:W6,7,K23,K24:BK9"])
def test_set_up_games_come_back(fen: str, notation: str) -> None:
    for seed in range(8):
        game = random_game(seed, fen=fen).pdn({})
        text = write_pdn([game], notation)
        read = only(text)
        assert read.moves == game.moves and read.fen == fen and read.error is None
        assert ('[SetUp "1"]' in text) and ("1... " in text) == (fen[0] == "B")


def test_written_text_follows_pdn_3() -> None:
    game = Game()
    for text in ("22-18", "10-14", "25-22"):
        game.push(text)
    tags = {"White": 'Ana "A" \\', "Event": "two\nlines", "Extra": "1"}
    assert write_pdn([PdnGame(CBD, game.moves, tags, "1-0")]).splitlines() == [
        '[Event "two lines"]',
        '[Site "?"]',
        '[Date "????.??.??"]',
        '[Round "?"]',
        '[White "Ana \\"A\\" \\\\"]',
        '[Black "?"]',
        '[Result "1-0"]',
        '[Extra "1"]',
        '[GameType "26,W,8,8,A0,0"]',
        "",
        "1. c3-d4 d6-c5 2. b2-c3 *",
    ]
    read = only(write_pdn([PdnGame(CBD, game.moves, tags, "1-0")], "numeric"))
    assert read.tags["White"] == tags["White"] and read.tags["GameType"] == "26,W,8,8,N2,0"


def test_other_boards_are_written_as_their_rules_say() -> None:
    ten = RuleSet("ten", "", size=10, men_rows=4, notation="numeric", game_type=20)
    assert game_type(ten, "numeric") == "20,W,10,10,N2,0"
    assert game_type(RuleSet("english", "", first="black", game_type=21), "numeric") == "21,B,8,8,N1,0"
    assert (
        game_type(RuleSet("spanish", "", mirrored=True, square_one="bottom_right", game_type=24), "numeric")
        == "24,W,8,8,N1,1"
    )
    assert result_of(Outcome(Termination.BLOCKED, "W"), ten) == "2-0"
    assert result_of(Outcome(Termination.REPETITION, None), ten) == "1-1"
    assert result_of(Outcome(Termination.REPETITION, None), CBD) == "1/2-1/2"
    assert result_of(Outcome(Termination.RESIGNATION, "B"), CBD) == "0-1"
    assert result_of(Outcome(Termination.PLY_CAP, None), CBD) == result_of(None, CBD) == "*"


def test_what_cannot_be_written() -> None:
    game = Game()
    game.push("22-18")
    with pytest.raises(PdnError, match="ply 2, 22 to 18, is not legal"):
        write_pdn([PdnGame(CBD, game.moves * 2)])
    with pytest.raises(PdnError, match="no name of a PDN tag"):
        write_pdn([PdnGame(CBD, tags={"bad tag": "1"})])
    with pytest.raises(PdnError, match="unknown notation 'san'"):
        write_pdn([PdnGame(CBD)], "san")


def test_files_of_another_program(tmp_path) -> None:
    """pydraughts writes squares from a1; its random games are read with the same moves and final position."""
    pydraughts = pytest.importorskip("draughts")
    from draughts.PDN import PDNWriter

    rng = np.random.default_rng(8)
    for index in range(5):
        board = pydraughts.Board("brazilian", "startpos")
        numeric = []
        for _ in range(60):
            legal = board.legal_moves()
            if not legal or board.is_over():
                break
            move = legal[rng.integers(len(legal))]
            numeric.append(move.pdn_move)
            board.push(move)
        path = tmp_path / f"{index}.pdn"
        PDNWriter(str(path), board=board)
        game = only(decode(path.read_bytes()))
        assert game.error is None and len(game.moves) == len(numeric)
        again = only('[GameType "26,W,8,8,A0,0"]\n' + " ".join(numeric))
        assert again.moves == game.moves and again.numbering == "bottom_left"
