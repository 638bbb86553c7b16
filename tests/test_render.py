"""Text, SVG and RGB boards."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from damas_env import render
from damas_env.game import Game
from damas_env.notation import square_table
from damas_env.rules import RuleSet

MIXED = "W:W22,K29:B3,K12,18"
START = """\
     a  b  c  d  e  f  g  h
  8     b     b     b     b  8    1  2  3  4
  7  b     b     b     b     7    5  6  7  8
  6     b     b     b     b  6    9 10 11 12
  5  .     .     .     .     5   13 14 15 16
  4     .     .     .     .  4   17 18 19 20
  3  w     w     w     w     3   21 22 23 24
  2     w     w     w     w  2   25 26 27 28
  1  w     w     w     w     1   29 30 31 32
     a  b  c  d  e  f  g  h"""


def test_plain_text() -> None:
    assert render.text(Game().positions) == START


def test_text_from_the_other_side_is_turned() -> None:
    lines = render.text(Game(fen=MIXED).positions, flip=True).splitlines()
    assert lines[0].split() == list("hgfedcba") and lines[1].startswith("  1 ") and lines[8].startswith("  8 ")
    plain = render.text(Game(fen=MIXED).positions).splitlines()
    for turned, line in zip(lines[1:-1], reversed(plain[1:-1]), strict=True):
        assert turned[4:28] == line[4:28][::-1]
        assert turned.split()[-4:] == line.split()[-4:][::-1]


def test_text_shows_black_to_move_with_white_below() -> None:
    game = Game()
    game.push("22-18")
    assert render.text(game.positions).splitlines()[1:4] == START.splitlines()[1:4]
    assert "w" in render.text(game.positions).splitlines()[5]


def test_text_highlights() -> None:
    game = Game(fen=MIXED)
    move = game.push("22x15")
    text = render.text(game.positions, last_move=move, targets=[1, 2])
    assert text.count("[w]") == 1 and text.count("[.]") == 1 and text.count("*") == 2
    assert "[w]" in text.splitlines()[4] and "[.]" in text.splitlines()[6] and text.splitlines()[1].count("*") == 2


def test_colored_text_is_the_plain_text_in_colour() -> None:
    positions = Game(fen=MIXED).positions
    colored = render.text(positions, color=True, targets=[13])
    stripped = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert stripped != colored and colored.count("\x1b[0m") == 64
    assert (stripped.count("●"), stripped.count("♛"), stripped.count("·")) == (3, 2, 27)
    assert [len(line) for line in stripped.splitlines()] == [len(line) for line in render.text(positions).splitlines()]


def circles(svg: str) -> int:
    return svg.count('r="0.41"')


def test_svg_is_a_document_with_every_piece() -> None:
    game = Game(fen=MIXED)
    plain = render.svg(game.positions)
    root = ET.fromstring(plain)
    assert root.tag.endswith("svg") and root.attrib["viewBox"] == "0 0 9 9" and root.attrib["width"] == "480"
    assert circles(plain) == 5 and plain.count("<polygon") == 2
    assert plain.count("<text") == 32 + 4 * 8
    move = game.push("22x15")
    marked = render.svg(game.positions, last_move=move, targets=[1, 2], width=300, flip=True)
    ET.fromstring(marked)
    assert marked.count(f'fill="{render._MARKED}"') == 2 and marked.count(f'r="{render._DOT}"') == 2
    assert marked.count("<path") == 1 and circles(marked) == 4
    assert ">White to move<" in plain and ">Black to move<" in marked


def centre(number: int, flip: bool, cell: int) -> tuple[int, int]:
    row, column = square_table(Game().rules).cells[number]
    if flip:
        row, column = 7 - row, 7 - column
    return cell // 2 + row * cell + cell // 2, cell // 2 + column * cell + cell // 2


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("cell", [15, 33, 48])
def test_rgb_pixels(flip: bool, cell: int) -> None:
    game = Game(fen=MIXED)
    move = game.push("22x15")
    image = render.rgb_array(game.positions, flip=flip, last_move=move, targets=[1], cell=cell)
    assert image.shape == (9 * cell, 9 * cell, 3) and image.dtype == np.uint8
    assert tuple(image[centre(15, flip, cell)]) == render._rgb(render._BODY["w"])
    assert tuple(image[centre(3, flip, cell)]) == render._rgb(render._BODY["b"])
    assert tuple(image[centre(22, flip, cell)]) == render._rgb(render._MARKED)
    assert tuple(image[centre(1, flip, cell)]) == render._rgb(render._TARGET)
    assert tuple(image[centre(20, flip, cell)]) == render._rgb(render._DARK)
    assert tuple(image[centre(29, flip, cell)]) == render._rgb(render._CROWN["w"])
    assert tuple(image[centre(12, flip, cell)]) == render._rgb(render._CROWN["b"])
    assert tuple(image[0, 0]) == render._rgb(render._FRAME)


def test_rgb_edges_are_smooth_and_images_are_fresh() -> None:
    positions = Game().positions
    image = render.rgb_array(positions)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 50
    image[:] = 0
    assert render.rgb_array(positions).any()
    with pytest.raises(ValueError, match="too small"):
        render.rgb_array(positions, cell=7)


@pytest.mark.parametrize("rules", [RuleSet("ten", "", size=10, men_rows=4), RuleSet("m", "", mirrored=True)], ids=str)
def test_other_boards(rules: RuleSet) -> None:
    positions = Game(rules).positions
    lines = render.text(positions).splitlines()
    assert len(lines) == rules.size + 2
    # The left corner below is empty of pieces where the board is mirrored.
    assert lines[-2][4:7] == ("   " if rules.mirrored else " w ")
    assert render.rgb_array(positions, cell=8).shape == ((rules.size + 1) * 8, (rules.size + 1) * 8, 3)
    ET.fromstring(render.svg(positions))
