// Event handlers: GET /api/event, and what they did last: GET /api/event/executions.

import { executionAddress, get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { byId, h, put } from "./dom.js";
import { clip, count, moment, shortId } from "./format.js";
import { pill } from "./looks.js";

const SHOWN = 500;
const RECORDS = 100;
const EVERY_MS = 5000;
let handlers = [];
let records = [];

async function load() {
  let wait = EVERY_MS;
  try {
    [handlers, records] = await Promise.all([get("/api/event"), get(`/api/event/executions?size=${RECORDS}`)]);
    clearFailure();
    draw();
  } catch (error) {
    showFailure(error);
    wait = Math.max(error.retryAfterMs ?? 0, EVERY_MS);
  }
  setTimeout(load, wait);
}

function draw() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const matches = (one) => `${one.name} ${one.event}`.toLowerCase().includes(wanted);
  const found = (handlers ?? []).filter(matches);
  const done = (records ?? []).filter(matches);
  put(byId("rows"), found.slice(0, SHOWN).map(handler), found.length === 0 && note(5, "No event handlers."), found.length > SHOWN && note(5, `and ${count(found.length - SHOWN)} more: filter by name`));
  put(byId("records"), done.map(record), done.length === 0 && note(6, "Nothing yet."));
}

function note(columns, text) {
  return h("tr", {}, h("td", { colspan: columns, class: "quiet blank" }, text));
}

function handler(one) {
  return h(
    "tr",
    {},
    h("td", { class: "name" }, h("strong", {}, clip(one.name, 120))),
    h("td", {}, h("code", {}, clip(one.event, 120))),
    h("td", {}, one.condition ? h("code", {}, clip(one.condition, 200)) : ""),
    h("td", {}, (one.actions ?? []).map((each) => h("div", {}, clip(each.action, 60)))),
    h("td", { class: "reason" }, one.active ? "active" : "not active"),
  );
}

function record(one) {
  const started = one.output?.workflowId;
  const link = started && h("a", { href: executionAddress(started) }, shortId(started));
  return h(
    "tr",
    {},
    h("td", { class: "time" }, moment(one.created)),
    h("td", { class: "name" }, clip(one.name, 120)),
    h("td", {}, h("code", {}, clip(one.event, 120))),
    h("td", {}, clip(one.action, 60)),
    h("td", {}, pill(one.status)),
    h("td", { class: "reason" }, link || clip(one.output?.error, 300)),
  );
}

byId("filter").addEventListener("input", draw);
load();
