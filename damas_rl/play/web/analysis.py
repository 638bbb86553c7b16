"""Analysis for the page: a search with the shipped network that grows until it is stopped."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from damas_env.notation import legal_moves
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.play.table import RequestError, Table
from damas_rl.play.web.rooms import Room
from damas_rl.play.web.view import move_view, moves_view
from damas_rl.tablebase import AT_ONCE, Tablebase, default_path, open_tablebase

NETWORK = "small"
"""The network that judges, of those that ship."""

_STEPS = (32, 128, 512, 2048, 8192)
"""Simulations of the searches that follow each other; each begins anew, the last takes three quarters of the time."""


class Analyst:
    """Searches for all sessions of a server.

    Args:
        pool: where they run.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._idle: dict[str, list[Any]] = {}
        self._tables: dict[str, Tablebase] = {}
        self._lock = threading.Lock()
        self._evaluator: Any = None

    async def look(self, positions: Positions, simulations: int) -> dict[str, Any]:
        """What a search of so many simulations finds in a position, a batch of one."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._look, positions, simulations)

    def _look(self, positions: Positions, simulations: int) -> dict[str, Any]:
        search = self._take(positions.rules)
        try:
            result = search.run(positions, simulations)
            line = search.principal_variation(0)
        finally:
            with self._lock:
                self._idle[positions.rules.name].append(search)
        sign = 1.0 if positions.colors[0] == 0 else -1.0
        count = int(result.counts[0])
        moves = {view["action"]: view for view in moves_view(legal_moves(positions), positions)}
        visits, q, priors = (array[0, :count].tolist() for array in (result.visits, result.q, result.priors))
        rows = [
            {
                "action": action,
                "from": moves[action]["from"],
                "to": moves[action]["to"],
                "numeric": moves[action]["numeric"],
                "algebraic": moves[action]["algebraic"],
                "visits": visits[index],
                "share": visits[index] / max(1, sum(visits)),
                "prior": priors[index],
                "value": q[index] * sign,
            }
            for index, action in enumerate(result.actions[0, :count].tolist())
        ]
        rows.sort(key=lambda row: (-row["visits"], -row["prior"]))
        return {
            "simulations": int(result.simulations[0]),
            "value": float(result.value[0]) * sign,
            "proven": bool(result.proven[0]),
            "moves": rows[:8],
            "line": _line(positions, line),
            "table": self._table_says(positions),
        }

    def _table_says(self, positions: Positions) -> dict[str, Any] | None:
        """The verdict of the endgame table: who wins, in how many plies; ``sure`` if no draw law can come before it.

        None where there are too many pieces, or no table that is ready.
        """
        if np.bitwise_count(positions.boards).sum() > AT_ONCE or not default_path(positions.rules, AT_ONCE).exists():
            return None
        with self._lock:
            if positions.rules.name not in self._tables:
                self._tables[positions.rules.name] = open_tablebase(positions.rules, AT_ONCE)
        found = self._tables[positions.rules.name].judge(positions)
        if found.distance[0] < 0:
            return None
        result = int(found.result[0]) * (1 if positions.colors[0] == 0 else -1)
        return {
            "result": {1: "win", 0: "draw", -1: "loss"}[result],
            "plies": int(found.distance[0]),
            "sure": bool(found.proof[0]),
        }

    def _take(self, rules: RuleSet) -> Any:
        from damas_rl.checkpoint import load_network
        from damas_rl.networks import evaluator_of_few
        from damas_rl.search.mcts import Search, SearchConfig

        with self._lock:
            if self._evaluator is None:
                network, trained_for = load_network(NETWORK)
                self._evaluator, self._size = evaluator_of_few(network), trained_for.size
            if rules.size != self._size:
                raise RequestError(f"The network that judges knows boards of {self._size}x{self._size} only.")
            idle = self._idle.setdefault(rules.name, [])
            if idle:
                return idle.pop()
        return Search(rules, self._evaluator, SearchConfig(leaves_per_tree=4), 1, _STEPS[-1])


def _line(positions: Positions, actions: list[int]) -> list[dict[str, Any]]:
    """The moves of a continuation, so that the page can play them."""
    line, views = positions.copy(), []
    for action in actions:
        move = next(move for move in legal_moves(line) if move.action == action)
        views.append(move_view(move, line))
        line.step(np.array([action]))
    return views


_REVIEW = 256
"""Simulations for each position of a whole game."""


class AnalysisSession:
    """The analysis of one connection: one position or one whole game at a time, until something else is asked for.

    Args:
        analyst: who searches.
        room, role: the game, and for whom.
        send: takes what the page is told.
    """

    def __init__(
        self, analyst: Analyst, room: Room, role: str, send: Callable[[dict[str, Any]], Awaitable[None]]
    ) -> None:
        self._analyst, self._room, self._role, self._send = analyst, room, role, send
        self._task: asyncio.Task[None] | None = None

    def look_at(self, ply: int | None) -> None:
        """Analyses the position after ``ply`` plies; None = no more.

        Raises:
            RequestError: there is no such position.
        """
        self._stop()
        if ply is None:
            return
        table = self._table()
        if not 0 <= ply <= table.game.ply:
            raise RequestError("The game has no such ply.")
        positions = self._room.position(ply).copy()
        self._task = asyncio.ensure_future(self._run(ply, positions))

    def review(self) -> None:
        """Judges every position of the game, for its graph.

        Raises:
            RequestError: not now.
        """
        self._stop()
        table = self._table()
        game = [self._room.position(ply).copy() for ply in range(table.game.ply + 1)]
        self._task = asyncio.ensure_future(self._judge(game))

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None

    def _table(self) -> Table:
        """The table, if it may be analysed now."""
        table = self._room.table
        if table.remote and not table.outcome():
            raise RequestError("There is no analysis while two persons play.")
        table.aided |= table.outcome() is None
        return table

    async def _judge(self, game: list[Positions]) -> None:
        try:
            for ply, positions in enumerate(game):
                outcome = positions.outcome()
                if outcome:
                    value = {"W": 1.0, "B": -1.0}.get(outcome.winner or "", 0.0)
                else:
                    value = (await self._analyst.look(positions, _REVIEW))["value"]
                await self._send({"point": {"ply": ply, "value": value}})
        except ValueError as error:
            await self._send({"analysis": {"ply": len(game) - 1, "error": str(error)}})
        except RuntimeError:  # the connection is gone
            pass

    async def _run(self, ply: int, positions: Positions) -> None:
        try:
            if positions.terminations[0]:
                return
            for simulations in _STEPS:
                found = await self._analyst.look(positions, simulations)
                await self._send({"analysis": {"ply": ply, **found}})
        except ValueError as error:
            await self._send({"analysis": {"ply": ply, "error": str(error)}})
        except RuntimeError:  # the connection is gone
            pass
