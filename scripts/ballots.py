"""Writes opening ballots: all positions after a few plies in which neither side is ahead, as moves from the start.

    python scripts/ballots.py --rules cbd --output damas_rl/ballots/cbd.txt

Move orders that lead to one position count once. Forced moves are played out, then alpha-beta judges: an opening is
passed over if a side is ahead by ``--threshold`` hundredths of a man or more. A number of nodes limits each search, so
one version of the search always writes the same file. Takes five minutes on two cores.
"""

import argparse
from pathlib import Path

import numpy as np

from damas_env.game import Game
from damas_env.notation import format_move
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import progress_bar
from damas_rl.files import atomic_write
from damas_rl.moves import move_of
from damas_rl.search.alphabeta import AlphaBeta, Limits

_AT_ONCE = 8


def openings(rules: RuleSet, plies: int) -> tuple[Positions, np.ndarray]:
    """The distinct positions after ``plies`` plies in which the game goes on, and int16[B, plies] ways to them."""
    positions, ways = Positions.initial(rules, 1), np.empty((1, 0), dtype=np.int16)
    for _ in range(plies):
        parents = np.repeat(np.arange(len(positions)), positions.counts)
        actions = positions.actions[np.arange(positions.actions.shape[1]) < positions.counts[:, None]]
        positions, ways = positions.take(parents), np.column_stack((ways[parents], actions))
        positions.step(actions)
        _, first = np.unique(positions.boards, axis=0, return_index=True)
        kept = np.sort(first)
        kept = kept[positions.terminations[kept] == 0]
        positions, ways = positions.take(kept), ways[kept]
    return positions, ways


def judge(positions: Positions, nodes: int) -> np.ndarray:
    """int64[B], how far White is ahead, in hundredths of a man."""
    quiet = positions.copy()
    while (forced := (quiet.counts == 1) & (quiet.terminations == 0)).any():
        quiet.step(quiet.actions[:, 0], forced)
    if quiet.terminations.any():
        raise SystemExit("An opening ends in forced moves that end the game: choose fewer plies.")
    search, scores = AlphaBeta(quiet.rules, Limits(nodes=nodes)), np.empty(len(quiet), dtype=np.int64)
    with progress_bar(False, "openings judged") as progress:
        for start in range(0, len(quiet), _AT_ONCE):
            batch = np.arange(start, min(start + _AT_ONCE, len(quiet)))
            scores[batch] = search.search(quiet.take(batch), np.zeros(len(batch), dtype=np.uint64)).scores
            if progress:
                progress(int(batch[-1]) + 1, len(quiet))
    return np.where(quiet.colors == 0, scores, -scores)


def spell(rules: RuleSet, way: np.ndarray) -> str:
    """The moves as text; squares have the same names whatever the numbering of a rule set is."""
    game, words = Game(rules), []
    for action in way.tolist():
        move = move_of(game.positions, action)
        words.append(format_move(move, game.positions, "algebraic"))
        game.push(action)
    return " ".join(words)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--plies", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=4_000_000, help="of the search of each opening")
    parser.add_argument("--threshold", type=int, default=50, help="in hundredths of a man")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    rules = get_rules(arguments.rules)
    positions, ways = openings(rules, arguments.plies)
    scores = judge(positions, arguments.nodes)
    balanced = np.flatnonzero(np.abs(scores) < arguments.threshold)
    options = "".join(f" --{name} {getattr(arguments, name)}" for name in ("rules", "plies", "nodes", "threshold"))
    lines = [
        f"# {len(balanced)} of the {len(ways)} positions after {arguments.plies} plies: those in which alpha-beta "
        f"({arguments.nodes:,} nodes)",
        f"# finds neither side ahead by {arguments.threshold} hundredths of a man; made with",
        f"# python scripts/ballots.py{options}",
        "# Behind each opening: how far White is ahead.",
        *(f"{spell(rules, ways[index])}  # {scores[index]:+d}" for index in balanced),
    ]
    atomic_write(arguments.output, ["\n".join(lines).encode() + b"\n"])
    rest = np.delete(scores, balanced)
    closest = f", the nearest of the others {np.abs(rest).min()}" if len(rest) else ""
    furthest = f" (the furthest {np.abs(scores[balanced]).max()}{closest})" if len(balanced) else ""
    print(f"{len(balanced)} of {len(ways)} openings are balanced{furthest}.")


if __name__ == "__main__":
    main()
