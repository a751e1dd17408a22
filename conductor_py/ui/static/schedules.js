// Schedules: GET /api/scheduler/schedules, what each started, and its pause, resume and run.

import { address, executionAddress, get, send } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { ask } from "./dialog.js";
import { announce, byId, h, icon, put } from "./dom.js";
import { clip, count, instant, longText, moment, shortId } from "./format.js";
import { pill } from "./looks.js";
import { jsonBlock } from "./payload.js";

const SHOWN = 500;
const RUNS = 20;
const COLUMNS = 7;
let schedules = [];

async function load() {
  try {
    schedules = (await get("/api/scheduler/schedules")) ?? [];
    clearFailure();
    draw();
  } catch (error) {
    showFailure(error);
    setTimeout(load, Math.max(error.retryAfterMs ?? 0, 4000));
  }
}

function draw() {
  const wanted = byId("filter").value.trim().toLowerCase();
  const found = schedules.filter((one) => String(one.name).toLowerCase().includes(wanted));
  const note = (text) => h("tr", {}, h("td", { colspan: COLUMNS, class: "quiet blank" }, text));
  put(byId("rows"), found.slice(0, SHOWN).map(row), found.length === 0 && note("No schedules."), found.length > SHOWN && note(`and ${count(found.length - SHOWN)} more: filter by name`));
}

function row(schedule) {
  const twist = h("button", { type: "button", class: "twist", "aria-expanded": "false", "aria-label": "Show what it started" }, icon("right"));
  const workflow = String(schedule.startWorkflowRequest?.name ?? "");
  const line = h(
    "tr",
    { class: "group" },
    h("td", {}, twist),
    h("td", { class: "name" }, h("strong", {}, clip(schedule.name, 120))),
    h("td", {}, h("a", { href: address(`/?workflow=${encodeURIComponent(workflow)}`) }, clip(workflow, 120))),
    h("td", {}, crons(schedule).map((text) => h("div", {}, h("code", {}, text)))),
    h("td", { class: "time" }, moment(instant(schedule.nextRunTime))),
    h("td", { class: "reason" }, state(schedule)),
    h("td", {}, h("div", { class: "buttons" }, buttons(schedule))),
  );
  let below = null;
  line.addEventListener("click", (event) => {
    if (event.target.closest("a, .buttons")) return;
    if (below) {
      below.remove();
      below = null;
    } else {
      const cell = h("td", { colspan: COLUMNS });
      below = h("tr", { class: "detail" }, cell);
      line.after(below);
      detail(cell, schedule);
    }
    twist.setAttribute("aria-expanded", String(below !== null));
  });
  return line;
}

function crons(schedule) {
  const listed = schedule.cronSchedules?.length ? schedule.cronSchedules : [schedule];
  return listed.map((one) => clip(`${one.cronExpression} ${one.zoneId ?? "UTC"}`, 160));
}

function state(schedule) {
  if (schedule.paused) return h("span", {}, pill("PAUSED"), " ", longText(schedule.pausedReason ?? "", 200));
  return schedule.nextRunTime ? "active" : h("span", { class: "quiet" }, "over");
}

function buttons(schedule) {
  const path = `/api/scheduler/schedules/${encodeURIComponent(schedule.name)}`;
  const button = (label, method, verb) => {
    const made = h("button", { type: "button" }, label);
    made.addEventListener("click", () => act(made, method, `${path}/${verb}`, `${label}: ${clip(schedule.name, 60)}`));
    return made;
  };
  const turn = schedule.paused ? button("Resume", "PUT", "resume") : button("Pause", "PUT", "pause");
  const backfill = h("button", { type: "button" }, "Backfill…");
  backfill.addEventListener("click", () => askToBackfill(schedule));
  return [button("Run", "POST", "run"), backfill, turn];
}

function askToBackfill(schedule) {
  ask({
    title: `Backfill ${clip(schedule.name, 80)}`,
    says: "Its workflow runs for the instants between two days that have passed.",
    fields: [
      { name: "from", label: "From", required: true, placeholder: "2026-03-01", hint: "A date, or a time such as 2026-03-01T02:00, by the clock of the schedule." },
      { name: "to", label: "To", placeholder: "2026-03-31", hint: "A date is meant whole. Empty: until now." },
      { name: "lanes", label: "How many side by side", type: "number", least: 1, value: "1" },
      { kind: "choice", name: "onFailure", label: "When a run fails", value: "STOP_LANE", options: [["STOP_LANE", "its lane stops, others go on"], ["CONTINUE", "everything goes on"], ["STOP_ALL", "everything ends"]] },
      { kind: "check", name: "newestFirst", label: "Begin with the last one" },
      { kind: "check", name: "dryRun", label: "Only show what would run", value: true },
    ],
    yes: "Go on",
    done: "Done",
    act: async ({ dryRun, to, lanes, ...values }) => {
      const body = { scheduleName: schedule.name, to: to || undefined, lanes: lanes ? Number(lanes) : undefined, ...values };
      const found = await send("POST", "/api/scheduler/backfills", { dryRun: dryRun ? "true" : "" }, body);
      return dryRun ? wouldRun(found) : h("p", {}, `${count(found.count)} runs are to come: `, h("a", { href: executionAddress(found.workflowId) }, shortId(String(found.workflowId))));
    },
  });
}

function wouldRun(found) {
  const lane = (times, index) => h("li", {}, `Lane ${index + 1}: ${count(times.length)} from `, moment(times[0]), " to ", moment(times[times.length - 1]));
  return h("div", {}, h("p", {}, `${count(found.count)} runs:`), h("ul", {}, found.lanes.map(lane)));
}

async function act(button, method, path, said) {
  button.disabled = true;
  try {
    await send(method, path);
    announce(said);
    await load();
  } catch (error) {
    showFailure(error);
  } finally {
    button.disabled = false;
  }
}

async function detail(cell, schedule) {
  const runs = h("div", { class: "card panel" }, h("p", { class: "quiet" }, "Loading …"));
  put(cell, h("div", { class: "split" }, runs, h("div", { class: "card panel" }, jsonBlock(schedule))));
  try {
    const found = await get("/api/scheduler/search/executions", { query: `scheduleName IN (${schedule.name})`, size: RUNS });
    put(runs, table(found?.results ?? []));
  } catch (error) {
    put(runs, h("p", { class: "quiet" }, error.message));
  }
}

function table(runs) {
  if (runs.length === 0) return h("p", { class: "quiet" }, "It has started nothing yet.");
  const heads = ["Planned for", "State", "Execution", "Reason"].map((text) => h("th", { scope: "col" }, text));
  const rows = runs.map((run) =>
    h(
      "tr",
      {},
      h("td", { class: "time" }, moment(instant(run.scheduledTime))),
      h("td", {}, clip(run.state, 20)),
      h("td", {}, run.workflowId ? h("a", { href: executionAddress(run.workflowId) }, shortId(String(run.workflowId))) : "–"),
      h("td", { class: "reason" }, longText(run.reason ?? "", 200)),
    ),
  );
  return h("table", { class: "list" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows));
}

byId("filter").addEventListener("input", draw);
load();
