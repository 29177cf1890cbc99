"""
The settings of a region server on which memstores, write-ahead log and flushes depend, and the sizes that follow.

Source: HBase 2.6, MemorySizeUtil (of 2.4.18 to 2.6.6 and 3.0.0), AbstractFSWAL, FlushLargeStoresPolicy, HRegion,
hbase-default.xml.
"""

import math
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from ingest.doctor.hbase.property_reader import PropertyReader
from ingest.doctor.versions import numbers_of
from ingest.formats.hadoop_site import Properties

MEMSTORE_SIZE = "hbase.regionserver.global.memstore.size"
LOWER_LIMIT = "hbase.regionserver.global.memstore.size.lower.limit"
OLD_UPPER_LIMIT = "hbase.regionserver.global.memstore.upperLimit"
OLD_LOWER_LIMIT = "hbase.regionserver.global.memstore.lowerLimit"
OFFHEAP_MEMSTORE = "hbase.regionserver.offheap.global.memstore.size"
FLUSH_SIZE = "hbase.hregion.memstore.flush.size"
BLOCK_MULTIPLIER = "hbase.hregion.memstore.block.multiplier"
WAL_BLOCK_SIZE = "hbase.regionserver.hlog.blocksize"
DFS_BLOCK_SIZE = "dfs.blocksize"
ROLL_MULTIPLIER = "hbase.regionserver.logroll.multiplier"
MAX_LOGS = "hbase.regionserver.maxlogs"
FAMILY_FLUSH_MIN = "hbase.hregion.percolumnfamilyflush.size.lower.bound.min"
BLOCKING_STORE_FILES = "hbase.hstore.blockingStoreFiles"
FLUSHERS = "hbase.hstore.flusher.count"
SMALL_COMPACTIONS = "hbase.regionserver.thread.compaction.small"
FLUSH_INTERVAL = "hbase.regionserver.optionalcacheflushinterval"
BLOCK_CACHE = "hfile.block.cache.size"
BLOCK_CACHE_BYTES = "hfile.block.cache.memory.size"
MEMSTORE_BYTES = "hbase.regionserver.global.memstore.memory.size"
MIN_FREE_BYTES = "hbase.regionserver.free.heap.min.memory.size"
HANDLERS = "hbase.regionserver.handler.count"
VERSION = "hbase.defaults.for.version"

DEFAULT_MEMSTORE = 0.4
DEFAULT_LOWER_LIMIT = 0.95
MAX_MEMSTORE = 0.8
MIN_LOGS = 32
DEFAULT_MIN_FREE = 0.2
"""Of the heap, which memstores and block cache leave for everything else."""

_MIB = 1 << 20
_SINCE = {  # property -> the first version of each line that knows it; earlier ones ignore it
    BLOCK_CACHE_BYTES: ((2, 5, 11), (2, 6, 2), (3, 0, 0)),
    MIN_FREE_BYTES: ((2, 5, 13), (2, 6, 4), (3, 0, 0)),
    MEMSTORE_BYTES: ((2, 5, 14), (2, 6, 5), (3, 0, 0)),
}
_BYTES = {"block_cache_bytes": BLOCK_CACHE_BYTES, "min_free_bytes": MIN_FREE_BYTES, "memstore_bytes": MEMSTORE_BYTES}

_COUNTS = {  # field -> property, and its least value
    "flush_size": (FLUSH_SIZE, 1),
    "block_multiplier": (BLOCK_MULTIPLIER, 1),
    "wal_block_size": (WAL_BLOCK_SIZE, 1),
    "family_flush_min": (FAMILY_FLUSH_MIN, 0),
    "blocking_store_files": (BLOCKING_STORE_FILES, 1),
    "flushers": (FLUSHERS, 1),
    "small_compactions": (SMALL_COMPACTIONS, 1),
    "handlers": (HANDLERS, 1),
}


class OldName(NamedTuple):
    """
    A property under the name that it had before HBase 2.

    Attributes:
        old: the name found.
        name: the present name.
        value: the value in force, as the present name expects it.
        conflicting: the value under the old name, if the present name is set to another one; None if not.
    """

    old: str
    name: str
    value: float
    conflicting: float | None


@dataclass(frozen=True, slots=True)
class RegionServer:
    """
    The configuration of a region server; by default HBase's defaults.

    Attributes:
        memstore_size: global memstore limit as a fraction of the heap, as configured.
        lower_limit: low water mark as a fraction of that limit, as configured.
        old_names: properties set under old names.
        flush_size: memstore size in bytes at which a region flushes.
        block_multiplier: a region blocks writes at this multiple of `flush_size`.
        wal_block_size: block size of WAL files in bytes.
        roll_multiplier: a WAL file is closed at this fraction of a block.
        max_logs: maximum number of WAL files if set by hand; None if HBase calculates it.
        family_flush_min: memstore size in bytes from which a flush of a region selects a family.
        blocking_store_files: store files from which flushes of a region wait for compactions.
        flushers: flush threads.
        small_compactions: threads for small compactions.
        flush_interval_s: maximum age of an edit in a memstore.
        block_cache: block cache as a fraction of the heap.
        block_cache_bytes: the same in bytes, which wins if it is above 0; None if it is not set.
        memstore_bytes: global memstore limit in bytes, which wins if it is a valid fraction of the heap.
        min_free_bytes: least heap besides memstores and block cache; None, or below 0, for a fifth.
        ignored: properties set that this version does not know, and so ignores.
        offheap_memstore: global memstore limit outside the heap in bytes; 0 for the heap.
        handlers: threads that serve requests.
        version: of HBase; None if the configuration does not list the defaults.
    """

    memstore_size: float = DEFAULT_MEMSTORE
    lower_limit: float = DEFAULT_LOWER_LIMIT
    old_names: tuple[OldName, ...] = ()
    flush_size: int = 128 * _MIB
    block_multiplier: int = 4
    wal_block_size: int = 256 * _MIB
    roll_multiplier: float = 0.5
    max_logs: int | None = None
    family_flush_min: int = 16 * _MIB
    blocking_store_files: int = 16
    flushers: int = 2
    small_compactions: int = 1
    flush_interval_s: float = 3600.0
    block_cache: float = 0.4
    block_cache_bytes: int | None = None
    memstore_bytes: int | None = None
    min_free_bytes: int | None = None
    ignored: tuple[str, ...] = ()
    offheap_memstore: int = 0
    handlers: int = 30
    version: str | None = None

    @classmethod
    def of(cls, properties: Properties) -> "RegionServer":
        """
        The configuration with these properties, and HBase's defaults for the others.

        Raises:
            ConfigError: a value is not a number, or out of range; the message has its place.
        """
        read = PropertyReader(properties)
        found: dict[str, Any] = {}
        if DFS_BLOCK_SIZE in properties:
            found["wal_block_size"] = 2 * read.size(DFS_BLOCK_SIZE)
        found |= {name: read.count(key, least) for name, (key, least) in _COUNTS.items() if key in properties}
        if ROLL_MULTIPLIER in properties:
            found["roll_multiplier"] = read.number(ROLL_MULTIPLIER, above=0)
        if BLOCK_CACHE in properties:
            found["block_cache"] = read.fraction(BLOCK_CACHE)
        if MAX_LOGS in properties and not properties[MAX_LOGS].is_default:
            found["max_logs"] = read.count(MAX_LOGS, 1)
        if OFFHEAP_MEMSTORE in properties:
            found["offheap_memstore"] = read.count(OFFHEAP_MEMSTORE, 0) * _MIB
        if FLUSH_INTERVAL in properties:
            found["flush_interval_s"] = read.count(FLUSH_INTERVAL, 0) / 1000
        if VERSION in properties and properties[VERSION].value[:1].isdigit():
            found["version"] = properties[VERSION].value
        present = {field: name for field, name in _BYTES.items() if name in properties}
        known = {field: name for field, name in present.items() if _knows(found.get("version"), name)}
        found |= {field: read.storage_size(name) for field, name in known.items()}
        found["ignored"] = tuple(sorted(set(present.values()) - set(known.values())))
        return cls(**found, **_memstore(read))

    @property
    def effective_memstore_size(self) -> float:
        """The fraction of the heap that HBase uses: its default if the configured one is out of range."""
        return self.memstore_size if 0 < self.memstore_size <= MAX_MEMSTORE else DEFAULT_MEMSTORE

    @property
    def needs_heap(self) -> bool:
        """Whether the fractions of memstores and block cache depend on the heap."""
        return (self.block_cache_bytes, self.memstore_bytes, self.min_free_bytes) != (None, None, None)

    @property
    def effective_lower_limit(self) -> float:
        """The fraction of the global limit that HBase uses: at most 1."""
        return min(self.lower_limit, 1.0)

    @property
    def roll_size(self) -> int:
        """Size in bytes at which a WAL file is closed."""
        return max(1, math.floor(self.wal_block_size * self.roll_multiplier))


@dataclass(frozen=True, slots=True)
class Memory:
    """
    The sizes that follow from a configuration and the heap, in bytes.

    Attributes:
        heap: maximum heap of the region server.
    """

    server: RegionServer
    heap: int

    @property
    def memstore_size(self) -> float:
        """The fraction of the heap that HBase gives the memstores: that of the bytes if it is in range."""
        own = self._fraction(self.server.memstore_bytes or 0)
        return own if 0 < own <= MAX_MEMSTORE else self.server.effective_memstore_size

    @property
    def block_cache(self) -> float:
        """The fraction of the heap that HBase gives the block cache."""
        own = self.server.block_cache_bytes or 0
        return self._fraction(own) if own > 0 else self.server.block_cache

    @property
    def min_free(self) -> float:
        """The fraction of the heap that both have to leave, else HBase refuses to start."""
        own = self.server.min_free_bytes
        return self._fraction(own) if own is not None and own >= 0 else DEFAULT_MIN_FREE

    @property
    def limit(self) -> int:
        """Global memstore limit: above it, the server blocks all writes."""
        return self.server.offheap_memstore or max(1, math.floor(self.memstore_size * self.heap))

    @property
    def low_mark(self) -> int:
        """Low water mark: above it, the server flushes its largest memstores."""
        return max(1, math.floor(self.server.effective_lower_limit * self.limit))

    @property
    def calculated_max_logs(self) -> int:
        """Maximum number of WAL files that HBase calculates for this limit."""
        return max(MIN_LOGS, math.floor(2 * self._unrounded_limit / self._unrounded_roll))

    @property
    def max_logs(self) -> int:
        """Maximum number of WAL files; with more, the regions with the oldest edits flush."""
        return self.server.max_logs or self.calculated_max_logs

    @property
    def log_limit(self) -> int:
        """Bytes in that many WAL files."""
        return self.max_logs * self.server.roll_size

    def flush_size(self, regions: int) -> int:
        """Size of a memstore at its flush, if so many regions are written at the same rate."""
        return max(1, min(self.server.flush_size, self.low_mark // regions))

    def _fraction(self, size: int) -> float:
        """Of the heap, as HBase divides."""
        return float32(float32(size) / float32(self.heap))

    @property
    def _unrounded_limit(self) -> float:
        return self.server.offheap_memstore or self.memstore_size * self.heap

    @property
    def _unrounded_roll(self) -> float:
        return self.server.wal_block_size * self.server.roll_multiplier


def float32(value: float) -> float:
    """The nearest float of 32 bits, with which HBase calculates fractions."""
    (rounded,) = struct.unpack("f", struct.pack("f", value))
    return float(rounded)


def _knows(version: str | None, name: str) -> bool:
    """Whether a version knows a property; yes if the version is unknown."""
    if version is None:
        return True
    numbers, is_early = numbers_of(version), "-alpha" in version or "-beta" in version
    for since in reversed(_SINCE[name]):
        if numbers[:2] >= since[:2]:
            return numbers > since or (numbers == since and not is_early)
    return False


def _memstore(read: PropertyReader) -> dict[str, Any]:
    """
    The two global memstore settings, which have old names.

    The old lower limit is a fraction of the heap, the present one of the global limit. The present names win.
    """
    found: dict[str, Any] = {}
    old_names = []
    upper = read.optional(MEMSTORE_SIZE)
    old_upper = read.optional(OLD_UPPER_LIMIT)
    if old_upper is not None:
        is_conflict = upper is not None and upper != old_upper
        in_force = old_upper if upper is None else upper
        old_names.append(OldName(OLD_UPPER_LIMIT, MEMSTORE_SIZE, in_force, old_upper if is_conflict else None))
        upper = in_force
    if upper is not None:
        found["memstore_size"] = upper
    lower = read.optional(LOWER_LIMIT, above=0)
    old_lower = read.optional(OLD_LOWER_LIMIT, above=0)
    if old_lower is not None:
        # the fraction of the limit that HBase uses, which is not always the configured one
        old_lower /= RegionServer(**found).effective_memstore_size
        is_conflict = lower is not None and not math.isclose(lower, old_lower, rel_tol=1e-6)
        in_force = old_lower if lower is None else lower
        old_names.append(OldName(OLD_LOWER_LIMIT, LOWER_LIMIT, in_force, old_lower if is_conflict else None))
        lower = in_force
    if lower is not None:
        found["lower_limit"] = lower
    return found | {"old_names": tuple(old_names)}
