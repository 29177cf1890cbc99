"""
Mutations as files that HBase takes over in place of rows: divided by region, staged, and loaded until all are answered.

A file that is loaded while its region flushes gets no sequence id (`sinks.hbase.rpc.load_calls`). So of two writes of a
cell with one time the later one may lose, unlike of two puts: whoever loads files knows that the values are the same.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ingest.api import IngestError, Mutation
from ingest.api.bulk_load import NOTHING_CONFIRMED, Confirmed, LoadResult, WantsFiles
from ingest.api.cells import families_in
from ingest.durable import unusable
from sinks.folding.sizes import size_of
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.confirmed_loads import NoLoadError, refuse_unconfirmed
from sinks.hbase.rpc.load_calls import Load, LoadCalls
from sinks.hbase.rpc.loadable_table import LoadableTable
from sinks.hbase.rpc.region_sizes import files_of_regions
from sinks.hbase.rpc.regions import Region
from sinks.hbase.rpc.repeating import CALL_ERRORS, RepeatedCalls
from sinks.hbase.rpc.staged_files import StagedFiles
from sinks.hbase.rpc.stream import Address

MAX_REFUSALS = 2
"""After so many answers that a region has not loaded its files, its rows are left to calls, which say why not."""
MAX_FAILURES = 3
"""The same of exceptions of which nothing is known."""
MAX_STORE_FILES = 16
"""Of a family in a region, as `hbase.hstore.blockingStoreFiles`: from then on HBase delays flushes, but no load."""
_STAGING_HINT = "`staging` is a folder that this user can make and write to, and that HBase's servers see as well"
STORE_FILES = "store_files"
"""Reason of a wait for compactions, for the metric."""


class _Part(NamedTuple):
    """Mutations of one region, by their indexes."""

    region: Region
    server: Address
    indexes: list[int]


class BulkLoader:
    """
    Loads mutations as files; called by one thread.

    Args:
        calls: to the cluster.
        staged: files in the folder that HBase sees.
        loadable: returns what may be loaded into a table; raises as a read of the store.
        now_ms: the time, in milliseconds since the epoch.
        max_cell_bytes: larger cells are left to calls, which refuse them.
    """

    def __init__(
        self,
        calls: RepeatedCalls,
        staged: StagedFiles,
        loadable: Callable[[str], LoadableTable],
        now_ms: Callable[[], int],
        *,
        max_cell_bytes: int,
    ) -> None:
        self._calls = calls
        self._staged = staged
        self._loads = LoadCalls(calls.cluster, staged.url_of)
        self._read_loadable = loadable
        self._loadable: dict[str, LoadableTable | None] = {}
        self._now_ms = now_ms
        self._cells = FileCells(max_cell_bytes)

    def load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        attempts: Attempts,
        *,
        confirmed: Confirmed = NOTHING_CONFIRMED,
        on_progress: Callable[[], None] = lambda: None,
    ) -> LoadResult:
        """
        As `BulkLoading.load`, within the attempts.

        Raises:
            ReplicatedLoadError: a family is replicated, and may not have files.
            CoprocessorLoadError: the same of a table with coprocessors.
        """
        result = LoadResult()
        remaining: Sequence[int] = range(len(mutations))
        refused_rounds = failed_rounds = 0
        while remaining:
            parts = self._by_region(table, mutations, remaining, attempts)
            wanted, others = _divided(mutations, parts, wants_files)
            result.left += others
            wanted = self._not_full(table, wanted, attempts, result)
            on_progress()
            loads = self._staged_loads(table, mutations, wanted, result, confirmed, on_progress)
            try:
                on_progress()
                done = self._loads.load(table, loads, attempts.deadline_s, on_progress)
            finally:
                # after an unknown outcome too: a load that HBase begins later finds none
                self._staged.remove([name for load in loads for name in load.names])
            result.rows += sum(len(load.indexes) for load in done.loaded)
            result.files += sum(len(load.names) for load in done.loaded)
            if done.refused:
                refused_rounds += 1
                self._calls.regions.forget(table)
                self._loadable.pop(table, None)
                if refused_rounds >= MAX_REFUSALS:
                    done.deny(done.refused)
            failed_rounds += done.has_server_failure
            if failed_rounds >= MAX_FAILURES:
                done.deny(done.failed)
                done.failures.clear()
            for load in done.denied:
                result.refused.append(load.region.start)
                result.left += load.indexes
            remaining = [index for load in done.refused + done.failed for index in load.indexes]
            if done.failures:
                self._calls.wait_after(done.failures[-1], table, attempts, is_write=True)
        return result

    def check_load(
        self,
        table: str,
        mutations: Sequence[Mutation],
        wants_files: WantsFiles,
        attempts: Attempts,
        confirmed: Confirmed,
    ) -> None:
        """
        As `BulkLoading.check_load`, within the attempts.

        Raises:
            ReplicatedLoadError: as in `load`.
            CoprocessorLoadError: as in `load`.
        """
        parts = self._by_region(table, mutations, range(len(mutations)), attempts)
        wanted, _ = _divided(mutations, parts, wants_files)
        loadable = self._loadable_of(table) if wanted else None
        if loadable is not None:
            families = set[bytes]().union(*(families_in(mutations[index]) for part in wanted for index in part.indexes))
            refuse_unconfirmed(table, loadable, families, confirmed)

    def check(self, table: str, confirmed: Confirmed) -> None:
        """As `BulkLoading.check_loading`."""
        try:
            self._staged.remove(self._staged.write([[b"check"]]))
        except OSError as error:  # it names a folder inside `staging`, which is not in the pipeline file
            what, reason = f'`staging` "{self._staged}" cannot be used', error.strerror or str(error)
            raise unusable(what, error.errno or 0, reason, _STAGING_HINT) from error
        loadable = self._read_loadable(table)
        if not loadable.families:
            raise NoLoadError(table)
        refuse_unconfirmed(table, loadable, loadable.replicated, confirmed)
        self._calls.run(table, lambda deadline_s: self._begin_a_load(table, deadline_s))

    def _begin_a_load(self, table: str, deadline_s: float) -> None:
        """Get the folder of a load from the first region, and remove it."""
        region, server = self._calls.located(table, self._calls.regions.of(table, deadline_s).of(b""))
        token = self._loads.prepared(table, region, server, deadline_s)
        self._loads.clean_up(region, server, token, deadline_s)

    def begin(self) -> None:
        """Forget the families of tables: their attributes may have been changed."""
        self._loadable.clear()

    def close(self) -> None:
        """Forget the families of tables, and remove the folder of staged files."""
        self._loadable.clear()
        self._staged.close()

    def _by_region(
        self, table: str, mutations: Sequence[Mutation], indexes: Sequence[int], attempts: Attempts
    ) -> list[_Part]:
        while True:
            try:
                regions = self._calls.regions.of(table, attempts.deadline_s)
                found: dict[bytes, _Part] = {}
                for index in indexes:
                    region = regions.of(mutations[index].row)
                    part = None if region is None else found.get(region.name)
                    if part is None:
                        region, server = self._calls.located(table, region)
                        part = found[region.name] = _Part(region, server, [])
                    part.indexes.append(index)
                return list(found.values())
            except CALL_ERRORS as error:
                self._calls.wait_after(error, table, attempts, is_write=True)

    def _not_full(self, table: str, parts: Sequence[_Part], attempts: Attempts, result: LoadResult) -> list[_Part]:
        """The regions that take one more file; the mutations of the others are left."""
        full = self._full_regions(table, parts, attempts)
        result.left += [index for part in parts if part.region.name in full for index in part.indexes]
        return [part for part in parts if part.region.name not in full]

    def _full_regions(self, table: str, parts: Sequence[_Part], attempts: Attempts) -> set[bytes]:
        """
        Regions that have too many files for one more, after some seconds in which HBase may compact them.

        They get calls: HBase slows these down by itself until it has compacted, and a load it does not.
        """
        while True:
            servers = {part.server for part in parts}
            try:
                files = files_of_regions(self._calls, table, servers, attempts.deadline_s)
            except CALL_ERRORS:  # only administrators may see it, or a server is away, as the load will tell
                return set()
            names = {part.region.name for part in parts}
            full = {name for name in names if files.get(name, 0) >= MAX_STORE_FILES}
            if not full or not attempts.wait_for_busy(STORE_FILES, None):
                return full

    def _staged_loads(
        self,
        table: str,
        mutations: Sequence[Mutation],
        parts: Sequence[_Part],
        result: LoadResult,
        confirmed: Confirmed,
        on_progress: Callable[[], None],
    ) -> list[Load]:
        """The staged files of some regions; the mutations of those that get none are left."""
        loads: list[Load] = []
        contents: list[list[bytes]] = []
        for region, server, indexes in parts:
            files = self._files(table, [mutations[index] for index in indexes], confirmed)
            on_progress()
            if files:
                loads.append(Load(region, server, indexes, list(files), []))
                contents += files.values()
            else:
                result.left += indexes
        if not loads:
            return loads
        try:
            names = iter(self._staged.write(contents, on_progress))
        except OSError as error:
            result.unstaged = str(error)
            result.left += [index for load in loads for index in load.indexes]
            return []
        for load in loads:
            load.names.extend(next(names) for _ in load.families)
        return loads

    def _files(
        self, table: str, mutations: Sequence[Mutation], confirmed: Confirmed
    ) -> dict[bytes, list[bytes]] | None:
        """The file of each family, in pieces; None if only a call can write the mutations, or say what is wrong."""
        loadable = self._loadable_of(table)
        if loadable is None or not loadable.families:
            return None
        try:
            files = self._cells.files(mutations, loadable.families, self._now_ms())
        except RefusalError:
            return None
        refuse_unconfirmed(table, loadable, files, confirmed)
        return files

    def _loadable_of(self, table: str) -> LoadableTable | None:
        """What may be loaded into a table, read once in a flush cycle; None if they cannot be read."""
        if table not in self._loadable:
            try:
                self._loadable[table] = self._read_loadable(table)
            except IngestError:
                self._loadable[table] = None
        return self._loadable[table]


def _divided(
    mutations: Sequence[Mutation], parts: Sequence[_Part], wants_files: WantsFiles
) -> tuple[list[_Part], list[int]]:
    """The regions that get files, and the indexes of the mutations of the others."""
    wanted: list[_Part] = []
    others: list[int] = []
    for part in parts:
        size = sum(size_of(mutations[index]) for index in part.indexes)
        if wants_files(part.region.start, len(part.indexes), size):
            wanted.append(part)
        else:
            others += part.indexes
    return wanted, others
