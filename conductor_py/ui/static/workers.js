// Workers that are there: GET /api/workers, and servers with their shards: GET /api/admin/servers.

import { get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { byId, h, put } from "./dom.js";
import { clip, count, duration, nowMs } from "./format.js";

const SHOWN = 500;
const EVERY_MS = 5000;
let workers = [];
let servers = [];

async function load() {
  let wait = EVERY_MS;
  try {
    [workers, servers] = await Promise.all([get("/api/workers"), get("/api/admin/servers")]);
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
  const found = (workers ?? []).filter((one) => `${one.workerId} ${one.host ?? ""} ${types(one).join(" ")}`.toLowerCase().includes(wanted));
  put(byId("workers"), found.slice(0, SHOWN).map(worker), found.length === 0 && note(6, "No worker is there."), found.length > SHOWN && note(6, `and ${count(found.length - SHOWN)} more: filter by name`));
  put(byId("servers"), (servers ?? []).map(server), (servers ?? []).length === 0 && note(3, "No server holds a lease."));
}

function note(columns, text) {
  return h("tr", {}, h("td", { colspan: columns, class: "quiet blank" }, text));
}

const types = (one) => (one.taskTypes ?? []).map((each) => (each.domain ? `${each.domain}:${each.taskType}` : String(each.taskType)));

function worker(one) {
  return h(
    "tr",
    {},
    h("td", { class: "name" }, h("strong", {}, clip(one.workerId, 120))),
    h("td", {}, clip(one.host ?? "", 80)),
    h("td", {}, clip(one.version ?? "", 60), one.sdk && h("div", { class: "quiet" }, clip(one.sdk, 80))),
    h("td", {}, types(one).slice(0, 20).map((each) => h("div", {}, clip(each, 80)))),
    h("td", { class: "num" }, one.reported ? `${count(one.running ?? 0)} of ${count(one.capacity ?? 0)}` : h("span", { class: "quiet" }, "unknown")),
    ago(one.lastSeen),
  );
}

function server(one) {
  const shards = (one.shards ?? []).map((each) => h("div", {}, h("code", {}, clip(each.shard, 80)), ` term ${each.term}`, each.configured && h("span", { class: "quiet" }, " configured")));
  return h("tr", {}, h("td", { class: "name" }, h("strong", {}, clip(one.server, 120))), h("td", {}, shards), ago(one.lastRenewal));
}

function ago(at) {
  const known = Number(at) > 0;
  return h("td", { class: "time", title: known ? new Date(Number(at)).toISOString() : null }, known ? `${duration(Math.max(0, nowMs() - Number(at)))} ago` : "");
}

byId("filter").addEventListener("input", draw);
load();
