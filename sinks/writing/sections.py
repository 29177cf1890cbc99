"""
Mutations of one table as plain data for msgpack.

A section is [table, durability, shapes, puts, deletes, time to live of the puts]. A shape is a list of columns. `puts`
is flat: for each put the number of its shape, row key, timestamp, and the values in the order of the shape's columns.
So the name of a column is stored once in a section and decoded to one bytes object, however many rows have it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ingest.api import Delete, Durability, Mutation, Put

SECTION_BYTES = 1 << 20
"""Approximate size of a section: large enough for a negligible overhead, small enough to buffer two."""

_Delete = tuple[bytes, int, bytes | None, bytes | None, bool]
"""Row key, timestamp, family, qualifier, and whether it is exact."""
Section = tuple[str, str, list[tuple[bytes, ...]], list[Any], list[_Delete], int | None]


def sections_of(table: str, mutations: Sequence[Mutation]) -> Iterator[tuple[Section, int]]:
    """
    Mutations as sections, in order, except that deletes are separated from puts: folded, they need no order.

    Yields:
        A section and its approximate size in bytes.
    """
    run: list[Mutation] = []
    for mutation in mutations:
        if run and (mutation.durability is not run[0].durability or mutation.ttl_ms != run[0].ttl_ms):
            yield from _of_one_kind(table, run)
            run = []
        run.append(mutation)
    if run:
        yield from _of_one_kind(table, run)


def mutations_of(section: Sequence[Any]) -> list[Mutation]:
    """The mutations of a section, deletes first."""
    _, word, shapes, flat, deletes, ttl_ms = section
    durability = Durability(word)
    mutations: list[Mutation] = [
        Delete(row, at_ms, family, qualifier, durability, exact) for row, at_ms, family, qualifier, exact in deletes
    ]
    at, end = 0, len(flat)
    while at < end:
        shape = shapes[flat[at]]
        first = at + 3
        after = first + len(shape)
        columns = dict(zip(shape, flat[first:after], strict=True))
        mutations.append(Put(flat[at + 1], columns, flat[at + 2], durability, ttl_ms=ttl_ms))
        at = after
    return mutations


def _of_one_kind(table: str, mutations: Sequence[Mutation]) -> Iterator[tuple[Section, int]]:
    word, ttl_ms = mutations[0].durability.value, mutations[0].ttl_ms
    shapes: dict[tuple[bytes, ...], int] = {}
    puts: list[Any] = []
    deletes: list[_Delete] = []
    size = 0
    for mutation in mutations:
        if isinstance(mutation, Put):
            columns = mutation.columns
            shape = tuple(columns)
            number = shapes.get(shape)
            if number is None:
                number = shapes[shape] = len(shapes)
            puts.append(number)
            puts.append(mutation.row)
            puts.append(mutation.timestamp_ms)
            values = columns.values()
            puts.extend(values)
            size += sum(map(len, values)) + len(mutation.row)
        else:
            deletes.append((mutation.row, mutation.timestamp_ms, mutation.family, mutation.qualifier, mutation.exact))
            size += len(mutation.row)
        if size >= SECTION_BYTES:
            yield (table, word, list(shapes), puts, deletes, ttl_ms), size
            shapes, puts, deletes, size = {}, [], [], 0
    if puts or deletes:
        yield (table, word, list(shapes), puts, deletes, ttl_ms), size
