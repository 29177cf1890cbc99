import io
import json
import sys

import pytest

TICKS = (
    'split(":",0,"2hb_colfam:ts") split(":",1,"2hb_colfam:value") format("%{nanos}:") split(":",0,"2hb_") '
    'attr2hbase("mytable","","","2hb_","1000","false")'
)


def test_file_becomes_an_equivalent_pipeline(ingest, folder):
    (folder / "old.flume").write_text(TICKS)
    result = ingest("import-flume", "old.flume", "-o", "pipeline.yaml")
    assert result.code == 0
    assert result.err.splitlines() == [
        "pipeline.yaml: written, 5 parts of old.flume",
        "next: attr2hbase validate",
        "      attr2hbase explain --events EVENTS.jsonl",
    ]
    assert result.out.splitlines()[0] == 'translated  1:1  split(":",0,"2hb_colfam:ts") -> split'
    assert ingest("validate", "pipeline.yaml").code == 0
    (folder / "events.jsonl").write_text('{"body": "2238947398:56", "nanos": 42}\n')
    (line,) = ingest("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json").lines
    (put,) = line["puts"]
    assert (put["table"], put["row"], put["wal"]) == ("mytable", "42", False)
    assert put["cells"] == [["colfam", "ts", "2238947398"], ["colfam", "value", "56"]]


def test_text_becomes_a_pipeline_on_stdout(ingest, folder):
    result = ingest("import-flume", "--text", TICKS)
    assert result.code == 0
    (folder / "p.yaml").write_text(result.out)
    assert ingest("validate", "p.yaml").code == 0
    assert "translated  1:1  split" in result.err


def test_file_may_be_stdin(ingest, folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TICKS.encode())))
    assert ingest("import-flume", "-", "-o", "p.yaml").code == 0


def test_zone_is_that_of_the_flume_nodes(ingest, folder):
    text = 'value("2hb_","%H",escape=true) value("2hb_f:q","v") attr2hbase("t")'
    assert ingest("import-flume", "--text", text, "--timezone", "Asia/Tokyo", "-o", "p.yaml").code == 0
    (folder / "events.jsonl").write_text('{"body": "", "timestamp_ms": 0}\n')
    (line,) = ingest("explain", "p.yaml", "--events", "events.jsonl", "--output", "json").lines
    assert line["puts"][0]["row"] == "09"


EX_DATE = 'split(":",0,"d")\nexDate("d","dd/MMM/yyyy HH Z") attr2hbase("t")'
PROPERTIES = (
    "a.sources = r\na.channels = c\na.sinks = k\n"
    "a.sources.r.type = netcat\na.sources.r.channels = c\na.channels.c.type = memory\n"
    "a.sinks.k.type = hbase2\na.sinks.k.channel = c\na.sinks.k.table = t\na.sinks.k.columnFamily = cf\n"
)
MILLIS = PROPERTIES + (
    "a.sources.r.interceptors = i\na.sources.r.interceptors.i.type = regex_extractor\n"
    "a.sources.r.interceptors.i.regex = (.*)\na.sources.r.interceptors.i.serializers = s\n"
    "a.sources.r.interceptors.i.serializers.s.name = at\n"
    "a.sources.r.interceptors.i.serializers.s.type = RegexExtractorInterceptorMillisSerializer\n"
    "a.sources.r.interceptors.i.serializers.s.pattern = yyyy-MM-dd\n"
)
ASSUMED = "No time zone was given: set `timezone` to the zone of Flume's machines if it is not UTC."
IRRELEVANT = "No time zone was given, and nothing here depends on one: `timezone` is UTC."


@pytest.mark.parametrize(
    ("text", "line", "comment"),
    [
        (EX_DATE, 2, ASSUMED),
        ('value("2hb_","%H",escape=true) attr2hbase("t")', 1, ASSUMED),
        ('format("%{host} %D") attr2hbase("t")', 1, ASSUMED),
        ('\nhbase("t","%{host}","f","%Y","v",writeToWal=true)', 2, ASSUMED),
        ('value("2hb_","%{timestamp}%s%t%%H",escape=true) attr2hbase("t")', None, IRRELEVANT),
        ('value("2hb_","%H") attr2hbase("t")', None, IRRELEVANT),
        (MILLIS, 17, ASSUMED),
        (MILLIS.replace("yyyy-MM-dd", "yyyy-MM-dd Z"), None, IRRELEVANT),
        (PROPERTIES, None, IRRELEVANT),
    ],
)
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_assumed_time_zone_is_a_warning(text, line, comment, zone, ingest, folder):
    (folder / "old").write_text(text)
    result = ingest("import-flume", "old", "-o", "p.yaml", *(["--timezone", zone] if zone else []))
    assert result.code == 0
    message = "not-as-flume: warning: this depends on the time zone of Flume's machines, and none was given"
    assert result.err.count(message) == (line is not None and zone is None)
    if line and not zone:
        assert f"old:{line}:1: {message}: UTC is assumed; add --timezone Europe/Berlin" in result.err
    made = (folder / "p.yaml").read_text()
    assert (comment if zone is None else "`timezone` is the time zone of Flume's machines.") in made
    assert "    timezone: UTC\n" in made


def test_properties_of_flume_1(ingest, folder):
    (folder / "flume.conf").write_text(PROPERTIES)
    assert ingest("import-flume", "flume.conf", "-o", "p.yaml").code == 0
    assert ingest("validate", "p.yaml").code == 0


def test_part_to_write_by_hand_is_reported_and_refused_by_validate(ingest, folder):
    (folder / "flume.conf").write_text(PROPERTIES + "a.sinks.k.serializer = com.x.Mine\n")
    result = ingest("import-flume", "flume.conf", "-o", "p.yaml")
    assert result.code == 0
    assert "\nby hand     11:1  com.x.Mine -> not_imported: write decorators" in result.out
    assert "p.yaml: written, 4 parts of flume.conf, 1 to write by hand\n" in result.err
    refused = ingest("validate", "p.yaml")
    assert refused.code == 2
    assert ': not-imported: "com.x.Mine" was not imported; write decorators that set the attribute 2hb_' in refused.err


def test_report_as_json(ingest, folder):
    result = ingest("import-flume", "--text", 'batch(5) hbase("t","%{host}","f","q","v")', "--output", "json")
    assert result.err == ""
    assert [(entry["outcome"], entry["column"], entry["by"]) for entry in result.json["report"]] == [
        ("left_out", 1, ""),
        ("translated", 10, "hbase"),
    ]
    assert [problem["severity"] for problem in result.json["problems"]] == ["warning", "warning"]
    assert result.json["yaml"].startswith("# Imported by ")
    assert result.json["file"] is None


class TestTree:
    def test_tree_is_written_as_json(self, ingest):
        result = ingest("import-flume", "--text", '{ a => < b(1, x="y") ? c(d("e")) > }', "--ast", "--output", "json")
        assert result.json == {
            "chain": [
                {"name": "a", "args": [], "kwargs": {}},
                {
                    "failover": [
                        {"sink": {"name": "b", "args": ["1"], "kwargs": {"x": "y"}}},
                        {"sink": {"name": "c", "args": [{"fn": "d", "args": ["e"]}], "kwargs": {}}},
                    ]
                },
            ]
        }

    def test_tree_is_written_as_text(self, ingest):
        result = ingest("import-flume", "--text", "{a=>[b,c()]}", "--ast")
        assert (result.code, result.out, result.err) == (0, "a [ b, c ]\n", "")

    @pytest.mark.parametrize("more", [[], ["--output", "json"]])
    def test_error_is_one_line(self, ingest, more):
        result = ingest("import-flume", "--text", "a b\n ] c", "--ast", *more)
        assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
        assert '<text>:2:2: syntax: found "]"' in result.err.replace("\\", "")

    def test_properties_have_no_tree(self, ingest, folder):
        (folder / "flume.conf").write_text("a.sinks = k\n")
        assert "a properties file has no tree" in ingest("import-flume", "flume.conf", "--ast").err


class TestErrors:
    def test_have_the_form_of_compiler_messages(self, ingest, folder):
        (folder / "old.flume").write_text('value("a", "1")\n  spilt(":", 0, "b") attr2hbase(t)')
        result = ingest("import-flume", "old.flume", "-o", "p.yaml")
        assert (result.code, result.out) == (2, "")
        assert result.err == (
            'old.flume:2:3: unknown-component: there is no decorator "spilt"; did you mean "split"?\n'
            '    2 |   spilt(":", 0, "b") attr2hbase(t)\n      |   ^\n'
            'old.flume:2:33: wrong-type: attr2hbase requires text here; "t" without quotes is a function; '
            'quote it: "t"\n'
            '    2 |   spilt(":", 0, "b") attr2hbase(t)\n      |                                 ^\n'
            "2 errors\n"
        )
        assert not (folder / "p.yaml").exists()

    @pytest.mark.parametrize("arguments", [[], ["old.flume", "--text", "x"]])
    def test_file_or_text(self, ingest, arguments):
        result = ingest("import-flume", *arguments)
        assert (result.code, "a FILE or --text" in result.err) == (2, True)

    def test_no_such_file(self, ingest, folder):
        assert ingest("import-flume", "absent.flume").code == 3

    def test_no_such_zone(self, ingest):
        result = ingest("import-flume", "--text", 'attr2hbase("t")', "--timezone", "Europe/Berln")
        assert (result.code, 'did you mean "Europe/Berlin"' in result.err) == (2, True)

    def test_file_that_is_not_utf8(self, ingest, folder):
        (folder / "old.flume").write_bytes(b"a \xff")
        result = ingest("import-flume", "old.flume", "--output", "json")
        assert (result.code, "is not UTF-8 text: byte 3" in json.loads(result.err)["error"]["message"]) == (2, True)
