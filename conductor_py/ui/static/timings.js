// Timings: a bar for each attempt, from its scheduling over its start to its end.

import { h, put } from "./dom.js";
import { clip, count, duration, instant, nowMs } from "./format.js";
import { isOpen, statusLook } from "./looks.js";

const PAGE = 250;

/** The chart; drawn only while it is seen. */
export class Timings {
  #box;
  #limit = PAGE;
  #shown = null;

  constructor(box) {
    this.#box = box;
  }

  update(execution, tasks) {
    this.#shown = { execution, tasks };
    if (!this.#box.closest("[hidden]")) this.draw();
  }

  draw() {
    if (!this.#shown) return;
    const { execution, tasks } = this.#shown;
    const from = instant(execution.startTime) || instant(tasks[0]?.scheduledTime);
    const until = instant(execution.endTime) || nowMs();
    const last = Math.max(until, ...tasks.slice(0, this.#limit).map((task) => instant(task.endTime)));
    const span = Math.max(1, last - from);
    const place = (element, start, end) => {
      const left = Math.min(1, Math.max(0, (start - from) / span));
      element.style.left = `${left * 100}%`;
      element.style.width = `${Math.min(1 - left, Math.max(0, (end - start) / span)) * 100}%`;
      return element;
    };
    const ticks = h("div", { class: "gantt-ticks" }, [0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => {
      const tick = h("span", {}, share === 0 ? "0" : duration(share * span));
      tick.style.left = `${share * 100}%`;
      return tick;
    }));
    const rest = tasks.length - this.#limit;
    const more = rest > 0 && h("button", { type: "button" }, `Show ${count(Math.min(PAGE, rest))} more`);
    if (more) more.addEventListener("click", () => {
      this.#limit += PAGE;
      this.draw();
    });
    put(
      this.#box,
      h("div", { class: "legend" }, h("span", {}, h("i", { class: "gantt-bar waited tone-wait" }), "waiting in the queue"), h("span", {}, h("i", { class: "gantt-bar tone-good" }), "running, in the colour of its status")),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Timings" },
        h("div", { class: "gantt" }, h("div", { class: "gantt-row" }, h("span", {}), ticks, h("span", {})), tasks.slice(0, this.#limit).map((task) => row(task, until, place))),
        more,
      ),
    );
  }
}

function row(task, until, place) {
  const look = statusLook(task.status);
  const scheduled = instant(task.scheduledTime);
  const started = instant(task.startTime);
  const ended = instant(task.endTime) || (isOpen(task.status) ? until : started || scheduled);
  const name = `${clip(task.referenceTaskName, 80)}${task.retryCount ? ` · retry ${task.retryCount}` : ""}`;
  const track = h("div", { class: "gantt-track", title: `${look.text}: ${started ? `waited ${duration(Math.max(0, started - scheduled))}, ran ${duration(Math.max(0, ended - started))}` : `waiting ${duration(ended - scheduled)}`}` });
  if (scheduled && (started || ended) > scheduled) track.appendChild(place(h("div", { class: "gantt-bar waited tone-wait" }), scheduled, started || ended));
  if (started) track.appendChild(place(h("div", { class: `gantt-bar tone-${look.tone}` }), started, ended));
  return h("div", { class: "gantt-row" }, h("span", { class: "gantt-label", title: name }, name), track, h("span", { class: "num quiet" }, started ? duration(Math.max(0, ended - started)) : look.text));
}
