"""PDN as text: tokens and the games that they form, before any move is looked at.

Follows the reading grammar of PDN 3.0 (github.com/wiegerw/pdn, doc/grammar.rst) and what files in the wild
add to it: results as terminators, missing separators, spaces around hyphens, ``%`` and ``;`` comments, missing
headers, tags with broken quotes, games that nothing separates.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from damas_env.errors import quoted

TAG_NAME = re.compile(r"[A-Za-z0-9_]+")

_SQUARE = r"[a-jA-J]?[0-9]{1,3}"
_DASH = r"[ \t]*-[ \t]*"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>\{{[^}}]*\}} | ;[^\n]* | %[^\n]*)
  | (?P<tag>\[\s*(?P<name>{TAG_NAME.pattern})\s+"(?P<value>(?:[^"\\]|\\.)*)"\s*\])
  | (?P<broken>\[\s*(?P<broken_name>{TAG_NAME.pattern})\b(?P<rest>[^\n\]]*)\]?[ \t]*(?=\n|\Z))
  | (?P<strength>[!?]+ | \([!?]+\) | \$[0-9]+)
  | (?P<open>\()
  | (?P<close>\))
  | (?P<setup>/\s*FEN\s+"(?P<fen>[^"]*)"\s*/)
  | (?P<result>(?:1/2{_DASH}1/2 | \u00bd{_DASH}\u00bd | [012]{_DASH}0 | 0{_DASH}[12] | 1{_DASH}1)(?![0-9]) | \*)
  | (?P<number>[0-9]+\.{{1,3}} | \.\.\. | [0-9]{{1,3}}(?=\s+(?:{_SQUARE}\s*[-xX:]|[a-jA-J][-xX:]?[a-jA-J0-9])))
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
    """Something that changes the position: a move or a set-up in the middle of a game.

    Attributes:
        text: the move, or the FEN.
        line: where it stands, from 1.
        setup: it is a set-up.
        number: the move number right before it, 0 if there is none.
    """

    text: str
    line: int
    setup: bool = False
    number: int = 0


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
        notes: what was read although it is not as it should be, one sentence each.
    """

    line: int
    tags: dict[str, str] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    result: str = ""
    error: TextError | None = None
    notes: list[str] = field(default_factory=list)


def encoding_of(data: bytes) -> str:
    """The encoding of a file: UTF-8, UTF-16 with a byte order mark, or else Windows-1252 as in old files."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def decode(data: bytes) -> str:
    """The text of a file in the encoding that :func:`encoding_of` finds; bytes that mean nothing become U+FFFD."""
    return data.removeprefix(b"\xef\xbb\xbf").decode(encoding_of(data), errors="replace")


def split_games(text: str) -> list[RawGame]:
    """The games of a PDN text. Comments, variations and annotations are dropped.

    A game begins with a tag behind moves or a result, with the first tag of the header again, or, where nothing else
    separates games, with move number 1 behind at least two moves.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_PLAIN)
    return _Splitter().split(text)


class _Splitter:
    """Puts the tokens of a text together to games.

    Attributes:
        games: all games so far. game: the one that goes on, None after a result.
        depth: variations that are open; opened: line of the outermost one.
        number: move number that waits for its move, 0 = none. move_end: where the last move of a game ends.
    """

    def __init__(self) -> None:
        self.games: list[RawGame] = []
        self.game: RawGame | None = None
        self.depth, self.opened, self.number, self.move_end = 0, 0, 0, -1

    def split(self, text: str) -> list[RawGame]:
        for kind, match, line in _tokens(text):
            if kind in ("tag", "broken"):
                self._tag(kind, match, line)
            elif kind == "result":
                self._result(match)
            elif kind == "number":
                self._number(match[0], line)
            elif kind != "strength":
                self._content(kind, match, line)
        self._close_variation()
        return self.games

    def _begin(self, line: int) -> RawGame:
        self.game = RawGame(line)
        self.games.append(self.game)
        return self.game

    def _close_variation(self) -> None:
        if self.game and self.depth:
            _fail(self.game, "(", self.opened, "a variation opened by '(' is never closed")
        self.depth = 0

    def _tag(self, kind: str, match: re.Match[str], line: int) -> None:
        self._close_variation()
        broken = kind == "broken"
        name = match["broken_name" if broken else "name"]
        value = match["rest"].strip().strip('"') if broken else re.sub(r"\\(.)", r"\1", match["value"])
        game = self.game
        if game is None or game.items or game.error or name == next(iter(game.tags), ""):
            game, self.number = self._begin(line), 0
        if broken:
            game.notes.append(f'line {line}: the tag {name} is not written as [{name} "..."]')
        if name in game.tags:
            game.notes.append(f"line {line}: the tag {name} stands there again; the first one counts")
        game.tags.setdefault(name, value)

    def _result(self, match: re.Match[str]) -> None:
        if self.depth or (match[0] == "*" and match.start() == self.move_end):
            return  # "22-17*": an old mark of strength
        if self.game is not None:
            self.game.result = re.sub(r"\s", "", match[0]).replace("\u00bd", "1/2")
        self.game, self.number = None, 0

    def _number(self, text: str, line: int) -> None:
        if self.depth or text == "...":
            return
        number = int(text.rstrip(".")[:6])
        if number == 1 and not text.endswith("..") and self.game and (len(self.game.items) > 1 or self.game.error):
            self.game.notes.append(f"nothing separates this game from the next one, which begins in line {line}")
            self._begin(line)
        self.number = number

    def _content(self, kind: str, match: re.Match[str], line: int) -> None:
        game = self.game or self._begin(line)
        if kind == "open":
            self.opened = self.opened if self.depth else line
            self.depth += 1
        elif kind == "close":
            if not self.depth:
                _fail(game, ")", line, "')' closes a variation that was never opened")
            self.depth = max(self.depth - 1, 0)
        elif kind == "other" and match[0].startswith("{"):
            _fail(game, "{", line, "a comment opened by '{' is never closed")
        elif self.depth or game.error:
            return
        elif kind == "other":
            _fail(game, match[0], line, f"{quoted(match[0])} is neither a move nor a result")
        elif kind == "setup":
            game.items.append(Item(match["fen"], line, setup=True))
        else:
            game.items.append(Item(re.sub(r"\s", "", match[0]), line, number=self.number))
            self.number, self.move_end = 0, match.end()


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
    "broken",
    "strength",
    "open",
    "close",
    "setup",
    "result",
    "number",
    "move",
    "other",
)
