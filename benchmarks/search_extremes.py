"""Searches the positions of a rule set for the extremes that the action encoding and the move buffers must stand.

Thousands of independent chains of simulated annealing change a piece or two at a time; the batched rules core
scores all of them at once. Prints the best position of each objective as FEN (White to move).

    python benchmarks/search_extremes.py --seconds 60
    python benchmarks/search_extremes.py --objective spare --seconds 300 --out found.json
    python benchmarks/search_extremes.py --rules russian --seconds 60
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from damas_env.board import GEOMETRY
from damas_env.kernel import kernel, popcount
from damas_env.movegen import is_capture, move_captured
from damas_env.notation import format_fen
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules

OBJECTIVES = {
    "moves": "legal moves",
    "captures": "distinct captures",
    "spare": "moves beyond the first of their (from, to)",
    "sharing": "moves that share one (from, to)",
    "longest": "pieces taken by one move",
}
EMPTY, OWN_MAN, OWN_KING, OTHER_MAN, OTHER_KING = range(5)


@kernel
def _measure(spec, moves, counts, out):
    """Writes int64[B, 5], the objectives of each position in the order of OBJECTIVES."""
    for row in range(len(counts)):
        spare, run, sharing, taken, captures = 0, 1, min(1, counts[row]), 0, 0
        for index in range(counts[row]):
            code = moves[row, index]
            if is_capture(code):
                captures += 1
                taken = max(taken, popcount(move_captured(spec, code)))
            if index > 0 and code >> np.uint64(52) == moves[row, index - 1] >> np.uint64(52):
                spare += 1
                run += 1
                sharing = max(sharing, run)
            else:
                run = 1
        out[row, 0], out[row, 1], out[row, 2] = counts[row], captures, spare
        out[row, 3], out[row, 4] = sharing, taken


def boards_of(squares: np.ndarray, rules: RuleSet) -> np.ndarray:
    """int8[B, S] contents of the view squares -> uint64[B, 4] boards."""
    bits = np.uint64(1) << GEOMETRY[rules.size].bit_of_view.astype(np.uint64)
    return np.stack([(squares == piece) @ bits for piece in range(1, 5)], axis=1)


def measure(squares: np.ndarray, rules: RuleSet) -> tuple[np.ndarray, np.ndarray]:
    """(int64[B, 5] objectives, uint64[B, 4] boards) of a batch."""
    boards = boards_of(squares, rules)
    positions = Positions.from_boards(rules, boards, np.zeros(len(boards), dtype=np.int8))
    out = np.empty((len(boards), len(OBJECTIVES)), dtype=np.int64)
    _measure(rules.spec, positions.moves, positions.counts, out)
    return out, boards


def is_legal(squares: np.ndarray, rules: RuleSet) -> np.ndarray:
    """bool[B]: some piece, no more of a side than at the start, and no man on its crowning row."""
    own = ((squares == OWN_MAN) | (squares == OWN_KING)).sum(axis=1)
    other = ((squares == OTHER_MAN) | (squares == OTHER_KING)).sum(axis=1)
    row = rules.size // 2
    crowned = (squares[:, :row] == OWN_MAN).any(axis=1) | (squares[:, -row:] == OTHER_MAN).any(axis=1)
    return (own + other > 0) & (own <= rules.men) & (other <= rules.men) & ~crowned


def mutate(squares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A changed copy: one square filled anew or two squares exchanged, sometimes twice."""
    changed = squares.copy()
    rows = np.arange(len(squares))
    for repeat in range(2):
        chosen = rows if repeat == 0 else rows[rng.random(len(rows)) < 0.3]
        first, second = rng.integers(squares.shape[1], size=(2, len(chosen)))
        exchange = rng.random(len(chosen)) < 0.5
        a, b = changed[chosen, first], changed[chosen, second]
        piece = rng.choice(5, size=len(chosen), p=(0.35, 0.05, 0.25, 0.25, 0.10)).astype(np.int8)
        changed[chosen, first] = np.where(exchange, b, piece)
        changed[chosen, second] = np.where(exchange, a, changed[chosen, second])
    return changed


def anneal(
    rules: RuleSet, objective: str, seconds: float, chains: int, rng: np.random.Generator, progress: Progress
) -> tuple[dict[str, int], np.ndarray, int]:
    """(objectives of the best position found, its boards, positions looked at)."""
    column = list(OBJECTIVES).index(objective)
    # What a chain climbs: the objective, and a little of what leads to it where the objective itself is flat.
    slope = np.zeros(len(OBJECTIVES))
    slope[column] = 1.0
    if objective in ("spare", "sharing"):
        slope[list(OBJECTIVES).index("captures")] += 0.05
    if objective in ("spare", "sharing", "captures"):
        slope[list(OBJECTIVES).index("longest")] += 0.02
    task = progress.add_task(OBJECTIVES[objective], total=seconds, best="")
    start, steps, length = time.monotonic(), 0, 4000
    best, best_boards = np.zeros(len(OBJECTIVES), dtype=np.int64), np.zeros(4, dtype=np.uint64)
    squares = np.zeros((chains, rules.num_squares), dtype=np.int8)
    scores = np.zeros(chains)
    while (passed := time.monotonic() - start) < seconds:
        if steps % length == 0:
            squares[:] = EMPTY
            squares[np.arange(chains), rng.integers(rules.num_squares, size=chains)] = OWN_KING
            scores[:] = 0
        temperature = 0.03 ** (steps % length / length)
        candidates = mutate(squares, rng)
        illegal = ~is_legal(candidates, rules)
        candidates[illegal] = squares[illegal]
        found, boards = measure(candidates, rules)
        gain = found @ slope - scores
        accepted = gain >= temperature * np.log(rng.random(chains))
        squares[accepted] = candidates[accepted]
        scores[accepted] += gain[accepted]
        top = int(found[:, column].argmax())
        if found[top, column] > best[column]:
            best, best_boards = found[top].copy(), boards[top].copy()
        steps += 1
        if steps % 50 == 0:
            progress.update(task, completed=passed, best=f"best {best[column]}")
    progress.update(task, completed=seconds, best=f"best {best[column]}")
    return dict(zip(OBJECTIVES, best.tolist(), strict=True)), best_boards, steps * chains


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--objective", choices=[*OBJECTIVES, "all"], default="all")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each objective")
    parser.add_argument("--chains", type=int, default=1024, help="independent chains")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file for the positions found")
    options = parser.parse_args()
    rules = get_rules(options.rules)
    names = list(OBJECTIVES) if options.objective == "all" else [options.objective]
    console = Console()
    table = Table("objective", *OBJECTIVES, Column("FEN", overflow="fold"), title="Extremes found")
    results = []
    columns = (*Progress.get_default_columns()[:2], TextColumn("{task.fields[best]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        for name in names:
            rng = np.random.default_rng([options.seed, list(OBJECTIVES).index(name)])
            best, boards, looked_at = anneal(rules, name, options.seconds, options.chains, rng, progress)
            fen = format_fen(boards, 0, rules)
            results.append({"objective": name, "fen": fen, **best, "positions_searched": looked_at})
            table.add_row(name, *map(str, best.values()), fen)
    console.print(table)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
