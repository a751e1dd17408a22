// Quarantine: GET /api/admin/quarantine, on the page of the queues; nothing is shown while it is empty.

import { executionAddress, get, send } from "./api.js";
import { announce, byId, h, put } from "./dom.js";
import { clip, count, duration, instant, longText, nowMs } from "./format.js";

const SHOWN = 100;

/** Read and draw the list. */
export async function loadQuarantine() {
  const found = await get("/api/admin/quarantine", { size: SHOWN });
  const rows = found?.results ?? [];
  byId("quarantine").hidden = rows.length === 0;
  put(byId("quarantined"), rows.map(row));
  put(byId("quarantine-count"), `${count(found?.totalHits ?? 0)} executions cannot be decided`);
}

function row(one) {
  const id = String(one.workflowId);
  const button = h("button", { type: "button" }, "Try again");
  button.addEventListener("click", () => retry(id, button));
  return h(
    "tr",
    {},
    h("td", { class: "name" }, h("a", { href: executionAddress(id) }, clip(id, 60))),
    h("td", {}, longText(one.reason, 200)),
    h("td", { class: "num" }, count(one.tries)),
    h("td", { class: "time" }, `${duration(Math.max(0, nowMs() - instant(one.since)))} ago`),
    h("td", { class: "time" }, `in ${duration(Math.max(0, instant(one.retryAt) - nowMs()))}`),
    h("td", {}, button),
  );
}

async function retry(id, button) {
  button.disabled = true;
  try {
    const answer = await send("POST", `/api/admin/quarantine/${encodeURIComponent(id)}/retry`);
    announce(answer?.decided ? `${id} is decided` : `${id} still cannot be decided`);
  } catch (error) {
    announce(error.message);
  }
  await loadQuarantine().catch(() => {});
}
