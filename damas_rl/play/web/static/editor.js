// The dialog in which a position is set up: pieces by tap, drag or keys, the side to move, text in and out.

import {Board} from "./board.js";
import {byId, el, radios} from "./elements.js";
import {request} from "./server.js";
import {rulesTitle, t} from "./texts.js";

const TOOLS = ["w", "W", "b", "B", ""]; // what a tap puts down; "" takes away
const SVG = "http://www.w3.org/2000/svg";

/** A board on which every piece can be dragged anywhere. onTap(square), onDrag(from, to), to is null off the board. */
class SetUpBoard extends Board {
  constructor(place, {onTap, onDrag}) {
    super(place, {onMove: () => {}, onSay: () => {}});
    Object.assign(this, {onTap, onDrag});
    this.svg.addEventListener("keydown", event => {
      if (event.key === "Delete" || event.key === "Backspace") this.onDrag(this.focused, null);
    });
  }

  movable(number) { return number in this.pieces; }
  select() {}
  choose(number) { this.onTap(number); }
  dropOn(from, to) { this.onDrag(from, to); }
}

/** Lets a person set up a position; resolves to {rules, position, then: "play" or "analyse"}, or null. */
export async function askForPosition(setup, {rules, fen, notation, flipped}) {
  const dialog = byId("editor");
  let now = null; // the server's view of the position
  let asked = 0;
  const board = new SetUpBoard(el("div"), {
    onTap: square => change(pieces => {
      const tool = form.elements.tool.value;
      if (!tool || pieces[square] === tool) delete pieces[square];
      else pieces[square] = tool;
    }),
    onDrag: (from, to) => change(pieces => {
      const piece = pieces[from];
      delete pieces[from];
      if (piece && to) pieces[to] = piece;
    }),
  });
  Object.assign(board, {notation, flipped});

  const verdict = el("p", {id: "verdict", role: "status"});
  const read = () => show({rules: ruleSet.value, fen: text.value});
  const text = el("input", {name: "fen", id: "editor-fen", spellcheck: false, autocomplete: "off", onchange: read});
  const ruleSet = el("select", {name: "rules", id: "editor-rules", onchange: () => {
    const size = setup.rules.find(known => known.name === ruleSet.value).size;
    show(size === now?.board.size ? {rules: ruleSet.value, pieces: now.pieces, color: now.color} : {rules: ruleSet.value});
  }}, ...setup.rules.map(known => el("option", {value: known.name, selected: known.name === rules}, rulesTitle(known))));
  const start = el("button", {type: "submit", value: "play", className: "primary"}, t.playFromHere);
  const look = el("button", {type: "submit", value: "analyse"}, t.analyse);
  const noStart = event => { // Enter in a field is not meant to leave
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    if (event.target === text) read();
  };
  const form = el("form", {method: "dialog", onkeydown: noStart},
    el("h2", {id: "editor-title"}, t.setUp),
    el("div", {className: "board-place"}, board.place),
    el("div", {className: "controls"},
      radios("tool", t.tools, TOOLS.map(tool => [tool, tool ? t.piece[tool] : t.takeAway, toolIcon(board, tool)]), "w"),
      radios("color", t.toMove, ["W", "B"].map(side => [side, t[side]]), "W", () => change(() => {})),
      verdict,
      el("p", {className: "row"},
        el("button", {type: "button", onclick: () => show({rules: ruleSet.value})}, t.initialPosition),
        el("button", {type: "button", onclick: () => change(pieces => { for (const square in pieces) delete pieces[square]; })}, t.clear),
        el("button", {type: "button", onclick: () => {
          board.flipped = !board.flipped;
          layOut();
        }}, t.turnBoard)),
      el("p", {className: "field"}, el("label", {for: "editor-rules"}, t.rules), ruleSet),
      el("p", {className: "field"}, el("label", {for: "editor-fen"}, t.fenText), text),
      el("p", {className: "buttons"},
        el("button", {type: "button", onclick: () => dialog.close("cancel")}, t.cancel), look, start)));

  function layOut() {
    board.layOut(now.board);
    board.show(now.pieces);
  }

  function change(edit) {
    if (!now) return;
    const pieces = {...now.pieces};
    edit(pieces);
    board.show(pieces);
    show({rules: ruleSet.value, pieces, color: form.elements.color.value});
  }

  /** Shows the position that the server makes of a wish; one that it cannot read leaves the board as it is. */
  async function show(wish) {
    const turn = ++asked;
    let view = null;
    let words = "";
    try {
      view = await request("/api/position", {body: wish});
      words = view.fault ? t.faults[view.fault.kind](view.fault, square => board.name(square)) : t.movesOf(t[view.color], view.moves);
    } catch (error) {
      words = error.message;
    }
    if (turn !== asked) return;
    if (view) {
      const other = now?.rules !== view.rules;
      now = view;
      form.elements.color.value = now.color;
      text.value = now.fen;
      if (other) layOut();
      else board.show(now.pieces);
    }
    const fine = Boolean(view) && !view.fault;
    look.disabled = start.disabled = !fine;
    verdict.textContent = words;
    verdict.classList.toggle("problem", !fine);
  }

  dialog.replaceChildren(form);
  dialog.returnValue = "";
  await show({rules, fen});
  dialog.showModal();
  form.querySelector(":checked").focus();
  return new Promise(resolve => {
    dialog.onclose = () => {
      const then = dialog.returnValue;
      dialog.replaceChildren();
      resolve(["play", "analyse"].includes(then) && now ? {rules: now.rules, position: now.fen, then} : null);
    };
  });
}

/** A small picture of what a tool puts down. */
function toolIcon(board, tool) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "-5 -5 10 10");
  svg.setAttribute("aria-hidden", "true");
  if (tool) board.drawPiece(tool, {x: 0, y: 0}, svg);
  else {
    const cross = document.createElementNS(SVG, "path");
    cross.setAttribute("d", "M-3 -3 L3 3 M3 -3 L-3 3");
    cross.setAttribute("class", "cross");
    svg.append(cross);
  }
  return svg;
}
