"""
Sink groups of Flume 1 that are a failover: which of their sinks got events.

Source: FailoverSinkProcessor and FlumeConfiguration of Flume 1.11: the sink of the highest priority runs until it
fails. A priority that is missing, or no number, is -1, -2 and so on; of two sinks with one priority the second never
runs; a sink is in one group. What comes first there is decided by hash tables of Java.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ingest.flume.ng.properties import Options

_FAILOVER = "failover"
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_INT = range(-(2**31), 2**31)
_SMALLEST_TABLE = 16


@dataclass(frozen=True, slots=True)
class Failover:
    """
    One of them.

    Attributes:
        ranked: its sinks, the one that goes first in front.
        never: sinks that never ran -> the one whose priority they have.
    """

    name: str
    ranked: Sequence[str]
    never: dict[str, str]


def failovers(agent: Options, options_of: Callable[[str], Options]) -> list[Failover]:
    """
    The failovers among the sink groups of an agent.

    Args:
        agent: its own options.
        options_of: the options of a group.
    """
    found = []
    free = set(agent.words("sinks"))
    for name in _as_java_goes(agent.words("sinkgroups")):
        options = options_of(name)
        sinks = [sink for sink in _as_java_goes(options.words("sinks")) if sink in free]
        free -= set(sinks)
        kind = options.text("processor.type").rpartition(".")[2].lower().removesuffix("sinkprocessor")
        if sinks and kind == _FAILOVER:
            found.append(_failover(name, sinks, options))
    return found


def _failover(name: str, sinks: Sequence[str], group: Options) -> Failover:
    by_priority: dict[int, str] = {}
    never = {}
    missing = 0
    for sink in sinks:
        text = group.text(f"processor.priority.{sink}")
        if _NUMBER.fullmatch(text) and int(text) in _INT:
            priority = int(text)
        else:
            priority = missing = missing - 1
        first = by_priority.setdefault(priority, sink)
        if first != sink:
            never[sink] = first
    return Failover(name, [by_priority[priority] for priority in sorted(by_priority, reverse=True)], never)


def _as_java_goes(names: Iterable[str]) -> list[str]:
    """
    Names in the order in which a hash table of Java gives them; exact for up to eleven.

    Source: the documentation of String.hashCode, and HashMap of Java 8: a table of a power of two, at most three
    quarters full.
    """
    own = list(dict.fromkeys(names))
    size = _SMALLEST_TABLE
    while len(own) > size * 3 // 4:
        size *= 2

    def place(name: str) -> int:
        code = 0
        units = name.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            code = (31 * code + 256 * high + low) % 2**32
        return (code ^ code >> 16) % size

    return sorted(own, key=place)
