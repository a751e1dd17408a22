"""Metrics in Prometheus's format: those of this process, and the depth of all queues.

Of what the store answers only the outcomes are counted. What is read from the store at a scrape is
read part by part: while it is away, or holds what cannot be read, that part is missing and counted,
and no other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from conductor_py.errors import StoreUnavailable

_LOG = logging.getLogger(__name__)
_BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MOST_QUEUES: Final = 1_000
"""Queues that have a line of their own, the deepest; who starts a workflow can invent some."""
_OTHER_QUEUES: Final = "(others)"
_COUNTED: Final = {
    "starts": "Executions that were to start, by what the store answered",
    "polls": "Looks into the queues for workers, by whether there was a task",
    "claims": "Tasks handed to workers",
    "reports": "Results of workers, by what the store answered",
    "decisions": "Decisions on executions; those that are not OK were refused and made again",
    "locks": "Locks on executions that were asked for, and what came of them",
}


class Metrics:
    """Counts what one process does."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Histogram(
            "conductor_http_request_seconds",
            "Requests by how long they took, long polls included",
            ("method", "route", "status"),
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        # Written last, when it is known what could not be read for this very scrape.
        self._failures = CollectorRegistry()
        self._guard = _Guard(self._failures)
        self._counters = {
            name: Counter(f"conductor_{name}", sentence, ("outcome",), registry=self._registry)
            for name, sentence in _COUNTED.items()
        }

    def count(self, name: str, outcome: str, amount: int) -> None:
        """Count one of ``starts``, ``polls``, ``claims``, ``reports``, ``decisions``, ``locks``."""
        self._counters[name].labels(outcome).inc(amount)

    def timed(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request by the pattern of its path, and how long it took."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def show_queues(self, sizes: Callable[[], Mapping[str, int]]) -> None:
        """Ask for the sizes of the queues at every scrape."""
        self._registry.register(_QueueDepth(sizes, self._guard))

    def show_events(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Ask at every scrape what event handlers and notifications came to."""
        self._registry.register(_EventActions(counts, self._guard))

    def show_schedules(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Ask for the number of schedules by state at every scrape."""
        self._registry.register(_Schedules(counts, self._guard))

    def show_requests(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Ask at every scrape how many requests are in, by what they do, and were refused."""
        self._registry.register(_Requests(counts, self._guard))

    def show_oversight(
        self,
        last_audit: Callable[[], Mapping[str, int]],
        quarantined: Callable[[], int],
        damaged: Callable[[], int],
    ) -> None:
        """Ask at every scrape what the last audit counted, and how many executions are in
        quarantine.
        """
        self._registry.register(_Oversight(last_audit, quarantined, damaged, self._guard))

    def write(self) -> bytes:
        """Write everything as text."""
        return generate_latest(self._registry) + generate_latest(self._failures)


class _Guard:
    """Reads what a scrape wants, each part by itself."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._failed = Counter(
            "conductor_scrape_failures",
            "Parts of a scrape that are missing: the store is away, or what it holds is damaged",
            ("part",),
            registry=registry,
        )
        self._told: set[str] = set()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Leave out what cannot be read, and count it; it is logged once, until it can be."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever stands in the store, the rest is shown
            self._failed.labels(name).inc()
            if name not in self._told and not isinstance(error, StoreUnavailable):
                self._told.add(name)
                _LOG.warning(
                    "A part of the metrics cannot be read",
                    extra={"action": "scrape_failed", "part": name, "reason": str(error)[:200]},
                )
        else:
            self._told.discard(name)


class _Requests(Collector):
    def __init__(self, counts: Callable[[], Mapping[str, int]], guard: _Guard) -> None:
        self._counts = counts
        self._guard = guard

    def describe(self) -> list[GaugeMetricFamily]:
        """Tell nothing beforehand."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        refused = CounterMetricFamily(
            "conductor_http_refused", "Requests answered 503 because of too many others"
        )
        now = GaugeMetricFamily(
            "conductor_http_requests_now",
            "Requests that are in at this moment, and of these those that work, rest or wait",
            labels=("state",),
        )
        with self._guard.part("requests"):
            counts = dict(self._counts())
            refused.add_metric((), float(counts.pop("refused")))
            _add(now, counts)
        yield now
        yield refused


class _QueueDepth(Collector):
    def __init__(self, sizes: Callable[[], Mapping[str, int]], guard: _Guard) -> None:
        self._sizes = sizes
        self._guard = guard

    def describe(self) -> list[GaugeMetricFamily]:
        """Tell nothing beforehand, so that registering asks no store."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        depth = GaugeMetricFamily(
            "conductor_queue_depth", "Tasks that wait for a worker", labels=("queue",)
        )
        with self._guard.part("queues"):
            deepest = sorted(self._sizes().items(), key=lambda entry: (-entry[1], entry[0]))
            _add(depth, dict(sorted(deepest[:MOST_QUEUES])))
            if others := deepest[MOST_QUEUES:]:
                _add(depth, {_OTHER_QUEUES: sum(size for _, size in others)})
        yield depth


class _EventActions(Collector):
    def __init__(self, counts: Callable[[], Mapping[str, int]], guard: _Guard) -> None:
        self._counts = counts
        self._guard = guard

    def describe(self) -> list[CounterMetricFamily]:
        """Tell nothing beforehand, so that registering asks no store."""
        return []

    def collect(self) -> Iterator[CounterMetricFamily]:
        actions = CounterMetricFamily(
            "conductor_event_actions",
            "What event handlers did, by outcome; DEAD: given up, notifications included;"
            " UNDELIVERED: calls about notifications that failed, and come again",
            labels=("outcome",),
        )
        with self._guard.part("events"):
            _add(actions, self._counts())
        yield actions


class _Oversight(Collector):
    def __init__(
        self,
        last_audit: Callable[[], Mapping[str, int]],
        quarantined: Callable[[], int],
        damaged: Callable[[], int],
        guard: _Guard,
    ) -> None:
        self._last_audit = last_audit
        self._quarantined = quarantined
        self._damaged = damaged
        self._guard = guard

    def describe(self) -> list[GaugeMetricFamily]:
        """Tell nothing beforehand, so that registering asks no store."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        broken = GaugeMetricFamily(
            "conductor_audit_violations",
            "Violations that the last audit of the whole store found; none yet: no sample",
            labels=("invariant",),
        )
        audits = CounterMetricFamily("conductor_audits", "Audits of the whole store by sweepers")
        ended = GaugeMetricFamily(
            "conductor_audit_ended_seconds", "When the last audit ended, seconds of the epoch"
        )
        kept = GaugeMetricFamily(
            "conductor_quarantined_executions", "Executions that cannot be decided"
        )
        damaged = GaugeMetricFamily(
            "conductor_damaged_entries", "Timers, entries, effects, schedules that cannot be read"
        )
        with self._guard.part("audit"):
            if last := self._last_audit():
                audits.add_metric((), float(last["runs"]))
                ended.add_metric((), last["ended_ms"] / 1000)
                _add(broken, {name: n for name, n in last.items() if name.startswith("I")})
        with self._guard.part("quarantine"):
            kept.add_metric((), float(self._quarantined()))
        with self._guard.part("damaged"):
            damaged.add_metric((), float(self._damaged()))
        yield from (broken, audits, ended, kept, damaged)


class _Schedules(Collector):
    def __init__(self, counts: Callable[[], Mapping[str, int]], guard: _Guard) -> None:
        self._counts = counts
        self._guard = guard

    def describe(self) -> list[GaugeMetricFamily]:
        """Tell nothing beforehand, so that registering asks no store."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        schedules = GaugeMetricFamily(
            "conductor_schedules",
            "Schedules; those that are late should have fired a minute ago",
            labels=("state",),
        )
        with self._guard.part("schedules"):
            _add(schedules, self._counts())
        yield schedules


def _add(family: GaugeMetricFamily | CounterMetricFamily, counts: Mapping[str, int]) -> None:
    for label, count in counts.items():
        family.add_metric((label,), float(count))  # what is no number fails here
