"""Async functions in the test kit: what they wait for by time passes at once, by the clock."""

import asyncio
import socket
import sys
import threading

import pytest

from conductor_py.sdk import task_context, worker_task
from conductor_py.testing import FakeClock, MemoryEngine
from conductor_py.testing.definitions import workflow
from conductor_py.testing.loop import VirtualLoop

_HOUR_MS = 3_600_000


def ended(engine: MemoryEngine, *functions) -> tuple[dict[str, object], int]:
    """What the function of task ``a`` gives, and how far the clock has gone on (ms)."""
    engine.register(workflow("one", {"name": "a", "taskReferenceName": "a"}))
    before = engine.clock.now_ms
    found = engine.run_to_end(engine.start("one"), *functions)
    assert found["status"] == "COMPLETED", found["reasonForIncompletion"]
    return found["tasks"][-1]["outputData"], engine.clock.now_ms - before


def test_a_sleep_of_an_async_function_passes_at_once_on_the_clock(engine) -> None:
    @worker_task("a")
    async def napping() -> dict[str, float]:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(3_600)
        return {"slept": asyncio.get_running_loop().time() - before}

    assert ended(engine, napping) == ({"slept": 3_600.0}, _HOUR_MS)


def test_sleeps_side_by_side_end_in_their_order_and_pass_once(engine) -> None:
    @worker_task("a")
    async def racing() -> dict[str, list[float]]:
        order: list[float] = []

        async def nap(seconds: float) -> None:
            await asyncio.sleep(seconds)
            order.append(seconds)
            task_context().log(f"{seconds}")

        await asyncio.gather(*(nap(seconds) for seconds in (30, 0.0004, 10, 20)))
        return {"order": order}

    output, passed = ended(engine, racing)
    assert output == {"order": [0.0004, 10, 20, 30]}
    assert 30_000 <= passed <= 30_002


def test_a_time_limit_ends_a_longer_sleep(engine) -> None:
    @worker_task("a")
    async def limited() -> dict[str, bool]:
        try:
            async with asyncio.timeout(5):
                await asyncio.sleep(3_600)
        except TimeoutError:
            return {"over": True}
        return {"over": False}

    assert ended(engine, limited) == ({"over": True}, 5_000)


def test_a_time_limit_does_not_end_what_a_thread_or_a_process_is_at(engine) -> None:
    given = threading.Event()

    def blocking() -> str:
        given.wait(0.2)  # nobody sets it
        return "done"

    @worker_task("a")
    async def outside() -> dict[str, object]:
        async with asyncio.timeout(300):
            said = await asyncio.to_thread(blocking)
            code = "import sys; sys.stdin.read(); sys.exit(3)"
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", code, stdin=asyncio.subprocess.DEVNULL
            )
            return {"said": said, "code": await process.wait()}

    assert ended(engine, outside) == ({"said": "done", "code": 3}, 0)


def test_a_time_limit_does_not_end_what_a_socket_has_to_say(engine) -> None:
    @worker_task("a")
    async def reading() -> dict[str, str]:
        here, there = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=here)
        threading.Timer(0.2, lambda: there.sendall(b"hello\n")).start()
        try:
            line = await asyncio.wait_for(reader.readline(), 300)
        finally:
            writer.close()
            there.close()
        return {"line": line.decode()}

    assert ended(engine, reading) == ({"line": "hello\n"}, 0)


def test_a_connection_that_says_nothing_holds_time_up_for_a_moment_only() -> None:
    clock = FakeClock()
    before = clock.now_ms

    async def idle() -> None:
        here, there = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=here)
        await asyncio.sleep(3_600)
        writer.close()
        there.close()

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock, outside_s=0.05)) as runner:
        runner.run(idle())
    assert clock.now_ms - before == _HOUR_MS


def test_an_async_function_that_fails_is_tried_again_after_its_delay(engine) -> None:
    engine.register_tasks(
        {"name": "a", "retryCount": 1, "retryDelaySeconds": 60, "retryLogic": "FIXED"}
    )
    tries: list[int] = []

    @worker_task("a")
    async def failing() -> dict[str, int]:
        tries.append(len(tries))
        await asyncio.sleep(10)
        if len(tries) == 1:
            raise ConnectionError("away")
        return {"tries": len(tries)}

    assert ended(engine, failing) == ({"tries": 2}, 80_000)


@pytest.mark.parametrize("seconds", [0.1, 0.001, 86_400.123, 31_536_000])
def test_the_clock_goes_on_by_what_was_slept_to_the_millisecond(seconds) -> None:
    clock = FakeClock()
    before = clock.now_ms
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        for _ in range(5):
            runner.run(asyncio.sleep(seconds))
    assert clock.now_ms - before == 5 * round(seconds * 1_000)
