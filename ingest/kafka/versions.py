"""
The version of a broker, from the levels of its feature `metadata.version`.

A broker of KRaft supports the levels up to that of its own version, and the cluster has agreed on one of them. Its
requests do not show the version exactly: 4.4 has the same ones as 4.3.

Source: MetadataVersion of kafka-server-common, 3.9.2 to 4.4.0.
"""

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

FEATURE = "metadata.version"
_FIRST_LEVELS = (
    (1, (3, 0)),
    (2, (3, 1)),
    (3, (3, 2)),
    (4, (3, 3)),
    (8, (3, 4)),
    (9, (3, 5)),
    (12, (3, 6)),
    (15, (3, 7)),
    (20, (3, 8)),
    (21, (3, 9)),
    (22, (4, 0)),
    (26, (4, 1)),
    (28, (4, 2)),
    (30, (4, 3)),
    (31, (4, 4)),
    (34, (4, 5)),
)
"""The first level of each version."""


class BrokerVersion(NamedTuple):
    """
    The version of a broker.

    Attributes:
        number: such as (4, 4).
        agreed: version whose features the cluster uses, if that is an older one; else None.
    """

    number: tuple[int, ...]
    agreed: tuple[int, ...] | None = None


def broker_version(by_protocol: tuple[int, ...], levels: Mapping[str, object]) -> BrokerVersion:
    """
    The version of a broker.

    Args:
        by_protocol: the newest version whose requests it supports.
        levels: of its feature `metadata.version`: `supported` and `finalized`, each the lowest and the highest level.
            Without KRaft there are none.
    """
    supported, finalized = (_version_of(levels.get(name)) for name in ("supported", "finalized"))
    if supported is None:
        return BrokerVersion(by_protocol)
    return BrokerVersion(supported, finalized if finalized is not None and finalized < supported else None)


def _version_of(levels: object) -> tuple[int, int] | None:
    """The version of the highest level; of one that is not known here, the newest known version."""
    if not isinstance(levels, tuple):
        return None
    found = bisect_right(_FIRST_LEVELS, levels[1], key=lambda each: each[0])
    return _FIRST_LEVELS[found - 1][1] if found else None
