// What a long task keeps: GET /api/workflow/{id}/checkpoints, drawn as its parts, savepoints and what is asked of it.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { clip, count, instant, longText, moment } from "./format.js";
import { rememberOpen } from "./payload.js";

const SHOWN_EPOCHS = 10;

/** What a task that a worker took keeps, collapsed until asked for; null for other tasks. */
export function checkpointsOf(task) {
  if (!task.pollCount || !(task.workerId || task.claimToken)) return null;
  const body = h("div", { class: "checkpoints" });
  const box = h("details", { class: "payload" }, h("summary", {}, h("span", { class: "payload-name" }, "Checkpoints"), h("span", { class: "quiet" }, "what the task keeps")), body);
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    try {
      const found = await get(`/api/workflow/${encodeURIComponent(task.workflowInstanceId)}/checkpoints`);
      put(body, drawn(found?.[task.referenceTaskName]));
    } catch (failed) {
      put(body, h("p", { class: "hint" }, longText(failed.message, 400)));
    }
  });
  rememberOpen(box, `${task.taskId}:checkpoints`);
  return box;
}

function drawn(kept) {
  const parts = Object.entries(kept?.parts ?? {});
  if (parts.length === 0 && !kept?.request) return h("p", { class: "hint" }, "It keeps nothing.");
  return [kept.request && h("p", { class: "why" }, `It is asked to ${kept.request.action.toLowerCase()}.`), table(parts), kept.savepoints.map(savepoint)];
}

function table(parts) {
  return h(
    "table",
    { "aria-label": "Checkpoints" },
    h("thead", {}, h("tr", {}, ["Part", "Epoch", "Time", "Notes since", "Epochs kept"].map((name) => h("th", {}, name)))),
    h("tbody", {}, parts.map(([name, part]) => row(name, part))),
  );
}

function row(name, part) {
  const epochs = part.history.slice(0, SHOWN_EPOCHS).map((past) => past.epoch).join(", ");
  return h(
    "tr",
    {},
    h("td", {}, h("strong", {}, clip(name, 70))),
    h("td", { class: "num" }, String(part.epoch)),
    h("td", {}, moment(instant(part.history[0]?.time))),
    h("td", { class: "num" }, count(part.noteCount)),
    h("td", {}, part.history.length > SHOWN_EPOCHS ? `${epochs}, …` : epochs),
  );
}

function savepoint(one) {
  const held = Object.entries(one.epochs).map(([part, epoch]) => `${clip(part, 70)} ${epoch}`).join(", ");
  return h("p", { class: "hint" }, "Savepoint ", h("strong", {}, clip(one.name, 70)), " of ", moment(instant(one.time)), held && `: ${held}`);
}
