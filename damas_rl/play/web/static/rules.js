// How to play: the rules of the game on the board, in words, for somebody who has never played.

import {byId, el} from "./elements.js";
import {request} from "./server.js";
import {t} from "./texts.js";

/** Shows the rules of a rule set. */
export async function showRules(name) {
  const sections = await request(`/api/rules/${encodeURIComponent(name)}`);
  const [place, men, kings, captures, crowning, end] = sections;
  const draws = end.sentences.slice(1); // the first one says who wins
  const part = ({heading, sentences}) => [el("h3", {}, heading), el("p", {}, sentences.join(" "))];
  const dialog = byId("dialog");
  dialog.replaceChildren(el("form", {method: "dialog", id: "howto"}, el("h2", {id: "dialog-title"}, t.howToPlay),
    ...part({heading: t.goal, sentences: [t.goalText]}), ...[men, captures, crowning, kings, place].flatMap(part),
    el("h3", {}, t.onThisPage), el("ul", {}, ...t.usage.map(line => el("li", {}, line))),
    el("details", {}, el("summary", {}, t.whenDrawn), el("ul", {}, ...draws.map(line => el("li", {}, line)))),
    el("p", {className: "buttons"}, el("button", {className: "primary", id: "understood"}, t.close))));
  dialog.showModal();
  byId("understood").focus({preventScroll: true});
  dialog.scrollTop = 0;
}
