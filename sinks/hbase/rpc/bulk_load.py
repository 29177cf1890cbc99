"""
The calls of a bulk load: HBase takes over files in place of rows.

Source: PrepareBulkLoadRequest, BulkLoadHFileRequest and CleanupBulkLoadRequest of Client.proto;
`SecureBulkLoadManager`, which moves or copies the files into a folder of its own before it loads them.

A region loads all files of a call under its lock, so a reader sees all families of a row or none. It flushes first, and
the files get the sequence id of that flush; but if a flush runs already they get none. So of two writes of a cell with
one time the later one may lose, unlike of two puts: whoever loads files knows that the values are the same. The answer
is `loaded = false` for most of what may go wrong, and does not say what.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.api import IngestError, Mutation, StoreRefusedError
from ingest.api.bulk_load import NOTHING_CONFIRMED, Confirmed, LoadResult, WantsFiles
from ingest.api.notation import shown
from ingest.durable import file_errors
from sinks.folding.sizes import size_of
from sinks.hbase.errors import Kind
from sinks.hbase.hfile.cells import FileCells
from sinks.hbase.refusals import RefusalError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.connection import Answer, Connection
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError
from sinks.hbase.rpc.region_sizes import files_of_regions
from sinks.hbase.rpc.regions import CLIENT_SERVICE, Region
from sinks.hbase.rpc.repeating import CALL_ERRORS, RepeatedCalls
from sinks.hbase.rpc.requests import region_specifier
from sinks.hbase.rpc.schema import FileFormats, table_name
from sinks.hbase.rpc.staged_files import StagedFiles
from sinks.hbase.rpc.stream import Address
from sinks.hbase.rpc.wire import Message, WireError, data, flag

MAX_REFUSALS = 2
"""After so many answers that a region has not loaded its files, its rows are left to calls, which say why not."""
MAX_FAILURES = 3
"""The same of exceptions of which nothing is known."""
_PASSING = frozenset([Kind.MOVED, Kind.BUSY, Kind.UNAVAILABLE])
"""What an exception means if a later load may succeed; after any other one the rows are left to calls at once."""
MAX_STORE_FILES = 16
"""Of a family in a region, as `hbase.hstore.blockingStoreFiles`: from then on HBase delays flushes, but no load."""
STORE_FILES = "store_files"
"""Reason of a wait for compactions, for the metric."""


class ReplicatedLoadError(StoreRefusedError):
    """A table with bulk load has families that are replicated to other clusters, which may not get the rows."""

    code = "bulk_load_replicated"
    remedy = "Set `replicated: true` of `bulk_load` if the cluster replicates loads; else write `bulk_load: never`."

    def __init__(self, table: str, families: Sequence[bytes]) -> None:
        names = ", ".join(map(shown, families))
        super().__init__(
            f'table "{table}" has replicated families, {names}, and a cluster replicates the rows of files only with '
            "`hbase.replication.bulkload.enabled`",
            hint="if it has that, write `bulk_load: {from: …, replicated: true}`; else `bulk_load: never`",
        )


class CoprocessorLoadError(StoreRefusedError):
    """A table with bulk load has coprocessors, which do not see the rows of files."""

    code = "bulk_load_coprocessors"
    remedy = "Set `coprocessors: true` of `bulk_load` if they need not see every row; else write `bulk_load: never`."

    def __init__(self, table: str, classes: Sequence[str]) -> None:
        super().__init__(
            f'table "{table}" has coprocessors, {", ".join(classes)}, which do not see the rows of files: indexes that '
            "they keep would lack these rows",
            hint="if they need not see every row, write `bulk_load: {from: …, coprocessors: true}`; else "
            "`bulk_load: never`",
        )


class _Load(NamedTuple):
    """
    Files of one region, which are staged.

    Attributes:
        indexes: of the mutations.
        families: of the files, in their order.
        names: of the files.
    """

    region: Region
    server: Address
    indexes: list[int]
    families: list[bytes]
    names: list[str]


class _Part(NamedTuple):
    """Mutations of one region, by their indexes."""

    region: Region
    server: Address
    indexes: list[int]


@dataclass(slots=True)
class _Round:
    """
    One attempt to load files.

    Attributes:
        refused: those whose files HBase has not loaded, for a reason that it does not say.
        denied: those that need no other attempt.
        failed: those whose calls failed, and may have been executed.
        failures: the errors of these calls.
    """

    refused: list[_Load] = field(default_factory=list)
    denied: list[_Load] = field(default_factory=list)
    failed: list[_Load] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def answer(self, load: _Load, result: LoadResult, *, is_loaded: bool) -> None:
        """HBase has answered whether it has loaded some files."""
        if is_loaded:
            result.rows += len(load.indexes)
            result.files += len(load.names)
        else:
            self.refused.append(load)

    def fail(self, load: _Load, error: Exception) -> None:
        """The call for some files has failed."""
        if isinstance(error, RemoteError) and (error.is_unclear or error.kind not in _PASSING):
            self.denied.append(load)
        else:
            self.failed.append(load)
            self.failures.append(error)

    @property
    def is_unknown(self) -> bool:
        """Whether HBase has failed for a reason of which nothing is known."""
        return any(isinstance(error, RemoteError) and error.kind is Kind.UNAVAILABLE for error in self.failures)

    @property
    def is_answered(self) -> bool:
        """Whether no call may still be executed."""
        return all(isinstance(error, RemoteError) for error in self.failures)

    def deny(self, loads: list[_Load]) -> None:
        """Make no other attempt at some of them."""
        self.denied += loads
        loads.clear()


class BulkLoader:
    """
    Loads mutations as files; called by one thread.

    Args:
        calls: to the cluster.
        staged: files in the folder that HBase sees.
        formats: returns the formats of the files for a table; raises as a read of the store.
        now_ms: the time, in milliseconds since the epoch.
        max_cell_bytes: larger cells are left to calls, which refuse them.
    """

    def __init__(
        self,
        calls: RepeatedCalls,
        staged: StagedFiles,
        formats: Callable[[str], FileFormats],
        now_ms: Callable[[], int],
        *,
        max_cell_bytes: int,
    ) -> None:
        self._calls = calls
        self._staged = staged
        self._read_formats = formats
        self._formats: dict[str, FileFormats | None] = {}
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
        refusals = failures = 0
        while remaining:
            try:
                regions = self._by_region(table, mutations, remaining, attempts.deadline_s)
            except CALL_ERRORS as error:
                self._calls.wait_after(error, table, attempts, is_write=True)
                continue
            wanted = self._wanted(table, mutations, regions, wants_files, attempts, result)
            on_progress()
            loads = self._staged_loads(table, mutations, wanted, result, confirmed, on_progress)
            try:
                on_progress()
                done = self._round(table, loads, attempts.deadline_s, result, on_progress)
            finally:
                # after an unknown outcome too: a load that HBase begins later finds none
                self._staged.remove([name for load in loads for name in load.names])
            if done.refused:
                refusals += 1
                self._calls.regions.forget(table)
                self._formats.pop(table, None)
                if refusals >= MAX_REFUSALS:
                    done.deny(done.refused)
            failures += done.is_unknown
            if failures >= MAX_FAILURES:
                done.deny(done.failed)
                done.failures.clear()
            for load in done.denied:
                result.refused.append(load.region.start)
                result.left += load.indexes
            remaining = [index for load in done.refused + done.failed for index in load.indexes]
            if done.failures:
                self._calls.wait_after(done.failures[-1], table, attempts, is_write=True)
        return result

    def check(self, table: str, confirmed: Confirmed) -> None:
        """As `BulkLoading.check_loading`."""
        with file_errors(self._staged):
            self._staged.remove(self._staged.write([[b"check"]]))
        formats = self._read_formats(table)
        _refuse_unconfirmed(table, formats, formats.replicated, confirmed)
        self._calls.run(table, lambda deadline_s: self._begin_a_load(table, deadline_s))

    def _begin_a_load(self, table: str, deadline_s: float) -> None:
        """Get the folder of a load from the first region, and remove it."""
        region, server = self._calls.located(table, self._calls.regions.of(table, deadline_s).of(b""))
        token = self._prepared(table, region, server, deadline_s)
        self._clean_up(region, server, token, deadline_s)

    def begin(self) -> None:
        """Forget the families of tables: their attributes may have been changed."""
        self._formats.clear()

    def close(self) -> None:
        """Forget the families of tables, and remove the folder of staged files."""
        self._formats.clear()
        self._staged.close()

    def _by_region(
        self, table: str, mutations: Sequence[Mutation], indexes: Sequence[int], deadline_s: float
    ) -> list[_Part]:
        regions = self._calls.regions.of(table, deadline_s)
        found: dict[bytes, _Part] = {}
        for index in indexes:
            region = regions.of(mutations[index].row)
            part = None if region is None else found.get(region.name)
            if part is None:
                region, server = self._calls.located(table, region)
                part = found[region.name] = _Part(region, server, [])
            part.indexes.append(index)
        return list(found.values())

    def _wanted(
        self,
        table: str,
        mutations: Sequence[Mutation],
        parts: Sequence[_Part],
        wants_files: WantsFiles,
        attempts: Attempts,
        result: LoadResult,
    ) -> list[_Part]:
        """The regions that get files; the mutations of the others are left."""
        wanted = []
        for part in parts:
            size = sum(size_of(mutations[index]) for index in part.indexes)
            if wants_files(part.region.start, len(part.indexes), size):
                wanted.append(part)
            else:
                result.left += part.indexes
        full = self._full_regions(table, wanted, attempts)
        result.left += [index for part in wanted if part.region.name in full for index in part.indexes]
        return [part for part in wanted if part.region.name not in full]

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
        regions: Sequence[_Part],
        result: LoadResult,
        confirmed: Confirmed,
        on_progress: Callable[[], None],
    ) -> list[_Load]:
        """The staged files of some regions; the mutations of those that get none are left."""
        loads: list[_Load] = []
        contents: list[list[bytes]] = []
        for region, server, indexes in regions:
            files = self._files(table, [mutations[index] for index in indexes], confirmed)
            on_progress()
            if files:
                loads.append(_Load(region, server, indexes, list(files), []))
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
        formats = self._formats_of(table)
        if formats is None or not formats.families:
            return None
        try:
            files = self._cells.files(mutations, formats.families, self._now_ms())
        except RefusalError:
            return None
        _refuse_unconfirmed(table, formats, [family for family in formats.replicated if family in files], confirmed)
        return files

    def _formats_of(self, table: str) -> FileFormats | None:
        """The formats of the files for a table, read once in a flush cycle; None if they cannot be read."""
        if table not in self._formats:
            try:
                self._formats[table] = self._read_formats(table)
            except IngestError:
                self._formats[table] = None
        return self._formats[table]

    def _round(
        self,
        table: str,
        loads: Sequence[_Load],
        deadline_s: float,
        result: LoadResult,
        on_progress: Callable[[], None],
    ) -> _Round:
        """Load what is staged, with one call for each region; all are in flight together."""
        done = _Round()
        if not loads:
            return done
        try:
            token = self._prepared(table, loads[0].region, loads[0].server, deadline_s)
        except CALL_ERRORS as error:
            for load in loads:
                done.fail(load, error)
            return done
        sent: deque[tuple[_Load, Connection, int]] = deque()
        try:
            for load in loads:
                try:
                    connection = self._calls.cluster.connection(load.server, CLIENT_SERVICE, deadline_s)
                    request = self._request(load, token)
                    sent.append((load, connection, connection.send("BulkLoadHFile", request, b"", deadline_s)))
                except (ConnectionLostError, IngestError) as error:
                    done.fail(load, error)
            while sent:
                load, connection, call_id = sent[0]
                try:
                    is_loaded = _is_loaded(connection.receive(call_id, deadline_s))
                except (RemoteError, ConnectionLostError, WireError) as error:
                    done.fail(load, error)
                else:
                    done.answer(load, result, is_loaded=is_loaded)
                sent.popleft()
                on_progress()
        finally:
            for _, connection, _ in sent:  # interrupted: no later call may meet these on a server
                connection.abort()
        if done.is_answered:  # else a server may still load files in the folder
            with suppress(*CALL_ERRORS):  # an empty folder stays
                self._clean_up(loads[0].region, loads[0].server, token, deadline_s)
        return done

    def _prepared(self, table: str, region: Region, server: Address, deadline_s: float) -> bytes:
        """The folder of HBase for the files: the token of a load."""
        # PrepareBulkLoadRequest: table_name 1, region 2; PrepareBulkLoadResponse: bulk_token 1
        request = data(1, table_name(table)) + data(2, region_specifier(region.name))
        answer = self._calls.cluster.call(server, CLIENT_SERVICE, "PrepareBulkLoad", request, deadline_s)
        return Message(answer.message).data(1)

    def _request(self, load: _Load, token: bytes) -> bytes:
        # region 1, family_path 2, assign_seq_num 3, bulk_token 5; FamilyPath: family 1, path 2
        paths = (
            data(2, data(1, family) + data(2, self._staged.url_of(name).encode()))
            for family, name in zip(load.families, load.names, strict=True)
        )
        return data(1, region_specifier(load.region.name)) + b"".join(paths) + flag(3) + data(5, token)

    def _clean_up(self, region: Region, server: Address, token: bytes, deadline_s: float) -> None:
        """Remove the folder of HBase."""
        # CleanupBulkLoadRequest: bulk_token 1, region 2
        request = data(1, token) + data(2, region_specifier(region.name))
        self._calls.cluster.call(server, CLIENT_SERVICE, "CleanupBulkLoad", request, deadline_s)


def _refuse_unconfirmed(table: str, formats: FileFormats, replicated: Sequence[bytes], confirmed: Confirmed) -> None:
    """Raise the error of a load that bypasses what is not confirmed, into replicated families among others."""
    if replicated and not confirmed.replicated:
        raise ReplicatedLoadError(table, formats.replicated)
    if formats.coprocessors and not confirmed.coprocessors:
        raise CoprocessorLoadError(table, formats.coprocessors)


def _is_loaded(answer: Answer) -> bool:
    return Message(answer.message).flag(1)  # BulkLoadHFileResponse: loaded 1
