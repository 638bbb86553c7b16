"""Runs libraries that damas-rl is compared with, in an environment of their own; called by the other benchmarks.

They are kept apart since one of them shares its module name with a library that the tests use, and since nothing of
damas-rl may depend on them:

    python -m venv peers && peers/bin/pip install -r benchmarks/peers.txt

Reads one task a line, answers with two numbers: how many, and in how many seconds of processor time.
"perft": a task is a depth, counted from the start. "checkers": a task is "seconds observe".
"""

import random
import sys
import time
from collections.abc import Callable
from typing import Any


def perft_task() -> Callable[[str], tuple[int, float]]:
    """Leaves of py-draughts by its public interface; the last ply is the length of the move list."""
    from draughts import BrazilianBoard

    def count(board: Any, depth: int) -> int:
        moves = board.legal_moves
        if depth == 1:
            return len(moves)
        leaves = 0
        for move in moves:
            board.push(move)
            leaves += count(board, depth - 1)
            board.pop()
        return leaves

    def run(task: str) -> tuple[int, float]:
        board, started = BrazilianBoard(), time.process_time()
        leaves = count(board, int(task))
        return leaves, time.process_time() - started

    return run


def checkers_task() -> Callable[[str], tuple[int, float]]:
    """Random legal plies of OpenSpiel's checkers, a new game after each end."""
    import pyspiel

    game = pyspiel.load_game("checkers")
    choose = random.Random(0).random

    def run(task: str) -> tuple[int, float]:
        seconds, observe = task.split()
        plies, started, limit = 0, time.process_time(), float(seconds)
        state = game.new_initial_state()
        while time.process_time() - started < limit:
            for _ in range(1000):
                if state.is_terminal():
                    state = game.new_initial_state()
                if observe == "1":
                    state.observation_tensor()
                    state.legal_actions_mask()
                actions = state.legal_actions()
                state.apply_action(actions[int(choose() * len(actions))])
            plies += 1000
        return plies, time.process_time() - started

    return run


def main() -> None:
    run = {"perft": perft_task, "checkers": checkers_task}[sys.argv[1]]()
    for task in sys.stdin:
        print(*run(task), flush=True)


if __name__ == "__main__":
    main()
