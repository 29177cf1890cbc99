"""
Translates HBase sinks of Flume 1, by their serializers.

Source: HBase2Sink, SimpleHBase2EventSerializer and RegexHBase2EventSerializer of Flume 1.11; those for HBase 1 are
equivalent, and so are AsyncHBaseSink and SimpleAsyncHbaseEventSerializer of Flume 1.9.
"""

from dataclasses import dataclass, field

from ingest.config import Kind
from ingest.expressions import Pattern
from ingest.flume.escapes import literal
from ingest.flume.ng.counters import Counter, counter_of
from ingest.flume.ng.properties import Options
from ingest.flume.patterns import UntranslatableError, in_full
from ingest.flume.pipelines.document import Component, not_imported
from ingest.suggest import closest

TYPES = ("hbase", "hbase2", "asynchbase", "hbasesink", "hbase2sink", "asynchbasesink")
"""Aliases and classes of the sinks, in lower case, as Flume ignores case."""

_SIMPLE = ("SimpleHBase2EventSerializer", "SimpleHbaseEventSerializer", "SimpleAsyncHbaseEventSerializer")
_REGEX = ("RegexHBase2EventSerializer", "RegexHbaseEventSerializer")
_ROW_KEY = "ROW_KEY"
_KEYS = {
    "timestamp": (
        "%{timestamp}",
        "events of the same millisecond share a row, as in Flume; the time is the record's, not the clock's",
    ),
    "nano": ("%{nanos}", "the nanos are the record's, not the clock's"),
    "random": (
        "%{uuid()}",
        "derived from the record's offset, so that a replay writes the same row; Flume's were random",
    ),
    "uuid": (
        "%{uuid()}",
        "derived from the record's offset, so that a replay writes the same row; Flume's were random",
    ),
}
_CELLS_INSTEAD = (
    "write decorators that set the attribute 2hb_ (the row key) and attributes 2hb_FAMILY:QUALIFIER (the cells) "
    "as the serializer did"
)
_INCREMENTS_INSTEAD = "; and for its increments a sink into a table with `updates: {processor: {sum: {type: int64}}}`"
_SINK_INSTEAD = "write a sink attr2hbase, hbase or one of your own, or remove this pipeline if the sink stays in Flume"
_DEFAULT_KEY = "%{timestamp}-%{origin()}"


@dataclass(slots=True)
class PipelineEnd:
    """
    The translation of an HBase sink: the last decorators and the sink of a pipeline.

    Attributes:
        deposits_headers: whether every header becomes a column.
        notes: notes for the report.
        counter: counts the events; None for none.
    """

    decorators: list[Component] = field(default_factory=list)
    sink: Component = field(default_factory=lambda: Component(""))
    deposits_headers: bool = False
    notes: list[str] = field(default_factory=list)
    counter: Counter | None = None


def is_imported(options: Options) -> bool:
    """Whether a sink is imported: an HBase sink, or one of a class that is not Flume's."""
    return options.text("type").rpartition(".")[2].lower() in TYPES or _is_of_plugin(options)


def _is_of_plugin(options: Options) -> bool:
    package, _, name = options.text("type").rpartition(".")
    return bool(package) and not package.startswith("org.apache.flume.") and name.lower() not in TYPES


def end_of(options: Options) -> PipelineEnd:
    """Translate a sink as far as possible; problems are reported in the original."""
    table, family = options.open_text("table"), options.open_text("columnFamily")
    is_of_plugin = _is_of_plugin(options)
    for name, value in (("channel", options.text("channel")), ("table", table), ("columnFamily", family)):
        if not value and (name == "channel" or not is_of_plugin):
            near = closest(name, options.names())
            meant = near if near not in (None, name) else None
            hint = f'did you mean "{meant}"?' if meant else ""
            options.error(Kind.MISSING_FIELD, meant or "type", f'the sink needs "{name}"', hint)
    if is_of_plugin:
        return _of_plugin(options)
    name = options.text("serializer", _SIMPLE[0]).rpartition(".")[2]
    make = _simple if name in _SIMPLE else _regex if name in _REGEX else _by_hand
    made = make(options, table or "t", family or "f")  # what is missing is reported once
    if not options.is_true("enableWal", default=True):
        made.sink.options = {**made.sink.options, "write_to_wal": False}
    return made


def _simple(options: Options, table: str, family: str) -> PipelineEnd:
    column = "" if options.has("serializer.payloadColumn") else "pCol"
    column = options.open_text("serializer.payloadColumn", column)
    if not column:
        options.error(Kind.MISSING_FIELD, "serializer.payloadColumn", "a column for the body is required")
    suffix = options.text("serializer.suffix", "uuid")
    template, note = _KEYS.get(suffix, _KEYS["uuid"])
    counter, without = counter_of(options, family)
    notes = [note, *without]
    cell = {"family": literal(family), "qualifier": literal(column), "value": "%{body}"}
    key = {"template": literal(options.open_text("serializer.rowPrefix", "default")) + template}
    made: dict[str, object] = {"table": literal(table), "row_key": key, "cells": [cell]}
    place = options.original.place(options.at("type"))
    origins = options.origins(
        {
            ("table",): "table",
            ("row_key",): "serializer.rowPrefix",
            ("cells", 0, "family"): "columnFamily",
            ("cells", 0, "qualifier"): "serializer.payloadColumn",
        }
    )
    sink = Component("hbase", made, [*options.comments(), *notes], place, origins)
    return PipelineEnd([], sink, notes=[*notes, *(counter.notes if counter else ())], counter=counter)


def _regex(options: Options, table: str, family: str) -> PipelineEnd:
    names = options.text("serializer.colNames", "payload").split(",")
    while len(names) > 1 and not names[-1]:  # as Java's split does
        names.pop()
    key_index = options.integer("serializer.rowKeyIndex", -1)
    deposits = options.is_true("serializer.depositHeaders", default=False)
    pattern = _pattern(options)
    if pattern is not None and pattern.groups != len(names):
        message = (
            f"groups of the expression: {pattern.groups}, names in colNames: {len(names)}; Flume dropped every event"
        )
        options.error(Kind.CONFLICT, "serializer.colNames", message)
    if key_index >= len(names) or (key_index >= 0 and names[key_index].upper() != _ROW_KEY):
        message = f"rowKeyIndex {key_index} is not the place of {_ROW_KEY} in colNames, counted from 0"
        options.error(Kind.OUT_OF_RANGE, "serializer.rowKeyIndex", message)
    charset = options.text("serializer.charset", "UTF-8")
    notes = (
        []
        if charset.upper() == "UTF-8"
        else [f"bytes are written unchanged; Flume decoded and encoded them as {charset}"]
    )
    place = options.original.place(options.at("type"))
    decorators = []
    if deposits:
        replacement = f"2hb_{family}:".replace("\\", "\\\\")
        decorators.append(Component("rename", {"pattern": r"\A", "replacement": replacement}, (), place))
    attributes = ["2hb_" if number == key_index else f"2hb_{family}:{name}" for number, name in enumerate(names)]
    if pattern is not None:
        found = {"pattern": pattern.text, "attributes": attributes, "on_no_match": "drop", "on_unmatched": "error"}
        remark = (
            "drops a body that does not match in full; a group without a match, which blocked Flume, fails the event"
        )
        origins = options.origins({("pattern",): "serializer.regex", ("attributes",): "serializer.colNames"})
        decorators.append(Component("regex", found, [remark], place, origins))
    if key_index < 0:
        notes.append(
            "the row key is the record's time and origin, so that a replay writes the same row; Flume's was random"
        )
        decorators.append(Component("value", {"attribute": "2hb_", "value": _DEFAULT_KEY}, [notes[-1]], place))
    origins = options.origins({("table",): "table"})
    sink = Component("attr2hbase", {"table": literal(table)}, options.comments(), place, origins)
    return PipelineEnd(decorators, sink, deposits, notes)


def _by_hand(options: Options, table: str, _family: str) -> PipelineEnd:
    """For a serializer that is not imported: a placeholder for decorators that replace it."""
    options.below("serializer.")
    there = options.original.place(options.at("serializer"))
    increments = _INCREMENTS_INSTEAD if options.is_true("coalesceIncrements", default=False) else ""
    stub = not_imported(options.text("serializer"), _CELLS_INSTEAD + increments, (), there)
    place, origins = options.original.place(options.at("type")), options.origins({("table",): "table"})
    sink = Component("attr2hbase", {"table": literal(table)}, options.comments(), place, origins)
    return PipelineEnd([stub], sink, deposits_headers=True)


def _of_plugin(options: Options) -> PipelineEnd:
    place = options.original.place(options.at("type"))
    sink = not_imported(options.text("type"), _SINK_INSTEAD, options.comments(), place)
    return PipelineEnd([], sink, deposits_headers=True)


def _pattern(options: Options) -> Pattern | None:
    flags = "is" if options.is_true("serializer.regexIgnoreCase", default=False) else "s"
    text = options.text("serializer.regex", "(.*)")
    try:
        found = in_full(text, flags)
    except UntranslatableError as error:
        message = f"{error} (column {error.column} of the expression)"
        options.error(Kind.BAD_PATTERN, "serializer.regex", message)
        return None
    return found
