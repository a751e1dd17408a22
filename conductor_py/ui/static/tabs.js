// Tabs, by the pattern that screen readers know: arrows move, the address keeps the choice.

import { h } from "./dom.js";

/** Fill `box` with tabs `[{id, label, panel}]`; `onShow(id)` after each change. */
export function tabs(box, list, onShow = () => {}) {
  const bar = h("div", { class: "tabs", role: "tablist" });
  const buttons = list.map(({ id, label, panel }) => {
    panel.id = `panel-${id}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    return h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": panel.id }, label);
  });
  const choose = (index, { focus = false } = {}) => {
    list.forEach(({ panel }, at) => {
      const chosen = at === index;
      panel.hidden = !chosen;
      buttons[at].setAttribute("aria-selected", String(chosen));
      buttons[at].tabIndex = chosen ? 0 : -1;
    });
    if (focus) buttons[index].focus();
    onShow(list[index].id);
  };
  buttons.forEach((button, index) => {
    const go = (to, focus) => {
      history.replaceState(null, "", to === 0 ? location.pathname + location.search : `#${list[to].id}`);
      choose(to, { focus });
    };
    button.addEventListener("click", () => go(index, false));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) go((index + step + list.length) % list.length, true);
    });
  });
  bar.append(...buttons);
  box.replaceChildren(bar, ...list.map(({ panel }) => panel));
  const wanted = list.findIndex(({ id }) => `#${id}` === location.hash);
  choose(Math.max(0, wanted));
}
