"""Are the stores, sources and topics of dead letters of a configuration there? Behind `validate --connect`."""

import glob
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ingest.api import IngestError, NotFoundError, Store, StoreSettings, TableSpec
from ingest.cli.output import counted
from ingest.config.options import DeadLetterTopic
from ingest.sources.files import FilesSource
from ingest.sources.kafka import KafkaSource

if TYPE_CHECKING:
    from ingest.catalog import Catalog
    from ingest.config.model import Component, Configuration
    from ingest.dead_letters.kafka import Loss

PATIENCE_S = 10.0  # somebody waits for the answer; a service has a longer time-out for the sake of what it writes


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What asking one store, source or place for dead letters came to.

    Attributes:
        where: its place in the file.
        found: what it answered, when there is no error.
        loss: what will be lost there as it is now; a pipeline runs all the same.
    """

    where: str
    what: str
    found: str = ""
    error: IngestError | None = None
    loss: "Loss | None" = None


def answers(configuration: "Configuration", catalog: "Catalog") -> Iterator[Answer]:
    """Ask every store, source and topic of dead letters, one after the other."""
    for name, store in configuration.stores.items():
        yield _asked(store, f'store "{name}"', partial(_ask_store, configuration, catalog, name, store))
    for name, pipeline in configuration.pipelines.items():
        yield _asked(pipeline.source, f'source of pipeline "{name}"', partial(_ask_source, pipeline.source))
        if isinstance(letters := pipeline.dead_letters.settings, DeadLetterTopic):
            what = f'topic for dead letters of pipeline "{name}"'
            yield _asked(pipeline.dead_letters, what, partial(_ask_letters, letters))


def _asked(component: "Component", what: str, ask: "Callable[[], str | tuple[str, Loss | None]]") -> Answer:
    try:
        answer = ask()
        found, loss = (answer, None) if isinstance(answer, str) else answer
        return Answer(str(component.where), what, found, loss=loss)
    except IngestError as error:
        return Answer(str(component.where), what, error=error)


def _ask_store(configuration: "Configuration", catalog: "Catalog", name: str, component: "Component") -> str:
    settings = cast("StoreSettings", component.settings).impatient(PATIENCE_S)
    store: Store[Any] = catalog.load("stores", component.kind).reader(settings)
    declared = [table.spec() for table in configuration.tables.values() if table.store == name]
    try:
        store.open()
        tables = store.tables()
        missing = [] if store.capabilities.creates_tables else [spec for spec in declared if not _has(store, spec)]
    except NotFoundError:
        if not store.capabilities.creates_tables:
            raise
        return "not there yet, the first write makes it"
    finally:
        store.close()
    if missing:
        raise NotFoundError(
            f'there is no table "{missing[0].name}", or not with all its families',
            hint="'ingest table apply' makes what is missing",
        )
    return counted(len(tables), "table")


def _has(store: Store[Any], spec: TableSpec) -> bool:
    families = store.families(spec.name)
    return families is not None and families >= {family.name for family in spec.families}


def _ask_source(component: "Component") -> str:
    match component.settings:
        case KafkaSource() as source:
            return _ask_kafka(source)
        case FilesSource() as source:
            pattern = f"{source.path}/*" if Path(source.path).is_dir() else source.path
            count = sum(Path(name).is_file() for name in glob.glob(pattern))  # noqa: PTH207 - patterns may be absolute
            if not count:
                raise NotFoundError(f'no file is at "{source.path}"', hint="paths are seen from the folder you are in")
            return counted(count, "file")
        case _:
            return "can not be asked"


def _ask_kafka(source: KafkaSource) -> str:
    from ingest.kafka.admin import KafkaAdmin

    with KafkaAdmin(source) as admin:
        topics = source.topics or admin.topics_matching(source.topics_pattern or "")
        partitions = admin.partitions(topics)
    if not partitions:
        raise NotFoundError(f'no topic is named as "{source.topics_pattern}"')
    return f"{counted(len(partitions), 'topic')}, {counted(sum(partitions.values()), 'partition')}"


def _ask_letters(letters: DeadLetterTopic) -> "tuple[str, Loss | None]":
    """What a pipeline asks when it starts."""
    from ingest.dead_letters.kafka import loss_of_letters
    from ingest.kafka.admin import KafkaAdmin

    with KafkaAdmin(letters.connection()) as admin:
        settings = admin.settings(letters.topic)
    return f"records of at most {settings.max_message_bytes} bytes", loss_of_letters(letters.topic, settings)
