// The analysis panel: who stands better, the best moves as table and arrows, and the line that is expected.

import {byId, el} from "./elements.js";
import {t} from "./texts.js";

const signed = value => `${value >= 0 ? "+" : "−"}${Math.abs(value).toFixed(2)}`;
const percent = value => `${Math.round(100 * value)} %`;

/** Shows what a search has found; values are White's. onLine(count) shows the expected line up to there. */
export function showAnalysis(found, notation, pathOf, board, onLine) {
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
    `${t.evaluationOf(signed(found.value))} · ${t.simulations(found.simulations)}${proven}`),
  ...found.table ? [el("p", {className: "about"}, t.tableSays(t.table(found.table.result, found.table.plies), found.table.sure))] : []);
  const rows = found.moves.slice(0, 6).map(row => el("tr", {}, el("th", {"scope-row": "row"}, row[notation]),
    ...[signed(row.value), percent(row.share), percent(row.prior)].map(text => el("td", {}, text))));
  byId("candidates").replaceChildren(
    el("table", {}, el("thead", {}, el("tr", {}, ...[t.move, t.value, t.visits, t.prior].map(text => el("th", {}, text)))),
      el("tbody", {}, ...rows)),
    el("p", {className: "line"}, `${t.line}: `, ...found.line.map((move, index) => el("button", {
      className: "quiet", onclick: event => {
        event.target.parentNode.querySelector("[aria-current]")?.removeAttribute("aria-current");
        event.target.setAttribute("aria-current", "step");
        onLine(index + 1);
      },
    }, move[notation]))));
  board.arrows(found.moves.slice(0, 3).filter(row => row.share >= 0.05)
    .map(row => ({path: pathOf(row), weight: row.share, name: "idea"})));
}
