import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.support.ledger import report
from tests.support.ledger.report import Row

ROW = Row(
    "F05 reset", "hbase", 7, ["12 resets", "a|b"], 100, 90, 4, 6, 8, 0, 0, 9.5, at="2026-01-02T03:04:05", commit="c1"
)
BUG = replace(ROW, fault="mutant x", mutant="does | wrong", wrong=["conservation: 3 lost", "conservation: 4"], lost=3)
PAGE = """# Title
<!-- faults: begin -->
old
<!-- faults: end -->
between
<!-- mutants: begin -->
<!-- mutants: end -->
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(report.VARIABLE, str(tmp_path / "faults"))
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return page


def write_results(*rows: Row) -> None:
    report.folder().mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        (report.folder() / f"{number}.jsonl").write_text(json.dumps(asdict(row)) + "\n")


def test_tables_are_written_to_the_page(page: Path) -> None:
    write_results(ROW, replace(ROW, seed=8, sent=50), BUG)
    report.render(page)
    text = page.read_text()
    assert "old" not in text
    assert "2 runs, 150 events, 0 lost that were not predicted" in text
    assert "| F05 reset | 12 resets; a\\|b | hbase | 150 | 180 | 8 | 12 | 16 | 0 | 0 | 7, 8 | `c1` |" in text
    assert "| does \\| wrong | hbase | 3 | 0 | conservation |" in text
    assert text.startswith("# Title\n")
    assert "between" in text
    report.render(page)
    assert page.read_text() == text


def test_report_uses_the_newest_row_of_a_fault(page: Path) -> None:
    failed_before = replace(ROW, wrong=["x"], at="2026-01-01", commit="c0")
    of_older_commit = replace(ROW, fault="F01", commit="c0")
    write_results(replace(ROW, at="2026-01-02T04:00:00", sent=11), ROW, failed_before, of_older_commit)
    assert [row.sent for row in report.rows()] == [100, 11]
    report.render(page)
    assert "0 lost that were not predicted to be; the last run on 2026-01-02." in page.read_text()


def test_fault_that_did_not_run_again_keeps_its_line(page: Path) -> None:
    other = replace(ROW, fault="F01 kill | x", lost=5, predicted=4)
    write_results(ROW, replace(ROW, seed=8), other)
    report.render(page)
    (kept,) = (line for line in page.read_text().splitlines() if line.startswith("| F01"))
    write_results(*[replace(ROW, seed=9, sent=50, commit="c2", at="2026-01-03")] * 3)
    report.render(page)
    text = page.read_text()
    assert kept in text.splitlines()
    assert "2 runs, 150 events, 1 lost that were not predicted to be; the last run on 2026-01-03." in text
    assert [line[:8] for line in text.splitlines() if "`c" in line] == ["| F01 ki", "| F05 re"]


@pytest.mark.parametrize("row", [replace(ROW, wrong=["lost: 1"]), replace(BUG, wrong=[])], ids=["broken", "not caught"])
def test_failed_result_is_refused(page: Path, row: Row) -> None:
    write_results(row)
    with pytest.raises(SystemExit, match="failed in their last run"):
        report.render(page)
    assert page.read_text() == PAGE


def test_report_without_results_is_refused(page: Path) -> None:
    with pytest.raises(SystemExit, match="no rows"):
        report.render(page)


def test_page_without_markers_is_refused(page: Path) -> None:
    page.write_text("# Title\n")
    write_results(ROW)
    with pytest.raises(SystemExit, match="no markers"):
        report.render(page)


def test_predicted_loss_is_shown_with_its_prediction() -> None:
    assert "5 (predicted 5)" in report.fault_table([replace(ROW, lost=5, predicted=5)])
    assert "0 lost that were not predicted" in report.fault_table([replace(ROW, lost=5, predicted=5)])


def test_table_for_the_terminal() -> None:
    lines = report.text_table([ROW, BUG, replace(ROW, wrong=["metrics: 1"], redelivered=None)])
    assert lines[0].startswith("fault")
    assert [line.split()[-1] for line in lines[1:]] == ["ok", "caught", "FAILED"]
    assert "broken: metrics" in lines[3]
    assert len({line.index("hbase") for line in lines[1:]}) == 1


def test_rows_have_time_and_commit(page: Path) -> None:
    before = len(report.written())
    report.write(replace(ROW, at="", commit=""))
    (row,) = report.rows()
    assert row.at
    assert row.commit
    assert len(report.written()) == before + 1
    report._written.pop()
