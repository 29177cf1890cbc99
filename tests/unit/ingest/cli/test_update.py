"""`attr2hbase test --update`: writes actual results into the file and changes no other byte."""

import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.config.nodes import compose, plain
from ingest.config.writing import flow, literal, quoted

HEAD = """\
version: 1   # a comment   with blanks
stores: {logs: {memory: {}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%{body} == 'drop'", reason: unwanted}
      - value: {attribute: "2hb_", value: "%{key}"}
      - value: {attribute: "2hb_f:q", value: "%{body}"}
    sinks: [{attr2hbase: {store: logs, table: t}}]
# tests come now
tests:
"""


@pytest.fixture
def update(ingest, folder):
    """A function that writes tests to a file, updates it, and returns its tests."""

    def run(tests: str, code: int = 0, newline: str = "\n", mark: str = "") -> str:
        text = mark + HEAD + tests
        (folder / "p.yaml").write_bytes(text.replace("\n", newline).encode())
        result = ingest("test", "p.yaml", "--update")
        assert result.code == code, result.err
        after = (folder / "p.yaml").read_bytes().decode()
        head = mark + HEAD.replace("\n", newline)
        assert after.startswith(head)
        return after.removeprefix(head)

    return run


LAYOUTS = {
    "values-in-lines": (
        """\
  - name: one
    given: [{body: "56", key: k1}]   # given
    expect:
      kept: 2   # how many
      puts:
        # the first
        - table: t        # its table
          row: 'old'
          cells: {"f:q": "57", "f:gone": null}   # cells
""",
        {"kept: 2 ": "kept: 1 ", "'old'": "'k1'", '"57"': '"56"'},
    ),
    "values-in-brackets": (
        """\
  - {name: one, given: [{body: "56", key: k1}], expect: {kept: 1, puts: [{row: old, cells: {"f:q": "57"}}]}} # end
""",
        {"row: old": "row: k1", '"57"': '"56"'},
    ),
    "text-over-lines": (
        """\
  - name: one
    given: [{body: "5\\n6", key: k1}]
    expect:
      puts:
        - cells:
            "f:q": |
              57
              58

          # behind the text
          row: >-
            folded
            text
""",
        {"|\n              57\n              58\n": '"5\\n6"\n', ">-\n            folded\n            text": '"k1"'},
    ),
    "reason-and-failures": (
        """\
  - name: one
    given: [{body: drop}, {body: "1"}]
    expect: {dropped: {unwanted: 5}, failed: 7}   # none is kept
""",
        {"unwanted: 5": "unwanted: 1", "failed: 7": "failed: 1"},
    ),
    "absent-cell-and-absent-expectation": (
        """\
  - name: one
    given: [{body: "56", key: k1}]
    expect:
      puts:
        - cells: {"f:q": null, "f:r": x}
""",
        {'"f:q": null': '"f:q": "56"', '"f:r": x': '"f:r": null'},
    ),
    "bytes": (
        """\
  - name: one
    given: [{body: {b64: "/w=="}, key: "${X:$}{a}"}]
    expect: {puts: [{row: "", cells: {"f:q": y}}]}
""",
        {"y}}]": '{b64: "/w=="}}}]', 'row: ""': 'row: "$${a}"'},
    ),
    "puts-that-come-and-go": (
        """\
  - name: more
    given: [{body: "1", key: a}, {body: "2", key: b}, {body: "3", key: c}]
    expect:
      puts:
        - {row: a}   # the first

  # between
  - name: fewer
    given: [{body: "1", key: a}]
    expect:
      puts:
        - {row: a}
        - row: b   # goes
          table: t
        # stays
        - {row: c}
      kept: 1
  - name: none
    given: [{body: drop}]
    expect:
      kept: 0
      puts:
        - {row: a}
        - {row: b}
  - {name: in brackets, given: [{body: "1", key: a}], expect: {puts: [{row: a}, {row: b}, {row: c}]}}
  - {name: from nothing, given: [{body: "1", key: a}], expect: {puts: [], events: [{body: "1"}]}}
""",
        {
            "{row: a}   # the first\n": '{row: a}   # the first\n        - {row: "b"}\n        - {row: "c"}\n',
            "        - row: b   # goes\n          table: t\n": "",
            "        - {row: c}\n": "",
            "        - {row: a}\n        - {row: b}\n  - {name: in": "         []\n  - {name: in",
            "[{row: a}, {row: b}, {row: c}]": "[{row: a}]",
            "puts: []": 'puts: [{table: "t", row: "a", cells: {"f:q": "1"}}]',
        },
    ),
    "dashes-under-their-key": (
        """\
  - name: one
    given: [{body: drop}]
    expect:
      puts:
      - row: a
      kept: 0
""",
        {"      - row: a\n": "       []\n"},
    ),
    "nothing-expected-yet": (
        """\
  - name: in lines
    given: [{body: "56", key: k1}, {body: drop}, {body: "1"}]
    expect: {}
  - {name: in brackets, given: [{body: "56", key: k1}], expect: {}}
""",
        {
            "    expect: {}\n": """\
    expect:
      kept: 1
      dropped: {unwanted: 1}
      failed: 1
      puts:
        - {table: "t", row: "k1", cells: {"f:q": "56"}}
""",
            "expect: {}}": 'expect: {kept: 1, puts: [{table: "t", row: "k1", cells: {"f:q": "56"}}]}}',
        },
    ),
}


@pytest.mark.parametrize(("tests", "replaced"), LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_only_differences_are_written(update, tests, replaced, newline):
    expected = tests
    for before, after in replaced.items():
        assert expected.count(before) == 1, before
        expected = expected.replace(before, after)
    assert update(tests, newline=newline) == expected.replace("\n", newline)


def test_without_a_newline_at_the_end_and_with_a_byte_order_mark(update):
    tests = (
        '  - name: one\n    given: [{body: "1", key: a}, {body: "2", key: b}]\n    expect:\n      puts:\n      - row: a'
    )
    assert update(tests, mark="\ufeff") == tests + '\n      - {row: "b"}'


def test_passing_tests_are_unchanged(ingest, pipeline):
    before = (pipeline / "pipeline.yaml").stat()
    result = ingest("test", "pipeline.yaml", "--update")
    assert (result.code, (pipeline / "pipeline.yaml").stat().st_ino) == (0, before.st_ino)
    assert "updated" not in result.out + result.err


SALTED = HEAD.replace("pipelines:", "tables: {t: {families: {f: {}}, distribute: {hash: 16}}}\npipelines:")
GIVEN = '{name: one, given: [{body: "56", key: row-0001}], expect: '
PUT = '{table: "t", key: "row-0001", cells: {"f:q": "56"}}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", f"{{kept: 1, puts: [{PUT}]}}"),
        ("{puts: []}", f"{{puts: [{PUT}]}}"),
        ("{puts: [{key: k}]}", "{puts: [{key: row-0001}]}"),
        ("{puts: [{row: k}]}", '{puts: [{row: "\\x0brow-0001"}]}'),
    ],
)
def test_logical_row_key_of_a_table_with_buckets_is_written(ingest, folder, before, after):
    (folder / "p.yaml").write_text(f"{SALTED}  - {GIVEN}{before}}}\n")
    result = ingest("test", "p.yaml", "--update")
    assert result.code == 0, result.err
    assert (folder / "p.yaml").read_text() == f"{SALTED}  - {GIVEN}{after}}}\n"


def test_keys_of_further_puts_are_named_as_those_before(update):
    text = """\
  - name: one
    given: [{body: "56", key: k1}, {body: "57", key: k2}]
    expect: {puts: [{key: k1}]}
"""
    assert update(text) == text.replace("{key: k1}]}", '{key: k1}, {key: "k2"}]}')


def test_changes_are_reported(update, ingest, folder):
    tests = '  - {name: one, given: [{body: "56", key: k1}], expect: {kept: 2, puts: [{row: old}, {row: x}]}}\n'
    (folder / "p.yaml").write_text(HEAD + tests)
    (folder / "p.yaml").chmod(0o640)
    (folder / "link.yaml").symlink_to("p.yaml")
    result = ingest("test", "link.yaml", "--update")
    assert result.out.splitlines() == [
        "updated one",
        '  puts[1]: {"row":"x"} -> nothing',
        "  kept: 2 -> 1",
        '  puts[0].row: "old" -> "k1"',
        "passed  one",
    ]
    assert "link.yaml: 1 test updated; review the change before you keep it" in result.err
    assert (folder / "p.yaml").stat().st_mode & 0o777 == 0o640
    assert (folder / "link.yaml").is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == ["link.yaml", "p.yaml"]


def test_changes_as_json(ingest, folder):
    (folder / "p.yaml").write_text(HEAD + '  - {name: one, given: [{body: "56", key: k1}], expect: {kept: 2}}\n')
    result = ingest("test", "p.yaml", "--update", "--output", "json")
    assert (result.code, result.json["passed"]) == (0, 1)
    assert result.json["updated"] == [
        {"name": "one", "changes": [{"path": ["kept"], "before": 2, "after": 1}], "left": []}
    ]


def test_stdin_is_refused(ingest, monkeypatch, folder):
    (folder / "p.yaml").write_text(HEAD)
    with (folder / "p.yaml").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        result = ingest("test", "-", "--update")
    assert (result.code, result.err.splitlines()[0]) == (2, "error[config]: tests of stdin cannot be updated")


def test_tests_of_an_included_file_are_changed_there(ingest, folder):
    (folder / "parts").mkdir()
    (folder / "p.yaml").write_text("include: parts/tests.yaml\n" + HEAD.replace("tests:\n", ""))
    (folder / "parts/tests.yaml").write_text(
        'tests:\n  - {name: one, given: [{body: "56", key: k1}], expect: {kept: 2}}  # here\n'
    )
    before = (folder / "p.yaml").read_text()
    result = ingest("test", "p.yaml", "--update")
    assert result.code == 0, result.err
    assert (folder / "p.yaml").read_text() == before
    assert "expect: {kept: 1}}  # here\n" in (folder / "parts/tests.yaml").read_text()


UNCHANGED = {
    "alias": (
        """\
  - {name: one, given: [{body: "56", key: k1}], expect: &e {kept: 2}}
  - {name: two, given: [{body: drop}], expect: *e}
""",
        "it is written with an anchor, an alias or a tag",
    ),
    "anchor-inside": (
        '  - {name: one, given: [{body: "56", key: k1}], expect: {puts: [{row: &r old}]}}\n',
        "it is written with an anchor, an alias or a tag",
    ),
    "variable": (
        '  - {name: one, given: [{body: "56", key: k1}], expect: {puts: [{row: "${ROW:x}"}]}}\n',
        "it is written with a variable",
    ),
}


@pytest.mark.parametrize(("tests", "reason"), UNCHANGED.values(), ids=UNCHANGED)
def test_alias_anchor_and_variable_are_unchanged(update, ingest, tests, reason):
    assert update(tests, code=1) == tests
    result = ingest("test", "p.yaml", "--update")
    assert (result.code, reason in result.out) == (1, True)


def test_no_secret_is_written(ingest, folder):
    (folder / "secrets").mkdir()
    (folder / "secrets/key").write_text("hunter2")
    text = HEAD.replace('value: "%{key}"', 'value: "${secret:key}"').replace(
        "stores:", "secrets: {directory: secrets}\nstores:"
    )
    text += '  - {name: one, given: [{body: "56"}], expect: {kept: 3, puts: [{row: x}]}}\n'
    text += '  - {name: two, given: [{body: "56"}], expect: {}}\n'
    (folder / "p.yaml").write_text(text)
    result = ingest("test", "p.yaml", "--update")
    after = (folder / "p.yaml").read_text()
    assert "a secret would be written into the file" in result.out
    assert "hunter2" not in after
    assert after == text.replace("kept: 3", "kept: 1")


def test_file_that_cannot_be_written_is_unchanged(ingest, folder, monkeypatch):
    (folder / "p.yaml").write_text(HEAD + '  - {name: one, given: [{body: "56", key: k1}], expect: {kept: 2}}\n')
    before = (folder / "p.yaml").read_bytes()
    (folder / f".p.yaml.{os.getpid()}.tmp").mkdir()  # blocks the path of the temporary file
    result = ingest("test", "p.yaml", "--update")
    assert (result.code, result.err.splitlines()[0]) == (3, 'error[not_found]: cannot write "p.yaml": Is a directory')
    assert (folder / "p.yaml").read_bytes() == before


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=20), inner, max_size=3)),
    max_leaves=8,
)


@given(VALUES)
def test_values_round_trip(value):
    node = compose(f"x: {flow(value, quoted)}\ny: 1\n", "file", [])
    assert plain(node) == {"x": value, "y": 1}


@given(VALUES)
def test_variables_are_escaped_in_all_texts(value):
    def texts(part):
        match part:
            case str():
                yield part
            case list() | dict():
                for each in part.values() if isinstance(part, dict) else part:
                    yield from texts(each)

    assert [text for text in texts(literal(value)) if "${" in text.replace("$${", "")] == []


def test_column_names_are_not_escaped(ingest, folder):
    decorator = "      - value: {attribute: "
    tests = '  - {name: one, given: [{body: "56", key: "k${X:1}"}], expect: {}}\n'
    head = HEAD.replace(f'{decorator}"2hb_f:q"', f'{decorator}"2hb_f:$${{q}}"')
    (folder / "p.yaml").write_text(head + tests)
    assert ingest("test", "p.yaml", "--update").code == 0
    assert '{table: "t", row: "k1", cells: {"f:${q}": "56"}}' in (folder / "p.yaml").read_text()
    assert ingest("test", "p.yaml").code == 0


def test_new_expectation_has_own_times_and_no_cells_of_deletes(ingest, folder):
    events = "[{body: x, key: k, timestamp_ms: 5}, {body: gone, key: k, timestamp_ms: 6}]"
    case = f"  - {{name: one, given: {events}, expect: {{}}}}\n"
    sinks = (
        "[{attr2hbase: {table: t, timestamp: event, rules: [{when: \"%{body} == 'gone'\", delete: row}]}}, "
        "{attr2hbase: {table: u}}]"
    )
    head = HEAD.replace("[{attr2hbase: {store: logs, table: t}}]", sinks)
    (folder / "p.yaml").write_text(head + case)
    assert ingest("test", "p.yaml", "--update").code == 0
    written = (folder / "p.yaml").read_text().removeprefix(head)
    assert plain(compose(f"t:\n{written}", "file", []))["t"][0]["expect"]["puts"] == [
        {"table": "t", "row": "k", "timestamp_ms": 5, "cells": {"f:q": "x"}},
        {"table": "u", "row": "k", "cells": {"f:q": "x"}},
        {"table": "t", "row": "k", "timestamp_ms": 6, "delete": "row"},
        {"table": "u", "row": "k", "cells": {"f:q": "gone"}},
    ]
