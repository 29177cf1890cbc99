"""Differences between two dry runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.config.test_cases import Given
from ingest.dry_run.diff import Diff, EventOutcome, Results, types_as_bytes
from ingest.dry_run.shown import Output


def output(number, *, outcome="kept", reason=None, error=None, component=None, puts=(), writes=(), came_out=False):
    line = {"input": number, "outcome": outcome, "reason": reason, "error": error, "puts": list(puts)}
    return Output(line | ({"writes": list(writes)} if writes else {}), came_out, component)


def put(row, value="v", *, timestamp_ms=1, table="t", **more):
    cells = [["f", "q", value]]
    return {"store": "s", "table": table, "row": row, "timestamp_ms": timestamp_ms, "cells": cells} | more


def failure(code="no_match"):
    return {"code": code, "message": f"{code}!"}


def diff(old, new, events=3):
    return Diff(tuple(Given(body=str(number)) for number in range(events)), Results.of(old), Results.of(new))


def plain(old, new, *, limit=None, events=3):
    return diff(old, new, events).to_json(limit, types_as_bytes, types_as_bytes)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (output(0), EventOutcome("kept")),
        (output(0, outcome="dropped", reason="old", component="filter"), EventOutcome("dropped", "filter", "old")),
        (output(0, outcome="dropped", reason="no_sink", came_out=True), EventOutcome("dropped", "sinks", "no_sink")),
        (output(0, outcome="failed", error=failure()), EventOutcome("failed", "source", "no_match")),
        (output(0, outcome="failed", reason="stop", error=failure(), component="r"),
         EventOutcome("stops", "r", "no_match")),
        (output(0, outcome="dropped", reason="on_error", error=failure(), component="r"),
         EventOutcome("dropped", "r", "no_match")),
    ],
)  # fmt: skip
def test_outcome_of_an_event(one, expected):
    assert EventOutcome.of(one) == expected


def test_transitions_are_counted_and_have_the_messages_of_their_errors():
    fails = [output(number, outcome="failed", error=failure(), component="parse") for number in range(3)]
    found = plain([output(number) for number in range(3)], fails, limit=2)
    (transition,) = found["transitions"]
    assert (transition["old"]["outcome"], transition["new"]["component"], transition["events"]) == ("kept", "parse", 3)
    assert [(each["input"], each["new_message"]) for each in transition["examples"]] == [
        (0, "no_match!"),
        (1, "no_match!"),
    ]
    kept, failed = found["outcomes"]
    assert [(each["old"], each["new"]) for each in (kept, failed)] == [(3, 0), (0, 3)]


def test_events_of_a_fan_out_are_compared_by_their_outcomes():
    old = [output(0), output(0), output(0, outcome="dropped", reason="r", component="filter")]
    new = [output(0, outcome="failed", error=failure(), component="parse"), output(0)]
    pairs = [(each["old"], each["new"]) for each in plain(old, new)["transitions"]]
    dropped = {"outcome": "dropped", "component": "filter", "reason": "r"}
    failed = {"outcome": "failed", "component": "parse", "reason": "no_match"}
    assert pairs == [({"outcome": "kept", "component": "", "reason": ""}, failed), (dropped, None)]


def test_rows_are_added_removed_and_changed():
    old = [output(0, puts=[put("gone"), put("same"), put("other", "1")])]
    new = [output(0, puts=[put("same"), put("other", "2"), put("came")])]
    (table,) = plain(old, new)["tables"]
    assert (table["rows"], table["cells"]) == ({"added": 1, "removed": 1, "changed": 1},) * 2
    assert {row["row"]: row["change"] for row in table["changed_rows"]} == {
        "gone": "removed",
        "came": "added",
        "other": "changed",
    }


def test_an_earlier_value_and_a_time_of_a_cell_are_differences():
    one, two, three = put("r", "1"), put("r", "2"), put("r", "2", timestamp_ms=7)
    assert diff([output(0, puts=[one, two])], [output(0, puts=[two, two])]).differs
    assert diff([output(0, puts=[one, two])], [output(0, puts=[one, three])]).differs
    assert not diff([output(0, puts=[one, two])], [output(0, puts=[put("r", "1"), put("r", "2")])]).differs


def test_deletes_are_compared_by_what_they_delete():
    kinds = ["row", {"family": "f"}, {"column": "f:q"}]
    outputs = [output(number, puts=[put("r", delete=kind) | {"cells": []}]) for number, kind in enumerate(kinds)]
    (table,) = plain([], outputs)["tables"]
    assert [cell["delete"] for cell in table["changed_rows"][0]["cells"]] == [
        {"column": "f:q"},
        {"family": "f"},
        "row",
    ]


def test_physical_rows_are_compared_and_the_logical_ones_shown():
    (table,) = plain([output(0, puts=[put("1r", key="r")])], [output(0, puts=[put("2r", key="r")])])["tables"]
    assert [(row["row"], row["key"], row["change"]) for row in table["changed_rows"]] == [
        ("1r", "r", "removed"),
        ("2r", "r", "added"),
    ]


def test_what_a_sink_without_a_store_writes_is_compared_by_event():
    writes = [
        [{"sink": "archive", "partition": "dt=1", "row": {"a": number, "b": {"b64": "/w=="}}}] for number in (1, 2)
    ]
    (table,) = plain([output(0, writes=writes[0])], [output(0, writes=writes[1])])["tables"]
    assert (table["store"], table["table"], table["changed_rows"][0]["row"]) == ("", "archive", "event 0")
    assert [
        (cell["name"], cell["old"]["value"], cell["new"]["value"]) for cell in table["changed_rows"][0]["cells"]
    ] == [("a", 1, 2)]


_PUTS = st.builds(put, st.sampled_from("abc"), st.sampled_from("12"), timestamp_ms=st.integers(0, 2))
_RUNS = st.lists(st.lists(_PUTS, max_size=3), min_size=3, max_size=3)


@given(_RUNS, _RUNS)
def test_numbers_of_rows_are_those_of_the_rows_listed(old, new):
    runs = [[output(number, puts=puts) for number, puts in enumerate(each)] for each in (old, new)]
    found = plain(*runs)
    listed = [row for table in found["tables"] for row in table["changed_rows"]]
    assert sum(sum(table["rows"].values()) for table in found["tables"]) == len(listed)
    assert sum(sum(table["cells"].values()) for table in found["tables"]) == sum(len(row["cells"]) for row in listed)
    assert found["differs"] == bool(listed)
    assert not diff(runs[0], runs[0]).differs


def deleting(row, what="row"):
    return put(row, delete=what) | {"cells": []}


def test_other_order_of_a_delete_and_a_put_is_a_difference():
    found = plain([output(0, puts=[deleting("k"), put("k")])], [output(0, puts=[put("k"), deleting("k")])])
    (table,) = found["tables"]
    assert (found["differs"], table["rows"]["changed"], table["cells"]["changed"]) == (True, 1, 0)
    (cell,) = table["changed_rows"][0]["cells"]
    assert (cell["order"], cell["old"]["value"], cell["new"]["value"]) == (
        "writes",
        "delete row, f:q",
        "f:q, delete row",
    )


def test_order_of_puts_without_a_delete_between_them_is_none():
    more = {"cells": [["f", "z", "v"]]}
    puts = [put("k"), put("k") | more, deleting("k", {"column": "f:q"}), put("other"), put("other") | more]
    old, new = [output(0, puts=puts)], [output(0, puts=[puts[1], puts[0], puts[2], puts[4], puts[3]])]
    assert (diff(old, new).differs, plain(old, new)["tables"][0]["rows"]["changed"]) == (False, 0)
