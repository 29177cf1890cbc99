"""The table of server versions in docs/operations/versions.md."""

from dataclasses import replace

import pytest

from ingest.doctor.versions import MATRIX, numbers_of
from tests.support import server_versions
from tests.support.local import versions
from tests.support.marked_tables import table_of
from tests.support.server_versions import PAIRS, PARTS, Row, counted, report, rows, run, table

ROWS = [
    Row(kafka, hbase, hbase, dict.fromkeys(PARTS, 7), (), "2026-11-29T01:02:03+00:00", "abc") for kafka, hbase in PAIRS
]
RESULTS = """<?xml version="1.0"?><testsuites><testsuite>
<testcase classname="tests.integration.test_hbase_store.TestHBase" name="test_a[rpc]"/>
<testcase classname="tests.integration.test_hbase_store.TestHBase" name="test_b[rpc]"><skipped/></testcase>
<testcase classname="tests.integration.test_hbase_errors.TestLimits" name="test_c"/>
<testcase classname="tests.integration.test_server_versions" name="test_d"/>
<testcase classname="tests.fault.test_region_moved" name="test_e"/>
<testcase classname="tests.fault.test_hbase_stopped" name="test_f"><failure/></testcase>
<testcase classname="tests.fault.test_kafka_broker" name="test_g"><error/></testcase>
</testsuite></testsuites>
"""


def test_tests_are_counted_by_their_part(tmp_path) -> None:
    (tmp_path / "r.xml").write_text(RESULTS)
    passed, failed = counted(tmp_path / "r.xml")
    assert passed == dict.fromkeys(PARTS, 1)
    assert failed == ("tests.fault.test_hbase_stopped::test_f", "tests.fault.test_kafka_broker::test_g")


def test_run_without_results_is_a_failure(tmp_path) -> None:
    assert counted(tmp_path / "none.xml") == ({}, ("pytest wrote no results",))


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(server_versions, "rows", lambda: ROWS)
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- versions: begin -->\nold\n<!-- versions: end -->\nafter\n")
    return path


def test_table_has_a_line_for_each_pair(page) -> None:
    report(page)
    text = page.read_text()
    assert text.startswith("before\n<!-- versions: begin -->\n| HBase | Kafka | ")
    assert text.endswith("\n<!-- versions: end -->\nafter\n")
    assert text.count(" | 7 | 7 | 7 | 7 | 2026-11-29, `abc` |\n") == len(PAIRS)


def test_other_version_of_the_thrift_server_is_named() -> None:
    assert "| 2.6.4 (Thrift server 2.6.1) | 4.4.0 |" in table([replace(ROWS[5], thrift="2.6.1")])


def test_failed_pair_is_refused(page, monkeypatch) -> None:
    monkeypatch.setattr(server_versions, "rows", lambda: [*ROWS[1:], replace(ROWS[0], failed=("test_x",))])
    with pytest.raises(SystemExit, match=r"failed in their last run: Kafka .*, HBase .*: test_x"):
        report(page)


def test_pair_that_did_not_run_again_keeps_its_line(page, monkeypatch) -> None:
    monkeypatch.setattr(server_versions, "rows", lambda: ROWS[:1])
    report(page)
    first = page.read_text()
    assert first.count(" | 7 | 7 | 7 | 7 | 2026-11-29, `abc` |\n") == 1
    assert first.count(" |  |  |  |  | not yet |\n") == len(PAIRS) - 1
    monkeypatch.setattr(server_versions, "rows", lambda: [replace(ROWS[1], commit="def")])
    report(page)
    assert page.read_text().count("`abc` |\n") == page.read_text().count("`def` |\n") == 1
    assert page.read_text().count("not yet") == len(PAIRS) - 2


def test_newest_result_of_a_pair_counts(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv(server_versions.VARIABLE, str(tmp_path))
    monkeypatch.setattr(server_versions, "_thrift", lambda hbase: hbase)
    monkeypatch.setattr(server_versions, "commit_of_product", lambda: "abc")
    monkeypatch.setattr(server_versions.subprocess, "run", lambda *_arguments, **_options: None)
    for results in ("", RESULTS):
        monkeypatch.setattr(server_versions, "counted", lambda _file, results=results: ({}, (results,)))
        run(*PAIRS[0])
    (row,) = rows()
    assert (row.kafka, row.hbase, row.failed) == (*PAIRS[0], [RESULTS])


def test_page_has_every_pair_and_the_matrix_their_versions() -> None:
    lines = table_of(server_versions.PAGE.read_text("utf-8"), server_versions.TABLE).splitlines()
    cells = [line.removeprefix("| ").split(" | ") for line in lines if line[2:3].isdigit()]
    shown = [(hbase.split()[0], kafka) for hbase, kafka, *_ in cells]
    assert shown == [(hbase, kafka) for kafka, hbase in PAIRS]
    for product, index in (("kafka", 0), ("hbase", 1)):
        run_here = {numbers_of(pair[index])[:2] for pair in PAIRS}
        assert run_here | {numbers_of(versions.default(product))[:2]} == set(MATRIX[product].tested)
