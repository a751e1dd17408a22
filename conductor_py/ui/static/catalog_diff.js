// What differs between two versions of a workflow, as the server tells it.

import { get } from "./api.js";
import { h } from "./dom.js";
import { clip } from "./format.js";

const SIGNS = { added: "+", removed: "−", changed: "~" };
const SHOWN = 200;

/** A card that lists what `after` changed of `before`. */
export async function differences(code, before, after) {
  const found = await get(`/api/catalog/workflows/${encodeURIComponent(code)}/diff`, { from: before, to: after });
  const lines = [
    ...found.workflow.map((one) => line("changed", "workflow", member(one))),
    ...found.tasks.map((one) => line(one.change, `task ${one.taskReferenceName}`, versions(one), (one.members ?? []).map(member))),
    ...found.relations.map((one) => line(one.change, "relation", relation(one.relation))),
  ];
  const more = lines.length > SHOWN && h("li", { class: "quiet" }, `and ${lines.length - SHOWN} more`);
  return h("div", { class: "card panel" }, h("h3", {}, `What version ${after} changed of version ${before}`), h("ul", { class: "diff" }, lines.slice(0, SHOWN), more));
}

function line(change, what, said, members = []) {
  const below = members.length > 0 && h("ul", {}, members.map((text) => h("li", {}, h("code", {}, clip(text, 400)))));
  return h("li", { class: change }, h("span", { class: "sign", title: change }, SIGNS[change]), " ", h("strong", {}, clip(what, 120)), " ", clip(said, 400), below);
}

const versions = (one) => `version ${[one.fromVersion, one.toVersion].filter(Boolean).join(" → ")}`;
const member = (one) => `${one.path}: ${shown(one.before)} → ${shown(one.after)}`;
const shown = (value) => (value === null ? "nothing" : clip(JSON.stringify(value), 150));

function relation(one) {
  const label = one.label && one.label !== "ok" ? ` (${one.label}${one.case === undefined ? "" : ` ${one.case}`})` : "";
  return `${one.preTask ?? ""} → ${one.postTask}${label}`;
}
