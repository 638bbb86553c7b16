"""Damaged FENs, PDNs and YAML rule sets, and what must hold for each: refused in a sentence, or read as written."""

import dataclasses
import random
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import yaml

from damas_env.draw_laws import DrawLaw
from damas_env.errors import FenError
from damas_env.game import Game
from damas_env.notation import format_fen, parse_fen, pieces_of, read_pdn, square_table, write_pdn
from damas_env.notation.game_types import WINNER_OF
from damas_env.notation.pdn_text import split_games
from damas_env.presets import RULE_SETS
from damas_env.rule_files import from_yaml, to_yaml
from damas_env.rules import RuleSet

SECONDS = 120
"""Computing time; more than that for one text, with the compilation that it may need, is a hang."""

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


Fields = dict[str, Any]


@contextmanager
def no_hang() -> Iterator[None]:
    """TimeoutError if what is done takes longer than any text may."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer after {SECONDS} s of computing")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


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
    return write_pdn([game.pdn({"White": "Ana", "Black": "Rui"})], notation)


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


@no_hang()
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


@no_hang()
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


STRANGE = (
    None, True, False, -1, 0, 1, 7, 9, 10**6, 10**30, 1.5, float("nan"), float("inf"), "", "yes", "3", "white\n",
    "ñ" * 300, "\x00", [], [1], [[]], {}, {"a": 1}, "top-left", "BLOCKED", "capture", ["capture", 3],
    [5, 4], [4], [4, 5, 6], ["4", 5],
)  # fmt: skip


def wrong(fields: Fields, rng: random.Random) -> None:
    """Makes the mapping of a rule set say something impossible."""
    law = {"plies": 10, "counter": "mine", "termination": "ENDING"}

    def with_law(**changes: object) -> list[Fields]:
        return [{**law, **changes}]

    faults: list[Callable[[], object]] = [
        lambda: fields.update({rng.choice(("boards", "Size", "name ", "draw-laws", "1")): 8}),
        lambda: fields.update({rng.choice((1, None, True, 2.5)): 8}),
        lambda: fields.pop(rng.choice(("name", "title"))),
        lambda: fields.update(name=rng.choice(("", " ", "a/b", "x.yaml", "-", "a\nb", "n" * 65, 3, None))),
        lambda: fields.update(title=rng.choice(("two\nlines", "t" * 201, 3, ["a"], None))),
        lambda: fields.update(size=rng.choice((0, 7, 12, 8.0, "8", True, -8, 10**400))),
        lambda: fields.update(men_rows=rng.choice((0, 5, 6, -1, "3", 3.0))),
        lambda: fields.update(
            {rng.choice(("mirrored", "flying_kings", "remove_at_end")): rng.choice((0, 1, "x", None))}
        ),
        lambda: fields.update(square_one=rng.choice(("bottom_left", "a1", 1, None))),
        lambda: fields.update(first=rng.choice(("red", "White", 0, None))),
        lambda: fields.update(majority=rng.choice(("most", None, True, 2))),
        lambda: fields.update(promotion=rng.choice(("later", None, False))),
        lambda: fields.update(repetition=rng.choice((1, 6, -3, 3.0, True, "3"))),
        lambda: fields.update(ply_cap=rng.choice((-1, 30_001, 1e3, "400", True))),
        lambda: fields.update(ply_cap=0, ply_cap_draws=True),
        lambda: fields.update(flying_kings=False, king_lands_adjacent=True),
        lambda: fields.update(men_capture_backward=False, promotion="end"),
        lambda: fields.update(size=8, men_rows=3, game_type=20),
        lambda: fields.update(mirrored=True, game_type=26),
        lambda: fields.update(game_type=rng.choice((-1, 100, "26", 26.0))),
        lambda: fields.update(draw_laws=rng.choice((None, {}, "none", 3, [3], [None], [[]], ["law"]))),
        lambda: fields.update(draw_laws=[{key: law[key] for key in law if key != rng.choice(tuple(law))}, 3]),
        lambda: fields.update(draw_laws=with_law(plies=rng.choice((0, -1, 30_001, 9.0, "9", True, None)))),
        lambda: fields.update(draw_laws=with_law(counter=rng.choice(("", "A", "my count", 3, None, "x" * 40)))),
        lambda: fields.update(draw_laws=with_law(termination=rng.choice(("BLOCKED", "ending", 5, None, ["ENDING"])))),
        lambda: fields.update(
            draw_laws=with_law(material=rng.choice((["2K"], ["0K-1K"], ["21K-1K"], ["1K-1K", "1K-1K"], "1K-1K", [3])))
        ),
        lambda: fields.update(
            draw_laws=with_law(resets=rng.choice((["captures"], "capture", ["capture"] * 2, [None])))
        ),
        lambda: fields.update(draw_laws=with_law(pieces=rng.choice(([5, 4], [1, 4], [4], [4, 41], 4, None, ["4", 5])))),
        lambda: fields.update(draw_laws=with_law(material=["3K-1K"], pieces=[6, 7])),
        lambda: fields.update(draw_laws=with_law(material=["3M-1K"], both_have_kings=True)),
        lambda: fields.update(draw_laws=with_law(material=["2K-2K"], lone_king_on_main_diagonal=True)),
        lambda: fields.update(draw_laws=with_law(pauses=True)),
        lambda: fields.update(draw_laws=with_law(pauses=True, material=["1K-1K"], resets=["change"])),
        lambda: fields.update(draw_laws=with_law(resets=["capture"]) + with_law(plies=20)),
        lambda: fields.update(draw_laws=with_law() + with_law()),
        lambda: fields.update(draw_laws=[{**law, "plies": plies} for plies in range(1, 10)]),
        lambda: fields.update(draw_laws=[{**law, "counter": f"c{number}"} for number in range(5)]),
    ]
    rng.choice(faults)()


def mangled(text: str, rng: random.Random) -> str:
    """The text with a few characters or lines changed, or with something that YAML itself makes trouble of."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text) + 1)
        lines = text.split("\n")
        line = rng.randrange(len(lines))
        text = rng.choice(
            (
                lambda text, place: text[:place] + text[place + rng.randint(1, 30) :],
                lambda text, place: text[:place] + rng.choice(":-[]{}&*!|>'\"%@`#,?\t\n\x00\u2028 ²0٣") + text[place:],
                lambda text, place: text[:place] + chr(rng.randrange(32, 0x3000)) + text[place + 1 :],
                lambda text, place, lines=lines, line=line: "\n".join(lines[:line] + lines[line + 1 :]),
                lambda text, place, lines=lines, line=line: "\n".join([*lines, lines[line]]),
                lambda text, place, lines=lines, line=line: "\n".join(
                    [*lines[:line], "  " + lines[line], *lines[line:]]
                ),
            )
        )(text, place)
    return text


def bomb(text: str, rng: random.Random) -> str:
    """A text made to take long, to nest deeply or to grow."""
    number = rng.choice((50, 2_000, 60_000))
    return rng.choice(
        (
            text + "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9) if n else 'a'}]\n" for n in range(30)),
            text + "title: " + "[" * number,
            text + "title: " + "[" * number + "]" * number,
            text + "title: " + "{a: " * number,
            "- " * number + text,
            text + "ply_cap: " + "9" * number,
            text + "ply_cap: 0x" + "f" * number,
            text + "title: " + "t" * number,
            text + "? " * number,
            text + "&a " * number,
            text + "!!python/object/apply:os.system ['false']",
            text + "<<: {size: 6}\n",
            text + "---\n" + text,
            "%YAML 9.9\n---\n" + text,
            "#" * number + "\n" + " " * number + text,
            text + "title: !!binary " + "A" * number,
            text + "title: 2001-99-99\nply_cap: 1:2:3\n",
            "\ufeff" * rng.randint(1, 3) + text,
        )
    )  # fmt: skip


def mutated_rules(rng: random.Random) -> tuple[str, bool]:
    """A damaged rule set as YAML, and whether it must be refused."""
    text = to_yaml(rng.choice(list(RULE_SETS.values())))
    kind = rng.random()
    if kind < 0.5:
        fields = yaml.safe_load(text)
        wrong(fields, rng)
        return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True), True
    if kind < 0.7:
        fields = yaml.safe_load(text)
        target = rng.choice([fields, *fields["draw_laws"]])
        names = [key.name for key in dataclasses.fields(RuleSet if target is fields else DrawLaw)]
        target[rng.choice(names)] = rng.choice(STRANGE)
        return yaml.safe_dump(fields, sort_keys=False, allow_unicode=True), False
    if kind < 0.98:
        return mangled(text, rng), False
    return bomb(text, rng), False


@no_hang()
def check_rules(text: str, must_fail: bool) -> bool:
    """Reads a damaged rule set; True if it was accepted."""
    try:
        rules = from_yaml(text, "mutant")
    except ValueError as error:
        message = str(error)
        assert message.startswith("mutant") and "\n" not in message and len(message) <= 400, message
        return False
    assert not must_fail, rules
    assert from_yaml(to_yaml(rules)) == rules
    assert as_written(rules, yaml.safe_load(text)), rules
    return True


def as_written(rules: RuleSet, fields: Fields) -> bool:
    """Whether each field is what the YAML says, and the default where it says nothing."""

    def agree(value: object, given: Fields) -> bool:
        for key in dataclasses.fields(value):  # type: ignore[arg-type]
            mine = getattr(value, key.name)
            if key.name not in given:
                if mine != key.default:
                    return False
            elif key.name == "draw_laws":
                if len(mine) != len(given["draw_laws"]) or not all(map(agree, mine, given["draw_laws"])):
                    return False
            elif key.name == "termination":
                if mine.name != given[key.name]:
                    return False
            else:
                plain = list(mine) if isinstance(mine, tuple) else mine
                if plain != given[key.name] or type(plain) is not type(given[key.name]):
                    return False
        known = {key.name for key in dataclasses.fields(value)}  # type: ignore[arg-type]
        return set(given) <= known

    return agree(rules, fields)
