"""Connections to the stores, sources, sinks and dead-letter topics of a configuration, for `validate --connect`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ingest.api import IngestError, NotFoundError, Source, Store, StoreSettings, TableSpec
from ingest.cli.output import counted
from ingest.config.model import declared_in
from ingest.config.options import DeadLetterTopic
from ingest.plan.assemble import plan_of, sink_checks

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Component, Configuration
    from ingest.dead_letters.kafka import Loss

CONNECT_TIMEOUT_S = 10.0  # shorter than that of a service: a user waits


@dataclass(frozen=True, slots=True)
class Check:
    """
    The result of connecting to one store, source, sink or dead-letter topic.

    Attributes:
        location: of the component in the file.
        what: the component, for messages.
        found: what it contains, if there is no error.
        loss: warning that the topic's settings will delete dead letters.
    """

    location: str
    what: str
    found: str = ""
    error: IngestError | None = None
    loss: "Loss | None" = None


def checks(configuration: "Configuration", catalog: "Catalog") -> Iterator[Check]:
    """Connect to every store, source, sink without a store, and dead-letter topic, one after the other."""
    for name, store in configuration.stores.items():
        yield _check(store, f'store "{name}"', partial(_connect_store, configuration, catalog, name, store))
    for name, pipeline in configuration.pipelines.items():
        yield _check(
            pipeline.source, f'source of pipeline "{name}"', partial(_connect_source, catalog, pipeline.source)
        )
        for sink, check in sink_checks(plan_of(configuration, pipeline, catalog)):
            yield _check(sink, f'sink "{sink.name}" of pipeline "{name}"', check)
        if isinstance(topic := pipeline.dead_letters.settings, DeadLetterTopic):
            what = f'dead-letter topic of pipeline "{name}"'
            yield _check(pipeline.dead_letters, what, partial(_connect_dead_letter_topic, topic))


def _check(component: "Component[Any]", what: str, connect: "Callable[[], str | tuple[str, Loss | None]]") -> Check:
    try:
        outcome = connect()
        found, loss = (outcome, None) if isinstance(outcome, str) else outcome
        return Check(str(component.location), what, found, loss=loss)
    except IngestError as error:
        return Check(str(component.location), what, error=error)


def _connect_store(configuration: "Configuration", catalog: "Catalog", name: str, component: "Component[Any]") -> str:
    settings = cast("StoreSettings", component.settings).with_timeout(CONNECT_TIMEOUT_S)
    store: Store[Any] = catalog.load("stores", component.kind).reader(settings)
    declared = declared_in(name, configuration.tables.values()).values()
    try:
        store.open()
        tables = store.tables()
        missing = [] if store.capabilities.creates_tables else [spec for spec in declared if not _has(store, spec)]
    except NotFoundError:
        if not store.capabilities.creates_tables:
            raise
        return "does not exist yet, the first write creates it"
    finally:
        store.close()
    if missing:
        raise NotFoundError(
            f'table "{missing[0].name}" does not exist, or lacks declared families',
            hint="'ingest table apply' creates what is missing",
        )
    return counted(len(tables), "table")


def _has(store: Store[Any], spec: TableSpec) -> bool:
    families = store.families(spec.name)
    return families is not None and families >= {family.name for family in spec.families}


def _connect_source(catalog: "Catalog", component: "Component[Any]") -> str:
    source: type[Source[Any]] = catalog.load("sources", component.kind)
    return source.check(component.settings)


def _connect_dead_letter_topic(topic: DeadLetterTopic) -> "tuple[str, Loss | None]":
    """The same check as at the start of a pipeline."""
    from ingest.dead_letters.kafka import loss_of_dead_letters
    from ingest.kafka.admin import KafkaAdmin

    with KafkaAdmin(topic.connection()) as admin:
        settings = admin.settings(topic.topic)
    return f"records of at most {settings.max_message_bytes} bytes", loss_of_dead_letters(topic.topic, settings)
