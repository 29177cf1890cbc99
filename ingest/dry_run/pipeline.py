"""Runs a pipeline without Spark and without its stores, for `explain`, `test` and `test --update`."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from ingest.api import OnError
from ingest.config.model import Table, TestCase
from ingest.config.test_cases import Given
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.dry_run.expected import Difference, differences
from ingest.dry_run.observer import Inputs, OutputObserver
from ingest.dry_run.shown import Output
from ingest.dry_run.stores import DryStore
from ingest.pipeline.dead_lettering import DeadLetterMaker
from ingest.pipeline.in_process import InProcessHost
from ingest.pipeline.loop import MicroBatch, run_until_durable
from ingest.pipeline.splits import first_places, ranked
from ingest.pipeline.task import Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.plan.assemble import dry_writes, live_bindings, live_chain, live_decoder
from ingest.plan.plan import Plan
from ingest.registry.cache import SchemaCache
from ingest.registry.client import RegistryClient
from ingest.registry.looking_up import CacheAlone, CacheOrRegistry, SchemaLookup
from ingest.registry.message import SCHEMAS
from ingest.registry.table import SchemaTable

MAX_EVENTS = 10_000  # of a micro-batch, so that a file of any size runs in bounded memory


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of a test of a pipeline."""

    case: TestCase
    differences: tuple[Difference, ...]
    outputs: tuple[Output, ...]

    @property
    def passed(self) -> bool:
        """Whether there are no differences."""
        return not self.differences


class DryRun:
    """
    Runs one pipeline with the task and the loop of the service, into stores in memory.

    - A micro-batch has up to 10,000 events; consecutive events of one partition are a split.
    - Each run starts with empty tables, as declared in the file.
    - Schemas of a registry are those of the file and those that the service has looked up on this machine; others only
      if it asks the registry.
    - After an event that fails with `on_error: stop`, the other events still run; the output shows the stop.

    Args:
        plan: of a checked configuration.
        tables: that the configuration declares.
        asks_registry: whether schemas that are not known are looked up, as for records that are read from topics.
    """

    def __init__(self, plan: Plan, tables: Collection[Table] = (), *, asks_registry: bool = False) -> None:
        self._plan = plan
        self._asks_registry = asks_registry
        self._tables = tuple(tables)
        self._policies = {component.name: component.on_error for component in (*plan.decorators, *plan.sinks)}
        self._without_stop = replace(
            plan,
            on_error=_stop_as_dead_letter(plan.on_error),
            decorators=tuple(
                replace(component, on_error=_stop_as_dead_letter(component.on_error)) for component in plan.decorators
            ),
            sinks=tuple(
                replace(component, on_error=_stop_as_dead_letter(component.on_error)) for component in plan.sinks
            ),
        )

    def run(
        self, inputs: Iterable[Given | Mapping[str, object]], *, until_decorators: bool = False
    ) -> Iterator[Output]:
        """
        The outcomes of events, micro-batch by micro-batch, in the order in which they are known.

        Args:
            inputs: checked, or plain data in the input format of `explain`.
            until_decorators: run only the decorators, not the sinks.

        Raises:
            BadInputError: an input is not an event.
            IngestError: a decorator is unavailable.
        """
        plan = replace(self._without_stop, sinks=(), stores={}) if until_decorators else self._without_stop
        records = Inputs(live_decoder(plan))
        observer = OutputObserver(records, self._policies, self._plan.on_error, has_sinks=not until_decorators)
        schemas = SchemaTable()
        chain = live_chain(plan, observer.watch, schemas)
        stores = {name: DryStore(plan, name, self._tables, observer.mutated) for name in plan.stores}
        sinks = {name: store.sink for name, store in stores.items()}
        own = {name: observer.dry(write) for name, write in dry_writes(plan).items()}
        bindings, guarded = live_bindings(plan, sinks, own)
        task = Task(
            decode=records.decode,
            chain=chain,
            bindings=[observer.named(binding) for binding in bindings],
            destinations={SCHEMAS: schemas, **sinks},
            on_error=plan.on_error,
            dead_letter_maker=DeadLetterMaker(plan.pipeline, plan.fingerprint),
            dead_letters=DeadLetterBuffer(plan.masks),
            time_limit=TimeLimit([*chain.guarded, *guarded, *own.values()]),
            observer=observer,
        )
        lookup = _schema_lookup(plan, asks=self._asks_registry)
        numbered = enumerate(inputs)
        while batch := list(islice(numbered, MAX_EVENTS)):
            records.load(batch)
            run_until_durable(
                MicroBatch(
                    name=f"{batch[0][0]}",
                    time_ms=observer.batch_time_ms,
                    attempts=f"{batch[0][0]}",
                    splits=ranked(first_places(records.records)) if plan.needs_splits else (),
                ),
                {SCHEMAS: lookup, **{name: store.committer for name, store in stores.items()}},
                InProcessHost(task, records.records),
            )
            yield from observer.outputs

    def test(self, case: TestCase) -> CaseResult:
        """Run a test of the pipeline."""
        outputs = tuple(self.run(case.given))
        return CaseResult(case, tuple(differences(case.expect, outputs)), outputs)


def _schema_lookup(plan: Plan, *, asks: bool) -> SchemaLookup:
    """The schemas of the file, those that the service has looked up, and those of the registry if it may be asked."""
    registry = plan.registry
    if registry is None or registry.url is None:
        return SchemaLookup({} if registry is None else registry.declared, CacheAlone(None))
    cache = SchemaCache(plan.state_dir, registry.url)
    source = CacheOrRegistry(cache, RegistryClient(registry)) if asks else CacheAlone(cache)
    return SchemaLookup(registry.declared, source)


def _stop_as_dead_letter(on_error: OnError) -> OnError:
    return OnError.DEAD_LETTER if on_error is OnError.STOP else on_error
