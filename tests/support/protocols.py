"""
Tests of HBase run with both of its protocols: Thrift, and native RPC.

A test that uses the server `hbase` has the fixture `protocol`, or the mark `one_protocol` with the reason why it lacks
it. A test with the fixture is skipped only if its store lacks a capability (`ingest.testing.tables.needs`).
"""

from collections.abc import Callable, Collection
from typing import TypeVar

import pytest

from ingest.testing.tables import MISSING_CAPABILITY

T = TypeVar("T")

BOTH = frozenset(["thrift", "rpc"])
SLOW_WITH_RPC = pytest.mark.parametrize(
    "protocol", ["thrift", pytest.param("rpc", marks=pytest.mark.slow)], scope="module"
)
"""For a test of minutes: `make test` runs it with Thrift, `make test-slow` with HBase's native RPC."""
SLOW_WITH_THRIFT = pytest.mark.parametrize(
    "protocol", ["rpc", pytest.param("thrift", marks=pytest.mark.slow)], scope="module"
)
"""The reverse."""


def thrift_only(reason: str) -> Callable[[T], T]:
    """Marks a test that runs with Thrift alone, for a reason."""
    marks = pytest.mark.one_protocol(reason), pytest.mark.parametrize("protocol", ["thrift"])
    return lambda test: marks[0](marks[1](test))


def problem_of(item: pytest.Item) -> str | None:
    """Why a test breaks the rule about its protocols; None if it does not."""
    fixtures: Collection[str] = getattr(item, "fixturenames", ())
    reason = item.get_closest_marker("one_protocol")
    name = item.nodeid.partition("[")[0]
    if reason is not None and not reason.args:
        return f"{name}: one_protocol needs a reason"
    if "hbase" not in fixtures or reason is not None:
        return None
    if "protocol" not in fixtures:
        return f"{name}: it uses HBase without the fixture `protocol`; add it, or one_protocol with a reason"
    if missing := BOTH - _values(item):
        return f"{name}: it does not run with {', '.join(missing)}; add the value, or one_protocol with a reason"
    return None


def problem_of_skip(item: pytest.Item, reason: str) -> str | None:
    """Why a test may not be skipped; None if it may."""
    if "protocol" not in getattr(item, "fixturenames", ()) or reason.startswith(MISSING_CAPABILITY):
        return None
    return f"a test of both protocols is skipped, and no capability of its store says so: {reason}"


def _values(item: pytest.Item) -> frozenset[str]:
    """The protocols of a test, whether they were selected or not."""
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].replace(",", " ").split() if isinstance(mark.args[0], str) else list(mark.args[0])
        if "protocol" in names:
            at = names.index("protocol")
            return frozenset(_parts(each)[at] for each in mark.args[1])
    return BOTH


def _parts(value: object) -> tuple[str, ...]:
    """The values of one parameter set."""
    found = getattr(value, "values", value)  # of `pytest.param`
    return found if isinstance(found, tuple) else (str(found),)
