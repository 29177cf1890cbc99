"""What the pipelines and jobs of a service share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.observe.activity import Activity
from ingest.observe.health import Health
from ingest.observe.metrics import Metrics
from ingest.observe.taps import Taps
from ingest.service.kafka.retention import RetentionWatches
from ingest.service.observer import Totals
from ingest.service.stores import SharedStores
from ingest.service.tables import OwnerOptions


@dataclass(frozen=True, slots=True)
class Shared:
    """
    What the pipelines and jobs of a service share.

    Attributes:
        once: whether pipelines read the existing records and end; a start then fails if anything is unavailable.
        owner: options for their tables with deferred updates.
        follow: called with the totals of a pipeline after each durable batch.
        taps: what readers of running pipelines want to see.
        totals: pipeline -> its durable batches since the service started, also of pipelines that a reload has removed.
    """

    configuration: Configuration
    catalog: Catalog
    metrics: Metrics
    health: Health
    activity: Activity
    stores: SharedStores
    retention: RetentionWatches
    once: bool
    follow: Callable[[str, Totals], None]
    owner: OwnerOptions = field(default_factory=OwnerOptions)
    totals: dict[str, Totals] = field(default_factory=dict)
    taps: Taps = field(default_factory=Taps)
