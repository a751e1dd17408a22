// Rows of workers that are there: GET /api/workers.

import { h } from "./dom.js";
import { clip, count, duration, nowMs } from "./format.js";

const SHOWN = 500;

/** What a worker takes, a domain before its type. */
export const typesOf = (one) => (one.taskTypes ?? []).map((each) => (each.domain ? `${each.domain}:${each.taskType}` : String(each.taskType)));

/** The rows of a table of six columns: worker, host, version, types, running, last seen. */
export function workerRows(workers) {
  return [
    workers.slice(0, SHOWN).map(row),
    workers.length === 0 && note(6, "No worker is there."),
    workers.length > SHOWN && note(6, `and ${count(workers.length - SHOWN)} more: filter by name on the page of workers`),
  ];
}

/** A row that says something instead of showing something. */
export function note(columns, text) {
  return h("tr", {}, h("td", { colspan: columns, class: "quiet blank" }, text));
}

/** A cell with how long ago an instant was. */
export function ago(at) {
  const known = Number(at) > 0;
  return h("td", { class: "time", title: known ? new Date(Number(at)).toISOString() : null }, known ? `${duration(Math.max(0, nowMs() - Number(at)))} ago` : "");
}

function row(one) {
  return h(
    "tr",
    {},
    h("td", { class: "name" }, h("strong", {}, clip(one.workerId, 120))),
    h("td", {}, clip(one.host ?? "", 80)),
    h("td", {}, clip(one.version ?? "", 60), one.sdk && h("div", { class: "quiet" }, clip(one.sdk, 80))),
    h("td", {}, typesOf(one).slice(0, 20).map((each) => h("div", {}, clip(each, 80)))),
    h("td", { class: "num" }, one.reported ? `${count(one.running ?? 0)} of ${count(one.capacity ?? 0)}` : h("span", { class: "quiet" }, "unknown")),
    ago(one.lastSeen),
  );
}
