// The dialog in which a new game is put together.

import {byId, el} from "./elements.js";
import {readLink} from "./share.js";
import {rulesTitle, t} from "./texts.js";

const CLOCKS = [null, {main: 180, periods: 0, period: 0}, {main: 300, periods: 3, period: 30},
  {main: 900, periods: 3, period: 30}, {main: 60, periods: 1, period: 10}];
const KEPT = "damas.wishes";

function field(label, control) {
  const id = `field-${control.name}`;
  control.id = id;
  return el("p", {className: "field", "data-field": control.name}, el("label", {for: id}, label), control);
}

function choice(name, options, chosen) {
  return el("select", {name}, ...options.map(([value, text]) => el("option", {value, selected: value === chosen}, text)));
}

/**
 * Asks for a game, which begins with a position (FEN, PDN) under some rules if these are given; `told` says why it asks.
 * Resolves to the body of the request, or null if the person does not want one after all.
 */
export function askForGame(setup, {position = "", rules = null, told = ""}) {
  const dialog = byId("dialog");
  const wishes = {mode: "machine", level: "casual", white: "network", black: "full", color: "W", rules: "cbd", clock: "0",
    ...JSON.parse(localStorage.getItem(KEPT) ?? "{}"), ...rules ? {rules} : {}};
  const elo = level => (setup.elos[level] ? ` (Elo ${setup.elos[level]})` : "");
  const levels = setup.levels.map(level => [level, (t.levels[level] ?? level) + elo(level)]);
  const about = el("p", {className: "about", id: "about-level"});
  const aboutClock = el("p", {className: "about", id: "about-clock"});
  const problem = el("p", {className: "problem", role: "alert"});
  const text = el("textarea", {name: "position", rows: 2, value: position, placeholder: t.optional, spellcheck: false});
  const file = el("input", {type: "file", name: "file", accept: ".pdn,.fen,.txt",
    onchange: async () => { text.value = await file.files[0]?.text() ?? ""; }});
  const form = el("form", {method: "dialog"},
    el("h2", {id: "dialog-title"}, t.newGame),
    ...told ? [el("p", {id: "told", role: "alert"}, told)] : [],
    field(t.against, choice("mode", [["machine", t.machine], ["here", t.onePage], ["link", t.twoPages],
      ["machines", t.machines]], wishes.mode)),
    field(t.level, choice("level", levels, wishes.level)),
    about,
    field(t.levelOf(t.W), choice("white", levels, wishes.white)),
    field(t.levelOf(t.B), choice("black", levels, wishes.black)),
    field(t.colour, choice("color", [["W", t.W], ["B", t.B], ["lot", t.byLot]], wishes.color)),
    field(t.clock, choice("clock", CLOCKS.map((clock, index) => [String(index), clock ?
      t.minutes(clock.main / 60, clock.periods, clock.period) : t.noClock]), wishes.clock)),
    aboutClock,
    el("details", {open: Boolean(position) || wishes.rules !== "cbd"},
      el("summary", {}, t.rules),
      field(t.rules, choice("rules", setup.rules.map(rules => [rules.name, rulesTitle(rules)]),
        wishes.rules)),
      field(t.position, text), field(t.openFile, file)),
    problem,
    el("p", {className: "buttons"}, el("button", {type: "button", value: "cancel", id: "cancel-game",
      onclick: () => dialog.close("cancel")}, t.cancel),
    el("button", {type: "submit", value: "start", className: "primary", id: "start-game"}, t.start)));
  const refresh = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const shown = {level: wanted.mode === "machine", white: wanted.mode === "machines", black: wanted.mode === "machines",
      color: wanted.mode === "machine" || wanted.mode === "link"};
    for (const [name, visible] of Object.entries(shown)) form.querySelector(`[data-field=${name}]`).hidden = !visible;
    about.hidden = !shown.level;
    about.textContent = t.about[wanted.level] ?? setup.specs[wanted.level];
    const clock = CLOCKS[wanted.clock];
    aboutClock.hidden = !clock?.periods;
    aboutClock.textContent = clock?.periods ? t.byoyomi(clock.periods, clock.period) : "";
    form.elements.clock.setAttribute("aria-describedby", "about-clock");
    form.elements.level.setAttribute("aria-describedby", "about-level");
  };
  form.addEventListener("change", refresh);
  dialog.replaceChildren(form);
  refresh();
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise(resolve => {
    dialog.onclose = () => {
      if (dialog.returnValue !== "start") return resolve(null);
      const wanted = Object.fromEntries(new FormData(form));
      const {position: start, file: _, ...kept} = wanted;
      localStorage.setItem(KEPT, JSON.stringify(kept));
      resolve(toRequest(wanted, start));
    };
  });
}

function toRequest(wanted, position) {
  const color = wanted.color === "lot" ? (Math.random() < 0.5 ? "W" : "B") : wanted.color;
  const other = color === "W" ? "B" : "W";
  const seats = {
    machine: {[color]: "person", [other]: wanted.level},
    here: {W: "person", B: "person"},
    link: {W: "person", B: "person"},
    machines: {W: wanted.white, B: wanted.black},
  }[wanted.mode];
  const link = readLink(position.trim().replace(/^[^#]*/, ""));
  return {rules: link?.rules ?? wanted.rules, seats, remote: wanted.mode === "link", color, clock: CLOCKS[wanted.clock],
    position: link?.position ?? position};
}

/** Asks a yes-or-no question. */
export function confirmed(question) {
  const dialog = byId("dialog");
  dialog.replaceChildren(el("form", {method: "dialog"}, el("h2", {id: "dialog-title"}, question),
    el("p", {className: "buttons"}, el("button", {value: "no"}, t.cancel),
      el("button", {value: "yes", className: "primary", id: "confirm"}, "OK"))));
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise(resolve => { dialog.onclose = () => resolve(dialog.returnValue === "yes"); });
}
