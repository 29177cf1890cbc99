"""
Flume's tables of escapes, decorators and the attr2hbase sink, row by row; each test ID is a row.

A row says so if attr2hbase differs: options that could only fail with an event in Flume are invalid in the
configuration here, and attributes are written once only with `attributes: {existing: error}`, as in imported
configurations. These rows use that setting.
"""

import hashlib
from base64 import b64encode

import pytest
import yaml
from pydantic import ValidationError

from ingest.api import Durability, Event, Origin, Priority, Put
from ingest.catalog import Catalog
from ingest.expressions import ExpressionSyntaxError, Template
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator, Dropped, Failed
from ingest.testing.events import event_of
from sinks.mapping.attr2hbase import Attr2HBase, Attr2HBaseSettings
from sinks.mapping.mapper import Skipped
from tests.support.mapped import only

TIME_MS = 1_309_275_728_123  # 2011-06-28T15:42:08.123Z, a Tuesday
BATCH_MS = 1_700_000_000_000
REFUSED = "refused in the configuration"


def chain_of(decorators, zone="UTC"):
    """The decorators of a YAML text, one per line."""
    made = []
    for entry in yaml.safe_load(decorators):
        ((name, options),) = entry.items() if isinstance(entry, dict) else ((entry, None),)
        kind = Catalog().load("decorators", name)
        settings = kind.settings_class().model_validate(options or {}, context={"timezone": zone})
        made.append(BoundDecorator(kind(settings), name))
    return Chain(made)


def outcomes_of(chain, events):
    chain.split_start()
    outcomes = [outcome for event in events for outcome in chain.run(event)]
    return outcomes + [outcome for _, late in chain.split_end() for outcome in late]


def result_of(decorators, event, zone="UTC"):
    """The resulting events, the code of an error, or that the options are invalid."""
    try:
        chain = chain_of(decorators, zone)
    except ValidationError:
        return REFUSED
    outcomes = outcomes_of(chain, [event])
    failed = [outcome.error.code for outcome in outcomes if isinstance(outcome, Failed)]
    return failed[0] if failed else [outcome for outcome in outcomes if isinstance(outcome, Event)]


def rows(*cases):
    return [pytest.param(*case[1:], id=case[0]) for case in cases]


@pytest.mark.parametrize(
    ("tags", "expected"),
    rows(
        ("%{host}, %{hostname}", ["%{host}", "%{hostname}"], "web1"),
        ("%{nanos}", ["%{nanos}"], "42"),
        ("%{priority}", ["%{priority}"], "WARN"),
        ("%{body}", ["%{body}"], "whole body"),
        ("%{timestamp}", ["%{timestamp}"], "1309275728123"),
        ("%{other}", ["%{other}"], "text"),
        ("%{other}, absent", ["%{absent}"], ""),
        ("%%", ["%%"], "%"),
        ("%a %A %b %B", ["%a %A %b %B"], "Tue Tuesday Jun June"),
        ("%c", ["%c"], "Tue Jun 28 15:42:08 2011"),
        ("%d %m %y %Y %j", ["%d %m %y %Y %j"], "28 06 11 2011 179"),
        ("%D", ["%D"], "06/28/11"),
        ("%H %I %k %l %M %S %p", ["%H %I %k %l %M %S %p"], "15 03 15 3 42 08 PM"),
        ("%s, %t", ["%s %t"], "1309275728 1309275728123"),
        ("%z", ["%z"], "+0000"),
        ("any other single word character: an error here", ["%P", "%x", "%_", "%9"], None),
        ("%%{henry}", ["%%{henry}"], "%{henry}"),
        ("/h/%{unknown}/t", ["/h/%{unknown}/t"], "/h//t"),
        ("%{body} in the body", ["%{nested}"], "%{host}"),
        ("%Y-%m-%d/%H00", ["%Y-%m-%d/%H00"], "2011-06-28/1500"),
    ),
)
def test_flume_escapes_have_the_same_result(tags, expected):
    """The tables of escape expressions."""
    attributes = {"other": b"text", "nested": b"%{host}", "nanos": b"no", "body": b"no"}
    event = Event(b"whole body", attributes, TIME_MS, 42, "web1", Priority.WARN)
    for tag in tags:
        if expected is None:
            with pytest.raises(ExpressionSyntaxError):
                Template.parse(tag)
        else:
            assert Template.parse(tag).render(event) == expected.encode()


BODY = b"10.0.0.1 - x"
DIGESTS = {
    "MD5": hashlib.md5(BODY, usedforsecurity=False).digest(),
    "SHA-1": hashlib.sha1(BODY, usedforsecurity=False).digest(),
    "SHA-256": hashlib.sha256(BODY).digest(),
    "SHA-384": hashlib.sha384(BODY).digest(),
    "SHA-512": hashlib.sha512(BODY).digest(),
}
AB = {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("decorators", "attributes", "expected"),
    rows(
        ("value: the literal", "- value: {attribute: x, value: '%%{host}'}", {}, {"x": b"%{host}"}),
        ("value: escape=true", "- value: {attribute: x, value: '<%{host}>'}", {}, {"x": b"<h>"}),
        ("value: an existing attribute", "- value: {attribute: a, value: '2'}", AB, "attribute_exists"),
        ("select: only those, absent ones are passed over", "- select: {attributes: [a, c]}", AB, {"a": b"1"}),
        ("select: no name, which Flume refuses", "- select: {attributes: []}", AB, {}),
        ("select: the same name twice", "- select: {attributes: [a, a]}", AB, REFUSED),
        ("mask: all but those", "- mask: {attributes: [a, c]}", AB, {"b": b"2"}),
        ("mask: no name", "- mask: {attributes: []}", AB, REFUSED),
        ("regex: the first match", "- regex: {pattern: '[0-9]', index: 0, attribute: x}", {}, {"x": b"1"}),
        ("regex: group 0 is the whole", "- regex: {pattern: '(1)(0)', index: 0, attribute: x}", {}, {"x": b"10"}),
        ("regex: a group", "- regex: {pattern: '(1)(0)', index: 2, attribute: x}", {}, {"x": b"0"}),
        ("regex: no match sets an empty value", "- regex: {pattern: '(q)', index: 1, attribute: x}", {}, {"x": b""}),
        ("regex: index out of range", "- regex: {pattern: '(1)', index: 2, attribute: x}", {}, {"x": b""}),
        (
            "regex: a group that took no part",
            "- regex: {pattern: '1(q)?', index: 1, attribute: x, on_unmatched: error}",
            {},
            "unmatched_group",
        ),
        ("regex: a bad pattern", "- regex: {pattern: '(', index: 1, attribute: x}", {}, REFUSED),
        (
            "regexAll: group n to name n",
            "- regex: {pattern: '(1)(0)', attributes: [x, y]}",
            {},
            {"x": b"1", "y": b"0"},
        ),
        ("regexAll: a blank name", "- regex: {pattern: '(1)(0)', attributes: ['', y]}", {}, {"y": b"0"}),
        ("regexAll: surplus groups", "- regex: {pattern: '(1)(0)', attributes: [x]}", {}, {"x": b"1"}),
        ("regexAll: surplus names", "- regex: {pattern: '(1)', attributes: [x, y]}", {}, REFUSED),
        ("regexAll: no match sets nothing", "- regex: {pattern: '(q)', attributes: [x]}", {}, {}),
        (
            "regexAll: an unmatched named group",
            "- regex: {pattern: '(1)(q)?', attributes: [x, y], on_unmatched: error}",
            {},
            "unmatched_group",
        ),
        ("split: a separator that is a regex", "- split: {separator: '[. ]', index: 4, attribute: x}", {}, {"x": b"-"}),
        ("split: past the end", "- split: {separator: ' ', index: 9, attribute: x}", {}, {"x": b""}),
        ("split: a negative index", "- split: {separator: ' ', index: -1, attribute: x}", {}, REFUSED),
        *(
            (
                f"digest: {name}",
                f"- digest: {{algorithm: {name.replace('-', '').lower()}, attribute: x}}",
                {},
                {"x": digest},
            )
            for name, digest in DIGESTS.items()
        ),
        (
            "digest: base64",
            "- digest: {algorithm: md5, attribute: x, encoding: base64}",
            {},
            {"x": b64encode(DIGESTS["MD5"])},
        ),
        ("digest: an unknown algorithm", "- digest: {algorithm: crc32, attribute: x}", {}, REFUSED),
        (
            "exDate: parts of a date",
            "- ex_date: {source: a, pattern: y}",
            {"a": b"7"},
            {"a": b"7", **dict(zip(("dateday", "datemonth", "dateyear"), (b"01", b"01", b"7"), strict=True))}
            | {f"date{part}": b"00" for part in ("hr", "min", "sec")},
        ),
        ("nullDeco", "- null_deco", AB, AB),
    ),
)
def test_flume_decorators_have_the_same_result(decorators, attributes, expected):
    """The table of per-event transformations; `format`, which changes the body, follows below."""
    found = result_of(decorators, event_of(BODY, attributes, host="h", write_once=True))
    if isinstance(found, list):
        (event,) = found
        assert (event.attributes, event.body, event.host) == (expected, BODY, "h")
    else:
        assert found == expected


def test_format_replaces_the_body_and_keeps_the_rest():
    """Row `format` of the table of transformations."""
    before = event_of("x", AB, host="h", nanos=5, priority=Priority.WARN, write_once=True)
    (after,) = result_of("- format: {template: '%{host}:%{a}'}", before)
    assert after == event_of("h:1", AB, host="h", nanos=5, priority=Priority.WARN, write_once=True)


@pytest.mark.parametrize(
    ("decorators", "body", "attributes", "expected"),
    rows(
        ('split(":",2,"x")', "- split: {separator: ':', index: 2, attribute: x}", b"a:b::", {}, {"x": b""}),
        (
            'regex("(\\d+):(\\d+):(\\d+)",3,"x")',
            r"- regex: {pattern: '(\d+):(\d+):(\d+)', index: 3, attribute: x}",
            b"55:66:33:22",
            {},
            {"x": b"33"},
        ),
        (
            'regexAll("(\\d):(\\d):(\\d)","d1","","d2")',
            r"- regex: {pattern: '(\d):(\d):(\d)', attributes: [d1, '', d2]}",
            b"1:2:3.4foobar5",
            {},
            {"d1": b"1", "d2": b"3"},
        ),
        (
            'format("%{nanos}:") then split(":",0,"2hb_")',
            "[format: {template: '%{nanos}:'}, split: {separator: ':', index: 0, attribute: 2hb_}]",
            b"any",
            {},
            {"2hb_": b"42"},
        ),
        ('value("a","2")', "- value: {attribute: a, value: '2'}", b"", {"a": b"1"}, "attribute_exists"),
        (
            'mask("a") value("a","2")',
            "[mask: {attributes: [a]}, value: {attribute: a, value: '2'}]",
            b"",
            {"a": b"1"},
            {"a": b"2"},
        ),
    ),
)
def test_transformations_as_configured(decorators, body, attributes, expected):
    """The examples under the table of per-event transformations."""
    found = result_of(decorators, event_of(body, attributes, nanos=42, write_once=True))
    assert (found if isinstance(found, str) else found[0].attributes) == expected


ACCESS = "- ex_date: {source: date, pattern: 'dd/MMM/yyyy:HH:mm:ss Z'}"


@pytest.mark.parametrize(
    ("decorators", "zone", "text", "expected"),
    rows(
        (
            'exDate("date","dd/MMM/yyyy:HH:mm:ss Z") (Denver)',
            ACCESS,
            "America/Denver",
            b"26/Jul/2010:11:48:05 -0600",
            {"day": b"26", "month": b"07", "year": b"2010", "hr": b"11", "min": b"48", "sec": b"05"},
        ),
        ("the same (UTC)", ACCESS, "UTC", b"26/Jul/2010:11:48:05 -0600", {"hr": b"17"}),
        (
            'exDate("d","yyyy-MM-dd")',
            "- ex_date: {source: date, pattern: yyyy-MM-dd}",
            "UTC",
            b"2010-13-01",
            {"year": b"2011", "month": b"01", "day": b"01"},
        ),
    ),
)
def test_ex_date_sets_the_parts_of_a_date(decorators, zone, text, expected):
    """The table of exDate."""
    (event,) = result_of(decorators, event_of("", {"date": text}, write_once=True), zone)
    assert {part: event.attributes[f"date{part}"] for part in expected} == expected


def passed(decorators, count):
    """The records of a partition that pass; all others are counted."""
    events = [event_of("x", origin=Origin("t", 0, offset)) for offset in range(count)]
    outcomes = outcomes_of(chain_of(decorators), events)
    kept = [outcome.origin.offset for outcome in outcomes if isinstance(outcome, Event)]
    dropped = [outcome.event.origin.offset for outcome in outcomes if isinstance(outcome, Dropped)]
    assert sorted({*kept, *dropped}) == list(range(count))
    return kept


@pytest.mark.parametrize(
    ("decorators", "count", "expected"),
    rows(
        ("intervalSampler: first, then every n-th", "- interval_sampler: {n: 10}", 31, [0, 10, 20, 30]),
        ("intervalSampler: 0", "- interval_sampler: {n: 0}", 1, REFUSED),
        ("intervalSampler: negative", "- interval_sampler: {n: -1}", 1, REFUSED),
        ("probSampler: below p", "- prob_sampler: {p: 0.10, seed: 1337}", 20, [12]),
        ("probSampler: p out of range", "- prob_sampler: {p: 1.5}", 1, REFUSED),
        ("reservoirSampler: at most k, all while there is room", "- reservoir_sampler: {k: 5}", 5, [0, 1, 2, 3, 4]),
        ("reservoirSampler: k of many", "- reservoir_sampler: {k: 5}", 50, 5),
        ("intervalDroppyAppend: drops every n-th", "- interval_droppy_append: {n: 3}", 10, [0, 1, 3, 4, 6, 7, 9]),
        ("intervalDroppyAppend: 0", "- interval_droppy_append: {n: 0}", 1, REFUSED),
        ("mult: n copies", "- mult: {n: 2}", 2, [0, 0, 1, 1]),
        ("mult: one when not said", "- mult", 2, [0, 1]),
        ("mult: 0 drops", "- mult: {n: 0}", 2, []),
    ),
)
def test_filters_and_samplers(decorators, count, expected):
    """The table of filters and samplers."""
    if expected is REFUSED:
        assert result_of(decorators, event_of()) == REFUSED
        return
    found = passed(decorators, count)
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_mult_events_with_benchmark_inject_once():
    """Row `mult` of the table of filters and samplers."""
    assert len(result_of("- mult: {n: 3}", event_of("", {"BenchmarkInject": "x"}))) == 1


@pytest.mark.parametrize(
    "name", ["flakey_append", "interval_flakey_append"], ids=["flakeyAppend", "intervalFlakeyAppend"]
)
def test_flakey_append_decorators_are_unknown(name):
    """Rows of test tools in the table of filters and samplers: failpoints replace them."""
    assert name not in Catalog().names("decorators")


def options_of(**options):
    """Validated options of attr2hbase, or that they are invalid."""
    try:
        return Attr2HBaseSettings.model_validate({"table": "t"} | options)
    except ValidationError:
        return REFUSED


def mapped(attributes, body=b"", *, host="h", timestamp_ms=5, **options):
    event = Event(body, attributes, timestamp_ms=timestamp_ms, host=host)
    return only(Attr2HBase(options_of(**options)).map(event, BATCH_MS))


def columns(attributes, body=b"", **options):
    """Columns and values of an event with a row key, without the system cells."""
    found = mapped({options.get("attr_prefix", "2hb_"): b"row"} | attributes, body, **options)
    if isinstance(found, Skipped):
        return {}
    system = {b"sys:timestamp", b"sys:host", b"sys:priority"}
    return {name: value for name, value in found[1].columns.items() if name not in system}


@pytest.mark.parametrize(
    ("options", "name", "expected"),
    rows(
        ("table: required", {"table": ""}, None, REFUSED),
        ("sysFamily: none when not said", {}, "sys_family", None),
        ("sysFamily: empty is none", {"sys_family": ""}, "sys_family", None),
        ("writeBody: none when not said", {}, "write_body", None),
        ("writeBody: f", {"write_body": "f"}, None, REFUSED),
        ("writeBody: f:", {"write_body": "f:"}, None, REFUSED),
        ("writeBody: ':'", {"write_body": ":"}, None, REFUSED),
        ("writeBody: a:b:c", {"write_body": "a:b:c"}, None, REFUSED),
        ("writeBody: a::b", {"write_body": "a::b"}, None, REFUSED),
        ("writeBody: ':q', refused here", {"write_body": ":q"}, None, REFUSED),
        ("writeBody: f:q:, refused here", {"write_body": "f:q:"}, None, REFUSED),
        ("writeBody: f:q", {"write_body": "f:q"}, "write_body", "f:q"),
        ("attrPrefix: 2hb_ when not said", {}, "attr_prefix", "2hb_"),
        ("attrPrefix: empty is empty", {"attr_prefix": ""}, "attr_prefix", ""),
        ("writeBufferSize: 2 MiB when not said", {}, "write_buffer_size", 2 << 20),
        ("writeBufferSize: a size", {"write_buffer_size": "1000B"}, "write_buffer_size", 1_000),
        ("writeBufferSize: empty", {"write_buffer_size": ""}, None, REFUSED),
        ("writeToWal: true when not said", {}, "write_to_wal", True),
        ("writeToWal: yes, refused here", {"write_to_wal": "yes"}, None, REFUSED),
        ("writeToWal: false", {"write_to_wal": False}, "write_to_wal", False),
    ),
)
def test_attr2hbase_parameters_become_options(options, name, expected):
    """The table of parameters of attr2hbase."""
    found = options_of(**options)
    assert (found if name is None else getattr(found, name)) == expected


def test_attr2hbase_prefix_is_case_sensitive():
    """Row `attrPrefix` of the table of parameters."""
    assert columns({"2HB_f:q": b"v"}) == {}


SYSTEMS = [{}, {"sys_family": "sys"}, {"sys_family": "sys", "attr_prefix": ""}, {"attr_prefix": ""}]
SYSTEM_IDS = ["`2hb_`, no sys", "`2hb_`, sys", "empty, sys", "empty, no sys"]


@pytest.mark.parametrize(("number", "options"), list(enumerate(SYSTEMS)), ids=SYSTEM_IDS)
@pytest.mark.parametrize(
    ("attribute", "expected"),
    rows(
        ("any", "any", [None, None, b"sys:any", None]),
        ("colfam:col", "colfam:col", [None, None, b"colfam:col", b"colfam:col"]),
        ("2hb_any", "2hb_any", [None, b"sys:any", b"sys:2hb_any", None]),
        ("2hb_colfam:col", "2hb_colfam:col", [b"colfam:col"] * 2 + [b"2hb_colfam:col"] * 2),
        ("2hb_:any:", "2hb_:any:", [None, b"sys::any:", b"2hb_:any:", b"2hb_:any:"]),
        (":any:", ":any:", [None, None, b"sys::any:", None]),
        # Flume ignores it without a family of the system; here it has the empty qualifier
        ("2hb_fam:", "2hb_fam:", [b"fam:", b"sys:fam:", b"sys:2hb_fam:", b"2hb_fam:"]),
        ("2hb_a:b:c", "2hb_a:b:c", [b"a:b:c"] * 2 + [b"2hb_a:b:c"] * 2),
    ),
)
def test_attr2hbase_writes_attributes_to_their_columns(attribute, expected, number, options):
    """The table of attributes and their columns."""
    column = expected[number]
    assert columns({attribute: b"foo"}, **options) == ({} if column is None else {column: b"foo"})


@pytest.mark.parametrize("options", SYSTEMS, ids=SYSTEM_IDS)
def test_attr2hbase_row_key_attribute(options):
    """Row `the row key attribute` of the table of attributes and their columns."""
    assert columns({}, **options) == {}


@pytest.mark.parametrize(
    ("options", "is_written"),
    rows(
        ("no writeBody", {}, False),
        ("writeBody f:q, sys", {"write_body": "f:q", "sys_family": "sys"}, True),
        ("writeBody f:q, no sys: as the documented table has it", {"write_body": "f:q"}, True),
    ),
)
@pytest.mark.parametrize("body", [b"EventVal", b""], ids=["non-empty body", "empty body"])
def test_attr2hbase_writes_the_body_if_configured(body, options, is_written):
    """The table of when the body is written."""
    assert columns({}, body, **options) == ({b"f:q": body} if is_written and body else {})


@pytest.mark.parametrize(
    ("attributes", "options", "expected"),
    rows(
        (
            'attr2hbase("mytable","sysColfam")',
            {"2hb_": b"123"},
            {"table": "mytable", "sys_family": "sysColfam"},
            (
                "mytable",
                Put(
                    b"123",
                    {
                        b"sysColfam:timestamp": bytes.fromhex("00000130D6EA2B54"),
                        b"sysColfam:host": b"testhost",
                        b"sysColfam:priority": b"INFO",
                    },
                    BATCH_MS,
                ),
            ),
        ),
        (
            'attr2hbase("t","sysFam")',
            {"other": b"val0"},
            {"sys_family": "sysFam", "on_missing_key": "drop"},
            Skipped("no_row_key"),
        ),
        ('attr2hbase("t","")', {"2hb_": b"rk"}, {"sys_family": ""}, Skipped("no_cells")),
        (
            'attr2hbase("t","","","2hb_","0","yes")',
            {"2hb_": b"rk", "2hb_f:q": b"v"},
            {"sys_family": "", "write_body": "", "attr_prefix": "2hb_", "write_to_wal": False},
            ("t", Put(b"rk", {b"f:q": b"v"}, BATCH_MS, durability=Durability.SKIP)),
        ),
    ),
)
def test_attr2hbase_as_configured(attributes, options, expected):
    """The examples of attr2hbase."""
    assert mapped(attributes, host="testhost", timestamp_ms=0x130D6EA2B54, **options) == expected
