"""
Damaged answers of a server: an operation raises a store's error or repeats its call; it does not hang.

A damaged answer may be another valid one, so what a read returns is not compared, except where bytes are missing.
"""

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.api import ALL_TIMES, FamilySpec, NotFoundError, Put, Scan, ScanCounts, StoreError
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.master import Master
from sinks.hbase.rpc.reading import Reader
from sinks.hbase.rpc.region_sizes import stored_regions
from sinks.hbase.rpc.regions import RegionCache
from sinks.hbase.rpc.repeating import RepeatedCalls
from sinks.hbase.rpc.writing import Writer
from tests.support.damaged_frames import CHANGES, Change
from tests.support.rows_server import TABLE, RowsServer
from tests.support.rpc_server import framed

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", settings().max_examples))
"""`FUZZ_EXAMPLES=5000` for a search of minutes."""
KEYS = [b"%c%d" % (letter, number) for letter in b"az" for number in range(4)]
ROWS = {key: key * 3 for key in KEYS}
MULTI, SCAN, GET, REGISTRY = "Multi", "Scan", "Get", "GetMetaRegionLocations"
MASTER = [
    "GetActiveMaster",
    "GetTableNames",
    "GetTableDescriptors",
    "CreateTable",
    "ModifyColumn",
    "getProcedureResult",
]
WAIT_S = 0.1

Damage = Callable[[bytes], bytes | None]


def undamaged(_method: str, frame: bytes) -> bytes:
    return frame


@pytest.fixture(scope="module")
def server() -> Iterator[RowsServer]:
    made = RowsServer()
    yield made
    made.close()


def damaged(method: str, call: int, damage: Damage) -> Callable[[str, bytes], bytes | None]:
    """Damages the answer of one call of a method, counted from 0."""
    calls = itertools.count()
    return lambda name, frame: damage(frame) if name == method and next(calls) == call else frame


class Client:
    """
    Writes, reads, and calls of the master.

    Attributes:
        timeout_s: of an operation; short while a damaged answer may be waited for.
    """

    def __init__(self, server: RowsServer) -> None:
        self.timeout_s = 20.0
        self.cluster = Cluster([server.address], may_leave_machine=False)
        self.cluster.open()
        calls = self._calls = RepeatedCalls(self.cluster, RegionCache(self.cluster), self._attempts)
        self._writer = Writer(calls, max_cell_bytes=1 << 20)
        self._reader = Reader(calls, lambda _table: frozenset([b"f"]))
        self._master = Master(self.cluster, self._attempts, lambda: 1, sleep=lambda _seconds: None)

    def write(self) -> None:
        self._writer.apply("t", [Put(key, {b"f:q": value}, 1) for key, value in ROWS.items()], self._attempts())

    def scan(self) -> dict[bytes, bytes]:
        return {row.key: row.cells[0].value for row in self._reader.scan("t", Scan(), ScanCounts())}

    def get(self) -> None:
        self._reader.get("t", KEYS[0], None, 1, ALL_TIMES)

    def sizes(self) -> list[int]:
        return [region.file_bytes for region in stored_regions(self._calls, "t")]

    def table_names(self) -> list[str]:
        return self._master.table_names()

    def families(self) -> tuple[FamilySpec, ...]:
        return self._master.families("t")

    def create_table(self) -> None:
        self._master.create_table(TABLE)

    def change_family(self) -> None:
        self._master.change_family("t", FamilySpec(b"f", versions=3))

    def _attempts(self) -> Attempts:
        return Attempts(self.timeout_s)


@contextmanager
def client_of(server: RowsServer) -> Iterator[Client]:
    server.rows.clear()
    client = Client(server)
    try:
        yield client
    finally:
        server.damage = undamaged
        client.cluster.close()


def overwritten(at: int, content: bytes) -> Damage:
    return lambda frame: frame[: at % len(frame)] + content + frame[at % len(frame) + len(content) :]


def inserted(at: int, content: bytes) -> Damage:
    """With the length of the frame corrected, so that the answer is read to its end."""
    return lambda frame: framed(frame[4:][: at % (len(frame) - 4)] + content + frame[4:][at % (len(frame) - 4) :])


def cut(at: int) -> Damage:
    """With the length of the frame corrected."""
    return lambda frame: framed(frame[4 : 4 + at % (len(frame) - 4)])


def changed(changes: list[Change]) -> Damage:
    """An answer of which some fields or cells have changed, with correct lengths around them."""
    return lambda frame: functools.reduce(lambda found, change: change.applied_to(found), changes, frame)


POSITIONS = st.integers(0, 600)
FIELDS = st.lists(CHANGES, min_size=1, max_size=3).map(changed)
DAMAGES = st.one_of(
    FIELDS,
    FIELDS,
    FIELDS,
    st.builds(overwritten, POSITIONS, st.binary(min_size=1, max_size=6)),
    st.builds(inserted, POSITIONS, st.binary(min_size=1, max_size=6)),
    st.builds(cut, POSITIONS),
    st.binary(max_size=60).map(lambda content: lambda _frame: framed(content)),
    st.binary(max_size=60).map(lambda content: lambda _frame: content),
    st.just(lambda _frame: None),
)


@settings(max_examples=EXAMPLES)
@given(method=st.sampled_from([MULTI, SCAN, GET, REGISTRY]), call=st.integers(0, 4), damage=DAMAGES)
def test_damaged_answer_is_an_error_or_another_attempt(server, method, call, damage):
    with client_of(server) as client:
        server.damage, client.timeout_s = damaged(method, call, damage), WAIT_S
        for operation in (client.write, client.scan, client.get):
            with suppress(StoreError, NotFoundError):
                operation()
        server.damage, client.timeout_s = undamaged, 20.0
        client.write()  # the connections and the cache of regions are usable again
        assert client.scan() == ROWS


@settings(max_examples=EXAMPLES)
@given(method=st.sampled_from([*MASTER, "GetRegionLoad"]), call=st.integers(0, 2), damage=DAMAGES)
def test_damaged_answer_about_tables_is_an_error_or_another_attempt(server, method, call, damage):
    with client_of(server) as client:
        server.damage, client.timeout_s = damaged(method, call, damage), WAIT_S
        for operation in (
            client.table_names, client.families, client.create_table, client.change_family, client.sizes
        ):  # fmt: skip
            with suppress(StoreError, NotFoundError):
                operation()
        server.damage, client.timeout_s = undamaged, 20.0
        client.change_family()
        assert (client.table_names(), client.families()) == (["t", "n:u"], TABLE.families)
        assert client.sizes() == [3 << 20, 3 << 20]


def shortened(at: int, ends: str) -> Damage:
    """An answer that ends early: its frame is that short, or incomplete, or the connection breaks."""
    if ends == "frame":
        return cut(at)
    return (lambda frame: frame[: at % len(frame)]) if ends == "waits" else (lambda _frame: None)


ENDS = st.sampled_from(["frame", "waits", "breaks"])


@settings(max_examples=EXAMPLES)
@given(at=st.integers(0, 200), ends=ENDS)
def test_rows_without_a_whole_answer_are_not_reported_as_stored(server, at, ends):
    with client_of(server) as client:
        client.scan()  # reads the meta table
        short = shortened(at, ends)
        server.damage, client.timeout_s = lambda name, frame: short(frame) if name == MULTI else frame, WAIT_S
        with pytest.raises(StoreError):
            client.write()


@settings(max_examples=EXAMPLES)
@given(call=st.integers(1, 5), at=st.integers(0, 600), ends=ENDS)
def test_scan_whose_answer_ends_early_misses_no_row(server, call, at, ends):
    with client_of(server) as client:
        client.write()
        server.damage, client.timeout_s = damaged(SCAN, call, shortened(at, ends)), WAIT_S
        with suppress(StoreError):  # a connection that waits for the rest of the answer
            assert client.scan() == ROWS
