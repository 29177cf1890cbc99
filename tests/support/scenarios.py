"""
Scenarios: records, and the required cells and outcomes. They run without Spark, through Spark into RocksDB, and through
Spark into HBase, with the same result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.servers import Given
from tests.support.ticks import decorators

AT_MS = 1_308_748_686_334
EVERY_BYTE = bytes(range(256))

KEYED: Sequence[Mapping[str, Any]] = (
    {"value": {"attribute": "2hb_", "value": "%{key}"}},
    {"value": {"attribute": "2hb_colfam:body", "value": "%{body}"}},
)


def given(value: bytes | str | None, key: bytes | str | None = "k", **headers: bytes | str) -> Given:
    """A record of partition 0; headers are named as keyword arguments."""
    pairs = [(name, content if isinstance(content, bytes) else content.encode()) for name, content in headers.items()]
    return Given(value, key=key, headers=pairs, partition=0, timestamp_ms=AT_MS)


@dataclass(frozen=True)
class Scenario:
    """
    One micro-batch and its result.

    Attributes:
        records: in the order of their offsets, all in partition 0.
        rows: row key -> column -> value of the table afterwards.
        letters: offset -> error code of the events that become dead letters.
        refused_by: offset -> component in its dead letter, if the test checks it.
        dropped: reason -> events dropped on purpose.
        source, sink, pipeline: further options.
        sinks: all sinks, instead of one attr2hbase.
    """

    name: str
    records: Sequence[Given]
    rows: Mapping[bytes, Mapping[bytes, bytes]]
    decorators: Sequence[Mapping[str, Any]] = KEYED
    letters: Mapping[int, str] = field(default_factory=dict)
    refused_by: Mapping[int, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    families: Sequence[str] = ("colfam",)
    source: Mapping[str, Any] = field(default_factory=dict)
    sink: Mapping[str, Any] = field(default_factory=dict)
    pipeline: Mapping[str, Any] = field(default_factory=dict)
    sinks: Sequence[Mapping[str, Mapping[str, Any]]] = ()

    @property
    def stored(self) -> int:
        """Number of stored events."""
        return len(self.records) - len(self.letters) - sum(self.dropped.values())

    def pipeline_of(self, source: Mapping[str, Any], store: str) -> dict[str, Any]:
        """The pipeline as plain data; its table has the name of the scenario."""
        where = {"store": store, "table": self.name}
        sinks = self.sinks or [{"attr2hbase": self.sink}]
        return {
            "source": {"kafka": {**source, **self.source}},
            "decorators": list(self.decorators),
            "sinks": [{kind: where | options for kind, options in sink.items()} for sink in sinks],
            **self.pipeline,
        }

    def table(self, store: str) -> dict[str, Any]:
        """The table as plain data."""
        return {"store": store, "families": {family: {"versions": 10} for family in self.families}}


SCENARIOS = (
    Scenario(
        "ticks",
        [given("2238947398:56", "a"), given("2238947399:", "b"), given("x", "c")],
        {
            b"a-1308748686334000000": {b"colfam:ts": b"2238947398", b"colfam:value": b"56"},
            b"b-1308748686334000100": {b"colfam:ts": b"2238947399", b"colfam:value": b""},
            b"c-1308748686334000200": {b"colfam:ts": b"x", b"colfam:value": b""},
        },
        decorators=decorators(),
    ),
    Scenario(
        "later_value_of_a_key_wins",
        [given("first"), given("second"), given("other", "l"), given("third")],
        {b"k": {b"colfam:body": b"third"}, b"l": {b"colfam:body": b"other"}},
    ),
    Scenario(
        "columns_of_both_records_stay",
        [given("1", **{"2hb_colfam:a": "x"}), given("2", **{"2hb_colfam:b": "y"})],
        {b"k": {b"colfam:body": b"2", b"colfam:a": b"x", b"colfam:b": b"y"}},
    ),
    Scenario(
        "value_after_a_tombstone_is_stored",
        [given("old"), given(None), given("new"), given("gone", "l"), given(None, "l"), given(None, "never")],
        {b"k": {b"colfam:body": b"new"}},
        source={"tombstones": "delete"},
    ),
    Scenario(
        "tombstones_are_dropped", [given("v"), given(None)], {b"k": {b"colfam:body": b"v"}}, dropped={"tombstone": 1}
    ),
    Scenario(
        "tombstones_fail",
        [given(None), given("v")],
        {b"k": {b"colfam:body": b"v"}},
        letters={0: "tombstone"},
        source={"tombstones": "error"},
    ),
    Scenario(
        "bad_json_is_a_dead_letter",
        [given('{"level": "info", "n": 1.50}', "a"), given("{", "b"), given('{"level": "warn"}', "c")],
        {b"a": {b"colfam:level": b"info", b"colfam:n": b"1.50"}, b"c": {b"colfam:level": b"warn"}},
        decorators=({"json": {"prefix": "2hb_colfam:"}}, {"value": {"attribute": "2hb_", "value": "%{key}"}}),
        letters={1: "bad_json"},
    ),
    Scenario(
        "failed_events_can_be_dropped",
        [given("{", "b"), given('{"a": 1}', "c")],
        {b"c": {b"colfam:a": b"1"}},
        decorators=({"json": {"prefix": "2hb_colfam:"}}, {"value": {"attribute": "2hb_", "value": "%{key}"}}),
        dropped={"on_error": 1},
        pipeline={"on_error": "drop"},
    ),
    Scenario(
        "filtered_events_are_counted",
        [given("a", "a", priority="DEBUG"), given("b", "b", priority="warn"), given("c", "c")],
        {b"b": {b"colfam:body": b"b"}, b"c": {b"colfam:body": b"c"}},
        decorators=({"filter": {"drop": "%{priority} == 'DEBUG'", "reason": "debug"}}, *KEYED),
        dropped={"debug": 1},
    ),
    Scenario(
        "no_row_key_and_no_cells_are_dropped",
        [given("a"), given("b")],
        {},
        decorators=({"value": {"attribute": "2hb_", "value": "r", "when": "%{body} == 'b'"}},),
        dropped={"no_row_key": 1, "no_cells": 1},
        sink={"on_missing_key": "drop"},
    ),
    Scenario(
        "empty_row_key_fails",
        [given("a", None), given("b", ""), given("c", "c")],
        {b"c": {b"colfam:body": b"c"}},
        letters={0: "empty_row_key", 1: "empty_row_key"},
    ),
    Scenario(
        "every_byte_in_key_value_and_header",
        [given(EVERY_BYTE, EVERY_BYTE, **{"2hb_colfam:h": EVERY_BYTE}), given("", b"\0")],
        {EVERY_BYTE: {b"colfam:body": EVERY_BYTE, b"colfam:h": EVERY_BYTE}, b"\0": {b"colfam:body": b""}},
    ),
    Scenario(
        "system_columns_and_body",
        [given("line", "a", host="web-1", priority="error")],
        {
            b"a": {
                b"sys:timestamp": AT_MS.to_bytes(8, "big"),
                b"sys:host": b"web-1",
                b"sys:priority": b"ERROR",
                b"raw:line": b"line",
            }
        },
        decorators=({"value": {"attribute": "2hb_", "value": "%{key}"}},),
        families=("sys", "raw"),
        sink={"sys_family": "sys", "write_body": "raw:line"},
    ),
    Scenario(
        "unknown_families_fail",
        [given("1", "a", **{"2hb_nowhere:x": b"1"}), given("2", "b")],
        {b"b": {b"colfam:body": b"2"}},
        letters={0: "unknown_family"},
        sink={"families": {"on_unknown": "error"}},
    ),
    Scenario(
        "rules_delete_a_column",
        [given("1", "a", **{"2hb_colfam:x": b"1"}), given("forget", "a"), given("2", "b")],
        {b"a": {b"colfam:x": b"1"}, b"b": {b"colfam:body": b"2"}},
        sink={"rules": [{"when": "%{body} == 'forget'", "delete": {"column": "colfam:body"}}]},
    ),
    Scenario(
        "rows_without_wal_are_stored",
        [given("1", "a"), given("2", "b")],
        {b"a": {b"colfam:body": b"1"}, b"b": {b"colfam:body": b"2"}},
        sink={"write_to_wal": False},
    ),
    Scenario(
        "too_large_records_fail",
        [given(b"x" * 2_000, "a"), given(b"y" * 1_000, "b")],
        {b"b": {b"colfam:body": b"y" * 1_000}},
        letters={0: "too_large"},
        source={"max_event_bytes": "1000B"},
    ),
    Scenario(
        "one_of_two_sinks_refuses",
        [
            given("1", "a", n="5"),
            given("2", "b", n="many"),
            given("3", "c"),
            given("4", "d", n="-1", host="quiet"),
            given("5", "e", host="quiet"),
        ],
        {
            b"a": {b"colfam:body": b"1"},
            b"b": {b"colfam:body": b"2"},
            b"c": {b"colfam:body": b"3"},
            b"n/a": {b"colfam:n": b"\0" * 7 + b"\5", b"colfam:body": b"1"},
            b"n/d": {b"colfam:n": b"\xff" * 8, b"colfam:body": b"4"},
        },
        letters={1: "not_a_number"},
        refused_by={1: "numbers"},
        dropped={"no_sink": 1},
        sinks=(
            {"attr2hbase": {"when": "%{host} != 'quiet'"}},
            {
                "hbase": {
                    "label": "numbers",
                    "when": "exists(n)",
                    "row_key": {"template": "n/%{key}"},
                    "cells": [
                        {"family": "colfam", "qualifier": "n", "value": "%{n}", "encoding": "int64"},
                        {"family": "colfam", "qualifier": "body", "value": "%{body}"},
                    ],
                }
            },
        ),
    ),
    Scenario(
        "listed_cells_of_every_kind",
        [
            given(EVERY_BYTE, b"\xff\0", load="0.25", hex="00fF"),
            given("old", "gone", load="1"),
            given("forget", "gone", load="1"),
            given("keyless", None, load="1"),
        ],
        {
            b"r\xff\0": {
                b"colfam:": EVERY_BYTE,
                b"colfam:" + EVERY_BYTE: b"\x3f\xd0" + b"\0" * 6,
                b"colfam:hex": b"\0\xff",
            },
        },
        letters={3: "no_row_key"},
        sinks=(
            {
                "hbase": {
                    "row_key": {"template": "r%{key}"},
                    "cells": [
                        {"family": "colfam", "qualifier": "", "value": "%{body}"},
                        {"family": "colfam", "qualifier": "%{body}", "value": "%{load}", "encoding": "float64"},
                        {
                            "family": "colfam",
                            "qualifier": "hex",
                            "value": "%{hex}",
                            "encoding": "hex",
                            "on_missing": "unset",
                        },
                    ],
                    "rules": [{"when": "%{body} == 'forget'", "delete": "row"}],
                }
            },
        ),
    ),
)
