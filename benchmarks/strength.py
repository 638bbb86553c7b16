"""Matches at equal time on one core a side: against random, alpha-beta and an engine of py-draughts.

    python benchmarks/strength.py --json strength.jsonl [--peers peers/bin/python] [--paste docs/strength.md]
    python benchmarks/strength.py --json strength.jsonl --ms 1000 --games 40 --opponents alphabeta:ms=1000,tables=4

Without --player each network and each evaluation that ships plays, with tables of four pieces and --ms for each move.
--opponents takes specs of players and ``py-draughts:ms=N``, the SimpleEngine of py-draughts, which runs in an
environment and a process of its own (see peers.py) and needs --peers; its answers are looked up among the legal moves,
and the run ends at an illegal one.

Each core has a process that plays one pair of games at a time, the same opening with both colours: whoever has the
move searches alone on that core. Nobody thinks in the other's time, and nobody loses by time: how long both sides took
for moves with a choice is measured from outside and printed, mean and worst. Both players are asked for one move before
their first game, which is not counted.

Each pair is added to --json (JSON lines) when it is over; a command that was interrupted goes on where it was, and one
with more games or other players adds to the file. A file is good for one state of the code and networks. --paste puts
the tables between ``<!-- strength-MS -->`` and ``<!-- end -->`` of a page.
"""

import argparse
import functools
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, Peer, paste

from damas_env.notation import format_fen, legal_moves
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.arena import Pair, play_pairs
from damas_rl.checkpoint import NETS
from damas_rl.elo import elo_difference
from damas_rl.evaluations import shipped_evaluations
from damas_rl.openings import Opening, draw_openings, load_openings, match_openings
from damas_rl.players import Choice, Player, PlayerError, make_player, read_spec

RULES = "cbd"
PY_DRAUGHTS = "py-draughts:ms="


class PyDraughts(Player):
    """SimpleEngine of py-draughts in a process of its own."""

    def __init__(self, python: Path, spec: str) -> None:
        self.name = spec
        self._peer = Peer([python, HERE / "peers.py", "engine", spec.removeprefix(PY_DRAUGHTS)])

    def choose(self, positions: Positions) -> Choice:
        size = len(positions)
        actions = np.array([self._ask(positions, game) for game in range(size)], dtype=np.int16)
        return Choice(actions, np.zeros(size, np.float32), np.zeros(size, np.int64), [[] for _ in range(size)])

    def _ask(self, positions: Positions, game: int) -> int:
        fen = format_fen(positions.boards[game], int(positions.colors[game]), positions.rules)
        frm, to, *captures = map(int, self._peer.ask(fen))
        for move in legal_moves(positions, game):
            if (move.frm, move.to, move.captures) == (frm, to, tuple(sorted(captures))):
                return move.action
        raise PlayerError(f"{self.name} answered {frm} to {to}, captures {captures}: illegal in {fen}")


class Timed(Player):
    """A player of one game at a time with a stopwatch, which runs where there is a choice."""

    def __init__(self, player: Player) -> None:
        self.name = player.name
        self.seconds: list[float] = []
        self._player = player

    def choose(self, positions: Positions) -> Choice:
        assert len(positions) == 1
        started = time.perf_counter()
        choice = self._player.choose(positions)
        if positions.counts[0] > 1:
            self.seconds.append(time.perf_counter() - started)
        return choice


@functools.cache
def seated(spec: str, seat: int, seed: int, peers: Path | None) -> Timed:
    """The player of a spec, ready for its first game; ``seat`` keeps the two sides of a match apart."""
    rules = get_rules(RULES)
    if spec.startswith(PY_DRAUGHTS) and peers:
        player: Player = PyDraughts(peers, spec)
    else:
        player = make_player(spec, rules, seed + seat)
    player.choose(Positions.initial(rules))
    return Timed(player)


def play_pair(specs: tuple[str, str], opening: Opening, seed: int, peers: Path | None) -> dict[str, Any]:
    """Two games from an opening, in a process that has one core: what is kept of them."""
    players = [seated(spec, seat, seed, peers) for seat, spec in enumerate(specs)]
    for player in players:
        player.seconds.clear()
    games = play_pairs([Pair(*players, opening)], get_rules(RULES))
    assert games
    return {
        "points": [game.points for game in games],
        "ends": [game.termination.name.lower() for game in games],
        "actions": [game.actions for game in games],
        "moves": [len(player.seconds) for player in players],
        "seconds": [sum(player.seconds) for player in players],
        "worst": [max(player.seconds, default=0.0) for player in players],
    }


def process_on(core: int) -> ProcessPoolExecutor:
    """A process of its own on one core, as is all that it starts; it sees no other, so searches use one thread."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    pool.submit(os.getpid).result()
    os.sched_setaffinity(0, allowed)
    return pool


def play(tasks: Sequence[dict[str, Any]], openings: Sequence[Opening], peers: Path | None, file: Path) -> None:
    """Plays pairs, one on each core at a time, and adds each to the file when it is over."""
    pools = [process_on(core) for core in sorted(os.sched_getaffinity(0))]
    left, over = iter(tasks), 0
    running: dict[Any, tuple[ProcessPoolExecutor, dict[str, Any]]] = {}

    def start(pool: ProcessPoolExecutor, task: dict[str, Any]) -> None:
        specs = task["player"], task["opponent"]
        running[pool.submit(play_pair, specs, openings[task["pair"]], task["seed"], peers)] = pool, task

    try:
        for pool, task in zip(pools, itertools.islice(left, len(pools)), strict=False):
            start(pool, task)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                pool, task = running.pop(future)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(task | future.result()) + "\n")
                over += 1
                print(f"{over}/{len(tasks)} pairs: {task['player']} - {task['opponent']}", file=sys.stderr, flush=True)
                if following := next(left, None):
                    start(pool, following)
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)


def kept(file: Path) -> list[dict[str, Any]]:
    """The pairs in a file; a last line that was cut off is taken out of it."""
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def table(player: str, opponents: Sequence[str], rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """The matches of a player in Markdown."""
    yield f"`{player}`:\n"
    yield "| opponent | won-drawn-lost | score | Elo (95 %) | plies | s a move: player, worst | opponent, worst |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for opponent in opponents:
        pairs = [row for row in rows if row["player"] == player and row["opponent"] == opponent]
        if not pairs:
            continue
        points = [point for row in pairs for point in row["points"]]
        counts = [sum(2 * sum(row["points"]) == count for row in pairs) for count in range(5)]
        elo = elo_difference(counts)
        plies = statistics.mean(len(actions) for row in pairs for actions in row["actions"])
        times = [
            f"{sum(row['seconds'][side] for row in pairs) / max(1, sum(row['moves'][side] for row in pairs)):.3f}, "
            f"{max(row['worst'][side] for row in pairs):.3f}"
            for side in range(2)
        ]
        yield (
            f"| `{opponent}` | {points.count(1.0)}-{points.count(0.5)}-{points.count(0.0)} | "
            f"{statistics.mean(points):.1%} | {elo.difference:+.0f} ({elo.low:+.0f} to {elo.high:+.0f}) | "
            f"{plies:.0f} | {times[0]} | {times[1]} |"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--player", nargs="+", metavar="SPEC", help="default: all that ship")
    parser.add_argument("--opponents", nargs="+", metavar="SPEC")
    parser.add_argument("--games", type=int, default=200, help="of each match, an even number")
    parser.add_argument("--ms", type=int, default=100, help="for each move of players that are not named")
    parser.add_argument("--openings", metavar="FILE", help="default: ballots")
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--peers", type=Path, help="Python with benchmarks/peers.txt")
    parser.add_argument("--json", type=Path, required=True, help="file of the pairs played")
    parser.add_argument("--paste", type=Path, help="page that receives the tables")
    arguments = parser.parse_args()
    ms, peers, seed = arguments.ms, arguments.peers, arguments.seed
    networks = [f"mcts:net={path.stem},ms={ms},tables=4" for path in sorted(NETS.glob("*.pt"))]
    evaluations = [f"alphabeta:ms={ms},eval={name},tables=4" for name in shipped_evaluations()]
    players = arguments.player or networks + evaluations
    depths = [f"alphabeta:depth={depth}" for depth in (2, 4, 6, 8, 10)]
    engines = [f"{PY_DRAUGHTS}{ms}"] if peers else []
    opponents = arguments.opponents or ["random", *depths, f"alphabeta:ms={ms},tables=4", *engines]
    for spec in (*players, *opponents):
        if not spec.startswith(PY_DRAUGHTS):
            try:
                read_spec(spec)
            except PlayerError as error:
                parser.error(str(error))
        elif not peers:
            parser.error(f"{spec} needs --peers")
    if arguments.games < 2 or arguments.games % 2:
        parser.error("games are played in pairs: --games must be an even number")

    pairs = arguments.games // 2
    asked = [
        {"player": player, "opponent": opponent, "openings": arguments.openings, "seed": seed, "pair": pair}
        for player in players
        for opponent in opponents
        for pair in range(pairs)
    ]
    done = {key(row) for row in kept(arguments.json)}
    if arguments.openings:
        openings = draw_openings(load_openings(arguments.openings, get_rules(RULES)), pairs, seed)
    else:
        openings = match_openings(get_rules(RULES), pairs, seed)
    interrupted = False
    try:
        play([task for task in asked if key(task) not in done], openings, peers, arguments.json)
    except KeyboardInterrupt:
        interrupted = True
    wanted = {key(task) for task in asked}
    rows = [row for row in kept(arguments.json) if key(row) in wanted]
    text = "\n\n".join("\n".join(table(player, opponents, rows)) for player in players)
    print(text)
    if interrupted:
        return 130
    paste(arguments.paste, f"strength-{ms}", text)
    return 0


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """What tells one pair from another."""
    return row["player"], row["opponent"], row["openings"], row["seed"], row["pair"]


if __name__ == "__main__":
    sys.exit(main())
