"""PDN as text: tokens and the games that they form, before any move is looked at.

Follows the reading grammar of PDN 3.0 (github.com/wiegerw/pdn, doc/grammar.rst) and what files in the wild
add to it: results as terminators, missing separators, spaces around hyphens, ``%`` and ``;`` comments,
missing headers.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from damas_env.errors import quoted

TAG_NAME = re.compile(r"[A-Za-z0-9_]+")

_SQUARE = r"[a-jA-J]?[0-9]{1,3}"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>\{{[^}}]*\}} | ;[^\n]* | %[^\n]*)
  | (?P<tag>\[\s*(?P<name>{TAG_NAME.pattern})\s+"(?P<value>(?:[^"\\]|\\.)*)"\s*\])
  | (?P<strength>[!?]+ | \([!?]+\) | \$[0-9]+)
  | (?P<open>\()
  | (?P<close>\))
  | (?P<setup>/\s*FEN\s+"(?P<fen>[^"]*)"\s*/)
  | (?P<result>(?:1/2-1/2|1-0|0-1|2-0|0-2|1-1|0-0)(?![0-9]) | \*)
  | (?P<number>[0-9]+\.(?:\.\.)? | \.\.\. | [0-9]{{1,3}}(?=\s+{_SQUARE}\s*[-xX:]))
  | (?P<move>{_SQUARE}(?:[ \t]*[-xX:][ \t]*{_SQUARE})+
           | [a-jA-J][0-9]{{1,2}}[a-jA-J][0-9]{{1,2}}
           | [a-jA-J][-xX:]?[a-jA-J][0-9]{{1,2}})(?![a-zA-Z0-9])
  | (?P<other>\{{.* | \S[^\s{{}}()\[\];]*)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = str.maketrans(
    {
        "\u2010": "-",
        "\u2011": "-",
        "\u2012": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2212": "-",
        "\u00d7": "x",
        "\u2026": " ",
        "\u00a0": " ",
    }
)


class Item(NamedTuple):
    """Something that changes the position: a move or a set-up in the middle of a game."""

    text: str
    line: int
    setup: bool = False


class TextError(NamedTuple):
    """What could not be read: where, and why."""

    text: str
    line: int
    reason: str


@dataclass
class RawGame:
    """One game as it stands in the file.

    Attributes:
        line: line of its first token, from 1.
        tags: header, the first value of each tag.
        items: moves and set-ups of the main line in order.
        result: the terminator, "" if there is none.
        error: the first thing that could not be read; the items end before it.
    """

    line: int
    tags: dict[str, str] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    result: str = ""
    error: TextError | None = None


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with a byte order mark, or else Windows-1252 as in old files."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def split_games(text: str) -> list[RawGame]:
    """The games of a PDN text. Comments, variations, annotations and move numbers are dropped."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_PLAIN)
    games: list[RawGame] = []
    game: RawGame | None = None
    depth, move_end, opened = 0, -1, 0
    for kind, match, line in _tokens(text):
        if kind == "tag":
            name = match["name"]
            if game and depth:
                _fail(game, "(", opened, "a variation opened by '(' is never closed")
            if game is None or game.items or game.error or name == next(iter(game.tags), ""):
                game = RawGame(line)
                games.append(game)
            depth = 0
            game.tags.setdefault(name, re.sub(r"\\(.)", r"\1", match["value"]))
            continue
        if kind == "result" and not depth:
            if match[0] == "*" and match.start() == move_end:
                continue  # "22-17*": an old mark of strength
            if game is not None:
                game.result = match[0]
            game = None
            continue
        if kind in ("number", "strength", "result"):
            continue
        if game is None:
            game = RawGame(line)
            games.append(game)
        if kind == "open":
            opened = opened if depth else line
            depth += 1
        elif kind == "close":
            if not depth:
                _fail(game, ")", line, "')' closes a variation that was never opened")
            depth = max(depth - 1, 0)
        elif kind == "other" and match[0].startswith("{"):
            _fail(game, "{", line, "a comment opened by '{' is never closed")
        elif depth or game.error:
            continue
        elif kind == "other":
            _fail(game, match[0], line, f"{quoted(match[0])} is neither a move nor a result")
        elif kind == "setup":
            game.items.append(Item(match["fen"], line, setup=True))
        else:
            game.items.append(Item(re.sub(r"\s", "", match[0]), line))
            move_end = match.end()
    if game and depth:
        _fail(game, "(", opened, "a variation opened by '(' is never closed")
    return games


def _fail(game: RawGame, text: str, line: int, reason: str) -> None:
    if game.error is None:
        game.error = TextError(text[:80], line, reason)


def _tokens(text: str) -> Iterator[tuple[str, re.Match[str], int]]:
    """(kind, match, line) of each token that is not space or comment."""
    line, position = 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, "every character begins some token"
        kind = next(name for name in _KINDS if match[name] is not None)
        if kind not in ("space", "comment"):
            yield kind, match, line
        line += text.count("\n", position, match.end())
        position = match.end()


_KINDS = (
    "space",
    "comment",
    "tag",
    "strength",
    "open",
    "close",
    "setup",
    "result",
    "number",
    "move",
    "other",
)
