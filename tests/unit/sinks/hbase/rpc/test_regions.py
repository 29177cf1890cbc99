"""Which region has a row key."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import NoTableError, Put, StoreRefusedError
from sinks.hbase.protobuf import Message, WireError, data, flag, number
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.regions import Region, RegionCache, Regions
from sinks.hbase.rpc.stream import Address
from tests.support.rpc_server import Request, RpcServer

HERE = Address("127.0.0.1", 1)


def region(start: bytes, end: bytes) -> Region:
    return Region(start, end, b"t," + start, HERE)


@given(splits=st.sets(st.binary(min_size=1, max_size=3), max_size=6), row=st.binary(max_size=4))
def test_region_of_a_row_and_region_before_it(splits, row) -> None:
    edges = [b"", *sorted(splits), b""]
    regions = Regions([region(*pair) for pair in itertools.pairwise(edges)][::-1])
    found = regions.of(row)
    assert found is not None
    assert found.start <= row
    assert not found.end or row < found.end
    before = regions.before(row)
    assert before is not None
    if row:
        assert before.start < row
        assert not before.end or row <= before.end
    else:
        assert before.end == b""


def test_region_has_its_start_and_not_its_end() -> None:
    edges = {(b"b", b"d"): [False, True, True, False], (b"b", b""): [False, True, True, True]}
    edges[b"", b"d"] = [True, True, True, False]
    for pair, expected in edges.items():
        assert [region(*pair).contains(row) for row in (b"a", b"b", b"c", b"d")] == expected


def test_region_that_a_split_or_move_hides() -> None:
    regions = Regions([region(b"", b"b"), region(b"d", b"")])
    assert regions.of(b"b") is regions.of(b"c") is None
    assert regions.before(b"c") is None
    assert regions.before(b"b") == region(b"", b"b")
    first_hidden = Regions([region(b"b", b"")])
    assert first_hidden.of(b"a") is first_hidden.before(b"a") is first_hidden.before(b"b") is None
    assert Regions([]).of(b"") is Regions([]).before(b"") is None
    assert Regions([region(b"", b"b"), region(b"b", b"d")]).before(b"") is None


class Meta:
    """The meta table of a cluster with one server."""

    def __init__(self, rows: dict[bytes, dict[bytes, bytes]]) -> None:
        encoder = CellEncoder(1 << 20)
        self._cells = b"".join(encoder.put(Put(row, columns, 1)) for row, columns in rows.items())
        self._counts = [len(columns) for columns in rows.values()]
        self.server = RpcServer(self._answer)
        self.cluster = Cluster([self.server.address], may_leave_machine=False)
        self.cluster.open()

    def _answer(self, request: Request) -> bytes:
        if request.method == "GetMetaRegionLocations":
            name = data(1, b"127.0.0.1") + number(2, self.server.address.port)
            return request.answer(data(1, data(2, name)))
        assert Message(request.parameter).message(2).number(7) == 1, "of a region that has moved, the new place alone"
        counts = b"".join(number(1, count) for count in self._counts)
        return request.answer(counts + number(2, 7) + flag(3) + flag(8, value=False), self._cells)

    def close(self) -> None:
        self.cluster.close()
        self.server.close()


def info(start: bytes, end: bytes, *, more: bytes = b"") -> bytes:
    return b"PBUF" + number(1, 1) + data(2, b"") + data(3, start) + data(4, end) + more


@pytest.fixture
def read(request: pytest.FixtureRequest):
    made: list[Meta] = []

    def regions(rows: dict[bytes, dict[bytes, bytes]], table: str = "t") -> Regions:
        made.append(Meta(rows))
        return RegionCache(made[-1].cluster).of(table, made[-1].cluster._clock() + 10)

    yield regions
    for each in made:
        each.close()


def test_regions_are_read_from_the_meta_table(read) -> None:
    found = read(
        {
            b"t": {b"table:state": number(1, 0)},
            b"t,,1.a.": {b"info:regioninfo": info(b"", b"m", more=flag(5) + flag(6)), b"info:server": b"h:1"},
            b"t,,1.b.": {b"info:regioninfo": info(b"", b"g", more=flag(5)), b"info:server": b"h:1"},
            b"t,,1.c.": {b"info:regioninfo": info(b"", b"h", more=flag(6)), b"info:server": b"h:1"},
            b"t,,2.b.": {b"info:regioninfo": info(b"", b"m"), b"info:server": b"host:16020", b"info:state": b"OPEN"},
            b"t,m,2.c.": {b"info:regioninfo": info(b"m", b"")},
            b"t,x,2.d.": {b"info:server": b"host:16020"},
        },
        table="default:t",
    )
    assert found.all == [
        Region(b"", b"m", b"t,,2.b.", Address("host", 16020)),
        Region(b"m", b"", b"t,m,2.c.", None),
    ]


@pytest.mark.parametrize("field", [5, 6], ids=["offline", "split"])
def test_region_that_is_offline_or_split_is_none(read, field: int) -> None:
    whole = {b"info:regioninfo": info(b"", b""), b"info:server": b"host:1"}
    rows = {
        b"t": {b"table:state": number(1, 0)},
        b"t,,1.a.": {b"info:regioninfo": info(b"", b"", more=flag(field))},
        b"t,,2.b.": whole,
    }
    assert [each.name for each in read(rows).all] == [b"t,,2.b."]


@pytest.mark.parametrize(
    "place",
    ["", "host", "host:", ":16020", "host:x", "host:-1", "host:\N{ARABIC-INDIC DIGIT ONE}", "host:" + "1" * 5000],
)
def test_damaged_place_of_a_region_is_none(read, place: str) -> None:
    columns = {b"info:regioninfo": info(b"", b""), b"info:server": place.encode()}
    found = read({b"t": {b"table:state": number(1, 0)}, b"t,,1.a.": columns})
    assert found.all == [Region(b"", b"", b"t,,1.a.", None)]


def test_region_that_is_named_twice() -> None:
    twice = [region(b"", b"")._replace(server=None), region(b"", b"")]
    assert Regions(twice).all == twice


def test_missing_and_disabled_tables(read) -> None:
    with pytest.raises(NoTableError):
        read({})
    with pytest.raises(StoreRefusedError, match='table "t" is disabled'):
        read({b"t": {b"table:state": number(1, 1)}})
    with pytest.raises(StoreRefusedError, match='table "t" is disabled'):
        read({b"t": {b"table:state": number(1, 2)}})
    with pytest.raises(WireError):
        read({b"t": {b"table:state": number(1, 9)}})
