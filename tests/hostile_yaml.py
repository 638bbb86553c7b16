"""Mutated YAML rule sets: every one must be refused in one sentence, or read exactly as it is written.

`python tests/hostile_yaml.py 10000` tries that many; the tests try fewer.
"""

import dataclasses
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import yaml

from damas_env.draw_laws import DrawLaw
from damas_env.presets import RULE_SETS
from damas_env.rule_files import from_yaml, to_yaml
from damas_env.rules import RuleSet

SECONDS = 10
"""More than that for one text is a hang."""

Fields = dict[str, Any]

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


def verdict(text: str, must_fail: bool) -> str | None:
    """What is wrong with the answer to a text, None if nothing is."""
    try:
        rules = from_yaml(text, "mutant")
    except ValueError as error:
        message = str(error)
        if "\n" in message or len(message) > 400 or not message.startswith("mutant"):
            return f"the refusal is no sentence: {message[:500]!r}"
        return None
    if must_fail:
        return f"accepted as {rules}"
    if from_yaml(to_yaml(rules)) != rules:
        return "does not survive a round trip"
    return None if as_written(rules, yaml.safe_load(text)) else f"read as {rules}"


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


def mutant(rng: random.Random) -> tuple[str, bool]:
    """A text, and whether it must be refused."""
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


def attack(seed: int, number: int) -> tuple[Counter[str], list[str]]:
    """(how many were refused and accepted, what went wrong with its text)."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    failures = []
    for _ in range(number):
        text, must_fail = mutant(rng)
        signal.alarm(SECONDS)  # ends the process: a hang is no failure to go on from
        fault = verdict(text, must_fail)
        signal.alarm(0)
        counts["refused" if must_fail else "free"] += 1
        if fault:
            failures.append(f"{fault}\n{text[:3000]}")
    return counts, failures


if __name__ == "__main__":
    totals, faults = attack(0, int(sys.argv[1]))
    for fault in faults[:5]:
        print(fault, "\n" + "-" * 80)
    print(f"{totals.total()} mutants ({totals['refused']} that had to be refused), {len(faults)} faults")
    sys.exit(bool(faults))
