"""The checks of a region server's configuration under its load: M1 to M12, M19, and the version."""

import math
from collections.abc import Iterator

from ingest.amounts import number, size
from ingest.api import TableSpec
from ingest.api.notation import shown
from ingest.doctor.examination import Finding, Severity
from ingest.doctor.hbase import server as names
from ingest.doctor.hbase.findings import docs_of, finding
from ingest.doctor.hbase.inputs import MissingInputError, Writers
from ingest.doctor.hbase.server import Memory, RegionServer, float32
from ingest.doctor.versions import numbers_of, rated

_MIN_LOWER_LIMIT = 0.8
_LOG_STORM, _LOG_FULL, _LONG_REPLAY = 0.5, 1.0, 3.0  # WAL capacity relative to the low water mark
_CUSHION_WARNING_S, _CUSHION_ERROR_S = 10.0, 3.0
_MAX_FILES_PER_HOUR = 60.0
_MAX_FAMILIES = 3
_MAX_CALLS = 0.1  # of the heap, for calls that are being served
_HEAP = "HBASE_HEAPSIZE"  # of hbase-env.sh
_MIB = 1 << 20
_GIB = 1 << 30


def heap_left(server: RegionServer, memory: Memory | None = None) -> Iterator[Finding]:
    """
    M1: HBase refuses to start if memstores and block cache leave too little of the heap.

    Raises:
        MissingInputError: it depends on the heap, which is unknown.
    """
    if memory is None:
        if server.needs_heap:
            raise MissingInputError("memory")
        memory = Memory(server, 1)
    memstores, cache, free = map(_percent, (memory.memstore_size, memory.block_cache, memory.min_free))
    if memstores + cache <= 100 - free:
        return
    yield finding(
        "M1",
        Severity.CRITICAL,
        f"memstores {memstores} % and block cache {cache} % of the heap leave {100 - memstores - cache} %",
        {
            "memstore_percent": memstores,
            "block_cache_percent": cache,
            "free_percent": 100 - memstores - cache,
            "min_free_percent": free,
        },
        setting=_less(memory, memstores, cache, free),
        why=f"HBase refuses to start with less than {free} % of the heap for everything else",
    )


def memstore_size(server: RegionServer, memory: Memory | None = None) -> Iterator[Finding]:
    """M2: a global memstore size that HBase replaces without an error."""
    if server.memstore_size != server.effective_memstore_size:
        yield finding(
            "M2",
            Severity.ERROR,
            f"global memstore size {number(server.memstore_size)} is not in (0, {names.MAX_MEMSTORE}]",
            {"memstore_size": server.memstore_size, "effective": server.effective_memstore_size},
            setting=(names.MEMSTORE_SIZE, _fraction(names.DEFAULT_MEMSTORE)),
            why=f"HBase logs a warning and uses {names.DEFAULT_MEMSTORE}",
        )
    most = 0 if memory is None else math.floor(names.MAX_MEMSTORE * memory.heap)
    if memory is not None and (server.memstore_bytes or 0) > most:
        yield finding(
            "M2",
            Severity.ERROR,
            f"global memstore size {size(server.memstore_bytes or 0)} is above {size(most)}",
            {"memstore_bytes": server.memstore_bytes or 0, "effective": memory.memstore_size},
            setting=(names.MEMSTORE_BYTES, str(most)),
            why=f"HBase logs a warning and uses {number(memory.memstore_size)} of the heap",
        )


def old_names(server: RegionServer) -> Iterator[Finding]:
    """M3: a property under the name that it had before HBase 2, or under one that this version does not know yet."""
    for old in server.old_names:
        is_conflict = old.conflicting is not None
        numbers = {"effective": old.value} | ({} if old.conflicting is None else {"ignored": old.conflicting})
        yield finding(
            "M3",
            Severity.ERROR if is_conflict else Severity.WARNING,
            f"{old.old} is an old name; in force is {number(old.value)}"
            + ("" if old.conflicting is None else f", ignored is {number(old.conflicting)}"),
            numbers,
            setting=(old.name, f"{old.value:g}"),
            hint=f"remove {old.old}",
            why="the present name wins, so the old one is ignored"
            if is_conflict
            else "newer versions of HBase ignore the old name and use their default",
        )
    for name in server.ignored:
        yield finding(
            "M3",
            Severity.WARNING,
            f"HBase {server.version} does not know {name}",
            {"version": server.version or ""},
            hint=f"remove {name}, or upgrade HBase",
            why="it is ignored, and the fractions of the heap are in force",
        )


def lower_limit(server: RegionServer, memory: Memory | None = None) -> Iterator[Finding]:
    """M4: a low water mark above the limit, or far below it."""
    if _MIN_LOWER_LIMIT <= server.lower_limit <= 1:
        return
    low_mark = {} if memory is None else {"low_bytes": memory.low_mark}
    is_above = server.lower_limit > 1
    shown_mark = "" if memory is None else f", which is {size(memory.low_mark)}"
    yield finding(
        "M4",
        Severity.ERROR if is_above else Severity.WARNING,
        f"lower limit {number(server.lower_limit)} of the global memstore limit{shown_mark}",
        {"lower_limit": server.lower_limit, **low_mark},
        setting=(names.LOWER_LIMIT, _fraction(names.DEFAULT_LOWER_LIMIT)),
        why="HBase uses 1: it begins to flush under pressure when it already blocks all writes"
        if is_above
        else "the server flushes under pressure long before its memory is used, so files are small",
    )


def log_capacity(memory: Memory) -> Iterator[Finding]:
    """M5: the WAL files are full before the memstores are."""
    ratio = memory.log_limit / memory.low_mark
    if ratio >= _LOG_FULL:
        return
    yield finding(
        "M5",
        Severity.ERROR if ratio < _LOG_STORM else Severity.WARNING,
        f"{memory.max_logs} WAL files hold {size(memory.log_limit)}, the memstores {size(memory.low_mark)}: "
        f"ratio {ratio:.2f}",
        {"wal_bytes": memory.log_limit, "low_bytes": memory.low_mark, "ratio": round(ratio, 3)},
        setting=(names.MAX_LOGS, str(memory.calculated_max_logs)),
        why="too many WAL files make many regions flush at once, before their memory is used",
    )


def long_replay(memory: Memory) -> Iterator[Finding]:
    """M6: a number of WAL files, set by hand, that makes the recovery of a server long."""
    ratio = memory.log_limit / memory.low_mark
    if ratio <= _LONG_REPLAY or memory.server.max_logs is None:
        return
    yield finding(
        "M6",
        Severity.INFO,
        f"{memory.max_logs} WAL files hold {size(memory.log_limit)}, the memstores {size(memory.low_mark)}: "
        f"ratio {ratio:.2f}",
        {"wal_bytes": memory.log_limit, "low_bytes": memory.low_mark, "ratio": round(ratio, 3)},
        setting=(names.MAX_LOGS, str(memory.calculated_max_logs)),
        why="after a crash more WAL is split and replayed than the memstores held",
    )


def regions(memory: Memory, regions: int) -> Iterator[Finding]:
    """M7: more regions are written than memstores of full size fit below the low water mark."""
    fitting = memory.low_mark / memory.server.flush_size
    if regions <= fitting:
        return
    flush_size = memory.flush_size(regions)
    yield finding(
        "M7",
        Severity.ERROR if regions > 2 * fitting else Severity.WARNING,
        f"{regions} regions are written, memstores of {size(memory.server.flush_size)} fit for {fitting:.2f}: "
        f"they flush at {size(flush_size)}",
        {"fitting": round(fitting, 2), "regions": regions, "flush_bytes": flush_size},
        setting=_more_memory(memory, regions * memory.server.flush_size),
        hint=f"or write to at most {max(1, math.floor(fitting))} regions of a server at a time",
        why="the server flushes under pressure, into small files that it has to compact",
    )


def region_block(memory: Memory) -> Iterator[Finding]:
    """M8: a region never blocks by itself, because the whole server blocks first."""
    server = memory.server
    blocking = server.flush_size * server.block_multiplier
    if blocking <= memory.limit:
        return
    multiplier = memory.limit // server.flush_size
    fits = multiplier > 1
    yield finding(
        "M8",
        Severity.INFO,
        f"a region blocks at {size(blocking)}, the whole server at {size(memory.limit)}",
        {"region_block_bytes": blocking, "limit_bytes": memory.limit},
        setting=(names.BLOCK_MULTIPLIER, str(multiplier))
        if fits
        else (names.FLUSH_SIZE, str(max(1, memory.limit // server.block_multiplier))),
        why="one region that cannot flush blocks the writes to all regions",
    )


def cushion(memory: Memory, write_rate: float) -> Iterator[Finding]:
    """M9: little time between the low water mark and the block of all writes."""
    if write_rate <= 0:
        return
    seconds = (memory.limit - memory.low_mark) / write_rate
    if seconds >= _CUSHION_WARNING_S:
        return
    needed = math.floor((1 - _CUSHION_WARNING_S * write_rate / memory.limit) * 100) / 100
    yield finding(
        "M9",
        Severity.ERROR if seconds < _CUSHION_ERROR_S else Severity.WARNING,
        f"{seconds:.1f} s of writes at {size(write_rate)}/s fit between low water mark and limit",
        {"seconds": round(seconds, 3), "write_bytes_per_s": round(write_rate)},
        setting=(names.LOWER_LIMIT, _fraction(max(_MIN_LOWER_LIMIT, needed))),
        hint="" if needed >= _MIN_LOWER_LIMIT else "and give the server more heap or fewer writes",
        why="a flush that takes longer than that blocks all writes to the server",
    )


def files_per_hour(memory: Memory, write_rate: float, regions: int) -> Iterator[Finding]:
    """M10: each store is flushed into many files."""
    if write_rate <= 0 or regions == 0:
        return
    seconds = memory.flush_size(regions) * regions / write_rate
    files = 3600 / seconds
    if files <= _MAX_FILES_PER_HOUR:
        return
    needed = math.ceil(write_rate * 3600 / _MAX_FILES_PER_HOUR / regions)
    fits = needed * regions <= memory.low_mark
    yield finding(
        "M10",
        Severity.WARNING,
        f"each store flushes every {seconds:.1f} s: {files:.1f} files an hour",
        {"flush_seconds": round(seconds, 2), "files_per_hour": round(files, 2)},
        setting=(names.FLUSH_SIZE, str(_rounded_up(needed, _MIB))) if fits else _more_memory(memory, needed * regions),
        why="compactions rewrite the data more often than the disks may keep up with",
    )


def families(server: RegionServer, families: int) -> Iterator[Finding]:
    """M11: families that flush together in small pieces."""
    per_family = server.flush_size / families
    if families <= _MAX_FAMILIES and per_family >= server.family_flush_min:
        return
    yield finding(
        "M11",
        Severity.WARNING,
        f"{families} families: {size(per_family)} for each at a flush",
        {"families": families, "family_bytes": math.floor(per_family)},
        setting=(names.FLUSH_SIZE, str(families * server.family_flush_min))
        if per_family < server.family_flush_min
        else None,
        hint=f"use at most {_MAX_FAMILIES} families in a table" if families > _MAX_FAMILIES else "",
        why="a flush of a region writes a file for each family, however small",
    )


def compression(tables: tuple[TableSpec, ...]) -> Iterator[Finding]:
    """M12: families whose files are not compressed."""
    for table in tables:
        for family in table.families:
            if family.compression == "none":
                yield finding(
                    "M12",
                    Severity.INFO,
                    f'family {shown(family.name)} of table "{table.name}" is not compressed',
                    {"family": family.name.decode("utf-8", "backslashreplace")},
                    subject=table.name,
                    setting=("COMPRESSION", "SNAPPY"),
                    hint="set compression under tables, then run 'attr2hbase table apply'",
                    why="every flush and compaction writes more bytes",
                )


def calls_in_memory(memory: Memory, writers: Writers) -> Iterator[Finding]:
    """M19: the calls that all handlers may serve at a time take much of the heap."""
    handlers = memory.server.handlers
    used = writers.buffer_bytes * handlers
    if used <= _MAX_CALLS * memory.heap:
        return
    yield finding(
        "M19",
        Severity.WARNING,
        f"{handlers} handlers times write_buffer_size {size(writers.buffer_bytes)} are {size(used)}, "
        f"{used / memory.heap:.0%} of the heap",
        {"call_bytes": used, "heap_bytes": memory.heap},
        setting=("write_buffer_size", f"{max(1, math.floor(_MAX_CALLS * memory.heap / handlers / 1024))}KiB"),
        why="calls that are served at the same time take memory from memstores and block cache",
    )


def version(version: str) -> Iterator[Finding]:
    """The version of HBase, compared with the support matrix."""
    yield from rated("version", "hbase", numbers_of(version), docs=docs_of("version")).findings


def _percent(fraction: float) -> int:
    """A fraction of the heap in whole percent as HBase calculates it, with floats of 32 bits."""
    return int(float32(float32(fraction) * 100))


def _more_memory(memory: Memory, needed: int) -> tuple[str, str]:
    """The setting with which the low water mark reaches a number of bytes."""
    server = memory.server
    lower = server.effective_lower_limit
    fraction = math.ceil(needed / lower / memory.heap * 100) / 100
    free = (100 - _percent(memory.min_free) - _percent(memory.block_cache)) / 100
    if not server.offheap_memstore and fraction <= free:
        if (server.memstore_bytes or 0) > 0:
            return names.MEMSTORE_BYTES, str(math.ceil(fraction * memory.heap))
        return names.MEMSTORE_SIZE, _fraction(fraction)
    if server.offheap_memstore:
        return names.OFFHEAP_MEMSTORE, str(math.ceil(needed / lower / _MIB))
    return _HEAP, f"{math.ceil(needed / lower / memory.memstore_size / _GIB)}G"


def _less(memory: Memory, memstores: int, cache: int, free: int) -> tuple[str, str]:
    """The setting with which they are 100 percent: the block cache, else the memstores, else what is to be left."""
    server = memory.server
    for rest, own, in_bytes, fraction in (
        (100 - free - memstores, server.block_cache_bytes, names.BLOCK_CACHE_BYTES, names.BLOCK_CACHE),
        (100 - free - cache, server.memstore_bytes, names.MEMSTORE_BYTES, names.MEMSTORE_SIZE),
    ):
        if rest >= 0:
            is_in_bytes = own is not None and own > 0
            return (in_bytes, str(rest * memory.heap // 100)) if is_in_bytes else (fraction, _fraction(rest / 100))
    return names.MIN_FREE_BYTES, str(max(0, 100 - memstores - cache) * memory.heap // 100)


def _rounded_up(count: int, unit: int) -> int:
    return math.ceil(count / unit) * unit


def _fraction(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"
