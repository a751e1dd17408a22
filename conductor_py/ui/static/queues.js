// Queues: GET /api/tasks/queue/all and /api/tasks/queue/polldata/all; who is there: GET /api/workers.

import { Refresher, get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { byId, h, put } from "./dom.js";
import { clip, count, duration, nowMs } from "./format.js";
import { loadQuarantine } from "./quarantine.js";
import { workerRows } from "./worker_table.js";

const SHOWN = 1000;
const WORKERS = 5;

async function load() {
  try {
    const [sizes, polls, workers] = await Promise.all([get("/api/tasks/queue/all"), get("/api/tasks/queue/polldata/all"), get("/api/workers")]);
    clearFailure();
    draw(sizes ?? {}, polls ?? []);
    put(byId("workers"), workerRows(workers ?? []));
    await loadQuarantine();
    return 0;
  } catch (error) {
    showFailure(error);
    return Math.max(error.retryAfterMs ?? 0, 4000);
  }
}

function draw(sizes, polls) {
  const byQueue = new Map(Object.entries(sizes).map(([name, size]) => [name, { size, polls: [] }]));
  for (const one of polls) {
    const name = one.domain ? `${one.domain}:${one.queueName}` : String(one.queueName);
    if (!byQueue.has(name)) byQueue.set(name, { size: 0, polls: [] });
    byQueue.get(name).polls.push(one);
  }
  const rows = [...byQueue].sort(([a, one], [b, other]) => (other.size > 0) - (one.size > 0) || a.localeCompare(b));
  put(byId("rows"), rows.slice(0, SHOWN).map(row));
  byId("table").hidden = rows.length === 0;
  byId("empty").hidden = rows.length > 0;
  if (rows.length === 0) put(byId("empty"), h("div", { class: "blank" }, h("h2", {}, "No queues yet"), h("p", {}, "A queue appears when a task waits in it, or a worker polls it.")));
}

function row([name, { size, polls }]) {
  const newest = Math.max(0, ...polls.map((one) => Number(one.lastPollTime) || 0));
  const workers = [...new Set(polls.sort((a, b) => b.lastPollTime - a.lastPollTime).map((one) => clip(one.workerId, 60) || "unnamed worker"))];
  const more = workers.length > WORKERS ? ` and ${count(workers.length - WORKERS)} more` : "";
  return h(
    "tr",
    {},
    h("td", { class: "name", title: clip(name, 500) }, clip(name, 160)),
    h("td", { class: "num" }, count(size)),
    h("td", { class: "time", title: newest ? new Date(newest).toISOString() : null }, newest ? `${duration(Math.max(0, nowMs() - newest))} ago` : h("span", { class: "quiet" }, "never")),
    h("td", { class: "worker" }, workers.slice(0, WORKERS).join(", ") + more || h("span", { class: "quiet" }, "nobody")),
  );
}

const refresher = new Refresher(load, { wanted: () => byId("auto").checked });
byId("auto").addEventListener("change", () => byId("auto").checked && refresher.now());
refresher.now();
