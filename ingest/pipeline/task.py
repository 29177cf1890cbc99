"""
One task of one micro-batch: records through the chain to the destinations, and a receipt with their outcomes.

Plain iterators, without Kafka, HBase or Spark. In a task, only this module acts on an error's disposition.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ingest import failpoint
from ingest.api import (
    DecorateBugError,
    Disposition,
    Event,
    EventError,
    IngestError,
    OnError,
    Origin,
    Record,
    TaskSink,
    TaskSpec,
    UnreadError,
)
from ingest.api.schemas import RunAgainError
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.pipeline.chain import Chain
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.failures import (
    NO_SINK,
    ON_ERROR,
    Failure,
    SinkBugError,
    SourceBugError,
    budget_spent,
    bug_of,
    ended,
    lost_positions,
    stopped_by,
)
from ingest.pipeline.figures import TaskFigures
from ingest.pipeline.outcomes import Dropped, Failed, Outcome, StillBuffered
from ingest.pipeline.parts import Parts
from ingest.pipeline.sink_binding import SinkBinding
from ingest.pipeline.splits import Split, by_rank, by_split
from ingest.pipeline.tapping import Tapping, TapView
from ingest.pipeline.task_observer import TaskObserver
from ingest.pipeline.time_limit import OutOfTimeError, TimeLimit, WaitedTooLongError, sink_timeout, sink_waited
from ingest.receipt import SOURCE, ComponentType, Receipt, TaskStatus

_DECODERS = "ingest"  # the package of their code


@dataclass(slots=True)
class _BufferedRecord:
    """
    The record of an event that a decorator buffers.

    Attributes:
        number: of the record in the task.
        is_timed: whether the record is a sample.
        part: the event's fraction of the record's events.
    """

    record: Record
    number: int
    is_timed: bool
    part: float = 1.0


class Task:
    """
    The decoder, chain and sinks of a pipeline, connected to its destinations; `run` processes one task of a batch.

    A worker process creates it once and uses it for all its tasks of the pipeline.

    Args:
        decode: see `ingest.sources.decoding.Decoder.decode`.
        on_error: failure action for records that cannot be decoded.
        dead_letter_maker: of the pipeline.
        dead_letters: collects the dead letters of one run.
        bindings: the sinks, each of which writes to one of the destinations.
        destinations: by name.
        time_limit: for the calls that process one event; entered while records are read.
        observer: called for each event; makes the task slower.
        tap_view: how the events of taps are shown; None for a task without them.
    """

    def __init__(  # noqa: PLR0913 - the parts of a pipeline, each used once
        self,
        *,
        decode: Callable[[Record], Event | str],
        chain: Chain,
        bindings: Sequence[SinkBinding],
        destinations: Mapping[str, TaskSink],
        on_error: OnError,
        dead_letter_maker: DeadLetterMaker,
        dead_letters: DeadLetterBuffer,
        time_limit: TimeLimit,
        observer: TaskObserver | None = None,
        tap_view: TapView | None = None,
    ) -> None:
        self._untapped = Parts(decode, chain, tuple(bindings))
        self._tap_view = tap_view
        self._tap_failure: Callable[[Record, Failure], None] | None = None
        self._chain = chain
        self._bindings = self._untapped.bindings
        self._figures = TaskFigures(self._untapped)
        self._dropped = self._figures.dropped
        self._sampling = self._figures.sampling
        self._use(self._untapped, self._figures.timed)
        self._after_last_send = failpoint.point("after_last_send")
        self._destinations = destinations
        self._by_split = chain.has_splits or any(each.has_splits for each in destinations.values())
        self._on_error = on_error
        self._time_limit = time_limit
        self._observer = observer
        self._receipt = Receipt()
        self._dead_letter_maker = dead_letter_maker
        self._dead_letters = dead_letters
        self._spec: TaskSpec
        self._reported: set[tuple[str, str]] = set()
        self._blocked: tuple[str, IngestError] | None = None
        self._buffered: dict[int, _BufferedRecord] = {}
        self._runs_again = False
        self._number: int  # of the record whose outcomes are settled, in the task

    def run(self, records: Iterable[Record], spec: TaskSpec) -> Receipt:
        """
        Decorate, map and write one task's records; report the outcome of every event.

        An unavailable destination raises nothing: the receipt's status says so.
        """
        self._sampling.start(self._receipt.counts.records)
        receipt = self._receipt = Receipt()
        self._dead_letters.start(spec.max_dead_letter_bytes)
        self._spec = spec
        self._tap(receipt)
        self._figures.start()
        self._buffered.clear()
        self._runs_again = is_flushed = False
        attempt = spec.batch.attempt
        if self._blocked is not None and self._blocked[0] == attempt:
            # an earlier task of this attempt has already waited in this process; if every task waited, a batch of many
            # tasks would be blocked for minutes before the driver gets the report
            return ended(receipt, TaskStatus.BLOCKED, self._blocked[1])
        if self._observer is not None:
            self._observer.started()
        try:
            for name, destination in self._destinations.items():
                destination.begin(spec, spec.prepared.get(name, b""), receipt.counts)
            with self._time_limit.within(spec.call_timeout_s):
                for rank, split in self._splits(failpoint.at_first("after_poll", records)):
                    self._run_split(rank, split)
            self._figures.add_drops(receipt.counts)
            for name, destination in self._destinations.items():
                receipt.results[name] = destination.request() if self._runs_again else destination.flush()
            self._after_last_send()
            is_flushed = not self._runs_again
        except IngestError as error:
            return self._ended(error)
        finally:
            if not is_flushed:
                self._abandon()
        if any(result.run_again for result in receipt.results.values()):
            receipt.status = TaskStatus.RUN_AGAIN
        else:
            receipt.dead_letters = self._dead_letters.lines()
            receipt.counts.dead_letter_bytes = self._dead_letters.size
            receipt.counts.by_place = self._dead_letters.by_place
            if not spec.sinks_by_record:
                receipt.counts.components = self._figures.of(receipt.counts.records)
        return receipt

    def _ended(self, error: IngestError) -> Receipt:
        """The receipt of an attempt that an error has ended."""
        match error.disposition:
            case Disposition.STOP:
                return ended(self._receipt, TaskStatus.STOP, error)
            case Disposition.RETRY:
                self._blocked = self._spec.batch.attempt, error.without_frames()
            case Disposition.DIVERT:
                pass  # the error names no event, so no event may be skipped: the batch is blocked
        probes = ((name, destination.probe()) for name, destination in self._destinations.items())
        self._receipt.probe = next((probe for probe in probes if probe[1]), None)
        return ended(self._receipt, TaskStatus.BLOCKED, error)

    def _abandon(self) -> None:
        for destination in self._destinations.values():
            destination.abandon()

    def _use(self, parts: Parts, timed: Parts) -> None:
        """Run records through these parts, and those whose time is measured through the others."""
        self._decode, self._chain_in_use, self._selected_bindings = parts
        self._bindings_in_use = parts.bindings
        self._run_chain = failpoint.after("mid_decorate", parts.chain.run)
        self._timed_decode, self._timed_chain, self._timed_bindings = timed
        self._run_timed_chain = failpoint.after("mid_decorate", timed.chain.run)

    def _tap(self, receipt: Receipt) -> None:
        """Put the taps of an attempt into the parts of the task until they have enough; the receipt reports them."""
        self._untap()
        spec = self._spec
        if not spec.taps or self._tap_view is None or spec.sinks_by_record:
            return
        tapping = Tapping(spec.taps, self._tap_view, batch_time_ms=spec.batch.time_ms, on_full=self._untap)
        receipt.tapped, receipt.tap_counts = tapping.lines, tapping.counts
        self._use(tapping.around(self._untapped), tapping.around(self._figures.timed))
        if tapping.has_failures:
            self._tap_failure = tapping.failed

    def _untap(self) -> None:
        self._use(self._untapped, self._figures.timed)
        self._tap_failure = None

    def close(self) -> None:
        """Close the destinations."""
        for destination in self._destinations.values():
            destination.close()

    def _splits(self, records: Iterable[Record]) -> Iterable[Split]:
        """The records by split; one split for all unless a decorator or a destination depends on the splits."""
        if self._spec.splits:
            return by_rank(records, self._spec.splits)
        if self._spec.split_per_record and self._chain.has_splits:
            return ((None, (record,)) for record in records)
        return by_split(records) if self._by_split else ((None, records),)

    def _run_split(self, rank: int | None, records: Iterable[Record]) -> None:
        if self._runs_again:
            self._look_ahead(records)
            return
        counts, sampling = self._receipt.counts, self._sampling
        until_sample = sampling.until
        ends_at_each_record = self._spec.split_per_record and self._chain.has_splits
        self._chain.split_start()
        if rank is not None:
            for destination in self._destinations.values():
                destination.split_start(rank)
        remaining = iter(self._with_selected_sinks(records) if self._spec.sinks_by_record else records)
        try:
            for record in remaining:
                counts.records += 1
                self._number = counts.records
                until_sample -= 1
                if not until_sample:
                    sampling.timed(counts.records)
                    until_sample = sampling.until
                    self._run_timed(record)
                elif (event := self._decoded(record, self._decode)) is not None:
                    self._settle(record, self._run_chain(event))
                if ends_at_each_record:
                    self._end_of_chain()
                    self._chain.split_start()
            sampling.until = until_sample
            self._end_of_chain()
        except RunAgainError:
            self._runs_again = True
            self._look_ahead(remaining)
            return
        for destination in self._destinations.values():
            destination.split_end()

    def _look_ahead(self, records: Iterable[Record]) -> None:
        """
        Find what else the attempt lacks, so that one more attempt is enough; nothing is written or counted.

        A row that a later attempt would not write must not be written, so the attempt has ended for its sinks.
        """
        self._chain.split_start()
        for record in records:
            with suppress(Exception):  # what fails here fails again in the next attempt
                event = self._decode(record)
                if isinstance(event, Event):
                    self._chain.run(event)

    def _run_timed(self, record: Record) -> None:
        """Run a record whose time in each component is measured; a replay has no figures."""
        if self._spec.sinks_by_record:
            if (event := self._decoded(record, self._decode)) is not None:
                self._settle(record, self._run_chain(event))
        elif (event := self._decoded(record, self._timed_decode)) is not None:
            self._settle_timed(record, self._run_timed_chain(event))

    def _settle_timed(self, record: Record, outcomes: Sequence[Outcome], part: float = 1.0) -> None:
        """The same as `_settle`, through the timed sinks; what is buffered again is timed later, too."""
        self._selected_bindings = self._timed_bindings
        self._figures.is_timed = True
        self._settle(record, outcomes, part)
        self._figures.is_timed = False
        self._selected_bindings = self._bindings_in_use

    def _decoded(self, record: Record, decode: Callable[[Record], Event | str]) -> Event | None:
        """The event of a record; None if it has failed or is dropped."""
        try:
            event = decode(record)
        except EventError as error:
            self._undecoded(record, error)
            return None
        except IngestError:
            raise
        except BaseException as bug:  # noqa: BLE001 - as in the chain: a bug fails its event, not the pipeline
            self._undecoded(record, bug_of(bug, "source", _DECODERS, Origin(*record.place), SourceBugError))
            return None
        if isinstance(event, Event):
            return event
        counts = self._receipt.counts
        counts.read += 1
        counts.dropped[event] += 1
        self._figures.undecoded += 1
        if self._observer is not None:
            self._observer.undecoded(record, event)
        return None

    def _end_of_chain(self) -> None:
        """Settle the events that decorators have buffered."""
        for event, outcomes in self._chain.split_end(self._chain_of):
            buffered = self._buffered.pop(id(event))
            self._number = buffered.number
            if self._spec.sinks_by_record:
                self._select_sinks(buffered.record)
            settle = self._settle_timed if buffered.is_timed else self._settle
            settle(buffered.record, outcomes, buffered.part)

    def _chain_of(self, event: Event) -> Chain:
        """The chain through which a buffered event runs on."""
        return self._timed_chain if self._buffered[id(event)].is_timed else self._chain_in_use

    def _undecoded(self, record: Record, error: EventError) -> None:
        if isinstance(error, UnreadError) and self._spec.splits and not error.is_certain:
            raise lost_positions(error) from error
        counts = self._receipt.counts
        counts.read += 1
        counts.failed += 1
        if self._observer is not None:
            self._observer.undecoded(record, error)
        self._fail(record, Failure(error, "source", self._on_error))

    def _with_selected_sinks(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self._select_sinks(record)
            yield record

    def _select_sinks(self, record: Record) -> None:
        """Write the events of this record to its sinks only."""
        names = self._spec.sinks_by_record.get(record.place)
        self._selected_bindings = tuple(binding for binding in self._bindings if names is None or binding.name in names)

    def _settle(self, record: Record, outcomes: Sequence[Outcome], part: float = 1.0) -> None:
        """Write, count or dead-letter an event's outcomes; a buffered event counts once its outcome is known."""
        counts = self._receipt.counts
        failed = settled_before = 0
        buffered: _BufferedRecord | None = None
        for outcome in outcomes:
            if self._observer is not None:
                self._observer.settled(record, outcome)
            match outcome:
                case Event():
                    counts.read += 1
                    failed += self._write(record, outcome)
                case Dropped():
                    counts.read += 1
                    self._dropped[outcome.component] += 1
                    if self._buffered.pop(id(outcome.event), None) is not None:
                        settled_before += 1  # it was an outcome when it was buffered, here or for an earlier record
                case StillBuffered(event):
                    buffered = self._buffered[id(event)] = buffered or _BufferedRecord(
                        record, self._number, self._figures.is_timed
                    )
                case Failed():
                    counts.read += 1
                    failed += 1
                    origin, error, component, on_error, at_failure = outcome
                    self._fail(record, Failure(error, component, on_error, at_failure, origin.fan_out))
        if failed or buffered is not None:
            events = len(outcomes) - settled_before
            counts.failed += part * failed / events
            if buffered is not None:
                buffered.part = part / events

    def _write(self, record: Record, event: Event) -> bool:  # noqa: C901, PLR0912 - one branch for each outcome
        """Whether a sink failed for the event; counts it once: as dead-lettered, else dropped by error, else stored."""
        counts = self._receipt.counts
        stored = False
        skipped = NO_SINK
        failures: list[tuple[EventError, SinkBinding]] = []
        for binding in self._selected_bindings:
            try:
                if binding.condition is not None and not binding.condition.holds(event):
                    binding.count_excluded()
                    continue
                reason = binding.write(event)
            except EventError as error:
                failures.append((error, binding))
            except WaitedTooLongError as error:
                raise sink_waited(binding.name, error) from error
            except OutOfTimeError:
                failures.append((sink_timeout(), binding))
            except IngestError:
                raise
            except BaseException as bug:  # noqa: BLE001 - as in the chain: a bug costs its event, not the pipeline
                name, module, provider = binding.name, binding.module, binding.provider
                found = bug_of(bug, name, module, event.origin, SinkBugError, provider=provider)
                failures.append((found, binding))
            else:
                if reason is None:
                    stored = True
                else:
                    skipped = reason
                    self._figures.refused[binding.name] += 1
        if self._observer is not None:
            names = [(binding.name, error) for error, binding in failures]
            self._observer.written(record, event, names, None if stored or failures else skipped)
        if failures:
            counts.partly_stored += stored
            self._fail_sinks(record, event, failures)
        elif stored:
            counts.stored += 1
        else:
            counts.dropped[skipped] += 1
        return bool(failures)

    def _fail_sinks(self, record: Record, event: Event, failures: Sequence[tuple[EventError, SinkBinding]]) -> None:
        """Fail an event for which sinks failed: each may have a dead letter, and only the first one counts."""
        dead_lettered = (
            number for number, (_, binding) in enumerate(failures) if binding.on_error is OnError.DEAD_LETTER
        )
        counted = next(dead_lettered, 0)
        for number, (error, binding) in enumerate(failures):
            sinks = frozenset({binding.name})
            failure = Failure(error, binding.name, binding.on_error, event, event.origin.fan_out, sinks)
            self._fail(record, failure, counted=number == counted)

    def _fail(self, record: Record, failure: Failure, *, counted: bool = True) -> None:
        error, component, counts = failure.error, failure.component, self._receipt.counts
        if self._spec.max_failures is not None and counts.failed > self._spec.max_failures:
            raise budget_spent(int(counts.failed), failure) from error
        self._report_bug(component, error)
        self._time_limit.check(component)
        kind = ComponentType.SINK if failure.sinks else ComponentType.DECORATOR if failure.event is not None else None
        self._figures.failed[SOURCE if kind is None else (kind, component)] += 1
        if self._tap_failure is not None:
            self._tap_failure(record, failure)
        match failure.on_error:
            case OnError.STOP:
                raise stopped_by(record, failure) from error
            case OnError.DROP:
                counts.dropped[ON_ERROR] += counted
            case OnError.DEAD_LETTER:
                counts.dead_lettered_by[error.code, component] += counted
                self._dead_letters.add(
                    self._dead_letter_maker.of(record, failure, self._spec.batch.time_ms),
                    self._number,
                    failure.sinks or frozenset(binding.name for binding in self._selected_bindings),
                )
        error.without_frames()

    def _report_bug(self, component: str, error: EventError) -> None:
        """Log the traceback of a bug in a decorator or sink, once for each kind of exception."""
        cause = error.__cause__
        kind = (component, type(cause).__name__)
        shows_bugs = self._observer is not None and self._observer.shows_bugs
        if isinstance(error, DecorateBugError) and kind not in self._reported and not shows_bugs:
            # imported here: `explain` and `test` run this task, report bugs themselves and start faster without the log
            from ingest.observe.logs import logger

            self._reported.add(kind)
            logger(__name__).error(
                "a component has a bug", pipeline=self._dead_letter_maker.pipeline, component=component, exc_info=cause
            )
