"""
HBase's filter for scans with patterns of row keys, and the servers that apply it correctly.

Source: Filter and FuzzyRowFilter of Filter.proto, BytesBytesPair of HBase.proto. A pattern is a pair of bytes of equal
length: the key, and a mask with 00 for each fixed position and 01 for each other one.

`FuzzyRowFilter` of HBase 2.4 to 2.6 compares a row with as much of a pattern as the row has. For a row that no pattern
matches it computes the next row key that can match, and the scanner moves there. In a forward scan it therefore returns
every row that matches a `FuzzyPattern`, and also rows that end within one. The client drops these.

The filter is not used where it loses rows:

- In reverse scans. The next row key that it computes has 00 instead of ff at positions of any byte, so matching rows
  after it are skipped (HBASE-28634, which the correction does not cover completely), and it may be the present row, so
  that the scan does not end (HBASE-30226).
- On a server whose JVM does not let HBase read memory unaligned: there all positions are fixed (HBASE-30256, corrected
  in 2.5.16 and 2.6.7). A server on Java 17 is one unless it was started with
  `--add-opens java.base/java.nio=ALL-UNNAMED`. No call returns this, so the client checks a server once, with a row
  that it has just read.

A mask has at least one 01: a server that does not know `is_mask_v2`, which came with HBASE-15676, takes a mask of 00
alone for one of 01 alone.
"""

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from ingest.api import MAX_ROW_KEY_BYTES, FuzzyPattern, Scan
from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import data, flag
from sinks.hbase.rpc.connection import Connection
from sinks.hbase.rpc.errors import RemoteError
from sinks.hbase.rpc.regions import Region
from sinks.hbase.rpc.scanner import Bounds, ClientScanner, scan_message

_FUZZY = b"org.apache.hadoop.hbase.filter.FuzzyRowFilter"
_FIXED, _ANY = b"\x00", b"\x01"


def fuzzy_filter(patterns: Sequence[FuzzyPattern]) -> bytes:
    """A Filter for the row keys that match at least one pattern."""
    # the positions of any byte at the end of a pattern may be missing from a row key, so one of them is enough
    return _filter(
        _pair(pattern.key[: (end := pattern.fixed_length)] + _FIXED, pattern.mask[:end] + _ANY) for pattern in patterns
    )


def _filter(pairs: Iterable[bytes]) -> bytes:
    # Filter: name 1, serialized_filter 2; FuzzyRowFilter: fuzzy_keys_data 1, is_mask_v2 2
    return data(1, _FUZZY) + data(2, b"".join(pairs) + flag(2))


def _pair(key: bytes, mask: bytes) -> bytes:
    # BytesBytesPair: first 1, second 2
    return data(1, data(1, key) + data(2, mask))


class ServerFilters:
    """
    Which servers apply the filter correctly.

    A check is valid for a connection: a server that was restarted, perhaps with another Java, has a new one.
    """

    def __init__(self) -> None:
        self._checked: WeakKeyDictionary[Connection, bool] = WeakKeyDictionary()

    def of(
        self, scan: Scan, connection: Connection, region: Region, known_row: bytes | None, deadline_s: float
    ) -> bytes | None:
        """
        The Filter of a scan with patterns; None if its server cannot apply it, or was not checked.

        Args:
            scan: that is read.
            connection: to the server with the region.
            region: to be read next.
            known_row: key of a row that the scan has read; the server is checked with it if the region contains it.
            deadline_s: of the check.

        Raises:
            RemoteError, ConnectionLostError, WireError: as the call of a scanner.
        """
        if scan.reverse or not scan.fuzzy or any(each.fixed_length >= MAX_ROW_KEY_BYTES for each in scan.fuzzy):
            return None
        is_correct = self._checked.get(connection)
        if is_correct is None:
            if not known_row or not region.contains(known_row):
                return None
            is_correct = self._checked[connection] = _is_found(connection, region, known_row, scan, deadline_s)
        return fuzzy_filter(scan.fuzzy) if is_correct else None

    def is_lossy(self, connection: Connection) -> bool:
        """Whether the server of a connection was checked, and loses rows."""
        return self._checked.get(connection) is False


def _is_found(connection: Connection, region: Region, row: bytes, scan: Scan, deadline_s: float) -> bool:
    """
    Whether a server finds a row with a filter for its key, whose first position is of any byte.

    The key of the filter has another byte there, so a server that takes all positions for fixed ones does not find it.
    """
    key, mask = bytes((row[0] ^ 0xFF,)) + row[1:], _ANY + bytes(len(row) - 1)
    check = _filter([_pair(key, mask)])
    bounds = Bounds(row, row, includes_last=True)
    scanner = ClientScanner(
        connection, region.name, scan_message(bounds, scan.columns, 1, scan.times, server_filter=check)
    )
    try:
        page = scanner.next(1, deadline_s)
    except RemoteError as error:
        if error.kind is not Kind.UNAVAILABLE:  # of an exception without a meaning of its own
            raise
        return False
    scanner.close()
    return [found.row for found in page.rows] == [row]
