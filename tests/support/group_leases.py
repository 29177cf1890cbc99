"""Where the leases of consumer groups are kept."""

from pathlib import Path
from typing import Any

from ingest.api import Store
from ingest.durable.property_register import PropertyRegisters, calls_of
from ingest.durable.register import StateRegisters
from sinks.feed.leases import GroupLeases


def property_leases(store: Store[Any], feed_table: str) -> GroupLeases:
    """Leases in properties of a feed table."""
    return GroupLeases(PropertyRegisters(calls_of(store), feed_table))


def file_leases(folder: Path) -> GroupLeases:
    """Leases in files."""
    return GroupLeases(StateRegisters(folder))
