"""What the driver says to the connections of the tasks about the tables of a store."""

from collections.abc import Callable, Collection

from ingest.api.driver_feature import DriverFeature, PreparedFeatures
from ingest.api.table_feature import StorePlan, planned_of
from ingest.catalog import table_features


class TableMessages(DriverFeature):
    """
    What the features of the tables of one store say to the connections of the tasks.

    Args:
        tables: what is planned of those of the store.
        is_behind: as in `TableFeature.message`.
        is_replay: the same.
        empty: tables that had no rows when the replay began: for their features it is no replay.
        begun_ms: micro-batches up to this time were begun before this start.
    """

    def __init__(
        self,
        tables: StorePlan,
        is_behind: Callable[[], bool],
        *,
        is_replay: bool = False,
        empty: Collection[str] = (),
        begun_ms: int = -1,
    ) -> None:
        self._tables = tables
        self._is_behind = is_behind
        self._is_replay = is_replay
        self._empty = empty
        self._begun_ms = begun_ms

    def prepare(self, store: str, batch_time_ms: int) -> PreparedFeatures:  # noqa: ARG002 - of one store
        """The messages of an attempt; the times of micro-batches rise."""
        is_behind, is_again = self._is_behind(), batch_time_ms <= self._begun_ms
        self._begun_ms = max(self._begun_ms, batch_time_ms)
        messages: dict[str, dict[str, bytes]] = {}
        for feature in table_features():
            for table, planned in planned_of(self._tables, feature.name).items():
                is_replay = self._is_replay and table not in self._empty
                message = feature.message(planned, is_behind=is_behind, is_replay=is_replay, is_again=is_again)
                if message is not None:
                    messages.setdefault(table, {})[feature.name] = message
        return PreparedFeatures(messages)
