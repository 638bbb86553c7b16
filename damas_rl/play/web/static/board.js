// The board: an SVG that shows a position, takes a move by tap, drag or keys, and animates what was played.

import {t} from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";
const STEP = 10;
const MARGIN = 4;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
}

/** A position as it is after a move: captured pieces gone, a man crowned. */
export function afterMove(pieces, move) {
  const next = {...pieces};
  const piece = next[move.from];
  delete next[move.from];
  for (const square of move.captures) delete next[square];
  next[move.to] = move.promotes ? piece.toUpperCase() : piece;
  return next;
}

/**
 * The board of one page.
 * onMove(moves) gets the legal moves that the person's choice fits, of which there are several where captures
 * share their first and last square. onRefused(square, selected) hears of a tap that does nothing.
 */
export class Board {
  constructor(place, {onMove, onSay, onRefused}) {
    Object.assign(this, {place, onMove, onSay, onRefused, flipped: false, notation: "algebraic", legal: [], pieces: {},
      selected: null, busy: 0});
    this.svg = make("svg", {class: "board", role: "application", tabindex: "-1"});
    place.append(this.svg);
    this.svg.addEventListener("pointerdown", event => this.press(event));
    this.svg.addEventListener("pointermove", event => this.drag(event));
    this.svg.addEventListener("touchmove", event => { // a finger on a piece drags it, elsewhere it scrolls the page
      if (this.held) event.preventDefault();
    }, {passive: false});
    this.svg.addEventListener("pointerup", event => this.release(event));
    this.svg.addEventListener("pointercancel", () => this.drop());
    this.svg.addEventListener("keydown", event => this.key(event));
    this.svg.addEventListener("focusin", event => this.focusOn(Number(event.target.dataset.square), false));
    this.svg.addEventListener("click", event => { // of a screen reader: a pointer has been heard already
      if (event.detail === 0 && event.target.dataset.square) this.choose(Number(event.target.dataset.square));
    });
  }

  /** Draws an empty board of these squares. */
  layOut(board) {
    this.size = board.size;
    this.squares = new Map(board.squares.map(square => [square.number, square]));
    this.svg.replaceChildren();
    const side = this.size * STEP + 2 * MARGIN;
    this.svg.setAttribute("viewBox", `0 0 ${side} ${side}`);
    this.svg.setAttribute("aria-label", t.boardLabel);
    const shades = make("defs", {}, this.svg);
    for (const [name, light, dark] of [["white", "#fffaf0", "#e9d9b8"], ["black", "#574f49", "#221d1a"]]) {
      const shade = make("radialGradient", {id: `face-${name}`, cx: "40%", cy: "32%", r: "75%"}, shades);
      make("stop", {offset: "0", "stop-color": light}, shade);
      make("stop", {offset: "1", "stop-color": dark}, shade);
    }
    make("rect", {class: "frame", width: side, height: side, rx: 2}, this.svg);
    make("rect", {class: "light", x: MARGIN, y: MARGIN, width: this.size * STEP, height: this.size * STEP}, this.svg);
    this.cells = make("g", {}, this.svg);
    this.layers = {};
    for (const name of ["marks", "pieces", "labels", "arrows", "moving"]) {
      this.layers[name] = make("g", {class: name, "aria-hidden": "true"}, this.svg);
    }
    this.labels = this.layers.labels;
    this.cellOf = new Map();
    const order = [...this.squares.values()].sort((a, b) => a.row - b.row || a.column - b.column);
    for (const square of this.flipped ? order.reverse() : order) {
      const {x, y} = this.corner(square.number);
      const cell = make("rect", {class: "dark", x, y, width: STEP, height: STEP, role: "button", tabindex: "-1"}, this.cells);
      cell.dataset.square = square.number;
      this.cellOf.set(square.number, cell);
    }
    this.focused = this.cellOf.has(this.focused) ? this.focused : order[0].number;
    this.cellOf.get(this.focused).setAttribute("tabindex", "0");
    this.drawLabels();
  }

  drawLabels() {
    this.labels.replaceChildren();
    if (this.notation === "numeric") {
      for (const [number] of this.squares) {
        const {x, y} = this.corner(number);
        make("text", {x: x + 0.5, y: y + 2, class: "number"}, this.labels).textContent = number;
      }
      return;
    }
    for (let index = 0; index < this.size; index++) {
      const place = MARGIN + (this.flipped ? this.size - 1 - index : index) * STEP + STEP / 2;
      const across = 2 * MARGIN + this.size * STEP - place;
      make("text", {x: place, y: this.size * STEP + 1.72 * MARGIN, class: "edge"}, this.labels).textContent = "abcdefghij"[index];
      make("text", {x: MARGIN / 2, y: across + 0.9, class: "edge"}, this.labels).textContent = index + 1;
    }
  }

  corner(number) {
    let {row, column} = this.squares.get(number);
    if (this.flipped) [row, column] = [this.size - 1 - row, this.size - 1 - column];
    return {x: MARGIN + column * STEP, y: MARGIN + row * STEP};
  }

  center(number) {
    const {x, y} = this.corner(number);
    return {x: x + STEP / 2, y: y + STEP / 2};
  }

  name(number) {
    return this.notation === "numeric" ? String(number) : this.squares.get(number).name;
  }

  /** Shows a position; `legal` are the moves that the person may make in it, `last` is the move that led to it. */
  show(pieces, {legal = [], last = null} = {}) {
    Object.assign(this, {pieces, legal, last});
    if (this.selected && !legal.some(move => move.from === this.selected)) this.selected = null;
    this.drawPieces();
    this.drawMarks();
  }

  drawPieces(without = null) {
    this.layers.pieces.replaceChildren();
    this.pieceOf = new Map();
    for (const [square, piece] of Object.entries(this.pieces)) {
      if (Number(square) === without) continue;
      this.pieceOf.set(Number(square), this.drawPiece(piece, this.center(Number(square)), this.layers.pieces));
    }
    for (const [number, cell] of this.cellOf) this.describe(number, cell);
  }

  drawPiece(piece, {x, y}, parent) {
    const group = make("g", {class: `piece ${piece.toLowerCase() === "w" ? "white" : "black"}`, transform: `translate(${x} ${y})`}, parent);
    make("ellipse", {cy: 0.75, rx: 4.05, ry: 4.0, class: "shadow"}, group);
    make("circle", {r: 4, class: "rim"}, group);
    make("circle", {r: 4, class: "face", cy: -0.35}, group);
    make("circle", {r: 2.75, cy: -0.35, class: "ring"}, group);
    if (piece === piece.toUpperCase()) {
      make("path", {class: "crown", d: "M-2 1.1 L-2.35 -1.6 L-1.05 -0.55 L0 -2.2 L1.05 -0.55 L2.35 -1.6 L2 1.1 Z"}, group);
    }
    return group;
  }

  describe(number, cell) {
    const piece = this.pieces[number];
    const parts = [`${t.square} ${this.name(number)}`, piece ? t.piece[piece] : t.empty];
    if (this.selected && this.targets().has(number)) parts.push(t.target);
    else if (this.legal.some(move => move.from === number)) parts.push(t.canMove);
    cell.setAttribute("aria-label", parts.join(", "));
    cell.setAttribute("aria-pressed", String(this.selected === number));
  }

  targets() {
    return new Map(this.legal.filter(move => move.from === this.selected).map(move => [move.to, move]));
  }

  drawMarks() {
    this.layers.marks.replaceChildren();
    const square = (number, name) => {
      const {x, y} = this.corner(number);
      make("rect", {class: name, x, y, width: STEP, height: STEP}, this.layers.marks);
    };
    if (this.last) for (const number of new Set(this.last.path)) square(number, "last");
    const capture = this.legal.some(move => move.captures.length);
    for (const number of new Set(this.legal.map(move => move.from))) square(number, capture ? "must" : "may");
    if (this.selected) {
      square(this.selected, "selected");
      for (const [number, move] of this.targets()) {
        const {x, y} = this.center(number);
        make("circle", {class: move.captures.length ? "target capture" : "target", cx: x, cy: y, r: 1.7}, this.layers.marks);
      }
    }
    for (const [number, cell] of this.cellOf) {
      this.describe(number, cell);
      cell.classList.toggle("live", this.movable(number) || Boolean(this.selected) && this.targets().has(number));
    }
  }

  /** Arrows along paths: [{path, weight 0..1, name}]. */
  arrows(list) {
    this.layers.arrows.replaceChildren();
    for (const {path, weight = 1, name = ""} of list) {
      const points = path.map(number => this.center(number));
      const [from, to] = points.slice(-2);
      const angle = Math.atan2(to.y - from.y, to.x - from.x);
      const end = {x: to.x - 2.4 * Math.cos(angle), y: to.y - 2.4 * Math.sin(angle)};
      const line = [...points.slice(0, -1), end];
      const group = make("g", {class: `arrow ${name}`, opacity: 0.35 + 0.6 * weight}, this.layers.arrows);
      make("polyline", {points: line.map(({x, y}) => `${x},${y}`).join(" "), "stroke-width": 0.7 + 1.3 * weight}, group);
      const wing = turn => `${end.x + 2.2 * Math.cos(angle + turn)},${end.y + 2.2 * Math.sin(angle + turn)}`;
      make("polygon", {points: `${wing(0)} ${wing(2.2)} ${wing(-2.2)}`}, group);
    }
  }

  /** Plays a move before the eyes: the piece goes along its path, captured pieces leave when it has arrived. */
  async animate(move, pieces) {
    this.legal = [];
    this.selected = null;
    this.last = null;
    this.pieces = pieces;
    this.arrows([]);
    this.drawPieces(move.from);
    this.drawMarks();
    if (calm.matches || document.hidden) return;
    const run = ++this.busy;
    const piece = this.drawPiece(pieces[move.from], this.center(move.from), this.layers.moving);
    for (let index = 1; index < move.path.length && run === this.busy; index++) {
      await this.slide(piece, this.center(move.path[index - 1]), this.center(move.path[index]));
    }
    if (run === this.busy && move.captures.length) {
      for (const number of move.captures) this.pieceOf.get(number)?.classList.add("leaving");
      await new Promise(resolve => setTimeout(resolve, 220));
    }
    piece.remove();
  }

  slide(piece, from, to) {
    const length = Math.hypot(to.x - from.x, to.y - from.y) / STEP;
    const duration = 130 + 55 * length;
    return new Promise(resolve => {
      const began = performance.now();
      const frame = now => {
        const part = Math.min(1, Math.max(0, (now - began) / duration));
        const eased = part * part * (3 - 2 * part);
        piece.setAttribute("transform", `translate(${from.x + (to.x - from.x) * eased} ${from.y + (to.y - from.y) * eased})`);
        if (part < 1) requestAnimationFrame(frame);
        else resolve();
      };
      requestAnimationFrame(frame);
    });
  }

  /** Selects a square, or moves there. */
  choose(number) {
    if (this.selected) {
      const fitting = this.legal.filter(move => move.from === this.selected && move.to === number);
      if (fitting.length) {
        this.select(null);
        this.onMove(fitting);
        return;
      }
    }
    if (this.movable(number)) this.select(number === this.selected ? null : number);
    else this.onRefused(number, this.selected); // the piece stays chosen: what is said tells where it can go
  }

  select(number) {
    this.selected = number;
    this.drawMarks();
    if (number) {
      const names = [...this.targets().keys()].map(target => this.name(target));
      this.onSay(`${this.name(number)}: ${names.join(", ")}`);
    }
  }

  point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
  }

  squareAt(event) {
    const {x, y} = this.point(event);
    for (const number of this.squares.keys()) {
      const corner = this.corner(number);
      if (x >= corner.x && x < corner.x + STEP && y >= corner.y && y < corner.y + STEP) return number;
    }
    return null;
  }

  press(event) {
    if (event.button !== 0) return;
    const number = this.squareAt(event);
    this.held = null;
    if (number && this.movable(number)) {
      event.preventDefault();
      this.svg.setPointerCapture(event.pointerId);
      this.held = {number, x: event.clientX, y: event.clientY, was: this.selected === number};
      if (!this.held.was && !this.targets().has(number)) this.select(number);
    }
    if (number) this.focusOn(number, false);
  }

  drag(event) {
    if (!this.held) return;
    if (!this.held.piece) {
      if (Math.hypot(event.clientX - this.held.x, event.clientY - this.held.y) < 6) return;
      if (this.selected !== this.held.number) this.select(this.held.number);
      this.held.piece = this.pieceOf.get(this.held.number);
      this.layers.moving.append(this.held.piece);
      this.held.piece.classList.add("held");
    }
    const {x, y} = this.point(event);
    this.held.piece.setAttribute("transform", `translate(${x} ${y})`);
  }

  release(event) {
    const number = this.squareAt(event);
    const held = this.held;
    this.held = null;
    if (held?.piece) {
      held.piece.remove();
      this.drawPieces();
      this.dropOn(held.number, number);
    } else if (number && held?.number === number && !held.was && this.selected === number) {
      // the press has selected it already
    } else if (number) {
      this.choose(number);
    } else {
      this.select(null);
    }
  }

  /** True if the piece on a square can be dragged. */
  movable(number) {
    return this.legal.some(move => move.from === number);
  }

  /** A piece was dragged from one square to another, which may be the same (captures can end there), or off the board. */
  dropOn(from, to) {
    if (to && this.targets().has(to)) this.choose(to);
    else if (to && to !== from) this.onRefused(to, from);
  }

  drop() {
    if (this.held?.piece) {
      this.held.piece.remove();
      this.drawPieces();
    }
    this.held = null;
  }

  key(event) {
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(this.focused);
    } else if (event.key === "Escape" && this.selected) {
      event.preventDefault();
      this.select(null);
    } else if (event.key in steps) {
      event.preventDefault();
      this.step(...steps[event.key]);
    }
  }

  /** Moves the focus one row up or down within a pair of columns, or to the next dark square of the row. */
  step(down, right) {
    const from = this.corner(this.focused);
    const pair = x => Math.floor((x - MARGIN) / STEP / 2);
    for (const number of this.squares.keys()) {
      const to = this.corner(number);
      const rows = Math.round((to.y - from.y) / STEP);
      const columns = Math.round((to.x - from.x) / STEP);
      const next = down ? rows === down && pair(to.x) === pair(from.x) : rows === 0 && columns === 2 * right;
      if (next) return this.focusOn(number, true);
    }
  }

  focusOn(number, visibly) {
    if (!this.cellOf.has(number)) return;
    this.cellOf.get(this.focused)?.setAttribute("tabindex", "-1");
    this.focused = number;
    const cell = this.cellOf.get(number);
    cell.setAttribute("tabindex", "0");
    if (visibly) cell.focus();
  }
}
