// The analysis panel: who stands better, the best moves as table and arrows, and the line that is expected.

import {byId, el} from "./elements.js";
import {t} from "./texts.js";

const signed = value => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`;
const percent = value => `${Math.round(100 * value)} %`;

/** Shows what a search has found; values are White's. */
export function showAnalysis(found, notation, pathOf, board) {
  const evaluation = byId("evaluation");
  if (!found || found.error) {
    evaluation.replaceChildren(found ? el("p", {className: "problem"}, found.error) : el("p", {className: "about"}, "…"));
    byId("candidates").replaceChildren();
    board.arrows([]);
    return;
  }
  const bar = el("div", {className: "bar", role: "img", "aria-label": t.evaluationOf(signed(found.value))},
    el("div", {className: "part"}));
  bar.firstChild.style.width = `${50 + 50 * found.value}%`;
  const proven = found.proven ? `, ${t.proven}` : "";
  evaluation.replaceChildren(bar, el("p", {className: "about"},
    `${t.evaluationOf(signed(found.value))} · ${t.simulations(found.simulations)}${proven}`));
  const rows = found.moves.slice(0, 6).map(row => el("tr", {}, el("th", {"scope-row": "row"}, row[notation]),
    ...[signed(row.value), percent(row.share), percent(row.prior)].map(text => el("td", {}, text))));
  byId("candidates").replaceChildren(
    el("table", {}, el("thead", {}, el("tr", {}, ...[t.move, t.value, t.visits, t.prior].map(text => el("th", {}, text)))),
      el("tbody", {}, ...rows)),
    el("p", {className: "line"}, `${t.line}: ${found.line[notation].join(" ")}`));
  board.arrows(found.moves.slice(0, 3).filter(row => row.share >= 0.05)
    .map(row => ({path: pathOf(row), weight: row.share, name: "idea"})));
}
