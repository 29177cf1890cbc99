"""Calls of HBase's native RPC that the product does not need: increments, flushes and major compactions."""

import random
import struct

from ingest.api import Durability, split_column
from sinks.hbase.protobuf import Message, data, flag, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cells import decoded
from sinks.hbase.rpc.connection import Answer
from sinks.hbase.rpc.requests import DURABILITIES, region_specifier
from sinks.hbase.rpc.store import RpcStore
from tests.support.waiting import reached

_AMOUNT = struct.Struct(">q")
_INCREMENT = 1  # MutationType of a MutationProto
_NO_COMPACTION = 0  # CompactionState of GetRegionInfoResponse
_CALL_S = 60.0
_POLL_S = 0.2


def increment(store: RpcStore, table: str, row: bytes, column: bytes, amount: int, nonce: int | None = None) -> int:
    """
    Add to a cell that has a signed number of eight bytes, which is 0 without a cell; returns the sum.

    Args:
        store: open.
        table: its name.
        row: the row key.
        column: of the cell.
        amount: in 64 bits, signed.
        nonce: above 0; a server executes the requests with the same one once, for six minutes. None for a new one.
    """
    # MutateRequest of Client.proto: mutation 2, nonce_group 4. MutationProto: row 1, mutate_type 2, column_value 3,
    # durability 6, nonce 9. ColumnValue: family 1, qualifier_value 2; QualifierValue: qualifier 1, value 2
    nonce = nonce or random.getrandbits(63)
    family, qualifier = split_column(column)
    cell = data(1, family) + data(2, data(1, qualifier or b"") + data(2, _AMOUNT.pack(amount)))
    mutation = data(1, row) + number(2, _INCREMENT) + data(3, cell) + number(6, DURABILITIES[Durability.SYNC])
    request = data(2, mutation + number(9, nonce)) + number(4, nonce)
    return store._calls.of_row(table, row, "Mutate", request, _sum, is_write=True)


def _sum(answer: Answer) -> int:
    ((_, cell),) = decoded(answer.cells)
    (value,) = _AMOUNT.unpack(cell.value)
    return int(value)


def flush(store: RpcStore, table: str) -> None:
    """Write the memstores of a table, whose regions do not move, to files."""
    _on_regions(store, table, "FlushRegion", b"")


def major_compact(store: RpcStore, table: str, timeout_s: float) -> None:
    """Compact a table, whose regions do not move, into one file for each family and region."""
    # files of a compaction that runs are not part of another one
    for request in (b"", flag(2)):
        if request:
            # CompactRegionRequest: region 1, major 2; it is only requested by the call
            _on_regions(store, table, "CompactRegion", request)
        assert reached(lambda: _is_compacted(store, table), timeout_s, _POLL_S)


def _is_compacted(store: RpcStore, table: str) -> bool:
    # GetRegionInfoRequest: region 1, compaction_state 2; GetRegionInfoResponse: compaction_state 2
    states = [answer.number(2) for answer in _on_regions(store, table, "GetRegionInfo", flag(2))]
    return all(state == _NO_COMPACTION for state in states)


def _on_regions(store: RpcStore, table: str, method: str, request: bytes) -> list[Message]:
    """The answers to a call of AdminService about each region."""
    deadline_s = Attempts(_CALL_S).deadline_s
    calls, answers = store._calls, []
    for each in calls.regions.present(table, deadline_s).all:
        region, server = calls.located(table, each)
        message = data(1, region_specifier(region.name)) + request
        answers.append(Message(calls.cluster.call(server, "AdminService", method, message, deadline_s).message))
    return answers
