// The analysis panel: who stands better, the best moves as table and arrows, and the line that is expected.

import {byId, el, radios} from "./elements.js";
import {mindName, signed, t} from "./texts.js";

const KEPT = "damas.arrows";
const percent = value => `${Math.round(100 * value)} %`;
const arrowsKind = () => localStorage.getItem(KEPT) ?? "visits";

/** Fills the choice of whose mind is looked into; `networks` are the iterations of a training run that has been opened. */
export function showMinds(minds, networks, chosen) {
  const place = byId("mind");
  const options = names => names.map(name => el("option", {value: name}, mindName(name)));
  const filled = JSON.stringify([minds, networks, t.language]);
  if (place.dataset.filled !== filled) { // else a list that is open would close with every search that ends
    place.dataset.filled = filled;
    place.replaceChildren(...options(minds), ...networks.length ?
      [el("optgroup", {label: t.training}, ...options(networks.map(number => `run:${number}`)))] : []);
  }
  place.value = chosen;
}

/** Shows what a search has found; values are White's. onLine(count) shows the expected line up to there. `instead` says why there is no search. */
export function showAnalysis(found, notation, board, onLine, instead = "") {
  if (!found || found.error) {
    const text = el("p", {className: found ? "problem" : "about"}, found?.error ?? (instead || "…"));
    if (!found && !instead) setTimeout(() => { text.textContent = t.preparing; }, 4000);
    byId("evaluation").replaceChildren(text);
    byId("candidates").replaceChildren();
    board.arrows([]);
    return;
  }
  const {chances, table} = found;
  const proven = found.proven ? `, ${t.proven}` : "";
  byId("evaluation").replaceChildren(bar(chances ?? {win: (1 + found.value) / 2, draw: 0, loss: (1 - found.value) / 2},
    chances ? chancesText(chances) : t.evaluationOf(signed(found.value))),
  ...chances ? [el("p", {className: "chances", "aria-hidden": "true"}, chancesText(chances))] : [],
  el("p", {className: "about"}, `${t.evaluationOf(signed(found.value))} · ${chances ? t.simulations(found.work) : t.positions(found.work)}${proven}`),
  ...table ? [el("p", {className: "about"}, t.tableSays(t.table(table.result, table.plies), table.sure))] : []);
  const trees = found.moves.some(row => row.share !== null);
  const columns = row => [signed(row.value), ...trees ? [percent(row.share), percent(row.prior)] : []];
  const rows = found.moves.slice(0, 6).map(row => el("tr", {}, el("th", {scope: "row"}, row[notation]),
    ...columns(row).map(text => el("td", {}, text))));
  const draw = () => board.arrows(arrowsOf(found.moves, trees ? arrowsKind() : "value"));
  byId("candidates").replaceChildren(
    el("table", {}, el("thead", {}, el("tr", {}, ...[t.move, t.value, ...trees ? [t.visits, t.prior] : []]
      .map(text => el("th", {scope: "col"}, text)))), el("tbody", {}, ...rows)),
    ...trees ? [radios("arrows", t.arrows, [["visits", t.visits], ["prior", t.prior], ["none", t.noArrows]], arrowsKind(), event => {
      localStorage.setItem(KEPT, event.target.value);
      draw();
    })] : [],
    el("p", {className: "line"}, `${t.line}: `, ...found.line.map((move, index) => el("button", {
      className: "quiet", onclick: event => {
        event.target.parentNode.querySelector("[aria-current]")?.removeAttribute("aria-current");
        event.target.setAttribute("aria-current", "step");
        onLine(index + 1);
      },
    }, move[notation]))));
  draw();
}

function chancesText({win, draw, loss}) {
  const [white, black] = [Math.round(100 * win), Math.round(100 * loss)];
  return t.chances(white, Math.max(0, 100 - white - black), black);
}

/** White's part from the left, then the draws, then Black's. */
function bar(parts, label) {
  const element = el("div", {className: "bar", role: "img", "aria-label": label});
  for (const [name, share] of Object.entries(parts)) {
    const part = el("div", {className: name});
    part.style.width = `${100 * share}%`;
    element.append(part);
  }
  return element;
}

function arrowsOf(moves, kind) {
  if (kind === "value") return [{path: moves[0].path, weight: 0.8, name: "idea"}];
  const weight = {visits: row => row.share, prior: row => row.prior, none: () => 0}[kind];
  return [...moves].sort((one, other) => weight(other) - weight(one)).slice(0, 3).filter(row => weight(row) >= 0.05)
    .map(row => ({path: row.path, weight: weight(row), name: kind === "prior" ? "prior" : "idea"}));
}
