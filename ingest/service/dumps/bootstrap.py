"""Opens what a bootstrap reads and writes: a dump, the store of the target, and the store of the feed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

from ingest.api import ConfigError, ConflictError, NotFoundError
from ingest.api.feeds import FEED
from ingest.catalog import Catalog
from ingest.config.model import Configuration
from ingest.plan.features import planned_in
from ingest.plan.stores import unopened_reader
from ingest.service.jobs.place import Place
from ingest.suggest import did_you_mean
from sinks.blobs.blob_options import BlobOptions
from sinks.blobs.copying import CopiedPointers
from sinks.blobs.declared import blobs_of
from sinks.blobs.status import forget_store_id
from sinks.bootstrap.delete_log import DeleteLog
from sinks.bootstrap.dumped import DumpTableReader, LoadedTable, positions_of
from sinks.bootstrap.following import FeedFollower
from sinks.bootstrap.progress import BOOTSTRAP, BootstrapProgress, Stage
from sinks.bootstrap.reopening_store import ReopeningStore
from sinks.bootstrap.run import Bootstrap, Following
from sinks.bootstrap.target import TargetTable
from sinks.bulk_load.feature import BulkLoad
from sinks.bulk_load.loading import loading_rows
from sinks.dumps.reader import DumpReader, name_of

FOLDER = "bootstraps"
"""In the folder of local state: logs of deletes."""


class TargetHasFeedError(ConflictError):
    """A table has a change feed, so a bootstrap would write rows that no change of the feed has."""

    code = "target_has_feed"
    hint = "load into a table without a change feed, and declare `feed` afterwards"


class TableOfStore(NamedTuple):
    """A table in a store of a file, as a command names them: `STORE:TABLE`."""

    store: str
    table: str

    @classmethod
    def of(cls, text: str, configuration: Configuration) -> "TableOfStore":
        """
        The parts of `STORE:TABLE`; the name of an HBase table may have a colon, that of a store has none.

        Raises:
            ConfigError: one is missing, or the file declares the table in another store.
            NotFoundError: there is no such store.
        """
        store, _, table = text.partition(":")
        if not store or not table:
            raise ConfigError(f'"{text}" names no table of a store', hint="write STORE:TABLE")
        if store not in configuration.stores:
            names = sorted(configuration.stores)
            hint = did_you_mean(store, names) or f"there is {', '.join(names)}"
            raise NotFoundError(f'the file has no store "{store}"', hint=hint)
        declared = configuration.tables.get(table)
        if declared is not None and declared.store != store:
            raise ConfigError(
                f'the file declares table "{table}" in store "{declared.store}"', hint=f"write {declared.store}:{table}"
            )
        return cls(store, table)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """
    The table that was dumped, where it is.

    Attributes:
        configuration: of the file that declares its store.
    """

    configuration: Configuration
    catalog: Catalog
    table: str


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    """
    What to load.

    Attributes:
        root: of the dumps.
        at: name or start of the dump; None for that of a bootstrap which is not complete or has a change feed, else for
            the newest.
        dumped: name of the table in the dump.
        target: where it is loaded.
        is_concurrent: apply the feed while the rows are loaded.
    """

    root: str
    at: str | None
    dumped: str
    target: TableOfStore
    is_concurrent: bool = False


class OpenedBootstrap(NamedTuple):
    """
    A bootstrap that is ready to run.

    Attributes:
        dump: name of the dump.
        rows: of the table in the dump; None if the dump does not say.
        target: the table that is written.
    """

    run: Bootstrap
    dump: str
    rows: int | None
    target: TargetTable


@contextmanager
def opened_bootstrap(
    place: Place,
    request: BootstrapRequest,
    source: SourceTable | None = None,
    *,
    on_unpinned: Callable[[str], None] = lambda _reason: None,
) -> Iterator[OpenedBootstrap]:
    """
    A bootstrap of one table; the dump is pinned until the block ends.

    Args:
        place: where it runs; its configuration declares the store of the target.
        request: what to load.
        source: the table with the feed; None to load the dump alone.
        on_unpinned: called with the reason if the dump cannot be pinned, so that it may expire meanwhile.

    Raises:
        DumpNotAvailableError: there is no such complete dump.
        TableNotInDumpError: the dump does not know the table.
        ConfigError: the feed was not declared when the dump was made, or a table has deferred updates.
        ConflictError: another process has locked the store, or the target has a change feed.
        BlobMissingError: a row points to a blob that the target does not have; raised by `Bootstrap.load`.
        TrimmedError: changes since the dump have expired.
        StoreError: a store is unavailable.
    """
    configuration = place.configuration
    with ExitStack() as opened:
        store = place.unopened_store(request.target.store)
        blobs = blobs_of(configuration.tables, request.target.table)
        name, options = (None, BlobOptions()) if blobs is None else blobs
        pointers = CopiedPointers(request.target.table, name, options)
        rule = planned_in(configuration, *request.target, BulkLoad(), place.catalog)
        loads = None if rule is None else loading_rows(store, request.target.table, rule)
        target = TargetTable(store, request.target.table, loads=loads, around_write=pointers.pinned)
        opened.callback(target.close)
        saved = target.property(BOOTSTRAP)
        begun = None if saved is None else BootstrapProgress.of(saved, target.table)
        dumped: DumpTableReader | LoadedTable
        if begun is not None and _needs_no_dump(begun, request, has_feed=source is not None):
            dumped, positions = LoadedTable(begun), begun.positions
        else:
            # rows that were all loaded without a change feed are those of their dump: a newer one is refused
            resumes = begun is not None and (source is not None or begun.stage is not Stage.FOLLOWING)
            at = request.at or (begun.dump if begun is not None and resumes else None)
            reader = opened.enter_context(DumpReader(request.root).locked_view(at, on_unpinned=on_unpinned))
            dumped = DumpTableReader(reader, request.dumped)
            positions = {} if source is None else _positions(dumped, source, request)
        following = None if source is None else _following(opened, source, positions, request, configuration)
        if target.store.call(lambda opened_store: FEED in opened_store.properties(target.table)):
            raise TargetHasFeedError(
                f'table "{target.table}" has a change feed, which would not have the rows that are loaded',
            )
        declared = configuration.tables.get(target.table)
        target.create(None if declared is None else declared.spec(), dumped.families)
        progress = BootstrapProgress(request.root, dumped.dump, request.dumped)
        if following is not None:
            progress = replace(
                progress,
                # that of positions which were all read is not in them any more
                feed_id=begun.feed_id
                if begun is not None and isinstance(dumped, LoadedTable)
                else following.feed.feed_id,
                positions=dict(following.feed.positions),
                is_concurrent=request.is_concurrent,
            )

        def forget_blobs() -> None:
            target.store.call(lambda opened_store: forget_store_id(opened_store, target.table))

        def sleep(seconds: float) -> None:
            place.cancellation.wait(seconds)
            place.cancellation.check("bootstrap")

        run = Bootstrap(dumped, target, progress, following, before_first=forget_blobs, sleep=sleep)
        yield OpenedBootstrap(run, dumped.dump, dumped.rows_total, target)


def _needs_no_dump(begun: BootstrapProgress, request: BootstrapRequest, *, has_feed: bool) -> bool:
    """Whether all rows of the dump that is asked for are loaded, and the changes since come from a feed."""
    is_of_dump = request.at is None or name_of(request.at) == begun.dump
    return has_feed and bool(begun.feed_id) and begun.stage is Stage.FOLLOWING and is_of_dump


def _positions(dumped: DumpTableReader, source: SourceTable, request: BootstrapRequest) -> Mapping[int, str]:
    if dumped.feed is None:
        raise ConfigError(
            f'dump {dumped.dump} has no position in a change feed of table "{request.dumped}": it had none then',
            hint="make a newer dump with 'attr2hbase dump run' and load it into a table without rows, or leave --feed "
            "out",
        )
    return positions_of(dumped.feed, source.table)


def _following(
    opened: ExitStack,
    source: SourceTable,
    positions: Mapping[int, str | None],
    request: BootstrapRequest,
    configuration: Configuration,
) -> Following:
    name = source.configuration.store_of_table(source.table)
    store = ReopeningStore(unopened_reader(source.configuration.stores[name], source.catalog))
    opened.callback(store.close)
    feed = FeedFollower(store, source.table, positions)
    deletes = None
    if request.is_concurrent:
        folder = configuration.local_dir / FOLDER / request.target.store
        deletes = DeleteLog(folder / f"{request.target.table.replace(':', '~')}.deletes")
    return Following(feed, deletes)
