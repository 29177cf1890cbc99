"""
Failover sink groups of Flume 1: which of their sinks received events.

Source: FailoverSinkProcessor and FlumeConfiguration of Flume 1.11: the sink with the highest priority runs until it
fails. Priorities that are missing or invalid are -1, -2 and so on; of two sinks with the same priority the second never
runs; a sink belongs to one group. Flume processes sinks and groups in the order of a Java hash table; here it is the
order of the file.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingest.flume.ng.properties import Options

_FAILOVER = "failover"
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")
_INT = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class Failover:
    """
    A failover sink group.

    Attributes:
        ranked: its sinks, from the highest priority.
        never: sinks that never ran -> the sink with the same priority.
        tied: sinks that may have had the highest priority in Flume, if there are several; the first is used here.
    """

    name: str
    ranked: Sequence[str]
    never: dict[str, str]
    tied: Sequence[str] = ()


def failovers(agent: Options, options_of: Callable[[str], Options]) -> list[Failover]:
    """
    The failover groups of an agent.

    Args:
        agent: options of the agent.
        options_of: returns the options of a group.
    """
    found = []
    free = set(agent.words("sinks"))
    for name in dict.fromkeys(agent.words("sinkgroups")):
        options = options_of(name)
        sinks = [sink for sink in dict.fromkeys(options.words("sinks")) if sink in free]
        free -= set(sinks)
        kind = options.text("processor.type").rpartition(".")[2].lower().removesuffix("sinkprocessor")
        if sinks and kind == _FAILOVER:
            found.append(_failover(name, sinks, options))
    return found


def _failover(name: str, sinks: Sequence[str], group: Options) -> Failover:
    by_priority: dict[int, list[str]] = {}
    unranked: list[str] = []
    for sink in sinks:
        text = group.text(f"processor.priority.{sink}")
        if _NUMBER.fullmatch(text) and int(text) in _INT:
            priority = int(text)
        else:
            unranked.append(sink)
            priority = -len(unranked)
        by_priority.setdefault(priority, []).append(sink)
    ranked = [by_priority[priority] for priority in sorted(by_priority, reverse=True)]
    never = {sink: first for first, *others in ranked for sink in others}
    first = ranked[0]
    tied = list(dict.fromkeys([*first, *unranked])) if set(first) & set(unranked) else first
    return Failover(name, [same[0] for same in ranked], never, tied if len(tied) > 1 else ())
