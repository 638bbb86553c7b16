"""What the tests of the web application's server share: a server of its own, and words for what a page asks for."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from damas_rl.play.levels import LEVELS
from damas_rl.play.web import thinkers
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers

ORIGIN = "http://localhost"
BOTH = {"W": "person", "B": "person"}
AGAINST = {"W": "person", "B": "club"}


@pytest.fixture(autouse=True)
def quick_levels(monkeypatch):
    """The levels that take a second a move, and a table that is built first, do with less here."""
    quick = {"network": {"spec": "mcts:net=small,ms=50"}, "full": {"spec": "alphabeta:ms=50,eval=cbd"}}
    changed = tuple(replace(level, **quick.get(level.id, {})) for level in LEVELS)
    monkeypatch.setattr(thinkers, "LEVELS", changed)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "web.sqlite"


@pytest.fixture
def server(place):
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN, raise_server_exceptions=False) as client:
        yield client


def create(server, **wanted) -> str:
    wanted.setdefault("seats", BOTH)
    answer = server.post("/api/games", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.json()["key"]


def headers(key):
    return {"Authorization": f"Bearer {key}"}


def connect(server, **more):
    return server.websocket_connect("/api/live", headers={"Host": "localhost", **more})


def state(server, key):
    answer = server.get("/api/game", headers=headers(key))
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(server, key, do, expected=200, **more):
    answer = server.post("/api/game", headers=headers(key), json={"do": do, **more})
    assert answer.status_code == expected, answer.text
    return answer.json()


def play(server, key, text):
    legal = state(server, key)["legal"]
    move = next(move for move in legal if text in (move["numeric"], move["algebraic"]))
    return act(server, key, "move", action=move["action"])["state"]


def until(server, key, wanted, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = state(server, key)
        if wanted(now):
            return now
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {now}")
