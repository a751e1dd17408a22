// The graph as a drawing: SVG of the layout, zoom, dragging, and choosing a task.

import { executionAddress } from "./api.js";
import { h, icon, put, s } from "./dom.js";
import { clip, duration } from "./format.js";
import { NODE_HEIGHT, NODE_WIDTH, layout } from "./graph_layout.js";
import { statusLook, typeLook } from "./looks.js";

const ZOOMS = [0.06, 0.1, 0.16, 0.25, 0.35, 0.5, 0.65, 0.8, 1, 1.25, 1.6, 2];
const REF_FONT = '600 12.5px system-ui, sans-serif';
const SUB_FONT = "11px system-ui, sans-serif";

const pen = document.createElement("canvas").getContext("2d");

/** Cut a text to a width in pixels. */
function fitted(text, font, width) {
  let shown = clip(text, 80);
  if (!pen) return clip(shown, Math.floor(width / 7));
  pen.font = font;
  if (pen.measureText(shown).width <= width) return shown;
  while (shown.length > 1 && pen.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
  return `${shown}…`;
}

/** A graph in a box that scrolls. `onChoose(ref)` is called with the chosen reference, or null. */
export class GraphView {
  #scroller = h("div", { class: "graph", tabindex: 0, role: "group", "aria-label": "Graph of the definition" });
  #onChoose;
  #zoom = 0;
  #drawn = null;
  #signature = "";
  #chosen = null;

  constructor(box, onChoose) {
    this.#onChoose = onChoose;
    const tool = (name, label, action) => h("button", { type: "button", title: label, "aria-label": label, on: { click: action } }, icon(name));
    put(
      box,
      h(
        "div",
        { class: "graph-tools" },
        tool("minus", "Smaller", () => this.#step(-1)),
        tool("plus", "Larger", () => this.#step(1)),
        tool("fit", "Fit the width", () => this.#fit(0.06)),
      ),
      this.#scroller,
    );
    this.#dragging();
    this.#scroller.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.#step(event.deltaY < 0 ? 1 : -1);
    }, { passive: false });
  }

  /** Draw `items`; `status` is that of the execution. Nothing is touched when nothing changed. */
  draw(items, status) {
    const ended = status === "COMPLETED";
    const signature = JSON.stringify([items, status], (key, value) => (key === "latest" ? essence(value) : value));
    if (signature === this.#signature) return;
    this.#signature = signature;
    const focused = document.activeElement?.closest?.(".node")?.dataset.ref;
    const drawing = layout(items, { ended });
    this.#drawn = { svg: this.#svg(drawing, status), width: drawing.width, height: drawing.height };
    put(this.#scroller, this.#drawn.svg);
    if (this.#zoom) this.#apply();
    else this.#fit(0.6);
    this.choose(this.#chosen);
    const before = focused === undefined ? null : this.#scroller.querySelector(`.node[data-ref="${CSS.escape(focused)}"]`);
    this.#reachable(before ?? this.#scroller.querySelector(".node"));
    before?.focus();
  }

  /** Show which reference is chosen. */
  choose(ref) {
    this.#chosen = ref;
    for (const node of this.#scroller.querySelectorAll(".node")) {
      const chosen = node.dataset.ref === ref;
      node.classList.toggle("chosen", chosen);
      node.setAttribute("aria-pressed", String(chosen));
    }
  }

  /** One node is reached by Tab, the others by the arrows. */
  #reachable(node) {
    for (const other of this.#scroller.querySelectorAll(".node")) other.setAttribute("tabindex", other === node ? "0" : "-1");
  }

  #move(node, step) {
    const all = [...this.#scroller.querySelectorAll(".node")];
    const next = all[all.indexOf(node) + step];
    if (!next) return;
    this.#reachable(next);
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** Fit once the box is visible, when it was not at the first drawing. */
  shown() {
    if (this.#drawn && !this.#zoom) this.#fit(0.6);
  }

  #fit(least) {
    const room = this.#scroller.clientWidth - 24;
    if (room <= 0 || !this.#drawn) return;
    this.#zoom = Math.max(least, Math.min(1, room / this.#drawn.width));
    this.#apply();
    this.#scroller.scrollLeft = (this.#scroller.scrollWidth - this.#scroller.clientWidth) / 2;
  }

  #step(direction) {
    const next = direction > 0 ? ZOOMS.find((zoom) => zoom > this.#zoom + 0.01) : ZOOMS.findLast((zoom) => zoom < this.#zoom - 0.01);
    if (!next || !this.#drawn) return;
    const box = this.#scroller;
    const centre = [(box.scrollLeft + box.clientWidth / 2) / this.#zoom, (box.scrollTop + box.clientHeight / 2) / this.#zoom];
    this.#zoom = next;
    this.#apply();
    box.scrollLeft = centre[0] * next - box.clientWidth / 2;
    box.scrollTop = centre[1] * next - box.clientHeight / 2;
  }

  #apply() {
    this.#drawn.svg.setAttribute("width", Math.round(this.#drawn.width * this.#zoom));
    this.#drawn.svg.setAttribute("height", Math.round(this.#drawn.height * this.#zoom));
  }

  #dragging() {
    const box = this.#scroller;
    let from = null;
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.pointerType === "touch" || event.target.closest(".node")) return;
      from = [event.clientX + box.scrollLeft, event.clientY + box.scrollTop];
      box.setPointerCapture(event.pointerId);
      box.classList.add("held");
    });
    box.addEventListener("pointermove", (event) => {
      if (!from) return;
      box.scrollLeft = from[0] - event.clientX;
      box.scrollTop = from[1] - event.clientY;
    });
    const release = () => {
      from = null;
      box.classList.remove("held");
    };
    box.addEventListener("pointerup", release);
    box.addEventListener("pointercancel", release);
  }

  #svg(drawing, status) {
    const look = statusLook(status);
    return s(
      "svg",
      { class: status ? "drawing" : "drawing unrun", viewBox: `0 0 ${drawing.width} ${drawing.height}`, role: "group", "aria-label": "Tasks of the definition in order" },
      drawing.frames.map(frame),
      [...drawing.edges].sort((a, b) => Number(a.taken) - Number(b.taken)).map(edge),
      drawing.cases.map(caseLabel),
      drawing.notes.map((note) => s("text", { class: "frame-label", x: note.x, y: note.y }, note.text)),
      s("circle", { class: "end tone-live", cx: drawing.start.x, cy: drawing.start.y, r: drawing.start.r }, s("title", {}, "Start")),
      s(
        "g",
        { class: `end-mark tone-${look.tone}` },
        s("title", {}, `End: ${look.text}`),
        s("circle", { class: "end", cx: drawing.end.x, cy: drawing.end.y, r: drawing.end.r }),
        icon(look.icon, { x: drawing.end.x - 7, y: drawing.end.y - 7, width: 14, height: 14 }),
      ),
      drawing.nodes.map((node) => this.#node(node)),
    );
  }

  #node({ item, x, y }) {
    const { status, attempts, latest, passedBy } = item.state;
    const look = statusLook(status);
    const type = typeLook(item.type);
    const classes = ["node"];
    if (status) classes.push("has-tone", `tone-${look.tone}`);
    else classes.push(passedBy ? "passed-by" : "untouched", "tone-none");
    if (status === "IN_PROGRESS") classes.push("running");
    const means = status ? look.text : passedBy ? "not taken" : "not reached";
    const took = latest && timeOf(latest);
    const sub = [item.type === "SIMPLE" ? item.name || type.text : type.text, took].filter(Boolean).join(" · ");
    const group = s(
      "g",
      { class: classes.join(" "), transform: `translate(${x} ${y})`, tabindex: -1, role: "button", "aria-pressed": "false", "aria-label": `${clip(item.ref, 200)}, ${type.text}, ${means}`, data: { ref: item.ref } },
      s("title", {}, `${clip(item.ref, 400)}\n${type.text}: ${clip(item.name, 400)}\n${means}`),
      s("rect", { class: "box", width: NODE_WIDTH, height: NODE_HEIGHT, rx: 10 }),
      s("rect", { class: "sign", x: 9, y: 9, width: 32, height: 32, rx: 8 }),
      icon(type.icon, { x: 16, y: 16, width: 18, height: 18 }),
      s("text", { class: "ref", x: 51, y: 21 }, fitted(item.ref, REF_FONT, NODE_WIDTH - 51 - (status ? 30 : 12))),
      s("text", { class: "sub", x: 51, y: 38 }, fitted(sub, SUB_FONT, NODE_WIDTH - 62)),
      status && icon(look.icon, { x: NODE_WIDTH - 24, y: 9, width: 14, height: 14 }),
      attempts > 1 && badge(NODE_WIDTH - 6, NODE_HEIGHT, `${attempts} tries`),
      latest?.subWorkflowId && childLink(latest.subWorkflowId),
    );
    const choose = (event) => {
      if (event.target.closest("a")) return;
      this.#onChoose(this.#chosen === item.ref ? null : item.ref);
    };
    group.addEventListener("click", choose);
    group.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" || event.key === " ") && !event.target.closest("a")) {
        event.preventDefault();
        choose(event);
      }
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      if (step && !event.target.closest("a")) {
        event.preventDefault();
        this.#move(group, step);
      }
    });
    group.addEventListener("focus", () => this.#reachable(group));
    return group;
  }
}

const essence = (task) => task && [task.status, task.taskId, task.endTime, task.subWorkflowId, task.outputData?.iteration];

function timeOf(task) {
  return task.endTime && task.startTime ? duration(Math.max(0, task.endTime - task.startTime)) : "";
}

function edge({ path, taken, running, back, arrow }) {
  const classes = ["edge", taken && "taken", running && "into-running", back && "back"].filter(Boolean).join(" ");
  const head = arrow && (arrow.right ? `M${arrow.x} ${arrow.y}l-7 -4v8z` : `M${arrow.x} ${arrow.y}l-4 -7h8z`);
  return [s("path", { class: classes, d: path }), head && s("path", { class: taken ? "arrow taken" : "arrow", d: head })];
}

function frame({ x, y, width, height, label, loop }) {
  return s(
    "g",
    {},
    s("rect", { class: "frame", x, y, width, height, rx: 14 }),
    loop && icon("loop", { class: "icon frame-icon", x: x + 12, y: y + 7, width: 12, height: 12 }),
    s("text", { class: "frame-label", x: x + (loop ? 29 : 14), y: y + 18 }, label),
  );
}

function caseLabel({ label, x, y, taken }) {
  const text = fitted(label === "" ? "(empty)" : label, SUB_FONT, 130);
  const width = Math.max(34, (pen ? measured(text) : text.length * 7) + 18);
  return s(
    "g",
    { class: taken ? "case taken" : "case" },
    s("title", {}, `case ${clip(label, 400)}${taken ? ", chosen" : ""}`),
    s("rect", { x: x - width / 2, y: y - 10, width, height: 20, rx: 10 }),
    s("text", { x, y: y + 4 }, text),
  );
}

function measured(text) {
  pen.font = SUB_FONT;
  return pen.measureText(text).width;
}

function badge(right, y, text) {
  const width = text.length * 5.6 + 12;
  return s(
    "g",
    { transform: `translate(${right - width} ${y - 8})` },
    s("rect", { class: "badge", width, height: 16, rx: 8 }),
    s("text", { class: "badge-text", x: width / 2, y: 11.5 }, text),
  );
}

function childLink(id) {
  return s(
    "a",
    { href: executionAddress(id), "aria-label": "Open the sub-workflow's execution" },
    s("title", {}, `Open ${clip(id, 80)}`),
    s("rect", { class: "badge", x: NODE_WIDTH - 28, y: 26, width: 20, height: 20, rx: 6 }),
    icon("launch", { x: NODE_WIDTH - 24, y: 30, width: 12, height: 12 }),
  );
}
