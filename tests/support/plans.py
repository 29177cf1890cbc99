"""Plans and their components."""

from typing import Any

from ingest.api import Decoding, OnError, Record
from ingest.config.model import Component
from ingest.plan.plan import Plan
from sinks.mapping.attr2hbase import Attr2HBase
from sinks.memory import MemorySettings
from tests.support.parts import planned


def decorator(component: type, *, on_error: OnError = OnError.DEAD_LETTER, **options: object) -> Component[Any]:
    """A decorator of a plan, with options."""
    settings = component.settings_class().model_validate(options)
    return planned(component.kind, f"{component.__module__}:{component.__name__}", settings, on_error)


def sink(name: str = "attr2hbase", *, on_error: OnError = OnError.DEAD_LETTER, **options: object) -> Component[Any]:
    """A sink of a plan that writes to table t of store logs."""
    settings = Attr2HBase.settings_class().model_validate({"store": "logs", "table": "t"} | options)
    return planned(name, "sinks.mapping.attr2hbase:Attr2HBase", settings, on_error)


def plan(*sinks: Component[Any], decorators: tuple[Component[Any], ...] = (), **changed: object) -> Plan:
    """A plan with a memory store; `changed` are fields of `Plan`."""
    settings = {
        "pipeline": "p",
        "fingerprint": "f",
        "timezone": "UTC",
        "on_error": OnError.DEAD_LETTER,
        "decoding": Decoding(),
        "decorators": decorators,
        "sinks": sinks or (sink(),),
        "stores": {"logs": planned("logs", "sinks.memory:MemoryStore", MemorySettings())},
    }
    return Plan(**(settings | changed))


def record(key: str, value: str | None, offset: int = 0) -> Record:
    """A record of topic ticks, partition 0."""
    return Record("ticks", 0, offset, key.encode(), None if value is None else value.encode(), 1_000)
