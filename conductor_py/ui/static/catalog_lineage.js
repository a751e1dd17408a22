// What surrounds a workflow of the catalog, GET /api/catalog/workflows/…/lineage: one line for each edge.

import { get } from "./api.js";
import { h } from "./dom.js";
import { clip } from "./format.js";

const SHOWN = 100;
const SAID = {
  SUB_WORKFLOW: "starts",
  START_WORKFLOW: "starts",
  FAILURE_WORKFLOW: "starts on failure",
  USES: "has the task",
  SCHEDULE: "starts",
};

/** A card that lists who starts a workflow, what it starts and which tasks it shares; none when there is nothing. */
export async function lineage(code) {
  const found = await get(`/api/catalog/workflows/${encodeURIComponent(code)}/lineage`);
  const nodes = new Map(found.nodes.map((node) => [node.id, node]));
  if (found.edges.length === 0) return null;
  const lines = found.edges.slice(0, SHOWN).map((edge) => line(edge, nodes));
  const more = (found.truncated || found.edges.length > SHOWN) && h("li", { class: "quiet" }, "and more");
  return h("div", { class: "card panel" }, h("h3", {}, "What surrounds it"), h("ul", { class: "lineage" }, lines, more));
}

function line(edge, nodes) {
  const from = nodes.get(edge.from);
  const to = nodes.get(edge.to);
  const what = from.type === "schedule" && (from.paused ? "paused schedule " : "schedule ");
  return h("li", {}, what, named(from), ` ${SAID[edge.type] ?? edge.type} `, named(to), " ", h("span", { class: "quiet" }, versions(edge)));
}

const named = (node) => h("strong", {}, clip(node.name, 120));

function versions(edge) {
  const said = [edge.edited && "edited", edge.published && "published"].filter(Boolean).join(", ");
  const own = edge.versions.length > 0 && `in version ${edge.versions.join(", ")}${said && ` (${said})`}`;
  const theirs = edge.toVersions.length > 0 && `version ${edge.toVersions.join(", ")} of it`;
  return [own, theirs].filter(Boolean).join(", ");
}
