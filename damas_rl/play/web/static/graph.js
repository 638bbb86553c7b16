// The graph of a game: who stood better after each ply, and the moves that threw a result away.

import {byId, el} from "./elements.js";
import {t} from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/**
 * Draws the points that are known so far: by plies played, White's value, and what the last move threw away ("win",
 * "draw" or null) with the better one. onChoose(ply) when a place of the graph or a bad move is pressed.
 */
export function showGraph(points, moves, notation, shown, onChoose) {
  const place = byId("graph");
  if (!points.length) return place.replaceChildren();
  const length = moves.length;
  const x = ply => (length ? 100 * ply / length : 0);
  const y = ply => 15 - 14 * points[ply].value;
  const svg = make("svg", {viewBox: "-1 0 102 30", preserveAspectRatio: "none", role: "img", "aria-label": t.graph});
  svg.append(make("rect", {x: -1, width: 102, height: 30, class: "ground"}),
    make("line", {x1: -1, x2: 101, y1: 15, y2: 15, class: "even"}),
    make("line", {x1: x(shown), x2: x(shown), y1: 0, y2: 30, class: "now"}),
    make("polyline", {points: points.map((_, ply) => `${x(ply)},${y(ply)}`).join(" ")}));
  const wrong = [...points.keys()].filter(ply => points[ply].lost);
  for (const ply of wrong) svg.append(make("line", {x1: x(ply - 1), x2: x(ply), y1: y(ply - 1), y2: y(ply), class: "wrong"}));
  svg.onclick = event => {
    const box = svg.getBoundingClientRect();
    onChoose(Math.round(length * (102 * (event.clientX - box.left) / box.width - 1) / 100));
  };
  const text = points.length <= length ? "…" : wrong.length ? t.thrown(wrong.length) : t.nothingThrown;
  place.replaceChildren(svg, el("p", {className: "about"}, text), el("ul", {className: "mistakes"}, ...wrong.map(ply =>
    el("li", {}, el("button", {className: "quiet", onclick: () => onChoose(ply)}, moves[ply - 1][notation]),
      ` ${t.throws[points[ply].lost]}; ${t.better(points[ply].better[notation])}`))));
}
