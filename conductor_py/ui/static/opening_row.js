// A row of a table that opens another below it.

import { h, icon } from "./dom.js";

/** `label` says what the button opens; `build(cell)` fills the row below, over all `columns`. */
export function openingRow(label, cells, columns, build) {
  const twist = h("button", { type: "button", class: "twist", "aria-expanded": "false", "aria-label": label }, icon("right"));
  const row = h("tr", { class: "group" }, h("td", {}, twist), cells);
  let below = null;
  row.addEventListener("click", (event) => {
    if (event.target.closest("a, button:not(.twist)")) return;
    if (below) {
      below.remove();
      below = null;
    } else {
      const cell = h("td", { colspan: columns });
      below = h("tr", { class: "detail" }, cell);
      row.after(below);
      build(cell);
    }
    twist.setAttribute("aria-expanded", String(below !== null));
  });
  return row;
}
