// The page: opens the game of its address, shows what the server says, and asks for what the person wants.

import {showAnalysis, showMinds} from "./analysis.js";
import {Board, afterMove} from "./board.js";
import {askForGame, confirmed} from "./dialog.js";
import {askForPosition} from "./editor.js";
import {byId, el, notice} from "./elements.js";
import {showGraph} from "./graph.js";
import {Clocks, OTHER, lawsText, mayMove, ownSide, showMoves, showOffer, showPlayer, statusText} from "./panel.js";
import {showRules} from "./rules.js";
import {Live, pdnOf, request} from "./server.js";
import {fenOf, linkOf, readLink, showLinks} from "./share.js";
import {click} from "./sound.js";
import {chosenLanguage, signed, t, useLanguage} from "./texts.js";
import * as training from "./training.js";
import {whyNot} from "./why.js";

const USUAL = {seats: {W: "person", B: "casual"}};
const PACE = 900; // milliseconds between the moves of a game that is played through

let setup = null;
let key = null;
let live = null;
let state = null;
let shown = null; // plies on the board, null = the current position
let target = null; // those that a link wants on the board
let turned = false;
let analysing = false;
let inLine = false; // the board shows a position of the expected line
let found = null;
let mind = null; // whom analysis asks, null = the usual one
let replay = null; // the training game on the board, see training.gameOf()
let points = []; // of the game's graph, by plies played
let judging = false; // the graph is being made; to ask for the analysis of a position would end that
let queue = Promise.resolve();

const clocks = new Clocks();
const board = new Board(byId("board"), {onMove: choosePath, onSay: text => { byId("spoken").textContent = text; },
  onRefused: explain});
board.notation = localStorage.getItem("damas.notation") ?? "algebraic";

function keyOfAddress() {
  return new URLSearchParams(location.hash.slice(1)).get("game");
}

/**
 * Opens the game of a key, at the ply `at` if there is one, as a training game if it is one. The key stays behind the # of
 * the address, which is never sent.
 */
function open(wanted, {at = null, game = null} = {}) {
  live?.close();
  playThrough(false);
  key = wanted;
  state = shown = found = null;
  target = at;
  replay = game;
  if (mind?.startsWith("run:") || game) mind = game ? training.mindOf(game.iteration) : null;
  queue = Promise.resolve();
  forgetGraph();
  localStorage.setItem("damas.game", key);
  history.replaceState(null, "", `#game=${key}${game ? `&training=${game.iteration}.${game.number}` : ""}`);
  for (const id of ["choice", "advice", "offer", "invite", "replay"]) notice(byId(id));
  byId("table").scrollIntoView({block: "nearest"}); // on a phone the buttons for a new game lie far below the board
  live = new Live(key, {onNews, onLost: lost, onGone: gone});
}

function lost() {
  say(t.lost);
  if (!judging) return;
  forgetGraph();
  analyse(); // as soon as the connection is back
}

async function gone() {
  localStorage.removeItem("damas.game");
  if (!await newGame({told: t.noGame})) await begin(USUAL); // a page without a game would be empty
}

function onNews(news) {
  if (news.analysis) {
    if (news.analysis.mind !== mind) return; // of before the choice
    found = news.analysis;
    if (found.error) forgetGraph();
    if (state && found.ply === plies() && !inLine) drawAnalysis();
    return;
  }
  if (news.point) {
    points[news.point.ply] = news.point;
    drawGraph();
    if (points.length > state.ply) {
      judging = false;
      drawMoves();
      analyse();
    }
    return;
  }
  if (!quiet) say(""); // what is told for a time stays so long
  const from = key;
  queue = queue.then(() => from === key ? take(news.state) : null).catch(error => say(error.message));
}

/** Takes a new state: a move that follows the one on the board is played before the eyes. */
async function take(next) {
  const before = state;
  state = next;
  if (before?.offer && before.offer.by === next.role && !next.offer && !next.outcome && next.ply === before.ply) {
    say(before.offer.kind === "draw" ? t.declined : t.undoDeclined, 5000);
  }
  const follows = before && shown === null && next.ply === before.ply + 1 && before.rules === next.rules;
  if (follows) {
    const move = next.moves.at(-1);
    notice(byId("advice"));
    notice(byId("choice"));
    click(move.captures.length > 0);
    byId("spoken").textContent = `${t[before.color]}: ${move[board.notation]}`;
    await board.animate(move, before.pieces);
  } else if (before && (next.ply !== before.ply || next.outcome && !before.outcome)) {
    shown = null;
    board.arrows([]);
    notice(byId("advice"));
    notice(byId("choice"));
  }
  if (!before || JSON.stringify(before.board) !== JSON.stringify(next.board) || board.flipped !== flipped()) layOut();
  if (next.remote && !next.outcome) switchAnalysis(false); // the server gives none
  if (!before && target !== null && target >= 0 && target < next.ply) shown = target;
  draw();
  if (analysing && (!before || next.ply !== before.ply)) {
    forgetGraph();
    analyse();
  }
}

const plies = () => shown ?? state.ply;
const flipped = () => (ownSide(state) === "B") !== turned;

function layOut() {
  board.flipped = flipped();
  board.layOut(state.board);
}

/** The pieces after so many plies. */
function piecesAt(ply) {
  if (ply === state.ply) return state.pieces;
  return state.moves.slice(0, ply).reduce(afterMove, state.start);
}

function draw() {
  const current = shown === null;
  inLine = false;
  const pieces = piecesAt(plies());
  board.show(pieces, {
    legal: current && mayMove(state) ? state.legal : [],
    last: state.moves[plies() - 1] ?? null,
  });
  const near = flipped() ? "B" : "W";
  clocks.show(state.clock, {[near]: showPlayer(byId("near"), state, near, pieces),
    [OTHER[near]]: showPlayer(byId("far"), state, OTHER[near], pieces)});
  byId("status").textContent = current ? statusText(state) : replay ? t.plyOf(plies(), state.ply) : t.past;
  byId("status").classList.toggle("over", Boolean(state.outcome) && current);
  byId("laws").textContent = lawsText(state);
  drawMoves();
  showOffer(state, act);
  drawButtons();
  drawInvite();
  notice(byId("unsaved"), ...state.unsaved ? [el("span", {}, t.unsaved)] : []);
  drawReplay();
  if (!analysing) drawAnalysis();
}

function drawMoves() {
  showMoves(state, board.notation, plies(), points, look);
}

function drawGraph() {
  showGraph(points, state.moves, board.notation, plies(), look);
}

function drawButtons() {
  const person = Object.values(state.seats).includes("person");
  const over = Boolean(state.outcome);
  const visible = {
    undo: person && !replay, hint: person && !over && !state.remote, draw: person && !over && state.agreement,
    resign: person && !over, pause: (!person || state.paused) && !over, rematch: over && !replay, analyse: !state.remote || over, turn: true,
  };
  for (const [id, wanted] of Object.entries(visible)) byId(id).hidden = !wanted;
  byId("undo").disabled = !state.ply && !over;
  byId("hint").disabled = !mayMove(state) || shown !== null;
  byId("draw").disabled = !state.remote && !mayMove(state);
  byId("pause").textContent = state.paused ? t.goOn : t.pause;
  byId("rematch").classList.toggle("primary", over);
  for (const id of ["first", "back"]) byId(id).disabled = !plies();
  for (const id of ["forth", "last"]) byId(id).disabled = shown === null;
  byId("run").disabled = !state.ply;
}

function drawInvite() {
  const place = byId("invite");
  if (!state.invite || state.ply || state.outcome) return notice(place);
  const link = `${location.origin}/#game=${state.invite}`;
  const input = el("input", {readOnly: true, value: link, "aria-label": t.inviteText, onfocus: event => event.target.select()});
  const loopback = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  notice(place, el("span", {}, t.inviteText), input, el("button", {onclick: () => copy(link)}, t.copy),
    ...loopback ? [el("small", {}, t.onlyHere)] : []);
}

/** What the training game is, and the way to those of other iterations. */
function drawReplay() {
  if (!replay) return notice(byId("replay"));
  const go = (step, text) => {
    const iteration = training.neighbour(replay.iteration, step);
    return el("button", {disabled: iteration === undefined, onclick: async () => watch(await training.gameOf(iteration, replay.number))}, text);
  };
  notice(byId("replay"), el("span", {}, t.replaying(replay.iteration, replay.number + 1, replay.count, replay.text)),
    go(-1, `‹ ${t.earlier}`), go(1, `${t.later} ›`));
}

/** Opens a training game at its start, looked at with the mind that played it. */
async function watch(game) {
  if (!game) return;
  switchAnalysis(true);
  await begin({rules: game.rules, position: game.pdn, seats: {W: "person", B: "person"}}, {at: 0, game});
}

/** Says why a tap did nothing. */
function explain(square, selected) {
  const text = shown !== null || inLine ? t.past : whyNot(state, square, selected, number => board.name(number), board.notation);
  if (text) notice(byId("advice"), el("span", {}, text));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say(t.copied, 2000);
  } catch {
    prompt("", text); // without a secure context there is no clipboard
  }
}

let quiet = null;

function say(text, forMs = 0) {
  clearTimeout(quiet);
  const alert = byId("alert");
  alert.textContent = text;
  alert.hidePopover();
  if (text) alert.showPopover(); // shown anew, it lies above a dialog that has been opened meanwhile
  quiet = forMs ? setTimeout(() => say(""), forMs) : null;
}

async function act(what, more = {}) {
  const from = key;
  try {
    const answer = await request("/api/game", {key, body: {do: what, ...more}});
    if (from !== key) return null;
    say("");
    return answer;
  } catch (error) {
    if (from === key && error.status !== 409) say(error.message, 6000); // 409: the game went on meanwhile
    return null;
  }
}

/** Plays the one move that was chosen, or asks which of several that share their first and last square. */
async function choosePath(moves) {
  if (moves.length === 1) return play(moves[0]);
  const place = byId("choice");
  const close = () => {
    notice(place);
    board.arrows([]);
    draw();
  };
  const preview = move => board.arrows([{path: move.path, weight: 1, name: "idea"}]);
  notice(place, el("span", {}, t.choosePath), ...moves.map(move => el("button", {
    className: "path", onclick: () => { close(); play(move); },
    onpointerenter: () => preview(move), onfocus: () => preview(move),
  }, `${move.path.map(number => board.name(number)).join(" × ")} (${t.captures(move.captures.length)})`)),
  el("button", {onclick: close}, t.cancel));
  place.querySelector("button").focus();
  place.scrollIntoView({block: "nearest"});
  preview(moves[0]);
}

async function play(move) {
  board.legal = [];
  board.drawMarks();
  if (!await act("move", {action: move.action})) draw();
}

function look(ply) {
  if (!state) return;
  const wanted = Math.max(0, Math.min(state.ply, ply));
  shown = wanted === state.ply ? null : wanted;
  found = null;
  notice(byId("choice"));
  draw();
  if (analysing) analyse();
}

let running = null; // a game that is played through before the eyes

/** Plays the moves of the game one after the other, from the start if the end is on the board; or stops that. */
function playThrough(on) {
  running = null;
  byId("run").setAttribute("aria-pressed", String(on));
  if (!on) return;
  if (shown === null) look(0);
  const run = running = {};
  const step = async () => {
    if (running !== run) return;
    const ply = plies();
    if (shown === null) return playThrough(false);
    await board.animate(state.moves[ply], piecesAt(ply));
    if (running !== run) return;
    if (plies() === ply) look(ply + 1); // else the person has gone elsewhere
    setTimeout(step, PACE);
  };
  setTimeout(step, PACE);
}

async function hint() {
  const ply = state.ply;
  notice(byId("advice"), el("span", {}, t.lookingForHint));
  const answer = await act("hint");
  if (!answer || state.ply !== ply) return notice(byId("advice"));
  const {hint: advice} = answer;
  const line = advice.line[board.notation];
  notice(byId("advice"), el("span", {}, t.hintText(advice[board.notation], signed(advice.value)) + (line.length ? t.thenLine(line.join(" ")) : "")));
  const move = state.legal.find(legal => legal.action === advice.action);
  board.arrows([{path: move.path, weight: 1, name: "hint"}]);
}

function switchAnalysis(on) {
  analysing = on;
  byId("analyse").setAttribute("aria-pressed", String(on));
}

function analyse() {
  found = null;
  if (atTheEnd()) live.rest();
  else if (!judging) live.analyse(plies(), mind);
  drawAnalysis();
}

/** True if there is nothing to search on the board: the game ended by its rules, not by the will of a player or the clock. */
function atTheEnd() {
  return !judging && shown === null && Boolean(state.outcome) && !["RESIGNATION", "AGREEMENT", "TIME"].includes(state.outcome.termination);
}

function forgetGraph() {
  points = [];
  judging = false;
}

function drawAnalysis() {
  byId("analysis").hidden = !analysing;
  drawGraph();
  if (!analysing) return showAnalysis(null, board.notation, {arrows: () => {}});
  showMinds(setup.minds, training.networks(), mind ?? (state.board.size === 8 ? "network" : "full"));
  showAnalysis(found, board.notation, board, showLine, judging ? t.drawingGraph : atTheEnd() ? t.atTheEnd : "");
}

/** Shows the position after so many moves of the expected line. */
function showLine(count) {
  const moves = found.line.slice(0, count);
  inLine = true;
  board.show(moves.reduce(afterMove, piecesAt(plies())), {last: moves.at(-1)});
  board.arrows([]);
  byId("status").textContent = t.inLine;
  byId("last").disabled = false;
}

/** Asks for a new game and opens it, `start` as in askForGame(); resolves to whether one was wanted. */
async function newGame(start = {}) {
  const wanted = await askForGame(setup, start);
  if (!wanted) return false;
  switchAnalysis(false); // it would show the best moves, and keep the game from being rated
  await begin(wanted);
  return true;
}

/** Opens a new game; `wish` is that of open(). */
async function begin(body, wish = {}) {
  say("…");
  try {
    const made = await request("/api/games", {body});
    turned = false;
    open(made.key, wish);
  } catch (error) {
    say(error.message, 10000);
  }
}

/** Opens what a shared link holds, as a game of two people on this screen. */
async function openLink({at, ...position}) {
  try {
    open((await request("/api/games", {body: {...position, seats: {W: "person", B: "person"}}})).key, {at});
    return true;
  } catch (error) {
    say(t.wrongLink(error.message), 20000);
    return false;
  }
}

function share() {
  const game = linkOf(state.rules, state.begin, state.moves, plies());
  const position = linkOf(state.rules, fenOf(piecesAt(plies()), colorAt(plies())), [], 0);
  showLinks([...state.ply ? [[t.linkToGame, game]] : [], [t.linkToPosition, position]], copy);
}

/** Side to move after so many plies. */
const colorAt = ply => (ply % 2 ? OTHER[state.first] : state.first);

async function setUp() {
  const from = state ? {rules: state.rules, fen: fenOf(piecesAt(plies()), colorAt(plies()))} : {rules: "cbd"};
  const chosen = await askForPosition(setup, {...from, notation: board.notation, flipped: board.flipped});
  if (!chosen) return;
  if (chosen.then === "play") return newGame({position: chosen.position, rules: chosen.rules});
  switchAnalysis(true);
  await begin({rules: chosen.rules, position: chosen.position, seats: {W: "person", B: "person"}});
}

async function download() {
  const url = URL.createObjectURL(new Blob([await pdnOf(key)], {type: "text/plain"}));
  el("a", {href: url, download: "damas.pdn"}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function drawWords() {
  byId("notation").textContent = t.squaresAre(board.notation === "numeric" ? `1–${state?.board.squares.length ?? 32}` : "a1");
  byId("notation").title = t.squares;
  byId("language").textContent = t.language;
  byId("language").lang = t.otherLanguage;
  for (const id of ["first", "back", "run", "forth", "last"]) {
    byId(id).title = t[id];
    byId(id).setAttribute("aria-label", t[id]);
  }
  if (state) {
    layOut();
    draw();
    if (analysing) drawAnalysis();
  }
}

const actions = {
  new: () => newGame(),
  edit: setUp,
  training: async () => watch(await training.askForTrainingGame()),
  help: () => showRules(state?.rules ?? "cbd"),
  undo: () => act("undo"),
  hint,
  draw: async () => {
    const reason = (await act("draw"))?.declined;
    if (reason) say(reason, 6000);
  },
  resign: async () => { if (await confirmed(t.resignReally)) act("resign"); },
  pause: () => act("pause"),
  rematch: async () => {
    const answer = await act("rematch");
    if (!answer) return;
    switchAnalysis(false);
    open(answer.state.rematch);
  },
  turn: () => {
    turned = !turned;
    layOut();
    draw();
    if (analysing) drawAnalysis();
  },
  analyse: () => {
    switchAnalysis(!analysing);
    draw();
    if (analysing) return analyse();
    if (judging) forgetGraph();
    live.rest();
    board.arrows([]);
  },
  review: () => {
    points = [];
    judging = true;
    found = null;
    live.review(mind);
    drawAnalysis();
  },
  first: () => look(0),
  back: () => look(plies() - 1),
  run: () => playThrough(running === null),
  forth: () => look(plies() + 1),
  last: () => look(state.ply),
  pdn: download,
  fen: () => copy(state.fen),
  share,
  notation: () => {
    board.notation = board.notation === "numeric" ? "algebraic" : "numeric";
    localStorage.setItem("damas.notation", board.notation);
    drawWords();
  },
  sound: () => {
    const on = localStorage.getItem("damas.sound") !== "on";
    localStorage.setItem("damas.sound", on ? "on" : "off");
    byId("sound").setAttribute("aria-pressed", String(on));
    click(false);
  },
  language: () => {
    useLanguage(t.otherLanguage, true);
    drawWords();
  },
};
for (const [id, action] of Object.entries(actions)) {
  byId(id).addEventListener("click", () => { if (state || ["new", "edit", "training", "help", "notation", "sound", "language"].includes(id)) action(); });
}
byId("mind").addEventListener("change", event => {
  mind = event.target.value;
  forgetGraph();
  if (state) analyse();
});
addEventListener("hashchange", () => {
  const link = readLink(location.hash);
  if (link) openLink(link);
  else if (keyOfAddress() && keyOfAddress() !== key) open(keyOfAddress());
});

/** The training game that the address names, if its run is still served. */
async function replayOfAddress() {
  const [iteration, number] = (new URLSearchParams(location.hash.slice(1)).get("training") ?? "").split(".").map(Number);
  if (!setup.training || number === undefined) return null;
  await training.overview();
  return training.gameOf(iteration, number).catch(() => null);
}

useLanguage(chosenLanguage());
byId("sound").setAttribute("aria-pressed", String(localStorage.getItem("damas.sound") === "on"));
drawWords();
try {
  setup = await request("/api/setup");
  byId("training").hidden = !setup.training;
  const game = await replayOfAddress();
  const link = readLink(location.hash);
  if (!link || !await openLink(link)) {
    const known = keyOfAddress() ?? localStorage.getItem("damas.game");
    open(known ?? (await request("/api/games", {body: USUAL})).key, {game});
  }
  if (setup.training && !game) await training.overview(); // a long run takes a while to look through
} catch (error) {
  say(error.message);
}
