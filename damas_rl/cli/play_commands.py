"""``damas bestmove``, ``match`` and ``play``: one move of a player, matches between players, a game in the terminal."""

import argparse
import functools
import re
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from damas_env.errors import shown
from damas_env.game import Game
from damas_env.notation import decode, format_move, visible
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_language,
    add_notation,
    add_position,
    add_rules,
    count,
    elo_difference,
    language,
    outcome_text,
    output_path,
    print_json,
    progress_bar,
    push_moves,
    read_bytes,
    show,
    stop_on_interrupt,
    whole_number,
)
from damas_rl.files import atomic_write
from damas_rl.play.clocks import Clock, TimeControl

if TYPE_CHECKING:  # both load torch or kernels, which most commands do without
    from damas_rl.arena import MatchResult
    from damas_rl.elo import Sprt
    from damas_rl.players import Player

_SPEC = (
    "player, such as random, alphabeta:depth=6, alphabeta:ms=100, mcts:net=RUN,sims=200, mcts:net=RUN,ms=100, "
    "policy:net=RUN or hub:PROGRAM,ms=100"
)


def register(subparsers: Any) -> None:
    """Adds the subcommands."""
    best = subparsers.add_parser(
        "bestmove",
        help="let a player choose a move",
        description="Lets a player choose a move; the value is the player's own, from -1 to 1 for the side to move.",
    )
    best.add_argument("--player", required=True, metavar="SPEC", help=_SPEC)
    add_position(best)
    best.add_argument("--moves", metavar="M", help='moves to play first, such as "22-17 9-13"')
    _add_seed(best)
    add_notation(best, "numeric")
    add_json(best)
    best.set_defaults(run=_bestmove)

    match = subparsers.add_parser(
        "match",
        help="play a match between two players",
        description="Plays pairs of games from one opening with colours swapped: ballots (balanced openings of three "
        "plies) where some ship for the rules, else random openings. Ctrl-C ends the match with the games of the "
        "batches that are finished.",
    )
    match.add_argument("player", metavar="SPEC", help=_SPEC)
    match.add_argument("opponent", metavar="SPEC", help="the other player")
    add_rules(match)
    match.add_argument("--games", type=whole_number, default=100, metavar="G", help="an even number (default: 100)")
    where = match.add_mutually_exclusive_group()
    where.add_argument("--openings", metavar="FILE", help="one opening a line: a FEN, or moves from the start")
    where.add_argument(
        "--random-plies", type=count, metavar="K", help="random, balanced openings of K plies (6 where no ballots ship)"
    )
    match.add_argument(
        "--sprt", nargs=2, type=elo_difference, metavar=("LOW", "HIGH"),
        help="stop as soon as a sequential test between these two Elo differences has decided",
    )  # fmt: skip
    match.add_argument("--pdn", metavar="OUT", help="write the games as PDN")
    _add_seed(match)
    add_json(match)
    match.set_defaults(run=_match)

    play = subparsers.add_parser(
        "play",
        help="play against the computer in the terminal",
        description="Plays a game in the terminal, against the same levels as damas web. help lists what can be typed.",
    )
    play.add_argument(
        "--opponent", default="casual", metavar="LEVEL|SPEC",
        help="beginner, casual, amateur, club, strong, network or full; person (two people at one screen); or a "
        f"{_SPEC} (default: %(default)s)",
    )  # fmt: skip
    play.add_argument("--color", choices=("white", "black", "random"), default="white", help="your side")
    play.add_argument("--watch", metavar="LEVEL|SPEC", help="let this player play your side, and watch")
    play.add_argument(
        "--clock", type=_time_control, metavar="MIN[+NxSEC]",
        help="minutes for each side, then N periods of SEC seconds for a move (byo-yomi), such as 5+3x30",
    )  # fmt: skip
    add_position(play)
    play.add_argument(
        "--pdn", metavar="FILE", help="go on with the first game of a PDN file, by its own rules without --rules"
    )
    add_language(play)
    _add_seed(play)
    play.set_defaults(run=_play, rules=None)


def _time_control(text: str) -> TimeControl:
    """The type of ``--clock``."""
    given = re.fullmatch(r"([0-9]{1,3})(?:\+([0-9]{1,2})x([0-9]{1,3}))?", text)
    if not given:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a clock such as 5 (minutes) or 5+3x30")
    minutes, periods, seconds = (int(number or 0) for number in given.groups())
    try:
        return TimeControl(60 * minutes, periods, seconds)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=count, metavar="S", help="of all random choices (default: 0; play: any)")


def _seeds(seed: int | None, count: int) -> list[int]:
    """Independent seeds made from that of the command line."""
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(count)]


def _bestmove(arguments: argparse.Namespace) -> None:
    from damas_rl.moves import move_of
    from damas_rl.play.lines import signed, spell_line
    from damas_rl.players import make_player

    game = Game(arguments.rules, arguments.fen)
    push_moves(game, arguments.moves or "")
    if outcome := game.outcome():
        raise CommandError(f"there is no move to choose: {outcome_text(outcome)}")
    player = make_player(arguments.player, game.rules, _seeds(arguments.seed or 0, 1)[0])
    started = time.perf_counter()
    choice = player.choose(game.positions)
    seconds = time.perf_counter() - started
    move = move_of(game.positions, int(choice.actions[0]))
    document: dict[str, Any] = {
        "move": format_move(move, game.positions, arguments.notation),
        "action": move.action,
        "value": float(choice.values[0]),
        "pv": spell_line(game.positions, choice.pvs[0], arguments.notation),
        "nodes": int(choice.nodes[0]),
        "seconds": seconds,
    }
    if arguments.json:
        print_json(document)
        return
    figures = f"value {signed(document['value'])}  {document['nodes']:,} nodes  {seconds:.2f} s"
    show(f"[bold]{document['move']}[/bold]  {figures}", " ".join(document["pv"]))


def _match(arguments: argparse.Namespace) -> None:
    from damas_rl.arena import MAX_BATCH, play_match
    from damas_rl.elo import Sprt
    from damas_rl.openings import read_openings
    from damas_rl.players import make_player

    rules = get_rules(arguments.rules)
    if arguments.games % 2:
        raise CommandError(
            f"--games {arguments.games}: games are played in pairs with colours swapped, so give an even number"
        )
    output = output_path("--pdn", arguments.pdn) if arguments.pdn is not None else None
    openings = None
    if arguments.openings is not None:
        openings = read_openings(decode(read_bytes(arguments.openings)), rules, arguments.openings)
    sprt = Sprt(*arguments.sprt) if arguments.sprt else None
    seeds = _seeds(arguments.seed or 0, 3)
    player, opponent = (
        make_player(spec, rules, seed)
        for spec, seed in zip((arguments.player, arguments.opponent), seeds[:2], strict=True)
    )
    with stop_on_interrupt() as stop, progress_bar(arguments.json, "games") as progress:
        result = play_match(
            player, opponent, rules, arguments.games, openings, arguments.random_plies, seeds[2],
            progress=progress, stop=stop, sprt=sprt,
        )  # fmt: skip
    if not result.games:
        raise KeyboardInterrupt(f"no batch of games was finished (up to {MAX_BATCH} are played at once)")
    _print_match(result, sprt, arguments.json)
    if output:
        atomic_write(output, [result.pdn("damas match").encode()])


def _print_match(result: "MatchResult", sprt: "Sprt | None", as_json: bool) -> None:
    score = result.score
    verdict = sprt.decision(score.pairs) if sprt else None
    if as_json:
        print_json(
            {
                "player": score.player,
                "opponent": score.opponent,
                "rules": result.rules.name,
                "games": score.games,
                "wins": score.wins,
                "draws": score.draws,
                "losses": score.losses,
                "truncated": score.truncated,
                "score": score.score,
                "elo": score.elo,
                "elo_low": score.low,
                "elo_high": score.high,
                "pairs": score.pairs,
                "sprt": verdict,
                "distinct": score.distinct,
                "mean_plies": score.plies,
                "seconds": score.seconds,
            }
        )
        return
    lines = [
        f"{score.player} against {score.opponent}, {score.games} games in pairs with colours swapped:",
        f"  {score.wins} won, {score.draws} drawn, {score.losses} lost: {score.score:.1%}",
        f"  Elo difference {score.elo:+.0f} (95 % interval {score.low:+.0f} to {score.high:+.0f})",
        f"  {score.distinct:.0%} of the games differ, {score.plies:.0f} plies a game, {score.seconds:.1f} s",
    ]
    if score.truncated:
        lines.append(f"  {score.truncated} of the draws were stopped by the ply cap")
    if sprt:
        found = "undecided" if verdict is None else f"{verdict:+g}"
        lines.append(f"  sequential test between {sprt.low:+g} and {sprt.high:+g} Elo: {found}")
    print(visible("\n".join(lines)))


def _play(arguments: argparse.Namespace) -> None:
    from damas_rl.console import Console
    from damas_rl.play.levels import make_opponent
    from damas_rl.play.table import OTHER, PERSON, Table, read_position
    from damas_rl.play.terminal import TerminalGame
    from damas_rl.play.web.store import default_file

    if arguments.pdn is not None and arguments.fen is not None:
        raise CommandError("--pdn and --fen both say where the game begins: give one of them")
    if arguments.pdn is not None:
        text = decode(read_bytes(arguments.pdn))
        if not text.strip():
            raise CommandError(f"{arguments.pdn!r} is empty")
        game, fen = read_position(text, get_rules(arguments.rules) if arguments.rules is not None else None)
    else:
        game, fen = Game(DEFAULT_RULES if arguments.rules is None else arguments.rules, arguments.fen), arguments.fen
    seeds = np.random.default_rng(arguments.seed)
    color = "WB"[seeds.integers(2)] if arguments.color == "random" else arguments.color[0].upper()

    @functools.cache
    def player(name: str) -> "Player":
        return make_opponent(name, game.rules, int(seeds.integers(1 << 32)))

    seats = {color: arguments.watch or PERSON, OTHER[color]: arguments.opponent}
    for seat in set(seats.values()) - {PERSON}:
        player(seat)  # whatever is wrong with it is said before the board is shown
    clock = Clock(arguments.clock) if arguments.clock else None
    begun = arguments.fen is not None or arguments.pdn is not None
    table = Table(game, seats, clock=clock, fen=fen, aided=begun)
    TerminalGame(table, player, Console(highlight=False), language(arguments), default_file()).run()
