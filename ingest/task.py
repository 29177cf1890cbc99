"""
One partition of one micro-batch: records through the chain into the stores, and a receipt of what became of each.

Plain iterators: knows no Kafka, no HBase, no Spark. The one place that looks at an error's disposition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path

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
    RecordPlace,
)
from ingest.chain import Chain, Dropped, Failed, Outcome, Waiting
from ingest.dead_letters.envelope import DeadLetter
from ingest.dead_letters.letters import Letters
from ingest.expressions import Condition
from ingest.observe.logs import logger
from ingest.plugin import pass_on, told
from ingest.receipt import Receipt, RefusedRows, Verdict
from ingest.sources.decoding import Decoder
from ingest.time_limit import OutOfTimeError, TimeLimit, sink_timeout
from sinks.handover import Handover
from sinks.mutator import BufferedMutator, WriteContext
from sinks.writer import Writer

_PARTITION = itemgetter(0, 1)  # topic and partition of a record
_SINKS, _DECODERS = "sinks", "ingest"  # the packages of their code

_log = logger(__name__)


class StoppedByEventError(IngestError):
    """An event failed where `on_error` says stop."""

    code = "stopped_by_event"


@dataclass(frozen=True, slots=True)
class Assignment:
    """
    What a task is told about its micro-batch.

    Attributes:
        task_id: unique for each attempt of each task of the batch; names the files it hands over.
        patience_s: how long a chunk may be in flight before the task reports that it is blocked.
        incoming: store name -> folder for the files handed over to the driver.
        families: (store, table) -> families, for stores that only the driver may write.
        compressions: (store, table) -> how files that such a store takes are compressed, where they are.
        closed: (store, table) pairs that may get no more families.
        refused: name of a store -> (table, row key) -> code and reason, of rows it refused in earlier attempts.
        attempt: names this attempt at the batch; "" for an attempt of one task alone.
        only: place of a record -> names of the sinks it is for; all for a record that is not in it.
        are_apart: the records did not come together, so each is a share of its own: no step may hold one against
            another.
    """

    batch_time_ms: int
    task_id: str = "0"
    patience_s: float = 10.0
    incoming: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[tuple[str, str], frozenset[bytes]] = field(default_factory=dict)
    compressions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    closed: frozenset[tuple[str, str]] = frozenset()
    refused: Mapping[str, RefusedRows] = field(default_factory=dict)
    attempt: str = ""
    only: Mapping[RecordPlace, frozenset[str]] = field(default_factory=dict)
    are_apart: bool = False


@dataclass(frozen=True, slots=True)
class Outlet:
    """A live sink: its name in errors, its writer, what becomes of events it refuses, and which events it wants."""

    name: str
    writer: Writer
    on_error: OnError
    condition: Condition | None = None


@dataclass(slots=True)
class _Held:
    """What a step holds: the record it was made of, and which part of the record's events it is: 1 when it is all."""

    record: Record
    part: float = 1.0


class Task:
    """
    A live pipeline, kept by a worker process and run once for each partition of each micro-batch.

    Args:
        pipeline: name, for dead letters.
        fingerprint: of the configuration, for dead letters.
        on_error: what becomes of records that can not be decoded.
        mutators: store name -> the way into the store, for each that an outlet writes to.
        handovers: store name -> what stands in for a store that only the driver may write.
        time_limit: of the calls an event makes; entered while records are taken.
    """

    def __init__(  # noqa: PLR0913 - the parts of a pipeline, each used once
        self,
        *,
        pipeline: str,
        fingerprint: str,
        decoder: Decoder,
        chain: Chain,
        outlets: Sequence[Outlet],
        mutators: Mapping[str, BufferedMutator],
        handovers: Mapping[str, Handover],
        on_error: OnError,
        time_limit: TimeLimit,
    ) -> None:
        self._pipeline = pipeline
        self._fingerprint = fingerprint
        self._decode = decoder.decode
        self._chain = chain
        self._by_partition = chain.has_shares or bool(handovers)
        self._run_chain = failpoint.after("mid_decorate", chain.run)
        self._after_last_send = failpoint.point("after_last_send")
        self._outlets = self._taking = tuple(outlets)
        self._mutators = mutators
        self._handovers = handovers
        self._on_error = on_error
        self._time_limit = time_limit
        self._receipt = Receipt()
        self._letters = Letters()
        self._batch_time_ms = 0
        self._reported: set[tuple[str, str]] = set()
        self._blocked: tuple[str, IngestError] | None = None
        self._only: Mapping[RecordPlace, frozenset[str]] = {}
        self._held: dict[int, _Held] = {}

    def run(self, records: Iterable[Record], assignment: Assignment) -> Receipt:
        """
        Decorate, map and write one partition; report what became of every event.

        A task may be given several partitions, one after the other. Never raises for a store's condition: that is the
        receipt's verdict.
        """
        receipt = self._receipt = Receipt()
        self._letters = Letters()
        self._batch_time_ms = assignment.batch_time_ms
        self._taking = self._outlets
        self._only = assignment.only
        self._held.clear()
        context = WriteContext(
            batch_time_ms=assignment.batch_time_ms,
            counts=receipt.counts,
            patience_s=assignment.patience_s,
            families=assignment.families,
            closed=assignment.closed,
        )
        if self._blocked is not None and self._blocked[0] == assignment.attempt != "":
            # an earlier task of this attempt has waited in this process already; if each of them waited, a batch of
            # many partitions would be blocked for minutes before anybody is told
            return _ended(receipt, Verdict.BLOCKED, self._blocked[1])
        try:
            for store, handover in self._handovers.items():
                path = Path(assignment.incoming[store]) / f"{assignment.task_id}.puts"
                tables = {table: names for (name, table), names in assignment.families.items() if name == store}
                compressions = {table: how for (name, table), how in assignment.compressions.items() if name == store}
                handover.begin(str(path), tables, compressions)
            for store, mutator in self._mutators.items():
                mutator.begin(replace(context, refused=assignment.refused.get(store, {})))
            with self._time_limit:
                for share in self._shares(failpoint.at_first("after_poll", records), are_apart=assignment.are_apart):
                    self._run_share(share)
            for mutator in self._mutators.values():
                mutator.flush()
            handed = [handover.finish() for handover in self._handovers.values()]
            receipt.handed = [file for file in handed if file is not None]
            self._after_last_send()
        except IngestError as error:
            match error.disposition:
                case Disposition.STOP:
                    return _ended(receipt, Verdict.STOP, error)
                case Disposition.RETRY:
                    self._blocked = assignment.attempt, error.without_frames()
                case Disposition.DIVERT:
                    pass  # nobody says which event it is about, so none may be passed over: blocked, and loudly
            return _ended(receipt, Verdict.BLOCKED, error)
        return self._completed(receipt)

    def close(self) -> None:
        """Let go of connections."""
        for mutator in self._mutators.values():
            mutator.close()

    def _completed(self, receipt: Receipt) -> Receipt:
        """The receipt with its letters, or with what the batch is run again for: families or refused rows."""
        for store, mutator in self._mutators.items():
            receipt.needs_families.update(mutator.families.needed)
            if mutator.refused:
                receipt.refused[store] = dict(mutator.refused)
        if receipt.needs_families:
            receipt.verdict = Verdict.NEEDS_FAMILIES
        elif receipt.refused:
            receipt.verdict = Verdict.REFUSED
        else:
            receipt.dead_letters = self._letters.lines()
        return receipt

    def _shares(self, records: Iterable[Record], *, are_apart: bool) -> Iterable[Iterable[Record]]:
        """What the chain takes as a share: looked for only where somebody asks where one begins and ends."""
        if not self._by_partition:
            return (records,)
        if are_apart and self._chain.has_shares:
            return ((record,) for record in records)
        return (share for _, share in groupby(records, _PARTITION))

    def _run_share(self, records: Iterable[Record]) -> None:
        counts = self._receipt.counts
        self._chain.begin()
        for record in self._directed(records) if self._only else records:
            counts.records += 1
            try:
                event = self._decode(record)
            except EventError as error:
                self._undecoded(record, error)
                continue
            except IngestError:
                raise
            except BaseException as bug:  # noqa: BLE001 - as in the chain: a bug costs its event, not the pipeline
                self._undecoded(record, _bug_of(bug, "source", _DECODERS, Origin(*record.place), code="source_bug"))
                continue
            if isinstance(event, Event):
                self._settle(record, self._run_chain(event))
            else:
                counts.read += 1
                counts.dropped[event] += 1
        for event, outcomes in self._chain.finish():
            held = self._held.pop(id(event))
            if self._only:
                self._direct(held.record)
            self._settle(held.record, outcomes, held.part)
        for store in self._handovers:
            self._mutators[store].end_of_partition()

    def _undecoded(self, record: Record, error: EventError) -> None:
        counts = self._receipt.counts
        counts.read += 1
        counts.failed += 1
        self._fail(record, None, error, "source", self._on_error)

    def _directed(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            self._direct(record)
            yield record

    def _direct(self, record: Record) -> None:
        """Only the sinks that the record is for take what becomes of it."""
        names = self._only.get(record.place)
        self._taking = tuple(outlet for outlet in self._outlets if names is None or outlet.name in names)

    def _settle(self, record: Record, outcomes: Sequence[Outcome], part: float = 1.0) -> None:
        """Do what an event's outcomes ask for; each counts once, and what waits counts when its fate is known."""
        counts = self._receipt.counts
        failed = settled_before = 0
        held: _Held | None = None
        for outcome in outcomes:
            if isinstance(outcome, Event):
                counts.read += 1
                failed += self._write(record, outcome)
                continue
            match outcome:
                case Dropped():
                    counts.read += 1
                    counts.dropped[outcome.reason] += 1
                    if self._held and self._held.pop(id(outcome.event), None) is not None:
                        settled_before += 1  # it was an outcome when it began to wait, here or of an earlier record
                case Waiting(waiting):
                    held = self._held[id(waiting)] = held or _Held(record)
                case Failed():
                    counts.read += 1
                    failed += 1
                    fan_out = outcome.origin.fan_out
                    self._fail(record, outcome.event, outcome.error, outcome.component, outcome.on_error, fan_out)
        if failed or held is not None:
            events = len(outcomes) - settled_before
            counts.failed += part * failed / events
            if held is not None:
                held.part = part / events

    def _write(self, record: Record, event: Event) -> bool:
        """Whether sinks refused the event; it counts once: dead-lettered before dropped by error before stored."""
        counts = self._receipt.counts
        stored = False
        skipped = "no_sink"
        failures: list[tuple[EventError, Outlet]] = []
        for outlet in self._taking:
            try:
                if outlet.condition is not None and not outlet.condition.holds(event):
                    continue
                reason = outlet.writer.write(event)
            except EventError as error:
                failures.append((error, outlet))
            except OutOfTimeError:
                failures.append((sink_timeout(), outlet))
            except IngestError:
                raise
            except BaseException as bug:  # noqa: BLE001 - as in the chain: a bug costs its event, not the pipeline
                failures.append((_bug_of(bug, outlet.name, _SINKS, event.origin, code="sink_bug"), outlet))
            else:
                if reason is None:
                    stored = True
                else:
                    skipped = reason
        if failures:
            self._refuse(record, event, failures)
        elif stored:
            counts.stored += 1
        else:
            counts.dropped[skipped] += 1
        return bool(failures)

    def _refuse(self, record: Record, event: Event, failures: Sequence[tuple[EventError, Outlet]]) -> None:
        """An event that sinks refused: a letter for each that asks for one, and counted for the first of those."""
        kept = (number for number, (_, outlet) in enumerate(failures) if outlet.on_error is OnError.DEAD_LETTER)
        counted = next(kept, 0)
        for number, (error, outlet) in enumerate(failures):
            fan_out = event.origin.fan_out
            self._fail(record, event, error, outlet.name, outlet.on_error, fan_out, counted=number == counted)

    def _fail(
        self,
        record: Record,
        event: Event | None,
        error: EventError,
        component: str,
        on_error: OnError,
        fan_out: int = 0,
        *,
        counted: bool = True,
    ) -> None:
        counts = self._receipt.counts
        self._report_bug(component, error)
        self._time_limit.check(component)
        match on_error:
            case OnError.STOP:
                place = f"{record.topic}/{record.partition}/{record.offset}"
                raise StoppedByEventError(
                    f'"{component}" refused event {place}: {error}',
                    hint="on_error says stop; mend the event or the step, or say on_error: dead_letter",
                ) from error
            case OnError.DROP:
                counts.dropped["on_error"] += counted
            case OnError.DEAD_LETTER:
                counts.dead_lettered[error.code] += counted
                self._letters.add(
                    DeadLetter(
                        record=record,
                        fan_out=fan_out,
                        attributes={} if event is None else event.attributes,
                        pipeline=self._pipeline,
                        component=component,
                        code=error.code,
                        message=str(error),
                        batch_time_ms=self._batch_time_ms,
                        fingerprint=self._fingerprint,
                    )
                )
        error.without_frames()

    def _report_bug(self, component: str, error: EventError) -> None:
        """Log the traceback of a bug in a decorator or sink, once for each kind; its events fail like any other."""
        cause = error.__cause__
        kind = (component, type(cause).__name__)
        if isinstance(error, DecorateBugError) and kind not in self._reported:
            self._reported.add(kind)
            _log.error("a component has a bug", pipeline=self._pipeline, component=component, exc_info=cause)


def _bug_of(bug: BaseException, name: str, package: str, origin: Origin, *, code: str) -> DecorateBugError:
    """The error of an event that brought a bug to light, in what has this name."""
    pass_on(bug, name, package, origin=origin)
    error = DecorateBugError(told(bug, package), code=code)
    error.__cause__ = bug
    return error


def _ended(receipt: Receipt, verdict: Verdict, error: IngestError) -> Receipt:
    """The receipt of a task that did not come to its end; without letters, since nobody publishes them."""
    receipt.verdict = verdict
    receipt.code, receipt.message = error.code, str(error)
    return receipt
