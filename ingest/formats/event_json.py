"""Events, records and mutations as plain data for JSON, as `explain` reads and prints them."""

import json

import orjson

from ingest.api import Delete, Durability, Event, Put, Record, split_column
from ingest.api.notation import name_to_bytes, to_notation

Line = dict[str, object]
"""One line of JSON, as plain data."""

_LEAST, _MOST = -(2**63), 2**63 - 1  # integers that the JSON library can write


def shown_event(event: Event) -> Line:
    """The parts of an event that decorators may change."""
    return {
        "body": to_notation(event.body),
        "attributes": {_shown_name(name): to_notation(value) for name, value in event.attributes.items()},
        "host": to_notation(name_to_bytes(event.host)),
        "priority": event.priority.value,
        "timestamp_ms": _number(event.timestamp_ms),
        "nanos": _number(event.nanos),
    }


def changed_by(before: Event, after: Event) -> Line:
    """What a decorator changed; a removed attribute is null."""
    fields = ("body", "host", "priority", "timestamp_ms", "nanos")
    new = shown_event(after)
    changed: Line = {name: new[name] for name in fields if getattr(after, name) != getattr(before, name)}
    attributes: dict[str, object] = {}
    for name, value in after.attributes.items():
        if before.attributes.get(name) != value:
            attributes[_shown_name(name)] = to_notation(value)
    for name in before.attributes:
        if name not in after.attributes:
            attributes[_shown_name(name)] = None
    if attributes:
        changed["attributes"] = attributes
    return changed


def given_event(event: Event) -> Line:
    """An event as `explain --events` and `given` of a test read it; a tombstone becomes an event with an empty body."""
    topic, partition, offset, _ = event.origin
    host = event.host.encode("utf-8", "backslashreplace").decode()
    place: Line = {"key": to_notation(event.key), "topic": topic, "partition": partition, "offset": offset}
    return {**shown_event(event), "host": host, **place}


def given_record(record: Record) -> Line:
    """A record as `explain --events` and `given` of a test read it."""
    return {
        "record": {
            "value": None if record.value is None else to_notation(record.value),
            "key": None if record.key is None else to_notation(record.key),
            "headers": [
                [to_notation(name_to_bytes(name)), None if value is None else to_notation(value)]
                for name, value in record.headers
            ],
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp_ms": record.timestamp_ms,
        }
    }


def shown_mutation(sink: str, store: str, table: str, mutation: Put | Delete, physical: bytes) -> Line:
    """
    A put with its cells in order, or a delete with what it deletes and no cells.

    `row` is the physical row key; `key` is the logical one, if it differs. Of a table with deferred updates, `row` is
    the logical one.
    """
    logical: Line = {} if physical == mutation.row else {"key": to_notation(mutation.row)}
    line: Line = {
        "sink": sink,
        "store": store,
        "table": table,
        "row": to_notation(physical),
        **logical,
        "wal": mutation.durability is not Durability.SKIP,
        "durability": mutation.durability.value,
        "timestamp_ms": mutation.timestamp_ms,
    }
    if mutation.ttl_ms is not None:
        line["ttl_ms"] = mutation.ttl_ms
    if isinstance(mutation, Put):
        split = sorted((*split_column(column), value) for column, value in mutation.columns.items())
        line["cells"] = [[to_notation(part or b"") for part in cell] for cell in split]
        return line
    line["cells"] = []
    if mutation.family is None:
        line["delete"] = "row"
    elif mutation.qualifier is None:
        line["delete"] = {"family": to_notation(mutation.family)}
    else:
        line["delete"] = {"column": to_notation(mutation.family + b":" + mutation.qualifier)}
    return line


def _shown_name(name: str) -> str:
    return key_of(name_to_bytes(name))


def key_of(name: bytes) -> str:
    """A name as the key of a JSON object, which is text; a name that is not UTF-8 becomes the JSON of its notation."""
    notation = to_notation(name)
    return notation if isinstance(notation, str) else json.dumps(notation, separators=(",", ":"))


def _number(number: int) -> object:
    """A number for JSON; nanos of a distant time have more than 64 bits, which the library cannot write."""
    return number if _LEAST <= number <= _MOST else orjson.Fragment(str(number))
