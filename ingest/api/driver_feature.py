"""The half on the driver of a table feature: what a pipeline does for its tables beside what its tasks write."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ingest.api.cells import TableSpec
from ingest.api.store import Store
from ingest.api.table_writer import FeatureMessages

StartAfter = Callable[[int], int]
"""Makes new micro-batches later than a time, and than the present one; returns a time that they are later than."""


class PreparedFeatures(NamedTuple):
    """
    What the driver says to the writers of one attempt.

    Attributes:
        messages: to the writers.
        times_ms: that the driver has chosen for rows, besides the batch time.
    """

    messages: FeatureMessages = MappingProxyType({})
    times_ms: tuple[int, ...] = ()


class DriverTables(NamedTuple):
    """
    Tables of one pipeline, as the driver has them.

    Attributes:
        pipeline: its name.
        stores: name -> `sinks.writing.driver_store.DriverStore`.
        owned: name of a store -> declarations of the tables that the pipeline owns, with this or another feature.
        others: name of a store -> tables that the pipeline writes without this feature.
        plain: name of a store -> declarations of those among them that no pipeline owns.
        owning: names of all features whose tables have an owner.
    """

    pipeline: str
    stores: Mapping[str, Any]
    owned: Mapping[str, Sequence[TableSpec]]
    others: Mapping[str, Collection[str]]
    plain: Mapping[str, Sequence[TableSpec]]
    owning: frozenset[str]


class Released(NamedTuple):
    """
    What users read about a table whose feature has ended.

    Attributes:
        table: its name.
        message: for the log.
    """

    table: str
    message: str


class DriverFeature:
    """
    The half on the driver of a feature, for the tables of one pipeline; by default it does nothing.

    Called by one thread. Order: `check_others`, `release_others` and `claim` at each start of the pipeline, then the
    other methods. All raise StoreError if a store is unavailable.
    """

    def check_others(self) -> None:
        """
        Check, before any table is changed, that the pipeline may write its tables without the feature.

        Raises:
            ConflictError: another pipeline owns one.
        """

    def release_others(self) -> list[Released]:
        """End the feature of tables that are declared without it; returns the messages for users."""
        return []

    def claim(self) -> None:
        """
        Prepare the tables, which the pipeline owns now.

        Raises:
            SchemaError: the store cannot have a table of the feature.
        """

    def withdraw(self, store: Store[Any], spec: TableSpec, first_ms: int, last_ms: int) -> None:
        """
        Delete what micro-batches have written in a table whose events are counted again, at later times.

        Args:
            store: of the table, open for writing.
            spec: its declaration, with the feature.
            first_ms: the first batch time.
            last_ms: the last batch time.

        Raises:
            ConflictError: it cannot be told from what other micro-batches have written.
        """

    def withdraw_after(self, store: Store[Any], spec: TableSpec, committed_ms: int, start_after: StartAfter) -> None:
        """
        The same for all that follow the committed position of a table, which stays.

        Args:
            store: of the table, open for writing.
            spec: its declaration, with the feature.
            committed_ms: time of the committed position; -1 without one.
            start_after: called with the newest batch time of what is found, before any is deleted: what is written at
                this time again would be hidden. 0 if nothing is found.
        """

    def runs_again(self, first_ms: Mapping[str, int], last_ms: int) -> None:
        """
        Note that the records of micro-batches run again in later ones, since what they wrote is withdrawn.

        Args:
            first_ms: table -> the first of their times.
            last_ms: the last of their times.
        """

    def may_run_again(self, until_ms: int) -> None:
        """Note that records of micro-batches up to a time may run again, and may be counted again."""

    def roll_forward(self, store: Store[Any], spec: TableSpec, committed_ms: int, keep_ms: int | None) -> int | None:
        """
        Complete a table after its committed position, from what the feature has of incomplete micro-batches.

        Args:
            store: of the table, open for writing.
            spec: its declaration, with the feature; its events need not be counted again.
            committed_ms: time of the committed position.
            keep_ms: as in `sinks.owning.owned_tables.OwnedTables.roll_forward`.

        Returns:
            The newest batch time that the table has completely now; None if it was complete.
        """

    def newest_edge_ms(self) -> int:
        """A time that new micro-batches are above; 0 for none."""
        return 0

    def begun(self, time_ms: int) -> None:
        """Note that the micro-batch of a time has run before, at least in part."""

    def replay_at(self, time_ms: int | None) -> None:
        """
        Give what the feature writes of the following micro-batches a time of its own.

        Args:
            time_ms: above the committed positions; None for the batch times.
        """

    def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:  # noqa: ARG002 - for features with messages
        """
        Prepare an attempt at a micro-batch for the tables of one store; the same in every attempt.

        Raises:
            IngestError: RETRY if the store is unavailable, STOP if a feature cannot be used.
        """
        return PreparedFeatures()


class StoreFeatures:
    """
    The half on the driver of the features of one store's tables.

    Args:
        store: its name.
        features: of the pipeline.
    """

    def __init__(self, store: str = "", features: Sequence[DriverFeature] = ()) -> None:
        self._store = store
        self._features = features

    def beside(self, feature: DriverFeature) -> "StoreFeatures":
        """These features and another one."""
        return StoreFeatures(self._store, (*self._features, feature))

    def prepare(self, batch_time_ms: int) -> PreparedFeatures:
        """As `DriverFeature.prepare`, of all features."""
        found = [feature.prepare(self._store, batch_time_ms) for feature in self._features]
        messages: dict[str, dict[str, bytes]] = {}
        for each in found:
            for table, by_feature in each.messages.items():
                messages.setdefault(table, {}).update(by_feature)
        return PreparedFeatures(messages, tuple({time_ms for each in found for time_ms in each.times_ms}))
