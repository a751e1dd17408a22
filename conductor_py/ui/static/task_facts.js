// What a task of each type did, in a few words: the facts that its input and output hold. Data only:
// a fact is {label, text} or {label, code}, or {label, execution} for an execution to link to.

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const FACTS = {
  HTTP: http,
  KAFKA_PUBLISH: kafka,
  EVENT: (given, made) => [code("Sink", given.sink), text("Published", made.event_produced)],
  JSON_JQ_TRANSFORM: (given) => [code("Query", given.queryExpression)],
  INLINE: (given) => [code("Script", given.expression), text("Language", given.evaluatorType)],
  LAMBDA: (given) => [code("Script", given.scriptExpression)],
  SWITCH: branch,
  DECISION: branch,
  DO_WHILE: (given, made, task) => [code("Condition", task.workflowTask?.loopCondition), text("Iterations", made.iteration), text("Item", made.loopItem)],
  JOIN: (given, made, task) => [text("Waits for", refs(given.joinOn ?? task.workflowTask?.joinOn))],
  EXCLUSIVE_JOIN: (given, made, task) => [text("Takes the first of", refs(given.joinOn ?? task.workflowTask?.joinOn))],
  FORK_JOIN_DYNAMIC: (given) => [text("Branches", refs(given.forkedTasks))],
  WAIT: (given) => [text("For", given.duration), text("Until", given.until)],
  HUMAN: (given) => [text("Assigned to", given.assignee ?? given.assignment), text("Form", given.formName)],
  SUB_WORKFLOW: (given) => [text("Workflow", named(given.subWorkflowName, given.subWorkflowVersion))],
  START_WORKFLOW: (given, made) => [text("Workflow", named(given.startWorkflow?.name, given.startWorkflow?.version)), child("Execution", made.workflowId)],
  TERMINATE: (given) => [text("Ends it as", given.terminationStatus), text("Because", given.terminationReason)],
  SET_VARIABLE: (given) => [text("Variables", refs(Object.keys(given)))],
  DYNAMIC: (given, made, task) => [text("Became", task.taskDefName)],
  PULL_WORKFLOW_MESSAGES: (given, made) => [text("At most", given.batchSize), text("Messages", made.count)],
};

/** The facts of a task; none for a type that is not known. */
export function factsOf(task) {
  const type = String(task.workflowTask?.type ?? task.taskType ?? "");
  const facts = Object.hasOwn(FACTS, type) ? FACTS[type](object(task.inputData), object(task.outputData), task) : [];
  return facts.filter(Boolean);
}

const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
const written = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const isSet = (value) => value !== undefined && value !== null && value !== "";
const text = (label, value) => isSet(value) && { label, text: written(value) };
const code = (label, value) => isSet(value) && { label, code: written(value) };
const child = (label, id) => typeof id === "string" && ID.test(id) && { label, execution: id };
const named = (name, version) => isSet(name) && `${written(name)}${isSet(version) ? ` v${written(version)}` : ""}`;

function refs(list) {
  return Array.isArray(list) && list.length ? list.map((one) => written(one?.taskReferenceName ?? one)).join(", ") : undefined;
}

function http(given, made) {
  const request = object(given.http_request ?? given);
  const answer = object(made.response);
  const said = isSet(answer.statusCode) && `${written(answer.statusCode)} ${isSet(answer.reasonPhrase) ? written(answer.reasonPhrase) : ""}`.trim();
  return [isSet(request.uri) && { label: "Request", code: `${written(request.method ?? "GET")} ${written(request.uri)}` }, text("Answer", said || undefined)];
}

function kafka(given) {
  const request = object(given.kafka_request ?? given);
  return [text("Topic", request.topic), text("Brokers", request.bootStrapServers), text("Key", request.key)];
}

function branch(given, made, task) {
  const chosen = made.selectedCase ?? made.caseOutput?.[0] ?? made.evaluationResult?.[0] ?? given.case;
  const definition = task.workflowTask ?? {};
  return [text("Chose", chosen === "" ? "(empty)" : chosen), code("By", definition.expression ?? definition.caseExpression ?? definition.caseValueParam)];
}
