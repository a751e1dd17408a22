"""What stands in for a task: an output, a function of the input, or failures before either."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from conductor_py.errors import ConfigurationError
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass, field
from conductor_py.sdk.task import Task, TaskResult

Output = JsonObject | Callable[[JsonObject], JsonObject]
"""An output, or what makes one of the task's input."""


@dataclass(slots=True, kw_only=True, eq=False)
class Mock:
    """Stands in for the tasks of one reference, name or type; the newest mock of a name counts.

    It fails ``fails`` times with ``reason``, then completes with ``output``. ``terminal`` says that
    a failure is for good: nothing is tried again. ``calls`` holds the input of each try, in order.
    """

    name: str
    output: Output
    fails: int = 0
    reason: str = "mocked failure"
    terminal: bool = False
    calls: list[JsonObject] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what means nothing; raises ``ConfigurationError``."""
        if not self.name:
            raise ConfigurationError("a mock needs the reference, the name or the type of a task")
        if self.fails < 0:
            raise ConfigurationError(f"mock of {self.name}: fails is {self.fails}; give 0 or more")

    def answer(self, given: JsonObject) -> TaskResult:
        """Note the input of one try, and say how it ends. An exception of ``output`` passes."""
        self.calls.append(given)
        if len(self.calls) <= self.fails:
            return TaskResult.failed(self.reason, terminal=self.terminal)
        made = self.output(given) if callable(self.output) else self.output
        return TaskResult.completed(made)


@dataclass(slots=True, eq=False)
class Mocks:
    """The mocks of one engine, by name."""

    by_name: dict[str, Mock] = field(default_factory=dict)

    def put(self, mock: Mock) -> None:
        """Add it, in place of an older one of that name."""
        self.by_name[mock.name] = mock

    def of(self, task: Task) -> Mock | None:
        """Find the mock of a task: by reference, else by name, else by type."""
        names = (_reference(task), task.definition_name, task.task_type)
        found = (self.by_name[name] for name in names if name in self.by_name)
        return next(found, None)

    def __iter__(self) -> Iterator[str]:
        """Go through their names, in the order in which they were added."""
        return iter(tuple(self.by_name))


def _reference(task: Task) -> str:
    """Take the reference as the definition has it: the wire writes the rounds of loops behind."""
    node = task.json.get("workflowTask")
    found = node.get("taskReferenceName") if isinstance(node, Mapping) else None
    return found if isinstance(found, str) else task.reference_name
