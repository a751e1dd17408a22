// The graph of an execution as data: its definition as a tree, with what has become of each task.
//
// An item is {kind, ref, type, name, state} with kind task, fork, switch, loop or dynamic; a fork
// and a dynamic fork have branches, a switch cases, a loop a body. Lists of items run in order. A
// definition with relations is one item of the kind dag, with nodes and relations.

/** The most branches of one fork that are drawn. */
export const MAX_BRANCHES = 50;

const KINDS = {
  FORK_JOIN: "fork",
  FORK: "fork",
  FORK_JOIN_DYNAMIC: "dynamic",
  SWITCH: "switch",
  DECISION: "switch",
  DO_WHILE: "loop",
};
const SUFFIX = /__\d+$/;

/** Build the tree of `definition` with the states that `tasks` show. */
export function graphOf(definition, tasks) {
  const refs = new Set();
  const listed = definition?.tasks ?? [];
  collect(listed, refs);
  const dynamic = dynamicBranches(tasks, refs);
  const byRef = grouped(tasks, refs);
  const items = sequence(listed, { byRef, dynamic });
  const relations = definition?.relations ?? [];
  return { items: relations.length ? [dagOf(items, relations)] : items, byRef };
}

function dagOf(nodes, relations) {
  const state = nodes.find((node) => node.state.latest)?.state ?? stateOf([]);
  return { kind: "dag", ref: "", type: "", name: "", nodes, relations, state };
}

/** The reference in the definition that a task's reference stands for: without iterations. */
export function plainRef(ref, refs) {
  let found = String(ref ?? "");
  while (!refs.has(found) && SUFFIX.test(found)) found = found.replace(SUFFIX, "");
  return refs.has(found) ? found : String(ref ?? "").replace(/(__\d+)+$/, "");
}

function collect(list, refs) {
  for (const task of list) {
    refs.add(task.taskReferenceName);
    for (const inner of innerLists(task)) collect(inner, refs);
  }
}

function innerLists(task) {
  return [
    ...(task.forkTasks ?? []),
    ...Object.values(task.decisionCases ?? {}),
    task.defaultCase ?? [],
    task.loopOver ?? [],
  ];
}

/** What each dynamic fork made, newest fork of a reference first: its references and their parts. */
function dynamicBranches(tasks, refs) {
  const made = new Map();
  const parts = new Map();
  for (const task of tasks) {
    const forked = task.inputData?.forkedTasks;
    if (task.taskType !== "FORK" || !Array.isArray(forked)) continue;
    const names = forked.map((one) => (typeof one === "string" ? one : one?.taskReferenceName)).filter(Boolean).map(String);
    const own = plainRef(task.referenceTaskName, refs);
    const before = made.get(own);
    if (!before || before.seq <= task.seq) made.set(own, { seq: task.seq, names });
    for (const name of names) parts.set(name, null);
    for (const part of task.inputData.forkedTaskDefs ?? []) {
      if (part?.taskReferenceName) parts.set(part.taskReferenceName, part);
    }
  }
  const known = new Set([...refs, ...parts.keys()]);
  for (const task of tasks) {
    const ref = plainRef(task.referenceTaskName, known);
    if (parts.has(ref) && !parts.get(ref)) parts.set(ref, task.workflowTask);
  }
  for (const [ref, part] of parts) {
    refs.add(ref);
    if (part) collect([part], refs);
  }
  return { made, parts };
}

function grouped(tasks, refs) {
  const byRef = new Map();
  for (const task of tasks) {
    const ref = plainRef(task.referenceTaskName, refs);
    if (!byRef.has(ref)) byRef.set(ref, []);
    byRef.get(ref).push(task);
  }
  return byRef;
}

function sequence(list, known) {
  return list.map((task) => item(task, known));
}

function item(task, known) {
  const type = task.type ?? "SIMPLE";
  const kind = kindOf(task, type);
  const state = stateOf(known.byRef.get(task.taskReferenceName) ?? []);
  const made = { kind, type, ref: String(task.taskReferenceName ?? ""), name: String(task.name ?? ""), state, ends: type === "TERMINATE" };
  if (kind === "fork") Object.assign(made, bounded(task.forkTasks ?? [], (list) => sequence(list, known)));
  if (kind === "loop") made.body = sequence(task.loopOver ?? [], known);
  if (kind === "switch") made.cases = casesOf(task, state, known);
  if (kind === "dynamic") Object.assign(made, bounded(known.dynamic.made.get(made.ref)?.names ?? [], (name) => [dynamicItem(name, known)]));
  return made;
}

/** The branches of a SWITCH in a DAG are relations: there it is a box like any other. */
function kindOf(task, type) {
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : "task";
  const chooses = Object.keys(task.decisionCases ?? {}).length > 0 || task.defaultCase?.length > 0;
  return kind === "switch" && !chooses ? "task" : kind;
}

function bounded(list, build) {
  return { branches: list.slice(0, MAX_BRANCHES).map(build), more: Math.max(0, list.length - MAX_BRANCHES), total: list.length };
}

function dynamicItem(name, known) {
  const part = known.dynamic.parts.get(name);
  return item({ ...(part ?? { name, type: "SIMPLE" }), taskReferenceName: name }, known);
}

function casesOf(task, state, known) {
  const latest = state.latest;
  const given = latest?.outputData?.selectedCase ?? latest?.inputData?.case ?? latest?.outputData?.evaluationResult?.[0] ?? latest?.outputData?.caseOutput?.[0];
  const names = Object.keys(task.decisionCases ?? {});
  // A DECISION takes its default for a case without tasks.
  const takes = (name) => names.includes(name) && (task.type !== "DECISION" || task.decisionCases[name]?.length > 0);
  const decided = latest !== undefined && given !== undefined && latest.status === "COMPLETED";
  const chosen = decided ? (takes(String(given)) ? String(given) : null) : undefined;
  const cases = names.map((name) => ({ label: name, items: sequence(task.decisionCases[name] ?? [], known), taken: chosen === name }));
  const rest = { label: "default", items: sequence(task.defaultCase ?? [], known), taken: chosen === null };
  const all = [...cases, rest];
  if (decided) for (const one of all) if (!one.taken) passBy(one.items);
  return all;
}

/** Mark what a switch did not choose, unless an earlier iteration came by. */
function passBy(items) {
  for (const one of items) {
    if (!one.state.latest) one.state.passedBy = true;
    for (const inner of [...(one.branches ?? []), ...(one.cases ?? []).map((each) => each.items), one.body ?? []]) passBy(inner);
  }
}

/** What has become of a reference: its newest task, how often it was tried, how often it came round. */
export function stateOf(tasks) {
  let latest;
  let iteration = 0;
  for (const task of tasks) {
    if (!latest || task.seq > latest.seq) latest = task;
    iteration = Math.max(iteration, task.iteration ?? 0);
  }
  const attempts = tasks.filter((task) => task.referenceTaskName === latest?.referenceTaskName).length;
  return { latest, status: latest?.status, attempts, iteration, passedBy: false };
}
