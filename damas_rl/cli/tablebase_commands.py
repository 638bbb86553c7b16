"""``damas tablebase``: builds exact endgames, counts them, and says what they know of a position."""

import argparse
import os
import shlex
from dataclasses import asdict
from typing import Any

import numpy as np

from damas_env.game import Game
from damas_env.notation import visible
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_position,
    add_rules,
    print_json,
    progress_bar,
    show,
    whole_number,
)
from damas_rl.files import check_writable
from damas_rl.tablebase import Tablebase, default_path
from damas_rl.tablebase.build import working_memory
from damas_rl.tablebase.index import MOST_PIECES, Slice
from damas_rl.tablebase.paths import partial_path
from damas_rl.tablebase.probe import Verdict, probe, table_kept


def register(subparsers: Any) -> None:
    """Adds the subcommands."""
    parser = subparsers.add_parser(
        "tablebase",
        help="exact endgames: build, stats, probe",
        description="Win, draw or loss of every position of few pieces. Draw laws are left out.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    build = commands.add_parser(
        "build", help="compute a table and keep it", description="Computes a table and keeps it."
    )
    _add_table(build)
    build.set_defaults(run=_build)
    stats = commands.add_parser(
        "stats",
        help="wins, draws and losses of each material balance",
        description="Counts wins, draws and losses: White to move, results for White, draw laws left out.",
    )
    _add_table(stats)
    stats.set_defaults(run=_stats)
    probe = commands.add_parser(
        "probe",
        help="the result of a position and of each move",
        description="The result of a position and of each move.",
    )
    add_position(probe)
    add_json(probe)
    probe.set_defaults(run=_probe)


def _add_table(parser: argparse.ArgumentParser) -> None:
    """Adds what names a table, and ``--json``."""
    add_rules(parser)
    parser.add_argument(
        "--pieces", type=whole_number, default=4, metavar="N", help="pieces of both sides together, 2 to 6 (default: 4)"
    )
    add_json(parser)


def _check_pieces(pieces: int) -> None:
    if not 2 <= pieces <= MOST_PIECES:
        raise CommandError(f"--pieces {pieces}: choose from 2 to {MOST_PIECES}")


def _build(arguments: argparse.Namespace) -> None:
    rules = get_rules(arguments.rules)
    _check_pieces(arguments.pieces)
    path = default_path(rules, arguments.pieces)
    path.parent.mkdir(parents=True, exist_ok=True)
    check_writable(path)
    _check_memory(rules, arguments.pieces)
    partial = partial_path(rules, arguments.pieces)
    try:
        with progress_bar(arguments.json, "positions") as progress:
            table = Tablebase.build(rules, arguments.pieces, progress, partial)
        table.save(path)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(visible(f"the same command goes on from {partial}")) from None
    partial.unlink(missing_ok=True)
    size = path.stat().st_size
    if arguments.json:
        print_json({"path": str(path), "bytes": size, "numbers": len(table.values)})
        return
    print(visible(f"{path}: {size:,} bytes for {len(table.values):,} numbers"))
    print(f"Next: damas tablebase stats --rules {shlex.quote(arguments.rules)} --pieces {arguments.pieces}")


def _check_memory(rules: RuleSet, pieces: int) -> None:
    """CommandError if building would not fit into memory; the values themselves are mapped from a file."""
    needed = working_memory(rules.size, pieces)
    if needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise CommandError(f"--pieces {pieces} needs {needed / 2**30:.1f} GiB of memory; this machine has less")


def _none_yet(arguments: argparse.Namespace, rules: RuleSet, pieces: int) -> CommandError:
    """There is no table for the rules of a command."""
    command = f"damas tablebase build --rules {shlex.quote(arguments.rules)} --pieces {pieces}"
    return CommandError(f"no table of {pieces} pieces for {rules.name!r} yet: {command}")


def _stats(arguments: argparse.Namespace) -> None:
    _check_pieces(arguments.pieces)
    rules, pieces = get_rules(arguments.rules), arguments.pieces
    path = default_path(rules, pieces)
    if not path.exists():
        raise _none_yet(arguments, rules, pieces)
    table = Tablebase.load(path, rules, pieces)
    rows = table.statistics()
    if arguments.json:
        print_json(rows)
        return
    from rich.table import Table

    shown = Table("White", "Black", "positions", "win", "draw", "loss", "longest", title="White to move")
    for row in rows:
        balance = Slice(row["white_men"], row["white_kings"], row["black_men"], row["black_kings"])
        shares = (f"{row[key] / row['positions']:.1%}" for key in ("win", "draw", "loss"))
        sides = _side(*balance[:2]), _side(*balance[2:])
        shown.add_row(*sides, f"{row['positions']:,}", *shares, f"{table.longest(balance)} plies")
    show(shown)


def _side(men: int, kings: int) -> str:
    return "+".join(f"{count}{letter}" for count, letter in ((kings, "K"), (men, "M")) if count)


def _probe(arguments: argparse.Namespace) -> None:
    game = Game(arguments.rules, arguments.fen)
    own, other = (int(np.bitwise_count(game.positions.boards[0, side]).sum()) for side in (slice(2), slice(2, 4)))
    pieces = own + other
    if pieces > MOST_PIECES:
        raise CommandError(f"the position has {pieces} pieces; tables have at most {MOST_PIECES}")
    if not own or not other:
        raise CommandError("one side has no piece left, so the game is over; tables hold no such position")
    table = table_kept(game.rules, pieces)
    if table is None:
        raise _none_yet(arguments, game.rules, pieces)
    here = _verdict(table, game)
    moves: list[tuple[str, Verdict]] = []
    for move in game.legal_moves():
        text = game.san(move)
        game.push(move)
        moves.append((text, _verdict(table, game).before))
        game.pop()
    moves.sort(key=lambda move: (-move[1].result, move[1].result * move[1].plies))
    if arguments.json:
        rows = [{"pdn": pdn, **asdict(there)} for pdn, there in moves]
        print_json({"fen": game.fen(), **asdict(here), "moves": rows})
        return
    show(f"{game.fen()}: {here}", *(f"  {pdn:<12} {there}" for pdn, there in moves))


def _verdict(table: Tablebase, game: Game) -> Verdict:
    """What a table says of a game whose position it holds."""
    verdict = probe(table, game.positions)
    assert verdict is not None
    return verdict
