"""A pipeline run on events without Spark and without its stores: behind `explain`, `test` and `test --update`."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from ingest.api import OnError, StoreUnavailableError, TaskSpec
from ingest.config.model import Table, TestCase
from ingest.config.test_cases import Given
from ingest.dead_letters.buffer import DeadLetterBuffer
from ingest.dry_run.expected import Difference, differences
from ingest.dry_run.observer import Inputs, OutputObserver
from ingest.dry_run.shown import Output
from ingest.dry_run.stores import DryStore
from ingest.pipeline.loop import LoopHost, MicroBatch, run_until_durable
from ingest.pipeline.task import Task
from ingest.pipeline.time_limit import TimeLimit
from ingest.plan.assemble import Plan, live_bindings, live_chain, live_decoder
from ingest.receipt import Receipt
from sinks.writing.store_sink import StoreSink

T = TypeVar("T")

MAX_EVENTS = 10_000  # of a micro-batch: a log of any size is explained in bounded memory


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


class _InThisProcess(LoopHost):
    """Runs one task; what would block a service is an error here."""

    def __init__(self, task: Task, inputs: Inputs, observer: OutputObserver) -> None:
        self._task = task
        self._inputs = inputs
        self._observer = observer

    def run_tasks(self, spec: TaskSpec, *, on_one_slot: bool) -> Sequence[Receipt]:  # noqa: ARG002 - there is one slot
        """All records in one task; of several attempts, the outputs of the last one count."""
        self._observer.clear()
        return [self._task.run(self._inputs.records, spec)]

    def until_possible(self, action: Callable[[], T]) -> T:
        """What the action gives."""
        return action()

    def blocked(self, code: str, message: str, attempts: int) -> None:  # noqa: ARG002 - there is one attempt
        """End the run."""
        raise StoreUnavailableError(message, code=code)


class DryRun:
    """
    One pipeline, run by the real task and loop into stores in memory.

    A micro-batch has up to 10,000 events, and those of one partition that follow each other are a split of it. Each run
    begins with the tables that the file declares, empty. Where `on_error` is stop, the events after the failed one run
    too; the output says that the pipeline stops.

    Args:
        plan: made of a checked configuration.
        tables: those it declares.
    """

    def __init__(self, plan: Plan, tables: Collection[Table] = ()) -> None:
        self._plan = plan
        self._tables = tuple(tables)
        self._policies = {part.name: part.on_error for part in (*plan.decorators, *plan.sinks)}
        self._without_stop = replace(
            plan,
            on_error=_not_stopping(plan.on_error),
            decorators=tuple(replace(part, on_error=_not_stopping(part.on_error)) for part in plan.decorators),
            sinks=tuple(replace(part, on_error=_not_stopping(part.on_error)) for part in plan.sinks),
        )

    def run(
        self, inputs: Iterable[Given | Mapping[str, object]], *, until_decorators: bool = False
    ) -> Iterator[Output]:
        """
        What becomes of events, in the order in which it is known; a micro-batch is read before its outputs come.

        Args:
            inputs: checked, or plain data in the input shape of `explain`.
            until_decorators: stop before the sinks.

        Raises:
            BadInputError: an input is no event.
            IngestError: a decorator cannot work now.
        """
        plan = self._without_stop
        given = Inputs(live_decoder(plan))
        observer = OutputObserver(given, self._policies, self._plan.on_error, has_sinks=not until_decorators)
        chain = live_chain(plan, observer.watch)
        used = () if until_decorators else plan.stores
        stores = {name: DryStore(plan, name, self._tables, observer.mutated) for name in used}
        mutators = {name: store.mutator for name, store in stores.items()}
        bindings, guarded = ([], []) if until_decorators else live_bindings(plan, mutators)
        task = Task(
            pipeline=plan.pipeline,
            fingerprint=plan.fingerprint,
            decode=given.decode,
            chain=chain,
            bindings=[observer.named(binding) for binding in bindings],
            destinations={name: StoreSink(mutator) for name, mutator in mutators.items()},
            on_error=plan.on_error,
            dead_letters=DeadLetterBuffer(plan.masks),
            time_limit=TimeLimit([*chain.guarded, *guarded]),
            observer=observer,
        )
        numbered = enumerate(inputs)
        while batch := list(islice(numbered, MAX_EVENTS)):
            given.take(batch)
            run_until_durable(
                MicroBatch(f"{batch[0][0]}", observer.batch_time_ms, f"{batch[0][0]}"),
                {name: store.committer for name, store in stores.items()},
                _InThisProcess(task, given, observer),
            )
            yield from observer.outputs

    def test(self, case: TestCase) -> CaseResult:
        """Run a test of the pipeline."""
        outputs = tuple(self.run(case.given))
        return CaseResult(case, tuple(differences(case.expect, outputs)), outputs)


def _not_stopping(on_error: OnError) -> OnError:
    return OnError.DEAD_LETTER if on_error is OnError.STOP else on_error
