// Which operations make sense for an execution and for its tasks, by what they are at present.
// The server decides; this only keeps from offering what it is sure to refuse. Data only.

const CONTAINERS = new Set(["FORK", "FORK_JOIN", "FORK_JOIN_DYNAMIC", "JOIN", "EXCLUSIVE_JOIN", "SWITCH", "DECISION", "CONDITIONS", "DO_WHILE", "SUB_WORKFLOW", "DYNAMIC", "PULL_WORKFLOW_MESSAGES"]);
const FAILED = ["FAILED", "FAILED_WITH_TERMINAL_ERROR", "TIMED_OUT", "CANCELED"];

const isOpenTask = (task) => task.status === "IN_PROGRESS" || task.status === "SCHEDULED";

/** The type that a task was defined with. */
export const typeOf = (task) => String(task.workflowTask?.type ?? task.taskType ?? "");

/** The verbs of an execution, the usual ones first. `tasks` are its tasks as far as they are known. */
export function verbsOf(execution, tasks, unreached) {
  const { status, workflowDefinition: definition } = execution;
  if (status === "RUNNING" || status === "PAUSED") {
    const running = status === "RUNNING";
    const open = tasks.filter(isOpenTask);
    return [
      running ? "pause" : "resume",
      "terminate",
      open.some((task) => ["WAIT", "SUB_WORKFLOW"].includes(typeOf(task))) && "signal",
      running && pulls(definition?.tasks) && "message",
      running && unreached.length > 0 && "skip",
      running && unreached.length > 0 && "jump",
      "variables",
      "upgrade",
      open.some((task) => task.callbackAfterSeconds > 0 && typeOf(task) !== "WAIT") && "resetCallbacks",
      "remove",
    ].filter(Boolean);
  }
  const completed = status === "COMPLETED";
  const restartable = !completed || definition?.restartable !== false;
  return [!completed && "retry", restartable && "restart", "rerun", "remove"].filter(Boolean);
}

/** Whether the tasks of an execution follow each other by relations. */
export const isDag = (execution) => (execution.workflowDefinition?.relations ?? []).length > 0;

/** The verbs of one task. `newest`: no later attempt took its place. */
export function taskVerbsOf(execution, task, newest) {
  const alive = execution.status === "RUNNING" || execution.status === "PAUSED";
  const type = typeOf(task);
  if (alive && isOpenTask(task)) return CONTAINERS.has(type) ? [] : ["complete", isHeld(task, type) && "requeue"].filter(Boolean);
  if (!newest || task.retried) return [];
  const rerun = !alive && isTerminal(execution.status);
  const force = isDag(execution) && FAILED.includes(task.status) && isNode(execution, task);
  return [rerun && "rerun", force && "force"].filter(Boolean);
}

/** Whether a worker has it: what a server carries out itself is taken up by another server. */
const isHeld = (task, type) => task.status === "IN_PROGRESS" && Boolean(task.workerId) && (["SIMPLE", "USER_DEFINED"].includes(type) || type.startsWith("SPARK_"));

const isNode = (execution, task) => execution.workflowDefinition.tasks.some((one) => one.taskReferenceName === task.referenceTaskName);

const isTerminal = (status) => ["COMPLETED", "FAILED", "TIMED_OUT", "TERMINATED"].includes(status);

/** Whether a retry could go on inside a sub-workflow that failed. */
export const hasFailedChild = (tasks) => tasks.some((task) => typeOf(task) === "SUB_WORKFLOW" && FAILED.includes(task.status));

/** References of the definition, in order, that no task stands for yet. */
export function unreachedOf(definition, byRef) {
  const found = [];
  walk(definition?.tasks, (task) => byRef.has(task.taskReferenceName) || found.push(String(task.taskReferenceName)));
  return found;
}

/** The tasks that a rerun can begin with: the newest of each reference, newest first. */
export function rerunnable(tasks) {
  const newest = new Map();
  for (const task of tasks) newest.set(String(task.referenceTaskName ?? ""), task);
  return [...newest.values()].filter((task) => !task.retried).reverse();
}

function pulls(tasks) {
  let found = false;
  walk(tasks, (task) => {
    found ||= task.type === "PULL_WORKFLOW_MESSAGES";
  });
  return found;
}

function walk(tasks, visit) {
  if (!Array.isArray(tasks)) return;
  for (const task of tasks) {
    visit(task);
    for (const list of task.forkTasks ?? []) walk(list, visit);
    for (const list of Object.values(task.decisionCases ?? {})) walk(list, visit);
    walk(task.defaultCase, visit);
    walk(task.loopOver, visit);
  }
}
