"""What the tests of the page share: a server of its own, a browser (Chromium), and words for what a person does."""

import json
import shutil
import threading
import time

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright")

import uvicorn
from playwright import sync_api as api

from damas_rl.checkpoint import NETS
from damas_rl.play.levels import Level
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store
from damas_rl.play.web.thinkers import Thinkers
from damas_rl.play.web.training import TrainingRun

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

BOTH = {"W": "person", "B": "person"}
PATIENCE = 30_000
"""Milliseconds that a busy machine may take."""


def make_run(folder):
    """A run directory that has kept games of two iterations, and one network."""
    for name in ("games", "networks", "checkpoints"):
        (folder / name).mkdir(parents=True)
    played = (
        (3, "1. c3-d4 b6-a5 2. d4-c5 d6xb4 3. a3xc5", "e7-d6"),
        (12, "1. c3-d4 b6-a5 2. b2-c3 a7-b6 3. a1-b2", "b8-a7"),
    )
    for iteration, moves, last in played:
        tags = '[Event "Self-play"]\n[Result "1-0"]\n[RandomPlies "0"]\n[Termination "resignation"]\n[GameType "26"]\n'
        games = "\n".join(f"{tags}\n{moves} {more}*\n" for more in ("", f"{last} "))
        (folder / "games" / f"iteration-{iteration:07d}.pdn").write_text(games)
    shutil.copy(NETS / "small.pt", folder / "networks" / "net-0000003.pt")
    line = {"kind": "iteration", "iteration": 3, "time": {"training": 120.0}}
    (folder / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("games") / "web.sqlite")


@pytest.fixture(scope="module")
def address(tmp_path_factory, store):
    thinkers = Thinkers()
    thinkers.all = {
        **thinkers.all,
        "full": Level("full", "alphabeta:depth=4"),
        "casual": Level("casual", "alphabeta:depth=1"),
    }
    folder = tmp_path_factory.mktemp("web")
    run = TrainingRun(make_run(folder / "tiny-run"))
    app = make_app(store, thinkers, run=run)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run)
    thread.start()
    end = time.monotonic() + 60
    while not server.started and time.monotonic() < end:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, address):
    """Opens a page; at the end nothing may have gone wrong in it, and no request may have left the server.

    A test that has the server refuse something takes the browser's complaint out of ``visit.faults``.
    """
    contexts, faults, requests = [], [], []

    def visit(path="/", locale="en-US", width=1200, height=850, touch=False, **game):
        context = browser.new_context(locale=locale, viewport={"width": width, "height": height}, has_touch=touch)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        place = address + path
        if game:
            answer = context.request.post(f"{address}/api/games", data=game)
            assert answer.status == 201, answer.text()
            place = f"{address}/#game={answer.json()['key']}"
        page.goto(place)
        api.expect(page.locator("#status")).not_to_be_empty(timeout=PATIENCE)
        return page

    visit.faults = faults
    yield visit
    for context in contexts:
        context.close()
    assert not faults, faults
    assert requests
    assert not [url for url in requests if not url.startswith((address, "blob:"))]


def square(page, number):
    return page.locator(f'[data-square="{number}"]')


def tap(page, *numbers):
    for number in numbers:
        square(page, number).click()


def says(page, place, text):
    api.expect(page.locator(place)).to_contain_text(text, timeout=PATIENCE)
