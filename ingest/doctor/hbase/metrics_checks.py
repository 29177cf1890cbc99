"""The checks of a running region server's metrics: M13 to M18."""

from collections.abc import Iterator

from ingest.amounts import number, size
from ingest.doctor.examination import Finding, Severity
from ingest.doctor.hbase import server as names
from ingest.doctor.hbase.findings import finding
from ingest.doctor.hbase.inputs import Trend, Writers
from ingest.doctor.hbase.jmx import Sample
from ingest.doctor.hbase.server import Memory, RegionServer

_LOGS_FULL = 0.9
_FLUSH_QUEUE, _COMPACTION_QUEUE = "flushQueueLength", "compactionQueueLength"


def memstores(memory: Memory, sample: Sample) -> Iterator[Finding]:
    """M13: the memstores are above the low water mark, or above the limit."""
    used = sample["memStoreSize"]
    if used <= memory.low_mark:
        return
    is_over = used > memory.limit
    yield finding(
        "M13",
        Severity.CRITICAL if is_over else Severity.WARNING,
        f"memstores use {size(used)}, {used / memory.limit:.0%} of the limit of {size(memory.limit)}",
        {
            "memstore_bytes": used,
            "low_bytes": memory.low_mark,
            "limit_bytes": memory.limit,
            "percent": round(100 * used / memory.limit, 1),
        },
        setting=(names.FLUSHERS, str(2 * memory.server.flushers)),
        hint="check M7 and M9 first: the memory may be too small for the writes",
        why="the server blocks all writes until flushes have made room"
        if is_over
        else "the server flushes under pressure; above the limit it blocks all writes",
    )


def queues(server: RegionServer, trend: Trend) -> Iterator[Finding]:
    """M14: flushes or compactions wait, and more of them than before."""
    for metric, setting, threads in (
        (_FLUSH_QUEUE, names.FLUSHERS, server.flushers),
        (_COMPACTION_QUEUE, names.SMALL_COMPACTIONS, server.small_compactions),
    ):
        before, after = trend.first[metric], trend.second[metric]
        if not 0 < before < after:
            continue
        yield finding(
            "M14",
            Severity.WARNING,
            f"{metric} rose from {before} to {after}",
            {"before": before, "after": after},
            subject=metric,
            setting=(setting, str(2 * threads)),
            why="memstores that wait for a flush fill up"
            if metric == _FLUSH_QUEUE
            else "store files that wait for a compaction slow down reads, and in the end block flushes",
        )


def blocked_writes(server: RegionServer, trend: Trend) -> Iterator[Finding]:
    """M15: writes were blocked between the samples."""
    blocked_ms, requests = trend.change("updatesBlockedTime"), trend.change("blockedRequestCount")
    if blocked_ms > 0:
        yield finding(
            "M15",
            Severity.CRITICAL,
            f"writes were blocked for {blocked_ms} ms between the samples",
            {"delta": blocked_ms},
            subject="updatesBlockedTime",
            setting=(names.FLUSHERS, str(2 * server.flushers)),
            hint="check M5, M7 and M9 first: the memory may be too small for the writes",
            why="the memstores of the server reached the global limit",
        )
    if requests > 0:
        yield finding(
            "M15",
            Severity.CRITICAL,
            f"{requests} requests were rejected between the samples",
            {"delta": requests},
            subject="blockedRequestCount",
            setting=(names.BLOCK_MULTIPLIER, str(2 * server.block_multiplier)),
            hint="check M17 first, and spread the row keys if one region takes most writes",
            why="the memstore of a region reached its limit faster than it was flushed",
        )


def log_files(memory: Memory, sample: Sample) -> Iterator[Finding]:
    """M16: nearly as many WAL files as the server may have."""
    files = sample["hlogFileCount"]
    if files < _LOGS_FULL * memory.max_logs:
        return
    is_low = memory.max_logs < memory.calculated_max_logs
    yield finding(
        "M16",
        Severity.WARNING,
        f"{files} WAL files of at most {memory.max_logs}",
        {"files": files, "max_logs": memory.max_logs},
        setting=(names.MAX_LOGS, str(memory.calculated_max_logs))
        if is_low
        else (names.FLUSH_INTERVAL, str(max(1, round(memory.server.flush_interval_s * 1000 / 2)))),
        why="with more files the regions with the oldest edits flush, however small their memstores are",
    )


def store_files(server: RegionServer, sample: Sample) -> Iterator[Finding]:
    """M17: stores with so many files that flushes will wait for compactions."""
    files, stores = sample["storeFileCount"], sample["storeCount"]
    if stores == 0:
        return
    ratio = files / stores
    if ratio <= server.blocking_store_files / 2:
        return
    yield finding(
        "M17",
        Severity.ERROR if ratio >= server.blocking_store_files else Severity.WARNING,
        f"{number(ratio)} files a store on average; flushes wait from {server.blocking_store_files} on",
        {"ratio": round(ratio, 2), "blocking_store_files": server.blocking_store_files},
        setting=(names.SMALL_COMPACTIONS, str(2 * server.small_compactions)),
        why="a region with that many files in a store does not flush until they are compacted, and then blocks writes",
    )


def writes_without_log(trend: Trend, writers: Writers) -> Iterator[Finding]:
    """M18: rows are written without the WAL, though all sinks use it."""
    count = trend.change("mutationsWithoutWALCount")
    if count <= 0 or not writers.uses_wal:
        return
    at_risk = trend.second["mutationsWithoutWALSize"]
    yield finding(
        "M18",
        Severity.WARNING,
        f"{count} mutations were written without the WAL between the samples, {size(at_risk)} are not flushed yet",
        {"count": count, "at_risk_bytes": at_risk},
        hint="find the other client that writes with SKIP_WAL",
        why="no sink has durability: skip, so other clients write rows that a crash of the server loses",
    )
