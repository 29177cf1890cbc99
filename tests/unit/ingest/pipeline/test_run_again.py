"""A task that lacks something which the driver can get."""

from dataclasses import replace

from decorators.dedupe import Dedupe
from decorators.template import Value
from ingest.api import Decorator, Event, Record, Settings, TaskSpec
from ingest.api.schemas import Schemas, SchemaType, WriterSchema
from ingest.plan.assemble import live_task
from ingest.plan.plan import Plan
from ingest.receipt import TaskStatus
from ingest.registry.message import SCHEMAS, KnownSchemas, ids_of
from sinks.writing.messages import StoreResult
from tests.support.parts import planned
from tests.support.plans import decorator, plan


class NeedsSettings(Settings):
    """Options of the decorator below."""

    @property
    def uses_registry(self) -> bool:
        return True


class Needs(Decorator[NeedsSettings]):
    """Needs the schema whose ID is the body, and sets its content."""

    kind = "needs"

    def use_schemas(self, schemas: Schemas) -> None:
        self._schemas = schemas

    def decorate(self, event: Event) -> bool:
        event.set("2hb_f:a", self._schemas.of(int(event.body)).content)
        return True


NEEDS = planned("needs", f"{__name__}:Needs", NeedsSettings())
ROW = decorator(Value, attribute="2hb_", value="%{offset}")


def records(*bodies: str | None, partition: int = 0) -> list[Record]:
    return [
        Record("t", partition, offset, b"", None if body is None else body.encode(), 1)
        for offset, body in enumerate(bodies)
    ]


def known(spec: TaskSpec, *ids: int) -> TaskSpec:
    schemas = {each: WriterSchema(each, SchemaType.AVRO, b"x") for each in ids}
    return replace(spec, prepared={**spec.prepared, SCHEMAS: KnownSchemas(schemas).packed()})


def run(of: Plan, spec: TaskSpec, *given: Record):
    """The status of a task, the IDs that it requests, and its counts."""
    task = live_task(of)
    try:
        receipt = task.run(given, spec)
    finally:
        task.close()
    staged = StoreResult.unpacked(receipt.results["logs"].payload).staged if receipt.results["logs"].payload else None
    result = receipt.results[SCHEMAS]
    return receipt.status, ids_of([result.payload] if result.run_again else []), staged is not None


def test_attempt_requests_all_that_it_lacks(spec):
    given = [*records("1", "2", None, "bad", "3"), *records("1", "4", partition=1)]
    assert run(plan(decorators=(NEEDS, ROW)), known(spec, 1), *given) == (TaskStatus.RUN_AGAIN, [2, 3, 4], False)
    assert run(plan(decorators=(NEEDS, ROW)), known(spec, 1, 2, 3, 4), *given) == (TaskStatus.DURABLE, [], True)


def test_splits_after_the_first_that_lacks_something_are_looked_at(spec):
    given = [*records("2", "3"), *records("1", "4", partition=1)]
    dedupe = decorator(Dedupe, by="%{'2hb_f:a'}")
    assert run(plan(decorators=(NEEDS, dedupe, ROW)), known(spec, 1), *given) == (
        TaskStatus.RUN_AGAIN,
        [2, 3, 4],
        False,
    )
