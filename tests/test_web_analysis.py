"""The server's part of what the page offers beside playing: positions, minds, training games, rules."""

import json
import random
from contextlib import contextmanager
from dataclasses import replace

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from damas_env.game import Game
from damas_env.rules import get_rules
from damas_rl.play.table import RequestError
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers
from damas_rl.play.web.training import TrainingRun
from damas_rl.tablebase import open_tablebase

OWN = "mcts:net=base,sims=50"
BOTH = {"W": "person", "B": "person"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    thinkers = Thinkers([OWN])
    thinkers.all["full"] = replace(thinkers.all["full"], spec="alphabeta:ms=50,eval=cbd")  # without a table
    app = make_app(Store(tmp_path_factory.mktemp("web") / "web.sqlite"), thinkers)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="module")
def run_server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    run = folder / "run"
    for name in ("games", "networks", "checkpoints"):
        (run / name).mkdir(parents=True)
    game = '[Result "0-1"]\n[Termination "blocked"]\n\n1. c3-d4 b6-a5 *\n'
    for iteration in (1, 20, 1234567):
        (run / "games" / f"iteration-{iteration:07d}.pdn").write_text(f"{game}\n{game}" if iteration > 1 else "\x00{")
    (folder / "secret.pdn").write_text(game)
    (run / "games" / "iteration-0000030.pdn").symlink_to(folder / "secret.pdn")
    (run / "games" / "iteration-x.pdn").write_text(game)
    rung = {"wins": 1, "draws": 1, "losses": 0, "score": 0.75, "elo": 0.0, "low": 0.0, "high": 0.0, "distinct": 1.0}
    events = (
        {"kind": "iteration", "iteration": 20, "time": {"training": 90.0}},
        {"kind": "ladder", "iteration": 20, "games": 2, "ladder": {"random": rung}, "time": {"training": 90.0}},
    )
    (run / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (run / "networks" / "net-0000020.pt").write_text("no network")
    (run / "checkpoints" / "ckpt-0000021.pt").symlink_to(folder / "secret.pdn")
    app = make_app(Store(folder / "web.sqlite"), Thinkers(), run=TrainingRun(run))
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


@contextmanager
def opened(server, **game):
    """A connection to a new game."""
    answer = server.post("/api/games", json={"seats": BOTH, **game})
    assert answer.status_code == 201, answer.text
    with server.websocket_connect("/api/live", headers={"Host": "localhost"}) as live:
        live.send_json({"key": answer.json()["key"]})
        live.receive_json()
        yield live


def analyse(live, mind=None):
    live.send_json({"analyse": 0, "mind": mind})
    while (found := live.receive_json()["analysis"])["mind"] != mind:
        pass  # on its way before the choice
    return found


def test_an_endgame_table_that_is_kept_has_its_say(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    app = make_app(Store(tmp_path / "web.sqlite"), Thinkers([OWN]))
    with TestClient(app, base_url="http://localhost") as server:
        with opened(server, position="W:WK29,K30:BK11") as live:
            assert analyse(live, OWN)["table"] is None
        open_tablebase(get_rules("cbd"), 3)
        for color, result in (("W", "win"), ("B", "draw")):
            with opened(server, position=f"{color}:WK29,K30:BK11") as live:
                table = analyse(live, OWN)["table"]
                assert table["result"] == result and table["sure"]


def test_minds_of_networks_and_players(server):
    assert server.get("/api/setup").json()["minds"] == ["network", "full", OWN]
    with opened(server, position="B:W22,27:B9,5") as live:
        network = analyse(live)
        assert analyse(live, "network")["moves"] == analyse(live, OWN)["moves"] == network["moves"]
        player = analyse(live, "full")
        assert player["chances"] is None
        assert player["moves"][0]["share"] is player["moves"][0]["prior"] is None
        values = [row["value"] for row in player["moves"]]
        assert values == sorted(values)  # Black is to move, and values are White's
        assert {row["action"] for row in player["moves"]} == {row["action"] for row in network["moves"]}
        for nobody in ("nobody", "run:1", "casual", "/etc/passwd"):
            assert analyse(live, nobody)["error"] == "There is no such player to look into."


def test_wrong_wishes_end_the_connection(server):
    wishes = (
        {"analyse": "0"}, {"analyse": 1}, {"analyse": -1}, {"analyse": 0, "mind": 3}, {"analyse": 0, "mind": "\ud800"},
        {"review": True, "mind": []},
    )  # fmt: skip
    for wrong in wishes:
        with opened(server) as live:
            live.send_json(wrong)
            with pytest.raises(WebSocketDisconnect):
                live.receive_json()
    with opened(server) as live:
        for name in ("", "x" * 10_000, "run:1"):
            assert "error" in analyse(live, name) or not name


@pytest.mark.parametrize("rules", ["cbd", "russian", "international"])
def test_moves_of_a_link_are_read_again(server, rules):
    rng, game = random.Random(1), Game(rules)
    spelled = []
    while not game.outcome() and game.ply < 60:
        move = rng.choice(game.legal_moves())
        spelled.append(game.san(move))
        game.push(move)
    made = server.post("/api/games", json={"seats": BOTH, "rules": rules, "position": " ".join(spelled) + " *"})
    state = server.get("/api/game", headers={"Authorization": f"Bearer {made.json()['key']}"}).json()
    assert state["fen"] == game.fen()
    assert [move["numeric"] for move in state["moves"]] == spelled


def test_large_boards_are_judged_by_alpha_beta(server):
    with opened(server, rules="international", position="W:W32,28,K5:B19,13") as live:
        assert analyse(live)["value"] > 0
        assert "8x8" in analyse(live, "network")["error"]


def test_chances_are_those_of_the_position(server):
    with opened(server, position="W:WK4,K8,12:BK29,K30") as live:
        drawn = analyse(live)["chances"]
    with opened(server, position="W:WK4,K8,K12,K16,K20:B5") as live:
        won = analyse(live)["chances"]
    assert drawn["draw"] > 0.5
    assert won["win"] > 0.9


def test_moves_that_throw_a_result_away_are_found(server):
    with opened(server, position='[FEN "W:WK29:B10"]\n1. a1-e5 d6xf4 *') as live:
        live.send_json({"review": True})
        points = [live.receive_json()["point"] for _ in range(3)]
    assert [point["lost"] for point in points] == [None, "win", None]
    assert points[1]["better"]["numeric"].startswith("29")
    assert points[2]["value"] == -1


def test_an_empty_file_and_one_of_many_games(tmp_path):
    (tmp_path / "games").mkdir()
    (tmp_path / "metrics.jsonl").write_text('{"kind": "iteration", "iteration": 13}\n')
    run = TrainingRun(tmp_path)
    (tmp_path / "games" / "iteration-0000013.pdn").write_text("")
    with pytest.raises(RequestError, match="13 is empty"):
        run.games(13)
    (tmp_path / "games" / "iteration-0000013.pdn").write_text('[GameType "26"]\n1. c3-d4 *\n\n' * 300)
    games = run.games(13)
    assert len(games) == 200
    assert games[-1]["pdn"].count("GameType") == 1


def test_what_a_training_run_has_kept(run_server, server):
    overview = run_server.get("/api/training").json()
    kept = [(1, None), (20, 1.5), (1234567, None)]
    assert [(one["number"], one["minutes"]) for one in overview["iterations"]] == kept
    assert overview["measured"] == [{"number": 20, "scores": {"random": 0.75}}]
    assert overview["networks"] == [20]
    games = run_server.get("/api/training/20").json()
    assert [(game["result"], game["plies"], game["termination"], game["rules"]) for game in games] == [
        ("0-1", 2, "BLOCKED", "cbd"),
        ("0-1", 2, "BLOCKED", "cbd"),
    ]
    with opened(run_server, position=games[1]["pdn"]) as live:
        error = analyse(live, "run:20")["error"]
        assert "not a checkpoint" in error
        assert "/" not in error
        for iteration in ("19", "21", "30", "9" * 12):
            assert "was not kept" in analyse(live, f"run:{iteration}")["error"]
        for nobody in ("run:-1", "run:1/../../secret", "run:" + "9" * 13, "run:²"):
            assert "no such player" in analyse(live, nobody)["error"]
    assert server.get("/api/training").status_code == 404


def test_no_file_outside_of_the_run_is_read(run_server):
    for wrong in ("30", "2", "-1", "x", "9" * 13, "9" * 5000, "%2e%2e", "..%2f..%2fsecret", "20/../30", "20.pdn", "²"):
        answer = run_server.get(f"/api/training/{wrong}")
        assert answer.status_code in (400, 404), wrong
        assert "c3-d4" not in answer.text
    assert run_server.get("/api/training/1").status_code in (200, 400)


def test_rules_are_told_in_both_languages(server):
    for language, heading in (("pt-BR", "Capturas"), ("en", "Capturing"), ("xx", "Capturing"), ("", "Capturing")):
        sections = server.get("/api/rules/cbd", headers={"Accept-Language": language}).json()
        assert heading in [section["heading"] for section in sections]
    for name in ("chess", "..%2fcbd", "%00", "/etc/passwd"):
        assert server.get(f"/api/rules/{name}").status_code in (400, 404), name
