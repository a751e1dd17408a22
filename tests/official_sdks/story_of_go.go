// What a user of the official Go SDK does. `go run . <url of the API>` beside a go.mod that requires
// the SDK. Each step prints its name when what it saw was right.

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/antihax/optional"
	"github.com/conductor-sdk/conductor-go/sdk/client"
	"github.com/conductor-sdk/conductor-go/sdk/model"
	"github.com/conductor-sdk/conductor-go/sdk/settings"
	"github.com/conductor-sdk/conductor-go/sdk/worker"
	"github.com/conductor-sdk/conductor-go/sdk/workflow"
	"github.com/conductor-sdk/conductor-go/sdk/workflow/executor"
	"github.com/sirupsen/logrus"
)

const deadline = 60 * time.Second

type object = map[string]interface{}

var (
	ctx       = context.Background()
	api       *client.APIClient
	executing *executor.WorkflowExecutor
	workflows client.WorkflowClient
	metadata  client.MetadataClient
	tasks     client.TaskClient
	schedules client.SchedulerClient
	events    client.EventHandlerClient
	bulk      client.WorkflowBulkClient
)

type step struct {
	name string
	told func()
}

var steps = []step{
	{"registers_definitions", registersDefinitions},
	{"workers_finish_an_execution", workersFinishAnExecution},
	{"a_worker_fails_for_good_and_for_now", aWorkerFails},
	{"operators_of_the_builder_run", operatorsRun},
	{"executes_and_waits", executesAndWaits},
	{"pauses_and_resumes", pausesAndResumes},
	{"retries_reruns_and_restarts", retriesRerunsAndRestarts},
	{"skips_a_task", skipsATask},
	{"polls_logs_and_reports_by_hand", pollsByHand},
	{"reads_queues_and_pollers", readsQueues},
	{"starts_once_with_a_key", startsOnce},
	{"acts_on_many", actsOnMany},
	{"keeps_schedules", keepsSchedules},
	{"handles_events", handlesEvents},
	{"searches", searches},
	{"tags_definitions", tagsDefinitions},
	{"is_told_what_is_wrong", isToldWhatIsWrong},
	{"deletes", deletes},
}

func main() {
	logrus.SetLevel(logrus.PanicLevel)
	api = client.NewAPIClient(nil, settings.NewHttpSettings(os.Args[1]))
	executing = executor.NewWorkflowExecutor(api)
	workflows, metadata, tasks = client.NewWorkflowClient(api), client.NewMetadataClient(api), client.NewTaskClient(api)
	schedules, events = client.NewSchedulerClient(api), client.NewEventHandlerClient(api)
	bulk = client.NewWorkflowBulkClient(api)
	for _, each := range steps {
		each.told()
		fmt.Println(each.name)
	}
}

func registersDefinitions() {
	greet := model.TaskDef{Name: "go_greet", TimeoutSeconds: 120, ResponseTimeoutSeconds: 60, RetryCount: 0}
	flaky := model.TaskDef{Name: "go_flaky", RetryCount: 3, RetryLogic: "FIXED", RetryDelaySeconds: 1, ResponseTimeoutSeconds: 60}
	must(metadata.RegisterTaskDef(ctx, []model.TaskDef{greet, flaky}))
	found, _, err := metadata.GetTaskDef(ctx, "go_greet")
	check(err)
	same(found.ResponseTimeoutSeconds, int64(60))

	shout := workflow.NewInlineGraalJSTask("shout", "$.text.toUpperCase()").Input("text", "${greet.output.text}")
	story := workflow.NewConductorWorkflow(executing).Name("go_story").Version(1).
		Add(workflow.NewSimpleTask("go_greet", "greet").Input("who", "${workflow.input.who}")).
		Add(shout).
		Add(workflow.NewSetVariableTask("keep").Input("said", "${shout.output.result}")).
		OutputParameters(object{"said": "${shout.output.result}"})
	check(story.Register(true))
	check(gates().Register(true))
	moment := workflow.NewConductorWorkflow(executing).Name("go_sync").Version(1).
		Add(workflow.NewWaitForDurationTask("moment", time.Second)).
		Add(workflow.NewInlineGraalJSTask("sum", "20 + 22")).
		OutputParameters(object{"sum": "${sum.output.result}"})
	check(moment.Register(true))
	definition, _, err := metadata.Get(ctx, "go_story", &client.MetadataResourceApiGetOpts{Version: optional.NewInt32(1)})
	check(err)
	same(len(definition.Tasks), 3)
	all, _, err := metadata.GetAll(ctx)
	check(err)
	holds(len(all) >= 3, "all definitions")
}

func gates() *workflow.ConductorWorkflow {
	return workflow.NewConductorWorkflow(executing).Name("go_gates").Version(1).
		Add(workflow.NewWaitTask("first")).
		Add(workflow.NewWaitTask("second")).
		OutputParameters(object{"first": "${first.output.v}", "second": "${second.output.v}"})
}

func workersFinishAnExecution() {
	runner := worker.NewTaskRunnerWithApiClient(api)
	check(runner.StartWorker("go_greet", func(task *model.Task) (interface{}, error) {
		return object{"text": fmt.Sprintf("hello %v", task.InputData["who"])}, nil
	}, 2, 10*time.Millisecond))
	defer runner.Shutdown("go_greet")
	id, err := executing.StartWorkflow(&model.StartWorkflowRequest{
		Name: "go_story", Version: 1, CorrelationId: "go-1", Input: object{"who": "Ada"},
	})
	check(err)
	monitor, err := executing.MonitorExecution(id)
	check(err)
	found, err := executor.WaitForWorkflowCompletionUntilTimeout(monitor, deadline)
	check(err)
	same(string(found.Status), "COMPLETED")
	same(found.Output["said"], "HELLO ADA")
	same(found.Variables["said"], "HELLO ADA")
}

func aWorkerFails() {
	var lock sync.Mutex
	tried := 0
	runner := worker.NewTaskRunnerWithApiClient(api)
	check(runner.StartWorker("go_flaky", func(task *model.Task) (interface{}, error) {
		lock.Lock()
		defer lock.Unlock()
		tried++
		if task.InputData["for"] == "good" {
			return nil, model.NewNonRetryableError(errors.New("never"))
		}
		if tried == 1 {
			return nil, errors.New("not yet")
		}
		return object{"tried": tried}, nil
	}, 1, 10*time.Millisecond))
	defer runner.Shutdown("go_flaky")
	flaky := workflow.NewConductorWorkflow(executing).Name("go_flaky_story").Version(1).
		Add(workflow.NewSimpleTask("go_flaky", "flaky").Input("for", "${workflow.input.for}")).
		OutputParameters(object{"tried": "${flaky.output.tried}"})
	check(flaky.Register(true))
	now, err := flaky.StartWorkflowWithInput(object{"for": "now"})
	check(err)
	same(ended(now, "COMPLETED").Output["tried"], 2.0)
	good, err := flaky.StartWorkflowWithInput(object{"for": "good"})
	check(err)
	found := ended(good, "FAILED")
	same(string(found.Tasks[0].Status), "FAILED_WITH_TERMINAL_ERROR")
	holds(strings.Contains(found.ReasonForIncompletion, "never"), found.ReasonForIncompletion)
}

func operatorsRun() {
	child := workflow.NewConductorWorkflow(executing).Name("go_child").Version(1).
		Add(workflow.NewInlineGraalJSTask("twice", "$.n * 2").Input("n", "${workflow.input.n}")).
		OutputParameters(object{"n": "${twice.output.result}"})
	check(child.Register(true))
	fork := workflow.NewForkTask("fork",
		[]workflow.TaskInterface{workflow.NewInlineGraalJSTask("left", "1")},
		[]workflow.TaskInterface{workflow.NewSubWorkflowTask("right", "go_child", 1).Input("n", "${workflow.input.n}")},
	)
	choose := workflow.NewSwitchTask("choose", "${workflow.input.colour}").
		SwitchCase("red", workflow.NewSetVariableTask("is_red").Input("colour", "red")).
		DefaultCase(workflow.NewTerminateTask("enough", model.FailedWorkflow, "wrong colour"))
	// The condition that NewLoopTask of this SDK writes ends every loop after a round.
	loop := workflow.NewDoWhileTask("loop", "$.loop['iteration'] < 3", workflow.NewInlineGraalJSTask("round", "1"))
	jq := workflow.NewJQTask("jq", ".numbers | add").Input("numbers", []int{1, 2, 3})
	all := workflow.NewConductorWorkflow(executing).Name("go_operators").Version(1).
		Add(fork).Add(choose).Add(loop).Add(jq).
		OutputParameters(object{
			"right": "${right.output.n}", "jq": "${jq.output.result}", "rounds": "${loop.output.iteration}",
		})
	check(all.Register(true))
	red, err := all.StartWorkflowWithInput(object{"n": 21, "colour": "red"})
	check(err)
	found := ended(red, "COMPLETED")
	same(found.Output, object{"right": 42.0, "jq": 6.0, "rounds": 3.0})
	same(found.Variables["colour"], "red")
	blue, err := all.StartWorkflowWithInput(object{"n": 1, "colour": "blue"})
	check(err)
	holds(strings.Contains(ended(blue, "FAILED").ReasonForIncompletion, "wrong colour"), "the reason")
}

func executesAndWaits() {
	run, err := executing.ExecuteWorkflow(&model.StartWorkflowRequest{Name: "go_sync", Version: 1}, "")
	check(err)
	same(run.Status, "COMPLETED")
	same(run.Output["sum"], 42.0)
	run, err = executing.ExecuteWorkflow(&model.StartWorkflowRequest{Name: "go_gates", Version: 1}, "first")
	check(err)
	same(run.Status, "RUNNING")
	check(executing.Terminate(run.WorkflowId, "enough"))
}

func pausesAndResumes() {
	id := started("go_gates")
	check(executing.Pause(id))
	state, err := executing.GetWorkflowStatus(id, false, false)
	check(err)
	same(state.Status, "PAUSED")
	check(executing.Resume(id))
	report(id, "first", model.CompletedTask, 1)
	report(id, "second", model.CompletedTask, 2)
	same(ended(id, "COMPLETED").Output, object{"first": 1.0, "second": 2.0})
}

func retriesRerunsAndRestarts() {
	id := started("go_gates")
	report(id, "first", model.FailedTask, 0)
	ended(id, "FAILED")
	check(executing.Retry(id, false))
	report(id, "first", model.CompletedTask, 1)
	report(id, "second", model.CompletedTask, 2)
	found := ended(id, "COMPLETED")
	second := found.Tasks[len(found.Tasks)-1]
	same(second.ReferenceTaskName, "second")
	again, err := executing.ReRun(id, model.RerunWorkflowRequest{ReRunFromTaskId: second.TaskId})
	check(err)
	same(again, id)
	report(id, "second", model.CompletedTask, 3)
	same(ended(id, "COMPLETED").Output, object{"first": 1.0, "second": 3.0})
	check(executing.Restart(id, true))
	same(len(read(id).Tasks), 1)
	check(executing.TerminateWithFailure(id, "enough", false))
	same(ended(id, "TERMINATED").ReasonForIncompletion, "enough")
}

func skipsATask() {
	id := started("go_gates")
	// This SDK writes what it wants as output in a form that no server can read.
	check(executing.SkipTasksFromWorkflow(id, "second", model.SkipTaskRequest{TaskOutput: object{"v": 9}}))
	report(id, "first", model.CompletedTask, 1)
	found := ended(id, "COMPLETED")
	same(string(found.Tasks[1].Status), "SKIPPED")
	same(found.Output["first"], 1.0)
}

func pollsByHand() {
	id := started("go_story")
	task, _, err := tasks.Poll(ctx, "go_greet", &client.TaskResourceApiPollOpts{Workerid: optional.NewString("hand")})
	check(err)
	same(task.WorkflowInstanceId, id)
	_, err = tasks.Log(ctx, "half way", task.TaskId)
	check(err)
	logs, _, err := tasks.GetTaskLogs(ctx, task.TaskId)
	check(err)
	same(logs[0].Log, "half way")
	_, _, err = tasks.UpdateTask(ctx, &model.TaskResult{
		TaskId: task.TaskId, WorkflowInstanceId: id, Status: model.InProgressTask, WorkerId: "hand",
		OutputData: object{"text": "half"},
	})
	check(err)
	seen, _, err := tasks.GetTask(ctx, task.TaskId)
	check(err)
	same(string(seen.Status), "SCHEDULED") // it is offered again
	check(executing.UpdateTask(task.TaskId, id, model.CompletedTask, object{"text": "done"}))
	same(ended(id, "COMPLETED").Output["said"], "DONE")
	none, _, err := tasks.BatchPoll(ctx, "go_greet", &client.TaskResourceApiBatchPollOpts{
		Workerid: optional.NewString("hand"), Count: optional.NewInt32(5), Timeout: optional.NewInt32(100),
	})
	check(err)
	same(len(none), 0)
}

func readsQueues() {
	id := started("go_story")
	sizes, _, err := tasks.All(ctx)
	check(err)
	same(sizes["go_greet"], int64(1))
	_, _, err = tasks.AllVerbose(ctx)
	check(err)
	size, _, err := tasks.Size(ctx, &client.TaskResourceApiSizeOpts{TaskType: optional.NewInterface([]string{"go_greet"})})
	check(err)
	same(size["go_greet"], int32(1))
	polled, _, err := tasks.GetPollData(ctx, "go_greet")
	check(err)
	same(polled[0].WorkerId, "hand")
	everybody, _, err := tasks.GetAllPollData(ctx)
	check(err)
	holds(len(everybody) > 0, "the polls of all")
	_, _, err = tasks.RequeuePendingTask(ctx, "go_greet")
	check(err)
	must(workflows.Decide(ctx, id))
	must(workflows.ResetWorkflow(ctx, id))
	running, _, err := workflows.GetRunningWorkflow(ctx, "go_story", nil)
	check(err)
	same(running, []string{id})
	check(executing.Terminate(id, "done"))
}

func startsOnce() {
	request := &model.StartWorkflowRequest{
		Name: "go_gates", Version: 1, IdempotencyKey: "once", IdempotencyStrategy: model.ReturnExisting,
	}
	one, err := executing.StartWorkflow(request)
	check(err)
	two, err := executing.StartWorkflow(request)
	check(err)
	same(two, one)
	request.IdempotencyStrategy = model.FailOnConflict
	_, err = executing.StartWorkflow(request)
	holds(err != nil, "a conflict")
	check(executing.RemoveWorkflow(one))
}

func actsOnMany() {
	ids := []string{started("go_gates"), started("go_gates")}
	done, _, err := bulk.PauseWorkflow1(ctx, ids)
	check(err)
	same(len(done.BulkSuccessfulResults), 2)
	done, _, err = bulk.ResumeWorkflow(ctx, append(ids, "missing"))
	check(err)
	same(len(done.BulkErrorResults), 1)
	done, _, err = bulk.Terminate(ctx, ids, nil)
	check(err)
	same(len(done.BulkSuccessfulResults), 2)
	done, _, err = bulk.Restart(ctx, ids, nil)
	check(err)
	same(len(done.BulkSuccessfulResults), 2)
	_, _, err = bulk.Terminate(ctx, ids, nil)
	check(err)
}

func keepsSchedules() {
	_, _, err := schedules.SaveSchedule(ctx, model.SaveScheduleRequest{
		Name: "go_nightly", CronExpression: "0 0 3 * * ?",
		StartWorkflowRequest: &model.StartWorkflowRequest{Name: "go_sync", Version: 1},
	})
	check(err)
	found, _, err := schedules.GetSchedule(ctx, "go_nightly")
	check(err)
	same(found.CronExpression, "0 0 3 * * ?")
	next, _, err := schedules.GetNextFewSchedules(ctx, "0 0 3 * * ?", &client.SchedulerResourceApiGetNextFewSchedulesOpts{
		Limit: optional.NewInt32(3),
	})
	check(err)
	same(len(next), 3)
	_, _, err = schedules.PauseSchedule(ctx, "go_nightly")
	check(err)
	found, _, err = schedules.GetSchedule(ctx, "go_nightly")
	check(err)
	same(found.Paused, true)
	_, _, err = schedules.ResumeSchedule(ctx, "go_nightly")
	check(err)
	_, _, err = schedules.DeleteSchedule(ctx, "go_nightly")
	check(err)
	left, _, err := schedules.GetAllSchedules(ctx, &client.SchedulerResourceApiGetAllSchedulesOpts{
		WorkflowName: optional.NewString("go_sync"),
	})
	check(err)
	same(len(left), 0)
}

func handlesEvents() {
	publisher := workflow.NewConductorWorkflow(executing).Name("go_publisher").Version(1).
		Add(workflow.NewConductorEventTask("tell", "heard"))
	check(publisher.Register(true))
	must(events.AddEventHandler(ctx, model.EventHandler{
		Name: "go_handler", Event: "conductor:go_publisher:heard", Active: true,
		Actions: []model.Action{{
			Action:        "start_workflow",
			StartWorkflow: &model.StartWorkflow{Name: "go_sync", Version: 1, CorrelationId: "go-event"},
		}},
	}))
	started("go_publisher")
	until(func() bool { return hits("go-event") == 1 }, "the started workflow")
	handlers, _, err := events.GetEventHandlersForEvent(ctx, "conductor:go_publisher:heard", nil)
	check(err)
	same(len(handlers), 1)
	must(events.RemoveEventHandler(ctx, "go_handler"))
}

func searches() {
	until(func() bool { return hits("go-1") == 1 }, "the first execution in the index")
	byName, err := executing.GetByCorrelationIds("go_story", true, false, "go-1")
	check(err)
	same(len(byName["go-1"]), 1)
	both, err := executing.GetByCorrelationIdsAndNames(true, true, []string{"go-1"}, []string{"go_story", "go_sync"})
	check(err)
	same(len(both["go-1"]), 1)
	one, _, err := workflows.GetWorkflowsByCorrelationId(ctx, "go_story", "go-1",
		&client.WorkflowResourceApiGetWorkflowsOpts{IncludeClosed: optional.NewBool(true)})
	check(err)
	same(one[0].CorrelationId, "go-1")
	found, _, err := tasks.Search(ctx, &client.TaskResourceApiSearch1Opts{
		Query: optional.NewString("taskType = 'go_greet'"), FreeText: optional.NewString("*"),
		Size: optional.NewInt32(5),
	})
	check(err)
	holds(found.TotalHits > 0, "tasks in the index")
}

func tagsDefinitions() {
	definition := gates().ToWorkflowDef()
	must(metadata.RegisterWorkflowDefWithTags(ctx, true, *definition, []model.MetadataTag{{Key: "team", Value: "go"}}))
	found, err := metadata.GetTagsForWorkflowDef(ctx, "go_gates")
	check(err)
	same(found, []model.MetadataTag{{Key: "team", Value: "go"}})
	check(executing.AddWorkflowTags("go_gates", map[string]string{"tier": "one"}))
	tags, err := executing.GetWorkflowTags("go_gates")
	check(err)
	same(tags["tier"], "one")
}

func isToldWhatIsWrong() {
	_, err := executing.GetWorkflow("missing", true)
	holds(err != nil && strings.Contains(err.Error(), "missing"), fmt.Sprint(err))
	var refused client.GenericSwaggerError
	_, err = executing.StartWorkflow(&model.StartWorkflowRequest{Name: "nowhere", Version: 1})
	holds(errors.As(err, &refused), fmt.Sprint(err))
	same(refused.StatusCode(), 404)
}

func deletes() {
	must(metadata.UnregisterWorkflowDef(ctx, "go_gates", 1))
	must(metadata.UnregisterTaskDef(ctx, "go_greet"))
	left, _, err := metadata.GetTaskDefs(ctx)
	check(err)
	for _, each := range left {
		holds(each.Name != "go_greet", "a task definition that was deleted")
	}
}

func started(name string) string {
	id, err := executing.StartWorkflow(&model.StartWorkflowRequest{Name: name, Version: 1, Input: object{"who": "Bo"}})
	check(err)
	return id
}

func report(id string, ref string, status model.TaskResultStatus, value int) {
	check(executing.UpdateTaskByRefName(ref, id, status, object{"v": value}))
}

func read(id string) *model.Workflow {
	found, err := executing.GetWorkflow(id, true)
	check(err)
	return found
}

func ended(id string, status string) *model.Workflow {
	var found *model.Workflow
	until(func() bool {
		found = read(id)
		return string(found.Status) == status
	}, id+" "+status)
	return found
}

func hits(correlationId string) int {
	found, err := executing.Search(0, 10, fmt.Sprintf("correlationId = '%s'", correlationId), "*")
	check(err)
	return len(found)
}

func until(holds func() bool, what string) {
	for last := time.Now().Add(deadline); time.Now().Before(last); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	panic("waited in vain for " + what)
}

func must(_ *http.Response, err error) { check(err) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func holds(is bool, what string) {
	if !is {
		panic("not so: " + what)
	}
}

func same(found interface{}, wanted interface{}) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Sprintf("%#v in place of %#v", found, wanted))
	}
}
