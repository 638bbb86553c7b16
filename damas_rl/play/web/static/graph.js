// The graph of a game: who stood better after each ply, and the moves that threw something away.

import {byId, el} from "./elements.js";
import {t} from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";
const THROWN = 0.5; // of a value from -1 to 1

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** The plies (from 1) of moves that made the mover's prospects much worse; `values` are White's by plies played. */
export function mistakes(values, first) {
  const found = [];
  for (let ply = 1; ply < values.length; ply++) {
    const white = (ply % 2 === 1) === (first === "W");
    const lost = (values[ply - 1] - values[ply]) * (white ? 1 : -1);
    if (lost >= THROWN) found.push(ply);
  }
  return found;
}

/** Draws the values that are known so far; onChoose(ply) when a place of the graph is pressed. */
export function showGraph(values, first, length, shown, onChoose) {
  const place = byId("graph");
  if (!values.length) return place.replaceChildren();
  const x = ply => (length ? 100 * ply / length : 0);
  const y = value => 15 - 14 * value;
  const svg = make("svg", {viewBox: "-1 0 102 30", preserveAspectRatio: "none", role: "img", "aria-label": t.graph});
  svg.append(make("rect", {x: -1, width: 102, height: 30, class: "ground"}),
    make("line", {x1: -1, x2: 101, y1: 15, y2: 15, class: "even"}),
    make("line", {x1: x(shown), x2: x(shown), y1: 0, y2: 30, class: "now"}),
    make("polyline", {points: values.map((value, ply) => `${x(ply)},${y(value)}`).join(" ")}));
  const wrong = mistakes(values, first);
  for (const ply of wrong) svg.append(make("line", {x1: x(ply), x2: x(ply), y1: y(values[ply - 1]), y2: y(values[ply]), class: "wrong"}));
  svg.onclick = event => {
    const box = svg.getBoundingClientRect();
    onChoose(Math.round(length * (102 * (event.clientX - box.left) / box.width - 1) / 100));
  };
  const text = values.length <= length ? "…" : wrong.length ? t.thrown(wrong.length) : t.nothingThrown;
  place.replaceChildren(svg, el("p", {className: "about"}, text));
}
