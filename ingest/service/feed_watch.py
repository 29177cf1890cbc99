"""Watches how far the consumer groups of the feeds of a service have come, and how much of the retention is left."""

from collections.abc import Iterator
from typing import Any

from ingest.api import IngestError, Store
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.observe.metrics import Metrics
from ingest.observe.results import GroupLag
from ingest.plan.open_feeds import leases_of
from ingest.service.duties import Duties
from ingest.service.periodic import Periodic
from ingest.service.pipeline import Shared
from sinks.feed.client import FeedClient
from sinks.feed.errors import StreamDisabledError
from sinks.feed.lag import lags_of

CHECK_S = 15.0
"""Between two checks: the usual interval of scrapes."""
JOIN_S = 1.0  # a store that does not answer must not delay the end of the service
_log = logger(__name__)


class FeedWatch(Periodic):
    """
    Sets the metrics of consumer groups, in a thread of its own, for the feeds in stores that the driver has open.

    It follows the configuration of the service through reloads. Runs in a block.

    Args:
        duties: of the service; has its present configuration.
        metrics: of the service.
    """

    def __init__(self, duties: Duties, metrics: Metrics) -> None:
        super().__init__("feeds", CHECK_S, self.check, join_s=JOIN_S)
        self._duties = duties
        self._metrics = metrics
        self._failed: set[str] = set()

    def check(self) -> None:
        """Set the metrics once; a store that does not answer leaves its groups out."""
        shared = self._duties.shared
        found: dict[tuple[str, str], GroupLag] = {}
        for table in () if shared is None else _tables(shared.configuration):
            try:
                found |= _lags(shared, table) if shared is not None else {}
            except IngestError as error:
                if table not in self._failed:
                    _log.warning("the consumer groups of a feed cannot be read", table=table, reason=str(error))
                self._failed.add(table)
            else:
                self._failed.discard(table)
        self._metrics.feed_groups(found)


def _tables(configuration: Configuration) -> Iterator[str]:
    return (name for name, table in configuration.tables.items() if table.options.feed is not None)


def _lags(shared: Shared, table: str) -> dict[tuple[str, str], GroupLag]:
    name = shared.configuration.tables[table].store
    store = shared.stores.in_use().get(name)
    if store is None:
        return {}
    with store.held() as opened:
        return _lags_in(shared.configuration, name, table, opened)


def _lags_in(configuration: Configuration, name: str, table: str, store: Store[Any]) -> dict[tuple[str, str], GroupLag]:
    leases = leases_of(configuration, name, table, store)
    try:
        state = FeedClient(store, table).state()
    except StreamDisabledError:  # the pipeline has not started yet
        return {}
    found = {}
    for group in leases.groups():
        lags = lags_of(state, leases, group)
        if lags:
            behind_ms = max(lag.behind_ms for lag in lags)
            used = 1.0 - min(lag.margin for lag in lags)
            found[table, group] = GroupLag(behind_ms / 1000, used, sum(lag.gaps for lag in lags))
    return found
