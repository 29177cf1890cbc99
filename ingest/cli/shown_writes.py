"""The text of what sinks write for an event, for `explain` and `tap`."""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.api.notation import from_notation, readable

Parts = tuple[tuple[str, str], ...]
"""A line in pieces of text and style."""


def put_lines(put: Mapping[str, Any]) -> Iterator[Parts]:
    """The lines of a put or a delete, as `ingest.formats.event_json.shown_mutation` returns it."""
    stored = f", stored as {text_of(put['row'])}" if "key" in put else ""
    row = f"row {text_of(put.get('key', put['row']))}"
    ttl = f", ttl {put['ttl_ms']:,} ms" if "ttl_ms" in put else ""
    yield (f"  {put['sink']}: {put['store']}/{put['table']} ", "cyan"), (row, "bold"), (stored + ttl, "dim")
    if "delete" in put:
        yield ((f"    delete {text_of(put['delete'])}", "yellow"),)
    for family, qualifier, value in put["cells"]:
        yield (f"    {text_of(family)}:{text_of(qualifier)} = ", "dim"), (text_of(value), "")


def write_lines(write: Mapping[str, Any]) -> Iterator[Parts]:
    """The lines of what a sink without a store writes: where, and the columns of the row."""
    where = " ".join(text_of(value) for name, value in write.items() if name != "sink" and not _is_row(value))
    yield (f"  {write['sink']}: ", "cyan"), (where, "bold")
    for name, value in ((name, value) for row in write.values() if _is_row(row) for name, value in row.items()):
        yield (f"    {name} = ", "dim"), ("null" if value is None else text_of(value), "")


def text_of(notation: object) -> str:
    """The text of a value in the notation of JSON lines, or of what is deleted."""
    match notation:
        case {"family": name}:
            return f"family {text_of(name)}"
        case {"column": name}:
            return f"column {text_of(name)}"
        case str() | {"b64": _}:
            return readable(from_notation(notation))
        case bool():
            return "true" if notation else "false"
        case _:
            return str(notation)


def _is_row(value: object) -> bool:
    """Whether it has names of columns, and is no bytes."""
    return isinstance(value, dict) and value.keys() != {"b64"}
