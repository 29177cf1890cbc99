"""
Translates the counters of Flume's simple serializers to tables with deferred updates.

Source: SimpleHBase2EventSerializer and HBase2Sink of Flume 1.11, SimpleAsyncHbaseEventSerializer of Flume 1.9. Each
event adds 1 to a counter of 8 bytes, and a batch that is written again adds it again.
"""

from dataclasses import dataclass, replace

from ingest.flume.escapes import literal
from ingest.flume.ng.properties import Options
from ingest.flume.pipelines.document import Component, Table

_INCREMENTS = ("serializer.incrementColumn", "serializer.incrementRow")
_NOTE = (
    "counts the events in a table of its own, with deferred updates: a micro-batch that runs again counts once; the "
    "count starts at 0, and the table of Flume keeps the old one"
)
_COALESCED = "coalesceIncrements: a task always writes one row for the increments of a counter in a split"


@dataclass(frozen=True, slots=True)
class Counter:
    """
    The counter of a sink.

    Attributes:
        sink: writes to it; without its table and store.
        table: the table, without its store.
        notes: notes for the report.
    """

    sink: Component
    table: Table
    notes: tuple[str, ...]

    def sink_into(self, table: str, store: object) -> Component:
        """The sink that writes to a table."""
        return replace(self.sink, options={"store": store, "table": table, **self.sink.options})

    def table_in(self, store: object) -> Table:
        """The table in a store."""
        return replace(self.table, options={"store": store, **self.table.options})


def counter_of(options: Options, family: str) -> tuple[Counter | None, list[str]]:
    """
    The counter of a sink, and notes on one that is not imported.

    Flume counts by default. A counter that no option of the sink mentions is not imported.

    Args:
        options: of a sink with a simple serializer.
        family: its column family, possibly with marks of variables.
    """
    default = "" if options.has(_INCREMENTS[0]) else "iCol"
    column = options.open_text(_INCREMENTS[0], default)
    row = options.open_text(_INCREMENTS[1], "incRow")
    is_coalesced = options.is_true("coalesceIncrements", default=False)
    if not column:
        return None, []
    if not is_coalesced and not any(map(options.has, _INCREMENTS)):
        default_of = f"the counter in {column} of row {row}, a default of Flume,"
        return None, [f"{default_of} is not imported; to import it, set {_INCREMENTS[0]}"]
    if options.variables.has_any(family):
        message = "the counter is not imported, because the family of a declared table cannot be a variable"
        options.warn("columnFamily", message, "write the value in its place")
        return None, []
    notes = (_NOTE, *([_COALESCED] if is_coalesced else []))
    cell = {"family": literal(family), "qualifier": literal(column), "value": "1", "encoding": "int64"}
    place = options.original.place(options.at(next((each for each in _INCREMENTS if options.has(each)), "type")))
    origins = options.origins(
        {
            ("row_key",): _INCREMENTS[1],
            ("cells", 0, "family"): "columnFamily",
            ("cells", 0, "qualifier"): _INCREMENTS[0],
        }
    )
    made: dict[str, object] = {"label": "counter", "row_key": {"template": literal(row)}, "cells": [cell]}
    table = Table(
        {"families": {family: {}}, "updates": {"processor": {"sum": {"type": "int64"}}}},
        ["the counter of Flume: its value is the sum of its updates"],
        place,
        options.origins({("families",): "columnFamily"}),
    )
    return Counter(Component("hbase", made, notes, place, origins), table, notes), []
