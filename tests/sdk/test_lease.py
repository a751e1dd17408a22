"""Leases: extended each third, given up when they cannot be, whatever the server does."""

from __future__ import annotations

import pytest

from conductor_py.sdk import (
    Client,
    Conflict,
    InvalidInput,
    NotFound,
    ServerFailure,
    StoreUnavailable,
    TaskContext,
)
from conductor_py.sdk.lease import Lease, LeaseKeeper
from tests.sdk.clock import FakeClock, StandingClock
from tests.sdk.stub import Reply, StubServer
from tests.sdk.tasks import task
from tests.waiting import until


class LeaseServer:
    """Answers extensions by what was scripted, the last answer again and again."""

    def __init__(self, clock: FakeClock, *answers: Exception | int) -> None:
        self.clock = clock
        self.answers = list(answers) or [0]
        self.extended: list[tuple[int, str, int, int, object]] = []
        self.lines: list[str] = []
        self.log_error: Exception | None = None

    def extend_task(
        self, task_id, claim_token, lease_s, progress=None, *, resend=True, timeout_s=None
    ):
        assert not resend
        self.extended.append((self.clock.now_ms, task_id, claim_token, lease_s, progress))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            self.clock.advance(int(timeout_s * 1000))
            raise answer
        self.clock.advance(answer)
        return {}

    def add_task_log(self, task_id, line, *, timeout_s=None):
        if self.log_error is not None:
            raise self.log_error
        self.lines.append(line)


def held(keeper: LeaseKeeper, clock: FakeClock, *, lease_s: int = 30, **changes) -> Lease:
    lease = Lease(TaskContext(task(**changes), clock), lease_s=lease_s, clock=clock)
    keeper.hold(lease)
    return lease


def live(keeper: LeaseKeeper, clock: FakeClock, for_ms: int) -> None:
    """Do what the keeper's thread does, in the clock's time."""
    end_ms = clock.now_ms + for_ms
    while clock.now_ms < end_ms:
        clock.advance(min(keeper.tick(), end_ms - clock.now_ms))


def test_a_lease_is_extended_each_third_of_its_length_with_the_newest_progress(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    lease.context.progress({"done": 0.1})
    lease.context.progress({"done": 0.2})
    start = clock.now_ms

    live(keeper, clock, 60_000)

    assert [at - start for at, *_ in server.extended] == [10_000, 20_000, 30_000, 40_000, 50_000]
    assert server.extended[0][1:] == ("t-1", 17, 30, {"done": 0.2})
    assert not lease.is_lost()


def test_a_progress_that_is_refused_costs_itself_only(clock, caplog):
    server = LeaseServer(clock, InvalidInput("the progress is wrong"), 0)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    lease.context.progress({"done": 0.1})

    live(keeper, clock, 60_000)

    assert [progress for *_, progress in server.extended] == [{"done": 0.1}, *[None] * 5]
    assert not lease.is_lost()
    assert [each.message for each in caplog.records] == ["a progress was refused and is left out"]


def test_a_progress_with_a_number_that_json_has_not_keeps_the_lease(
    clock: FakeClock, client: Client, stub: StubServer
) -> None:
    stub.on("POST", "/api/tasks/t-1/extend", Reply(200, {"leaseUntil": 1}))
    keeper = LeaseKeeper(client, clock)
    lease = held(keeper, clock)
    lease.context.progress({"loss": float("nan")})

    live(keeper, clock, 25_000)
    lease.context.progress({"loss": 0.5})
    live(keeper, clock, 10_000)

    sent = [request.json().get("progress") for request in stub.seen("POST")]
    assert sent == [None, None, {"loss": 0.5}]
    assert not lease.is_lost()


def test_a_response_timeout_shorter_than_the_lease_sets_the_pace(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    held(keeper, clock, responseTimeoutSeconds=6)
    start = clock.now_ms

    live(keeper, clock, 5_000)

    assert [at - start for at, *_ in server.extended] == [2_000, 4_000]


@pytest.mark.parametrize("refusal", [Conflict(), NotFound()])
def test_a_refused_extension_cancels_the_task_at_once(clock, refusal):
    server = LeaseServer(clock, refusal)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)

    live(keeper, clock, 11_000)

    assert lease.context.cancelled.is_set()
    assert lease.is_lost()
    live(keeper, clock, 60_000)
    assert len(server.extended) == 1


@pytest.mark.parametrize("failure", [StoreUnavailable(), ServerFailure("no", status=500)])
def test_a_lease_that_cannot_be_extended_for_its_length_is_lost(clock, failure):
    server = LeaseServer(clock, 0, failure)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    start = clock.now_ms

    live(keeper, clock, 39_000)
    assert not lease.is_lost()  # the last success was sent at 10 s

    live(keeper, clock, 2_000)
    assert lease.is_lost()
    assert lease.context.cancelled.is_set()
    assert [at - start for at, *_ in server.extended] == [10_000, 20_000, 33_000]


def test_a_short_outage_costs_nothing(clock):
    server = LeaseServer(clock, StoreUnavailable(), 0)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)

    live(keeper, clock, 60_000)

    assert not lease.is_lost()
    assert not lease.context.cancelled.is_set()


def test_the_end_of_a_lease_counts_from_the_sending_of_its_extension(clock):
    server = LeaseServer(clock, 4_000)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    clock.advance(10_000)
    sent_ms = clock.now_ms

    keeper.tick()

    assert clock.now_ms == sent_ms + 4_000
    assert lease.until_ms == sent_ms + 30_000


def test_an_absent_server_is_asked_once_a_round_not_once_a_task(clock):
    server = LeaseServer(clock, StoreUnavailable())
    keeper = LeaseKeeper(server, clock)
    for number in range(5):
        held(keeper, clock, taskId=f"t-{number}")
    clock.advance(10_000)

    keeper.tick()

    assert len(server.extended) == 1


def test_a_task_whose_result_is_on_its_way_is_not_extended(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    held(keeper, clock, taskId="t-2")
    lease.reporting = True

    live(keeper, clock, 15_000)

    assert [task_id for _, task_id, *_ in server.extended] == ["t-2"]
    assert not lease.is_lost()


def test_an_extension_refused_because_the_result_arrived_first_means_nothing(clock):
    class Overtaken(LeaseServer):
        def extend_task(self, *args, **options):
            lease.reporting = True  # the function ended while this request was under way
            raise Conflict

    keeper = LeaseKeeper(Overtaken(clock), clock)
    lease = held(keeper, clock)

    live(keeper, clock, 11_000)

    assert lease.reporting
    assert not lease.context.cancelled.is_set()


def test_without_a_claim_token_nothing_is_extended_and_the_response_timeout_bounds(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock, claimToken=None, responseTimeoutSeconds=40)

    live(keeper, clock, 39_000)
    assert not lease.is_lost()
    live(keeper, clock, 2_000)
    assert lease.is_lost()
    assert server.extended == []


def test_a_released_lease_is_left_alone(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    keeper.release(held(keeper, clock))

    live(keeper, clock, 60_000)

    assert server.extended == []


def test_log_lines_leave_with_the_next_extension(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    lease.context.log("one")
    lease.context.log("two")

    live(keeper, clock, 25_000)

    assert server.lines == ["one\ntwo"]


def test_log_lines_that_could_not_be_sent_are_kept(clock):
    server = LeaseServer(clock)
    server.log_error = StoreUnavailable()
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    lease.context.log("one")

    live(keeper, clock, 11_000)

    assert [entry.line for entry in lease.context.take_lines()] == ["one"]


def test_stopping_cancels_what_is_still_held(clock):
    keeper = LeaseKeeper(LeaseServer(clock), clock)
    lease = held(keeper, clock)

    keeper.stop()

    assert lease.context.cancelled.is_set()


def test_the_thread_wakes_for_a_lease_that_is_due_before_it_meant_to():
    clock = StandingClock()
    server = LeaseServer(FakeClock())
    keeper = LeaseKeeper(server, clock)
    keeper.start()
    try:
        until(lambda: clock.waits, what="the keeper sleeps")
        lease = held(keeper, clock)
        until(lambda: len(clock.waits) == 2, what="it sleeps until the first is due")
        clock.advance(10_000)
        until(lambda: len(clock.waits) == 3, what="it sleeps until the second is due")
        assert len(server.extended) == 1
        clock.advance(10_000)
        until(lambda: len(server.extended) == 2, what="the second extension")
        assert not lease.is_lost()
        assert clock.waits[0] > clock.waits[1] == 10_000
    finally:
        keeper.stop()


def test_a_server_that_froze_does_not_keep_tasks_from_being_stopped_when_their_time_is_over(clock):
    """Each extension waits for an answer; none waits beyond the end of any lease that is held."""
    keeper = LeaseKeeper(LeaseServer(clock, StoreUnavailable()), clock)
    lost_at: dict[str, int] = {}
    long = held(keeper, clock, lease_s=300, taskId="long")
    clock.advance(99_990)
    short = held(keeper, clock, lease_s=30, taskId="short")
    began = clock.now_ms
    with (
        long.context.when_cancelled(lambda: lost_at.update(long=clock.now_ms)),
        short.context.when_cancelled(lambda: lost_at.update(short=clock.now_ms)),
    ):
        live(keeper, clock, 250_000)

    assert lost_at["short"] - began == 30_000
    assert 0 <= lost_at["long"] - began - (300_000 - 99_990) <= 1, "looked at a millisecond later"


def test_task_that_is_lost_and_does_not_end_takes_no_time_from_other_extensions(clock):
    server = LeaseServer(clock)
    keeper = LeaseKeeper(server, clock)
    stuck = held(keeper, clock, lease_s=30, taskId="stuck")
    stuck.context.cancel()
    clock.advance(31_000)
    lease = held(keeper, clock, lease_s=30, taskId="fine")
    assert stuck.is_lost()
    assert keeper._patience_s(lease, clock.monotonic_ms()) == 10


def test_one_answer_that_is_lost_keeps_no_other_lease_from_being_extended(clock):
    server = LeaseServer(clock, StoreUnavailable(), 0)
    keeper = LeaseKeeper(server, clock)
    held(keeper, clock, lease_s=300, taskId="long")
    clock.advance(99_990)
    short = held(keeper, clock, lease_s=30, taskId="short")

    live(keeper, clock, 250_000)

    assert server.extended[0][1] == "long"
    assert not short.context.cancelled.is_set()


def test_a_lost_lease_stops_what_its_function_waits_for(clock):
    server = LeaseServer(clock, Conflict())
    keeper = LeaseKeeper(server, clock)
    lease = held(keeper, clock)
    stopped: list[object] = []
    with (
        lease.context.when_cancelled(lambda: stopped.append("first")),
        lease.context.when_cancelled(lambda: stopped.append(1 / 0)),
        lease.context.when_cancelled(lambda: stopped.append("last")),
    ):
        live(keeper, clock, 11_000)
        assert stopped == ["first", "last"]
    keeper.stop()
    assert stopped == ["first", "last"]
