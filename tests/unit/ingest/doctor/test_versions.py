"""The support matrix."""

import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from ingest.doctor.versions import MATRIX, dotted, numbers_of, rated, support_table
from tests.support.local import versions

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize(
    ("product", "found", "expected"),
    [
        ("python", (3, 10, 12), "error"),
        ("python", (3, 11, 0), None),
        ("python", (3, 13, 2), None),
        ("python", (3, 14, 0), "info"),
        ("java", (8,), "error"),
        ("java", (17, 0, 15), None),
        ("java", (21, 0, 1), "info"),
        ("spark", (4, 1, 0), "error"),
        ("spark", (4, 2, 0), None),
        ("spark", (4, 3, 0), "info"),
        ("kafka", (2, 7), "warning"),
        ("kafka", (2, 8), None),
        ("kafka", (4, 1), None),
        ("kafka", (4, 4), None),
        ("kafka", (4, 5), "info"),
        ("hbase", (1, 7, 2), "error"),
        ("hbase", (2, 6, 1), None),
        ("hbase", (3, 0, 0), None),
        ("hbase", (3, 1, 0), "info"),
    ],
)
def test_severity_of_a_version(product, found, expected):
    severities = [finding.severity.value for finding in rated("check", product, found).findings]
    assert severities == ([] if expected is None else [expected])


def test_finding_names_both_versions():
    (finding,) = rated("java", "java", (8, 0, 1), subject="this machine", docs="d.md#java").findings
    assert finding.message == "Java 8.0.1 is older than 17"
    assert finding.numbers == {"version": "8.0.1", "oldest": "17", "newest": "17"}
    assert (finding.subject, finding.why, finding.docs) == (
        "this machine",
        "Spark 4 does not start with it",
        "d.md#java",
    )


@pytest.mark.parametrize(
    ("text", "expected"), [("4.2.0", (4, 2, 0)), ("3.0.0-beta-1", (3, 0, 0)), ("4.2.0.dev1", (4, 2, 0)), ("x", ())]
)
def test_numbers_of_a_version(text, expected):
    assert numbers_of(text) == expected


def test_matrix_agrees_with_what_the_project_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={dotted(MATRIX['python'].oldest)}"
    classifiers = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    assert classifiers[-1] == dotted(MATRIX["python"].newest)
    assert numbers_of(version("pyspark"))[:2] == MATRIX["spark"].newest
    for product in ("kafka", "hbase"):
        assert numbers_of(versions.default(product))[:2] in MATRIX[product].tested
    assert f"Java {dotted(MATRIX['java'].oldest)}" in (ROOT / "README.md").read_text()
    for support in MATRIX.values():
        assert support.oldest <= min(support.tested)
        assert max(support.tested) <= support.newest
    assert MATRIX["python"].oldest <= sys.version_info[:2] <= MATRIX["python"].newest


def test_page_of_versions_shows_the_matrix():
    section = (ROOT / "docs" / "operations" / "versions.md").read_text("utf-8").partition("\n## Support matrix\n\n")[2]
    assert section.partition("\n\n")[0] == support_table()
