"""The server's part of what the page offers beside a game: positions that are set up."""

import random

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient

from damas_rl.play.web.app import make_app
from damas_rl.play.web.levels import Levels
from damas_rl.play.web.store import Store


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    app = make_app(Store(tmp_path_factory.mktemp("web") / "web.sqlite"), Levels())
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def set_up(server, expected=200, **wanted):
    answer = server.post("/api/position", json=wanted)
    assert answer.status_code == expected, answer.text
    return answer.json()


def test_a_position_is_set_up(server):
    start = set_up(server)
    assert (start["rules"], start["color"], start["moves"], start["fault"]) == ("cbd", "W", 7, None)
    assert len(start["pieces"]) == 24
    view = set_up(server, pieces={"22": "w", "1": "B", "c5": "b"}, color="B")
    assert view["fen"] == "B:W22:BK1,14"
    assert set_up(server, fen=view["fen"]) == view
    assert set_up(server, rules="international")["board"]["size"] == 10


@pytest.mark.parametrize(
    ("pieces", "color", "fault"),
    [
        ({}, "W", {"kind": "none", "side": "W"}),
        ({"22": "w"}, "W", {"kind": "none", "side": "B"}),
        ({"3": "w", "22": "b"}, "W", {"kind": "crowning", "side": "W", "squares": [3]}),
        ({"22": "W", "30": "b", "32": "b"}, "B", {"kind": "crowning", "side": "B", "squares": [30, 32]}),
        ({"21": "w", "17": "b", "14": "b"}, "W", {"kind": "blocked", "side": "W"}),
        ({"21": "w", "17": "b", "14": "b"}, "B", None),
        (
            {str(n): "W" for n in range(10, 23)} | {"1": "b"},
            "B",
            {"kind": "many", "side": "W", "count": 13, "most": 12},
        ),
    ],
)
def test_what_is_wrong_with_a_position_is_told(server, pieces, color, fault):
    assert set_up(server, pieces=pieces, color=color)["fault"] == fault


def test_positions_that_are_none_are_explained(server):
    rng = random.Random(3)
    wrong = [
        {"fen": "hello"}, {"fen": 3}, {"fen": "W:W1:B2" * 200}, {"pieces": [], "color": "W"}, {"pieces": {"22": "w"}},
        {"pieces": {"33": "w"}, "color": "W"}, {"pieces": {"a2": "w"}, "color": "W"}, {"rules": "/etc/passwd"},
        {"pieces": {"1": ["w"]}, "color": "W"}, {"rules": ["cbd"]}, {"more": 1}, {"pieces": {"22": "w"}, "color": None},
    ]  # fmt: skip
    for document in wrong:
        assert set_up(server, 400, **document)["error"]
    values = [None, True, 0, -1, 1e300, "", "w", "W", "\x00", "22", [], {}, {"22": "w"}, {"": ""}, "é", "W:W1:B32"]
    for _ in range(200):
        document = {rng.choice(["fen", "pieces", "color", "rules", "x"]): rng.choice(values) for _ in range(3)}
        assert server.post("/api/position", json=document).status_code in (200, 400), document
