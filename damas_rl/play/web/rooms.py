"""The games that are being played: requests of the page, moves of machines, flags that fall, and news for the page."""

import asyncio
import logging
import secrets
import sqlite3
import time
from collections.abc import Awaitable, Callable
from typing import Any

from damas_env.errors import shown
from damas_env.notation import Move, format_move
from damas_env.rules import get_rules
from damas_rl.moves import move_of
from damas_rl.play.clocks import TimeControl
from damas_rl.play.draw_offers import refusal, too_early
from damas_rl.play.levels import ADVISER
from damas_rl.play.lines import spell_line
from damas_rl.play.ratings import counts, rated
from damas_rl.play.table import OTHER, PERSON, RequestError, Table, new_table
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers
from damas_rl.play.web.view import History, state_view
from damas_rl.players import Choice

_SHOWN_FOR = 0.7
"""Seconds that each move of machines against each other stays on the board at least."""

_MOST_ROOMS = 200
"""Games in memory; those that nobody watches leave first."""

_log = logging.getLogger(__name__)

News = Callable[[dict[str, Any]], Awaitable[None]]


class OvertakenError(RequestError):
    """The position has changed while an answer was being looked for."""


class Room:
    """One game in memory.

    Attributes:
        number: in the store.
        table, history: the game.
        watchers: who gets news, with the role of each.
        turn: grows with every change that makes a search useless.
        searches: the latest search of each level in this position.
        task: the machine's move, from search to board.
        alarm: falls with the flag.
        unsaved: the store could not keep its last change.
    """

    def __init__(self, number: int, table: Table) -> None:
        self.number, self.table, self.history = number, table, History(table)
        self.watchers: dict[News, str] = {}
        self.turn = 0
        self.searches: dict[str, asyncio.Task[Choice]] = {}
        self.task: asyncio.Task[None] | None = None
        self.alarm: asyncio.TimerHandle | None = None
        self.unsaved = False

    def position(self, ply: int) -> Any:
        """The position after so many plies, a batch of one."""
        self.history.view(self.table.game)
        return self.history.positions[ply]

    @property
    def busy(self) -> bool:
        """True if something will happen here by itself, or somebody waits."""
        searching = not all(map(asyncio.Task.done, self.searches.values()))
        return bool(self.watchers or self.task or self.alarm or self.unsaved or searching)

    def stop(self) -> None:
        """Ends every search and the machine's move."""
        for task in (*self.searches.values(), *filter(None, [self.task])):
            task.cancel()
        self.searches.clear()
        self.task = None


class Rooms:
    """All games of a server. Everything here runs on the event loop, except searches.

    Args:
        store: where games are kept.
        thinkers: the machines.
    """

    def __init__(self, store: Store, thinkers: Thinkers) -> None:
        self.thinkers = thinkers
        self._store = store
        self._rooms: dict[int, Room] = {}
        self._started = time.time()
        self._news: set[asyncio.Task[None]] = set()

    async def create(self, wanted: dict[str, Any]) -> str:
        """Makes a game and returns the key of who asked for it.

        Args:
            wanted: ``rules``, ``seats``, ``remote``, ``clock``, ``position``, and ``color``, the side of who asks where
                the other person sits at another browser; all checked by type already.

        Raises:
            ValueError: they do not go together.
        """
        seats, remote = wanted["seats"], wanted["remote"]
        persons = [side for side in "WB" if seats[side] == PERSON]
        if remote and len(persons) < 2:
            raise RequestError("Only two persons can play in two browsers.")
        control = TimeControl(**wanted["clock"]) if wanted["clock"] else None
        for seat in set(seats.values()) - {PERSON}:
            if reason := await asyncio.to_thread(self.thinkers.why_not, seat, get_rules(wanted["rules"])):
                raise RequestError(reason)
        table = await asyncio.to_thread(new_table, wanted["rules"], seats, remote, control, wanted["position"])
        if remote:
            table.invited = OTHER[wanted["color"]]
        keys = self._add(table)
        return keys[wanted["color"] if remote else "all"]

    def _add(self, table: Table) -> dict[str, str]:
        """Keeps a new table; returns the key of each role."""
        keys = {role: secrets.token_urlsafe(24) for role in ("WB" if table.remote else ("all",))}
        number = self._store.add(table.record(), {key: role for role, key in keys.items()})
        self._rooms[number] = room = Room(number, table)
        self._make_space()
        self._go_on(room)
        return keys

    def _make_space(self) -> None:
        for number, room in list(self._rooms.items()):
            if len(self._rooms) <= _MOST_ROOMS:
                break
            if not room.busy:
                del self._rooms[number]

    def open(self, key: str) -> tuple[Room, str] | None:
        """The game that a key opens and the role that it gives: ``"W"``, ``"B"`` or ``"all"``.

        Raises:
            RequestError: its record is damaged.
        """
        found = self._store.find(key)
        if not found:
            return None
        number, role = found
        if number not in self._rooms:
            try:
                record = self._store.load(number)
                if record is None:
                    return None
                room = Room(number, Table.restore(record, self._started))
                state_view(room.table, room.history, time.time())
            except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
                _log.warning("Game %d is damaged: %s", number, shown(error))
                raise RequestError("This game cannot be read any more.") from None
            self._rooms[number] = room
            self._make_space()
            self._go_on(room)
        room = self._rooms[number]
        if role == room.table.invited:
            room.table.invited = None
            self._save(room)
            self._tell(room)
        return room, role

    def view(self, room: Room, role: str) -> dict[str, Any]:
        """The state of a game for one role."""
        now = time.time()
        room.table.flag(now)
        state = state_view(room.table, room.history, now)
        state["role"] = role
        invited = room.table.invited
        state["invite"] = self._store.keys(room.number)[invited] if invited and role == OTHER[invited] else None
        state["unsaved"] = room.unsaved
        value, games = self._store.rating()
        gain = room.table.gain
        state["rating"] = {"value": round(value), "games": games, "gain": None if gain is None else round(gain)}
        successor = room.table.successor
        state["rematch"] = self._store.keys(successor).get(OTHER.get(role, role)) if successor else None
        return state

    async def act(self, room: Room, role: str, action: str, value: Any) -> dict[str, Any]:
        """Does what a person asks for and returns what only this person is told.

        Args:
            room, role: from :meth:`open`.
            action: the request.
            value: an action index for ``move``, unused otherwise.

        Raises:
            ValueError: it cannot be done now.
        """
        table, now = room.table, time.time()
        side = self._side(table, role)
        if action == "move":
            if table.seats[table.game.color] != PERSON or role not in ("all", table.game.color):
                raise RequestError("It is not your turn.")
            table.move(value, now)
        elif action == "hint":
            return await self._hint(room, role)
        elif action == "draw" and not table.remote:
            return await self._ask_for_draw(room, side)
        elif action == "undo" and not table.remote:
            table.undo(role, now)
        elif action in ("draw", "undo"):
            if table.offer == {"kind": action, "by": OTHER[side]}:
                table.agree(now) if action == "draw" else table.undo(OTHER[side], now)
            else:
                table.make_offer(action, side)
        elif action == "decline":
            table.offer = None
        elif action == "resign":
            if table.machines:
                raise RequestError("Only players resign.")
            table.resign(side, now)
        elif action == "rematch":
            if not table.outcome():
                raise RequestError("The game is not over yet.")
            if not table.successor:
                keys = self._add(table.rematch())
                table.successor = self._store.find(next(iter(keys.values())))[0]  # type: ignore[index]
        elif action == "pause":
            if set(table.seats.values()) == {PERSON}:
                raise RequestError("Only machines can be paused.")
            table.paused = not table.paused
        else:
            raise RequestError(f"There is nothing called {shown(action)} to do.")
        self._changed(room)
        return {}

    @staticmethod
    def _side(table: Table, role: str) -> str:
        """The side for which a role acts: its own, that of the only person, or that to move."""
        if role in OTHER:
            return role
        persons = [side for side in "WB" if table.seats[side] == PERSON]
        return persons[0] if len(persons) == 1 else table.game.color

    async def _hint(self, room: Room, role: str) -> dict[str, Any]:
        table = room.table
        if table.outcome():
            raise RequestError("The game is over, there is nothing to advise.")
        if table.remote:
            raise RequestError("There are no hints while two persons play.")
        if table.seats[table.game.color] != PERSON or role not in ("all", table.game.color):
            raise RequestError("It is not your turn.")
        table.aided = True
        self._save(room)
        positions = table.game.positions.copy()
        choice = await self._choose(room, ADVISER)
        move = _chosen(table, choice)
        return {
            "hint": {
                "action": move.action,
                "from": move.frm,
                "to": move.to,
                "numeric": format_move(move, positions),
                "algebraic": format_move(move, positions, "algebraic"),
                "value": float(choice.values[0]),
                "line": {name: spell_line(positions, choice.pvs[0][:6], name)[1:] for name in ("numeric", "algebraic")},
            }
        }

    async def _ask_for_draw(self, room: Room, side: str) -> dict[str, Any]:
        """A draw at one browser: two persons agree at once, a machine thinks about it."""
        table = room.table
        if table.machines:
            raise RequestError("Only players offer a draw.")
        table.make_offer("draw", side)
        table.offer = None
        machine = table.seats[OTHER[side]]
        if machine == PERSON:
            table.agree(time.time())
            self._changed(room)
            return {}
        if table.game.color != side:
            raise RequestError("Offer a draw when it is your turn.")
        reason = too_early(table.game) or refusal(float((await self._choose(room, machine)).values[0]))
        if reason:
            return {"declined": reason}
        table.agree(time.time())
        self._changed(room)
        return {}

    async def _choose(self, room: Room, level: str) -> Choice:
        """What a level plays now; who asks while it is thinking waits for the same answer.

        Raises:
            OvertakenError: the position has changed, which ends the search.
        """
        turn, search = room.turn, room.searches.get(level)
        if search is None or search.done():
            search = asyncio.ensure_future(self.thinkers.choose(level, room.table.game.positions.copy()))
            room.searches[level] = search
        await asyncio.wait([search])
        if room.turn != turn or search.cancelled():
            raise OvertakenError("The position has changed meanwhile.")
        return search.result()

    def watch(self, room: Room, role: str, news: News) -> None:
        """Sends news of a game from now on; machines play on while somebody watches."""
        room.watchers[news] = role
        self._go_on(room)

    def unwatch(self, room: Room, news: News) -> None:
        """Sends no more news; machines that nobody watches stop thinking."""
        room.watchers.pop(news, None)
        if room.table.machines and not room.watchers:
            room.stop()

    def _rated(self, table: Table) -> tuple[float, int] | None:
        """The person's rating after a game that has ended, once, if it says something of it."""
        level = self.thinkers.all.get(table.opponent or "")
        if not level or level.elo is None or not counts(table):
            return None
        return rated(table, level.elo, self._store.rating())

    def _changed(self, room: Room) -> None:
        """After a change: keeps it, tells everybody, and lets the machine think anew."""
        room.turn += 1
        room.stop()
        self._save(room)
        self._tell(room)
        self._go_on(room)

    def _save(self, room: Room) -> None:
        """Keeps a game, and the rating that it changes: both or neither.

        Where that fails, on a full disk say, the game goes on in memory and is kept with its next change.
        """
        rating = None
        try:
            rating = self._rated(room.table)
            self._store.save(room.number, room.table.record(), rating)
            room.unsaved = False
        except sqlite3.Error as error:
            _log.warning("Game %d cannot be kept: %s", room.number, error)
            if rating is not None:
                room.table.gain = None
            room.unsaved = True

    def _tell(self, room: Room) -> None:
        for news, role in list(room.watchers.items()):
            task = asyncio.ensure_future(self._send(room, news, self.view(room, role)))
            self._news.add(task)
            task.add_done_callback(self._news.discard)

    async def _send(self, room: Room, news: News, state: dict[str, Any]) -> None:
        try:
            await news(state)
        except Exception:  # whatever a broken connection raises
            room.watchers.pop(news, None)

    def _go_on(self, room: Room) -> None:
        """Starts what has to happen without a request: the machine's search and the fall of the flag."""
        table, loop = room.table, asyncio.get_running_loop()
        if room.alarm:
            room.alarm.cancel()
            room.alarm = None
        falls = table.clock.falls_at() if table.clock and not table.outcome() else None
        if falls is not None:
            room.alarm = loop.call_later(max(0.0, falls - time.time()) + 0.02, self._flag, room)
        if table.thinker and not room.task and (room.watchers or not table.machines):
            room.task = loop.create_task(self._machine_moves(room))

    def _flag(self, room: Room) -> None:
        room.alarm = None
        room.table.flag(time.time())
        if room.table.outcome():
            self._changed(room)
        else:
            self._go_on(room)

    async def _machine_moves(self, room: Room) -> None:
        table, level = room.table, room.table.thinker
        assert level is not None
        began = time.monotonic()
        try:
            choice = await self._choose(room, level)
        except Exception as error:  # of any kind: the page would wait for ever
            _log.warning("%s cannot move: %s", level, str(error) or type(error).__name__)
            table.paused, room.task = True, None
            self._changed(room)
            return
        if table.machines:
            await asyncio.sleep(max(0.0, _SHOWN_FOR - (time.monotonic() - began)))
        room.task = None
        now = time.time()
        table.flag(now)
        if not table.outcome():
            table.move(_chosen(table, choice).action, now)
        self._changed(room)

    def pdn(self, room: Room) -> str:
        """The game as a PDN file."""
        table = room.table
        names = {side: "Person" if seat == PERSON else f"damas {seat}" for side, seat in table.seats.items()}
        return table.pdn(names)

    async def close(self) -> None:
        """Ends searches and alarms; games are in the store already, unless it could not keep them."""
        ending = [search for room in self._rooms.values() for search in room.searches.values()]
        for room in self._rooms.values():
            room.stop()
            if room.alarm:
                room.alarm.cancel()
            if room.unsaved:
                self._save(room)
        await asyncio.gather(*ending, return_exceptions=True)
        self.thinkers.close()


def _chosen(table: Table, choice: Choice) -> Move:
    return move_of(table.game.positions, int(choice.actions[0]))
