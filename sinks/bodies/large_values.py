"""Large values of the tables of a pipeline, each stored in the body store of its table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.api import NoTableError, NotFoundError, Store
from ingest.clock import now_ms
from sinks.bodies.body_store import BodyStore
from sinks.bodies.options import BodyOptions
from sinks.bodies.writing import StoredBody


@dataclass(frozen=True, slots=True)
class LargeValues:
    """
    Which values of a table are moved, and where to.

    Attributes:
        name: of the body store.
        options: of the body store.
        threshold: larger values are moved, in bytes.
    """

    name: str
    options: BodyOptions
    threshold: int


class DeadLetterPlace(NamedTuple):
    """
    Where a pipeline keeps large values of records that fail (`sinks.bodies.dead_letters`).

    Attributes:
        store: name of the store.
        table: name of the table that has the body store.
        values: which values, and the body store.
    """

    store: str
    table: str
    values: LargeValues


class LargeValueBodies:
    """
    Stores large values; each body store is prepared before its first value.

    Args:
        store: open for writing at each call.
        tables: name of a table -> where its values are moved to.
        clock_ms: milliseconds since the epoch.
    """

    def __init__(
        self, store: Store[Any], tables: Mapping[str, LargeValues], *, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        self._store = store
        self._tables = tables
        self._clock_ms = clock_ms
        self._prepared: dict[str, BodyStore] = {}

    def check(self) -> None:
        """
        Compare the options and the owners of the body stores with those that are recorded; writes nothing.

        Raises:
            BodiesDifferError: bodies were stored with other options.
            BodiesOfOtherTableError: a body store belongs to another table.
            BodiesElsewhereError: a table has another body store.
            StoreError: the store is unavailable.
        """
        for table in self._tables:
            self._of(table).check()

    def put(self, table: str, value: bytes, reference: bytes | None = None) -> StoredBody:
        """
        Store a value of a table; may be repeated.

        Args:
            table: name of the table.
            value: of a cell or a record.
            reference: of the cell or of the dead letter; None if the body is marked later.

        Raises:
            NoTableError: a table of the body store does not exist; the pipeline is blocked until it does, as by its own
                table.
            BodiesDifferError: bodies were stored with other options.
            BodiesOfOtherTableError: the body store belongs to another table.
            BodiesElsewhereError: the table has another body store.
            StoreError: the store is unavailable.
        """
        try:
            bodies = self._prepared.get(table)
            if bodies is None:
                bodies = self._of(table)
                bodies.prepare()
                self._prepared[table] = bodies
            return bodies.put_bytes(value) if reference is None else bodies.put_value(value, reference)
        except NotFoundError as error:
            self.clear()
            raise NoTableError(error.message) from error

    def clear(self) -> None:
        """Prepare the body stores again, as after the store was closed."""
        self._prepared.clear()

    def _of(self, table: str) -> BodyStore:
        values = self._tables[table]
        return BodyStore(self._store, values.name, values.options, owner=table, clock_ms=self._clock_ms)
