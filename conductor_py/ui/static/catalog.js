// The catalog: workflows and tasks that have versions, GET /api/catalog/…; edited, published, compared.

import { address, get, send } from "./api.js";
import { clearFailure, showFailure } from "./banner.js";
import { differences } from "./catalog_diff.js";
import { lineage } from "./catalog_lineage.js";
import { ask } from "./dialog.js";
import { byId, h, put } from "./dom.js";
import { clip, count, instant, moment } from "./format.js";
import { graphOf } from "./graph_model.js";
import { GraphView } from "./graph_view.js";
import { openingRow } from "./opening_row.js";
import { askToStart } from "./operations.js";
import { jsonBlock } from "./payload.js";
import { tabs } from "./tabs.js";

const PAGE = 1000;
const SHOWN = 500;
const COLUMNS = 6;
const SAMPLE = {
  name: "",
  tasks: [
    { name: "first", taskReferenceName: "first" },
    { name: "second", taskReferenceName: "second" },
  ],
  relations: [{ preTask: "first", postTask: "second" }],
};
const bodies = { workflows: h("tbody"), tasks: h("tbody") };
const heads = { workflows: [], tasks: [] };

const path = (noun, code, rest = "") => `/api/catalog/${noun}/${encodeURIComponent(code)}${rest}`;

async function load() {
  try {
    for (const noun of Object.keys(heads)) heads[noun] = await all(noun);
    clearFailure();
    draw();
  } catch (error) {
    showFailure(error);
    setTimeout(load, Math.max(error.retryAfterMs ?? 0, 4000));
  }
}

/** Every head of a kind, page by page. */
async function all(noun) {
  const found = [];
  for (;;) {
    const page = (await get(`/api/catalog/${noun}`, { size: PAGE, after: found.at(-1)?.code, shared: noun === "tasks" ? "true" : "" })) ?? [];
    found.push(...page);
    if (page.length < PAGE) return found;
  }
}

function draw() {
  const wanted = byId("filter").value.trim().toLowerCase();
  for (const noun of Object.keys(heads)) {
    const found = heads[noun].filter((one) => String(one.name).toLowerCase().includes(wanted));
    const note = (text) => h("tr", {}, h("td", { colspan: COLUMNS, class: "quiet blank" }, text));
    const newest = found.toReversed().slice(0, SHOWN);
    put(bodies[noun], newest.map((head) => row(noun, head)), found.length === 0 && note(`No ${noun}.`), found.length > SHOWN && note(`and ${count(found.length - SHOWN)} more: filter by name`));
  }
}

function row(noun, head) {
  const published = head.publishedVersion ? `version ${head.publishedVersion}` : h("span", { class: "quiet" }, "nothing");
  const cells = [
    h("td", { class: "name" }, h("strong", {}, clip(head.name, 120)), h("div", { class: "quiet" }, head.code)),
    h("td", { class: "num" }, count(head.version)),
    noun === "workflows" ? h("td", {}, published) : h("td", { class: "num" }, count(head.latestVersion)),
    h("td", { class: "time" }, moment(instant(head.updateTime))),
    h("td", {}, noun === "workflows" && head.publishedVersion && h("div", { class: "buttons" }, h("a", { class: "button", href: address(`/?workflow=${encodeURIComponent(head.name)}`) }, "Executions"))),
  ];
  return openingRow("Show its versions", cells, COLUMNS, (cell) => detail(cell, noun, head));
}

/** The versions of a definition, one of them shown, and what can be done with it. */
async function detail(cell, noun, head) {
  put(cell, h("p", { class: "quiet" }, "Loading …"));
  try {
    const versions = (await get(path(noun, head.code, "/versions"))) ?? [];
    const choice = h("select", { "aria-label": "Version" }, versions.map((one) => h("option", { value: one.version, selected: one.current }, label(one))));
    const buttons = h("span", { class: "buttons" });
    const body = h("div", {});
    const show = async () => {
      const version = Number(choice.value);
      const document = await get(path(noun, head.code), { version });
      put(buttons, verbs(noun, head, versions, version, document));
      put(body, noun === "workflows" ? await whole(head, versions, version, document) : await task(head, document));
    };
    choice.addEventListener("change", () => show().catch(showFailure));
    put(cell, h("div", { class: "bar" }, choice, buttons), body);
    await show();
  } catch (error) {
    put(cell, h("p", { class: "quiet" }, clip(error.message, 300)));
  }
}

function label(version) {
  const said = [version.current && "edited", version.published && "published"].filter(Boolean).join(", ");
  return `Version ${version.version}${said && `, ${said}`} · ${moment(instant(version.saveTime)).textContent}`;
}

async function whole(head, versions, version, document) {
  const box = h("div", { class: "card flush graph-card" });
  const parts = [h("div", { class: "split" }, box, h("div", { class: "card panel" }, jsonBlock(document)))];
  const tasks = document.tasks.map((one) => ({ name: one.uses?.code, taskReferenceName: one.name, ...one }));
  new GraphView(box, () => {}).draw(graphOf({ ...document, tasks }, []).items, "");
  const before = versions.map((one) => one.version).filter((one) => one < version);
  if (before.length) parts.unshift(await differences(head.code, Math.max(...before), version));
  parts.push(!head.deleted && (await lineage(head.code)));
  return parts;
}

async function task(head, document) {
  const uses = (await get(path("tasks", head.code, "/uses"))) ?? [];
  const named = uses.map((use) => `${use.workflow.name} (version ${use.versions.join(", ")})`);
  return [h("p", {}, named.length ? `In ${clip(named.join(", "), 1000)}.` : "In no workflow."), h("div", { class: "card panel" }, jsonBlock(document))];
}

function verbs(noun, head, versions, version, document) {
  const of = versions.find((one) => one.version === version);
  const button = (text, act) => {
    const made = h("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  };
  const change = (title, says, yes, act, danger = false) => () => ask({ title, says, yes, danger, act: async () => void (await act()), done: title });
  const post = (verb, parameters) => async () => {
    await send("POST", path(noun, head.code, `/${verb}`), parameters);
    await load();
  };
  const name = clip(head.name, 80);
  return [
    of.current && button("Edit…", () => askToEdit(noun, head, document)),
    !of.current && button("Edit this one…", change(`Edit version ${version} of ${name}?`, "It is what Edit shows from then on. No version is written over.", "Switch", post("switch", { version }))),
    noun === "workflows" && !of.published && button("Publish…", change(`Publish version ${version} of ${name}?`, "It starts by the name from then on. What runs goes on as it is.", "Publish", post("publish", { version }))),
    noun === "tasks" && button("Use everywhere…", () => askToApply(head, version)),
    of.startable && button("Start…", () => askToStart({ ...document, version })),
    noun === "workflows" && head.publishedVersion && button("Withdraw…", change(`Withdraw ${name}?`, "No version of it starts any more. What runs goes on.", "Withdraw", post("withdraw"), true)),
    !head.publishedVersion && button("Delete…", change(`Delete ${name}?`, "It leaves the lists and frees its name. Its versions can be read until they are purged.", "Delete", async () => {
      await send("DELETE", path(noun, head.code));
      await load();
    }, true)),
  ];
}

function askToApply(head, version) {
  ask({
    title: `Use version ${version} of ${clip(head.name, 80)} everywhere?`,
    says: "Each workflow whose edited version has another one gets a draft with it. What is published stays as it is.",
    yes: "Use it",
    done: "Drafts saved",
    act: async () => {
      const drafts = await send("POST", path("tasks", head.code, "/apply"), { version });
      return h("p", {}, drafts.length ? `Drafts: ${clip(drafts.map((one) => `${one.name} (version ${one.version})`).join(", "), 1000)}.` : "All of them have it already.");
    },
  });
}

function askToEdit(noun, head, document) {
  const draft = noun === "tasks" || head.publishedVersion ? [{ kind: "check", name: "draft", label: "Save as a draft", value: Boolean(head.publishedVersion), hint: "Needed while a published workflow has it; what is published stays as it is." }] : [];
  ask({
    title: `Edit ${clip(head.name, 80)}`,
    says: `What has changed becomes version ${head.latestVersion + 1}.`,
    fields: [{ kind: "json", name: "document", label: noun === "tasks" ? "Task" : "Workflow", value: document, rows: 24, always: true, required: true }, ...draft],
    yes: "Save",
    done: "Saved",
    act: async ({ document: edited, draft: asDraft }) => {
      await send("PUT", path(noun, head.code), { draft: asDraft || undefined }, edited, { "If-Match": `"${head.etag}"` });
      await load();
    },
  });
}

function askForNewTask() {
  ask({
    title: "New task",
    says: "Workflows use it by its code, each in the version that it names.",
    fields: [{ kind: "json", name: "document", label: "Task", value: { name: "", type: "SIMPLE" }, rows: 14, always: true, required: true }],
    yes: "Save",
    done: "Saved",
    act: async ({ document }) => {
      await send("POST", "/api/catalog/tasks", {}, document);
      await load();
    },
  });
}

function askForNew() {
  ask({
    title: "New workflow",
    says: "It is saved as version 1, and starts once it is published.",
    fields: [{ kind: "json", name: "document", label: "Workflow", value: SAMPLE, rows: 20, always: true, required: true }],
    yes: "Save",
    done: "Saved",
    act: async ({ document }) => {
      await send("POST", "/api/catalog/workflows", {}, document);
      await load();
    },
  });
}

function list(name, texts, body) {
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen" }, "Details")), texts.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)));
  return h("div", { class: "card flush" }, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, h("table", { class: "tasks" }, h("thead", {}, head), body)));
}

tabs(byId("tabs"), [
  { id: "workflows", label: "Workflows", panel: list("Workflows", [["Name"], ["Edited", "num"], ["Published"], ["Changed"], [""]], bodies.workflows) },
  { id: "tasks", label: "Tasks", panel: list("Tasks", [["Name"], ["Edited", "num"], ["Latest", "num"], ["Changed"], [""]], bodies.tasks) },
]);
byId("filter").addEventListener("input", draw);
byId("new").addEventListener("click", askForNew);
byId("new-task").addEventListener("click", askForNewTask);
load();
