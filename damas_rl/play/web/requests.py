"""Reading what the page asks for: everything is checked here, so that each fault is one sentence."""

import json
from typing import Any

from damas_env.errors import shown
from damas_env.presets import DEFAULT_RULES, RULE_SETS
from damas_env.rules import RuleSet
from damas_rl.play.table import PERSON, RequestError
from damas_rl.play.web.thinkers import Thinkers

_LONGEST_TEXT = 200_000


def read_object(body: bytes | str) -> dict[str, Any]:
    """The JSON object in a body.

    Raises:
        RequestError: there is none.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise RequestError("The request must be a JSON object.")
    return document


def read_rules(document: dict[str, Any]) -> RuleSet:
    """The rule set that a request names, the usual one if it names none.

    Raises:
        RequestError: there is no such rule set.
    """
    rules = document.get("rules", DEFAULT_RULES)
    if not isinstance(rules, str) or rules not in RULE_SETS:  # no files: a request must not make the server read them
        raise RequestError(f"rules: {shown(rules)} is none of {', '.join(RULE_SETS)}.")
    return RULE_SETS[rules]


def read_new_game(document: dict[str, Any], thinkers: Thinkers) -> dict[str, Any]:
    """What ``Rooms.create`` needs.

    Raises:
        RequestError: a value is missing or of another kind.
    """
    known = ("rules", "seats", "remote", "clock", "position", "color")
    for key in document:
        if key not in known:
            raise RequestError(f"A new game knows no {shown(key)}; it takes {', '.join(known)}.")
    rules = read_rules(document).name
    seats = document.get("seats")
    if not isinstance(seats, dict) or set(seats) != {"W", "B"}:
        raise RequestError('seats must be an object such as {"W": "person", "B": "club"}.')
    for seat in seats.values():
        if not isinstance(seat, str) or (seat != PERSON and seat not in thinkers.all):
            raise RequestError(f"seats: {shown(seat)} is none of {', '.join([PERSON, *thinkers.all])}.")
    remote = document.get("remote", False)
    if not isinstance(remote, bool):
        raise RequestError("remote must be true or false.")
    position = document.get("position", "")
    if not isinstance(position, str) or len(position) > _LONGEST_TEXT:
        raise RequestError(f"position must be text of at most {_LONGEST_TEXT} characters.")
    color = document.get("color", "W")
    if color not in ("W", "B"):
        raise RequestError("color must be W or B.")
    clock = document.get("clock")
    if clock is not None and not (isinstance(clock, dict) and set(clock) <= {"main", "periods", "period"}):
        raise RequestError('clock must be null or an object such as {"main": 300, "periods": 3, "period": 30}.')
    if clock is not None and "main" not in clock:
        raise RequestError("clock.main is missing.")
    return {
        "rules": rules, "seats": seats, "remote": remote, "clock": clock, "position": position, "color": color
    }  # fmt: skip


def read_action(document: dict[str, Any]) -> tuple[str, Any]:
    """(action, value) of a request at a table.

    Raises:
        RequestError: one is missing or of another kind.
    """
    action = document.get("do")
    if not isinstance(action, str):
        raise RequestError("do must name what is to be done.")
    value = document.get("action")
    if action == "move" and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 15):
        raise RequestError("action must be the number of a legal move.")
    return action, value


def read_analysis(document: dict[str, Any]) -> tuple[int | None, str | None, bool]:
    """(ply, mind, whole game) of what a page wants analysed; without a ply it wants nothing any more.

    Raises:
        RequestError: one is of another kind.
    """
    ply, mind = document.get("analyse"), document.get("mind")
    if ply is not None and (isinstance(ply, bool) or not isinstance(ply, int)):
        raise RequestError("analyse must be a number of plies or null.")
    if mind is not None and not (isinstance(mind, str) and mind.isprintable()):
        raise RequestError("mind must be a name or null.")
    return ply, mind, document.get("review") is True
