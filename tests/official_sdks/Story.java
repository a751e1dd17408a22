// What a user of the official Java client does. Each step prints its name when what it saw was right.

import com.netflix.conductor.client.automator.TaskRunnerConfigurer;
import com.netflix.conductor.client.exception.ConductorClientException;
import com.netflix.conductor.client.http.ConductorClient;
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
import io.orkes.conductor.client.OrkesClients;
import io.orkes.conductor.client.model.SaveScheduleRequest;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.conductoross.conductor.client.FileClient;
import org.conductoross.conductor.client.FileClientProperties;
import org.conductoross.conductor.client.model.file.FileMetadata;
import org.conductoross.conductor.common.model.ReturnStrategy;
import org.conductoross.conductor.common.model.SignalResponse;
import org.conductoross.conductor.common.model.WorkflowRun;
import org.conductoross.conductor.sdk.file.FileUploadOptions;

public final class Story {
    private static final long DEADLINE_MS = 60_000;
    private static final int PART_BYTES = 5 * 1024 * 1024;

    private final OrkesClients clients;
    private final FileClient files;

    private Story(String url) {
        ConductorClient client = ConductorClient.builder().basePath(url).build();
        clients = new OrkesClients(client);
        FileClientProperties properties = new FileClientProperties();
        properties.setRetryCount(0);
        properties.setMultipartThreshold(PART_BYTES);
        properties.setMultipartPartSize(PART_BYTES);
        files = new FileClient(client, properties);
    }

    public static void main(String[] arguments) throws Exception {
        Story story = new Story(arguments[0]);
        story.tell("registersDefinitions", story::registersDefinitions);
        story.tell("workersFinishAnExecution", story::workersFinishAnExecution);
        story.tell("executesAndWaits", story::executesAndWaits);
        story.tell("executesUntilBlockedAndSignals", story::executesUntilBlockedAndSignals);
        story.tell("pausesAndResumes", story::pausesAndResumes);
        story.tell("retriesRerunsAndRestarts", story::retriesRerunsAndRestarts);
        story.tell("skipsAndUpdatesVariables", story::skipsAndUpdatesVariables);
        story.tell("actsInBulk", story::actsInBulk);
        story.tell("readsTasksAndQueues", story::readsTasksAndQueues);
        story.tell("keepsSchedules", story::keepsSchedules);
        story.tell("keepsEventHandlers", story::keepsEventHandlers);
        story.tell("keepsFiles", story::keepsFiles);
        story.tell("searches", story::searches);
        story.tell("testsWithMocks", story::testsWithMocks);
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
        TaskDef greet = new TaskDef("java_greet", "says hello", "team@example.com", 0, 120, 60);
        clients.getMetadataClient().registerTaskDefs(List.of(greet));
        same("java_greet", clients.getMetadataClient().getTaskDef("java_greet").getName());
        WorkflowTask shout = task("shout", "shout", "INLINE");
        shout.setInputParameters(Map.of(
                "evaluatorType", "javascript", "expression", "$.text.toUpperCase()", "text", "${greet.output.text}"));
        WorkflowTask greeting = task("java_greet", "greet", "SIMPLE");
        greeting.setInputParameters(Map.of("who", "${workflow.input.who}"));
        register("java_story", Map.of("said", "${shout.output.result}"), greeting, shout,
                task("java_close", "close", "SIMPLE"));
        register("java_gates", Map.of("first", "${first.output.v}", "second", "${second.output.v}"),
                task("first", "first", "WAIT"), task("second", "second", "WAIT"));
        WorkflowTask sum = task("sum", "sum", "INLINE");
        sum.setInputParameters(Map.of("evaluatorType", "javascript", "expression", "20 + 22"));
        register("java_sync", Map.of("sum", "${sum.output.result}"), sum);
        same(3, clients.getMetadataClient().getWorkflowDef("java_story", 1).getTasks().size());
    }

    private void workersFinishAnExecution() throws Exception {
        Worker greet = Worker.create("java_greet", given -> done(given, Map.of(
                "text", "hello " + given.getInputData().get("who"))));
        Worker close = Worker.create("java_close", given -> done(given, Map.of("by", "worker")));
        TaskRunnerConfigurer runner = new TaskRunnerConfigurer.Builder(
                clients.getTaskClient(), List.of(greet, close)).withThreadCount(2).build();
        runner.init();
        try {
            StartWorkflowRequest request = request("java_story", Map.of("who", "Ada"));
            request.setCorrelationId("java-1");
            String id = clients.getWorkflowClient().startWorkflow(request);
            same(Map.of("said", "HELLO ADA"), ended(id, "COMPLETED").getOutput());
        } finally {
            runner.shutdown();
        }
    }

    private void executesAndWaits() throws Exception {
        WorkflowRun run = clients.getWorkflowClient()
                .executeWorkflow(request("java_sync", Map.of()), "", 10).get(20, TimeUnit.SECONDS);
        same("COMPLETED", run.getStatus().name());
        same(Map.of("sum", 42), run.getOutput());
    }

    private void executesUntilBlockedAndSignals() throws Exception {
        SignalResponse blocked = clients.getWorkflowClient()
                .executeWorkflowWithReturnStrategy(request("java_gates", Map.of()), ReturnStrategy.BLOCKING_TASK)
                .get(20, TimeUnit.SECONDS);
        same("first", blocked.getReferenceTaskName());
        String id = blocked.getTargetWorkflowId();
        SignalResponse next = clients.getTaskClient()
                .signal(id, Task.Status.COMPLETED, Map.of("v", 1), ReturnStrategy.BLOCKING_TASK);
        same("second", next.getReferenceTaskName());
        clients.getTaskClient().signalAsync(id, Task.Status.COMPLETED, Map.of("v", 2));
        same(Map.of("first", 1, "second", 2), ended(id, "COMPLETED").getOutput());
    }

    private void pausesAndResumes() throws Exception {
        String id = start("java_gates");
        clients.getWorkflowClient().pauseWorkflow(id);
        same("PAUSED", status(id));
        clients.getWorkflowClient().resumeWorkflow(id);
        report(id, "first", 1);
        report(id, "second", 2);
        ended(id, "COMPLETED");
    }

    private void retriesRerunsAndRestarts() throws Exception {
        String id = start("java_gates");
        clients.getTaskClient().updateTask(id, "first", TaskResult.Status.FAILED, Map.of());
        ended(id, "FAILED");
        clients.getWorkflowClient().retryLastFailedTask(id);
        report(id, "first", 1);
        report(id, "second", 2);
        Workflow found = ended(id, "COMPLETED");
        RerunWorkflowRequest again = new RerunWorkflowRequest();
        again.setReRunFromWorkflowId(id);
        again.setReRunFromTaskId(found.getTaskByRefName("second").getTaskId());
        same(id, clients.getWorkflowClient().rerunWorkflow(id, again));
        report(id, "second", 3);
        same(Map.of("first", 1, "second", 3), ended(id, "COMPLETED").getOutput());
        clients.getWorkflowClient().restart(id, false);
        same("RUNNING", status(id));
        clients.getWorkflowClient().terminateWorkflow(id, "enough");
        same("enough", ended(id, "TERMINATED").getReasonForIncompletion());
    }

    private void skipsAndUpdatesVariables() throws Exception {
        String id = start("java_gates");
        clients.getWorkflowClient().skipTaskFromWorkflow(id, "second");
        same("red", clients.getWorkflowClient().updateVariables(id, Map.of("colour", "red")).getVariables().get("colour"));
        report(id, "first", 1);
        same("SKIPPED", ended(id, "COMPLETED").getTaskByRefName("second").getStatus().name());
    }

    private void actsInBulk() throws Exception {
        List<String> ids = List.of(start("java_gates"), start("java_gates"));
        same(ids, clients.getWorkflowClient().pauseWorkflows(ids).getBulkSuccessfulResults());
        same(ids, clients.getWorkflowClient().resumeWorkflows(ids).getBulkSuccessfulResults());
        same(ids, clients.getWorkflowClient().terminateWorkflows(ids, "bulk").getBulkSuccessfulResults());
        same(ids, clients.getWorkflowClient().restartWorkflows(ids, false).getBulkSuccessfulResults());
        same(ids, clients.getWorkflowClient().terminateWorkflows(ids, "bulk").getBulkSuccessfulResults());
    }

    private void readsTasksAndQueues() throws Exception {
        String id = start("java_story");
        same(1, clients.getTaskClient().getQueueSizeForTask("java_greet"));
        Task taken = clients.getTaskClient().pollTask("java_greet", "story", null);
        clients.getTaskClient().logMessageForTask(taken.getTaskId(), "half way");
        same("half way", clients.getTaskClient().getTaskLogs(taken.getTaskId()).get(0).getLog());
        same("IN_PROGRESS", clients.getTaskClient().getTaskDetails(taken.getTaskId()).getStatus().name());
        same(true, clients.getTaskClient().getPollData("java_greet").size() > 0);
        clients.getWorkflowClient().terminateWorkflow(id, "done");
    }

    private void keepsSchedules() {
        SaveScheduleRequest schedule = new SaveScheduleRequest().name("java_nightly").cronExpression("0 0 3 * * ?")
                .startWorkflowRequest(request("java_sync", Map.of()));
        clients.getSchedulerClient().saveSchedule(schedule);
        same("0 0 3 * * ?", clients.getSchedulerClient().getSchedule("java_nightly").getCronExpression());
        same(3, clients.getSchedulerClient().getNextFewSchedules("0 0 3 * * ?", null, null, 3).size());
        clients.getSchedulerClient().pauseSchedule("java_nightly");
        same(true, clients.getSchedulerClient().getSchedule("java_nightly").isPaused());
        clients.getSchedulerClient().resumeSchedule("java_nightly");
        clients.getSchedulerClient().deleteSchedule("java_nightly");
        same(0, clients.getSchedulerClient().getAllSchedules("java_sync").size());
    }

    private void keepsEventHandlers() {
        EventHandler handler = new EventHandler();
        handler.setName("java_handler");
        handler.setEvent("conductor:java_story:heard");
        handler.setActive(true);
        EventHandler.Action action = new EventHandler.Action();
        action.setAction(EventHandler.Action.Type.start_workflow);
        EventHandler.StartWorkflow started = new EventHandler.StartWorkflow();
        started.setName("java_sync");
        action.setStart_workflow(started);
        handler.setActions(new ArrayList<>(List.of(action)));
        clients.getEventClient().registerEventHandler(handler);
        same(1, clients.getEventClient().getEventHandlers("conductor:java_story:heard", true).size());
        clients.getEventClient().unregisterEventHandler("java_handler");
        same(0, clients.getEventClient().getEventHandlers("conductor:java_story:heard", true).size());
    }

    private void keepsFiles() throws Exception {
        String id = start("java_gates");
        Path there = Files.createTempFile("story", ".bin");
        Path back = Files.createTempDirectory("story").resolve("back.bin");
        byte[] bytes = new byte[2 * PART_BYTES + 1];
        new Random(1).nextBytes(bytes);
        Files.write(there, bytes);
        String handle = files.upload(id, there, new FileUploadOptions().setFileName("größe.bin").setContentType("image/png"));
        FileMetadata known = files.getMetadata(id, handle);
        same("größe.bin", known.getFileName());
        same("image/png", known.getContentType());
        same((long) bytes.length, known.getFileSize());
        same(id, known.getWorkflowId());
        same("UPLOADED", known.getUploadStatus().name());
        files.download(id, handle, back);
        same(-1L, Files.mismatch(there, back));
        String small = files.upload(id, new ByteArrayInputStream("hello".getBytes()), new FileUploadOptions().setFileName("small.txt"));
        same("hello", Files.readString(files.download(id, small, back)));
        String stranger = start("java_gates");
        try {
            files.download(stranger, handle, back);
            throw new AssertionError("a stranger read the file");
        } catch (ConductorClientException refused) {
            same(403, refused.getStatus());
            same("hello", Files.readString(back));
        }
        clients.getWorkflowClient().terminateWorkflows(List.of(id, stranger), "done");
    }

    private void searches() throws Exception {
        String query = "workflowType = 'java_story' AND correlationId = 'java-1'";
        until(() -> clients.getWorkflowClient().search(query).getTotalHits() == 1, "the first execution in the index");
        same("java-1", clients.getWorkflowClient().searchV2(query).getResults().get(0).getCorrelationId());
        same(1, clients.getWorkflowClient().getWorkflows("java_story", "java-1", true, false).size());
        until(() -> clients.getTaskClient().search("taskType = 'java_greet' AND status = 'COMPLETED'").getTotalHits() > 0,
                "its task in the index");
    }

    private void testsWithMocks() {
        WorkflowTestRequest test = new WorkflowTestRequest();
        test.setName("java_story");
        test.setVersion(1);
        test.setInput(Map.of("who", "Mo"));
        test.setTaskRefToMockOutput(Map.of(
                "greet", List.of(new WorkflowTestRequest.TaskMock(TaskResult.Status.COMPLETED, Map.of("text", "mocked"))),
                "close", List.of(new WorkflowTestRequest.TaskMock(TaskResult.Status.COMPLETED, Map.of()))));
        Workflow run = clients.getWorkflowClient().testWorkflow(test);
        same("COMPLETED", run.getStatus().name());
        same(Map.of("said", "MOCKED"), run.getOutput());
    }

    private void deletes() {
        clients.getMetadataClient().unregisterWorkflowDef("java_gates", 1);
        clients.getMetadataClient().unregisterTaskDef("java_greet");
        same(false, clients.getMetadataClient().getAllTaskDefs().stream().anyMatch(d -> d.getName().equals("java_greet")));
    }

    // -- words ---------------------------------------------------------------------------------------

    private static WorkflowTask task(String name, String ref, String type) {
        WorkflowTask task = new WorkflowTask();
        task.setName(name);
        task.setTaskReferenceName(ref);
        task.setType(type);
        return task;
    }

    private void register(String name, Map<String, Object> output, WorkflowTask... tasks) {
        WorkflowDef definition = new WorkflowDef();
        definition.setName(name);
        definition.setVersion(1);
        definition.setOwnerEmail("team@example.com");
        definition.setOutputParameters(output);
        definition.setTasks(new ArrayList<>(List.of(tasks)));
        definition.setTimeoutSeconds(600);
        clients.getMetadataClient().updateWorkflowDefs(List.of(definition));
    }

    private static StartWorkflowRequest request(String name, Map<String, Object> input) {
        StartWorkflowRequest request = new StartWorkflowRequest();
        request.setName(name);
        request.setVersion(1);
        request.setInput(input);
        return request;
    }

    private String start(String name) {
        return clients.getWorkflowClient().startWorkflow(request(name, Map.of("who", "Bo")));
    }

    private void report(String id, String ref, int value) {
        clients.getTaskClient().updateTask(id, ref, TaskResult.Status.COMPLETED, Map.of("v", value));
    }

    private static TaskResult done(Task task, Map<String, Object> output) {
        TaskResult result = new TaskResult(task);
        result.setStatus(TaskResult.Status.COMPLETED);
        result.setOutputData(output);
        return result;
    }

    private String status(String id) {
        return clients.getWorkflowClient().getWorkflow(id, false).getStatus().name();
    }

    private Workflow ended(String id, String status) throws Exception {
        until(() -> status(id).equals(status), id + " " + status);
        return clients.getWorkflowClient().getWorkflow(id, true);
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
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }
}
