"""``damas moves``, ``play-moves`` and ``perft``: what the rules say about a position or a game."""

import argparse
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from damas_env import render
from damas_env.errors import FenError
from damas_env.game import Game
from damas_env.movegen import perft
from damas_env.notation import decode, format_fen, legal_moves, parse_fen, spell_moves
from damas_env.position import COLORS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import (
    add_json,
    add_notation,
    add_position,
    add_rules,
    colors,
    outcome_json,
    outcome_text,
    print_json,
    push_moves,
    read_bytes,
    show,
    whole_number,
)

_CHUNK = 1024


def register(subparsers: Any) -> None:
    """Adds the subcommands."""
    moves = subparsers.add_parser(
        "moves",
        help="list the legal moves of a position",
        description="Lists the legal moves of a position with their action indices.",
    )
    add_rules(moves)
    where = moves.add_mutually_exclusive_group()
    where.add_argument("--fen", metavar="F", help="position, such as W:W21,K31:B1,K12 (default: the start)")
    where.add_argument(
        "--fens", metavar="FILE", help="one FEN a line (- = standard input); prints one JSON document a line"
    )
    add_notation(moves, "numeric")
    add_json(moves)
    moves.set_defaults(run=_moves)

    play = subparsers.add_parser(
        "play-moves",
        help="play moves and show where they lead",
        description="Plays moves from a position; shows the position reached, the outcome and the draw counters.",
    )
    add_position(play)
    play.add_argument("--moves", required=True, metavar="M", help='moves such as "22-17 9-13" or "c3-b4 b6-a5"')
    add_json(play)
    play.set_defaults(run=_play_moves)

    count = subparsers.add_parser(
        "perft",
        help="count the leaves of the move tree",
        description="Counts the leaves of the move tree at each depth, a check of move generators.",
    )
    add_position(count)
    count.add_argument("--depth", required=True, type=whole_number, metavar="D", help="plies")
    add_json(count)
    count.set_defaults(run=_perft)


def _moves(arguments: argparse.Namespace) -> None:
    rules = get_rules(arguments.rules)
    if arguments.fens is not None:
        text = decode(read_bytes(arguments.fens)).replace("\r\n", "\n").removesuffix("\n")
        lines = text.split("\n") if text else []
        for document in _documents(lines, rules, arguments.notation):
            print_json(document)
        return
    game = Game(rules, arguments.fen)
    document = _document(game.positions, 0, arguments.notation)
    if arguments.json:
        print_json(document)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("move", "captures", "crowned", "action")
    for move in document["moves"]:
        captures = " ".join(map(str, move["captures"]))
        table.add_row(move["pdn"], captures, "yes" if move["promotes"] else "", str(move["action"]))
    moves = f"{'White' if game.color == 'W' else 'Black'} to move: {len(document['moves'])} legal moves"
    if document["outcome"]:
        moves = outcome_text(game.outcome())
    show(Text.from_ansi(render.text(game.positions, color=colors())), "", moves, *([table] if table.rows else []))


def _documents(lines: Iterable[str], rules: RuleSet, notation: str) -> Iterator[dict[str, Any]]:
    """The JSON document of each line, in order; parsed and generated in batches."""
    remaining = iter(lines)
    while chunk := list(islice(remaining, _CHUNK)):
        parsed: list[tuple[np.ndarray, int] | FenError] = []
        for line in chunk:
            try:
                parsed.append(parse_fen(line, rules))
            except FenError as error:
                parsed.append(error)
        good = [entry for entry in parsed if not isinstance(entry, FenError)]
        boards = np.array([boards for boards, _ in good], dtype=np.uint64).reshape(-1, 4)
        positions = Positions.from_boards(rules, boards, np.array([color for _, color in good], dtype=np.int8))
        index = 0
        for line, entry in zip(chunk, parsed, strict=True):
            if isinstance(entry, FenError):
                yield {"fen": line, "error": str(entry)}
            else:
                yield _document(positions, index, notation)
                index += 1


def _document(positions: Positions, index: int, notation: str) -> dict[str, Any]:
    """The position and its legal moves as JSON."""
    color, rules = int(positions.colors[index]), positions.rules
    legal = legal_moves(positions, index)
    return {
        "fen": format_fen(positions.boards[index], color, rules),
        "rules": rules.name,
        "to_move": COLORS[color],
        "moves": [
            {
                "action": move.action,
                "from": move.frm,
                "to": move.to,
                "captures": list(move.captures),
                "promotes": move.promotes,
                "pdn": pdn,
            }
            for move, pdn in zip(legal, spell_moves(legal, positions, index, notation), strict=True)
        ],
        "outcome": outcome_json(positions.outcome(index)),
    }


def _play_moves(arguments: argparse.Namespace) -> None:
    game = Game(arguments.rules, arguments.fen)
    last = push_moves(game, arguments.moves)
    if arguments.json:
        counters: dict[str, Any] = {**game.counters(), "repetitions": game.repetitions()}
        outcome = outcome_json(game.outcome())
        print_json({"fen": game.fen(), "ply": game.ply, "outcome": outcome, "counters": counters})
        return
    from rich.text import Text

    counts = [f"{name}: {count['plies']} of {count['limit']} plies" for name, count in game.counters().items()]
    seen = game.repetitions()
    counts.append(f"occurrences of this position: {seen['count']} of {seen['limit'] or 'any number'}")
    show(
        Text.from_ansi(render.text(game.positions, color=colors(), last_move=last)),
        "",
        game.fen(),
        f"ply {game.ply}, {'White' if game.color == 'W' else 'Black'} to move: {outcome_text(game.outcome())}",
        *counts,
    )


def _perft(arguments: argparse.Namespace) -> None:
    game = Game(arguments.rules, arguments.fen)
    boards = game.positions.boards[0]
    perft(game.rules, boards, 1)  # compiles, or loads what has been compiled, before the clock starts
    nodes, started, seconds = [], time.perf_counter(), 0.0
    with _interruptible():
        for depth in range(1, arguments.depth + 1):
            nodes.append(perft(game.rules, boards, depth))
            seconds = time.perf_counter() - started
            if not arguments.json:
                print(f"depth {depth:2}  {nodes[-1]:>16,}  {seconds:9.3f} s", flush=True)
    if arguments.json:
        print_json({"depth": arguments.depth, "nodes": nodes, "seconds": seconds})


@contextmanager
def _interruptible() -> Iterator[None]:
    """Lets Ctrl-C end the process at once, also within a kernel, which Python's own handler would wait for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
