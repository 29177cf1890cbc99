"""A test of HBase that runs with one protocol only is refused, unless it gives a reason."""

from collections.abc import Sequence

import pytest

from tests.support.protocols import SLOW_WITH_RPC, problem_of, problem_of_skip

parametrize = pytest.mark.parametrize
THRIFT_ALONE = parametrize("protocol", ["thrift"])
PAIRS = parametrize(
    ("protocol", "fault"), [("thrift", "killed"), pytest.param("rpc", "killed", marks=pytest.mark.slow)]
)
REASON = pytest.mark.one_protocol("a Thrift server is frozen")


class Item:
    """A test with fixtures and marks."""

    nodeid = "test_it"

    def __init__(self, fixturenames: Sequence[str], *marks: pytest.MarkDecorator) -> None:
        self.fixturenames = fixturenames
        self._marks = [each.mark for each in marks]

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [mark for mark in self._marks if mark.name == name]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next(iter(self.iter_markers(name)), None)


@parametrize(
    ("fixtures", "marks", "problem"),
    [
        ("", [], None),
        ("kafka", [THRIFT_ALONE], None),
        ("hbase protocol", [], None),
        ("hbase protocol", [SLOW_WITH_RPC], None),
        ("hbase protocol", [parametrize("rows", [1, 2]), PAIRS], None),
        ("hbase protocol", [parametrize("fault, protocol", [("killed", "thrift"), ("killed", "rpc")])], None),
        ("hbase", [], "without the fixture `protocol`"),
        ("hbase", [REASON], None),
        ("hbase protocol", [THRIFT_ALONE], "does not run with rpc"),
        ("hbase protocol", [THRIFT_ALONE, REASON], None),
        ("hbase", [pytest.mark.one_protocol], "needs a reason"),
    ],
)
def test_test_of_hbase_runs_with_both_protocols(
    fixtures: str, marks: list[pytest.MarkDecorator], problem: str | None
) -> None:
    found = problem_of(Item(fixtures.split(), *marks))
    assert found is None if problem is None else problem in (found or "")


def test_test_of_both_protocols_is_skipped_by_a_capability_alone() -> None:
    both = Item(["hbase", "protocol"])
    assert problem_of_skip(both, "capability: creates_families is False") is None
    assert "no capability" in (problem_of_skip(both, "not today") or "")
    assert problem_of_skip(Item(["kafka"]), "not today") is None
