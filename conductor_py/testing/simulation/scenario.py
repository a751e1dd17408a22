"""A run as data: the deployment, the definitions, what clients do, what goes wrong.

Nothing in here has happened yet. Any action or fault can be taken out, and the rest still means
something: that is how a failing run is made smaller.
"""

from __future__ import annotations

from conductor_py.records import dataclass, field
from conductor_py.testing.definitions import Json
from conductor_py.testing.simulation.faults import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """How many processes of each kind, and how they are set up."""

    apis: int = 2
    sweepers: int = 1
    effects: int = 1
    """Processes that carry effects out; where there are none, sweepers do, after their timers."""
    schedulers: int = 0
    systems: int = 0
    """Workers of system tasks."""
    workers: int = 2
    partitions: int = 1
    local_only: bool = False
    shard_lease_ms: int = 30_000
    lease_ms: int = 3_000
    sweep_batch: int = 50
    """So many timers are fired at a time; half of them are many, and effects give way to them."""
    decision_attempts: int = 1_000
    decision_rounds: int = 4_000
    remove_after_ms: int = 5_000
    latency_us: int = 200
    """How long a call of the store usually takes, there and back the same."""
    is_listened_to: bool = False
    """Whether a listener is told how executions end."""
    soft_bytes: int = 1 << 20
    """Documents above this go to payload storage."""

    def names(self, kind: str) -> tuple[str, ...]:
        """Name the processes of a kind."""
        count: int = getattr(self, f"{kind}s" if kind != "effects" else kind)
        return tuple(f"{kind}-{number}" for number in range(1, count + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What a client does at an instant. ``choice`` picks whatever is to be picked then: the target
    among the executions that there are, a task of it, the arguments.
    """

    at_ms: int
    verb: str
    choice: int = 0
    definition: int = 0
    key: str = ""
    strategy: str = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A whole run. For ``span_ms`` things go wrong; from then on nothing does."""

    seed: int
    weather: str
    deployment: Deployment
    definitions: tuple[Json, ...]
    schedules: tuple[Json, ...]
    actions: tuple[Action, ...]
    faults: tuple[Fault, ...]
    span_ms: int
    registered: bool = True
    """Whether the definitions are registered, rather than sent with each start."""
    others: tuple[Json, ...] = ()
    """Workflows that are registered beside them."""
    tasks: tuple[Json, ...] = ()
    """Registered task definitions."""
    input: Json = field(default_factory=dict)
    faithful: bool = False
    """Whether what comes out of it must be the same as without any fault."""
    attended: bool = True
    """Whether somebody completes what waits for people while things go wrong, too."""
    calm_s: int = 3_600
    """How long, in virtual time, all may take to end once nothing goes wrong."""


__all__ = ["Action", "Deployment", "Scenario"]
