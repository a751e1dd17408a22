"""Task queues: sizes, and who polls them."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.answers import text as text_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.wire.parameters import text, texts, wrong


def queues(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/tasks/queue``."""
    views = _Queues(front)
    return blueprint(
        "queues",
        "/api/tasks/queue",
        (
            ("GET", "/sizes", views.sizes),
            ("GET", "/size", little(views.size)),
            ("GET", "/all", views.all_sizes),
            ("GET", "/all/verbose", views.all_shards),
            ("GET", "/polldata", views.poll_data),
            ("GET", "/polldata/all", views.all_poll_data),
            ("POST", "/requeue/<task_type>", views.requeue),
        ),
    )


def queue_name(task_type: str, *, domain: str, name_space: str, isolation_group: str) -> str:
    """Write a queue's name: ``[domain:]type[@name space][-isolation group]``."""
    name = f"{domain}:{task_type}" if domain else task_type
    name = f"{name}@{name_space}" if name_space else name
    return f"{name}-{isolation_group}" if isolation_group else name


class _Queues:
    def __init__(self, front: Front) -> None:
        self._tasks = front.engine.tasks
        self._open_tasks = front.engine.open_tasks

    def sizes(self) -> Answer:
        wanted = texts(request.args, "taskType")
        found = self._tasks.queue_sizes(wanted or None)
        return json_answer({name: found.get(name, 0) for name in wanted or sorted(found)})

    def size(self) -> Answer:
        name = queue_name(
            _task_type(),
            domain=text(request.args, "domain"),
            name_space=text(request.args, "executionNamespace"),
            isolation_group=text(request.args, "isolationGroupId"),
        )
        return json_answer(self._tasks.queue_sizes((name,)).get(name, 0))

    def all_sizes(self) -> Answer:
        return json_answer(dict(sorted(self._tasks.queue_sizes(None).items())))

    def all_shards(self) -> Answer:
        found = self._tasks.queue_sizes_by_shard()
        shown = {
            queue: {shard: _shard(size) for shard, size in sorted(shards.items())}
            for queue, shards in sorted(found.items())
        }
        return json_answer(shown)

    def poll_data(self) -> Answer:
        return json_answer(list(self._tasks.poll_data(_task_type())))

    def requeue(self, task_type: str) -> Answer:
        return text_answer(str(self._open_tasks.requeue_all(task_type)))

    def all_poll_data(self) -> Answer:
        return json_answer(list(self._tasks.poll_data(None)))


def _task_type() -> str:
    task_type = text(request.args, "taskType")
    if not task_type:
        raise wrong("taskType", "must be given")
    return task_type


def _shard(size: object) -> object:
    # Conductor's spelling; nothing is ever handed out without a claim.
    return {"size": size, "uacked": 0} if isinstance(size, int) else size
