"""Flume's HBase sinks and their translations write the same cells."""

import pytest

from ingest.api import ConfigInvalidError
from ingest.api.notation import to_notation
from ingest.config import Kind

EVENT = {"body": "", "attributes": {"r": "k"}, "host": "h", "priority": "WARN", "timestamp_ms": 1_308_748_686_334}
SYSTEM = {
    "sys:host": "h",
    "sys:priority": "WARN",
    "sys:timestamp": to_notation(EVENT["timestamp_ms"].to_bytes(8, "big")),
}


TICKS = (
    'split(":",0,"2hb_colfam:ts") split(":",1,"2hb_colfam:value") format("%{nanos}:") split(":",0,"2hb_") '
    'attr2hbase("mytable","","","2hb_","1000","false")'
)
COLUMNS = {
    "2hb_, no sys": 'attr2hbase("t")',
    "2hb_, sys": 'attr2hbase("t","sys")',
    "empty, sys": 'attr2hbase("t","sys","","")',
    "empty, no sys": 'attr2hbase("t","","","")',
}
ROWS = {
    "any": (None, None, "sys:any", None),
    "colfam:col": (None, None, "colfam:col", "colfam:col"),
    "2hb_any": (None, "sys:any", "sys:2hb_any", None),
    "2hb_colfam:col": ("colfam:col", "colfam:col", "2hb_colfam:col", "2hb_colfam:col"),
    "2hb_:any:": (None, "sys::any:", "2hb_:any:", "2hb_:any:"),
    ":any:": (None, None, "sys::any:", None),
    # Flume ignored it without a system family: the guide lists the difference
    "2hb_fam:": ("fam:", "sys:fam:", "sys:2hb_fam:", "2hb_fam:"),
    "2hb_a:b:c": ("a:b:c", "a:b:c", "2hb_a:b:c", "2hb_a:b:c"),
}


@pytest.mark.parametrize("attribute", ROWS)
@pytest.mark.parametrize("number", range(4), ids=list(COLUMNS))
def test_table_of_attributes(attribute, number, cells):
    sink, column = list(COLUMNS.values())[number], ROWS[attribute][number]
    key = "2hb_" if number < 2 else ""
    found = cells(sink, EVENT | {"attributes": {key: "row", attribute: "foo"}})
    expected = {} if column is None else {column: "foo"}
    if "sys" in sink:
        expected |= SYSTEM
    assert found == (("row", expected) if expected else "no_cells")


@pytest.mark.parametrize(
    ("sink", "body", "columns"),
    [
        ('attr2hbase("t","sys")', "EventVal", {}),
        ('attr2hbase("t","sys","f:q")', "EventVal", {"f:q": "EventVal"}),
        ('attr2hbase("t","sys","f:q:")', "EventVal", {"f:q": "EventVal"}),
        ('attr2hbase("t","","f:q")', "EventVal", {}),
        ('attr2hbase("t","sys","f:q")', "", {}),
        ('attr2hbase("t","","f:q")', "", {}),
    ],
)
def test_table_of_the_body(sink, body, columns, cells):
    row, found = cells(sink, EVENT | {"body": body, "attributes": {"2hb_": "row", "2hb_a:b": "c"}})
    own = {name: value for name, value in found.items() if not name.startswith("sys:")}
    assert (row, own) == ("row", {"a:b": "c"} | columns)


@pytest.mark.parametrize(
    ("text", "event", "expected"),
    [
        ('attr2hbase("t","sysFam")', {"body": "", "attributes": {"other": "val0"}}, "no_row_key"),
        ('attr2hbase("t","")', {"body": "", "attributes": {"2hb_": "rk"}}, "no_cells"),
        ('attr2hbase("t")', {"body": "", "attributes": {"2hb_": "", "2hb_f:q": "v"}}, "empty_row_key"),
        ('attr2hbase("t","","","x-")', {"body": "", "attributes": {"x-": "r", "x-f:q": "v"}}, ("r", {"f:q": "v"})),
        (
            'value("","row") value("f:q","v") attr2hbase("t","","","")',
            {"body": ""},
            ("row", {"f:q": "v"}),
        ),
        (
            TICKS,
            {"body": "2238947398:56", "nanos": 42},
            ("42", {"colfam:ts": "2238947398", "colfam:value": "56"}),
        ),
        (
            'hbase("t","%{host}-%{rowkey}","family1","%{priority}","%{body}","family2","col2","%{badescape}")',
            {"body": "message0", "host": "qwigibo", "attributes": {"rowkey": "row-key0"}},
            ("qwigibo-row-key0", {"family1:INFO": "message0", "family2:col2": ""}),
        ),
        (
            'hbase("t","%{nanos}","f","body","%{body}","f","host","%{host}")',
            {"body": "b", "host": "h", "nanos": 7},
            ("7", {"f:body": "b", "f:host": "h"}),
        ),
        ('hbase("t","%{host}-%{missing}","f","q","v")', {"body": "", "host": "h1"}, ("h1-", {"f:q": "v"})),
        ('hbase("t","%{missing}","f","q","v")', {"body": ""}, "empty_row_key"),
        ('hbase("t","r","f","","100%")', {"body": ""}, ("r", {"f:": "100%"})),
        ('hbase("t","r","f","q","1","f","q","2")', {"body": ""}, ("r", {"f:q": "2"})),
    ],
)
def test_sink_writes_the_same_cells(text, event, expected, cells):
    assert cells(text, event) == expected


def test_bytes_of_attributes_are_unchanged(cells):
    raw = {"b64": "/wD+"}
    assert cells('attr2hbase("t")', {"body": "", "attributes": {"2hb_": raw, "2hb_f:q": raw}}) == (raw, {"f:q": raw})


@pytest.mark.parametrize(
    ("text", "wal"),
    [
        ('attr2hbase("t")', True),
        ('attr2hbase("t","","","2hb_","0","TRUE")', True),
        ('attr2hbase("t","","","2hb_","0","yes")', False),
        ('attr2hbase("t","","","2hb_","0","")', False),
        ('hbase("t","r","f","q","v")', False),
        ('hbase("t","r","f","q","v",writeToWal=true)', True),
        ('hbase("t","r","f","q","v",writeToWal=false)', False),
        ('collector(30000, writeToWal=true) { hbase("t","r","f","q","v") }', True),
        ('collector(30000, writeToWal=true) { roll(5, writeToWal=false) { hbase("t","r","f","q","v") } }', False),
        ('collector(30000, writeToWal=true) { attr2hbase("t","","","2hb_","0","false") }', False),
    ],
)
def test_write_ahead_log(text, wal, outcomes):
    (line,) = outcomes(text, {"body": "", "attributes": {"2hb_": "r", "2hb_f:q": "v"}})
    assert [put["wal"] for put in line["puts"]] == [wal]


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ('attr2hbase("t","","","2hb_",1000)', 1000),
        ('attr2hbase("t","","","2hb_","0")', 2 << 20),
        ('attr2hbase("t","","","2hb_","-5")', 2 << 20),
        ('hbase("t","r","f","q","v",writeBufferSize=5000)', 5000),
        ('hbase("t","r","f","q","v")', 2 << 20),
    ],
)
def test_size_of_the_write_buffer_is_imported(text, size_bytes, configuration):
    (pipeline,) = configuration(text).pipelines.values()
    assert pipeline.sinks[0].settings.write_buffer_size == size_bytes


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("attr2hbase()", "1:1", "at least 1 argument"),
        ("attr2hbase(mytable)", "1:12", 'quote it: "mytable"'),
        ('attr2hbase("t","s","f")', "1:20", "is not a column for the body"),
        ('attr2hbase("t","s","f:")', "1:20", "is not a column for the body"),
        ('attr2hbase("t","s",":")', "1:20", "is not a column for the body"),
        ('attr2hbase("t","s","a:b:c")', "1:20", "is not a column for the body"),
        ('attr2hbase("t","s","a::b")', "1:20", "is not a column for the body"),
        ('attr2hbase("t","s",":q")', "1:20", "has no family"),
        ('attr2hbase("t","","","2hb_","")', "1:29", "is a whole number"),
        ('attr2hbase("t","","","2hb_","1k")', "1:29", "is a whole number"),
        ('attr2hbase("my table")', "1:12", "is not the name of a table"),
        ('attr2hbase("t","a:b")', "1:16", "is not the name of a family"),
        ('hbase("t%{x}","r","f","q","v",writeToWal=true)', "1:7", '"t%{x}" is not the name of a table'),
        ('hbase("t","r",\n"f%:","q","v",writeToWal=true)', "2:1", "'f%:' cannot be the name of a family"),
        ('mask("x") [ attr2hbase("t"), mask("y") attr2hbase("a b") ]', "1:51", "is not the name of a table"),
        ('hbase("t","r","f","q")', "1:1", "at least 5 arguments"),
        ('hbase("t","r","f","q","v","f")', "1:27", "triples of family, qualifier and value"),
        ('hbase("t","r","f","q","v",writeBufferSize=x)', "1:43", "quote it"),
        ('hbase("t","r","f","q","v",writeBufferSize="x")', "1:1", "is a whole number"),
        ('hbase("t","r","","q","v")', "1:15", "cannot be the name of a family"),
        ('hbase("t","","f","q","v",writeToWal=true)', "1:11", "the row key is empty"),
        ('hbsae("t")', "1:1", 'did you mean "hbase"'),
        ("value", "1:1", "value is a decorator: a sink must follow it"),
        ("zap(1)", "1:1", "sinks of plugins are not imported"),
        ('[ console, rpcSink("c") ]', "1:1", "there is no attr2hbase or hbase sink"),
    ],
)
def test_arguments_that_flume_rejected_are_errors_with_a_place(text, place, message, imported):
    with pytest.raises(ConfigInvalidError) as caught:
        imported(text)
    first = next(problem for problem in caught.value.report.errors)
    assert (f"{first.location.line}:{first.location.column}", message in f"{first.message}; {first.hint}") == (
        place,
        True,
    )


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ('attr2hbase("t","","f:q")', "without a system family"),
        ('attr2hbase("t","s","","2hb_","0","true","more")', "after the first 6"),
        ('attr2hbase("t",writeToWal=false)', 'no keyword "writeToWal"'),
        ('hbase("t","%{host}","f","q","v")', "skipped the write-ahead log"),
    ],
)
def test_difference_is_a_warning(text, warning, imported):
    (problem,) = [problem for problem in imported(text).warnings if problem.kind is Kind.NOT_AS_FLUME]
    assert warning in problem.message
