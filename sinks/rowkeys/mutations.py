"""Mutations of a salted table."""

from collections.abc import Sequence
from dataclasses import replace

from ingest.api import Mutation, Put
from sinks.rowkeys.distribution import Distribution


def with_stored_keys(mutations: Sequence[Mutation], distribution: Distribution) -> list[Mutation]:
    """Copies of mutations whose row keys are the stored ones."""
    stored = distribution.stored
    return [
        # by position, because `replace` takes five times as long, and most mutations are puts
        Put(stored(one.row), one.columns, one.timestamp_ms, one.durability, one.size_bytes)
        if isinstance(one, Put)
        else replace(one, row=stored(one.row))
        for one in mutations
    ]
