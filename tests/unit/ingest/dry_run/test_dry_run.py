"""Dry runs: the lines of `explain` and the comparisons of `test`."""

import json
from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decorators.explode import Explode
from decorators.filter import Filter
from decorators.json import Json
from decorators.regex import Regex
from decorators.remove import Mask
from decorators.rename import Rename
from decorators.split import Split
from decorators.template import Format, Value
from decorators.timestamp import Timestamp
from ingest.api import Buffered, Decoding, FanOut, OnError, Settings, Tombstones
from ingest.api import Format as RecordFormat
from ingest.api.notation import to_notation
from ingest.config.model import Table, TestCase
from ingest.config.problems import Place
from ingest.config.tables import TableOptions
from ingest.config.test_cases import Expect, Given
from ingest.dry_run import BadInputError, Difference, DryRun, InputLines
from ingest.pipeline.loop import StoppedError
from ingest.plan.plan import Plan
from ingest.testing.events import settings_of
from sinks.archive.layout import NO_TIME
from sinks.archive.sink import ArchiveSettings
from sinks.kafka.sink import KafkaSinkSettings
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings
from tests.support.parts import planned
from tests.support.plans import plan

TICK = {"body": "2238947398:56", "key": "k1", "partition": 0, "offset": 7, "timestamp_ms": 1308748686334}
TICK_DECORATORS = (
    (Split, "{separator: ':', index: 0, attribute: '2hb_colfam:ts'}"),
    (Split, "{separator: ':', index: 1, attribute: '2hb_colfam:value', label: second}"),
    (Value, "{attribute: 2hb_, value: '%{key}-%{nanos}'}"),
)
DROP_WITHOUT_KEY = "{table: mytable, store: logs, on_missing_key: drop}"


def part(kind, text="{}"):
    settings = settings_of(kind.settings_class(), text)
    path = f"{kind.__module__}:{kind.__name__}"
    return planned(settings.label or kind.kind, path, settings, settings.on_error or OnError.DEAD_LETTER)


def dry_run(*decorators, tables=(), sinks=("{table: mytable, store: logs}",), on_error=OnError.DEAD_LETTER, **decoding):
    parts = [part(Attr2HBase, text) for text in sinks]
    sinks = [
        replace(each, name=f"attr2hbase{number or ''}", on_error=each.settings.on_error or on_error)
        for number, each in enumerate(parts)
    ]
    stores = {each.settings.store_name: planned("s", "sinks.memory:MemoryStore", MemorySettings()) for each in sinks}
    existing = decoding.pop("existing", "replace")
    return DryRun(
        plan(
            *sinks,
            decorators=tuple(part(*each) for each in decorators),
            stores=stores,
            on_error=on_error,
            decoding=Decoding(**decoding),
            existing=existing,
        ),
        tables,
    )


def lines(one, *inputs, **options):
    return [json.loads(output.to_json()) for output in one.run(inputs, **options)]


class Pieces(FanOut[Settings]):
    kind = "pieces"

    def decorate(self, event):
        return [replace(event, body=body, attributes=dict(event.attributes)) for body in event.body.split(b",")]


def test_events_have_the_same_outcomes_if_splits_have_ranks(monkeypatch: pytest.MonkeyPatch):
    """Partitions in turn, and offsets that fall: each run of rising offsets of a partition is a split."""
    places = [(0, 5), (0, 6), (1, 0), (0, 7), (0, 1), (0, 2)]
    inputs = [{"body": str(n), "key": "k", "partition": p, "offset": o} for n, (p, o) in enumerate(places)]
    decorators = (Value, "{attribute: 2hb_, value: '%{key}'}"), (Value, "{attribute: '2hb_f:b', value: '%{body}'}")
    plain = lines(dry_run(*decorators), *inputs)
    monkeypatch.setattr(Plan, "needs_splits", True)
    ranked = dry_run(*decorators)
    assert lines(ranked, *inputs) == plain
    with pytest.raises(StoppedError, match="/0/5 follows those of another split"):
        lines(ranked, inputs[0], inputs[2], inputs[0])


class TestExplain:
    def test_line_has_steps_and_puts(self):
        event = {
            "body": "2238947398:56",
            "attributes": {
                "2hb_colfam:ts": "2238947398",
                "2hb_colfam:value": "56",
                "2hb_": "k1-1308748686334000700",
            },
            "host": "",
            "priority": "INFO",
            "timestamp_ms": 1308748686334,
            "nanos": 1308748686334000700,
        }
        put = {
            "sink": "attr2hbase",
            "store": "logs",
            "table": "mytable",
            "row": "k1-1308748686334000700",
            "wal": True,
            "durability": "sync",
            "timestamp_ms": 1308748686334,
            "cells": [["colfam", "ts", "2238947398"], ["colfam", "value", "56"]],
        }
        changes = [{"2hb_colfam:ts": "2238947398"}, {"2hb_colfam:value": "56"}, {"2hb_": "k1-1308748686334000700"}]
        steps = [
            {"decorator": kind, "label": label, "changed": {"attributes": changed}}
            for kind, label, changed in zip(["split", "split", "value"], [None, "second", None], changes, strict=True)
        ]
        assert lines(dry_run(*TICK_DECORATORS), TICK) == [
            {
                "input": 0,
                "outcome": "kept",
                "reason": None,
                "event": event,
                "steps": steps,
                "puts": [put],
                "refusals": [],
                "error": None,
            }
        ]

    def test_defaults_of_an_input(self):
        one = dry_run((Value, "{attribute: x, value: '%{nanos},%{offset},%{topic},%{partition},%{key}'}"))
        first, second = lines(one, {"body": ""}, {"body": ""}, until_decorators=True)
        assert (first["event"]["attributes"], second["event"]["attributes"]) == ({"x": "0,0,,0,"}, {"x": "100,1,,0,"})
        assert (first["event"]["host"], first["event"]["priority"], first["event"]["timestamp_ms"]) == ("", "INFO", 0)

    def test_every_field_of_an_input(self):
        event = {
            "body": {"b64": "/w=="},
            "attributes": {"a": {"b64": "/g=="}, '{"b64":"/w=="}': "name"},
            "host": "h1",
            "priority": "WARN",
            "timestamp_ms": 1,
            "nanos": 2,
            "key": {"b64": "/Q=="},
            "topic": "t",
            "partition": 3,
            "offset": 4,
        }
        (line,) = lines(dry_run((Value, "{attribute: k, value: '%{key}'}"), sinks=(DROP_WITHOUT_KEY,)), event)
        assert line["event"] == {
            "body": {"b64": "/w=="},
            "attributes": {"a": {"b64": "/g=="}, '{"b64":"/w=="}': "name", "k": {"b64": "/Q=="}},
            "host": "h1",
            "priority": "WARN",
            "timestamp_ms": 1,
            "nanos": 2,
        }

    def test_without_sinks_there_are_no_puts(self):
        (line,) = lines(dry_run(*TICK_DECORATORS), TICK, until_decorators=True)
        assert ("puts" in line, "refusals" in line, line["outcome"]) == (False, False, "kept")

    def test_cells_are_sorted_by_family_then_qualifier(self):
        attributes = {"2hb_": "r", "2hb_b:a": "1", "2hb_a-x:a": "2", "2hb_a:z": "3", "2hb_a:b:c": "4"}
        (line,) = lines(dry_run(), {"body": "", "attributes": attributes})
        cells = [["a", "b:c", "4"], ["a", "z", "3"], ["a-x", "a", "2"], ["b", "a", "1"]]
        assert line["puts"][0]["cells"] == cells

    def test_changes_of_all_kinds(self):
        one = dry_run((Format, "{template: new}"), (Mask, "{attributes: [a]}"), (Value, "{attribute: b, value: x}"))
        (line,) = lines(one, {"body": "old", "attributes": {"a": "1", "b": "x"}}, until_decorators=True)
        expected = [{"body": "new"}, {"attributes": {"a": None}}, {}]
        assert [each["changed"] for each in line["steps"]] == expected

    def test_bypassed_decorator_is_not_listed(self):
        one = dry_run((Value, "{attribute: x, value: y, when: \"%{host} == 'other'\"}"))
        (line,) = lines(one, {"body": ""}, until_decorators=True)
        assert line["steps"] == []

    def test_dropped_event_has_its_reason(self):
        (line,) = lines(dry_run((Filter, "{drop: \"%{host} == ''\", reason: nameless}")), {"body": "b"})
        found = (line["outcome"], line["reason"], line["event"]["body"], line["puts"], line["error"])
        assert found == ("dropped", "nameless", "b", [], None)
        assert line["steps"] == [{"decorator": "filter", "label": None, "changed": {}, "dropped": "nameless"}]

    def test_failed_event_is_shown_as_it_was_before_the_chain(self):
        one = dry_run((Format, "{template: new}"), (Json, "{label: members}"))
        (line,) = lines(one, {"body": "old"})
        assert (line["outcome"], line["event"]["body"], line["puts"]) == ("failed", "old", [])
        assert (line["error"]["code"], line["error"]["decorator"]) == ("bad_json", "members")
        assert [each["decorator"] for each in line["steps"]] == ["format"]

    def test_run_continues_after_a_failure(self):
        given = {"body": "{}", "attributes": {"2hb_": "r", "2hb_f:q": "v"}}
        found = [line["outcome"] for line in lines(dry_run((Json,)), {"body": "x"}, given)]
        assert found == ["failed", "kept"]

    def test_event_without_a_row_key_is_dropped_with_its_reason(self):
        (line,) = lines(dry_run(sinks=(DROP_WITHOUT_KEY,)), {"body": "b"})
        assert (line["outcome"], line["reason"], line["puts"]) == ("dropped", "no_row_key", [])

    def test_error_names_the_sink_that_refuses_the_event(self):
        (line,) = lines(dry_run(), {"body": "b", "attributes": {"2hb_": "", "2hb_f:q": "v"}})
        assert (line["outcome"], line["error"]["code"]) == ("failed", "empty_row_key")
        assert line["error"]["decorator"] == "attr2hbase"

    def test_name_that_is_not_utf8_is_escaped_in_a_message(self):
        one = dry_run(sinks=("{table: t, store: s, families: {allow: [f]}}",))
        (line,) = lines(one, {"body": "", "attributes": {"2hb_": "r", '{"b64":"MmhiX/86cQ=="}': "v"}})
        assert (line["error"]["code"], "\\udcff" in line["error"]["message"]) == ("family_not_allowed", True)

    def test_nanos_above_64_bits_are_shown(self):
        (line,) = lines(dry_run((Mask, "{attributes: [a]}")), {"body": "", "timestamp_ms": 2**62})
        assert (line["event"]["nanos"], line["steps"][0]["changed"]) == (2**62 * 1_000_000, {})

    @pytest.mark.parametrize(
        ("on_error", "expected"),
        [("dead_letter", ("failed", None)), ("drop", ("dropped", "on_error")), ("stop", ("failed", "stop"))],
    )
    def test_on_error_determines_the_outcome_of_a_failed_event(self, on_error, expected):
        def outcome_of(one, given):
            (line,) = lines(one, given)
            return line["outcome"], line["reason"], line["error"]["code"]

        at_decorator = dry_run((Json, f"{{on_error: {on_error}}}"))
        at_sink = dry_run(sinks=(f"{{table: t, store: s, on_error: {on_error}}}",))
        no_key = {"body": "b", "attributes": {"2hb_": "", "2hb_f:q": "v"}}
        at_pipeline = dry_run(sinks=("{table: t, store: s}",), on_error=OnError(on_error), format=RecordFormat.JSON)
        assert outcome_of(at_decorator, {"body": "x"}) == (*expected, "bad_json")
        assert outcome_of(at_sink, no_key) == (*expected, "empty_row_key")
        assert outcome_of(at_pipeline, no_key) == (*expected, "empty_row_key")
        assert outcome_of(at_pipeline, {"record": {"value": "{"}})[:2] == expected

    @pytest.mark.parametrize(
        ("policies", "expected", "component"),
        [
            (("drop", "drop"), ("dropped", "on_error"), "attr2hbase"),
            (("drop", "dead_letter"), ("failed", None), "attr2hbase1"),
            (("dead_letter", "stop"), ("failed", "stop"), "attr2hbase1"),
            (("stop", "drop"), ("failed", "stop"), "attr2hbase"),
        ],
    )
    def test_strictest_policy_of_the_refusing_sinks_counts(self, policies, expected, component):
        one = dry_run(sinks=[f"{{table: t, store: s, on_error: {policy}}}" for policy in policies])
        (line,) = lines(one, {"body": "b", "attributes": {"2hb_": "", "2hb_f:q": "v"}})
        assert ((line["outcome"], line["reason"]), line["error"]["decorator"]) == (expected, component)
        assert [refusal["sink"] for refusal in line["refusals"]] == ["attr2hbase", "attr2hbase1"]

    def test_line_has_the_puts_of_all_sinks_that_write(self):
        sinks = (
            "{table: a, store: s}",
            "{table: b, store: s, attr_prefix: x_}",
            "{table: c, store: s, when: \"%{host} == 'other'\"}",
        )
        (line,) = lines(dry_run(sinks=sinks), {"body": "", "attributes": {"2hb_": "r", "2hb_f:q": "v", "x_": ""}})
        assert (line["outcome"], line["error"]["decorator"]) == ("failed", "attr2hbase1")
        assert [put["table"] for put in line["puts"]] == ["a"]

    def test_delete_is_shown_with_what_it_deletes(self):
        rules = (
            "rules: [{when: \"%{body} == 'cell'\", delete: {column: 'f:q'}}, {when: \"%{host} == ''\", delete: row}]"
        )
        families = TableOptions(families={"f": {}})
        one = dry_run(
            sinks=(f"{{table: t, store: s, {rules}}}",), tables=[Table("t", "s", families, Place("p.yaml", 1, 1))]
        )
        first, second = lines(one, *({"body": body, "attributes": {"2hb_": "r"}} for body in ("", "cell")))
        assert (first["puts"][0]["delete"], first["puts"][0]["cells"]) == ("row", [])
        assert second["puts"][0]["delete"] == {"column": "f:q"}

    def test_fan_out_has_a_line_for_each_event(self):
        one = dry_run((Value, "{attribute: a, value: '1'}"), (Pieces,), (Mask, "{attributes: [a]}"))
        found = lines(one, {"body": "x,y"}, until_decorators=True)
        assert [line["event"]["body"] for line in found] == ["x", "y"]
        for line in found:
            assert [each["decorator"] for each in line["steps"]] == ["value", "pieces", "mask"]
        assert [line["steps"][1]["changed"] for line in found] == [{"body": "x"}, {"body": "y"}]

    def test_event_above_the_limit_of_families_fails_as_in_the_service(self):
        one = dry_run(sinks=("{table: t, store: s, families: {max_created: 0}}",))
        (line,) = lines(one, {"body": "b", "attributes": {"2hb_": "r", "2hb_new:q": "v"}})
        assert (line["outcome"], line["error"]["code"]) == ("failed", "unknown_family")


class TestRecords:
    def test_record_is_decoded(self):
        record = {"value": "1:2", "key": "k", "headers": [["host", "h1"], ["x", None]], "offset": 7, "timestamp_ms": 1}
        (line,) = lines(dry_run(*TICK_DECORATORS), {"record": record})
        assert (line["event"]["host"], line["event"]["attributes"]["x"], line["event"]["body"]) == ("h1", "", "1:2")
        assert line["puts"][0]["row"] == "k-1000700"

    def test_tombstone_is_dropped(self):
        (line,) = lines(dry_run(), {"record": {"value": None}})
        assert (line["outcome"], line["reason"], line["puts"]) == ("dropped", "tombstone", [])

    def test_tombstone_deletes_the_row(self):
        one = dry_run((Value, "{attribute: 2hb_, value: '%{key}'}"), tombstones=Tombstones.DELETE)
        (line,) = lines(one, {"record": {"value": None, "key": "k"}})
        assert (line["outcome"], line["puts"][0]["delete"], line["puts"][0]["row"]) == ("kept", "row", "k")

    def test_tombstone_bypasses_decorators_that_read_the_body(self):
        """It has no fields to parse, and would be a dead letter in place of a delete."""
        chain = (
            (Json, "{prefix: '2hb_f:'}"),
            (Regex, "{pattern: '(?P<n>[0-9]+)', when: exists(topic)}"),
            (Explode, "{on_empty: error}"),
            (Value, "{attribute: 2hb_, value: '%{key}'}"),
        )
        record = {"value": None, "key": "k", "topic": "t"}
        (line,) = lines(dry_run(*chain, tombstones=Tombstones.DELETE), {"record": record})
        assert (line["outcome"], line["puts"][0]["delete"], line["puts"][0]["row"]) == ("kept", "row", "k")
        # a value that is empty is none of theirs
        (line,) = lines(dry_run(*chain, tombstones=Tombstones.DELETE), {"record": record | {"value": ""}})
        assert (line["outcome"], line["error"]["code"]) == ("failed", "bad_json")
        (line,) = lines(dry_run(*chain, tombstones=Tombstones.KEEP), {"record": record})
        assert (line["outcome"], line["error"]["code"]) == ("failed", "bad_json")
        # one that reads an attribute runs
        record |= {"headers": [["h", "{"]]}
        (line,) = lines(dry_run((Json, "{source: h}"), tombstones=Tombstones.DELETE), {"record": record})
        assert line["error"]["code"] == "bad_json"

    def test_kept_tombstone_marks_its_row(self):
        chain = (Value, "{attribute: 2hb_, value: '%{key}'}"), (Value, "{attribute: '2hb_f:deleted', value: 'true'}")
        (line,) = lines(dry_run(*chain, tombstones=Tombstones.KEEP), {"record": {"value": None, "key": "k"}})
        (put,) = line["puts"]
        assert (line["outcome"], put["row"], put["cells"]) == ("kept", "k", [["f", "deleted", "true"]])

    def test_record_that_cannot_be_decoded_fails(self):
        (line,) = lines(dry_run(format=RecordFormat.JSON), {"record": {"value": "{"}})
        assert (line["outcome"], line["error"]["code"], line["error"]["decorator"]) == ("failed", "bad_json", None)
        assert line["event"]["body"] == "{"

    def test_attribute_cannot_be_set_twice_with_existing_error(self):
        one = dry_run((Value, "{attribute: a, value: x}"), existing="error")
        (line,) = lines(one, {"body": "", "attributes": {"a": "1"}})
        assert line["error"]["code"] == "attribute_exists"


_bytes = st.binary().map(to_notation)
_records = st.fixed_dictionaries(
    {"value": st.none() | _bytes | st.sampled_from(['{"a": 1.5, "b": {"c": null}}', "1:2", "a 1"])},
    optional={
        "key": _bytes,
        "headers": st.lists(
            st.tuples(_bytes | st.sampled_from(["host", "nanos", "priority", "2hb_f:q"]), _bytes).map(list)
        ),
        "timestamp_ms": st.integers(-(2**63), 2**63 - 1),
    },
)


@given(
    st.lists(_records, max_size=3),
    st.sampled_from(["raw", "json", "flume_avro"]),
    st.sampled_from(["drop", "error", "delete", "keep"]),
    st.sampled_from(["replace", "error"]),
)
def test_any_record_has_a_line_of_json(records, form, tombstones, existing):
    one = dry_run(
        (Split, "{separator: ':', index: 0, attribute: '2hb_colfam:ts'}"),
        (Regex, "{pattern: '(?P<word>\\\\w+) (?P<number>\\\\d+)?', prefix: '2hb_re:'}"),
        (Json, "{on_invalid: keep, arrays: index, prefix: '2hb_json:'}"),
        (Rename, "{pattern: '^2hb_json:', replacement: '2hb_'}"),
        (Timestamp, "{on_invalid: keep}"),
        (Value, "{attribute: 2hb_, value: '%{key}-%{nanos}-%{host}'}"),
        (Filter, "{drop: \"%{body} == ''\"}"),
        sinks=("{table: t, store: s, sys_family: sys, write_body: 'raw:body'}",),
        format=RecordFormat(form),
        tombstones=Tombstones(tombstones),
        existing=existing,
    )
    found = lines(one, *({"record": record} for record in records))
    assert [line["input"] for line in found] == list(range(len(records)))
    assert not {line["error"]["code"] for line in found if line["error"]} & {"decorator_bug"}


class TestInputs:
    def test_empty_lines_are_skipped(self):
        assert list(InputLines([b'{"body": "a"}\n', b"\n", b'{"body": "b"}'])) == [Given(body="a"), Given(body="b")]

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            (b"{", "2:2: syntax: not JSON: unexpected end of data"),
            (
                b"GET /",
                "2:1: syntax: not JSON: unexpected character, expected a JSON value; give a raw log with --lines",
            ),
            (b"[]", '2:1: wrong-type: an event must be an object; for example {"body": "text"}'),
            (b'"a"', '2:1: wrong-type: an event must be an object; for example {"body": "text"}'),
            (b'{"bodi": "x"}', '2:2: unknown-field: "bodi" is not an option of the event; did you mean "body"?'),
            (b"{}", '2:1: missing-field: an event needs "body" or "record"'),
            (
                b'{"body": null}',
                (
                    '2:10: wrong-type: body must be text, not null; an empty body is "", '
                    "a record without a value (a tombstone) is record: {value: null}"
                ),
            ),
            (b'{"body": 1}', '2:10: wrong-type: body must be text, not the number 1; quote it: "1"'),
            (
                b'{"body": "", "priority": "WARNING"}',
                '2:26: not-one-of: priority cannot be "WARNING"; did you mean "WARN"?',
            ),
            (b'{"body": "x", "record": {"value": "x"}}', '2:25: conflict: "record" excludes all other options'),
            (
                b'{"record": {"valeu": "x"}}',
                '2:13: unknown-field: "valeu" is not an option of record; did you mean "value"?',
            ),
        ],
    )
    def test_invalid_event_is_reported_with_line_and_column(self, line, problem):
        with pytest.raises(BadInputError) as caught:
            list(InputLines([b"\n", line], "e.jsonl"))
        assert f"e.jsonl:{problem}" in [str(each) for each in caught.value.report.problems]

    @pytest.mark.parametrize(
        "line", [b"\xff", b'{"a": "\xed\xa0\x80"}', b'{"\x7f": 1}', b'{"body": "\\ud800", "x": 1}']
    )
    def test_invalid_line_is_reported_with_its_number(self, line):
        with pytest.raises(BadInputError, match=r"^e\.jsonl:2:"):
            list(InputLines([b"\n", line], "e.jsonl"))

    @pytest.mark.parametrize(
        "content",
        [{}, {"bodi": "x"}, {"body": 1}, {"body": "x", "record": {"value": "x"}}, {"body": "", "priority": "X"}],
    )
    def test_invalid_input_is_rejected(self, content):
        with pytest.raises(BadInputError, match="input 0"):
            lines(dry_run(), content)


SALTED = (
    Table(
        "mytable",
        "logs",
        TableOptions.model_validate({"families": {"f": {}}, "distribute": {"hash": 16}}),
        Place("p.yaml", 1, 1),
    ),
)
SALTED_KEY, SALTED_ROW = "row-0001", "\x0brow-0001"
SALTED_EVENT = {"body": "b", "attributes": {"2hb_": SALTED_KEY, "2hb_f:q": "b"}}


class TestCases:
    def check(self, expect, *inputs, decorators=TICK_DECORATORS, **options):
        case = TestCase("a test", "ticks", inputs or (TICK,), Expect.model_validate(expect), Place("p.yaml", 1, 1))
        return dry_run(*decorators, **options).test(case)

    @pytest.mark.parametrize(
        "expect",
        [
            {},
            {"kept": 1, "failed": 0, "dropped": {"no_row_key": 0}},
            {"puts": [{}]},
            {"puts": [{"table": "mytable", "row": "k1-1308748686334000700"}]},
            {"puts": [{"key": "k1-1308748686334000700"}]},
            {"puts": [{"cells": {"colfam:ts": "2238947398", "colfam:value": "56"}}]},
            {"puts": [{"cells": {"colfam:ts": {"b64": "MjIzODk0NzM5OA=="}}}]},
            {"events": [{"attributes": {"2hb_colfam:value": "56", "other": None}}]},
        ],
    )
    def test_met_expectation_has_no_differences(self, expect):
        assert self.check(expect).differences == ()

    @pytest.mark.parametrize(
        ("expect", "difference"),
        [
            ({"kept": 2}, Difference(("kept",), 2, 1)),
            ({"failed": 1}, Difference(("failed",), 1, 0)),
            ({"dropped": {"filter": 1}}, Difference(("dropped", "filter"), 1, 0)),
            ({"puts": [{"table": "other"}]}, Difference(("puts", 0, "table"), "other", "mytable")),
            (
                {"puts": [{"cells": {"colfam:value": "57"}}]},
                Difference(("puts", 0, "cells", "colfam:value"), "57", "56"),
            ),
            ({"puts": [{"cells": {"f:q": ""}}]}, Difference(("puts", 0, "cells", "f:q"), "", None)),
            ({"puts": [{}, {"row": "r"}]}, Difference(("puts", 1), {"row": "r"}, None)),
            (
                {"events": [{"attributes": {"2hb_colfam:value": None}}]},
                Difference(("events", 0, "attributes", "2hb_colfam:value"), None, "56"),
            ),
            ({"events": [{"body": "x"}]}, Difference(("events", 0, "body"), "x", "2238947398:56")),
        ],
        ids=["kept", "failed", "dropped", "table", "cell", "no-cell", "no-put", "attribute", "body"],
    )
    def test_unmet_expectation_has_a_difference(self, expect, difference):
        result = self.check(expect)
        assert (result.passed, result.differences) == (False, (difference,))

    @pytest.mark.parametrize(
        "put", [{"key": SALTED_KEY}, {"row": SALTED_ROW}, {"row": SALTED_ROW, "key": SALTED_KEY, "cells": {"f:q": "b"}}]
    )
    def test_put_into_a_table_with_buckets_has_its_physical_and_its_logical_row_key(self, put):
        assert self.check({"puts": [put]}, SALTED_EVENT, decorators=(), tables=SALTED).differences == ()
        (line,) = lines(dry_run(tables=SALTED), SALTED_EVENT)
        assert (line["puts"][0]["row"], line["puts"][0]["key"]) == (SALTED_ROW, SALTED_KEY)

    def test_row_and_key_of_a_table_with_buckets_are_compared_apart(self):
        expect = {"puts": [{"row": SALTED_KEY, "key": SALTED_ROW}]}
        result = self.check(expect, SALTED_EVENT, decorators=(), tables=SALTED)
        assert result.differences == (
            Difference(("puts", 0, "row"), SALTED_KEY, SALTED_ROW),
            Difference(("puts", 0, "key"), SALTED_ROW, SALTED_KEY),
        )

    def test_unexpected_put_is_a_difference(self):
        (difference,) = self.check({"puts": []}).differences
        assert (difference.path, difference.expected, difference.actual["row"]) == (
            ("puts", 0),
            None,
            "k1-1308748686334000700",
        )

    def test_event_that_sinks_drop_has_passed_the_chain(self):
        result = self.check(
            {"events": [{"body": "x"}], "dropped": {"no_row_key": 1}},
            {"body": "x"},
            decorators=(),
            sinks=(DROP_WITHOUT_KEY,),
        )
        assert result.passed

    def test_empty_dropped_expects_that_nothing_is_dropped(self):
        result = self.check({"dropped": {}}, {"body": "x"}, decorators=(), sinks=(DROP_WITHOUT_KEY,))
        assert result.differences == (Difference(("dropped", "no_row_key"), 0, 1),)


class Longest(FanOut[Settings]):
    """Buffers the event with the longest body of a split."""

    kind = "longest"

    def split_start(self):
        self._longest = None

    def decorate(self, event):
        before = self._longest
        if before is not None and len(before.body) >= len(event.body):
            return []
        self._longest = event
        return Buffered(before)

    def split_end(self):
        return [] if self._longest is None else [self._longest]


class TestSplits:
    @pytest.fixture
    def one(self):
        return dry_run(
            (Value, "{attribute: 2hb_, value: '%{body}'}"), (Longest,), (Value, "{attribute: '2hb_f:q', value: v}")
        )

    def test_buffered_event_has_one_line_with_all_its_decorators(self, one):
        found = lines(one, *({"body": body} for body in ("a", "bbb", "cc", "dddd")))
        assert [(line["input"], line["outcome"], line["event"]["body"]) for line in found] == [
            (0, "dropped", "a"),
            (2, "dropped", "cc"),
            (1, "dropped", "bbb"),
            (3, "kept", "dddd"),
        ]
        assert [each["decorator"] for each in found[-1]["steps"]] == ["value", "longest", "value"]
        assert [each["decorator"] for each in found[2]["steps"]] == ["value", "longest"]
        assert found[-1]["puts"][0]["row"] == "dddd"

    def test_each_partition_is_a_split(self, one):
        inputs = [{"body": "a"}, {"record": {"value": "b", "partition": 1}}, {"body": "c", "topic": "other"}]
        assert [line["outcome"] for line in lines(one, *inputs)] == ["kept"] * 3

    def test_runs_are_independent(self, one):
        assert lines(one, {"body": "aa"}) == lines(one, {"body": "aa"})


def test_archive_of_each_part_of_a_record_has_its_own_row():
    settings = settings_of(ArchiveSettings, "{root: unused, table: customer, on_no_time: default_partition}")
    sink = planned("archive", "sinks.archive.sink:Archive", settings)
    run = DryRun(plan(sink, decorators=(part(Pieces),), on_error=OnError.DEAD_LETTER))
    found = lines(run, {"body": "one,two", "topic": "t", "offset": 7, "timestamp_ms": -1})
    row = {"_topic": "t", "_partition": 0, "_offset": 7, "_fan_out": 0, "_time": None, "body": "one"}
    write = {"sink": "archive", "table": "customer", "partition": f"dt={NO_TIME}", "columns": row}
    assert [line["writes"] for line in found] == [
        [write],
        [write | {"columns": row | {"_fan_out": 1, "body": "two"}}],
    ]
    assert [line["puts"] for line in found] == [[], []]
    assert all("writes" not in line for line in lines(run, {"body": "one"}, until_decorators=True))


class TestWrites:
    """What sinks without a store write, in the expectations of tests."""

    INPUT: ClassVar = {"body": "56", "attributes": {"h": "x"}, "timestamp_ms": 9}
    RECORD: ClassVar = {"key": None, "value": "56", "headers.h": "x", "timestamp_ms": 9}

    @pytest.fixture
    def one(self):
        settings = settings_of(KafkaSinkSettings, "{topic: clean, headers: {h: '%{h}'}}")
        return DryRun(plan(planned("kafka", "sinks.kafka.sink:Kafka", settings), on_error=OnError.DEAD_LETTER))

    def differences(self, one, *writes):
        expect = Expect.model_validate({"writes": list(writes)})
        return one.test(TestCase("a test", "p", (self.INPUT,), expect, Place("p.yaml", 1, 1))).differences

    def test_record_is_shown_by_its_parts(self, one):
        (line,) = lines(one, self.INPUT)
        assert line["writes"] == [{"sink": "kafka", "topic": "clean", "record": self.RECORD}]

    @pytest.mark.parametrize(
        "write",
        [
            {"sink": "kafka"},
            {"topic": "clean", "record": {"value": {"b64": "NTY="}, "key": None}},
            {"record": RECORD},
        ],
    )
    def test_only_what_is_named_is_compared(self, one, write):
        assert self.differences(one, write) == ()

    def test_difference_has_its_path(self, one):
        write = {"topic": "clean", "record": {"value": "57", "key": "k"}}
        assert self.differences(one, write) == (
            Difference(("writes", 0, "record", "value"), "57", "56"),
            Difference(("writes", 0, "record", "key"), "k", None),
        )

    def test_writes_that_are_missing_or_too_many(self, one):
        (missing,) = self.differences(one)
        assert (missing.path, missing.expected) == (("writes", 0), None)
        assert self.differences(one, {"topic": "clean"}, {"topic": "t"}) == (
            Difference(("writes", 1), {"topic": "t"}, None),
        )
