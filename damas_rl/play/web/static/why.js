// Why a tap did nothing: one sentence for somebody who does not know the rules.

import {mayMove} from "./panel.js";
import {seatName, t} from "./texts.js";

/**
 * The sentence for a tap on `square` while the piece on `selected` (or null) was chosen; "" where none is needed.
 * name(square) spells a square, `notation` a move.
 */
export function whyNot(state, square, selected, name, notation) {
  const piece = state.pieces[square];
  const own = piece?.toUpperCase() === state.color;
  if (state.outcome) return piece ? t.why.over : "";
  if (!mayMove(state)) return piece && state.thinking ? t.thinking(seatName(state.seats[state.color])) : piece ? t.turnOf(t[state.color]) : "";
  const captures = state.legal.filter(move => move.captures.length);
  if (captures.length && (own || selected)) {
    const moves = [...new Set(captures.map(move => move[notation]))].slice(0, 4).join(", ");
    const most = captures[0].captures.length;
    return state.majority !== "none" && most > 1 ? t.why.most(most, moves) : t.why.capture(moves);
  }
  if (piece && !own) return t.why.theirs(t[state.color]);
  if (own) return t.why.blocked(name(square));
  if (!selected) return t.why.choose;
  const targets = state.legal.filter(move => move.from === selected).map(move => name(move.to));
  return t.why.target(name(selected), [...new Set(targets)].join(", "));
}
