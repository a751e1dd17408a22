// Definitions: GET /api/metadata/workflow and /api/metadata/taskdefs.

import { address, get, send } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { byId, h, icon, put } from "./dom.js";
import { clip, count, duration, instant, longText, moment } from "./format.js";
import { graphOf } from "./graph_model.js";
import { GraphView } from "./graph_view.js";
import { openingRow } from "./opening_row.js";
import { askToStart } from "./operations.js";
import { jsonBlock } from "./payload.js";
import { tabs } from "./tabs.js";

const SHOWN = 500;
const workflowRows = h("tbody");
const taskRows = h("tbody");
let workflows = [];
let tasks = [];

async function load() {
  try {
    [workflows, tasks] = await Promise.all([get("/api/metadata/workflow"), get("/api/metadata/taskdefs")]);
    workflows = newestFirst(workflows ?? []);
    tasks = (tasks ?? []).sort((a, b) => compare(a.name, b.name));
    clearFailure();
    draw();
  } catch (error) {
    showFailure(error);
    setTimeout(load, Math.max(error.retryAfterMs ?? 0, 4000));
  }
}

const compare = (a, b) => String(a).localeCompare(String(b));
const newestFirst = (list) => list.sort((a, b) => compare(a.name, b.name) || Number(b.version) - Number(a.version));

/** The versions of each name together, newest first. */
function byName(list) {
  const groups = new Map();
  for (const one of list) {
    if (!groups.has(one.name)) groups.set(one.name, []);
    groups.get(one.name).push(one);
  }
  return [...groups.values()];
}

function draw() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const matching = (list) => list.filter((one) => String(one.name).toLowerCase().includes(wanted));
  fill(workflowRows, byName(matching(workflows)), workflowRow, 6, "No workflow definitions.");
  fill(taskRows, matching(tasks), taskRow, 6, "No task definitions.");
}

function fill(body, list, row, columns, nothing) {
  const note = (text) => h("tr", {}, h("td", { colspan: columns, class: "quiet blank" }, text));
  put(body, list.slice(0, SHOWN).map(row), list.length === 0 && note(nothing), list.length > SHOWN && note(`and ${count(list.length - SHOWN)} more: filter by name`));
}

function workflowRow(versions) {
  const [definition] = versions;
  const runs = address(`/?workflow=${encodeURIComponent(definition.name)}`);
  const cells = [
    h("td", { class: "name" }, h("strong", {}, clip(definition.name, 120)), versions.length > 1 && h("span", { class: "quiet" }, ` ${count(versions.length)} versions`)),
    h("td", { class: "num" }, clip(definition.version, 12)),
    h("td", { class: "num" }, count((definition.tasks ?? []).length)),
    h("td", { class: "reason" }, longText(definition.description ?? "", 200)),
    h("td", {}, h("div", { class: "buttons" }, h("a", { class: "button", href: runs }, "Executions"), startButton(() => definition))),
  ];
  return openingRow("Show the definition", cells, 6, (cell) => workflowDetail(cell, versions));
}

function startButton(definition) {
  const button = h("button", { type: "button" }, icon("play"), "Start…");
  button.addEventListener("click", () => askToStart(definition()));
  return button;
}

/** The chosen version of a workflow: its graph and its text, its tags, and a start. */
function workflowDetail(cell, versions) {
  let shown = versions[0];
  const choice = h("select", { "aria-label": "Version" }, versions.map((one, index) => h("option", { value: index }, `Version ${one.version}${index === 0 ? ", the latest" : ""}`)));
  const body = h("div", { class: "split" });
  const show = () => {
    shown = versions[Number(choice.value)];
    const box = h("div", { class: "card flush graph-card" });
    put(body, box, h("div", { class: "card panel" }, warnings(shown), jsonBlock(shown)));
    new GraphView(box, () => {}).draw(graphOf(shown, []).items, "");
  };
  choice.addEventListener("change", show);
  put(cell, h("div", { class: "bar" }, choice, startButton(() => shown), tags("workflow", shown.name)), body);
  show();
}

/** What is taken of a definition although it is hardly meant, as it comes. */
function warnings(definition) {
  const box = h("ul", { class: "warnings" });
  send("POST", "/api/metadata/workflow/validate", {}, definition)
    .then((found) => put(box, (found?.warnings ?? []).map((one) => h("li", {}, icon("checkWarn"), clip(`${one.path} ${one.message}`, 400)))))
    .catch((error) => put(box, h("li", { class: "quiet" }, clip(error.message, 200))));
  return box;
}

/** The tags of a definition, as they come. */
function tags(kind, name) {
  const box = h("span", { class: "tags" });
  get(`/api/metadata/${kind}/${encodeURIComponent(name)}/tags`)
    .then((found) => put(box, (found ?? []).map((tag) => h("span", { class: "tag", title: clip(`${tag.key}: ${tag.value}`, 400) }, clip(`${tag.key}: ${tag.value}`, 80)))))
    .catch((error) => put(box, h("span", { class: "quiet" }, clip(error.message, 200))));
  return box;
}

function taskRow(definition) {
  const timeout = definition.timeoutSeconds ? `${duration(definition.timeoutSeconds * 1000)}, ${definition.timeoutPolicy ?? ""}` : "none";
  const cells = [
    h("td", { class: "name" }, h("strong", {}, clip(definition.name, 120))),
    h("td", {}, `${definition.retryCount ?? 0} × ${clip(definition.retryLogic ?? "", 30)}`),
    h("td", {}, clip(timeout, 60)),
    h("td", { class: "time" }, moment(instant(definition.updateTime) || instant(definition.createTime))),
    h("td", { class: "reason" }, longText(definition.description ?? "", 200)),
  ];
  return openingRow("Show the definition", cells, 6, (cell) => put(cell, h("div", { class: "bar" }, tags("task", definition.name)), jsonBlock(definition)));
}

function list(label, heads, body) {
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen" }, "Details")), heads.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)));
  return h("div", { class: "card flush" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "tasks" }, h("thead", {}, head), body)));
}

tabs(byId("tabs"), [
  { id: "workflows", label: "Workflows", panel: list("Workflow definitions", [["Name"], ["Version", "num"], ["Tasks", "num"], ["Description"], [""]], workflowRows) },
  { id: "tasks", label: "Tasks", panel: list("Task definitions", [["Name"], ["Retries"], ["Timeout"], ["Changed"], ["Description"]], taskRows) },
]);
byId("filter").value = new URLSearchParams(location.search).get("name") ?? "";
byId("filter").addEventListener("input", draw);
load();
