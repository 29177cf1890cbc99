"""Whether the root of the dumps has enough free space for a dump."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.amounts import size
from ingest.durable import file_errors
from ingest.durable.files import DiskFullError
from ingest.service.dumps.plan import DumpSources, PlannedTable
from sinks.dumps.errors import DumpNotAvailableError
from sinks.dumps.listing import newest_dump
from sinks.dumps.manifest import DumpedTable
from sinks.files.root import Root


def check_space(root: Root, planned: Sequence[PlannedTable], sources: DumpSources, freed_bytes: int = 0) -> None:
    """
    Refuse a dump that would fill the file system of the root.

    A dump needs about as much space as the last one of the same tables, or else, as an upper bound, as the files of the
    tables in their stores.

    Args:
        root: that gets the dump.
        planned: its tables.
        sources: of the tables.
        freed_bytes: of files that are removed before it is made.

    Raises:
        StoreUnavailableError: there is less free space.
    """
    with file_errors(root):
        free = root.free_bytes()
    if free is None:
        return
    needed = _needed_bytes(root, planned, sources)
    if needed > free + freed_bytes:
        raise DiskFullError(
            f'the dump needs about {size(needed)}, and "{root}" has {size(free)} free',
            hint="remove older dumps with 'attr2hbase admin dump expire', or add --ignore-space",
        )


def _needed_bytes(root: Root, planned: Sequence[PlannedTable], sources: DumpSources) -> int:
    """The estimated size of a dump; tables of which nothing is known count 0."""
    last: Mapping[str, DumpedTable] = {}
    with file_errors(root):
        try:
            manifest = newest_dump(root).manifest
            last = {} if manifest is None else manifest.tables
        except DumpNotAvailableError:
            pass
    unknown = [each for each in planned if each.name not in last]
    needed = sum(last[each.name].size_bytes for each in planned if each.name in last)
    needed += sum(each.stored_bytes or 0 for each in unknown)
    for name in {each.store for each in unknown} & sources.views.keys():
        folder = sources.views[name].settings.own_folder
        if folder is not None:
            needed += sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    return needed
