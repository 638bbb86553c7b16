// What stands around the board: players with their clocks, the state of the game in words, and the list of moves.

import {byId, el, notice} from "./elements.js";
import {seatName, t} from "./texts.js";

export const OTHER = {W: "B", B: "W"};

/** The side that a person at this page plays, null if both or none. */
export function ownSide(state) {
  if (state.role !== "all") return state.role;
  const persons = ["W", "B"].filter(side => state.seats[side] === "person");
  return persons.length === 1 ? persons[0] : null;
}

/** True if a person at this page may move now. */
export function mayMove(state) {
  return !state.outcome && state.seats[state.color] === "person" && (state.role === "all" || state.role === state.color);
}

/** How the game stands, in one sentence. */
export function statusText(state) {
  if (state.outcome) return endingText(state);
  if (state.paused) return t.pausedState;
  if (state.thinking) return t.thinking(seatName(state.seats[state.color]));
  const must = state.legal.some(move => move.captures.length) ? `: ${t.mustCapture}` : "";
  const own = ownSide(state);
  return (own === state.color ? `${t.yourTurn} (${t[state.color]})` : t.turnOf(t[state.color])) + must;
}

function endingText(state) {
  const {termination, winner} = state.outcome;
  const why = t.ends[termination](t[OTHER[winner]] ?? "");
  if (!winner) return `${termination === "PLY_CAP" ? t.stopped : t.drawn}: ${why}.`;
  const own = ownSide(state);
  if (termination === "RESIGNATION" && own && own !== winner) return t.youResigned;
  const result = own ? (own === winner ? t.youWin : t.youLose) : `${t.wins(t[winner])}.`;
  return `${result} ${why[0].toUpperCase()}${why.slice(1)}.`;
}

/** What to do at the start, and how near the draws are; after the game, what it has done to the rating. */
export function lawsText(state) {
  const laws = state.laws.map(law => t.law(law.name, law.limit - law.plies));
  if (state.ply < 2 && mayMove(state)) laws.push(t.firstMove);
  if (state.clock && state.clock.running === null && !state.outcome) laws.push(t.clockWaits);
  if (state.repetition) laws.push(t.repeated(state.repetition.count, state.repetition.limit));
  if (!state.outcome) return laws.join(" ");
  return state.rating.gain === null ? "" : t.rating(state.rating.value, state.rating.gain, state.rating.games);
}

/** One player's line: name, pieces taken, clock. */
export function showPlayer(place, state, side, pieces) {
  const own = ownSide(state);
  const seat = state.seats[side];
  const name = seat !== "person" ? seatName(seat) : own === side ? t.you : state.remote && own ? t.opponent : t.person;
  const count = position => Object.values(position).filter(piece => piece.toUpperCase() === OTHER[side]).length;
  const taken = count(state.start) - count(pieces);
  const clock = el("span", {className: "clock"});
  place.replaceChildren(el("span", {className: `disc ${side === "W" ? "white" : "black"}`, "aria-hidden": "true"}),
    el("span", {className: "name"}, `${name} `, el("small", {}, t[side])),
    el("span", {className: "taken"}, taken > 0 ? `+${taken}` : ""), ...state.clock ? [clock] : []);
  place.classList.toggle("active", !state.outcome && state.color === side);
  return clock;
}

/** The clocks of both sides, which run down between the server's news. */
export class Clocks {
  constructor() {
    setInterval(() => this.draw(), 200);
  }

  show(clock, places) {
    Object.assign(this, {clock, places, received: performance.now()});
    this.draw();
  }

  draw() {
    if (!this.clock) return;
    for (const side of ["W", "B"]) {
      let {main, periods, period} = this.clock.sides[side];
      const length = this.clock.control.period;
      if (this.clock.running === side) {
        let spent = (performance.now() - this.received) / 1000;
        const fromMain = Math.min(spent, main);
        main -= fromMain;
        spent -= fromMain;
        while (spent >= period && periods > 1) {
          spent -= period;
          periods -= 1;
          period = length;
        }
        period = Math.max(0, period - spent);
      }
      const seconds = Math.ceil(main > 0 ? main : periods ? period : 0);
      const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      const place = this.places[side];
      place.textContent = periods ? `${text} · ${t.periodsLeft(periods, length)}` : text;
      place.classList.toggle("low", this.clock.running === side && seconds <= 10);
    }
  }
}

/** The list of moves; `shown` is the number of plies on the board, `points` are those of the game's graph. */
export function showMoves(state, notation, shown, points, onChoose) {
  const list = byId("moves");
  const items = [];
  const first = state.first === "W" ? 0 : 1;
  for (let ply = 0; ply < state.moves.length; ply++) {
    if ((ply + first) % 2 === 0 || ply === 0) {
      items.push(el("li", {value: Math.floor((ply + first) / 2) + 1}));
      if ((ply + first) % 2) items[0].append(el("span", {className: "gap"}, "…"));
    }
    const lost = points[ply + 1]?.lost;
    const text = state.moves[ply][notation];
    const button = el("button", {className: "quiet", onclick: () => onChoose(ply + 1),
      ...lost ? {title: t.throws[lost], "aria-label": `${text}, ${t.throws[lost]}`} : {}}, text + (lost ? " ?" : ""));
    button.classList.toggle("wrong", Boolean(lost));
    if (ply + 1 === shown) button.setAttribute("aria-current", "step");
    items.at(-1).append(button);
  }
  list.replaceChildren(...items.length ? items : [el("li", {className: "about"}, t.noMoves)]);
  const current = list.querySelector("[aria-current]");
  if (current) list.scrollTop = Math.max(0, current.offsetTop - list.offsetTop - list.clientHeight / 2);
  else if (!shown) list.scrollTop = 0;
}

/** An offer of the other side, or the own one that waits. */
export function showOffer(state, answer) {
  const place = byId("offer");
  if (state.remote && state.outcome && state.rematch) return notice(place, el("span", {}, t.rematchOpen));
  if (!state.offer || state.outcome && state.offer.kind === "draw") return notice(place);
  const {kind, by} = state.offer;
  if (by === state.role) return notice(place, el("span", {}, t.waiting));
  notice(place, el("span", {}, kind === "draw" ? t.drawOffered(t[by]) : t.undoAsked(t[by])),
    el("button", {className: "primary", id: "accept", onclick: () => answer(kind)}, t.accept),
    el("button", {id: "decline", onclick: () => answer("decline")}, t.decline));
}
