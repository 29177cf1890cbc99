"""Observes a task, and collects the outcome of each event as a line of `explain`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ingest.api import DryWrite, Event, EventError, Mutation, OnError, Origin, Record, nanos_of
from ingest.config.test_cases import Given
from ingest.dry_run.inputs import event_of, given_of, record_of
from ingest.dry_run.shown import Output, output_of
from ingest.formats.event_json import Line, changed_by, shown_event, shown_mutation
from ingest.pipeline.outcomes import BoundDecorator, Dropped, Failed, Outcome, StillBuffered
from ingest.pipeline.sink_binding import SinkBinding
from ingest.sources.decoding import Decoder
from sinks.updates.keys import MAX_BATCH_TIME_MS

_WORST_FIRST = (OnError.STOP, OnError.DEAD_LETTER, OnError.DROP)
BATCH_TIME_MS = MAX_BATCH_TIME_MS
"""In the year 2248, so that a put with this time can be recognized."""


class _Input(NamedTuple):
    """An input event before the chain."""

    number: int
    before: Line
    timestamp_ms: int


class Inputs:
    """
    The records for the task, and their decoder, which returns inputs that are events as they are.

    Args:
        decoder: of the source.

    Attributes:
        records: one for each input of the micro-batch.
        on_next: called before each record is decoded.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self.records: list[Record] = []
        self._given: dict[int, tuple[int, Given]] = {}
        self._inputs: dict[int, _Input] = {}
        self.on_next: Callable[[], None] = lambda: None

    def load(self, batch: Iterable[tuple[int, Given | Mapping[str, object]]]) -> None:
        """
        Replace the inputs by those of one micro-batch, each with its number.

        Raises:
            BadInputError: an input is not an event.
        """
        self.records = []
        self._given.clear()
        self._inputs.clear()
        for number, content in batch:
            given = content if isinstance(content, Given) else given_of(number, content)
            record = _record_of_event(number, given) if given.record is None else record_of(number, given.record)
            self.records.append(record)
            self._given[id(record)] = number, given

    def decode(self, record: Record) -> Event | str:
        """See `Decoder.decode`."""
        self.on_next()
        number, given = self._given[id(record)]
        nanos = nanos_of(record.timestamp_ms, record.partition, record.offset)
        undecoded = Event(record.value or b"", timestamp_ms=record.timestamp_ms, nanos=nanos)
        self._inputs[id(record)] = _Input(number, shown_event(undecoded), record.timestamp_ms)
        event: Event | str
        if given.record is None:
            event = event_of(number, given, self._decoder.event_class)
        else:
            event = self._decoder.decode(record)
        if isinstance(event, Event):
            self._inputs[id(record)] = _Input(number, shown_event(event), event.timestamp_ms)
        return event

    def of(self, record: Record) -> _Input:
        """The input of a record that was decoded."""
        return self._inputs[id(record)]


class OutputObserver:
    """
    Collects the outputs of an attempt; see `ingest.pipeline.task_observer.TaskObserver`.

    Args:
        inputs: of the task.
        policies: name of a decorator or sink -> its error policy.
        on_error: the pipeline's, for records that cannot be decoded.
        has_sinks: whether the sinks are part of the run.

    Attributes:
        outputs: in the order of their outcomes.
        batch_time_ms: of the micro-batch.
    """

    batch_time_ms = BATCH_TIME_MS
    shows_bugs = True

    def __init__(self, inputs: Inputs, policies: Mapping[str, OnError], on_error: OnError, *, has_sinks: bool) -> None:
        self._inputs = inputs
        self._policies = policies
        self._on_error = on_error
        self._has_sinks = has_sinks
        self._history: dict[Origin, tuple[Line, ...]] = {}
        self._buffered: dict[int, tuple[Record, Origin]] = {}
        inputs.on_next = self._drop_history
        self._puts: list[Line] = []
        self._writes: list[Line] = []
        self._batch_time_ms = 0
        self._sink = ""
        self.outputs: list[Output] = []

    def started(self) -> None:
        """Discard the outputs of an earlier attempt."""
        self._history.clear()
        self._buffered.clear()
        self.outputs = []

    def watch(self, bound: BoundDecorator, before: Event, made: Sequence[Event]) -> None:
        """Record what a decorator changed in an event; see `ingest.pipeline.chain.Watcher`."""
        so_far = self._history.get(before.origin, ())
        heading: Line = {
            "decorator": bound.name if (label := bound.decorator.settings.label) is None else bound.decorator.kind,
            "label": label,
        }
        if not made:
            self._history[before.origin] = (*so_far, {**heading, "changed": {}})
        for part, event in enumerate(made):
            of_several: Line = {"part": part} if len(made) > 1 else {}
            self._history[event.origin] = (*so_far, {**heading, "changed": changed_by(before, event), **of_several})

    def named(self, binding: SinkBinding) -> SinkBinding:
        """The binding, with its mutations recorded under its name."""
        write = binding.write

        def write_named(event: Event) -> str | None:
            self._sink = binding.name
            return write(event)

        return replace(binding, write=write_named)

    def mutated(self, store: str, table: str, mutation: Mutation, physical: bytes) -> Callable[[], None]:
        """Return a callback that records a mutation, for when the store has accepted it."""
        line = shown_mutation(self._sink, store, table, mutation, physical)
        return lambda: self._puts.append(line)

    def dry(self, write: DryWrite) -> Callable[[Event], None]:
        """The write call of a sink without a store; what it would write is recorded under the name of the sink."""

        def write_dry(event: Event) -> None:
            self._writes.append({"sink": self._sink, **write(event, self._batch_time_ms)})

        return write_dry

    def undecoded(self, record: Record, why: EventError | str) -> None:
        """Add the output of a record that was not decoded."""
        number, before, _ = self._inputs.of(record)
        if isinstance(why, str):
            self.outputs.append(output_of(number, "dropped", before, reason=why, puts=self._no_puts))
            return
        outcome, reason = _outcome_of(self._on_error)
        self.outputs.append(output_of(number, outcome, before, reason=reason, error=why, puts=self._no_puts))

    def settled(self, record: Record, outcome: Outcome) -> None:
        """Add the output of an event that the chain dropped or failed."""
        if isinstance(outcome, Dropped):
            # it may have been buffered since an earlier record
            record, _ = self._buffered.pop(id(outcome.event), (record, outcome.event.origin))
        number, before, self._batch_time_ms = self._inputs.of(record)
        match outcome:
            case Event():
                self._puts, self._writes = [], []
            case StillBuffered(event):
                self._buffered[id(event)] = record, event.origin
            case Dropped(reason, component, event):
                after, steps = shown_event(event), self._history.get(event.origin, ())
                steps = (*steps[:-1], *({**last, "dropped": reason} for last in steps[-1:]))
                self.outputs.append(
                    output_of(
                        number,
                        "dropped",
                        after,
                        reason=reason,
                        component=component,
                        steps=steps,
                        puts=self._no_puts,
                    )
                )
            case Failed(origin, error, component, _):
                steps = self._history.get(origin, ())
                became, why = _outcome_of(self._policies.get(component, self._on_error))
                self.outputs.append(
                    output_of(
                        number,
                        became,
                        before,
                        reason=why,
                        error=error,
                        component=component,
                        steps=steps,
                        puts=self._no_puts,
                    )
                )

    def written(
        self, record: Record, event: Event, failures: Sequence[tuple[str, EventError]], skipped: str | None
    ) -> None:
        """Add the output of an event that passed the chain."""
        number, before, timestamp_ms = self._inputs.of(record)
        steps = self._history.get(event.origin, ())
        if not self._has_sinks:
            self.outputs.append(output_of(number, "kept", shown_event(event), steps=steps, puts=None, came_out=True))
            return
        puts = [
            {**put, "timestamp_ms": timestamp_ms} if put["timestamp_ms"] == BATCH_TIME_MS else put for put in self._puts
        ]
        common: dict[str, Any] = {
            "steps": steps,
            "puts": puts,
            "writes": self._writes,
            "came_out": True,
            "own_times": [put["timestamp_ms"] != BATCH_TIME_MS for put in self._puts],
        }
        if failures:
            # as a task counts: stop before dead letter before drop
            name, error = min(failures, key=lambda failure: _WORST_FIRST.index(self._policies[failure[0]]))
            outcome, why = _outcome_of(self._policies[name])
            refused: dict[str, Any] = {"error": error, "component": name, "refusals": failures}
            self.outputs.append(output_of(number, outcome, before, reason=why, **refused, **common))
        elif skipped is not None:
            self.outputs.append(output_of(number, "dropped", shown_event(event), reason=skipped, **common))
        else:
            self.outputs.append(output_of(number, "kept", shown_event(event), **common))

    def _drop_history(self) -> None:
        """Drop the history of all but buffered events, since two inputs may have the same origin."""
        buffered = {origin for _, origin in self._buffered.values()}
        self._history = {origin: done for origin, done in self._history.items() if origin in buffered}

    @property
    def _no_puts(self) -> Sequence[Line] | None:
        return () if self._has_sinks else None


def _outcome_of(on_error: OnError) -> tuple[str, str | None]:
    """The outcome and the reason of an event that failed."""
    match on_error:
        case OnError.DROP:
            return "dropped", "on_error"
        case OnError.STOP:
            return "failed", "stop"
        case OnError.DEAD_LETTER:
            return "failed", None


def _record_of_event(number: int, given: Given) -> Record:
    """A record that stands for an input without one."""
    offset = number if given.offset is None else given.offset
    return Record(given.topic, given.partition, offset, b"", b"", given.timestamp_ms)
