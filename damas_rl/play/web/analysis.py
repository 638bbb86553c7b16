"""Analysis for the page: searches that grow until they are stopped, and the graph of a game."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from damas_env.notation import legal_moves
from damas_env.position import Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet
from damas_rl.analysis import lost_by
from damas_rl.moves import move_of
from damas_rl.play.languages import said_in
from damas_rl.play.table import RequestError, Table
from damas_rl.play.web.minds import Mind, Minds
from damas_rl.play.web.rooms import Room
from damas_rl.play.web.stop import Stop
from damas_rl.play.web.view import move_view, moves_view
from damas_rl.tablebase import BUILT_AT_ONCE, Tablebase
from damas_rl.tablebase.probe import pieces_of, table_kept

_MOST_MOVES = 8
"""Moves that the page is told of."""


class Analyst:
    """Searches for all sessions of a server.

    Args:
        pool: where they run.
        minds: who searches.
    """

    def __init__(self, pool: ThreadPoolExecutor, minds: Minds) -> None:
        self._pool, self.minds = pool, minds
        self._tables: dict[str, Tablebase] = {}
        self._warm = False
        self._lock = threading.Lock()

    def warm_up(self) -> None:
        """Lets the usual mind look at the initial position once, in the background: loading a network takes a while.

        A page that has got its game calls for it, not the start of the server, so that no first paint waits. What goes
        wrong is told to whoever asks for an analysis.
        """
        if not self._warm:
            self._warm = True
            self._pool.submit(self._first_look)

    def _first_look(self) -> None:
        positions = Positions.initial(DEFAULT_RULES)
        self.minds.get(None, positions.rules).think(positions, 1, Stop())

    async def mind(self, name: str | None, rules: RuleSet) -> Mind:
        """See :meth:`~damas_rl.play.web.minds.Minds.get`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self.minds.get, name, rules)

    async def look(self, positions: Positions, mind: Mind, work: int) -> dict[str, Any]:
        """What a mind thinks of a position, a batch of one, after so much work; cancelling ends the search."""
        stop = Stop()
        search = asyncio.get_running_loop().run_in_executor(self._pool, self._look, positions, mind, work, stop)
        try:
            return await search
        except asyncio.CancelledError:
            stop.now()
            raise

    def _look(self, positions: Positions, mind: Mind, work: int, stop: Stop) -> dict[str, Any]:
        thought = mind.think(positions, work, stop)
        white = bool(positions.colors[0] == 0)
        sign = 1.0 if white else -1.0
        moves = {view["action"]: view for view in moves_view(legal_moves(positions), positions)}
        rows = [
            {
                **{key: moves[action][key] for key in ("action", "from", "to", "path", "numeric", "algebraic")},
                "value": thought.values[index] * sign,
                "share": thought.visits[index] / max(1, sum(thought.visits)) if thought.visits else None,
                "prior": thought.priors[index] if thought.priors else None,
            }
            for index, action in enumerate(thought.actions)
        ]
        if thought.visits:
            rows.sort(key=lambda row: (row["share"], row["prior"]), reverse=True)
        else:
            rows.sort(key=lambda row: row["value"], reverse=white)
        return {
            "work": thought.work,
            "value": thought.value * sign,
            "chances": _chances(thought.value * sign, thought.draw),
            "proven": thought.proven,
            "moves": rows[:_MOST_MOVES],
            "line": _line(positions, thought.line),
            "table": self._table_says(positions),
        }

    def _table_says(self, positions: Positions) -> dict[str, Any] | None:
        """The verdict of the endgame table: who wins, in how many plies; ``sure`` if no draw law can come before it.

        None where there are too many pieces, or no table that is ready.
        """
        pieces, rules = pieces_of(positions), positions.rules
        if pieces > BUILT_AT_ONCE:
            return None
        with self._lock:
            table = self._tables.get(rules.name)
            if table is None or table.pieces < pieces:
                table = table_kept(rules, pieces)
            if table is None:
                return None
            self._tables[rules.name] = table
        found = table.judge(positions)
        if found.distance[0] < 0:
            return None
        result = int(found.result[0]) * (1 if positions.colors[0] == 0 else -1)
        return {
            "result": {1: "win", 0: "draw", -1: "loss"}[result],
            "plies": int(found.distance[0]),
            "sure": bool(found.proof[0]),
        }


def _chances(value: float, draw: float | None) -> dict[str, float] | None:
    """White's chances of a win, a draw, and a loss, which together make the value; None where the draw's is unknown."""
    if draw is None:
        return None
    return {"win": (1.0 - draw + value) / 2, "draw": draw, "loss": (1.0 - draw - value) / 2}


def _line(positions: Positions, actions: list[int]) -> list[dict[str, Any]]:
    """The moves of a continuation, so that the page can play them."""
    line, views = positions.copy(), []
    for action in actions:
        move = move_of(line, action)
        views.append(move_view(move, line))
        line.step(np.array([action]))
    return views


_WHITE, _RESULTS = {"W": 1.0, "B": -1.0, None: 0.0}, {"win": 1.0, "loss": -1.0, "draw": 0.0}
"""White's values by winner, and by its result."""


class AnalysisSession:
    """The analysis of one connection: one position or one whole game at a time, until something else is asked for.

    Args:
        analyst: who searches.
        room, role: the game, and for whom.
        send: takes what the page is told.
        language: of the page.
    """

    def __init__(
        self, analyst: Analyst, room: Room, role: str, send: Callable[[dict[str, Any]], Awaitable[None]], language: str
    ) -> None:
        self._analyst, self._room, self._role, self._send = analyst, room, role, send
        self._language = language
        self._task: asyncio.Task[None] | None = None

    def look_at(self, ply: int, mind: str | None) -> None:
        """Analyses the position after ``ply`` plies with a mind of that name, None = the usual one.

        Raises:
            RequestError: there is no such position.
        """
        self.stop()
        table = self._table()
        if not 0 <= ply <= table.game.ply:
            raise RequestError("The game has no such ply.")
        positions = self._room.position(ply).copy()
        self._task = asyncio.ensure_future(self._report(ply, mind, partial(self._look, ply, mind, positions)))

    def review(self, mind: str | None) -> None:
        """Judges every position of the game, for its graph.

        Raises:
            RequestError: not now.
        """
        self.stop()
        table = self._table()
        game = [self._room.position(ply).copy() for ply in range(table.game.ply + 1)]
        played = [move.action for move in table.game.moves]
        self._task = asyncio.ensure_future(self._report(table.game.ply, mind, partial(self._judge, mind, game, played)))

    def stop(self) -> None:
        """Ends what is going on."""
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

    async def _report(self, ply: int, mind: str | None, work: Callable[[], Awaitable[None]]) -> None:
        """Does a piece of work and tells the page what went wrong with it."""
        try:
            await work()
        except ValueError as error:
            await self._send({"analysis": {"ply": ply, "mind": mind, "error": said_in(self._language, str(error))}})
        except RuntimeError:  # the connection is gone
            pass

    async def _look(self, ply: int, name: str | None, positions: Positions) -> None:
        if positions.terminations[0]:
            return
        mind = await self._analyst.mind(name, positions.rules)
        for work in mind.steps:
            found = await self._analyst.look(positions, mind, work)
            await self._send({"analysis": {"ply": ply, "mind": name, **found}})

    async def _judge(self, name: str | None, game: list[Positions], played: list[int]) -> None:
        mind = await self._analyst.mind(name, game[0].rules)
        before, better = 0.0, None
        for ply, positions in enumerate(game):
            value, line = await self._value(mind, positions)
            point: dict[str, Any] = {"ply": ply, "value": value, "lost": None}
            if ply and better:
                sign = 1 if game[ply - 1].colors[0] == 0 else -1
                point["lost"] = lost_by(game[ply - 1], played[ply - 1], better["action"], sign * before, sign * value)
                point["better"] = {"numeric": better["numeric"], "algebraic": better["algebraic"]}
            await self._send({"point": point})
            before, better = value, line[0] if line else None

    async def _value(self, mind: Mind, positions: Positions) -> tuple[float, list[dict[str, Any]]]:
        """White's value of a position and the expected line; exact where the endgame table is sure."""
        outcome = positions.outcome()
        if outcome:
            return _WHITE[outcome.winner], []
        found = await self._analyst.look(positions, mind, mind.glance)
        table = found["table"]
        sure = table and table["sure"]
        return _RESULTS[table["result"]] if sure else found["value"], found["line"]
