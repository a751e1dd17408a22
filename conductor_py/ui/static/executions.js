// The list of executions: GET /api/workflow/search, with the filters kept in the page's address.

import { CallFailed, Refresher, address, executionAddress, get } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { announce, byId, copyButton, h, icon, put } from "./dom.js";
import { clip, count, instant, live, moment, shortId, tick } from "./format.js";
import { WORKFLOW_STATUSES, isOpen, pill, statusLook } from "./looks.js";

const SIZES = [25, 50, 100, 250];
const SORTS = { workflowType: "Workflow", startTime: "Started", endTime: "Ended", status: "Status" };
// A wrong query stays wrong until it is changed.
const WRONG_FOR_MS = 3_600_000;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
// What begins like this is a query; anything else is words.
const QUERY = /^\s*\(*\s*[A-Za-z_][\w.]*\s*(=|!=|<|>|(NOT\s+)?IN\b|BETWEEN\b|IS\b|STARTS_WITH\b)/i;

const state = fromAddress();
let shown = "";
let searched = 0;

function fromAddress() {
  const given = new URLSearchParams(location.search);
  const size = Number(given.get("size"));
  const [field, order] = (given.get("sort") ?? "").split(":");
  return {
    text: given.get("q") ?? "",
    name: given.get("workflow") ?? "",
    since: given.get("since") ?? "",
    statuses: new Set((given.get("status") ?? "").split(",").filter((one) => WORKFLOW_STATUSES.includes(one))),
    top: given.get("top") === "1",
    start: Math.max(0, Math.trunc(Number(given.get("start"))) || 0),
    size: SIZES.includes(size) ? size : SIZES[0],
    field: Object.hasOwn(SORTS, field) ? field : "startTime",
    order: order === "ASC" ? "ASC" : "DESC",
  };
}

function toAddress() {
  const kept = {
    q: state.text,
    workflow: state.name,
    since: state.since,
    status: [...state.statuses].join(","),
    top: state.top ? "1" : "",
    start: state.start || "",
    size: state.size === SIZES[0] ? "" : state.size,
    sort: state.field === "startTime" && state.order === "DESC" ? "" : `${state.field}:${state.order}`,
  };
  const query = new URLSearchParams(Object.entries(kept).filter(([, value]) => value !== "")).toString();
  history.replaceState(null, "", query ? `?${query}` : location.pathname);
}

/** Quote a value of a query; a star in it stands for anything. */
function quoted(value) {
  const escaped = value.replaceAll("\\", "\\\\");
  if (!value.includes('"')) return `"${escaped}"`;
  if (!value.includes("'")) return `'${escaped}'`;
  throw new CallFailed(400, "A name with quotes of both kinds cannot be searched for.");
}

function parameters() {
  const terms = [];
  const text = state.text.trim();
  const isQuery = QUERY.test(text);
  if (isQuery) terms.push(`(${text})`);
  if (ID.test(text)) terms.push(`workflowId = "${text}"`);
  if (state.name.trim()) terms.push(`workflowType = ${quoted(state.name.trim())}`);
  if (state.statuses.size) terms.push(`status IN (${[...state.statuses].join(",")})`);
  if (state.since) terms.push(`startTime > ${Math.trunc(Date.now() - Number(state.since))}`);
  return {
    query: terms.join(" AND "),
    freeText: isQuery || ID.test(text) ? "" : text,
    topLevelOnly: state.top ? "true" : "",
    sort: `${state.field}:${state.order}`,
    start: state.start,
    size: state.size,
  };
}

async function load() {
  const number = ++searched;
  try {
    const found = await get("/api/workflow/search", parameters());
    if (number !== searched) return 0;
    clearFailure();
    wrong("");
    draw(found ?? { totalHits: 0, results: [] });
    return 0;
  } catch (error) {
    if (number !== searched) return 0;
    byId("table").setAttribute("aria-busy", "false");
    if (error.status === 400) {
      wrong(error.message);
      return WRONG_FOR_MS;
    }
    showFailure(error);
    return Math.max(error.retryAfterMs ?? 0, 4000);
  }
}

function wrong(message) {
  byId("search-error").hidden = !message;
  byId("search-error").textContent = clip(message, 600);
}

function draw(found) {
  byId("table").setAttribute("aria-busy", "false");
  // An answer like the last one leaves the page alone: selections and focus stay.
  const signature = JSON.stringify([found, state.start, state.size]);
  if (signature === shown) return;
  shown = signature;
  if (found.results.length === 0 && state.start > 0 && found.totalHits > 0) {
    state.start = Math.floor((found.totalHits - 1) / state.size) * state.size;
    change();
    return;
  }
  const focused = document.activeElement?.closest("tr")?.dataset.execution;
  put(byId("rows"), found.results.map(row));
  if (focused) byId("rows").querySelector(`[data-execution="${CSS.escape(focused)}"] a`)?.focus();
  byId("empty").hidden = found.results.length > 0;
  if (found.results.length === 0) put(byId("empty"), isFiltered() ? nothingFound() : nothingYet());
  byId("table").hidden = found.results.length === 0;
  pager(found);
}

const isFiltered = () =>
  Boolean(state.text || state.name || state.since || state.statuses.size || state.top);

function row(found) {
  const id = String(found.workflowId ?? "");
  const start = instant(found.startTime);
  const end = instant(found.endTime);
  return h(
    "tr",
    { data: { execution: id } },
    h("td", {}, pill(found.status)),
    h(
      "td",
      { class: "name" },
      h("a", { href: executionAddress(id), title: clip(found.workflowType, 500) }, clip(found.workflowType || "(no name)", 80)),
      h("span", { class: "quiet" }, ` v${clip(found.version ?? "?", 12)}`),
    ),
    h("td", { class: "id" }, h("a", { href: executionAddress(id), title: id }, h("code", {}, shortId(id))), copyButton(id, "the execution's id")),
    h("td", { class: "time" }, moment(start)),
    h("td", { class: "num" }, isOpen(found.status) ? live(start, 0) : live(start, end || start + Number(found.executionTime ?? 0))),
    h("td", { class: "time ended" }, moment(end)),
    h("td", { class: "correlation", title: clip(found.correlationId, 500) }, clip(found.correlationId, 48)),
    h("td", { class: "reason", title: clip(found.reasonForIncompletion, 1000) }, h("div", { class: "clamp" }, clip(found.reasonForIncompletion, 200))),
  );
}

function heads() {
  const sortable = (field, kind) => {
    const active = state.field === field;
    const arrow = active ? (state.order === "ASC" ? " ↑" : " ↓") : "";
    const button = h("button", { type: "button", class: "sort", on: { click: () => sortBy(field) } }, SORTS[field] + arrow);
    return h("th", { scope: "col", class: kind, "aria-sort": active ? (state.order === "ASC" ? "ascending" : "descending") : null }, button);
  };
  const plain = (label, kind) => h("th", { scope: "col", class: kind }, label);
  put(
    byId("heads"),
    sortable("status"),
    sortable("workflowType"),
    plain("Id"),
    sortable("startTime"),
    plain("Duration", "num"),
    sortable("endTime", "ended"),
    plain("Correlation id"),
    plain("Reason"),
  );
}

function sortBy(field) {
  state.order = state.field === field && state.order === "DESC" ? "ASC" : "DESC";
  state.field = field;
  state.start = 0;
  heads();
  change();
}

function pager(found) {
  const total = found.totalHits;
  const last = state.start + found.results.length;
  byId("pager").hidden = total === 0;
  const go = (start) => () => {
    state.start = Math.max(0, start);
    change();
    byId("content").scrollIntoView();
  };
  const sizes = h("select", { "aria-label": "Rows of a page" }, SIZES.map((size) => h("option", { value: size, selected: size === state.size }, `${size} rows`)));
  sizes.addEventListener("change", () => {
    state.size = Number(sizes.value);
    state.start = 0;
    change();
  });
  put(
    byId("pager"),
    h("span", { class: "quiet" }, `${count(state.start + 1)}–${count(last)} of ${count(total)}`),
    sizes,
    h("button", { type: "button", disabled: state.start === 0, on: { click: go(state.start - state.size) } }, icon("left"), "Newer"),
    h("button", { type: "button", disabled: last >= total, on: { click: go(state.start + state.size) } }, "Older", icon("right")),
  );
  if (state.field !== "startTime" || state.order !== "DESC") {
    const [back, on] = byId("pager").querySelectorAll("button");
    back.lastChild.textContent = "Previous";
    on.firstChild.textContent = "Next";
  }
}

function nothingFound() {
  const clear = h("button", { type: "button" }, "Clear the filters");
  clear.addEventListener("click", () => {
    Object.assign(state, { text: "", name: "", since: "", top: false, start: 0 });
    state.statuses.clear();
    fill();
    change();
  });
  return h("div", { class: "blank" }, h("h2", {}, "Nothing matches"), h("p", {}, "No execution matches these filters."), clear);
}

function nothingYet() {
  const server = location.origin + address("");
  const define = `curl -X PUT ${server}/api/metadata/workflow \\
  -H 'Content-Type: application/json' \\
  -d '[{"name": "hello", "version": 1, "schemaVersion": 2, "tasks": [
        {"name": "greet", "taskReferenceName": "greet", "type": "INLINE", "inputParameters":
         {"name": "\${workflow.input.name}", "evaluatorType": "javascript",
          "expression": "\\"Hello, \\" + $.name + \\"!\\""}}]}]'`;
  const start = `curl -X POST ${server}/api/workflow/hello \\
  -H 'Content-Type: application/json' -d '{"name": "world"}'`;
  const example = (text) => h("div", { class: "json-box" }, copyButton(text, "the command"), h("pre", { class: "json", tabindex: 0 }, text));
  return h(
    "div",
    { class: "blank wide" },
    h("h2", {}, "No executions yet"),
    h("p", {}, "Register a definition:"),
    example(define),
    h("p", {}, "and start it:"),
    example(start),
    h("p", {}, "It appears here by itself. ", h("a", { href: address("/swagger-ui/index.html") }, "All endpoints of the API"), " · ", h("a", { href: address("/api-docs") }, "the same as OpenAPI"), "."),
  );
}

function chips() {
  put(
    byId("statuses"),
    WORKFLOW_STATUSES.map((status) => {
      const look = statusLook(status);
      const button = h("button", { type: "button", class: `chip tone-${look.tone}`, "aria-pressed": String(state.statuses.has(status)) }, icon(look.icon), look.text);
      button.addEventListener("click", () => {
        if (!state.statuses.delete(status)) state.statuses.add(status);
        button.setAttribute("aria-pressed", String(state.statuses.has(status)));
        state.start = 0;
        change();
      });
      return button;
    }),
  );
}

function fill() {
  byId("search").value = state.text;
  byId("name").value = state.name;
  byId("since").value = state.since;
  byId("top").checked = state.top;
  chips();
  heads();
}

const refresher = new Refresher(load, { wanted: () => byId("auto").checked });

function change() {
  toAddress();
  shown = "";
  byId("table").setAttribute("aria-busy", "true");
  refresher.now();
}

function submit(event) {
  event.preventDefault();
  Object.assign(state, { text: byId("search").value, name: byId("name").value, since: byId("since").value, top: byId("top").checked, start: 0 });
  change();
  announce("Searching");
}

async function suggestNames() {
  try {
    const names = await get("/api/metadata/workflow/names");
    if (Array.isArray(names)) put(byId("names"), names.slice(0, 500).map((name) => h("option", { value: name })));
  } catch {
    // The field works without suggestions.
  }
}

fill();
byId("filters").addEventListener("submit", submit);
for (const id of ["since", "top", "name"]) byId(id).addEventListener("change", submit);
byId("search").addEventListener("search", (event) => byId("search").value === "" && submit(event));
byId("auto").addEventListener("change", () => byId("auto").checked && refresher.now());
setInterval(tick, 500);
refresher.now();
suggestNames();
