// Making elements without markup in strings, so that nothing from a game or a file is ever read as HTML.

/** The element of an id. */
export const byId = id => document.getElementById(id);

/** A new element with properties, attributes (names with a dash, role, for) and children. */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role" || key === "for" || key === "scope") element.setAttribute(key, value);
    else element[key] = value;
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

/** Fills a notice and shows it; without content it is hidden. */
export function notice(element, ...children) {
  element.replaceChildren(...children);
  element.hidden = !children.length;
}

/** A choice of one: options are [value, text, icon or nothing]. */
export function radios(name, legend, options, chosen, onchange = null) {
  return el("fieldset", {className: "radios", onchange}, el("legend", {}, legend), ...options.map(([value, text, icon = null]) =>
    el("label", {}, el("input", {type: "radio", name, value, checked: value === chosen}), icon, el("span", {}, text))));
}
