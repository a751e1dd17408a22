"""A client and a worker with large payloads, run as a script: URL and `start` or `work`.

They know the address of the server and nothing else.
"""

import sys
from typing import Any

from conductor_py.sdk import Client, Worker, WorkerOptions, WorkerTask

SIZE = 6_000_000


def _start(client: Client) -> None:
    given: Any = {"rows": [{"name": "first"}, {"name": "second"}], "ballast": "i" * SIZE}
    sys.stdout.write(client.start_workflow("large", input=given))


def _work(client: Client) -> None:
    def measure(rows: list[dict[str, str]], ballast: str) -> dict[str, object]:
        found = {"names": [row["name"].upper() for row in rows], "size": len(ballast)}
        return {"found": found, "ballast": "o" * SIZE}

    Worker(client, [WorkerTask(measure, WorkerOptions(name="measure"))]).run()


if __name__ == "__main__":
    with Client(sys.argv[1]) as server:
        (_start if sys.argv[2] == "start" else _work)(server)
