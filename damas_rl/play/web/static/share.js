// Positions and games as text that anybody with this page can open: FEN, and links that hold all they show.

import {byId, el} from "./elements.js";
import {t} from "./texts.js";

/** The FEN of a position. */
export function fenOf(pieces, color) {
  const listed = side => Object.entries(pieces).filter(([, piece]) => piece.toUpperCase() === side)
    .map(([square, piece]) => (piece === side ? `K${square}` : square)).join(",");
  return `${color}:W${listed("W")}:B${listed("B")}`;
}

/** A link to a game: rules, where it began (FEN; null = the usual start), its moves, and how many of them are on the board. */
export function linkOf(rules, fen, moves, plies) {
  const parts = [`rules=${rules}`];
  if (fen) parts.push(`fen=${fen}`);
  if (moves.length) parts.push(`moves=${moves.map(move => move.numeric).join(".")}`, `at=${plies}`);
  return `${location.origin}/#${parts.join("&")}`;
}

/** What a link of linkOf() shows, for a request: {rules, position}, with `at`; null if the address is no such link. */
export function readLink(hash) {
  const parts = new URLSearchParams(hash.slice(1));
  if (parts.has("game") || !parts.has("rules")) return null;
  const fen = parts.get("fen") ?? "";
  const moves = parts.get("moves") ?? "";
  const position = moves ? `${fen && `[FEN "${fen}"]\n`}${moves.replaceAll(".", " ")} *` : fen;
  return {rules: parts.get("rules"), position, at: parts.has("at") ? Number(parts.get("at")) : null};
}

/** Shows links, [[title, link], ...], to be copied with copy(text). */
export function showLinks(links, copy) {
  const dialog = byId("dialog");
  dialog.replaceChildren(el("form", {method: "dialog"}, el("h2", {id: "dialog-title"}, t.share),
    el("p", {className: "about"}, t.aboutLinks),
    ...links.flatMap(([title, link], index) => [
      el("p", {className: "field"}, el("label", {for: `link-${index}`}, title),
        el("input", {id: `link-${index}`, readOnly: true, value: link, onfocus: event => event.target.select()})),
      el("p", {className: "row"}, el("button", {type: "button", onclick: () => copy(link)}, t.copy))]),
    el("p", {className: "buttons"}, el("button", {className: "primary"}, t.close))));
  dialog.showModal();
}
