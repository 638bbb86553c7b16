"""The board as text, as SVG and as an RGB array, without other libraries than NumPy.

All three show White below (or Black, with ``flip``), the last move and the squares that a player may go to.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from damas_env.notation.fen import pieces_of
from damas_env.notation.moves import Move
from damas_env.notation.squares import square_table
from damas_env.position import Positions

_FILES = "abcdefghij"

# Palette of SVG and RGB array.
_LIGHT, _DARK, _FRAME = "#ecd3a3", "#a3693b", "#5b3620"
_MARKED, _TARGET, _LETTERS, _NUMBERS = "#c9a23a", "#7fae4f", "#ecd3a3", "#c89468"
_BODY = {"w": "#fbf3e0", "b": "#332b28"}
_EDGE = {"w": "#b9a888", "b": "#0f0c0b"}
_CROWN = {"w": "#b3282d", "b": "#e8b83c"}

# Radii and shapes in units of a cell whose side is 1, the centre at (0, 0) and y growing downwards.
_RADIUS, _RING, _DOT = 0.40, 0.29, 0.11
_CROWN_SHAPE = (
    (-0.19, 0.14), (0.19, 0.14), (0.23, -0.12), (0.10, -0.01), (0.0, -0.19), (-0.10, -0.01), (-0.23, -0.12),
)  # fmt: skip

# Colours of the text board: indices of the 256-colour palette.
_TEXT_LIGHT, _TEXT_DARK, _TEXT_MARKED, _TEXT_TARGET = 180, 94, 136, 65
_TEXT_WHITE, _TEXT_BLACK, _TEXT_FAINT = 231, 16, 137


class _Cell(NamedTuple):
    """One cell as it is drawn; its number is 0 if it is not playable, its piece "" if it is empty."""

    row: int
    column: int
    number: int
    piece: str
    marked: bool
    target: bool


def _cells(
    positions: Positions, index: int, flip: bool, last_move: Move | None, targets: Iterable[int]
) -> Iterator[_Cell]:
    """All cells of the drawing, row by row from its top left corner."""
    rules = positions.rules
    size, table = rules.size, square_table(rules)
    pieces = pieces_of(positions.boards[index], int(positions.colors[index]), rules)
    number_at = {cell: number for number, cell in enumerate(table.cells) if number}
    marked = {last_move.frm, last_move.to} if last_move else set()
    wanted = set(targets)
    for row in range(size):
        for column in range(size):
            seen = (size - 1 - row, size - 1 - column) if flip else (row, column)
            number = number_at.get(seen, 0)
            yield _Cell(row, column, number, pieces.get(number, ""), number in marked, number in wanted)


def text(
    positions: Positions,
    index: int = 0,
    *,
    flip: bool = False,
    color: bool = False,
    last_move: Move | None = None,
    targets: Iterable[int] = (),
) -> str:
    """The board as lines of text with file letters, rank digits and the numbers of the squares beside it.

    Args:
        positions: a batch.
        index: which game of the batch.
        flip: show Black below.
        color: use terminal colours (256-colour escape sequences); else ``w``, ``b`` are men, ``W``, ``B``
            kings, ``.`` empty squares, ``*`` targets, and the last move is in brackets.
        last_move: the move that led here.
        targets: numbers of squares to highlight.
    """
    size = positions.rules.size
    files = _FILES[:size][::-1] if flip else _FILES[:size]
    header = "    " + "".join(f" {letter} " for letter in files)
    lines = [header.rstrip()]
    cells = list(_cells(positions, index, flip, last_move, targets))
    for row in range(size):
        line = cells[row * size : (row + 1) * size]
        rank = row + 1 if flip else size - row
        numbers = " ".join(f"{cell.number:2}" for cell in line if cell.number)
        drawn = "".join(_colored(cell) if color else _plain(cell) for cell in line)
        lines.append(f" {rank:2} {drawn} {rank:<2}  {numbers}")
    return "\n".join((*lines, lines[0]))


def _plain(cell: _Cell) -> str:
    if not cell.number:
        return "   "
    symbol = cell.piece or ("*" if cell.target else ".")
    return f"[{symbol}]" if cell.marked else f" {symbol} "


def _colored(cell: _Cell) -> str:
    if not cell.number:
        return f"\x1b[48;5;{_TEXT_LIGHT}m   \x1b[0m"
    ground = _TEXT_TARGET if cell.target else _TEXT_MARKED if cell.marked else _TEXT_DARK
    if cell.piece:
        ink, symbol = (
            (_TEXT_WHITE if cell.piece in "wW" else _TEXT_BLACK),
            ("♛" if cell.piece in "WB" else "●"),
        )
    else:
        ink, symbol = _TEXT_FAINT, "·"
    return f"\x1b[48;5;{ground};38;5;{ink};1m {symbol} \x1b[0m"


def svg(
    positions: Positions,
    index: int = 0,
    *,
    flip: bool = False,
    last_move: Move | None = None,
    targets: Iterable[int] = (),
    width: int = 480,
) -> str:
    """The board as an SVG document.

    Args:
        positions: a batch.
        index: which game of the batch.
        flip: show Black below.
        last_move: the move that led here; its squares are tinted and captured pieces' squares get a cross.
        targets: numbers of squares to mark with a dot.
        width: width and height in pixels.
    """
    size = positions.rules.size
    span = size + 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{width}" '
        f'viewBox="0 0 {span} {span}" font-family="Georgia, serif" text-anchor="middle">',
        f"<title>{'Black' if positions.colors[index] else 'White'} to move</title>",
        "<defs>",
        _gradient("frame", "linear", (("0", "#6d432a"), ("1", "#452817"))),
        _gradient("light", "linear", (("0", "#f2dcb1"), ("1", "#e5c892"))),
        _gradient("dark", "linear", (("0", "#ab7041"), ("1", "#965d33"))),
        _gradient("white", "radial", (("0", "#ffffff"), ("0.7", _BODY["w"]), ("1", "#dccdae"))),
        _gradient("black", "radial", (("0", "#6a5b54"), ("0.6", "#3b322e"), ("1", "#211b19"))),
        "</defs>",
        f'<rect width="{span}" height="{span}" rx="0.14" fill="url(#damas-frame)"/>',
        f'<rect x="0.46" y="0.46" width="{size + 0.08}" height="{size + 0.08}" fill="#2e1a0f"/>',
    ]
    taken = set(last_move.captures) if last_move else set()
    for cell in _cells(positions, index, flip, last_move, targets):
        left, top = cell.column + 0.5, cell.row + 0.5
        fill = _MARKED if cell.marked else "url(#damas-dark)" if cell.number else "url(#damas-light)"
        parts.append(f'<rect x="{left}" y="{top}" width="1" height="1" fill="{fill}"/>')
        if cell.number:
            place = f'x="{left + 0.13:g}" y="{top + 0.21:g}"'
            parts.append(f'<text {place} font-size="0.17" fill="{_NUMBERS}">{cell.number}</text>')
        centre = f'transform="translate({left + 0.5} {top + 0.5})"'
        if cell.piece:
            parts.append(f"<g {centre}>{_svg_piece(cell.piece)}</g>")
        if cell.number in taken and not cell.piece:
            cross = "M-0.14 -0.14L0.14 0.14M0.14 -0.14L-0.14 0.14"
            parts.append(f'<path {centre} d="{cross}" stroke="#7d2418" stroke-width="0.05" opacity="0.7"/>')
        if cell.target:
            parts.append(f'<circle {centre} r="{_DOT}" fill="{_TARGET}" stroke="#4c7030" stroke-width="0.03"/>')
    for step in range(size):
        file = _FILES[size - 1 - step if flip else step]
        rank = step + 1 if flip else size - step
        for x, y, label in (
            (step + 1, 0.34, file),
            (step + 1, span - 0.16, file),
            (0.25, step + 1.09, rank),
            (span - 0.25, step + 1.09, rank),
        ):
            parts.append(f'<text x="{x:g}" y="{y:g}" font-size="0.27" fill="{_LETTERS}">{label}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _gradient(name: str, kind: str, stops: tuple[tuple[str, str], ...]) -> str:
    shape = 'x1="0" y1="0" x2="1" y2="1"' if kind == "linear" else 'cx="0.38" cy="0.34" r="0.75"'
    inner = "".join(f'<stop offset="{offset}" stop-color="{color}"/>' for offset, color in stops)
    return f'<{kind}Gradient id="damas-{name}" {shape}>{inner}</{kind}Gradient>'


def _svg_piece(piece: str) -> str:
    side = piece.lower()
    fill = "white" if side == "w" else "black"
    parts = [
        f'<circle cx="0.02" cy="0.05" r="{_RADIUS + 0.01:g}" fill="#000" opacity="0.35"/>',
        f'<circle r="{_RADIUS}" fill="url(#damas-{fill})" stroke="{_EDGE[side]}" stroke-width="0.03"/>',
        f'<circle r="{_RING}" fill="none" stroke="{_EDGE[side]}" stroke-width="0.025" opacity="0.6"/>',
    ]
    if piece.isupper():
        points = " ".join(f"{x},{y}" for x, y in _CROWN_SHAPE)
        parts.append(f'<polygon points="{points}" fill="{_CROWN[side]}" stroke-linejoin="round"/>')
        parts.extend(f'<circle cx="{x}" cy="{y}" r="0.035" fill="{_CROWN[side]}"/>' for x, y in _CROWN_SHAPE[2::2])
    return "".join(parts)


def rgb_array(
    positions: Positions,
    index: int = 0,
    *,
    flip: bool = False,
    last_move: Move | None = None,
    targets: Iterable[int] = (),
    cell: int = 48,
) -> np.ndarray:
    """The board as pixels.

    Args:
        positions: a batch.
        index: which game of the batch.
        flip: show Black below.
        last_move: the move that led here; its squares are tinted.
        targets: numbers of squares to mark with a dot.
        cell: side of a square in pixels, at least 8.

    Returns:
        uint8[H, W, 3] with H = W = (rows + 1) * cell: the board and a frame of half a cell.

    Raises:
        ValueError: the cells are too small.
    """
    if cell < 8:
        raise ValueError(f"cell={cell} pixels is too small for a square: use at least 8")
    size, border = positions.rules.size, cell // 2
    image = np.empty(((size + 1) * cell, (size + 1) * cell, 3), dtype=np.uint8)
    image[:] = _rgb(_FRAME)
    for place in _cells(positions, index, flip, last_move, targets):
        top, left = border + place.row * cell, border + place.column * cell
        ground = _MARKED if place.marked else _DARK if place.number else _LIGHT
        image[top : top + cell, left : left + cell] = _tile(cell, ground, place.piece, place.target)
    return image


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


@cache
def _tile(cell: int, ground: str, piece: str, target: bool) -> np.ndarray:
    """uint8[cell, cell, 3]: one square with what stands on it."""
    centres = (np.arange(cell) + 0.5) / cell - 0.5
    x, y = np.meshgrid(centres, centres)
    distance = np.hypot(x, y)
    image = np.empty((cell, cell, 3))
    image[:] = _rgb(ground)

    def paint(coverage: np.ndarray, color: str) -> None:
        image[:] += coverage[..., None] * (np.array(_rgb(color)) - image)

    def disc(radius: float, at: np.ndarray = distance) -> np.ndarray:
        """Coverage of each pixel by a disc: 1 inside, 0 outside, in between on the pixels of its edge."""
        return np.clip((radius - at) * cell + 0.5, 0.0, 1.0)

    if piece:
        side = piece.lower()
        paint(0.35 * disc(_RADIUS + 0.01, np.hypot(x - 0.02, y - 0.05)), "#000000")
        paint(disc(_RADIUS), _EDGE[side])
        paint(disc(_RADIUS - 0.03), _BODY[side])
        paint(0.6 * (disc(_RING + 0.0125) - disc(_RING - 0.0125)), _EDGE[side])
        if piece.isupper():
            paint(_crown(cell), _CROWN[side])
    if target:
        paint(disc(_DOT), _TARGET)
    image = np.rint(image).astype(np.uint8)
    image.flags.writeable = False
    return image


def _crown(cell: int) -> np.ndarray:
    """float64[cell, cell]: coverage of each pixel by the crown, from 4 x 4 samples in each pixel."""
    samples = (np.arange(4 * cell) + 0.5) / (4 * cell) - 0.5
    x, y = np.meshgrid(samples, samples)
    inside = np.zeros(x.shape, dtype=np.bool_)
    corners = zip(_CROWN_SHAPE, (*_CROWN_SHAPE[1:], _CROWN_SHAPE[0]), strict=True)
    for (x0, y0), (x1, y1) in corners:
        if y0 != y1:  # even-odd rule: a ray to the right crosses this edge
            inside ^= ((y < y0) != (y < y1)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    for x0, y0 in _CROWN_SHAPE[2::2]:
        inside |= np.hypot(x - x0, y - y0) <= 0.035
    return inside.reshape(cell, 4, cell, 4).mean(axis=(1, 3))
