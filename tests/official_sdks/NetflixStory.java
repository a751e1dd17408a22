// What a user of Netflix's Java client (the last of its line, 3.15) does, whose servers many still run.
// Each step prints its name when what it saw was right.

import com.netflix.conductor.client.automator.TaskRunnerConfigurer;
import com.netflix.conductor.client.config.ConductorClientConfiguration;
import com.netflix.conductor.client.config.DefaultConductorClientConfiguration;
import com.netflix.conductor.client.exception.ConductorClientException;
import com.netflix.conductor.client.http.EventClient;
import com.netflix.conductor.client.http.MetadataClient;
import com.netflix.conductor.client.http.TaskClient;
import com.netflix.conductor.client.http.WorkflowClient;
import com.netflix.conductor.client.worker.Worker;
import com.netflix.conductor.common.metadata.events.EventHandler;
import com.netflix.conductor.common.metadata.tasks.Task;
import com.netflix.conductor.common.metadata.tasks.TaskDef;
import com.netflix.conductor.common.metadata.tasks.TaskResult;
import com.netflix.conductor.common.metadata.workflow.RerunWorkflowRequest;
import com.netflix.conductor.common.metadata.workflow.StartWorkflowRequest;
import com.netflix.conductor.common.metadata.workflow.WorkflowDef;
import com.netflix.conductor.common.metadata.workflow.WorkflowTask;
import com.netflix.conductor.common.run.Workflow;
import com.netflix.conductor.common.run.WorkflowTestRequest;
import com.sun.jersey.api.client.config.DefaultClientConfig;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;

public final class NetflixStory {
    private static final long DEADLINE_MS = 60_000;
    private static final ConductorClientConfiguration PAYLOADS = new DefaultConductorClientConfiguration() {
        @Override
        public boolean isExternalPayloadStorageEnabled() {
            return true;
        }
    };

    private final MetadataClient metadata = new MetadataClient();
    private final WorkflowClient workflows = new WorkflowClient(new DefaultClientConfig(), PAYLOADS, null);
    private final TaskClient tasks = new TaskClient(new DefaultClientConfig(), PAYLOADS, null);
    private final EventClient events = new EventClient();

    private NetflixStory(String url) {
        metadata.setRootURI(url + "/");
        workflows.setRootURI(url + "/");
        tasks.setRootURI(url + "/");
        events.setRootURI(url + "/");
    }

    public static void main(String[] arguments) throws Exception {
        NetflixStory story = new NetflixStory(arguments[0]);
        story.tell("registersDefinitions", story::registersDefinitions);
        story.tell("workersFinishAnExecution", story::workersFinishAnExecution);
        story.tell("aWorkerThatThrowsIsTriedAgain", story::aWorkerThatThrowsIsTriedAgain);
        story.tell("largePayloadsGoAside", story::largePayloadsGoAside);
        story.tell("pollsByHand", story::pollsByHand);
        story.tell("pausesAndResumes", story::pausesAndResumes);
        story.tell("retriesRerunsAndRestarts", story::retriesRerunsAndRestarts);
        story.tell("skipsATask", story::skipsATask);
        story.tell("readsQueues", story::readsQueues);
        story.tell("terminatesMany", story::terminatesMany);
        story.tell("keepsEventHandlers", story::keepsEventHandlers);
        story.tell("searches", story::searches);
        story.tell("testsWithMocks", story::testsWithMocks);
        story.tell("isToldWhatIsWrong", story::isToldWhatIsWrong);
        story.tell("deletes", story::deletes);
        System.exit(0);
    }

    private interface Step {
        void run() throws Exception;
    }

    private void tell(String name, Step step) throws Exception {
        step.run();
        System.out.println(name);
    }

    // -- steps ---------------------------------------------------------------------------------------

    private void registersDefinitions() {
        TaskDef greet = new TaskDef("n_greet", "says hello", "team@example.com", 0, 120, 60);
        TaskDef flaky = new TaskDef("n_flaky", "fails at first", "team@example.com", 2, 120, 60);
        flaky.setRetryDelaySeconds(1);
        metadata.registerTaskDefs(List.of(greet, flaky));
        greet.setDescription("says hello, loudly");
        metadata.updateTaskDef(greet);
        same("says hello, loudly", metadata.getTaskDef("n_greet").getDescription());
        WorkflowTask greeting = task("n_greet", "greet", "SIMPLE");
        greeting.setInputParameters(Map.of("who", "${workflow.input.who}"));
        WorkflowTask shout = task("shout", "shout", "INLINE");
        shout.setInputParameters(Map.of(
                "evaluatorType", "javascript", "expression", "$.text.toUpperCase()", "text", "${greet.output.text}"));
        metadata.validateWorkflowDef(definition("n_story", Map.of(), greeting));
        metadata.registerWorkflowDef(definition("n_story", Map.of("said", "${shout.output.result}"), greeting, shout));
        metadata.updateWorkflowDefs(List.of(
                definition("n_gates", Map.of("first", "${first.output.v}", "second", "${second.output.v}"),
                        task("first", "first", "WAIT"), task("second", "second", "WAIT")),
                definition("n_flaky_story", Map.of("tried", "${flaky.output.tried}"), task("n_flaky", "flaky", "SIMPLE"))));
        same(2, metadata.getWorkflowDef("n_story", 1).getTasks().size());
        same(true, metadata.getAllWorkflowsWithLatestVersions().stream().anyMatch(d -> d.getName().equals("n_gates")));
    }

    private void workersFinishAnExecution() throws Exception {
        Worker greet = Worker.create("n_greet", given -> done(given, Map.of(
                "text", "hello " + given.getInputData().get("who"))));
        try (Running ignored = new Running(greet)) {
            StartWorkflowRequest request = request("n_story", Map.of("who", "Ada"));
            request.setCorrelationId("netflix-1");
            String id = workflows.startWorkflow(request);
            same(Map.of("said", "HELLO ADA"), ended(id, "COMPLETED").getOutput());
        }
    }

    private void aWorkerThatThrowsIsTriedAgain() throws Exception {
        AtomicInteger tried = new AtomicInteger();
        Worker flaky = Worker.create("n_flaky", given -> {
            if (tried.incrementAndGet() == 1) {
                throw new IllegalStateException("not yet");
            }
            return done(given, Map.of("tried", tried.get()));
        });
        try (Running ignored = new Running(flaky)) {
            Workflow found = ended(start("n_flaky_story"), "COMPLETED");
            same(Map.of("tried", 2), found.getOutput());
            same("FAILED", found.getTasks().get(0).getStatus().name());
        }
    }

    private void largePayloadsGoAside() throws Exception {
        List<String> large = Collections.nCopies(6, "x".repeat(1 << 20)); // more than it sends in a request
        Worker greet = Worker.create("n_greet", given -> done(given, Map.of(
                "text", "hi", "kept", given.getInputData().get("who"))));
        try (Running ignored = new Running(greet)) {
            String id = workflows.startWorkflow(request("n_story", Map.of("who", large)));
            Workflow found = ended(id, "COMPLETED");
            same(Map.of("said", "HI"), found.getOutput());
            same(true, found.getExternalInputPayloadStoragePath() != null);
            same(true, found.getTasks().get(0).getExternalOutputPayloadStoragePath() != null);
        }
    }

    private void pollsByHand() throws Exception {
        String id = start("n_story");
        Task task = tasks.pollTask("n_greet", "hand", "");
        same(id, task.getWorkflowInstanceId());
        tasks.logMessageForTask(task.getTaskId(), "half way");
        same("half way", tasks.getTaskLogs(task.getTaskId()).get(0).getLog());
        TaskResult half = new TaskResult(task);
        half.setStatus(TaskResult.Status.IN_PROGRESS);
        half.setOutputData(Map.of("text", "half"));
        tasks.updateTask(half);
        Task again = tasks.batchPollTasksByTaskType("n_greet", "hand", 5, 1000).get(0);
        same(task.getTaskId(), again.getTaskId());
        same("n_greet", tasks.getTaskDetails(task.getTaskId()).getTaskDefName());
        tasks.updateTask(done(again, Map.of("text", "done")));
        same(Map.of("said", "DONE"), ended(id, "COMPLETED").getOutput());
        same(0, tasks.batchPollTasksByTaskType("n_greet", "hand", 5, 50).size());
    }

    private void pausesAndResumes() throws Exception {
        String id = start("n_gates");
        workflows.pauseWorkflow(id);
        same("PAUSED", status(id));
        workflows.resumeWorkflow(id);
        report(id, "first", TaskResult.Status.COMPLETED, 1);
        report(id, "second", TaskResult.Status.COMPLETED, 2);
        same(Map.of("first", 1, "second", 2), ended(id, "COMPLETED").getOutput());
    }

    private void retriesRerunsAndRestarts() throws Exception {
        String id = start("n_gates");
        report(id, "first", TaskResult.Status.FAILED, 0);
        ended(id, "FAILED");
        workflows.retryLastFailedTask(id);
        report(id, "first", TaskResult.Status.COMPLETED, 1);
        report(id, "second", TaskResult.Status.COMPLETED, 2);
        Workflow found = ended(id, "COMPLETED");
        RerunWorkflowRequest again = new RerunWorkflowRequest();
        again.setReRunFromWorkflowId(id);
        again.setReRunFromTaskId(found.getTasks().get(found.getTasks().size() - 1).getTaskId());
        same(id, workflows.rerunWorkflow(id, again));
        report(id, "second", TaskResult.Status.COMPLETED, 3);
        same(Map.of("first", 1, "second", 3), ended(id, "COMPLETED").getOutput());
        workflows.restart(id, false);
        same(1, workflows.getWorkflow(id, true).getTasks().size());
        workflows.runDecider(id);
        workflows.resetCallbacksForInProgressTasks(id);
        workflows.terminateWorkflow(id, "enough");
        same("enough", ended(id, "TERMINATED").getReasonForIncompletion());
    }

    private void skipsATask() throws Exception {
        String id = start("n_gates");
        workflows.skipTaskFromWorkflow(id, "second");
        report(id, "first", TaskResult.Status.COMPLETED, 1);
        same("SKIPPED", ended(id, "COMPLETED").getTasks().get(1).getStatus().name());
    }

    private void readsQueues() throws Exception {
        String id = start("n_story");
        same(1, tasks.getQueueSizeForTask("n_greet"));
        same("hand", tasks.getPollData("n_greet").get(0).getWorkerId());
        same(true, !tasks.getAllPollData().isEmpty());
        tasks.requeuePendingTasksByTaskType("n_greet");
        same(List.of(id), workflows.getRunningWorkflow("n_story", 1));
        long now = System.currentTimeMillis();
        until(() -> workflows.getWorkflowsByTimePeriod("n_story", 1, now - 600_000, now + 600_000).contains(id), id);
        workflows.terminateWorkflow(id, "done");
    }

    private void terminatesMany() {
        List<String> ids = List.of(start("n_gates"), start("n_gates"), "missing");
        var answer = workflows.terminateWorkflows(ids, "all of them");
        same(2, answer.getBulkSuccessfulResults().size());
        same(1, answer.getBulkErrorResults().size());
    }

    private void keepsEventHandlers() {
        EventHandler handler = new EventHandler();
        handler.setName("n_handler");
        handler.setEvent("conductor:n_publisher:heard");
        EventHandler.Action action = new EventHandler.Action();
        action.setAction(EventHandler.Action.Type.start_workflow);
        EventHandler.StartWorkflow started = new EventHandler.StartWorkflow();
        started.setName("n_gates");
        action.setStart_workflow(started);
        handler.setActions(List.of(action));
        events.registerEventHandler(handler);
        handler.setActive(true);
        events.updateEventHandler(handler);
        same(1, events.getEventHandlers("conductor:n_publisher:heard", true).size());
        events.unregisterEventHandler("n_handler");
        same(0, events.getEventHandlers("conductor:n_publisher:heard", false).size());
    }

    private void searches() throws Exception {
        until(() -> workflows.search("correlationId = 'netflix-1'").getTotalHits() == 1, "the first execution in the index");
        same("n_story", workflows.search(0, 5, "", "*", "correlationId = 'netflix-1'").getResults().get(0).getWorkflowType());
        same("netflix-1", workflows.searchV2("correlationId = 'netflix-1'").getResults().get(0).getCorrelationId());
        same(1, workflows.getWorkflows("n_story", "netflix-1", true, false).size());
        until(() -> tasks.search("taskType = 'n_greet'").getTotalHits() > 0, "tasks in the index");
        same("n_greet", tasks.searchV2(0, 1, "", "*", "taskType = 'n_greet'").getResults().get(0).getTaskDefName());
    }

    private void testsWithMocks() {
        WorkflowTestRequest request = new WorkflowTestRequest();
        request.setName("n_story");
        request.setVersion(1);
        request.setInput(Map.of("who", "Mo"));
        request.setTaskRefToMockOutput(Map.of("greet", List.of(
                new WorkflowTestRequest.TaskMock(TaskResult.Status.COMPLETED, Map.of("text", "mocked")))));
        Workflow found = workflows.testWorkflow(request);
        same("COMPLETED", found.getStatus().name());
        same(Map.of("said", "MOCKED"), found.getOutput());
    }

    private void isToldWhatIsWrong() {
        same(404, refused(() -> workflows.getWorkflow("missing", true)).getStatus());
        same(404, refused(() -> workflows.startWorkflow(request("nowhere", Map.of()))).getStatus());
        ConductorClientException wrong = refused(() -> {
            metadata.registerWorkflowDef(definition("n_wrong", Map.of(), task("a", "a", "WAIT"), task("a", "a", "WAIT")));
            return null;
        });
        same(400, wrong.getStatus());
        same(true, wrong.getMessage().contains("a"));
    }

    private void deletes() {
        String id = start("n_gates");
        workflows.deleteWorkflow(id, false);
        same(404, refused(() -> workflows.getWorkflow(id, true)).getStatus());
        metadata.unregisterWorkflowDef("n_gates", 1);
        metadata.unregisterTaskDef("n_greet");
        same(404, refused(() -> metadata.getTaskDef("n_greet")).getStatus());
    }

    // -- words ---------------------------------------------------------------------------------------

    private final class Running implements AutoCloseable {
        private final TaskRunnerConfigurer runner;

        private Running(Worker worker) {
            runner = new TaskRunnerConfigurer.Builder(tasks, List.of(worker)).withThreadCount(2).build();
            runner.init();
        }

        @Override
        public void close() {
            runner.shutdown();
        }
    }

    private static WorkflowTask task(String name, String ref, String type) {
        WorkflowTask task = new WorkflowTask();
        task.setName(name);
        task.setTaskReferenceName(ref);
        task.setType(type);
        return task;
    }

    private static WorkflowDef definition(String name, Map<String, Object> output, WorkflowTask... tasks) {
        WorkflowDef definition = new WorkflowDef();
        definition.setName(name);
        definition.setVersion(1);
        definition.setOwnerEmail("team@example.com");
        definition.setOutputParameters(output);
        definition.setTasks(new ArrayList<>(List.of(tasks)));
        definition.setTimeoutSeconds(600);
        return definition;
    }

    private static StartWorkflowRequest request(String name, Map<String, Object> input) {
        StartWorkflowRequest request = new StartWorkflowRequest();
        request.setName(name);
        request.setVersion(1);
        request.setInput(input);
        return request;
    }

    private String start(String name) {
        return workflows.startWorkflow(request(name, Map.of("who", "Bo")));
    }

    private void report(String id, String ref, TaskResult.Status status, int value) throws Exception {
        Task[] found = new Task[1];
        until(() -> {
            found[0] = workflows.getWorkflow(id, true).getTasks().stream()
                    .filter(t -> t.getReferenceTaskName().equals(ref) && !t.getStatus().isTerminal())
                    .findFirst().orElse(null);
            return found[0] != null;
        }, ref);
        TaskResult result = new TaskResult(found[0]);
        result.setStatus(status);
        result.setOutputData(Map.of("v", value));
        tasks.updateTask(result);
    }

    private static TaskResult done(Task task, Map<String, Object> output) {
        TaskResult result = new TaskResult(task);
        result.setStatus(TaskResult.Status.COMPLETED);
        result.setOutputData(output);
        return result;
    }

    private String status(String id) {
        return workflows.getWorkflow(id, false).getStatus().name();
    }

    private Workflow ended(String id, String status) throws Exception {
        until(() -> status(id).equals(status), id + " " + status);
        return workflows.getWorkflow(id, true);
    }

    private static ConductorClientException refused(Callable<Object> asked) {
        try {
            asked.call();
        } catch (ConductorClientException refused) {
            return refused;
        } catch (Exception other) {
            throw new AssertionError(other);
        }
        throw new AssertionError("was not refused");
    }

    private static void until(Callable<Boolean> found, String what) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (System.currentTimeMillis() < deadline) {
            if (found.call()) {
                return;
            }
            Thread.sleep(50);
        }
        throw new AssertionError("waited in vain for " + what);
    }

    private static void same(Object expected, Object found) {
        if (!expected.equals(found)) {
            String told = String.valueOf(found);
            throw new AssertionError("expected " + clipped(String.valueOf(expected)) + ", found " + clipped(told));
        }
    }

    private static String clipped(String text) {
        return text.length() > 200 ? text.substring(0, 200) + "…" : text;
    }
}
