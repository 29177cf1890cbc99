"""Mutations with the row keys that a table stores."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ingest.api import Mutation, Put


def with_physical_keys(mutations: Sequence[Mutation], physical: Callable[[bytes], bytes]) -> list[Mutation]:
    """Copies of mutations whose row keys are the physical ones, as `RowFormat.physical_key` makes them."""
    return [
        # by position, because `replace` takes five times as long, and most mutations are puts
        Put(physical(one.row), one.columns, one.timestamp_ms, one.durability, one.size_bytes, one.ttl_ms)
        if isinstance(one, Put)
        else replace(one, row=physical(one.row))
        for one in mutations
    ]
