from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.junit import junit_of


def write_failing(folder):
    """Write the pipeline with failing tests."""
    text = (folder / "pipeline.yaml").read_text()
    (folder / "p.yaml").write_text(
        text.replace('"colfam:value": "56"', '"colfam:value": "57"').replace("failed: 1", "failed: 2")
    )


def test_passing_tests_are_listed(ingest, pipeline):
    result = ingest("test", "pipeline.yaml")
    assert result.code == 0
    assert result.out == ("passed  one tick is one row\npassed  a comment is dropped, a malformed line fails\n")
    assert result.err == "2 tests passed\nnext: attr2hbase run --once\n"


def test_test_that_compares_nothing_is_marked(ingest, pipeline):
    text = (pipeline / "pipeline.yaml").read_text()
    (pipeline / "p.yaml").write_text(
        text.replace("expect: {kept: 0, dropped: {comment: 1}, failed: 1, puts: []}", "expect: {}")
    )
    result = ingest("test", "p.yaml")
    assert result.code == 0
    assert result.out == (
        "passed  one tick is one row\n"
        "passed  a comment is dropped, a malformed line fails  (`expect` is empty: nothing is compared)\n"
    )


def test_failing_test_shows_the_difference_and_its_location(ingest, pipeline):
    write_failing(pipeline)
    result = ingest("test", "p.yaml")
    assert result.code == 1
    assert 'puts[0].cells.colfam:value: expected "57", got "56"' in result.out
    line = next(
        number for number, text in enumerate((pipeline / "p.yaml").read_text().splitlines(), 1) if '"57"' in text
    )
    assert f"  p.yaml:{line}:" in result.out
    assert "failed: expected 2, got 1" in result.out
    assert "  input 1: regex: no_match: " in result.out
    assert result.err.startswith("2 of 2 tests failed\n")


def test_event_dropped_by_on_error_counts_as_dropped(ingest, pipeline):
    text = (pipeline / "pipeline.yaml").read_text()
    (pipeline / "p.yaml").write_text(
        text.replace("  - regex:\n", "  - regex:\n          on_error: drop\n")
        .replace("failed: 1", "failed: 0")
        .replace("comment: 1", "comment: 1, on_error: 1")
    )
    assert ingest("test", "p.yaml").code == 0


def test_results_as_json(ingest, pipeline):
    write_failing(pipeline)
    result = ingest("test", "p.yaml", "--output", "json")
    assert (result.code, result.json["passed"], result.json["failed"]) == (1, 0, 2)
    assert result.json["tests"][0]["differences"][0]["path"] == ["puts", 0, "cells", "colfam:value"]


def test_junit_report_lists_all_tests(ingest, pipeline):
    write_failing(pipeline)
    assert ingest("test", "p.yaml", "--junit", "report.xml").code == 1
    suite = ET.parse("report.xml").getroot()[0]  # noqa: S314 - ours
    assert suite.attrib == {"name": "p.yaml", "tests": "2", "failures": "2", "errors": "0", "skipped": "0"}
    assert [case.attrib["classname"] for case in suite] == ["ticks", "ticks"]
    assert 'expected "57", got "56"' in suite[0][0].text


def test_file_without_tests(ingest, pipeline):
    text = (pipeline / "pipeline.yaml").read_text()
    (pipeline / "p.yaml").write_text(text[: text.index("tests:")])
    result = ingest("test", "p.yaml")
    assert result.code == 0
    assert '"p.yaml" has no tests' in result.err


@given(st.lists(st.tuples(st.text(), st.text(), st.lists(st.text(), max_size=2))))
def test_junit_accepts_any_text(results):
    root = ET.fromstring(junit_of("p.yaml", results))  # noqa: S314 - ours
    assert root.attrib["tests"] == str(len(results))
    assert root.attrib["failures"] == str(sum(bool(lines) for _, _, lines in results))
