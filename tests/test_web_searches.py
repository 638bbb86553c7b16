"""The web application's searches: analysis, the graph of a game, and an end to all that nobody waits for."""

import asyncio
import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import web_cases
from damas_env.position import Positions
from damas_rl.play.web import minds, thinkers
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers
from web_cases import ORIGIN, act, connect, create, play, state, until

place, quick_levels, server = web_cases.place, web_cases.quick_levels, web_cases.server


SLOW = {"full": "alphabeta:ms=60000,eval=cbd", "network": "mcts:net=small,ms=60000"}


@pytest.fixture
def one_thread(monkeypatch, place):
    """A server with one thread for searches, on which two levels think for a minute."""
    monkeypatch.setattr(thinkers, "AT_ONCE", 1)
    slow = tuple(replace(level, spec=SLOW.get(level.id, level.spec)) for level in thinkers.LEVELS)
    monkeypatch.setattr(thinkers, "LEVELS", slow)
    monkeypatch.setattr(minds.NetworkMind, "steps", (100_000,))
    monkeypatch.setattr(minds.PlayerMind, "steps", (10**9,))
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN, raise_server_exceptions=False) as client:
        for level in ("beginner", *SLOW):  # what is compiled or loaded at first is not part of the time
            assert client.portal.call(stopped_at_once, client.app.state.rooms.thinkers, level)
        yield client


async def stopped_at_once(all_levels, level):
    """True if a search that is cancelled ends its thread's work too."""
    task = asyncio.ensure_future(all_levels.choose(level, Positions.initial("cbd")))
    await asyncio.wait([task], timeout=0.1)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return await asyncio.get_running_loop().run_in_executor(all_levels.pool, lambda: True)


def answers_at_once(server):
    """True if the one thread is free: another game gets its move soon."""
    key = create(server, seats={"W": "beginner", "B": "person"})
    return until(server, key, lambda now: now["ply"] == 1, 5)


@pytest.mark.parametrize("level", SLOW)
@pytest.mark.parametrize("end", ["undo", "resign"])
def test_a_search_that_is_not_needed_any_more_ends(one_thread, level, end):
    key = create(one_thread, seats={"W": "person", "B": level})
    play(one_thread, key, "22-18")
    time.sleep(0.2)
    assert state(one_thread, key)["thinking"]
    act(one_thread, key, end)
    assert answers_at_once(one_thread)


def test_a_hint_that_has_been_overtaken_ends(one_thread):
    key = create(one_thread)
    with ThreadPoolExecutor(2) as threads:
        hints = [threads.submit(act, one_thread, key, "hint", 409) for _ in range(2)]  # they share one search
        time.sleep(0.3)
        play(one_thread, key, "22-18")
        assert all("changed meanwhile" in hint.result(5)["error"] for hint in hints)
    assert answers_at_once(one_thread)


def test_machines_that_nobody_watches_stop_thinking(one_thread):
    key = create(one_thread, seats={"W": "full", "B": "network"})
    with connect(one_thread) as live:
        live.send_json({"key": key})
        assert live.receive_json()["state"]["thinking"]
        time.sleep(0.2)
    assert answers_at_once(one_thread)
    assert state(one_thread, key)["ply"] == 0


@pytest.mark.parametrize("mind", SLOW)
@pytest.mark.parametrize("end", ["nothing", "another", "closed"])
def test_an_analysis_that_is_not_wanted_any_more_ends(one_thread, mind, end):
    key = create(one_thread, position="1. c3-d4 b6-c5 2. d4xb6 a7xc5 *")
    with connect(one_thread) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0, "mind": mind})
        time.sleep(0.3)
        if end == "another":
            live.send_json({"analyse": 1, "mind": mind})
            time.sleep(0.3)
        if end != "closed":
            live.send_json({"analyse": None})
            assert answers_at_once(one_thread)
    assert answers_at_once(one_thread)


def test_the_network_is_loaded_before_somebody_asks_for_it(server):
    key, minds = create(server), server.app.state.analyst.minds
    state(server, key)
    assert not minds._loaded
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        end = time.monotonic() + 60
        while "network" not in minds._loaded and time.monotonic() < end:
            time.sleep(0.05)
    assert list(minds._loaded) == ["network"]


def test_analysis_grows_and_stops(server):
    key = create(server)
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0})
        first = live.receive_json()["analysis"]
        second = live.receive_json()["analysis"]
        assert 0 < first["work"] < second["work"]
        for found in (first, second):
            chances = found["chances"]
            assert min(chances.values()) >= 0
            assert sum(chances.values()) == pytest.approx(1)
            assert chances["win"] - chances["loss"] == pytest.approx(found["value"], abs=1e-6)
        assert sum(row["prior"] for row in second["moves"]) == pytest.approx(1, abs=0.05)
        assert second["moves"][0]["algebraic"] == second["line"][0]["algebraic"]
        assert second["table"] is None
        live.send_json({"analyse": None})
        live.send_json({"analyse": 7})
        with pytest.raises(WebSocketDisconnect):
            while True:
                live.receive_json()


def test_the_graph_of_a_game(server):
    key = create(server, position="1. c3-d4 b6-c5 2. d4xb6 a7xc5 *")
    with connect(server) as live:
        live.send_json({"key": key})
        assert live.receive_json()["state"]["ply"] == 4
        live.send_json({"review": True})
        points = [live.receive_json()["point"] for _ in range(5)]
        assert [point["ply"] for point in points] == list(range(5))
        assert all(-1 <= point["value"] <= 1 for point in points)


def test_no_analysis_while_two_people_play(server):
    key = create(server, remote=True)
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0})
        with pytest.raises(WebSocketDisconnect):
            live.receive_json()
