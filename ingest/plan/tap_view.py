"""How the tapped events of a plan are shown."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ingest.api import DryWrite, Event, SinkSettings
from ingest.config.model import Component
from ingest.formats.event_json import Line, shown_mutation
from ingest.pipeline.tapping import TapView
from ingest.plan.assemble import dry_writes, live_mappers
from ingest.plan.plan import Plan
from sinks.mapping.mapper import Mapper, Skipped

Written = Callable[[Event, int], Iterable[Line]]
"""What a sink writes for an event and a batch time, as plain data."""


def tap_view(plan: Plan) -> TapView:
    """The view of a plan; what its sinks write is mapped a second time, for the shown events alone."""
    return TapView(plan.timezone, plan.masks, partial(_written, plan))


def _written(plan: Plan) -> dict[str, Written]:
    """By name of a sink; without those that write neither to a store nor say what they write."""
    found: dict[str, Written] = {
        component.name: partial(_mapped, component, mapper) for component, mapper in live_mappers(plan)
    }
    writes = dry_writes(plan)
    for component in plan.sinks:
        write = writes.get(plan.destination_of(component))
        if write is not None:
            found.setdefault(component.name, partial(_dry_written, component.name, write))
    return found


def _mapped(
    component: Component[SinkSettings], mapper: Mapper[Any], event: Event, batch_time_ms: int
) -> Iterable[Line]:
    mapped = mapper.map(event, batch_time_ms)
    pairs = () if isinstance(mapped, Skipped) else mapped
    store = component.settings.store_name or ""
    return [shown_mutation(component.name, store, table, each, each.row) for table, each in pairs]


def _dry_written(name: str, write: DryWrite, event: Event, batch_time_ms: int) -> Iterable[Line]:
    return [{"sink": name, **write(event, batch_time_ms)}]
