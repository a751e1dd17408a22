// What a user of the official JavaScript SDK does. Run it beside a `node_modules` that holds nothing
// but the SDK: `node story.mjs <url of the API>`. Each step prints its name when what it saw was right.

import assert from "node:assert/strict";
import {
  OrkesClients,
  TaskManager,
  conductorEventTask,
  inlineTask,
  setVariableTask,
  simpleTask,
  switchTask,
  waitTaskDuration,
  workflow,
} from "@io-orkes/conductor-javascript";

const DEADLINE_MS = 60_000;
const quiet = { info() {}, warn() {}, error: console.error, debug() {} };

const clients = await OrkesClients.from({ serverUrl: process.argv[2], useEnvVars: false, logger: quiet });
const workflows = clients.getWorkflowClient();
const metadata = clients.getMetadataClient();
const tasks = clients.getTaskClient();
const scheduler = clients.getSchedulerClient();
const events = clients.getEventClient();

async function until(found, what) {
  const deadline = Date.now() + DEADLINE_MS;
  while (Date.now() < deadline) {
    const value = await found();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`waited in vain for ${what}`);
}

async function ended(id, status) {
  await until(async () => (await workflows.getWorkflow(id, false)).status === status, `${id} ${status}`);
  return workflows.getWorkflow(id, true);
}

const start = (name, input, more = {}) => workflows.startWorkflow({ name, version: 1, input, ...more });

const report = (id, ref, status, output = {}) => workflows.updateTaskByRefName(ref, id, status, output);

const waitTask = (ref) => ({ name: ref, taskReferenceName: ref, type: "WAIT", inputParameters: {} });

const steps = {
  async registersDefinitions() {
    await metadata.registerTask({
      name: "js_greet", retryCount: 0, timeoutSeconds: 120, responseTimeoutSeconds: 60, totalTimeoutSeconds: 0,
    });
    assert.equal((await metadata.getTask("js_greet")).name, "js_greet");
    const story = workflow("js_story", [
      simpleTask("greet", "js_greet", { who: "${workflow.input.who}" }),
      inlineTask("shout", "$.text.toUpperCase()", "javascript"),
      setVariableTask("keep", { said: "${shout.output.result}" }),
      switchTask("choose", "${workflow.input.pause}", { yes: [waitTask("gate")] }, []),
      simpleTask("close", "js_close", {}),
    ]);
    story.tasks[1].inputParameters.text = "${greet.output.text}";
    story.version = 1;
    story.outputParameters = { said: "${shout.output.result}" };
    await metadata.registerWorkflowDef(story, true);
    await workflows.registerWorkflow(true, {
      name: "js_gates",
      version: 1,
      tasks: [waitTask("first"), waitTask("second")],
      outputParameters: { first: "${first.output.v}", second: "${second.output.v}" },
    });
    // This SDK sends a signal's output as a member `taskOutput`.
    await workflows.registerWorkflow(true, {
      name: "js_signals",
      version: 1,
      tasks: [waitTask("first"), waitTask("second")],
      outputParameters: { first: "${first.output.taskOutput.v}", second: "${second.output.taskOutput.v}" },
    });
    await workflows.registerWorkflow(true, {
      name: "js_sync",
      version: 1,
      tasks: [waitTaskDuration("moment", "0s"), inlineTask("sum", "20 + 22", "javascript")],
      outputParameters: { sum: "${sum.output.result}" },
    });
    assert.equal((await metadata.getWorkflowDef("js_story", 1)).tasks.length, 5);
  },

  async workersFinishAnExecution() {
    const seen = [];
    const manager = new TaskManager(
      clients.getClient(),
      [
        { taskDefName: "js_greet", execute: async (task) => greeted(task, seen) },
        { taskDefName: "js_close", execute: async () => ({ status: "COMPLETED", outputData: { by: "worker" } }) },
      ],
      { logger: quiet, options: { pollInterval: 10, concurrency: 2 } },
    );
    manager.startPolling();
    try {
      const id = await start("js_story", { who: "Ada", pause: "no" }, { correlationId: "js-1" });
      const found = await ended(id, "COMPLETED");
      assert.deepEqual(found.output, { said: "HELLO ADA" });
      assert.deepEqual(found.variables, { said: "HELLO ADA" });
      assert.deepEqual(seen, ["Ada"]);
    } finally {
      await manager.stopPolling();
    }
  },

  async executesAndWaits() {
    const run = await workflows.executeWorkflow({ name: "js_sync", version: 1, input: {} }, "js_sync", 1, "request-1");
    assert.equal(run.status, "COMPLETED");
    assert.deepEqual(run.output, { sum: 42 });
  },

  async executesUntilBlockedAndSignals() {
    const request = { name: "js_signals", version: 1, input: {} };
    const blocked = await workflows.executeWorkflow(
      request, "js_signals", 1, "request-2", "", 10, "DURABLE", "BLOCKING_TASK",
    );
    assert.equal(blocked.referenceTaskName, "first");
    assert.equal(blocked.isBlockingTask(), true);
    const id = blocked.targetWorkflowId;
    const next = await workflows.signal(id, "COMPLETED", { v: 1 }, "BLOCKING_TASK");
    assert.equal(next.referenceTaskName, "second");
    await workflows.signalAsync(id, "COMPLETED", { v: 2 });
    assert.deepEqual((await ended(id, "COMPLETED")).output, { first: 1, second: 2 });
  },

  async pausesAndResumes() {
    const id = await start("js_gates", {});
    await workflows.pause(id);
    assert.equal((await workflows.getWorkflowStatus(id, false, false)).status, "PAUSED");
    await workflows.resume(id);
    await report(id, "first", "COMPLETED", { v: 1 });
    await report(id, "second", "COMPLETED", { v: 2 });
    await ended(id, "COMPLETED");
  },

  async retriesRerunsAndRestarts() {
    const id = await start("js_gates", {});
    await report(id, "first", "FAILED");
    await ended(id, "FAILED");
    await workflows.retry(id, false);
    await report(id, "first", "COMPLETED", { v: 1 });
    await report(id, "second", "COMPLETED", { v: 2 });
    await ended(id, "COMPLETED");
    await workflows.goBackToTask(id, (task) => task.referenceTaskName === "second");
    await report(id, "second", "COMPLETED", { v: 3 });
    assert.deepEqual((await ended(id, "COMPLETED")).output, { first: 1, second: 3 });
    await workflows.restart(id, true);
    assert.equal((await workflows.getWorkflow(id, true)).tasks.length, 1);
    await workflows.terminate(id, "enough");
    assert.equal((await ended(id, "TERMINATED")).reasonForIncompletion, "enough");
  },

  async skipsATask() {
    const id = await start("js_gates", {});
    await workflows.skipTasksFromWorkflow(id, "second", { taskInput: {}, taskOutput: { v: 9 } });
    await report(id, "first", "COMPLETED", { v: 1 });
    const found = await ended(id, "COMPLETED");
    assert.equal(found.tasks[1].status, "SKIPPED");
    assert.deepEqual(found.output, { first: 1, second: 9 });
  },

  async updatesVariablesAndState() {
    const id = await start("js_gates", {});
    assert.equal((await workflows.updateVariables(id, { colour: "red" })).variables.colour, "red");
    const run = await workflows.updateState(
      id,
      { taskReferenceName: "first", taskResult: { status: "COMPLETED", outputData: { v: 7 } }, variables: { size: 3 } },
      "request-3", "first", 5,
    );
    assert.deepEqual(run.variables, { colour: "red", size: 3 });
    await workflows.terminate(id, "done");
  },

  async readsAndLogsTasks() {
    const id = await start("js_story", { who: "Bo", pause: "no" });
    const task = (await workflows.getWorkflow(id, true)).tasks[0];
    await tasks.addTaskLog?.(task.taskId, "half way");
    assert.equal((await workflows.getTask(task.taskId)).status, "SCHEDULED");
    await workflows.terminate(id, "done");
  },

  async keepsSchedules() {
    await scheduler.saveSchedule({
      name: "js_nightly", cronExpression: "0 0 3 * * ?", startWorkflowRequest: { name: "js_sync", version: 1 },
    });
    assert.equal((await scheduler.getSchedule("js_nightly")).cronExpression, "0 0 3 * * ?");
    assert.equal((await scheduler.getNextFewSchedules("0 0 3 * * ?", undefined, undefined, 3)).length, 3);
    await scheduler.pauseSchedule("js_nightly");
    assert.equal((await scheduler.getSchedule("js_nightly")).paused, true);
    await scheduler.resumeSchedule("js_nightly");
    await scheduler.deleteSchedule("js_nightly");
    assert.deepEqual(await scheduler.getAllSchedules("js_sync"), []);
  },

  async handlesEvents() {
    await workflows.registerWorkflow(true, {
      name: "js_publisher", version: 1, tasks: [conductorEventTask("tell", "heard")],
    });
    await events.addEventHandler({
      name: "js_handler",
      event: "conductor:js_publisher:heard",
      active: true,
      actions: [{ action: "start_workflow", start_workflow: { name: "js_sync", version: 1, correlationId: "js-event" } }],
    });
    await start("js_publisher", {});
    await until(async () => (await found("js-event")) === 1, "the started workflow");
    assert.equal((await events.getEventHandlersForEvent?.("conductor:js_publisher:heard", true))?.length ?? 1, 1);
    await events.removeEventHandler?.("js_handler");
  },

  async searches() {
    await until(async () => (await found("js-1")) === 1, "the first execution in the index");
    const byId = await workflows.getByCorrelationIds(
      { workflowNames: ["js_story"], correlationIds: ["js-1"] }, true, false,
    );
    assert.equal(byId["js-1"].length, 1);
  },

  async testsWithMocks() {
    const run = await workflows.testWorkflow({
      name: "js_story", version: 1, input: { who: "Mo", pause: "no" },
      taskRefToMockOutput: {
        greet: [{ status: "COMPLETED", output: { text: "mocked" } }],
        close: [{ status: "COMPLETED", output: {} }],
      },
    });
    assert.equal(run.status, "COMPLETED");
    assert.deepEqual(run.output, { said: "MOCKED" });
  },

  async deletes() {
    await metadata.unregisterWorkflow("js_gates", 1);
    await metadata.unregisterTask("js_greet");
    assert.equal((await metadata.getAllTaskDefs()).some((each) => each.name === "js_greet"), false);
  },
};

async function greeted(task, seen) {
  seen.push(task.inputData.who);
  return { status: "COMPLETED", outputData: { text: `hello ${task.inputData.who}` } };
}

async function found(correlationId) {
  return (await workflows.search(0, 10, `correlationId = '${correlationId}'`, "*")).totalHits;
}

for (const [name, step] of Object.entries(steps)) {
  await step();
  console.log(name);
}
process.exit(0);
