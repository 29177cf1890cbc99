"""Watches how far the consumer groups of the feeds of a service have come, and how much of the retention is left."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ingest.api import Store
from ingest.config.model import Configuration
from ingest.observe.metrics import Metrics
from ingest.plan.open_feeds import leases_of
from ingest.service.jobs.table_watch import Measures, TableWatch
from ingest.service.shared import Shared
from sinks.feed.client import FeedClient
from sinks.feed.errors import FeedDisabledError
from sinks.feed.feature import Feed
from sinks.feed.lag import lags_of
from sinks.feed.metrics import METRICS, GroupLag

CHECK_S = 15.0
"""Between two checks: the usual interval of scrapes."""


class FeedWatch(TableWatch[tuple[str, str], GroupLag]):
    """
    Sets the metrics of consumer groups, for the feeds in stores that the driver has open.

    Args:
        present: as in `TableWatch`.
        metrics: of the service.
    """

    def __init__(self, present: Callable[[], Shared | None], metrics: Metrics) -> None:
        failure = "the consumer groups of a feed cannot be read"
        super().__init__("feeds", CHECK_S, present, _measures, partial(metrics.replace, METRICS), failure=failure)


def _measures(shared: Shared) -> Measures[tuple[str, str], GroupLag]:
    tables = shared.configuration.tables.items()
    return {name: partial(_lags, shared, name) for name, table in tables if Feed.options_of(table) is not None}


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
    except FeedDisabledError:  # the pipeline has not started yet
        return {}
    found = {}
    for group in leases.groups():
        lags = lags_of(state, leases, group)
        if lags:
            behind_ms = max(lag.behind_ms for lag in lags)
            used = 1.0 - min(lag.margin for lag in lags)
            found[table, group] = GroupLag(
                behind_ms / 1000, used, sum(lag.gaps for lag in lags), sum(lag.is_lost for lag in lags)
            )
    return found
