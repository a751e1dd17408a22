// The tasks of an execution: one row a reference and iteration, its attempts and payloads inside.

import { CallFailed, executionAddress, get } from "./api.js";
import { checkpointsOf } from "./checkpoint_view.js";
import { copyButton, h, icon, put } from "./dom.js";
import { clip, count, duration, instant, live, longText, moment, nowMs, shortId } from "./format.js";
import { isFailed, isOpen, pill, statusLook, typeLook } from "./looks.js";
import { payload, rememberOpen } from "./payload.js";
import { pipelineProgress } from "./pipeline_progress.js";
import { pipelineCut } from "./pipeline_view.js";
import { factsOf } from "./task_facts.js";

const PAGE = 200;
const LOG_LINES = 500;
const COLUMNS = 8;

/** The table, with its filters. `onClear()` is called when the choice of a node is taken back. */
export class TaskTable {
  #body = h("tbody");
  #bar = h("div", { class: "bar" });
  #more = h("div", { class: "pager", hidden: true });
  #counted = h("span", { class: "quiet" });
  #chosen = h("span");
  #text = h("input", { type: "search", placeholder: "Filter tasks", "aria-label": "Filter tasks by reference, type or worker", spellcheck: "false" });
  #which = h("select", { "aria-label": "Which tasks" }, [["all", "All tasks"], ["open", "Open"], ["failed", "Not successful"]].map(([value, label]) => h("option", { value }, label)));
  #onClear;
  #operations;
  #groups = [];
  #rows = new Map();
  #open = new Set();
  #ref = null;
  #members = new Set();
  #limit = PAGE;
  #total = 0;
  #empty = null;

  constructor(box, onClear, operations) {
    this.#onClear = onClear;
    this.#operations = operations;
    const head = ["", "Task", "Status", ["Tries", "num"], ["Iteration", "num"], ["Worker", "worker"], ["Queue wait", "num"], ["Duration", "num"]];
    put(this.#bar, this.#text, this.#which, this.#chosen, this.#counted);
    put(
      box,
      this.#bar,
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Tasks" },
        h("table", { class: "tasks" }, h("thead", {}, h("tr", {}, head.map((one) => (Array.isArray(one) ? h("th", { scope: "col", class: one[1] }, one[0]) : h("th", { scope: "col" }, one || h("span", { class: "unseen" }, "Details")))))), this.#body),
      ),
      this.#more,
    );
    const again = () => {
      this.#limit = PAGE;
      this.#draw();
    };
    this.#text.addEventListener("input", again);
    this.#which.addEventListener("change", again);
  }

  /** Show `tasks`, of `total`; `byRef` says which belong to a reference of the definition. */
  update(tasks, total, byRef) {
    const groups = new Map();
    for (const task of tasks) {
      const key = String(task.referenceTaskName ?? "");
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(task);
    }
    this.#groups = [...groups].map(([key, attempts]) => ({ key, attempts, latest: attempts.at(-1) }));
    this.#total = total;
    this.byRef = byRef;
    this.choose(this.#ref);
  }

  /** Show only the tasks of one reference of the definition; null: all. */
  choose(ref) {
    this.#ref = ref;
    this.#members = new Set((this.byRef?.get(ref) ?? []).map((task) => String(task.referenceTaskName ?? "")));
    if (ref === null) put(this.#chosen);
    else {
      const clear = h("button", { type: "button", class: "chip", "aria-label": "Show all tasks" }, clip(ref, 40), icon("cross"));
      clear.addEventListener("click", () => this.#onClear());
      put(this.#chosen, clear);
    }
    this.#draw();
  }

  /** Open the newest task of the chosen reference. */
  reveal() {
    const shown = this.#visible();
    if (shown.length && !shown.some((group) => this.#open.has(group.key))) {
      this.#open.add(shown.at(-1).key);
      this.#draw();
    }
  }

  #visible() {
    const wanted = this.#text.value.trim().toLowerCase();
    const which = this.#which.value;
    return this.#groups.filter(({ key, latest }) => {
      if (this.#ref !== null && !this.#members.has(key)) return false;
      if (which === "open" && !isOpen(latest.status)) return false;
      if (which === "failed" && !isFailed(latest.status)) return false;
      return !wanted || [key, latest.taskType, latest.taskDefName, latest.workerId].some((text) => String(text ?? "").toLowerCase().includes(wanted));
    });
  }

  #draw() {
    const visible = this.#visible();
    const shown = visible.slice(0, this.#limit);
    const wanted = [];
    for (const group of shown) wanted.push(...this.#rowsOf(group));
    if (wanted.length === 0) wanted.push(this.#nothing());
    // Rows that stay are not moved: their focus, selections and scroll positions live on.
    wanted.forEach((row, index) => {
      if (this.#body.children[index] !== row) this.#body.insertBefore(row, this.#body.children[index] ?? null);
    });
    while (this.#body.children.length > wanted.length) this.#body.lastChild.remove();
    this.#counted.textContent = `${count(visible.length)} ${visible.length === 1 ? "task" : "tasks"}`;
    this.#more.hidden = visible.length <= shown.length;
    if (!this.#more.hidden) {
      const more = h("button", { type: "button" }, `Show ${count(Math.min(PAGE, visible.length - shown.length))} more`);
      more.addEventListener("click", () => {
        this.#limit += PAGE;
        this.#draw();
      });
      put(this.#more, more);
    }
  }

  #nothing() {
    const verbs = this.#ref === null || this.#members.size ? [] : this.#operations.ofUnreached(this.#ref);
    const text = this.#ref !== null && this.#members.size === 0 ? `${clip(this.#ref, 100)} has not been reached.` : this.#groups.length ? "No task matches." : "No tasks yet.";
    const signature = JSON.stringify([text, verbs.length]);
    if (this.#empty?.dataset.signature !== signature) {
      this.#empty = h("tr", { data: { signature } }, h("td", { colspan: COLUMNS, class: "blank quiet" }, h("p", {}, text), verbs.length > 0 && h("div", { class: "buttons centred" }, verbs)));
    }
    return this.#empty;
  }

  #rowsOf(group) {
    const open = this.#open.has(group.key);
    const signature = JSON.stringify([open, this.#operations.standing, group.attempts.map(essence)]);
    const kept = this.#rows.get(group.key);
    if (kept?.signature === signature) return kept.rows;
    const focused = kept?.rows[0].contains(document.activeElement);
    const rows = [this.#row(group, open)];
    if (open) rows.push(detail(group, this.#operations));
    if (kept) kept.rows.forEach((row) => row.remove());
    this.#rows.set(group.key, { signature, rows });
    if (focused) requestAnimationFrame(() => rows[0].querySelector(".twist").focus());
    return rows;
  }

  #row({ key, attempts, latest }, open) {
    const type = typeLook(latest.workflowTask?.type ?? latest.taskType);
    const twist = h("button", { type: "button", class: "twist", "aria-expanded": String(open), "aria-label": `Details of ${clip(key, 100)}` }, icon("right"));
    const toggle = (event) => {
      if (event.target.closest("a, .copy")) return;
      if (window.getSelection()?.toString()) return;
      if (!this.#open.delete(key)) this.#open.add(key);
      this.#draw();
    };
    return h(
      "tr",
      { class: open ? "group open" : "group", on: { click: toggle } },
      h("td", {}, twist),
      h(
        "td",
        { class: "task-name", title: clip(key, 1000) },
        h("strong", {}, clip(key, 90)),
        h("span", { class: "quiet" }, icon(type.icon), type.text, definitionOf(latest, key)),
      ),
      h("td", {}, pill(latest.status), latest.stale && [" ", h("span", { class: "tag", title: "Something before it has run again since." }, "stale")]),
      h("td", { class: "num" }, count(attempts.length)),
      h("td", { class: "num" }, latest.iteration ? count(latest.iteration) : h("span", { class: "quiet" }, "–")),
      h("td", { class: "worker", title: clip(latest.workerId, 500) }, clip(latest.workerId, 40) || h("span", { class: "quiet" }, "–")),
      h("td", { class: "num" }, queueWait(latest)),
      h("td", { class: "num" }, live(instant(latest.startTime), isOpen(latest.status) ? 0 : instant(latest.endTime) || instant(latest.startTime))),
    );
  }
}

/** The definition of a worker's task, where its reference does not say it already. */
function definitionOf(task, key) {
  const type = task.workflowTask?.type ?? task.taskType;
  const name = String(task.taskDefName ?? "");
  const named = ["SIMPLE", "USER_DEFINED", "DYNAMIC", "HTTP"].includes(type);
  return named && ![key, type, ""].includes(name) ? ` · ${clip(name, 60)}` : "";
}

const essence = (task) => [task.taskId, task.status, task.startTime, task.endTime, task.updateTime, task.pollCount, task.workerId, task.subWorkflowId, task.retried, task.stale, task.progress, task.outputData?.iteration, task.callbackAfterSeconds];

function queueWait(task) {
  if (task.startTime) return duration(Number(task.queueWaitTime ?? 0));
  return isOpen(task.status) ? live(instant(task.scheduledTime), 0) : h("span", { class: "quiet" }, "–");
}

function detail({ attempts }, operations) {
  const newestFirst = [...attempts].reverse();
  const shown = newestFirst.slice(0, 20);
  const rest = newestFirst.length - shown.length;
  return h(
    "tr",
    { class: "detail" },
    h("td", { colspan: COLUMNS }, shown.map((task) => attempt(task, attempts.indexOf(task) + 1, attempts.length, operations)), rest > 0 && h("p", { class: "hint" }, `and ${count(rest)} earlier attempts`)),
  );
}

function attempt(task, number, of, operations) {
  const id = String(task.taskId ?? "");
  const facts = [
    ["Task id", [h("code", { title: id }, clip(id, 60)), copyButton(id, "the task's id")]],
    ["Scheduled", moment(instant(task.scheduledTime))],
    ["Started", moment(instant(task.startTime))],
    ["Ended", moment(instant(task.endTime))],
    ["Worker", task.workerId && longText(task.workerId, 100)],
    ["Polls", task.pollCount ? count(task.pollCount) : null],
    ["Domain", task.domain && clip(task.domain, 100)],
    ["Retry", task.retryCount ? count(task.retryCount) : null],
    ["Offered again", isOpen(task.status) && task.callbackAfterSeconds > 0 && task.taskType !== "WAIT" ? `after ${duration(task.callbackAfterSeconds * 1000)}` : null],
    ["Lease until", task.leaseUntil && isOpen(task.status) ? moment(instant(task.leaseUntil)) : null],
    ...factsOf(task).map((fact) => [fact.label, said(fact)]),
    ["Sub-workflow", task.subWorkflowId && h("a", { href: executionAddress(String(task.subWorkflowId)) }, shortId(String(task.subWorkflowId)))],
  ];
  return h(
    "section",
    { class: `attempt tone-${statusLook(task.status).tone}` },
    h("div", { class: "attempt-head" }, of > 1 && h("h3", {}, `Attempt ${number} of ${of}`), pill(task.status), task.retried && h("span", { class: "tag" }, "superseded"), h("span", { class: "quiet" }, live(instant(task.startTime), isOpen(task.status) ? 0 : instant(task.endTime) || instant(task.startTime)))),
    // A retry carries the reason of the attempt before it; what is complete has one if it left something out.
    task.reasonForIncompletion && h("p", { class: task.status === "COMPLETED" ? "quiet" : "why" }, longText(task.reasonForIncompletion)),
    progressOf(task),
    factList(facts),
    buttonsOf(operations.ofTask(task, number === of)),
    pipelineCut(task),
    checkpointsOf(task),
    payload("Input", task.inputData, { path: task.externalInputPayloadStoragePath, key: `${id}:input` }),
    payload("Output", task.outputData, { path: task.externalOutputPayloadStoragePath, key: `${id}:output` }),
    logs(id),
  );
}

const buttonsOf = (list) => list.length > 0 && h("div", { class: "buttons" }, list);

function said(fact) {
  if (fact.execution) return h("a", { href: executionAddress(fact.execution) }, shortId(fact.execution));
  return fact.code === undefined ? longText(fact.text, 200) : h("code", { class: "wrap" }, longText(fact.code, 300));
}

/** A list of facts; those without a value are left out. */
export function factList(facts) {
  return h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))));
}

function progressOf(task) {
  const pipelines = pipelineProgress(task);
  if (pipelines) return [pipelines, task.progress && payload("Progress", task.progress, { key: `${task.taskId}:progress` })];
  const fraction = fractionOf(task.progress ?? task.outputData?.progress);
  if (fraction === null) return task.progress ? payload("Progress", task.progress, { key: `${task.taskId}:progress` }) : null;
  const percent = `${Math.round(fraction * 100)} %`;
  const bar = h("progress", { max: 1, "aria-label": "Progress" });
  bar.value = fraction;
  const message = [task.progress?.message, task.progress?.state].find((one) => typeof one === "string");
  const line = h("div", { class: "progress" }, bar, h("span", {}, percent), message && h("span", { class: "quiet" }, clip(message, 200)));
  return [line, task.progress && payload("Progress", task.progress, { key: `${task.taskId}:progress` })];
}

/** A share between 0 and 1 of what a worker said about its progress, or null. */
function fractionOf(said) {
  if (typeof said === "number") return said >= 0 && said <= 1 ? said : said <= 100 && said > 1 ? said / 100 : null;
  if (!said || typeof said !== "object") return null;
  if (typeof said.fraction === "number") return fractionOf(said.fraction);
  if (typeof said.percent === "number") return Math.min(1, Math.max(0, said.percent / 100));
  // Spark tasks say how many of a job's tasks are done.
  const counted = said.tasks && typeof said.tasks === "object" ? said.tasks : said;
  const done = counted.done ?? counted.completed;
  return typeof done === "number" && counted.total > 0 ? Math.min(1, Math.max(0, done / counted.total)) : null;
}

function logs(id) {
  const box = h("details", { class: "payload" }, h("summary", {}, h("span", { class: "payload-name" }, "Logs")));
  const inner = h("div", { class: "logs", tabindex: 0, "aria-label": "Log lines" });
  box.appendChild(inner);
  const load = async () => {
    put(inner, "…");
    try {
      const lines = (await get(`/api/tasks/${encodeURIComponent(id)}/log`)) ?? [];
      const shown = lines.slice(-LOG_LINES);
      put(inner, lines.length > shown.length && h("div", { class: "quiet" }, `${count(lines.length - shown.length)} earlier lines`), shown.length ? shown.map(logLine) : "No log lines.");
    } catch (error) {
      put(inner, error instanceof CallFailed ? error.message : "The log cannot be shown.");
    }
  };
  box.addEventListener("toggle", () => box.open && load());
  rememberOpen(box, `${id}:logs`);
  return box;
}

function logLine(line) {
  const given = instant(line.createdTime);
  // Some workers give seconds.
  const at = given && given < 1e11 ? given * 1000 : Math.min(given, nowMs() + 1e11);
  return h("div", {}, moment(at), h("span", {}, longText(line.log, 2000)));
}
