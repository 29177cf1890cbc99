"""What the pipelines of a process did lately: totals, rates and errors, for the status page."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ingest.api import TopicPartition
from ingest.observe.history import History
from ingest.observe.results import JvmMemory
from ingest.process_memory import resident_bytes
from ingest.receipt import ComponentKey, Counts, Figures

RATE_S = 60.0
"""Length of the window of the rates."""
BUCKET_S = 1.0
"""Batches that end within so much time are added up: the window has a few dozen numbers however short batches are."""
MIN_SAMPLES = 20
"""Timed calls of a component from which on its time is known well enough to be shown."""
MAX_ERRORS = 10
"""Newest errors of a pipeline that are kept."""
MAX_MESSAGE_CHARS = 1_000
MICRO_BATCHES_BEHIND = 2
"""A pipeline with more unread records than so many micro-batches is behind."""
_BULK_LOAD = "bulk_load_"
"""Prefix of what bulk loads count."""
REASONS_OF_CALLS = {
    "refused": (
        "HBase may not see `staging`, or a region was split or moved; its server's log says why at "
        '"Failed to complete bulk load"'
    ),
    "unstaged": "`staging` cannot be used; 'attr2hbase validate --connect' says why",
}
"""Figure of bulk loads that counts chunks which went as calls -> why, and where it is seen."""
MAX_RETENTIONS = 10
"""Partitions whose used retention is shown, those that have used most."""


@dataclass(slots=True)
class _DeadLettered:
    """Events that failed in a component with an error, and the time of the newest micro-batch with one."""

    events: int = 0
    batch_time_ms: int = 0


@dataclass(slots=True)
class _Pipeline:
    since: float
    history: History
    totals: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    dead_lettered_by: dict[tuple[str, str], _DeadLettered] = field(default_factory=dict)
    batch: dict[str, Any] | None = None
    newest: deque[tuple[float, Counts]] = field(default_factory=deque)
    components: dict[ComponentKey, Figures] = field(default_factory=dict)
    kinds: Mapping[ComponentKey, str] | None = None
    worker_bytes: int = 0
    errors: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_ERRORS))
    lags: dict[TopicPartition, int] = field(default_factory=dict)
    lag: int = 0
    batch_records: int | None = None
    loads: dict[str, Counter[str]] = field(default_factory=dict)
    loaded_last: frozenset[str] = frozenset()
    max_rate: int | None = None
    retention: dict[TopicPartition, tuple[float, float | None]] | None = None
    busy: int = 0
    busy_wait_s: float = 0.0
    throttle: Callable[[], float] = lambda: 1.0


class Activity:
    """
    The recent activity of the pipelines of a process, in bounded memory and without bodies of events.

    Thread-safe.

    Args:
        mask: hides secrets in messages, which contain those of client libraries.
        wall_s: seconds since the epoch.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        mask: Callable[[str], str] = str,
        wall_s: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mask = mask
        self._wall_s = wall_s
        self._clock = clock
        self._lock = threading.Lock()
        self._pipelines: dict[str, _Pipeline] = {}
        self._jvm: JvmMemory | None = None

    def durable(self, pipeline: str, batch_id: int, batch_time_ms: int, counts: Counts, seconds: float) -> None:
        """A batch of a pipeline is durable."""
        now = self._clock()
        with self._lock:
            found = self._of(pipeline)
            found.totals.update(
                batches=1,
                read=counts.read,
                stored=counts.stored,
                dropped=counts.dropped.total(),
                dead_lettered=counts.dead_lettered.total(),
            )
            for code, count in counts.dead_lettered.items():
                known = code in found.dead_letters or len(found.dead_letters) < MAX_ERRORS
                found.dead_letters[code if known else "other"] += count
            for key, count in counts.dead_lettered_by.items():
                found.dead_lettered_by[key] = failed = found.dead_lettered_by.pop(key, _DeadLettered())
                failed.events += count
                failed.batch_time_ms = batch_time_ms
            while len(found.dead_lettered_by) > MAX_ERRORS:
                del found.dead_lettered_by[_least(found.dead_lettered_by, batch_time_ms)]
            found.batch = {
                "id": batch_id,
                "time_ms": batch_time_ms,
                "seconds": round(seconds, 3),
                "at_ms": round(self._wall_s() * 1000),
            }
            found.batch_records = counts.records
            loads = loads_in(counts)
            found.loaded_last = frozenset(table for table, load in loads.items() if load["rows"])
            for table, load in loads.items():
                found.loads.setdefault(table, Counter()).update(load)
            found.history.batch(now, counts.read, seconds)
            for component, figures in counts.components.items():
                found.components.setdefault(component, Figures()).add(figures)
            found.worker_bytes = counts.worker_bytes
            self._forget(found, now)
            if not found.newest or found.newest[-1][0] + BUCKET_S <= now:
                found.newest.append((now, Counts()))
            found.newest[-1][1].add(Counts(read=counts.read, stored=counts.stored, components=counts.components))

    def failed(self, pipeline: str, code: str, message: str) -> None:
        """A pipeline is blocked or has failed."""
        error = {
            "at_ms": round(self._wall_s() * 1000),
            "code": code,
            "message": self._mask(message)[:MAX_MESSAGE_CHARS],
        }
        with self._lock:
            self._of(pipeline).errors.append(error)

    def lag(self, pipeline: str, topic: str, partition: int, records: int) -> None:
        """The number of unread records of a partition."""
        with self._lock:
            found = self._of(pipeline)
            found.lag += records - found.lags.get((topic, partition), 0)
            found.lags[topic, partition] = records
            found.history.lag(self._clock(), found.lag)

    def is_behind(self, pipeline: str) -> bool:
        """Whether a pipeline has more unread records than two micro-batches like the last one, or it is not known."""
        with self._lock:
            found = self._of(pipeline)
            if not found.lags or found.batch_records is None:
                return True
            return found.lag > MICRO_BATCHES_BEHIND * found.batch_records

    def lag_unknown(self, pipeline: str) -> None:
        """Remove the numbers of unread records: nothing measures them any more."""
        with self._lock:
            found = self._of(pipeline)
            found.lags.clear()
            found.lag = 0
            found.history.lag(self._clock(), None)

    def built(self, pipeline: str, kinds: Mapping[ComponentKey, str]) -> None:
        """
        A pipeline is built with these components.

        Args:
            pipeline: its name.
            kinds: component -> its kind, in the order of the pipeline; figures of others are forgotten, also if they
                had the name of one of these.
        """
        with self._lock:
            found = self._of(pipeline)
            before = kinds if found.kinds is None else found.kinds
            same = {each for each, kind in kinds.items() if before.get(each) == kind}
            found.kinds = dict(kinds)
            for components in (found.components, *(counts.components for _, counts in found.newest)):
                for each in components.keys() - same:
                    del components[each]

    def limited(self, pipeline: str, max_rate: int | None) -> None:
        """A pipeline is built with this maximum rate, records per second; None without a limit."""
        with self._lock:
            self._of(pipeline).max_rate = max_rate

    def throttled(self, pipeline: str, ratio: Callable[[], float]) -> None:
        """Set the function that returns in which fraction of the time a pipeline may write now."""
        with self._lock:
            self._of(pipeline).throttle = ratio

    def attempted(self, pipeline: str, counts: Counts) -> None:
        """An attempt at a batch ended, durable or not."""
        with self._lock:
            found = self._of(pipeline)
            found.busy += counts.busy
            found.busy_wait_s += sum(wait.seconds for wait in counts.busy_waits)

    def retention(self, pipeline: str, used: Mapping[TopicPartition, tuple[float, float | None]]) -> None:
        """
        Set how much of the retention the unread records of a pipeline have used.

        Args:
            pipeline: its name.
            used: topic and partition -> the used fraction, and the seconds that remain if they are known.
        """
        with self._lock:
            self._of(pipeline).retention = dict(used)

    def remove(self, pipeline: str) -> None:
        """Forget a pipeline that the service does not have any more, but not its totals since the start."""
        with self._lock:
            found = self._pipelines.pop(pipeline, None)
            if found is not None:
                now = self._clock()
                self._pipelines[pipeline] = _Pipeline(
                    now, History(now), found.totals, found.dead_letters, found.dead_lettered_by
                )

    def history(self, pipeline: str) -> dict[str, Any]:
        """The last hour of a pipeline as plain data, as `History.to_json`."""
        with self._lock:
            return self._of(pipeline).history.to_json(self._clock())

    def of(self, pipeline: str) -> dict[str, Any]:
        """The activity of a pipeline as plain data."""
        now = self._clock()
        with self._lock:
            found = self._of(pipeline)
            self._forget(found, now)
            seconds = min(RATE_S, max(1.0, now - found.since))
            recent = Counts()
            for _, counts in found.newest:
                recent.add(counts)
            lags = [
                {"topic": topic, "partition": partition, "records": records}
                for (topic, partition), records in sorted(found.lags.items())
            ]
            return {
                "totals": {
                    name: found.totals[name] for name in ("batches", "read", "stored", "dropped", "dead_lettered")
                },
                "rates": {
                    "read_per_s": round(recent.read / seconds, 1),
                    "stored_per_s": round(recent.stored / seconds, 1),
                },
                "components": _components(found, recent.components, seconds, self._mask),
                "worker_bytes": found.worker_bytes or None,
                "max_rate": found.max_rate,
                "throttle": {
                    "ratio": round(found.throttle(), 3),
                    "busy_answers": found.busy,
                    "busy_wait_s": round(found.busy_wait_s, 3),
                },
                "batch": found.batch,
                "lag": {"records": found.lag, "partitions": lags} if lags else None,
                "bulk_load": [
                    {"table": table, "mode": "files" if table in found.loaded_last else "calls", **_amounts(load)}
                    for table, load in sorted(found.loads.items())
                ],
                "retention": _retention(found.retention),
                "errors": list(found.errors),
                "dead_letters": dict(found.dead_letters),
                "dead_lettered_by": [
                    {"error": code, "component": self._mask(component), **asdict(failed)}
                    for (code, component), failed in reversed(found.dead_lettered_by.items())
                ],
            }

    def jvm(self, memory: JvmMemory) -> None:
        """Set the memory of Spark's JVM."""
        with self._lock:
            self._jvm = memory

    def memory(self) -> dict[str, Any]:
        """The memory of this process and of Spark's JVM as plain data; `jvm` is None before it is known."""
        with self._lock:
            return {"driver_bytes": resident_bytes(), "jvm": None if self._jvm is None else self._jvm._asdict()}

    def _of(self, pipeline: str) -> _Pipeline:
        found = self._pipelines.get(pipeline)
        if found is None:
            now = self._clock()
            found = self._pipelines[pipeline] = _Pipeline(now, History(now))
        return found

    @staticmethod
    def _forget(found: _Pipeline, now: float) -> None:
        while found.newest and found.newest[0][0] < now - RATE_S:
            found.newest.popleft()


def _least(failed: Mapping[tuple[str, str], _DeadLettered], newest_ms: int) -> tuple[str, str]:
    """The pair with the fewest events, one of the newest micro-batch only if there is no other."""
    return min(failed, key=lambda each: (failed[each].batch_time_ms == newest_ms, failed[each].events))


def _components(
    found: _Pipeline, recent: Mapping[ComponentKey, Figures], seconds: float, mask: Callable[[str], str]
) -> list[dict[str, Any]]:
    """
    The figures of all components, in the order of the pipeline.

    `microseconds` is the usual time of a call in the window (`CallTimes.usual_ns`), and `time_share` the fraction of
    the time of all components that a component has used; both are None after less than `MIN_SAMPLES` calls. All calls
    for a sampled record are timed, so the sampled times have the proportions of all: how many events a component
    received, or how many of those its condition excludes, does not matter.
    """
    kinds = found.kinds if found.kinds is not None else dict.fromkeys(found.components, "")
    total_ns = sum(figures.times.usual_ns for figures in recent.values())
    shown = []
    for component, kind in kinds.items():
        totals, lately = found.components.get(component, Figures()), recent.get(component, Figures())
        outcomes = ("received", "sent", "dropped", "failed")
        calls, usual_ns = lately.times.calls, lately.times.usual_ns
        is_known = calls >= MIN_SAMPLES
        shown.append(
            {
                "type": component[0].value,
                "name": mask(component[1]),
                "kind": kind,
                **{each: getattr(totals, each) for each in outcomes},
                "recent": {each: getattr(lately, each) for each in outcomes},
                "rates": {f"{each}_per_s": round(getattr(lately, each) / seconds, 1) for each in outcomes},
                "microseconds": round(usual_ns / calls / 1_000, 2) if is_known else None,
                "time_share": round(usual_ns / total_ns, 3) if is_known and total_ns else None,
            }
        )
    return shown


def loads_in(counts: Counts) -> dict[str, Counter[str]]:
    """Table -> rows, files, seconds and refusals of its bulk loads in a micro-batch."""
    loads: dict[str, Counter[str]] = {}
    for (name, table), amount in counts.counted.items():
        if name.startswith(_BULK_LOAD):
            loads.setdefault(table, Counter())[name.removeprefix(_BULK_LOAD)] += amount
    return loads


def _amounts(load: Counter[str]) -> dict[str, float]:
    """As JSON."""
    return {name: round(load[name], 3) for name in ("rows", "files", "seconds", *REASONS_OF_CALLS)}


def _retention(used: Mapping[TopicPartition, tuple[float, float | None]] | None) -> dict[str, Any] | None:
    """As JSON: the largest used fraction, and the partitions that have used any, the largest first."""
    if used is None:
        return None
    partitions = [
        {
            "topic": topic,
            "partition": partition,
            "used": round(ratio, 2),
            "remaining_s": None if remaining_s is None else round(remaining_s),
        }
        for (topic, partition), (ratio, remaining_s) in sorted(used.items(), key=lambda each: (-each[1][0], each[0]))
        if ratio > 0
    ]
    return {"used": partitions[0]["used"] if partitions else 0.0, "partitions": partitions[:MAX_RETENTIONS]}
