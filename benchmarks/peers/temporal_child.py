"""A worker of Temporal's SDK, or a client that starts workflows and awaits them."""

from __future__ import annotations

import asyncio
import sys
import uuid
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.exceptions import TemporalError
from temporalio.worker import Worker

from benchmarks.peers.lines import AT_ONCE, DATA, serve

_QUEUE = "bench"
_PATIENCE_S = 60.0


@activity.defn
async def step(data: str) -> str:
    """Do nothing."""
    return data


@workflow.defn
class One:
    """One activity."""

    @workflow.run
    async def run(self, data: str) -> str:
        """Run it."""
        return await workflow.execute_activity(
            step, data, start_to_close_timeout=timedelta(seconds=60)
        )


async def _connect(address: str) -> Client:
    """The server listens before it serves its namespace."""
    until = asyncio.get_running_loop().time() + _PATIENCE_S
    while True:
        try:
            client = await Client.connect(address)
            await client.count_workflows()
            return client
        except (RuntimeError, TemporalError):
            if asyncio.get_running_loop().time() > until:
                raise
            await asyncio.sleep(0.2)


async def _start_all(client: Client, executions: int) -> int:
    left = iter(range(executions))

    async def some() -> int:
        right = 0
        for _ in left:
            name = f"bench-{uuid.uuid4()}"
            answer = await client.execute_workflow(One.run, DATA, id=name, task_queue=_QUEUE)
            right += answer == DATA
        return right

    return sum(await asyncio.gather(*(some() for _ in range(AT_ONCE))))


async def _work(client: Client) -> None:
    async with Worker(client, task_queue=_QUEUE, workflows=[One], activities=[step]):
        await asyncio.to_thread(serve, "temporalio", lambda _executions: 0)


def main(role: str, address: str) -> None:
    """Be one of the two, until input ends."""
    with asyncio.Runner() as runner:
        client = runner.run(_connect(address))
        if role == "work":
            runner.run(_work(client))
        else:
            serve("temporalio", lambda executions: runner.run(_start_all(client, executions)))


if __name__ == "__main__":
    main(*sys.argv[1:])
