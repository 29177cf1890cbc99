"""Tables with a change feed, in a plan."""

from ingest.api import FeedSpec
from ingest.api.feeds import FEED
from ingest.plan.features import of_feature
from ingest.plan.plan import Plan
from ingest.plan.updates import UPDATES


def feeds_in(plan: Plan) -> dict[str, dict[str, FeedSpec]]:
    """Store -> table -> its feed, for the tables that the sinks of a plan name."""
    return of_feature(plan.features, FEED)


def sinks_of_feeds(plan: Plan) -> frozenset[str]:
    """Names of the sinks that write tables with a change feed and without deferred updates."""
    return plan.sinks_of(FEED) - plan.sinks_of(UPDATES)
