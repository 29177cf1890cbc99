"""The version of a broker from the levels of `metadata.version`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.kafka.versions import BrokerVersion, broker_version


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        # those that real brokers report: 3.9.2, 4.1.0 and 4.4.0
        ({"supported": (1, 21), "finalized": (21, 21)}, BrokerVersion((3, 9))),
        ({"supported": (7, 27), "finalized": (27, 27)}, BrokerVersion((4, 1))),
        ({"supported": (7, 33), "finalized": (33, 33)}, BrokerVersion((4, 4))),
        # after an upgrade of the brokers
        ({"supported": (7, 33), "finalized": (27, 27)}, BrokerVersion((4, 4), (4, 1))),
        # levels of one version are no upgrade
        ({"supported": (7, 33), "finalized": (31, 31)}, BrokerVersion((4, 4))),
        # of a version that is not known here
        ({"supported": (7, 90), "finalized": (33, 33)}, BrokerVersion((4, 5), (4, 4))),
        # ZooKeeper, or the cluster has not agreed yet
        ({}, BrokerVersion((3, 2))),
        ({"supported": (0, 0)}, BrokerVersion((3, 2))),
        ({"supported": (7, 30)}, BrokerVersion((4, 3))),
    ],
)
def test_version_of_levels(levels: dict[str, object], expected: BrokerVersion) -> None:
    assert broker_version((3, 2), levels) == expected


@given(st.integers(1, 60), st.integers(1, 60))
def test_higher_level_is_no_older_version(one: int, other: int) -> None:
    low, high = (broker_version((0,), {"supported": (1, level)}).number for level in sorted((one, other)))
    assert low <= high
