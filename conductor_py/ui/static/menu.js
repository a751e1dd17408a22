// A button that opens a menu, by the pattern that screen readers know: arrows move, Escape closes.

import { h, icon } from "./dom.js";

/** A menu button. `items`: `{label, name, danger, act}`. */
export function menu(label, items) {
  const button = h("button", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false" }, label, icon("down"));
  const list = h("div", { class: "menu", role: "menu", "aria-label": label, hidden: true });
  const entries = items.map((item) => {
    const entry = h("button", { type: "button", role: "menuitem", tabindex: -1, class: item.danger ? "bad" : null }, icon(item.icon), item.label);
    entry.addEventListener("click", () => {
      close(true);
      item.act();
    });
    return entry;
  });
  list.append(...entries);
  const box = h("div", { class: "menu-box" }, button, list);

  const open = (index) => {
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    entries.at(index)?.focus();
    document.addEventListener("pointerdown", outside);
  };
  const close = (focus) => {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
    if (focus) button.focus();
  };
  const outside = (event) => box.contains(event.target) || close(false);

  button.addEventListener("click", () => (list.hidden ? open(0) : close(true)));
  box.addEventListener("keydown", (event) => {
    const at = entries.indexOf(document.activeElement);
    if (event.key === "Escape" && !list.hidden) close(true);
    else if (event.key === "Tab" && !list.hidden) return close(true);
    else if (event.key === "ArrowDown") list.hidden ? open(0) : entries[(at + 1) % entries.length].focus();
    else if (event.key === "ArrowUp") list.hidden ? open(-1) : entries.at(at - 1).focus();
    else if (event.key === "Home" && !list.hidden) entries[0].focus();
    else if (event.key === "End" && !list.hidden) entries.at(-1).focus();
    else return;
    event.preventDefault();
  });
  return box;
}
