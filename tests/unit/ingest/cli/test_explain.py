import gzip
import io
import json
import os
import sys

import pytest

from ingest.clock import now_ms


def test_text_shows_each_decorator(ingest, pipeline):
    result = ingest("explain", "pipeline.yaml", "--events", "events.jsonl")
    assert result.code == 0
    assert result.out == (
        "event 0 kept\n"
        "  filter  no change\n"
        "  regex   2hb_colfam:ts = 2238947398\n"
        "          2hb_colfam:value = 56\n"
        "  value   2hb_ = monday.txt:000017\n"
        "  attr2hbase: logs/mytable row monday.txt:000017\n"
        "    colfam:ts = 2238947398\n"
        "    colfam:value = 56\n"
        "event 1 dropped: comment\n"
        "  filter  dropped: comment\n"
        "event 2 failed\n"
        "  filter  no change\n"
        "  regex: no_match: the pattern does not match\n"
    )
    assert result.err == "1 kept, 1 dropped, 1 failed\nnext: attr2hbase describe error no_match\n"


def test_decorator_has_one_name(ingest, folder):
    (folder / "p.yaml").write_text(
        "version: 1\nstores: {logs: {memory: {}}}\npipelines:\n  p:\n    source: {files: {path: ./in}}\n"
        "    decorators: [{json: {prefix: '2hb_f:'}}, {json: {label: again}}, {json: {on_null: error}}]\n"
        "    sinks: [{attr2hbase: {table: t}}]\n"
    )
    (folder / "e.jsonl").write_text(json.dumps({"body": '{"a": null}'}))
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    assert result.out.splitlines() == [
        "event 0 failed",
        "  json#1        no change",
        "  json (again)  no change",
        '  json#3: null_value: "a" is null',
    ]


def test_text_shows_logical_and_physical_row_keys_of_a_table_with_buckets(ingest, folder):
    (folder / "p.yaml").write_text(
        "version: 1\nstores: {logs: {memory: {}}}\ntables: {t: {families: {f: {}}, distribute: {hash: 16}}}\n"
        "pipelines:\n  p:\n    source: {files: {path: ./in}}\n    decorators:\n"
        "      - value: {attribute: '2hb_', value: '%{body}'}\n      - value: {attribute: '2hb_f:q', value: v}\n"
        "    sinks: [{attr2hbase: {table: t}}]\n"
    )
    (folder / "e.jsonl").write_text('{"body": "row-0001"}')
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    assert "  attr2hbase: logs/t row row-0001, stored as \\x0Brow-0001\n" in result.out


@pytest.mark.parametrize(
    ("decorator", "end"),
    [
        (
            "regex: {pattern: x, index: 0, attribute: a, on_no_match: error}",
            "2 failed\nnext: attr2hbase describe error no_match\n",
        ),
        ("trim: {}", "2 failed\nnext: attr2hbase describe error no_row_key\n"),
        ("filter: {drop: \"%{body} != ''\", reason: mine}", "2 dropped\nnext: attr2hbase validate -f p.yaml\n"),
    ],
)
def test_next_command_when_no_event_is_kept(ingest, folder, decorator, end):
    (folder / "p.yaml").write_text(
        "version: 1\nstores: {logs: {memory: {}}}\npipelines:\n  p:\n    source: {files: {path: ./in}}\n"
        f"    decorators:\n      - {decorator}\n      - value: {{attribute: '2hb_f:q', value: v}}\n"
        "      - value: {attribute: '2hb_', value: k, when: exists(never)}\n    sinks: [{attr2hbase: {table: t}}]\n"
    )
    (folder / "e.jsonl").write_text('{"body": "b"}\n{"body": "c"}')
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    assert (result.code, result.err[-len(end) :]) == (0, end)
    assert "attr2hbase run" not in result.err


def test_next_command_for_dead_letters_replays_them(ingest, pipeline):
    letter = {
        "component": "regex",
        "batch_time_ms": 1,
        "record": {"value": "2238947398:56", "topic": "ticks/monday.txt"},
    }
    (pipeline / "letters.jsonl").write_text(json.dumps(letter))
    result = ingest("explain", "pipeline.yaml", "--events", "letters.jsonl")
    assert result.err.splitlines()[-1] == "next: attr2hbase dead-letters replay"


ARCHIVE = """
version: 1
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - regex: {pattern: '^(.*) (.*)$', attributes: [day, amount]}
      - timestamp: {source: day, formats: '%Y-%m-%d'}
    sinks:
      - archive: {root: ./archive, table: customer, columns: {
          raw: {value: '%{body}', type: binary}, amount: {value: '%{amount}', type: float64}, none: '%{none}'}}
"""


def archived(ingest, folder, body, **more):
    (folder / "p.yaml").write_text(ARCHIVE)
    (folder / "e.jsonl").write_text(json.dumps({"body": body, "topic": "t", "offset": 3, **more}))
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    assert (result.code, (folder / "archive").exists()) == (0, False)
    return result.out


def test_archive_has_the_partition_and_the_row_of_an_event(ingest, folder):
    assert archived(ingest, folder, "2015-12-10 1.5").endswith(
        "  archive: customer dt=20151210\n"
        "    _topic = t\n"
        "    _partition = 0\n"
        "    _offset = 3\n"
        "    _fan_out = 0\n"
        "    _time = 2015-12-10T00:00:00.000Z\n"
        "    raw = 2015-12-10 1.5\n"
        "    amount = 1.5\n"
        "    none = null\n"
    )


@pytest.mark.parametrize(
    ("body", "batch_time_ms", "code"),
    [
        ("2015-12-10 x", 0, "bad_column"),
        ("1960-12-10 1", 0, "no_event_time"),
        ("2015-12-10 1", 1_450_784_608_000, "late_event"),
        ("2015-12-10 1", 1_448_784_608_000, "early_event"),
    ],
)
def test_refusal_of_an_archive(ingest, folder, body, batch_time_ms, code):
    out = archived(ingest, folder, body, timestamp_ms=batch_time_ms)
    assert out.startswith("event 0 failed\n")
    assert f"  archive: {code}: " in out


class TestColors:
    FILE = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%{body} == 'x'"}
      - value: {attribute: "2hb_", value: "%{body}"}
      - mask: {attributes: [secret]}
      - format: {template: "[%{body}]"}
    sinks: [{attr2hbase: {table: t}}]
"""
    ARGUMENTS = ("explain", "p.yaml", "--events", "e.jsonl")

    @pytest.fixture(autouse=True)
    def _files(self, folder):
        (folder / "p.yaml").write_text(self.FILE)
        (folder / "e.jsonl").write_text('{"body": "k", "attributes": {"secret": "s"}}')

    def test_changes_are_coloured_on_a_terminal(self, terminal):
        lines = terminal(*self.ARGUMENTS).splitlines()
        assert lines[1:5] == [
            "\x1b[36m  filter  \x1b[0m\x1b[2mno change\x1b[0m",
            "\x1b[36m  value   \x1b[0m\x1b[32m2hb_ = k\x1b[0m",
            "\x1b[36m  mask    \x1b[0m\x1b[1;31msecret removed\x1b[0m",
            "\x1b[36m  format  \x1b[0m\x1b[33mbody = [k]\x1b[0m",
        ]

    @pytest.mark.parametrize(
        ("arguments", "environment"), [((), {"NO_COLOR": "1"}), (("--no-color",), {}), (("--output", "json"), {})]
    )
    def test_no_colours_when_disabled(self, terminal, arguments, environment):
        shown = terminal(*self.ARGUMENTS, *arguments, **environment)
        assert "k" in shown
        assert "\x1b" not in shown


def test_json_is_one_line_per_event(ingest, pipeline):
    lines = ingest("explain", "pipeline.yaml", "--events", "events.jsonl", "--output", "json").lines
    assert [(line["input"], line["outcome"], line["reason"]) for line in lines] == [
        (0, "kept", None),
        (1, "dropped", "comment"),
        (2, "failed", None),
    ]
    assert lines[0]["puts"] == [
        {
            "sink": "attr2hbase",
            "store": "logs",
            "table": "mytable",
            "row": "monday.txt:000017",
            "wal": True,
            "durability": "sync",
            "timestamp_ms": 1308748686334,
            "cells": [["colfam", "ts", "2238947398"], ["colfam", "value", "56"]],
        }
    ]


def test_until_decorators_stops_before_the_sinks(ingest, pipeline):
    lines = ingest(
        "explain", "pipeline.yaml", "--events", "events.jsonl", "--until", "decorators", "--output", "json"
    ).lines
    assert ["puts" in line for line in lines] == [False, False, False]


class TestRawLines:
    FILE = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: ./logs, max_event_bytes: 100B}}
    decorators:
      - value: {attribute: "2hb_", value: "%{topic}:%{offset}"}
      - value: {attribute: "2hb_f:line", value: "%{body}"}
    sinks: [{attr2hbase: {table: t}}]
"""

    @pytest.fixture(autouse=True)
    def _files(self, folder):
        (folder / "p.yaml").write_text(self.FILE)
        (folder / "logs").mkdir()

    def explained(self, ingest, *arguments):
        lines = ingest("explain", "p.yaml", "--output", "json", *arguments).lines
        return [(line["puts"][0]["row"], line["puts"][0]["cells"][0][2]) if line["puts"] else None for line in lines]

    def test_each_line_of_a_file_is_an_event(self, ingest, folder):
        (folder / "a.log").write_bytes(b"one\r\n\xff\nlast")
        path = folder / "a.log"
        expected = [(f"{path}:0", "one"), (f"{path}:5", {"b64": "/w=="}), (f"{path}:7", "last")]
        assert self.explained(ingest, "--lines", "a.log") == expected

    def test_gzip_file_is_decompressed(self, ingest, folder):
        (folder / "a.log.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
        path = folder / "a.log.gz"
        assert self.explained(ingest, "--lines", "a.log.gz") == [(f"{path}:0", "one"), (f"{path}:4", "two")]

    def test_damaged_gzip_file_is_an_error(self, ingest, folder):
        (folder / "a.log.gz").write_bytes(gzip.compress(b"one\n" * 1_000)[:-12])
        result = ingest("explain", "p.yaml", "--lines", "a.log.gz")
        assert "error[" in result.err
        assert f'"{folder}/a.log.gz" cannot be decompressed' in result.err

    def test_lines_are_read_from_a_pipe(self, ingest):
        reader, writer = os.pipe()
        os.write(writer, b"x\n")
        os.close(writer)
        try:
            assert self.explained(ingest, "--lines", f"/dev/fd/{reader}") == [(f"/dev/fd/{reader}:0", "x")]
        finally:
            os.close(reader)

    def test_lines_are_read_from_stdin(self, ingest, monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"x\n"))))
        assert self.explained(ingest, "--lines", "-") == [("<stdin>:0", "x")]

    def test_lines_of_stdin_have_the_present_time(self, ingest, monkeypatch):
        """So a syslog time without a year is in the present year, as in a file that was written now."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"x\n"))))
        before = now_ms()
        (line,) = ingest("explain", "p.yaml", "--output", "json", "--lines", "-").lines
        assert before <= line["puts"][0]["timestamp_ms"] <= now_ms()

    def test_the_source_decodes_them(self, ingest, folder):
        (folder / "p.yaml").write_text(self.FILE.replace("max_event_bytes", "format: json, max_event_bytes"))
        (folder / "a.log").write_text('{"body": "b"}\nnot an envelope\n')
        assert self.explained(ingest, "--lines", "a.log") == [(f"{folder}/a.log:0", "b"), None]

    def test_default_events_are_the_first_lines_of_the_source(self, ingest, folder):
        (folder / "logs" / "a").write_text("".join(f"{number}\n" for number in range(7)))
        (folder / "logs" / "b").write_text("x" * 300 + "\nafter a line that is too large\n")
        (folder / "logs" / "c").write_text("y\n" * 5)
        found = self.explained(ingest)
        assert [row and row[1] for row in found] == [
            *("0", "1", "2", "3", "4", "5", "6"),
            *(None, "after a line that is too large", "y"),
        ]

    def test_missing_file_is_reported(self, ingest):
        assert ingest("explain", "p.yaml", "--lines", "none.log").code == 3
        result = ingest("explain", "p.yaml")
        assert (result.code, "give a raw log with --lines" in result.err) == (2, True)

    def test_lines_and_events_exclude_each_other(self, ingest):
        assert ingest("explain", "p.yaml", "--lines", "a", "--events", "b").code == 2


def test_events_of_stdin(ingest, pipeline, monkeypatch):
    body = json.dumps({"body": {"b64": "/w=="}}).encode() + b"\n\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(body)))
    lines = ingest("explain", "pipeline.yaml", "--events", "-", "--output", "json").lines
    assert [line["event"]["body"] for line in lines] == [{"b64": "/w=="}]


def test_default_events_are_those_of_the_tests(ingest, pipeline):
    assert [line["outcome"] for line in ingest("explain", "pipeline.yaml", "--output", "json").lines] == [
        "kept",
        "dropped",
        "failed",
    ]


def test_nothing_to_explain(ingest, pipeline):
    text = (pipeline / "pipeline.yaml").read_text()
    (pipeline / "p.yaml").write_text(text[: text.index("tests:")].replace("./ticks", "./none"))
    result = ingest("explain", "p.yaml")
    assert (result.code, result.err.splitlines()[0]) == (2, "error[config]: there are no events to explain")


PARTS = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - value: {attribute: "2hb_", value: k}
      - explode: {form: lines, attribute: "2hb_a:l"}
      - explode: {form: separated, separator: ";", source: "2hb_a:l", attribute: word}
      - filter: {keep: "%{word} != 'x'"}
    sinks: [{attr2hbase: {table: t}}]
"""


def test_parts_of_an_event_are_numbered_and_earlier_decorators_are_shown_once(ingest, folder):
    (folder / "p.yaml").write_text(PARTS)
    (folder / "e.jsonl").write_text('{"body": "v;w\\nx"}\n{"body": "v"}')
    found = ingest("explain", "p.yaml", "--events", "e.jsonl", "--until", "decorators").out
    assert found == (
        "event 0, part 1 dropped: filter\n"
        "  value      2hb_ = k\n"
        "  explode#2  2hb_a:l = x\n"
        "  explode#3  word = x\n"
        "  filter     dropped: filter\n"
        "event 0, part 0.0 kept\n"
        "  explode#2  2hb_a:l = v;w\n"
        "  explode#3  word = v\n"
        "  filter     no change\n"
        "event 0, part 0.1 kept\n"
        "  explode#3  word = w\n"
        "  filter     no change\n"
        "event 1 kept\n"
        "  value      2hb_ = k\n"
        "  explode#2  2hb_a:l = v\n"
        "  explode#3  word = v\n"
        "  filter     no change\n"
    )


OUTCOMES = """
version: 1
stores: {logs: {%s}}
tables: {t: {families: {a: {}}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%%{body} == 'x'"}
      - regex: {pattern: ':(.)', attributes: ["2hb_"], on_no_match: error, on_error: %s}
      - value: {attribute: "2hb_%s:q", value: v}
    sinks: [{attr2hbase: {table: t%s}}]
"""


def explained(ingest, folder, *, store="memory: {}", on_error="dead_letter", family="a", options="", body="nothing"):
    """The result of `explain` for one event."""
    (folder / "p.yaml").write_text(OUTCOMES % (store, on_error, family, options))
    (folder / "e.jsonl").write_text(json.dumps({"body": body}))
    return ingest("explain", "p.yaml", "--events", "e.jsonl")


@pytest.mark.parametrize(
    ("on_error", "head", "count"),
    [
        ("dead_letter", "event 0 failed", "1 failed"),
        ("drop", "event 0 dropped: on_error", "1 dropped"),
        ("stop", "event 0 failed, and stops the pipeline", "1 failed"),
    ],
)
def test_outcome_of_a_failed_event_depends_on_on_error(ingest, folder, on_error, head, count):
    result = explained(ingest, folder, on_error=on_error)
    assert (result.out.splitlines()[0], result.err.splitlines()[0]) == (head, count)
    assert "  regex: no_match: " in result.out


@pytest.mark.parametrize(
    ("body", "command"),
    [("1:2", "run --once -f p.yaml"), ("x", "validate -f p.yaml"), ("nothing", "describe error no_match")],
)
def test_run_is_suggested_only_if_an_event_is_kept(ingest, folder, body, command):
    assert explained(ingest, folder, body=body).err.splitlines()[-1] == f"next: attr2hbase {command}"


HBASE = "hbase: {host: localhost}"
REFUSED = 'attr2hbase: unknown_family: no family "b" in table "t"; add it under `tables`'


@pytest.mark.parametrize(
    ("store", "options", "expected"),
    [
        ("memory: {}", "", "kept"),
        ("memory: {}", ", families: {on_unknown: drop}", "dropped: unknown_family"),
        ("memory: {}", ", families: {on_unknown: error}", "failed"),
        (HBASE, "", "failed"),
    ],
)
def test_event_of_an_undeclared_family_follows_on_unknown(ingest, folder, store, options, expected):
    shown = explained(ingest, folder, store=store, family="b", options=options, body="1:2").out
    assert shown.splitlines()[0] == f"event 0 {expected}"
    assert (REFUSED in shown) is (expected == "failed")
    assert explained(ingest, folder, store=store, options=options, body="1:2").out.startswith("event 0 kept\n")


def test_missing_events_exit_with_3(ingest, pipeline):
    result = ingest("explain", "pipeline.yaml", "--events", "absent.jsonl")
    assert (result.code, result.err.splitlines()[0]) == (3, 'error[not_found]: there is no file "absent.jsonl"')


def test_missing_events_suggest_a_file_with_a_similar_name(ingest, pipeline):
    assert 'hint: did you mean "events.jsonl"?' in ingest("explain", "pipeline.yaml", "--events", "event.jsonl").err


def test_malformed_line_is_reported_with_its_place(ingest, pipeline):
    (pipeline / "bad.jsonl").write_text('{"body": "1:2"}\nnonsense\n')
    result = ingest("explain", "pipeline.yaml", "--events", "bad.jsonl")
    assert result.code == 2
    assert "bad.jsonl:2:1: syntax: not JSON" in result.err
    assert "; give a raw log with --lines" in result.err


def test_truncated_json_has_no_hint_at_raw_logs(ingest, pipeline):
    (pipeline / "bad.jsonl").write_text('{"body": "1:2"\n')
    result = ingest("explain", "pipeline.yaml", "--events", "bad.jsonl")
    assert (result.code, "--lines" in result.err) == (2, False)


@pytest.mark.parametrize("option", ["--events", "--lines"])
def test_folder_instead_of_a_file(ingest, pipeline, option):
    result = ingest("explain", "pipeline.yaml", option, "ticks")
    assert (result.code, result.err) == (3, 'error[not_found]: "ticks" is a folder\n  hint: give one of its files\n')


def test_labels_removals_and_deletes_are_shown(ingest, folder):
    (folder / "p.yaml").write_text(
        """
version: 1
stores: {logs: {memory: {}}}
tables: {t: {families: {cf: {}}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - value: {label: key, attribute: "2hb_", value: "%{body}"}
      - mask: {attributes: [secret]}
    sinks:
      - attr2hbase:
          table: t
          rules:
            - {when: "%{host} == 'r'", delete: row}
            - {when: "%{host} == 'f'", delete: {family: cf}}
            - {when: "%{host} == 'c'", delete: {column: 'cf:q'}}
"""
    )
    events = [{"body": "k", "host": host, "attributes": {"secret": "x"}} for host in "rfc"]
    (folder / "e.jsonl").write_text("\n".join(map(json.dumps, events)))
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    assert result.code == 0, result.err
    assert "  value (key)  2hb_ = k\n  mask         secret removed\n" in result.out
    assert [line.strip() for line in result.out.splitlines() if "delete" in line] == [
        "delete row",
        "delete family cf",
        "delete column cf:q",
    ]


def test_every_sink_that_rejects_or_stores_is_shown(ingest, folder):
    (folder / "p.yaml").write_text(
        """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - value: {attribute: "2hb_", value: "%{body}"}
      - value: {attribute: "2hb_f:q", value: "v"}
    sinks:
      - attr2hbase: {label: first, table: t, families: {allow: [a]}}
      - attr2hbase: {label: second, table: t}
      - attr2hbase: {label: third, table: t, families: {allow: [b]}}
"""
    )
    (folder / "e.jsonl").write_text('{"body": "k"}')
    result = ingest("explain", "p.yaml", "--events", "e.jsonl")
    errors = [line.split(": ")[:2] for line in result.out.splitlines()[3:]]
    assert errors == [
        ["  first", "family_not_allowed"],
        ["  third", "family_not_allowed"],
        ["  second", "logs/t row k"],
        ["    f:q = v"],
    ]
    line = ingest("explain", "p.yaml", "--events", "e.jsonl", "--output", "json").json
    assert [refusal["sink"] for refusal in line["refusals"]] == ["first", "third"]
    assert [put["sink"] for put in line["puts"]] == ["second"]


class TestPipeline:
    TWO = """
version: 1
stores: {logs: {memory: {}}}
pipelines:
  one: &p
    source: {files: {path: ./in}}
    decorators: [{value: {attribute: "2hb_", value: "%{body}"}}, {value: {attribute: "2hb_f:q", value: one}}]
    sinks: [{attr2hbase: {table: t}}]
  two: *p
"""

    def test_pipeline_is_selected_by_name(self, ingest, folder):
        (folder / "p.yaml").write_text(self.TWO)
        (folder / "e.jsonl").write_text('{"body": "k"}')
        result = ingest("explain", "p.yaml", "--events", "e.jsonl", "--pipeline", "two")
        assert (result.code, result.out.splitlines()[0]) == (0, "event 0 kept")

    def test_must_be_chosen_among_several(self, ingest, folder):
        (folder / "p.yaml").write_text(self.TWO)
        result = ingest("explain", "p.yaml", "--events", "e.jsonl")
        assert (result.code, "choose one with --pipeline NAME" in result.err) == (2, True)

    def test_unknown_name_is_an_error(self, ingest, folder):
        (folder / "p.yaml").write_text(self.TWO)
        result = ingest("explain", "p.yaml", "--events", "e.jsonl", "--pipeline", "three")
        assert (result.code, result.err.splitlines()[0]) == (3, 'error[not_found]: there is no pipeline "three"')


@pytest.mark.parametrize(
    ("options", "text", "plain"),
    [((), "1496", 1496), (("--raw",), "\\x00" * 6 + "\\x05\\xD8", {"b64": "AAAAAAAABdg="})],
)
def test_cells_have_the_types_of_their_columns(ingest, folder, options, text, plain):
    (folder / "p.yaml").write_text(
        "version: 1\nstores: {logs: {memory: {}}}\ntables: {t: {families: {f: {}}, columns: {'f:ms': int64}}}\n"
        "pipelines:\n  p:\n    source: {files: {path: ./in}}\n    decorators:\n"
        "      - value: {attribute: '2hb_', value: '%{topic}-%{offset}'}\n"
        "      - convert: {attributes: {ms: '2hb_f:ms'}, encode: int64}\n"
        "    sinks: [{attr2hbase: {table: t}}]\n"
    )
    (folder / "e.jsonl").write_text('{"body": "", "attributes": {"ms": "1496"}}')
    assert f"    f:ms = {text}\n" in ingest("explain", "p.yaml", "--events", "e.jsonl", *options).out
    (line,) = ingest("explain", "p.yaml", "--events", "e.jsonl", *options, "--output", "json").lines
    assert line["puts"][0]["cells"] == [["f", "ms", plain]]
