"""``damas pdn``: replays the games of PDN files, and makes training records and opening books of them."""

import argparse
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from damas_env.notation import PdnGame, decode, encoding_of, read_pdn, visible, write_pdn
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_notation,
    outcome_json,
    output_path,
    print_json,
    progress_bar,
    read_bytes,
    show,
    whole_number,
)
from damas_rl.files import atomic_write

_MOST_ROWS = 100
"""Games up to which the table lists every one; of more it lists those with something to report."""

_DEFAULT_PLIES = 6


class _Entry(NamedTuple):
    """A game, its file and its number in there."""

    path: str
    number: int
    game: PdnGame


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    pdn = subparsers.add_parser(
        "pdn",
        help="replay the games of PDN files",
        description="Replays every game and says which are legal to the end, where not and why (exit status 2). Games "
        "without a result, repeated games and those that cannot be followed to the end give no training records.",
    )
    pdn.add_argument("files", nargs="+", metavar="FILE", help="PDN file (- = standard input)")
    pdn.add_argument("--rules", metavar="R", help="rule set or YAML file (default: what each game's GameType says)")
    pdn.add_argument("--output", metavar="OUT", help="write the games again, as far as they are legal, as PDN 3.0")
    add_notation(pdn, None)
    pdn.add_argument(
        "--records", metavar="OUT", help="write training records (.npz), for train.py pretrain.records=OUT"
    )
    pdn.add_argument(
        "--openings", metavar="OUT",
        help="write an opening book, for damas match --openings, selfplay.openings= and arena.openings=",
    )  # fmt: skip
    pdn.add_argument(
        "--plies", type=whole_number, metavar="N", help=f"plies of its openings (default: {_DEFAULT_PLIES})"
    )
    add_json(pdn)
    pdn.set_defaults(run=_pdn)


def _pdn(arguments: argparse.Namespace) -> None:
    rules = get_rules(arguments.rules) if arguments.rules is not None else None
    if arguments.plies is not None and arguments.openings is None:
        raise CommandError("--plies belongs to --openings OUT, which is missing")
    places = {
        option: output_path(f"--{option}", given)
        for option in ("output", "records", "openings")
        if (given := getattr(arguments, option)) is not None
    }
    entries = [entry for path in arguments.files for entry in _read(path, rules, arguments.json)]
    games = [entry.game for entry in entries]
    if "output" in places:
        atomic_write(places["output"], [write_pdn(games, arguments.notation).encode()])
    made: dict[str, Any] = {}
    if "records" in places:
        made["records"] = _write_records(places["records"], games)
    if "openings" in places:
        made["openings"] = _write_openings(places["openings"], games, arguments.plies or _DEFAULT_PLIES)
    bad = [entry for entry in entries if entry.game.error]
    if arguments.json:
        named = {game.rules.name for game in games}
        print_json(
            {
                "rules": named.pop() if len(named) == 1 else None,
                "total": len(games),
                "legal": len(games) - len(bad),
                **made,
                "games": [_document(*entry) for entry in entries],
            }
        )
    else:
        _show(entries, len(bad), made)
    if bad:
        path, number, game = bad[0]
        assert game.error is not None
        raise CommandError(
            f"{len(bad)} of {len(games)} games cannot be followed to the end; the first is game {number} of {path}, "
            f"line {game.error.line}, ply {game.error.ply}: {game.error.reason}"
        )


def _read(path: str, rules: RuleSet | None, quiet: bool) -> list[_Entry]:
    data = read_bytes(path)
    with progress_bar(quiet, visible(path)) as progress:
        games = read_pdn(decode(data), rules, progress)
    if not games:
        raise CommandError(f"{path!r} holds no PDN game")
    if encoding_of(data) == "cp1252":
        games[0].notes.insert(0, "the file is not UTF-8, so it was read as Windows-1252")
    return [_Entry(path, number, game) for number, game in enumerate(games, 1)]


def _write_records(place: Path, games: list[PdnGame]) -> dict[str, Any]:
    from damas_rl.database import rules_of_all, save_records, select, to_records

    chosen = select(games)
    if not chosen.games:
        reasons = ", ".join(f"{count} {reason}" for reason, count in chosen.left_out.items())
        raise CommandError(f"no game can become training records: {reasons}")
    records = to_records(chosen.games)
    save_records(place, records, rules_of_all(chosen.games))
    return {"positions": len(records.z), "games": len(chosen.games), "left_out": chosen.left_out}


def _write_openings(place: Path, games: list[PdnGame], plies: int) -> dict[str, int]:
    from damas_rl.database import opening_book, rules_of_all

    book: Counter[str] = opening_book(games, plies)
    if not book:
        raise CommandError(f"no game goes on after {plies} plies, so there is no opening to write")
    head = f"# Positions after {plies} plies ({rules_of_all(games).name}) and how many games reached them"
    lines = [f"{fen}  # {count}" for fen, count in sorted(book.items(), key=lambda entry: (-entry[1], entry[0]))]
    atomic_write(place, ["\n".join((head, *lines, "")).encode()])
    return {"positions": len(book), "games": book.total(), "plies": plies}


def _document(path: str, number: int, game: PdnGame) -> dict[str, Any]:
    return {
        "file": path,
        "game": number,
        "line": game.line,
        "rules": game.rules.name,
        "white": game.tags.get("White"),
        "black": game.tags.get("Black"),
        "result": game.result,
        "plies": len(game.moves),
        "legal": game.error is None,
        "error": asdict(game.error) if game.error else None,
        "notes": game.notes,
        "numbering": game.numbering,
        "fen": game.final_fen,
        "outcome": outcome_json(game.outcome),
    }


def _show(entries: list[_Entry], bad: int, made: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    def cell(text: str) -> str:
        return escape(visible(text))  # here, so that columns are wide enough for escapes

    listed = entries
    if len(entries) > _MOST_ROWS:
        listed = [entry for entry in entries if entry.game.error or entry.game.notes]
    table = Table(Column("file", overflow="fold"), "game", "players", "result", "plies", "report")
    for path, number, game in listed[:_MOST_ROWS]:
        players = f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
        report = "[green]legal[/green]"
        if game.error:
            report = f"[red]line {game.error.line}, ply {game.error.ply}: {cell(game.error.reason)}[/red]"
        report = "\n".join((report, *map(cell, game.notes)))
        plies = str(len(game.moves))
        table.add_row(cell(path), str(number), cell(players), cell(game.result), plies, report)
    lines = [f"{len(entries) - bad} of {len(entries)} games are legal to the end"]
    if len(listed) > _MOST_ROWS:
        lines.append(f"{len(listed) - _MOST_ROWS} more games with something to report are not listed (see --json)")
    if found := made.get("records"):
        left_out = "".join(f"; {count} {reason}" for reason, count in found["left_out"].items())
        lines.append(f"records: {found['positions']} positions of {found['games']} games{left_out}")
    if found := made.get("openings"):
        lines.append(f"openings: {found['positions']} positions after {found['plies']} plies of {found['games']} games")
    show(*([table] if table.rows else []), *lines)
