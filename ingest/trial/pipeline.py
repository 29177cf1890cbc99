"""A pipeline on trial."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Self

from ingest.api import Event, EventError, OnError, Origin, Record, nanos_of
from ingest.build import Plan, live_chain, live_decoder, live_mappers
from ingest.chain import Chain, Dropped, Failed, Outcome, Step, Waiting
from ingest.config.cases import Given
from ingest.config.model import Table, TestCase
from ingest.expressions import Condition
from ingest.sources.decoding import Decoder
from ingest.time_limit import OutOfTimeError, TimeLimit, sink_timeout
from ingest.trial.expected import Difference, differences
from ingest.trial.families import DeclaredFamilies
from ingest.trial.inputs import event_of, given_of, record_of
from ingest.trial.shown import Line, Output, changed_by, output_of, shown_event, shown_mutation
from sinks.mapping.mapper import Mapper, Skipped

_WORST_FIRST = (OnError.STOP, OnError.DEAD_LETTER, OnError.DROP)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a test of a pipeline came to."""

    case: TestCase
    differences: tuple[Difference, ...]
    outputs: tuple[Output, ...]

    @property
    def passed(self) -> bool:
        """Whether all that was expected came out."""
        return not self.differences


class _Input(NamedTuple):
    """An event as it was given, for what becomes of it."""

    number: int
    before: Line
    batch_time_ms: int | None
    origin: Origin


class Trial:
    """
    One pipeline on trial.

    All events of a run are one micro-batch, and those of one partition that stand together a share of it.

    Args:
        mappers: sinks by their names; `store`, `when` and `on_error` are taken from their settings.
        timezone: the pipeline's, for the `when` of sinks.
        on_error: the pipeline's, for records that can not be decoded and for sinks that say nothing themselves.
        families: name of a sink -> what its tables are declared with.
    """

    def __init__(
        self,
        decoder: Decoder,
        chain: Chain,
        mappers: Sequence[tuple[str, Mapper[Any]]],
        *,
        timezone: str = "UTC",
        on_error: OnError = OnError.DEAD_LETTER,
        families: Mapping[str, DeclaredFamilies] | None = None,
    ) -> None:
        self._on_error = on_error
        self._families = families or {}
        self._decoder = decoder
        self._history: dict[Origin, tuple[Line, ...]] = {}
        self._held: dict[int, _Input] = {}
        self._chain = Chain(chain.steps, watcher=self._watch)
        self._mappers = [
            (name, mapper, None if mapper.settings.when is None else Condition.parse(mapper.settings.when, timezone))
            for name, mapper in mappers
        ]
        conditions = [condition.holds for _, _, condition in self._mappers if condition is not None]
        self._time_limit = TimeLimit([*self._chain.guarded, *(mapper.map for _, mapper in mappers), *conditions])

    @classmethod
    def of(cls, plan: Plan, tables: Collection[Table] = ()) -> Self:
        """
        The trial of a plan's pipeline.

        Args:
            plan: made of a checked configuration.
            tables: those it declares.
        """
        mappers = [(part.name, mapper) for part, mapper in live_mappers(plan)]
        families = {sink.name: DeclaredFamilies.of(sink, plan.stores[sink.store], tables) for sink in plan.sinks}
        return cls(
            live_decoder(plan),
            live_chain(plan),
            mappers,
            timezone=plan.timezone,
            on_error=plan.on_error,
            families=families,
        )

    def run(
        self, inputs: Iterable[Given | Mapping[str, object]], *, until_decorators: bool = False
    ) -> Iterator[Output]:
        """
        What becomes of events.

        Args:
            inputs: checked, or plain data in the input shape of `explain`.
            until_decorators: stop before the sinks.

        Raises:
            BadInputError: an input is no event.
            IngestError: a step can not work now.
        """
        given = (
            (number, content if isinstance(content, Given) else given_of(number, content))
            for number, content in enumerate(inputs)
        )
        for _, share in groupby(given, _partition):
            self._held.clear()
            self._chain.begin()
            for number, one in share:
                yield from self._run(number, one, until_decorators=until_decorators)
            for event, outcomes in self._chain.finish():
                yield from self._became(outcomes, self._held.pop(id(event)))

    def test(self, case: TestCase) -> CaseResult:
        """Run a test of the pipeline."""
        outputs = tuple(self.run(case.given))
        return CaseResult(case, tuple(differences(case.expect, outputs)), outputs)

    def _run(self, number: int, given: Given, *, until_decorators: bool) -> Iterator[Output]:
        held = [taken.origin for taken in self._held.values()]
        self._history = {origin: self._history.get(origin, ()) for origin in held}
        if given.record is None:
            event = event_of(number, given, self._decoder.event_class)
        else:
            record = record_of(number, given.record)
            before = _undecoded(record)
            puts = None if until_decorators else ()
            try:
                decoded = self._decoder.decode(record)
            except EventError as error:
                outcome, reason = _fate(self._on_error)
                yield output_of(number, outcome, before, reason=reason, error=error, puts=puts)
                return
            if not isinstance(decoded, Event):
                yield output_of(number, "dropped", before, reason=decoded, puts=puts)
                return
            event = decoded
        batch_time_ms = None if until_decorators else event.timestamp_ms
        taken = _Input(number, shown_event(event), batch_time_ms, event.origin)
        with self._time_limit:
            outcomes = self._chain.run(event)
        yield from self._became(outcomes, taken)

    def _became(self, outcomes: Sequence[Outcome], taken: _Input) -> Iterator[Output]:
        for outcome in outcomes:
            match outcome:
                case Waiting(event):
                    self._held[id(event)] = taken._replace(origin=event.origin)
                case Dropped(_, _, event):
                    yield self._shown(outcome, self._held.pop(id(event), taken))
                case Event() | Failed():
                    yield self._shown(outcome, taken)

    def _shown(self, outcome: Event | Dropped | Failed, taken: _Input) -> Output:
        number, before, batch_time_ms, _ = taken
        match outcome:
            case Event():
                steps = self._history.get(outcome.origin, ())
                if batch_time_ms is None:
                    return output_of(number, "kept", shown_event(outcome), steps=steps, puts=None, came_out=True)
                return self._map(number, outcome, before, steps, batch_time_ms)
            case Dropped(reason, _, event):
                after, steps = shown_event(event), self._history.get(event.origin, ())
                return output_of(number, "dropped", after, reason=reason, steps=steps, puts=_none_at(batch_time_ms))
            case Failed(origin, error, component, on_error):
                steps, puts = self._history.get(origin, ()), _none_at(batch_time_ms)
                fate, why = _fate(on_error)
                return output_of(
                    number, fate, before, reason=why, error=error, component=component, steps=steps, puts=puts
                )

    def _map(self, number: int, event: Event, before: Line, steps: Sequence[Line], batch_time_ms: int) -> Output:
        puts: list[Line] = []
        refusals: list[tuple[str, EventError]] = []
        fates: list[OnError] = []
        reason = "no_sink"
        for name, mapper, condition in self._mappers:
            try:
                with self._time_limit:
                    if condition is not None and not condition.holds(event):
                        continue
                    mapped = mapper.map(event, batch_time_ms)
                if not isinstance(mapped, Skipped) and name in self._families:
                    mapped = self._families[name].check(*mapped) or mapped
            except (EventError, OutOfTimeError) as refused:
                refusals.append((name, refused if isinstance(refused, EventError) else sink_timeout()))
                fates.append(mapper.settings.on_error or self._on_error)
                continue
            if isinstance(mapped, Skipped):
                reason = mapped.reason
            else:
                puts.append(shown_mutation(name, mapper.settings.store or "", *mapped))
        if refusals:
            # as a task counts: one that stops the pipeline before one that gets a letter before one that is dropped
            worst = min(fates, key=_WORST_FIRST.index)
            component, error = refusals[fates.index(worst)]
            fate, why = _fate(worst)
            return output_of(
                number,
                fate,
                before,
                reason=why,
                error=error,
                component=component,
                refusals=refusals,
                steps=steps,
                puts=puts,
                came_out=True,
            )
        after = shown_event(event)
        if puts:
            return output_of(number, "kept", after, steps=steps, puts=puts, came_out=True)
        return output_of(number, "dropped", after, reason=reason, steps=steps, puts=puts, came_out=True)

    def _watch(self, step: Step, before: Event, made: Sequence[Event]) -> None:
        so_far = self._history.get(before.origin, ())
        heading: Line = {"decorator": step.decorator.kind, "label": step.decorator.settings.label}
        if not made:
            self._history[before.origin] = (*so_far, {**heading, "changed": {}})
        for part, event in enumerate(made):
            of_several: Line = {"part": part} if len(made) > 1 else {}
            self._history[event.origin] = (*so_far, {**heading, "changed": changed_by(before, event), **of_several})


def _fate(on_error: OnError) -> tuple[str, str | None]:
    """The outcome and the reason of an event that failed."""
    match on_error:
        case OnError.DROP:
            return "dropped", "on_error"
        case OnError.STOP:
            return "failed", "stop"
        case OnError.DEAD_LETTER:
            return "failed", None


def _partition(taken: tuple[int, Given]) -> tuple[str, int]:
    given = taken[1].record or taken[1]
    return given.topic, given.partition


def _undecoded(record: Record) -> Line:
    nanos = nanos_of(record.timestamp_ms, record.partition, record.offset)
    return shown_event(Event(record.value or b"", timestamp_ms=record.timestamp_ms, nanos=nanos))


def _none_at(batch_time_ms: int | None) -> Sequence[Line] | None:
    return None if batch_time_ms is None else ()
