// How the job of a data pipeline is cut: POST /api/pipelines/plan, drawn as stages with their nodes.

import { send } from "./api.js";
import { h, put } from "./dom.js";
import { clip, count, longText } from "./format.js";
import { rememberOpen } from "./payload.js";

const TYPE = "SPARK_PIPELINE";

/** The cut of a task's job, collapsed until asked for; null for other tasks, and while there is no job. */
export function pipelineCut(task) {
  const job = task.inputData?.job;
  if ((task.workflowTask?.type ?? task.taskType) !== TYPE || !job || typeof job !== "object") return null;
  const body = h("div", { class: "pipelines" });
  const box = h("details", { class: "payload" }, h("summary", {}, h("span", { class: "payload-name" }, "Pipelines"), h("span", { class: "quiet" }, "how the job is cut")), body);
  let asked = false;
  box.addEventListener("toggle", async () => {
    if (asked || !box.open) return;
    asked = true;
    try {
      put(body, (await send("POST", "/api/pipelines/plan", {}, job)).pipelines.map(pipeline));
    } catch (failed) {
      asked = false;
      put(body, h("p", { class: "hint" }, longText(failed.message, 400)));
    }
  });
  rememberOpen(box, `${task.taskId}:pipelines`);
  return box;
}

function pipeline(one) {
  const promises = new Map(one.guarantees.map((promise) => [promise.sink, promise]));
  const several = one.stages.length > 1;
  return h(
    "section",
    { class: "pipeline", "aria-label": `Pipeline ${one.id}` },
    h("h4", {}, `Pipeline ${one.id}`, several && h("span", { class: "quiet" }, ` ${count(one.stages.length)} stages`)),
    one.driver === "streaming" && h("p", { class: "hint" }, `Streaming: ${clip(one.because, 300)}.`),
    one.stages.map((stage) => stageOf(stage, several, promises)),
    deadLetters(promises.get("dead_letter")),
  );
}

function stageOf(stage, several, promises) {
  return [
    several && h("h5", {}, `Stage ${stage.number}`),
    h("ol", { class: "stage" }, stage.nodes.map((node) => nodeOf(node, promises.get(node.id)))),
    stage.exchanges.map((exchange) => h("p", { class: "hint" }, `Exchange for ${clip(exchange.to, 140)}`)),
  ];
}

function nodeOf(node, promise) {
  const reads = node.reads.map((read) => (read.exchange ? `exchange of ${read.from}` : read.from)).join(", ");
  const note = promise ? promise.guarantee ?? "said by the connector" : node.reach ?? node.splits ?? "whole";
  return h(
    "li",
    { title: promise?.because ?? node.because ?? "" },
    h("strong", {}, clip(node.id, 70)),
    h("span", { class: "quiet" }, ` ${node.role} ${clip(node.kind, 60)}`),
    reads && ` ← ${clip(reads, 200)}`,
    h("span", { class: "tag" }, note),
  );
}

const deadLetters = (promise) => promise && h("p", { class: "hint" }, `Bad rows go to a sink of their own: ${promise.guarantee}.`);
