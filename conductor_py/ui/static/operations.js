// The operations on executions and tasks, each behind a dialog that says what happens.

import { address, executionAddress, get, send } from "./api.js";
import { ask } from "./dialog.js";
import { h, icon } from "./dom.js";
import { clip } from "./format.js";
import { menu } from "./menu.js";
import { hasFailedChild, isDag, rerunnable, taskVerbsOf, typeOf, unreachedOf, verbsOf } from "./verbs.js";

const SHOWN = 2; // what is a button of its own; the rest is in the menu
const OUTCOMES = ["COMPLETED", "FAILED", "FAILED_WITH_TERMINAL_ERROR"].map((one) => [one, one]);

/** The operations on one execution. `changed()` is called after each. */
export class Operations {
  #changed;
  #execution = null;
  #tasks = [];
  #unreached = [];
  #signature = "";
  #box = h("div", { class: "buttons" });

  constructor(changed) {
    this.#changed = changed;
  }

  /** The buttons of the execution as it is now: always the same element, so that focus and menus stay. */
  update(execution, tasks, byRef) {
    this.#execution = execution;
    this.#tasks = tasks;
    this.#unreached = unreachedOf(execution.workflowDefinition, byRef);
    const verbs = verbsOf(execution, tasks, this.#unreached);
    if (verbs.join() !== this.#signature) {
      this.#signature = verbs.join();
      const items = verbs.map((verb) => ({ ...VERBS[verb], act: () => this.#open(verb) }));
      const buttons = items.slice(0, SHOWN).map((item) => h("button", { type: "button", class: item.danger ? "danger" : null, on: { click: item.act } }, icon(item.icon), item.label));
      this.#box.replaceChildren(...buttons, ...(items.length > SHOWN ? [menu("More", items.slice(SHOWN))] : []));
    }
    return this.#box;
  }

  /** What can be done with a task, as buttons. */
  ofTask(task, newest) {
    const labels = { complete: isAsked(task) ? "Complete…" : "Report a result…", requeue: "Requeue…", rerun: "Rerun from here…", force: "Count as done…" };
    return taskVerbsOf(this.#execution, task, newest).map((verb) =>
      h("button", { type: "button", on: { click: () => this.#open(verb, task) } }, icon(verb === "complete" || verb === "force" ? "check" : "loop"), labels[verb]),
    );
  }

  /** What can be done with a task that has not been reached, as buttons. */
  ofUnreached(ref) {
    if (this.#execution?.status !== "RUNNING" || !this.#unreached.includes(ref)) return [];
    return ["skip", "jump"].map((verb) => h("button", { type: "button", on: { click: () => this.#open(verb, ref) } }, icon(VERBS[verb].icon), VERBS[verb].label));
  }

  /** What decides about the buttons of tasks. */
  get standing() {
    return this.#execution?.status ?? "";
  }

  /** Whether an operation makes sense on the execution or, with its id, on one of its tasks. */
  offers(verb, taskId) {
    if (!taskId) return this.#signature.split(",").includes(verb);
    const known = this.#tasks.find((task) => task.taskId === taskId);
    return !known || taskVerbsOf(this.#execution, known, true).includes(verb);
  }

  /** Open an operation on the execution or, with its id, on one of its tasks. */
  async open(verb, taskId) {
    const known = this.#tasks.find((task) => task.taskId === taskId);
    this.#open(verb, taskId ? (known ?? (await get(`/api/tasks/${encodeURIComponent(taskId)}`))) : undefined);
  }

  #open(verb, about) {
    const execution = this.#execution;
    const path = `/api/workflow/${encodeURIComponent(execution.workflowId)}`;
    const question = VERBS[verb].ask({ execution, path, tasks: this.#tasks, unreached: this.#unreached, about });
    ask({
      ...question,
      act: async (values) => {
        const shown = await question.act(values);
        if (shown === undefined) this.#changed();
        return shown;
      },
    });
  }
}

const present = (variables) => {
  const names = Object.keys(variables ?? {});
  return names.length ? `It has: ${clip(names.join(", "), 300)}.` : "It has none yet.";
};
const isAsked = (task) => ["WAIT", "HUMAN"].includes(typeOf(task));
const nothing = () => undefined;
const json = (name, label, value, hint, more) => ({ name, label, kind: "json", value, hint, ...more });

const VERBS = {
  pause: {
    label: "Pause…",
    icon: "pause",
    ask: ({ path }) => ({
      title: "Pause this execution?",
      says: "Tasks and sub-workflows that are running go on, and their results are accepted. No new task starts until you resume it.",
      yes: "Pause",
      done: "Paused",
      act: () => send("PUT", `${path}/pause`).then(nothing),
    }),
  },
  resume: {
    label: "Resume…",
    icon: "play",
    ask: ({ path }) => ({
      title: "Resume this execution?",
      says: "Everything that the pause held back goes on, in order. The timeout of the execution starts again.",
      yes: "Resume",
      done: "Resumed",
      act: () => send("PUT", `${path}/resume`).then(nothing),
    }),
  },
  terminate: {
    label: "Terminate…",
    icon: "stop",
    danger: true,
    ask: ({ execution, path }) => ({
      title: "Terminate this execution?",
      says: "Its open tasks and sub-workflows are canceled, and it ends as terminated.",
      fields: [
        { name: "reason", label: "Reason", placeholder: "shown with the execution" },
        ...(execution.workflowDefinition?.failureWorkflow
          ? [{ name: "rescue", label: `Start its failure workflow, ${clip(execution.workflowDefinition.failureWorkflow, 80)}`, kind: "check" }]
          : []),
      ],
      yes: "Terminate",
      no: "Keep it running",
      danger: true,
      done: "Terminated",
      act: ({ reason, rescue }) => send("DELETE", path, { reason, triggerFailureWorkflow: rescue ? "true" : "" }).then(nothing),
    }),
  },
  retry: {
    label: "Retry…",
    icon: "loop",
    ask: ({ path, tasks }) => ({
      title: "Retry what failed?",
      says: "Every task that failed, timed out or was canceled gets a new attempt. What is done stays done.",
      fields: hasFailedChild(tasks) ? [{ name: "inside", label: "Retry inside failed sub-workflows", kind: "check", value: true, hint: "Otherwise they are started anew." }] : [],
      yes: "Retry",
      done: "Retried",
      act: ({ inside }) => send("POST", `${path}/retry`, { resumeSubworkflowTasks: inside ? "true" : "" }).then(nothing),
    }),
  },
  restart: {
    label: "Restart…",
    icon: "play",
    ask: ({ path }) => ({
      title: "Restart this execution?",
      says: "It begins again from its first task, with the same input and under the same id. Its tasks up to now are forgotten.",
      fields: [{ name: "latest", label: "With the latest definition", kind: "check", hint: "Otherwise with the definition that it was started with." }],
      yes: "Restart",
      danger: true,
      done: "Restarted",
      act: ({ latest }) => send("POST", `${path}/restart`, { useLatestDefinitions: latest ? "true" : "" }).then(nothing),
    }),
  },
  rerun: { label: "Rerun…", icon: "skip", ask: rerun },
  skip: {
    label: "Skip a task…",
    icon: "skip",
    ask: ({ path, unreached, about }) => ({
      title: "Skip a task?",
      says: "When the execution reaches this task, the task does not run. Its output is what you write here.",
      fields: [refChoice(unreached, about), json("taskOutput", "Output", {}, "What later tasks read of it.", { always: true })],
      yes: "Skip",
      done: "It will be skipped",
      act: ({ ref, taskOutput }) => send("PUT", `${path}/skiptask/${encodeURIComponent(ref)}`, {}, { taskOutput: taskOutput ?? {} }).then(nothing),
    }),
  },
  jump: {
    label: "Jump to a task…",
    icon: "launch",
    ask: ({ path, unreached, about }) => ({
      title: "Jump to a task?",
      says: "Tasks before this one that are open are canceled. Tasks in between are skipped. The execution goes on at this task; other branches go on, too.",
      fields: [refChoice(unreached, about), json("taskInput", "Input", undefined, "Instead of its own; leave it empty to keep that.")],
      yes: "Jump",
      danger: true,
      done: "Jumped",
      act: ({ ref, taskInput }) => send("POST", `${path}/jump/${encodeURIComponent(ref)}`, {}, taskInput ?? {}).then(nothing),
    }),
  },
  signal: {
    label: "Signal…",
    icon: "bolt",
    ask: ({ execution }) => ({
      title: "Signal this execution?",
      says: "The first open WAIT of the execution, or of one of its sub-workflows, ends with this output.",
      fields: [outcome(), json("output", "Output", {}, "", { always: true })],
      yes: "Signal",
      done: "Signaled",
      act: ({ status, output }) => send("POST", `/api/tasks/${encodeURIComponent(execution.workflowId)}/${status}/signal/sync`, { timeoutMillis: 500 }, output ?? {}).then(nothing),
    }),
  },
  message: {
    label: "Send a message…",
    icon: "message",
    ask: ({ path }) => ({
      title: "Send a message?",
      says: "It is put into the queue of this execution, for the tasks that pull messages.",
      fields: [json("message", "Message", {}, "", { always: true })],
      yes: "Send",
      done: "Sent",
      act: ({ message }) => send("POST", `${path}/messages`, {}, message ?? {}).then(nothing),
    }),
  },
  variables: {
    label: "Set variables…",
    icon: "assign",
    ask: ({ path, execution }) => ({
      title: "Set variables?",
      says: "These variables are added to those of the execution, or replace them. Expressions read them from now on.",
      fields: [json("variables", "Variables", {}, present(execution.variables), { always: true })],
      yes: "Set",
      done: "Set",
      act: ({ variables }) => send("POST", `${path}/variables`, {}, variables ?? {}).then(nothing),
    }),
  },
  upgrade: {
    label: "Upgrade…",
    icon: "launch",
    ask: ({ path, execution }) => ({
      title: "Upgrade to another version?",
      says: "It goes on with another version of its definition. Every open task must exist there, in the same place.",
      fields: [
        { name: "version", label: "Version", type: "number", least: 1, required: true, value: "", change: (input) => suggestVersion(execution, input) },
        { name: "check", label: "Only show open tasks that are missing there", kind: "check", value: true },
      ],
      yes: "Go on",
      done: "Upgraded",
      act: async ({ version, check }) => {
        const found = await send("POST", `${path}/upgrade`, { dryRun: check ? "true" : "" }, { version: Number(version) });
        return check ? checked(found) : undefined;
      },
    }),
  },
  resetCallbacks: {
    label: "Offer postponed tasks now…",
    icon: "clock",
    ask: ({ path }) => ({
      title: "Offer postponed tasks now?",
      says: "Tasks that a worker has postponed are offered to workers at once.",
      yes: "Offer",
      done: "Offered",
      act: () => send("POST", `${path}/resetcallbacks`).then(nothing),
    }),
  },
  remove: { label: "Remove…", icon: "cross", danger: true, ask: remove },
  complete: { ask: complete },
  requeue: { ask: requeue },
  force: { ask: force },
};

function refChoice(unreached, about) {
  return { name: "ref", label: "Task", kind: "choice", value: about, options: unreached.map((ref) => [ref, ref]) };
}

const outcome = () => ({ name: "status", label: "It ends as", kind: "choice", value: "COMPLETED", options: OUTCOMES });

function complete({ about: task }) {
  const asked = isAsked(task);
  return {
    title: `${asked ? "Complete" : "Report a result for"} ${clip(task.referenceTaskName, 60)}?`,
    says: asked ? "The task ends with this output, and the execution goes on." : "This counts as the result of a worker; the one that holds the task now will be told that it is late.",
    fields: [outcome(), json("outputData", "Output", {}, "What later tasks read of it.", { always: true }), { name: "reason", label: "Reason, where it fails" }],
    yes: asked ? "Complete" : "Report",
    done: "Reported",
    act: ({ status, outputData, reason }) =>
      send("POST", "/api/tasks", {}, { workflowInstanceId: task.workflowInstanceId, taskId: task.taskId, status, outputData: outputData ?? {}, reasonForIncompletion: reason || undefined }).then(nothing),
  };
}

function requeue({ about: task }) {
  return {
    title: `Requeue ${clip(task.referenceTaskName, 60)}?`,
    says: `The task is taken from worker ${clip(task.workerId, 60)} and offered to all workers again. Do this when that worker is dead: what it still reports under its claim or its own id is refused. No retry is used.`,
    yes: "Requeue",
    done: "Requeued",
    act: () => send("POST", `/api/tasks/${encodeURIComponent(task.taskId)}/requeue`).then(nothing),
  };
}

function force({ path, about: task }) {
  return {
    title: `Count ${clip(task.referenceTaskName, 60)} as done?`,
    says: "The task has failed. From now on it counts as done, and tasks that waited for it run. The failed attempt is kept, with your name and reason.",
    fields: [
      { name: "by", label: "Who wants this" },
      { name: "reason", label: "Why", placeholder: "shown with the task" },
      json("output", "Output", undefined, "What later tasks read of it; leave it empty for what the failed attempt gave."),
    ],
    yes: "Count as done",
    danger: true,
    done: "Counted as done",
    act: ({ by, reason, output }) => send("POST", `${path}/tasks/${encodeURIComponent(task.referenceTaskName)}/force-success`, {}, { by: by || undefined, reason: reason || undefined, output }).then(nothing),
  };
}

const MODES = [
  ["TASK_POST", "the task and everything after it"],
  ["TASK_ONLY", "only the task"],
  ["TASK_PRE", "the task and everything before it"],
];

/** What runs with the task of a DAG, which the beginning has no use for; and whether only to tell. */
function parts(fromField) {
  const follow = (input) => {
    const show = () => (input.closest(".ask").hidden = !fromField().value);
    fromField().addEventListener("change", show);
    show();
  };
  return [
    { name: "mode", label: "What runs", kind: "choice", value: "TASK_POST", options: MODES, change: follow },
    { name: "check", label: "Only show what would run again", kind: "check", value: true },
  ];
}

function foretold(found) {
  const line = (label, refs) => refs?.length > 0 && h("li", { class: "wrap" }, h("strong", {}, label), ` ${clip(refs.join(", "), 2000)}`);
  return h("ul", {}, line("Runs again if the execution reaches it:", found?.runsAgain), line("Kept:", found?.kept), line("Kept, although a task before it runs again (stale):", found?.stale));
}

function rerun({ execution, path, tasks, about }) {
  const dag = isDag(execution);
  const listed = rerunnable(tasks);
  const named = (task) => `${clip(task.referenceTaskName, 80)} (${String(task.status ?? "").toLowerCase().replaceAll("_", " ")})`;
  const known = new Map(listed.map((task) => [String(task.taskId), task]));
  const first = about ? String(about.taskId) : "";
  if (about) known.set(first, about);
  const options = [["", "the beginning"], ...[...known].map(([id, task]) => [id, named(task)])];
  let from = null;
  return {
    title: "Rerun this execution?",
    says: dag ? "From the beginning, everything runs again. From a task, that task runs again with the tasks that you choose here; other tasks keep their results." : "From the beginning, everything runs again. From a task, that task and everything after it run again. Other branches keep their results, but a failed task in them is tried again.",
    fields: [
      { name: "from", label: "From", kind: "choice", value: first, options, change: (input) => (from = input) },
      ...(dag ? parts(() => from) : []),
      json("taskInput", "Input of that task", about?.inputData, "Stays the same unless you change it.", {
        change: (area, fill) => {
          const follow = () => {
            const task = known.get(from.value);
            area.closest(".ask").hidden = !task;
            fill(task ? JSON.stringify(task.inputData ?? {}, null, 2) : "");
          };
          from.addEventListener("change", follow);
          follow();
        },
      }),
      json("workflowInput", "Input of the execution", execution.input, "Stays the same unless you change it.", { rows: 4 }),
    ],
    yes: "Rerun",
    danger: true,
    done: "Running again",
    act: async ({ from: task, mode, check, taskInput, workflowInput }) => {
      const body = { reRunFromTaskId: task || undefined, mode: task ? mode : undefined, taskInput, workflowInput };
      const found = await send("POST", `${path}/rerun`, { dryRun: check ? "true" : "" }, body);
      return check ? foretold(found) : undefined;
    },
  };
}

function remove({ execution, path }) {
  const ended = execution.endTime > 0;
  return {
    title: "Remove this execution?",
    says: ended ? "It is removed from the store." : "It is terminated with its sub-workflows, and then deleted. To keep it in the archive, terminate it first.",
    fields: ended ? [{ name: "archive", label: "Keep it in the archive", kind: "check", value: true, hint: "If not, it is deleted for good." }] : [],
    yes: "Remove",
    no: "Keep it",
    danger: true,
    done: "Removed",
    act: async ({ archive }) => {
      await send("DELETE", `${path}/remove`, { archiveWorkflow: archive ? "true" : "false" });
      if (!archive) location.assign(address("/"));
    },
  };
}

async function suggestVersion(execution, input) {
  try {
    const found = await get(`/api/metadata/workflow/${encodeURIComponent(execution.workflowName)}/versions`);
    const newest = Math.max(...(found ?? []).map((one) => Number(one.version) || 0));
    if (newest > 0 && input.value === "") input.value = newest;
  } catch {
    // The field works without a suggestion.
  }
}

function checked(found) {
  const listed = found?.validationErrors ?? [];
  if (found?.upgradable) return h("p", {}, "All that is open has its place there.");
  return [h("p", { class: "hint bad" }, "This would have no place:"), h("ul", {}, listed.slice(0, 50).map((one) => h("li", { class: "wrap" }, `${one.path}: ${one.message}`)))];
}

/** The names that a definition declares as its input, or that its expressions read of it. */
function inputsOf(definition) {
  const said = JSON.stringify([definition.tasks ?? [], definition.outputParameters ?? {}]).matchAll(/\$\{workflow\.input\.([\w-]+)/g);
  return [...new Set([...(definition.inputParameters ?? []).map(String), ...[...said].map((match) => match[1])])];
}

/** Ask for an input and start a workflow; the browser goes to the new execution. */
export function askToStart(definition) {
  const read = inputsOf(definition);
  ask({
    title: `Start ${clip(definition.name, 80)} v${clip(definition.version, 12)}?`,
    says: definition.description ? clip(definition.description, 400) : [],
    fields: [
      json("input", "Input", {}, read.length > 0 && `It reads: ${clip(read.join(", "), 300)}.`, { always: true }),
      { name: "correlationId", label: "Correlation id", hint: "Your own id for it; may be left out." },
      { name: "priority", label: "Priority", value: "0", hint: "0 to 99, larger goes first; or HIGHEST, HIGH, MEDIUM, LOW, LOWEST." },
      { name: "businessTime", label: "Business time", hint: "What the run is about, for dates in its parameters: 2026-11-24, or with a time; without it its start." },
      { name: "zoneId", label: "Time zone", hint: "Of the business time: Europe/Berlin; may be left out." },
      { name: "idempotencyKey", label: "Idempotency key", hint: "At most one execution is started with it; may be left out." },
    ],
    yes: "Start",
    done: "Started",
    act: async ({ input, correlationId, priority, businessTime, zoneId, idempotencyKey }) => {
      const body = { name: definition.name, version: definition.version, input: input ?? {}, correlationId: correlationId || undefined, priority: priority || 0, businessTime: businessTime || undefined, zoneId: zoneId || undefined, idempotencyKey: idempotencyKey || undefined };
      const started = await send("POST", "/api/workflow", {}, body);
      location.assign(executionAddress(String(started)));
    },
  });
}
