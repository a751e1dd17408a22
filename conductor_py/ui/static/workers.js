// Workers that are there: GET /api/workers, and servers with their shards: GET /api/admin/servers.

import { get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { byId, h, put } from "./dom.js";
import { clip } from "./format.js";
import { ago, note, typesOf, workerRows } from "./worker_table.js";

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
  const found = (workers ?? []).filter((one) => `${one.workerId} ${one.host ?? ""} ${typesOf(one).join(" ")}`.toLowerCase().includes(wanted));
  put(byId("workers"), workerRows(found));
  put(byId("servers"), (servers ?? []).map(server), (servers ?? []).length === 0 && note(3, "No server holds a lease."));
}

function server(one) {
  const shards = (one.shards ?? []).map((each) => h("div", {}, h("code", {}, clip(each.shard, 80)), ` term ${each.term}`, each.configured && h("span", { class: "quiet" }, " configured")));
  return h("tr", {}, h("td", { class: "name" }, h("strong", {}, clip(one.server, 120))), h("td", {}, shards), ago(one.lastRenewal));
}

byId("filter").addEventListener("input", draw);
load();
