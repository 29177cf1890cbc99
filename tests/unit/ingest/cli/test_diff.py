"""`attr2hbase diff`: two versions of a pipeline, run over the same events."""

import json
from io import BytesIO, TextIOWrapper

import pytest

FILE = """
version: 1
stores: {logs: {memory: {}}}
tables: {t: {families: {f: {}}, columns: {"f:n": int64}}}
pipelines:
  p:
    source: {files: {path: ./in}}
    decorators:
      - filter: {drop: "%%{body} matches '^#'", reason: comment}
      - regex: {label: parse, pattern: '%s', attributes: ["2hb_", "2hb_f:q"], on_no_match: error}
%s    sinks: [{attr2hbase: {table: t}}]
"""
EVENTS = ["# no", "a 1", "b 2", "c 30"]


@pytest.fixture
def write(folder):
    """Write both files, each with a pattern and more decorators, and the events."""

    def written(old, new, more_old=(), more_new=(), bodies=EVENTS):
        for name, pattern, more in (("old", old, more_old), ("new", new, more_new)):
            decorators = "".join(f"      - {each}\n" for each in more)
            (folder / f"{name}.yaml").write_text(FILE % (pattern, decorators))
        (folder / "e.jsonl").write_text("".join(json.dumps({"body": body}) + "\n" for body in bodies))
        (folder / "e.log").write_text("".join(f"{body}\n" for body in bodies))

    return written


def test_text_shows_outcomes_transitions_and_rows(ingest, write):
    write(r"^(\w) (\d+)$", r"^(\w) (\d)$")
    result = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert result.code == 1
    assert result.out.splitlines() == [
        "p 4 events, with differences",
        "  compared: the events of a file",
        r"  ~ decorators: regex (parse): pattern = ^(\w) (\d+)$ -> ^(\w) (\d)$",
        " outcome   component   reason     old   new   change",
        " ───────────────────────────────────────────────────",
        " kept                               3     2       -1",
        " dropped   filter      comment      1     1",
        " failed    parse       no_match     0     1       +1",
        "",
        "1 event: kept -> failed in parse: no_match",
        "  event 3: the pattern does not match",
        "",
        "logs/t rows: 1 removed; cells: 1 removed",
        "  - c (event 3)",
        "      f:q = 30",
    ]
    assert result.err == "1 pipeline with differences: p\nnext: attr2hbase explain -f new.yaml\n"


def test_text_shows_cells_of_changed_rows(ingest, write):
    set_value = "value: {attribute: '2hb_f:%s', value: %s}"
    more_old = [set_value % ("x", "before"), set_value % ("y", "gone")]
    write(r"^(\w) (\d+)$", r"^(\w) (\d+)$", more_old, [set_value % ("x", "after"), set_value % ("z", "new")], ["a 1"])
    result = ingest("diff", "old.yaml", "new.yaml", "--lines", "e.log")
    assert result.out.splitlines()[-4:] == [
        "  ~ a (event 0)",
        "      ~ f:x = before -> after",
        "      - f:y = gone",
        "      + f:z = new",
    ]


def test_long_values_are_cut_around_their_first_difference(ingest, write):
    long = "x" * 200
    values = [f"value: {{attribute: '2hb_f:x', value: {long}{end}}}" for end in ("a", "b" * 200)]
    write(r"^(\w) (\d+)$", r"^(\w) (\d+)$", values[:1], values[1:], ["a 1"])
    result = ingest("diff", "old.yaml", "new.yaml", "--lines", "e.log")
    last = result.out.splitlines()[-1]
    assert last == f"      ~ f:x = …{'x' * 12}a -> …{'x' * 12}{'b' * 43}…"


def test_json_has_all_rows_and_text_a_limited_number(ingest, write):
    write(r"^(\w+) (\d+)$", r"^(\w+) (\d)\d$", bodies=[f"k{number:02} {number}" for number in range(10, 40)])
    arguments = ("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    (table,) = ingest(*arguments, "--output", "json").json["tables"]
    assert (table["rows"]["changed"], len(table["changed_rows"])) == (30, 30)
    assert "  and 20 rows more: --limit N shows more" in ingest(*arguments).out.splitlines()
    (limited,) = ingest(*arguments, "--output", "json", "--limit", 2).json["tables"]
    assert (limited["rows"]["changed"], len(limited["changed_rows"])) == (30, 2)


def test_values_have_the_types_of_their_columns_unless_raw(ingest, write):
    convert = "convert: {attributes: ['2hb_f:n'], encode: int64}"
    more = [[f"value: {{attribute: '2hb_f:n', value: '{number}'}}", convert] for number in (5, 6)]
    write(r"^(\w) (\d+)$", r"^(\w) (\d+)$", *more, bodies=["a 1"])
    arguments = ("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert ingest(*arguments).out.splitlines()[-1] == "      ~ f:n = 5 -> 6"
    assert (
        ingest(*arguments, "--raw").out.splitlines()[-1].endswith("\\x05 -> \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x06")
    )


JSON = "json: {on_invalid: error, when: \"%{body} matches '9'\"}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # an inserted decorator of the same kind numbers the others
        ([JSON], ['json: {prefix: "x.", on_invalid: keep}', JSON]),
        (['json: {prefix: "x.", on_invalid: keep}', JSON], [JSON]),
        # a label is given to it
        ([JSON], [JSON.replace("{", "{label: reader, ", 1)]),
        # the same label, with other options
        ([JSON.replace("{", "{label: reader, ", 1)], [JSON.replace("{", "{label: reader, separator: _, ", 1)]),
    ],
    ids=["inserted", "removed", "labelled", "same-label"],
)
def test_other_names_of_the_same_components_are_no_difference(ingest, write, old, new):
    write(r"^(\w) (\d)$", r"^(\w) (\d)$", old, new, bodies=["a 1", "a 9"])
    result = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (result.code, "failed" in result.out) == (0, False), result.out


def test_component_that_another_one_replaces_has_another_name(ingest, write):
    write(r"^(\w) (\d)$", r"^(\w) (\d)$", ["json: {on_null: empty}", JSON], [JSON, 'json: {prefix: "x."}'], ["a 1"])
    result = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert "1 event: failed in json#3 (old): bad_json -> failed in json#4: bad_json" in result.out


def test_equal_results_end_with_0(ingest, write):
    write(r"^(\w) (\d+)$", r"^(\w) ([0-9]+)$")
    result = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (result.code, result.out.splitlines()[0], result.err) == (
        0,
        "p 4 events, no differences",
        "no differences in 4 events\n",
    )


def test_pipeline_without_a_change_is_not_run(ingest, write):
    write("^(.) (.)$", "^(.) (.)$")
    result = ingest("diff", "old.yaml", "new.yaml")
    assert (result.code, result.out, result.err) == (0, "", "no pipeline has changed\n")


def test_pipelines_of_one_file_alone_differ(ingest, folder, write):
    write("^(.) (.)$", "^(.) (.)$")
    (folder / "new.yaml").write_text((folder / "old.yaml").read_text().replace("  p:", "  q:"))
    result = ingest("diff", "old.yaml", "new.yaml", "--output", "json")
    assert (result.code, result.lines) == (
        1,
        [{"pipeline": "q", "change": "added"}, {"pipeline": "p", "change": "removed"}],
    )
    assert ingest("diff", "old.yaml", "new.yaml", "--pipeline", "q").out.startswith("q added")
    assert ingest("diff", "old.yaml", "new.yaml", "--pipeline", "r").code == 3


def test_changed_options_have_their_paths_and_values(ingest, folder, write):
    long = "x" * 60
    more_old = ["value: {attribute: a, value: b}", f"value: {{label: long, attribute: c, value: {long}old}}"]
    more_new = [f"value: {{label: long, attribute: c, value: {long}new}}", "drop: {label: new}"]
    more_new[1] = "filter: {label: new, drop: 'exists(no)'}"
    write("^(.) (.)$", "^(.) (.)$", more_old, more_new)
    new = folder / "new.yaml"
    new.write_text(
        new.read_text()
        .replace('"f:n": int64', '"f:n": int32')  # of showing alone
        .replace("{f: {}}", "{f: {versions: 2}}")
        .replace("    source:", "    max_rate: 5\n    source:")
    )
    result = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert result.out.splitlines()[2:7] == [
        "  + tables: t: families: f: versions = 2",
        "  - decorators: value = {attribute: a, value: b}",
        f"  ~ decorators: value (long): value = …{'x' * 12}old -> …{'x' * 12}new",
        "  + decorators: filter (new) = {label: new, drop: exists(no)}",
        "  + max_rate = 5",
    ]
    options = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl", "--output", "json").json["options"]
    assert options[0] == {"path": ["tables", "t", "families", "f", "versions"], "new": 2}
    assert options[2]["path"] == ["decorators", "value (long)", "value"]
    assert (options[2]["old"], options[2]["new"]) == (f"{long}old", f"{long}new")
    assert options[-1] == {"path": ["max_rate"], "new": 5}


def test_long_values_of_an_option_have_lines_of_their_own(ingest, write):
    values = [[f"value: {{attribute: a, value: {letter * 45}}}"] for letter in "on"]
    write("^(.) (.)$", "^(.) (.)$", *values)
    lines = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl").out.splitlines()
    assert lines[2:5] == ["  ~ decorators: value: value", f"      - {'o' * 45}", f"      + {'n' * 45}"]
    assert max(map(len, lines)) <= 80


def test_options_beyond_the_tenth_are_counted(ingest, write):
    many = [f"value: {{label: v{number}, attribute: a, value: b}}" for number in range(13)]
    write("^(.) (.)$", "^(.) (.)$", [], many)
    out = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl").out
    assert "  and 3 options more: --output json has all\n" in out


def test_secret_whose_value_alone_differs_is_said(ingest, write, monkeypatch):
    monkeypatch.setenv("OLD", "s3cret-one")
    monkeypatch.setenv("NEW", "s3cret-two")
    write("^(.) (.)$", "^(.) (.)$", *([f"hmac: {{secret: '${{{name}}}', attribute: h}}"] for name in ("OLD", "NEW")))
    out = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl").out
    assert "  no option differs, but something else that the pipeline uses, such as the value of a secret\n" in out


@pytest.mark.parametrize(
    ("options", "has_tests", "text"),
    [
        (("--events", "e.jsonl"), True, "the events of a file"),
        (("--lines", "e.log"), True, "the lines of a file"),
        ((), True, "the events of its tests"),
        ((), False, "the first lines of the files of its source"),
    ],
)
def test_events_that_are_compared_are_named(ingest, folder, write, options, has_tests, text):
    write("^(.) (.)$", "^(.) (..)$")
    (folder / "in").mkdir()
    (folder / "in" / "a.log").write_text("a 1\n")
    if has_tests:
        with (folder / "new.yaml").open("a") as file:
            file.write("tests: [{name: n, given: [{body: a 1}], expect: {kept: 0, failed: 1}}]\n")
    assert f"  compared: {text}\n" in ingest("diff", "old.yaml", "new.yaml", *options).out
    assert ingest("diff", "old.yaml", "new.yaml", *options, "--output", "json").json["events_of"] == text


def test_nothing_to_compare_is_an_error(ingest, folder, write):
    write("^(.) (.)$", "^(.) (..)$", bodies=[])
    refused = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (refused.code, refused.out) == (3, "")
    assert 'there are no events to compare the versions of pipeline "p" with' in refused.err


def test_error_of_either_file_has_its_place(ingest, folder, write):
    write("^(.) (.)$", "^(.")
    refused = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (refused.code, "new.yaml:10:" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("diff", "-", "-"),
        ("diff", "-", "new.yaml", "--events", "-"),
        ("diff", "old.yaml", "-", "--lines", "-"),
        ("explain", "-", "--events", "-"),
    ],
)
def test_stdin_for_two_things_is_refused(ingest, arguments):
    refused = ingest(*arguments)
    assert (refused.code, "give all but one of them as a file" in refused.err) == (2, True)


@pytest.mark.parametrize("option", ["--events", "--lines"])
def test_two_pipelines_have_the_same_events_of_stdin(ingest, folder, monkeypatch, write, option):
    write(r"^(\w) (\d+)$", r"^(\w) (\d)$")
    for file in (folder / "old.yaml", folder / "new.yaml"):
        head, pipeline = file.read_text().split("  p:\n")
        file.write_text(f"{head}  p:\n{pipeline}  q:\n{pipeline}")
    content = (folder / ("e.jsonl" if option == "--events" else "e.log")).read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))
    found = ingest("diff", "old.yaml", "new.yaml", option, "-", "--output", "json").lines
    assert [(each["pipeline"], each["events"]) for each in found] == [("p", 4), ("q", 4)]


def test_error_of_a_comparison_has_another_exit_code_than_a_difference(ingest, folder, monkeypatch, write):
    write(r"^(\w) (\d+)$", r"^(\w) (\d)$")
    monkeypatch.syspath_prepend(str(folder))
    (folder / "unstarted.py").write_text(
        "from decorators.template import Value\n"
        "class Unstarted(Value):\n"
        "    kind = 'unstarted'\n"
        "    def split_start(self):\n"
        "        raise KeyError('x')\n"
    )
    new = folder / "new.yaml"
    new.write_text(
        new.read_text()
        .replace("version: 1\n", "version: 1\nplugins: [unstarted]\n")
        .replace("    decorators:\n", "    decorators:\n      - unstarted: {attribute: a, value: b}\n")
    )
    failed = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (failed.code, "KeyError: 'x'" in failed.err) == (6, True)


def test_a_source_without_topics_has_no_newest_records(ingest, write):
    write("^(.) (.)$", "^(.) (..)$")
    refused = ingest("diff", "old.yaml", "new.yaml", "--topic", 5, "--at", "2026-01-31")
    assert (refused.code, "is files, which has no topics" in refused.err) == (2, True)


def test_secrets_of_both_files_are_masked(ingest, write, monkeypatch):
    monkeypatch.setenv("OLD", "s3cret-one")
    monkeypatch.setenv("NEW", "s3cret-two")
    more = [
        [f"hmac: {{secret: '${{{name}}}', attribute: h}}", f"value: {{attribute: '2hb_f:x', value: {value}}}"]
        for name, value in (("OLD", "s3cret-one"), ("NEW", "s3cret-two"))
    ]
    write(r"^(\w) (\d+)$", r"^(\w) (\d+)$", *more, bodies=["a 1"])
    for output in ("text", "json"):
        shown = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl", "--output", output)
        assert (shown.code, "***" in shown.out, "s3cret" in shown.out) == (1, True, False)


@pytest.mark.parametrize("before", range(44, 58))
def test_secret_at_the_place_where_a_value_is_cut_is_masked(ingest, write, monkeypatch, before):
    monkeypatch.setenv("NEW", "s3cret-two")
    more = [[], ["hmac: {secret: '${NEW}', attribute: h}"]]
    more[1].append(f"value: {{attribute: '2hb_f:x', value: {'x' * before}s3cret-two}}")
    write(r"^(\w) (\d+)$", r"^(\w) (\d+)$", *more, bodies=["a 1"])
    shown = ingest("diff", "old.yaml", "new.yaml", "--events", "e.jsonl")
    assert (shown.code, "s3c" in shown.out) == (1, False)
