"""The tables of a blob store in an open store."""

from collections.abc import Callable
from typing import Any

from ingest.api import Store
from ingest.clock import now_ms
from sinks.blobs.blocks import Blocks
from sinks.blobs.references import References
from sinks.blobs.status import StatusCells, new_nonce
from sinks.blobs.tables import BlobTables


class OpenTables:
    """
    The tables of a blob store, for one thread.

    Args:
        store: open.
        tables: their names.
        clock_ms: milliseconds since the epoch.
        nonce: returns a text that no other call returns.

    Attributes:
        statuses: of the blobs.
        blocks: of the blobs.
        references: to the blobs.
    """

    def __init__(
        self,
        store: Store[Any],
        tables: BlobTables,
        *,
        clock_ms: Callable[[], int] = now_ms,
        nonce: Callable[[], str] = new_nonce,
    ) -> None:
        self.statuses = StatusCells(store, tables.meta, clock_ms=clock_ms, nonce=nonce)
        self.blocks = Blocks(store, tables.value)
        self.references = References(store, tables.refs, self.statuses)
