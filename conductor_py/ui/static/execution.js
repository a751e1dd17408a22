// One execution: GET /api/workflow/{id} and its tasks, drawn as a graph, a table and timings.

import { Refresher, address, executionAddress, get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { announce, byId, copyButton, h, icon, put } from "./dom.js";
import { clip, count, instant, live, longText, moment, shortId, tick } from "./format.js";
import { graphOf } from "./graph_model.js";
import { GraphView } from "./graph_view.js";
import { isOpen, pill, statusLook } from "./looks.js";
import { Operations } from "./operations.js";
import { jsonBlock, payload } from "./payload.js";
import { tabs } from "./tabs.js";
import { TaskTable, factList } from "./task_table.js";
import { Timings } from "./timings.js";
import { WhyLine } from "./why.js";

const FIRST_TASKS = 1000;
const CLOSED_EVERY_MS = 15_000;
const EXECUTION_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const id = byId("execution").dataset.execution;
const path = `/api/workflow/${encodeURIComponent(id)}`;

const graphBox = h("section", { class: "card flush graph-card", "aria-label": "Graph" });
const tableBox = h("section", { class: "card flush", "aria-label": "Tasks" });
const bounded = h("div");
const tasksPanel = h("div", {}, bounded, h("div", { class: "split" }, graphBox, tableBox));
const timingsPanel = h("div", { class: "card flush" });
const dataPanel = h("div", {});
const definitionPanel = h("div", { class: "card panel" });

const operations = new Operations(() => refresher.now());
const graph = new GraphView(graphBox, choose);
const table = new TaskTable(tableBox, () => choose(null), operations);
const timings = new Timings(timingsPanel);
const whyLine = new WhyLine(id, operations, () => refresher.now());

let limit = FIRST_TASKS;
let seen = "";
let last = null;
let definitionShown = null;

function choose(ref) {
  graph.choose(ref);
  table.choose(ref);
  if (ref !== null) {
    table.reveal();
    announce(`Showing the tasks of ${clip(ref, 100)}`);
    if (!window.matchMedia("(min-width: 80rem)").matches) tableBox.scrollIntoView({ block: "nearest" });
  }
}

async function load() {
  try {
    const execution = await get(path, { includeTasks: "false" });
    const signature = JSON.stringify([execution.status, execution.updateTime, execution.endTime, execution.lastRetriedTime, execution.variables, limit]);
    const closed = !isOpen(execution.status);
    if (!closed || signature !== seen) {
      const found = await get(`${path}/tasks`, { start: 0, count: limit });
      draw(execution, found?.results ?? [], found?.totalHits ?? 0);
      seen = signature;
    }
    clearFailure();
    whyLine.update(execution);
    return closed ? CLOSED_EVERY_MS : 0;
  } catch (error) {
    showFailure(error);
    byId("head").setAttribute("aria-busy", "false");
    return Math.max(error.retryAfterMs ?? 0, 4000);
  }
}

function draw(execution, tasks, total) {
  if (last && last.status !== execution.status) announce(`The execution is now ${statusLook(execution.status).text}`);
  const { items, byRef } = graphOf(execution.workflowDefinition, tasks);
  drawHead(execution, tasks, operations.update(execution, tasks, byRef));
  graph.draw(items, execution.status);
  table.update(tasks, total, byRef);
  timings.update(execution, tasks);
  drawData(execution);
  drawBound(tasks.length, total);
  if (definitionShown === null) {
    definitionShown = execution.workflowDefinition;
    if (!definitionPanel.hidden) drawDefinition();
  }
  last = execution;
}

function drawBound(shown, total) {
  if (shown >= total) {
    put(bounded);
    return;
  }
  const more = h("button", { type: "button" }, `Load ${count(Math.min(total, limit * 4) - shown)} more`);
  more.addEventListener("click", () => {
    limit *= 4;
    refresher.now();
  });
  put(bounded, h("p", { class: "banner warm" }, `The first ${count(shown)} of ${count(total)} tasks are shown. `, more));
}

// -------------------------------------------------------------------------------------- head

function drawHead(execution, tasks, buttons) {
  const head = byId("head");
  head.setAttribute("aria-busy", "false");
  const name = String(execution.workflowName ?? "");
  document.title = `${clip(name, 60)} · ${statusLook(execution.status).text} · Conductor`;
  const start = instant(execution.startTime ?? execution.createTime);
  const end = instant(execution.endTime);
  const children = tasks.filter((task) => task.subWorkflowId);
  const rescue = String(execution.output?.["conductor.failure_workflow"] ?? "");
  const facts = [
    ["Id", [h("code", {}, id.slice(0, 64)), copyButton(id, "the execution's id")], "wide"],
    ["Started", moment(start)],
    ["Ended", moment(end)],
    ["Duration", live(start, isOpen(execution.status) ? 0 : end || start)],
    ["Updated", moment(instant(execution.updateTime))],
    ["Correlation id", execution.correlationId && [longText(execution.correlationId, 80), " ", correlated(execution.correlationId)]],
    ["Idempotency key", execution.idempotencyKey && longText(execution.idempotencyKey, 80)],
    ["Priority", execution.priority ? count(execution.priority) : null],
    ["Business time", instant(execution.businessTime) ? [moment(instant(execution.businessTime)), execution.zoneId ? ` ${clip(execution.zoneId, 64)}` : ""] : null],
    ["Retried", instant(execution.lastRetriedTime) ? moment(instant(execution.lastRetriedTime)) : null],
    ["Created by", execution.createdBy && longText(execution.createdBy, 80)],
    ["Event", execution.event && longText(execution.event, 80)],
    ["Parent", execution.parentWorkflowId && h("a", { href: executionAddress(execution.parentWorkflowId), title: clip(execution.parentWorkflowId, 100) }, shortId(String(execution.parentWorkflowId)))],
    ["Failure workflow", rescue && (EXECUTION_ID.test(rescue) ? h("a", { href: executionAddress(rescue), title: rescue }, shortId(rescue)) : longText(rescue, 200)), EXECUTION_ID.test(rescue) ? "" : "wide"],
    ["Rate limit key", execution.rateLimitKey && longText(execution.rateLimitKey, 80)],
    ["Failed tasks", (execution.failedReferenceTaskNames ?? []).length > 0 && longText(execution.failedReferenceTaskNames.slice(0, 200).join(", "), 200), "wide"],
    ["Sub-workflows", children.length > 0 && childLinks(children), "wide"],
  ];
  const signature = JSON.stringify([execution.status, execution.updateTime, start, end, children.map((task) => task.subWorkflowId), execution.reasonForIncompletion, execution.failedReferenceTaskNames, execution.rateLimited]);
  if (head.dataset.signature === signature) return;
  head.dataset.signature = signature;
  const list = factList(facts);
  facts.filter(([, value]) => value).forEach(([, , wide], index) => wide && list.children[index].classList.add(wide));
  const focused = buttons.contains(document.activeElement) ? document.activeElement : null;
  put(
    head,
    h(
      "div",
      { class: "head-line" },
      h("h1", {}, longText(name, 120), h("span", { class: "quiet" }, ` v${clip(execution.workflowVersion ?? "?", 12)}`)),
      pill(execution.status),
      execution.rateLimited && h("span", { class: "pill tone-wait", title: "The limit of its definition is reached" }, icon("clock"), "Waits for its turn"),
      h("div", { class: "buttons" }, h("a", { class: "button", href: address(path) }, icon("braces"), "JSON"), buttons),
    ),
    execution.reasonForIncompletion && h("p", { class: `why tone-${statusLook(execution.status).tone}` }, longText(execution.reasonForIncompletion, 600)),
    list,
  );
  focused?.focus();
}

function correlated(correlationId) {
  const query = `correlationId = ${JSON.stringify(String(correlationId))}`;
  return h("a", { href: address(`/?q=${encodeURIComponent(query)}`) }, "all that share it");
}

function childLinks(children) {
  const shown = children.slice(-10);
  const links = shown.flatMap((task, index) => [
    index > 0 && " · ",
    h("a", { href: executionAddress(String(task.subWorkflowId)), title: clip(task.subWorkflowId, 100) }, clip(task.referenceTaskName, 40)),
  ]);
  const hidden = children.length - shown.length;
  return [hidden > 0 && h("span", { class: "quiet" }, `${count(hidden)} earlier · `), links];
}

function drawData(execution) {
  const signature = JSON.stringify([execution.updateTime, execution.status, execution.variables]);
  if (dataPanel.dataset.signature === signature) return;
  dataPanel.dataset.signature = signature;
  put(
    dataPanel,
    payload("Input", execution.input, { path: execution.externalInputPayloadStoragePath, key: "input", open: !last }),
    payload("Output", execution.output, { path: execution.externalOutputPayloadStoragePath, key: "output", open: !last }),
    payload("Variables", execution.variables, { key: "variables" }),
    Object.keys(execution.taskToDomain ?? {}).length > 0 && payload("Task domains", execution.taskToDomain, { key: "domains" }),
  );
}

function drawDefinition() {
  if (definitionShown && !definitionPanel.firstChild) put(definitionPanel, jsonBlock(definitionShown));
}

const refresher = new Refresher(load);
tabs(
  byId("tabs"),
  [
    { id: "tasks", label: "Tasks", panel: tasksPanel },
    { id: "timings", label: "Timings", panel: timingsPanel },
    { id: "data", label: "Input and output", panel: dataPanel },
    { id: "definition", label: "Definition", panel: definitionPanel },
  ],
  (shown) => {
    if (shown === "tasks") graph.shown();
    if (shown === "timings") timings.draw();
    if (shown === "definition") drawDefinition();
  },
);
setInterval(tick, 500);
refresher.now();
