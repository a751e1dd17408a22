// Quarantine: GET /api/admin/quarantine, on the page of the queues: executions that cannot be decided,
// and entries that cannot be read. Nothing is shown while there are none.

import { executionAddress, get, send } from "./api.js";
import { ask } from "./dialog.js";
import { announce, byId, h, put } from "./dom.js";
import { clip, count, duration, instant, longText, nowMs } from "./format.js";

const SHOWN = 100;
const PATH = "/api/admin/quarantine";

/** Read and draw the lists. */
export async function loadQuarantine() {
  const found = await get(PATH, { size: SHOWN });
  const executions = found?.results ?? [];
  const damaged = found?.damaged ?? [];
  byId("quarantine").hidden = executions.length === 0;
  byId("damage").hidden = damaged.length === 0;
  put(byId("quarantined"), executions.map(execution));
  put(byId("damaged"), damaged.slice(0, SHOWN).map(entry));
  put(byId("quarantine-count"), `${count(found?.totalHits ?? 0)} executions cannot be decided`);
  put(byId("damage-count"), `${count(damaged.length)} cannot be read`);
}

function execution(one) {
  const id = String(one.workflowId);
  const path = `${PATH}/${encodeURIComponent(id)}`;
  return row(h("a", { href: executionAddress(id) }, clip(id, 60)), one, {
    retry: () => send("POST", `${path}/retry`).then((answer) => (answer?.decided ? `${id} is decided` : `${id} still cannot be decided`)),
    drop: (reason) => send("POST", `${path}/drop`, { reason }),
    title: "Give this execution up?",
    says: "It is terminated with its sub-workflows, whatever waits in its inbox.",
    fields: [{ name: "reason", label: "Reason", placeholder: "shown with the execution" }],
  });
}

function entry(one) {
  const name = String(one.entry);
  return row(clip(name, 200), one, {
    retry: () => send("POST", `${PATH}/damaged/retry`, { entry: name }).then(() => `${name} is looked at again`),
    drop: () => send("POST", `${PATH}/damaged/drop`, { entry: name }),
    title: "Delete this entry?",
    says: `${clip(name, 200)} is deleted for ever: the effect, the schedule, or the entry of a queue. With the timer of an execution (x:…) the execution is deleted.`,
    fields: [],
  });
}

function row(name, one, { retry, drop, title, says, fields }) {
  const again = h("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => tell(retry(), again));
  const act = ({ reason }) => drop(reason).then(loadQuarantine);
  const asked = () => ask({ title, says, fields, yes: "Drop", no: "Keep it", danger: true, done: "Dropped", act });
  return h(
    "tr",
    {},
    h("td", { class: "name" }, name),
    h("td", {}, longText(one.reason, 200)),
    h("td", { class: "num" }, count(one.tries)),
    h("td", { class: "time" }, `${duration(Math.max(0, nowMs() - instant(one.since)))} ago`),
    h("td", { class: "time" }, `in ${duration(Math.max(0, instant(one.retryAt) - nowMs()))}`),
    h("td", {}, again, " ", h("button", { type: "button", class: "danger", on: { click: asked } }, "Drop…")),
  );
}

async function tell(trying, button) {
  button.disabled = true;
  try {
    announce(await trying);
  } catch (error) {
    announce(error.message);
  }
  await loadQuarantine().catch(() => {});
}
