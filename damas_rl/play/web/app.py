"""The HTTP and WebSocket interface of the web application (docs/web.md lists its addresses)."""

import asyncio
import contextlib
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from damas_env.presets import RULE_SETS
from damas_rl.play.languages import PORTUGUESE, language_of, said_in
from damas_rl.play.table import RequestError
from damas_rl.play.web.analysis import AnalysisSession, Analyst
from damas_rl.play.web.guard import Guard, TooLargeError
from damas_rl.play.web.minds import Minds
from damas_rl.play.web.requests import read_action, read_analysis, read_new_game, read_object, read_rules
from damas_rl.play.web.rooms import OvertakenError, Room, Rooms
from damas_rl.play.web.set_up import set_up
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers
from damas_rl.play.web.training import TrainingRun
from damas_rl.rule_texts import explain, titles_of

STATIC = Path(__file__).parent / "static"

_MOST_WATCHERS = 64
"""Connections to one game."""


def make_app(store: Store, thinkers: Thinkers, loopback: bool = True, run: TrainingRun | None = None) -> Starlette:
    """The application.

    Args:
        store: where games are kept; closed at the end.
        thinkers: the opponents.
        loopback: only this machine is served (see :class:`~damas_rl.play.web.guard.Guard`).
        run: whose games and networks can be looked at.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.rooms, app.state.training = Rooms(store, thinkers), run
        app.state.analyst = Analyst(thinkers.pool, Minds(thinkers.all.values(), run))
        yield
        await app.state.rooms.close()
        store.close()

    return Starlette(
        routes=[
            Route("/api/setup", _setup),
            Route("/api/games", _create, methods=["POST"]),
            Route("/api/game", _game),
            Route("/api/game", _act, methods=["POST"]),
            Route("/api/game.pdn", _pdn),
            Route("/api/position", _position, methods=["POST"]),
            Route("/api/rules/{name}", _rules),
            Route("/api/training", _training),
            Route("/api/training/{iteration}", _training_games),
            WebSocketRoute("/api/live", _live),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[Middleware(Guard, loopback=loopback)],
        exception_handlers=_FAULTS,
        lifespan=lifespan,
    )


async def _http_error(request: Request, error: HTTPException) -> Response:
    usual = {"Not Found": "There is nothing here.", "Method Not Allowed": "This address does not take that method."}
    return _refusal(request, error.status_code, usual.get(error.detail, error.detail), error.headers)


async def _bad_request(request: Request, error: ValueError) -> Response:
    return _refusal(request, 400, str(error))


async def _gone(request: Request, error: ClientDisconnect) -> Response:
    return _refusal(request, 400, "The request has broken off.")  # nobody hears it


async def _overtaken(request: Request, error: OvertakenError) -> Response:
    return _refusal(request, 409, str(error))


async def _too_large(request: Request, error: TooLargeError) -> Response:
    return _refusal(request, 413, "The request is too large.", {"connection": "close"})


async def _not_kept(request: Request, error: sqlite3.Error) -> Response:
    return _refusal(request, 503, f"The games cannot be kept: {error}.")


def _refusal(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    language = language_of(request.headers.get("accept-language", ""))
    return JSONResponse(
        {"error": said_in(language, sentence)}, status, {**(headers or {}), "content-language": language}
    )


_FAULTS: dict[Any, Any] = {
    HTTPException: _http_error,
    OvertakenError: _overtaken,
    ValueError: _bad_request,
    ClientDisconnect: _gone,
    TooLargeError: _too_large,
    sqlite3.Error: _not_kept,
}


async def _body(request: Request) -> dict[str, Any]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "Requests must be application/json.")
    return read_object(await request.body())


def _opened(request: Request) -> tuple[Rooms, Room, str]:
    """The game of the key in the request."""
    rooms: Rooms = request.app.state.rooms
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    found = rooms.open(key) if scheme.lower() == "bearer" else None
    if not found:
        raise HTTPException(404, "There is no game with this key.")
    return rooms, *found


async def _setup(request: Request) -> Response:
    rooms: Rooms = request.app.state.rooms
    return JSONResponse(
        {
            "levels": [level.id for level in rooms.thinkers.all.values()],
            "specs": {level.id: level.spec for level in rooms.thinkers.all.values()},
            "elos": {level.id: level.elo for level in rooms.thinkers.all.values()},
            "training": request.app.state.training is not None,
            "minds": request.app.state.analyst.minds.names,
            "rules": [
                {"name": rules.name, "titles": titles_of(rules), "size": rules.size} for rules in RULE_SETS.values()
            ],
        }
    )


async def _create(request: Request) -> Response:
    rooms: Rooms = request.app.state.rooms
    wanted = read_new_game(await _body(request), rooms.thinkers)
    return JSONResponse({"key": await rooms.create(wanted)}, 201)


async def _game(request: Request) -> Response:
    rooms, room, role = _opened(request)
    return JSONResponse(rooms.view(room, role))


async def _act(request: Request) -> Response:
    action, value = read_action(await _body(request))
    rooms, room, role = _opened(request)
    answer = await rooms.act(room, role, action, value)
    if "declined" in answer:
        answer["declined"] = said_in(language_of(request.headers.get("accept-language", "")), answer["declined"])
    return JSONResponse({**answer, "state": rooms.view(room, role)})


async def _pdn(request: Request) -> Response:
    rooms, room, _ = _opened(request)
    return PlainTextResponse(rooms.pdn(room))


async def _position(request: Request) -> Response:
    return JSONResponse(await asyncio.to_thread(set_up, await _body(request)))


async def _rules(request: Request) -> Response:
    """A rule set in words, in the language that the page asks for."""
    rules = read_rules({"rules": request.path_params["name"]})
    language = language_of(request.headers.get("accept-language", ""))
    sections = explain(rules, "pt" if language == PORTUGUESE else "en")
    return JSONResponse([section._asdict() for section in sections], headers={"content-language": language})


def _run_of(request: Request) -> TrainingRun:
    run: TrainingRun | None = request.app.state.training
    if run is None:
        raise HTTPException(404, "No training run is served.")
    return run


async def _training(request: Request) -> Response:
    return JSONResponse(await asyncio.to_thread(_run_of(request).overview))


async def _training_games(request: Request) -> Response:
    run, iteration = _run_of(request), request.path_params["iteration"]
    if not re.fullmatch("[0-9]{1,12}", iteration):
        raise HTTPException(404)
    return JSONResponse(await asyncio.to_thread(run.games, int(iteration)))


async def _live(socket: WebSocket) -> None:
    """News of one game: the page sends its key first, then asks for analysis or ends it."""
    rooms: Rooms = socket.app.state.rooms
    await socket.accept()
    try:
        document = await asyncio.wait_for(_message(socket), 10)
    except (RequestError, TimeoutError):
        await _close(socket, 4400, "The first message must hold the key of a game.")
        return
    except WebSocketDisconnect:
        return
    key = document.get("key")
    try:
        found = rooms.open(key) if isinstance(key, str) else None
    except RequestError as error:
        await _close(socket, 4404, str(error))
        return
    if not found:
        await _close(socket, 4404, "There is no game with this key.")
        return
    room, role = found
    if len(room.watchers) >= _MOST_WATCHERS:
        await _close(socket, 4429, "Too many pages show this game already.")
        return
    language = language_of(str(document.get("language", "")))
    analysis = AnalysisSession(socket.app.state.analyst, room, role, socket.send_json, language)

    async def news(state: dict[str, Any]) -> None:
        await socket.send_json({"state": state, "at": time.time()})

    rooms.watch(room, role, news)
    try:
        await news(rooms.view(room, role))
        socket.app.state.analyst.warm_up()
        while True:
            ply, mind, whole = read_analysis(await _message(socket))
            if whole:
                analysis.review(mind)
            elif ply is not None:
                analysis.look_at(ply, mind)
            else:
                analysis.stop()
    except ValueError as error:
        await _close(socket, 4400, str(error)[:100])
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        analysis.stop()
        rooms.unwatch(room, news)


async def _message(socket: WebSocket) -> dict[str, Any]:
    """The JSON object that a page sends next."""
    try:
        return read_object(await socket.receive_text())
    except KeyError:  # of a message of bytes
        raise RequestError("Messages must be text.") from None


async def _close(socket: WebSocket, code: int, reason: str) -> None:
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code, reason)
