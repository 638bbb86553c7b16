// The games that a training run has kept, iteration by iteration, so that one can watch a network grow.

import {byId, el} from "./elements.js";
import {request} from "./server.js";
import {t} from "./texts.js";

let run = null; // the overview of the run
let latest = 0; // the iteration that was looked at last

/** What the run has kept; asked anew each time, since training may go on. */
export async function overview() {
  run = await request("/api/training");
  return run;
}

/** The iterations of which a network was kept, as far as is known. */
export const networks = () => run?.networks ?? [];

/** The name of the mind that played an iteration's games, or of the one nearest to it; null if none was kept. */
export function mindOf(iteration) {
  const earlier = run.networks.filter(number => number <= iteration);
  const number = earlier.at(-1) ?? run.networks.at(-1);
  return number === undefined ? null : `run:${number}`;
}

/** A game of an iteration, counted from 0: {iteration, number, count, pdn, rules, text}; null if there is none. */
export async function gameOf(iteration, number) {
  const games = await request(`/api/training/${iteration}`);
  const game = games[Math.min(number, games.length - 1)];
  return game ? {...game, iteration, number: games.indexOf(game), count: games.length, text: gameText(game)} : null;
}

/** The kept iteration before (-1) or after (1) one; undefined at the end. */
export function neighbour(iteration, step) {
  const numbers = run.iterations.map(kept => kept.number);
  return step < 0 ? numbers.filter(number => number < iteration).at(-1) : numbers.find(number => number > iteration);
}

function gameText({result, plies, termination}) {
  const winner = {"1-0": "W", "2-0": "W", "0-1": "B", "0-2": "B"}[result];
  const why = t.ends[termination]?.(t[{W: "B", B: "W"}[winner]] ?? "") ?? t.adjudicated;
  return `${winner ? t.wins(t[winner]) : result === "*" ? t.stopped : t.drawn} (${why}), ${t.plies(plies)}`;
}

/** Lets a person choose a game; resolves to that of gameOf(), or null. */
export async function askForTrainingGame() {
  await overview();
  const dialog = byId("dialog");
  const kept = run.iterations;
  const list = el("ol", {id: "training-games"});
  const strength = el("p", {className: "about", id: "strength"});
  const title = el("output", {id: "iteration-title"});
  const slider = el("input", {type: "range", id: "iteration", min: 0, max: Math.max(0, kept.length - 1), oninput: () => show()});
  const step = by => { slider.value = Number(slider.value) + by; show(); };
  const choice = {asked: 0, game: null};

  async function show() {
    const turn = ++choice.asked;
    const {number, minutes} = kept[slider.value];
    latest = number;
    title.textContent = t.iterationOf(number, minutes === null ? null : Math.round(minutes));
    slider.setAttribute("aria-valuetext", title.textContent);
    const measured = run.measured.filter(one => one.number <= number).at(-1);
    strength.textContent = measured ? t.measured(measured.number, Object.entries(measured.scores)
      .map(([opponent, score]) => t.score(Math.round(100 * score), opponent)).join(", ")) : "";
    let games = [];
    try {
      games = await request(`/api/training/${number}`);
    } catch (error) {
      if (turn === choice.asked) list.replaceChildren(el("li", {className: "problem"}, error.message));
      return;
    }
    if (turn !== choice.asked) return;
    list.replaceChildren(...games.map((game, index) => el("li", {}, el("button", {type: "button", className: "quiet", onclick: () => {
      choice.game = {...game, iteration: number, number: index, count: games.length, text: gameText(game)};
      dialog.close("chosen");
    }}, gameText(game)))));
  }

  dialog.replaceChildren(el("form", {method: "dialog"}, el("h2", {id: "dialog-title"}, `${t.training}: ${run.name}`),
    ...kept.length ? [
      el("p", {className: "about"}, t.aboutTraining),
      el("p", {className: "field"}, el("label", {for: "iteration"}, t.iteration), slider),
      el("p", {className: "row"}, el("button", {type: "button", "aria-label": t.earlier, onclick: () => step(-1)}, "‹"),
        title, el("button", {type: "button", "aria-label": t.later, onclick: () => step(1)}, "›")),
      strength, list] : [el("p", {}, t.noTraining)],
    el("p", {className: "buttons"}, el("button", {value: "no"}, t.close))));
  if (kept.length) {
    const place = kept.findIndex(({number}) => number === latest);
    slider.value = place < 0 ? kept.length - 1 : place;
    show();
  }
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise(resolve => { dialog.onclose = () => resolve(dialog.returnValue === "chosen" ? choice.game : null); });
}
