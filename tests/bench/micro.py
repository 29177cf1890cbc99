"""Nanoseconds in this process: sinks, row keys, Thrift messages, and the chain of four decorators of a goal."""

from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.transport import TBufferedTransport

from ingest.api import Event, OnError, Put
from ingest.catalog import Catalog
from ingest.pipeline.chain import Chain
from ingest.pipeline.outcomes import BoundDecorator
from sinks.hbase.rpc.cells import CellEncoder
from sinks.hbase.rpc.multi import Batch, MultiEncoder
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.thrift.connection import Client
from sinks.hbase.thrift.encoding import Encoder
from sinks.hbase.thrift.message import METHOD
from sinks.hbase.thrift.thrift1 import BatchMutation, Hbase, ThriftMutation
from sinks.rowkeys.distribution import Distribution
from tests.bench.timing import measured

BODY = (
    b'203.0.113.9 - alice [26/Jul/2026:11:48:05 +0000] "GET /shop/item/42?page=7 HTTP/1.1" 200 5120 "-" "Mozilla/5.0"'
)

CHAIN_OF_FOUR = (
    ("regex", {"pattern": r'"(\S+) (\S+)', "attributes": ["2hb_web:method", "2hb_web:path"]}),
    ("split", {"separator": " ", "index": 0, "attribute": "2hb_web:ip"}),
    ("format", {"template": "%{'2hb_web:method'}:%{nanos}"}),
    ("value", {"attribute": "2hb_", "value": "%{key}-%{nanos}"}),
)
NINE = tuple(f"c{number}" for number in range(9))
CELL_BLOCK = "native RPC, cell block"
SINKS = {
    "attr2hbase, 9 cells": ("attr2hbase", {"table": "t"}),
    "hbase, 9 cells": (
        "hbase",
        {
            "table": "t",
            "row_key": {"template": "%{'2hb_'}"},
            "cells": [{"family": "web", "qualifier": name, "value": f"%{{'2hb_web:{name}'}}"} for name in NINE],
        },
    ),
    "hbase, 9 numbers, none missing": (
        "hbase",
        {
            "table": "t",
            "row_key": {"template": "%{'2hb_'}"},
            "cells": [
                {
                    "family": "web",
                    "qualifier": name,
                    "value": f"%{{'2hb_web:{name}'}}",
                    "encoding": "int64",
                    "on_missing": "unset",
                }
                for name in NINE
            ],
        },
    ),
}


def sinks() -> dict[str, float]:
    """Sink with its options -> ns per event."""
    attributes = {"2hb_": b"k1-1308748686334000700"} | {f"2hb_web:{name}": b"5120" for name in NINE}
    found = {}
    for name, (kind, options) in SINKS.items():
        component = Catalog().load("sinks", kind)
        map_one = component(component.settings_class().model_validate(options)).map
        found[name] = measured(lambda event, map_one=map_one: map_one(event, 1), lambda: Event(BODY, dict(attributes)))
    return found


def row_keys() -> dict[str, float]:
    """Length of a row key -> ns to put its bucket before it."""
    keys = {"8 bytes": b"k1-17000", "32 bytes": b"user-0017-1308748686334000700-00", "128 bytes": BODY[:128]}
    return {name: measured(Distribution(16).physical, lambda key=key: key) for name, key in keys.items()}


def writes() -> dict[str, float]:
    """Protocol and encoder -> ns per row of nine cells, up to the socket."""
    puts = [
        Put(b"%08d" % number, {b"web:%b" % name.encode(): BODY[:20] for name in NINE}, 5) for number in range(2_000)
    ]
    found = {}
    for protocol, protocol_class in (("binary", TBinaryProtocol), ("compact", TCompactProtocol)):
        client = Client(Hbase, protocol_class(TBufferedTransport(_Nowhere())))
        encoder = Encoder(HBaseSettings.model_validate({"protocol": protocol}))

        def prepared(puts: list[Put], client: Client = client, encoder: Encoder = encoder) -> None:
            for call in encoder.calls("t", puts, tuple):
                client.write(call.message)

        def objects(puts: list[Put], client: Client = client) -> None:
            rows = [
                BatchMutation(
                    row=put.row,
                    mutations=[
                        ThriftMutation(isDelete=False, column=column, value=value, writeToWAL=True)
                        for column, value in put.columns.items()
                    ],
                )
                for put in puts
            ]
            client._send(METHOD, tableName=b"t", rowBatches=rows, timestamp=5, attributes={})

        for name, encode in (("prepared", prepared), ("thriftpy2's objects", objects)):
            found[f"{protocol}, {name}"] = measured(encode, lambda: puts, loops=1) / len(puts)
    cells, messages = CellEncoder(10 << 20), MultiEncoder()
    batch = [Batch(b"t,,1.", list(range(len(puts))))]

    def block(puts: list[Put]) -> None:
        b"".join([cells.put(put) for put in puts])
        messages.request(batch, puts)

    found[CELL_BLOCK] = measured(block, lambda: puts, loops=1) / len(puts)
    return found


class _Nowhere:
    """A transport that discards everything."""

    def write(self, data: bytes) -> None:
        pass

    def flush(self) -> None:
        pass


def chain_of_four() -> float:
    """Events per second through regex, split, format and value, on one core."""
    catalog = Catalog()
    bound = []
    for name, options in CHAIN_OF_FOUR:
        component = catalog.load("decorators", name)
        settings = component.settings_class().model_validate(options)
        bound.append(BoundDecorator(component(settings), name, None, OnError.DEAD_LETTER))
    return 1e9 / measured(Chain(bound).run, lambda: Event(BODY, {}, key=b"k1"))
