// What a user of workflows as code, in the official Java client, does: workers are annotated methods,
// definitions are objects. Each step prints its name when what it saw was right.

import com.netflix.conductor.client.http.ConductorClient;
import com.netflix.conductor.common.run.Workflow;
import com.netflix.conductor.sdk.workflow.def.ConductorWorkflow;
import com.netflix.conductor.sdk.workflow.def.WorkflowBuilder;
import com.netflix.conductor.sdk.workflow.def.tasks.DoWhile;
import com.netflix.conductor.sdk.workflow.def.tasks.Dynamic;
import com.netflix.conductor.sdk.workflow.def.tasks.DynamicFork;
import com.netflix.conductor.sdk.workflow.def.tasks.DynamicForkInput;
import com.netflix.conductor.sdk.workflow.def.tasks.ForkJoin;
import com.netflix.conductor.sdk.workflow.def.tasks.JQ;
import com.netflix.conductor.sdk.workflow.def.tasks.Javascript;
import com.netflix.conductor.sdk.workflow.def.tasks.SetVariable;
import com.netflix.conductor.sdk.workflow.def.tasks.SimpleTask;
import com.netflix.conductor.sdk.workflow.def.tasks.SubWorkflow;
import com.netflix.conductor.sdk.workflow.def.tasks.Switch;
import com.netflix.conductor.sdk.workflow.def.tasks.Task;
import com.netflix.conductor.sdk.workflow.def.tasks.Terminate;
import com.netflix.conductor.sdk.workflow.def.tasks.Wait;
import com.netflix.conductor.sdk.workflow.executor.WorkflowExecutor;
import com.netflix.conductor.sdk.workflow.executor.task.NonRetryableException;
import com.netflix.conductor.sdk.workflow.executor.task.TaskContext;
import com.netflix.conductor.sdk.workflow.task.InputParam;
import com.netflix.conductor.sdk.workflow.task.OutputParam;
import com.netflix.conductor.sdk.workflow.task.WorkerTask;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public final class SdkStory {
    private static final long DEADLINE_S = 60;

    private final WorkflowExecutor executor;

    private SdkStory(String url) {
        executor = new WorkflowExecutor(ConductorClient.builder().basePath(url).build(), 10);
        executor.initWorkersFromInstances(List.of(new Workers()));
    }

    public static void main(String[] arguments) throws Exception {
        SdkStory story = new SdkStory(arguments[0]);
        story.tell("runsAnnotatedWorkers", story::runsAnnotatedWorkers);
        story.tell("runsADefinitionThatIsSentAlong", story::runsADefinitionThatIsSentAlong);
        story.tell("branches", story::branches);
        story.tell("forksWhatAWorkerSays", story::forksWhatAWorkerSays);
        story.tell("loops", story::loops);
        story.tell("nests", story::nests);
        story.tell("triesAgainAndGivesUp", story::triesAgainAndGivesUp);
        story.tell("putsItselfOff", story::putsItselfOff);
        story.tell("waitsAndEnds", story::waitsAndEnds);
        System.exit(0);
    }

    /** The methods that carry tasks out. */
    public static final class Workers {
        private final AtomicInteger tries = new AtomicInteger();

        @WorkerTask("sdk_greet")
        public @OutputParam("text") String greet(@InputParam("who") String who) {
            return "hello " + who;
        }

        @WorkerTask(value = "sdk_add", threadCount = 2, pollingInterval = 10)
        public Map<String, Object> add(@InputParam("a") int a, @InputParam("b") int b) {
            return Map.of("sum", a + b);
        }

        @WorkerTask("sdk_branches")
        public DynamicForkInput branches(@InputParam("many") int many) {
            List<Task<?>> tasks = new ArrayList<>();
            Map<String, Object> inputs = new HashMap<>();
            for (int i = 0; i < many; i++) {
                tasks.add(new SimpleTask("sdk_add", "add_" + i));
                inputs.put("add_" + i, Map.of("a", i, "b", 1));
            }
            return new DynamicForkInput(tasks, inputs);
        }

        @WorkerTask("sdk_flaky")
        public Map<String, Object> flaky(@InputParam("for") String reason) {
            if ("good".equals(reason)) {
                throw new NonRetryableException("never");
            }
            if (tries.incrementAndGet() == 1) {
                throw new IllegalStateException("not yet");
            }
            return Map.of("tries", tries.get());
        }

        @WorkerTask("sdk_later")
        public Map<String, Object> later() {
            TaskContext context = TaskContext.get();
            if (context.getPollCount() < 2) {
                context.setCallbackAfter(1);
            }
            context.addLog("polled " + context.getPollCount());
            return Map.of("polls", context.getPollCount());
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private void tell(String name, Step step) throws Exception {
        step.run();
        System.out.println(name);
    }

    // -- steps ---------------------------------------------------------------------------------------

    private void runsAnnotatedWorkers() throws Exception {
        ConductorWorkflow<Map<String, Object>> greeting = workflow("sdk_greeting")
                .add(new SimpleTask("sdk_greet", "greet").input("who", ConductorWorkflow.input.get("who")))
                .add(new Javascript("shout", "$.text.toUpperCase()").input("text", "${greet.output.text}"))
                .output("said", "${shout.output.result}")
                .build();
        same(true, greeting.registerWorkflow(true, true));
        Workflow found = executor.executeWorkflow("sdk_greeting", 1, Map.of("who", "Ada")).get(DEADLINE_S, TimeUnit.SECONDS);
        same("COMPLETED", found.getStatus().name());
        same("HELLO ADA", found.getOutput().get("said"));
    }

    private void runsADefinitionThatIsSentAlong() throws Exception {
        ConductorWorkflow<Map<String, Object>> adding = workflow("sdk_adding")
                .add(new SimpleTask("sdk_add", "add").input("a", "${workflow.input.a}").input("b", 2))
                .add(new JQ("twice", ".n * 2").input("n", "${add.output.sum}"))
                .output("twice", "${twice.output.result}")
                .build();
        same(84, ended(adding, Map.of("a", 40), "COMPLETED").getOutput().get("twice"));
    }

    private void branches() throws Exception {
        Switch choose = new Switch("choose", "${workflow.input.colour}")
                .switchCase("red", new SimpleTask("sdk_greet", "red").input("who", "red"))
                .defaultCase(new Terminate("enough", Workflow.WorkflowStatus.FAILED, "wrong colour"));
        ConductorWorkflow<Map<String, Object>> both = workflow("sdk_branching")
                .add(new ForkJoin("fork",
                        new Task<?>[] {new SimpleTask("sdk_add", "left").input("a", 1).input("b", 2)},
                        new Task<?>[] {new SimpleTask("sdk_add", "right").input("a", 3).input("b", 4)}))
                .add(choose)
                .output("left", "${left.output.sum}")
                .output("right", "${right.output.sum}")
                .output("red", "${red.output.text}")
                .build();
        Map<String, Object> found = ended(both, Map.of("colour", "red"), "COMPLETED").getOutput();
        same(Map.of("left", 3, "right", 7, "red", "hello red"), found);
        String reason = ended(both, Map.of("colour", "blue"), "FAILED").getReasonForIncompletion();
        same(true, reason.contains("wrong colour"));
    }

    private void forksWhatAWorkerSays() throws Exception {
        ConductorWorkflow<Map<String, Object>> forking = workflow("sdk_forking")
                .add(new DynamicFork("fork", new SimpleTask("sdk_branches", "prepare").input("many", "${workflow.input.many}")))
                .build();
        Workflow found = ended(forking, Map.of("many", 3), "COMPLETED");
        for (int i = 0; i < 3; i++) {
            same(i + 1, found.getTaskByRefName("add_" + i).getOutputData().get("sum"));
        }
        ConductorWorkflow<Map<String, Object>> choosing = workflow("sdk_choosing")
                .add(new Dynamic("which", "${workflow.input.which}").input("who", "whoever"))
                .output("said", "${which.output.text}")
                .build();
        same("hello whoever", ended(choosing, Map.of("which", "sdk_greet"), "COMPLETED").getOutput().get("said"));
    }

    private void loops() throws Exception {
        ConductorWorkflow<Map<String, Object>> looping = workflow("sdk_looping")
                .add(new DoWhile("loop", 3, new SimpleTask("sdk_add", "add").input("a", "${loop.output.iteration}").input("b", 0)))
                .add(new SetVariable("keep").input("rounds", "${loop.output.iteration}"))
                .build();
        Workflow found = ended(looping, Map.of(), "COMPLETED");
        same(3, found.getVariables().get("rounds"));
        same(3L, found.getTasks().stream().filter(t -> t.getTaskType().equals("sdk_add")).count());
    }

    private void nests() throws Exception {
        ConductorWorkflow<Map<String, Object>> child = workflow("sdk_child")
                .add(new SimpleTask("sdk_greet", "greet").input("who", "${workflow.input.who}"))
                .output("text", "${greet.output.text}")
                .build();
        same(true, child.registerWorkflow(true));
        ConductorWorkflow<Map<String, Object>> parent = workflow("sdk_parent")
                .add(new SubWorkflow("named", "sdk_child", 1).input("who", "one"))
                .add(new SubWorkflow("inline", child).input("who", "two"))
                .output("one", "${named.output.text}")
                .output("two", "${inline.output.text}")
                .build();
        same(Map.of("one", "hello one", "two", "hello two"), ended(parent, Map.of(), "COMPLETED").getOutput());
    }

    private void triesAgainAndGivesUp() throws Exception {
        com.netflix.conductor.common.metadata.tasks.TaskDef flaky =
                new com.netflix.conductor.common.metadata.tasks.TaskDef("sdk_flaky", "", "team@example.com", 2, 120, 60);
        flaky.setRetryDelaySeconds(1);
        executor.getMetadataClient().registerTaskDefs(List.of(flaky));
        ConductorWorkflow<Map<String, Object>> trying = workflow("sdk_trying")
                .add(new SimpleTask("sdk_flaky", "flaky").input("for", "${workflow.input.for}"))
                .output("tries", "${flaky.output.tries}")
                .build();
        same(2, ended(trying, Map.of("for", "now"), "COMPLETED").getOutput().get("tries"));
        Workflow failed = ended(trying, Map.of("for", "good"), "FAILED");
        same("FAILED_WITH_TERMINAL_ERROR", failed.getTasks().get(0).getStatus().name());
    }

    private void putsItselfOff() throws Exception {
        ConductorWorkflow<Map<String, Object>> putting = workflow("sdk_putting")
                .add(new SimpleTask("sdk_later", "later"))
                .output("polls", "${later.output.polls}")
                .build();
        same(2, ended(putting, Map.of(), "COMPLETED").getOutput().get("polls"));
    }

    private void waitsAndEnds() throws Exception {
        ConductorWorkflow<Map<String, Object>> waiting = workflow("sdk_waiting")
                .add(new Wait("moment", Duration.ofSeconds(1)))
                .add(new Terminate("done", Workflow.WorkflowStatus.COMPLETED, "enough"))
                .add(new SimpleTask("sdk_greet", "never"))
                .build();
        same(2, ended(waiting, Map.of(), "COMPLETED").getTasks().size());
    }

    // -- words ---------------------------------------------------------------------------------------

    private WorkflowBuilder<Map<String, Object>> workflow(String name) {
        return new WorkflowBuilder<Map<String, Object>>(executor)
                .name(name)
                .version(1)
                .ownerEmail("team@example.com")
                .timeoutPolicy(com.netflix.conductor.common.metadata.workflow.WorkflowDef.TimeoutPolicy.TIME_OUT_WF, 600);
    }

    private static Workflow ended(ConductorWorkflow<Map<String, Object>> workflow, Map<String, Object> input, String status)
            throws Exception {
        Workflow found = workflow.executeDynamic(input).get(DEADLINE_S, TimeUnit.SECONDS);
        same(status, found.getStatus().name());
        return found;
    }

    private static void same(Object expected, Object found) {
        if (!expected.equals(found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }
}
