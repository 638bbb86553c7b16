"""``damas pdn``: replays the games of PDN files."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from damas_env.notation import PdnGame, decode, read_pdn, write_pdn
from damas_env.rules import get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_notation,
    add_rules,
    outcome_json,
    print_json,
    printable,
    read_bytes,
    show,
)
from damas_rl.files import atomic_write


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    pdn = subparsers.add_parser(
        "pdn",
        help="replay the games of PDN files",
        description="Replays every game and says which are legal to the end, where not and why (exit status 2).",
    )
    pdn.add_argument("files", nargs="+", metavar="FILE", help="PDN file (- = standard input)")
    add_rules(pdn)
    pdn.add_argument("--output", metavar="OUT", help="write the games again, as far as they are legal, as PDN 3.0")
    add_notation(pdn, None)
    add_json(pdn)
    pdn.set_defaults(run=_pdn)


def _pdn(arguments: argparse.Namespace) -> None:
    rules = get_rules(arguments.rules)
    games: list[tuple[str, int, PdnGame]] = []
    for path in arguments.files:
        read = read_pdn(decode(read_bytes(path)), rules)
        if not read:
            raise CommandError(f"{path!r} holds no PDN game")
        games.extend((path, number, game) for number, game in enumerate(read, 1))
    if arguments.output is not None:
        text = write_pdn((game for *_, game in games), arguments.notation)
        atomic_write(Path(arguments.output), [text.encode()])
    bad = [entry for entry in games if entry[2].error]
    if arguments.json:
        print_json(
            {
                "rules": rules.name,
                "total": len(games),
                "legal": len(games) - len(bad),
                "games": [_document(*entry) for entry in games],
            }
        )
    else:
        _show(games, len(bad))
    if bad:
        path, number, game = bad[0]
        assert game.error is not None
        raise CommandError(
            f"{len(bad)} of {len(games)} games cannot be followed to the end; the first is game {number} of {path}, "
            f"line {game.error.line}, ply {game.error.ply}: {game.error.reason}"
        )


def _document(path: str, number: int, game: PdnGame) -> dict[str, Any]:
    return {
        "file": path,
        "game": number,
        "line": game.line,
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


def _show(games: list[tuple[str, int, PdnGame]], bad: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("file", "game", "players", "result", "plies", "report")
    for path, number, game in games:
        players = printable(f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}")
        report = "[green]legal[/green]"
        if game.error:
            report = f"[red]line {game.error.line}, ply {game.error.ply}: {escape(printable(game.error.reason))}[/red]"
        report = "\n".join((report, *(escape(printable(note)) for note in game.notes)))
        plies = str(len(game.moves))
        table.add_row(escape(printable(path)), str(number), escape(players), escape(game.result), plies, report)
    show(table, f"{len(games) - bad} of {len(games)} games are legal to the end")
