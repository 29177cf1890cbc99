"""
The call `Multi`: many mutations of many regions of one server.

Source: MultiRequest, RegionAction, Action, MutationProto and MultiResponse of Client.proto. An Action says what kind of
mutation it is and how many cells of the block belong to it; the cells have the row key. The deletion of a whole row has
no cells, so its Action has the row key, and HBase adds a marker for each family. An answer has a result for each
region, in the order of the request, and in it one for each mutation, in any order, with the index of the mutation.

A request has thousands of actions that differ in their index alone, so the actions of each kind are kept. An answer
without exceptions is recognized by a regular expression, and not parsed.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ingest.api import Delete, Durability, Mutation
from sinks.hbase.errors import Kind
from sinks.hbase.protobuf import Message, WireError, data, number, read_varint, varint
from sinks.hbase.rpc.cells import cell_count
from sinks.hbase.rpc.errors import RemoteError
from sinks.hbase.rpc.requests import DURABILITIES, MUTATION_DELETE, MUTATION_PUT, region_specifier
from sinks.hbase.ttl import ATTRIBUTE, ttl_value

MAX_ROWS = 5000
"""Of one call: a server warns about more (`hbase.rpc.rows.warning.threshold`)."""
MAX_BYTES = 1280 << 10
"""
Of the cells of one call with several rows: about half of the cells of a full write buffer, so that two calls of equal
size are in flight for it. Larger calls are not faster, and the server keeps them in memory.
"""

_MAX_KINDS = 64
"""Whose actions are kept: 5,000 of one take about 300 KB."""

MAX_ROW_BYTES = 128 << 20
"""Of the cells of one row, which cannot be divided: half of the largest request that a server accepts."""

_INDEX = rb"[\x80-\xff]{0,2}[\x00-\x7f]"  # a varint below 2**21
_STORED = re.compile(rb"(?:\n[\x04-\x06]\x08" + _INDEX + rb"\x12\x00)*")
"""ResultOrException, any number of times: an index, and an empty Result."""
_STORED_INDEX = re.compile(rb"\n[\x04-\x06]\x08(" + _INDEX + rb")\x12\x00")
_RESULT_KEY = 0x0A  # field 1 of MultiResponse, with a length
_PROCESSED_KEY = 0x18


class Batch(NamedTuple):
    """
    The mutations of one region in a call.

    Attributes:
        region: its name.
        indexes: of the mutations, in the order of the caller's list.
    """

    region: bytes
    indexes: list[int]


class BatchFailure(NamedTuple):
    """
    What went wrong in a batch.

    Attributes:
        indexes: of the mutations that the exception is about, in the order of the caller's list.
        is_of_region: it is about all mutations of the batch, though one of them may have caused it.
    """

    error: RemoteError
    indexes: Sequence[int]
    is_of_region: bool


class MultiEncoder:
    """Writes the message of a call; called by one thread."""

    def __init__(self) -> None:
        self._actions: dict[tuple[int, int, Durability], list[bytes]] = {}

    def request(self, batches: Sequence[Batch], mutations: Sequence[Mutation]) -> bytes:
        """A MultiRequest."""
        parts = []
        for batch in batches:
            own = [mutations[index] for index in batch.indexes]
            kinds = {(type(each), cell_count(each), each.durability, each.ttl_ms) for each in own}
            if len(kinds) == 1 and _has_cells(own[0]):
                actions = self._of_kind(own[0], range(len(own)))
            else:
                actions = [self._action(at, mutation) for at, mutation in enumerate(own)]
            parts.append(data(1, data(1, region_specifier(batch.region)) + b"".join(actions)))
        return b"".join(parts)

    def _action(self, at: int, mutation: Mutation) -> bytes:
        if _has_cells(mutation):
            (action,) = self._of_kind(mutation, range(at, at + 1))
            return action
        whole_row = data(1, mutation.row) + number(2, MUTATION_DELETE) + number(4, mutation.timestamp_ms)
        return _action(at, whole_row + _durability(mutation))

    def _of_kind(self, mutation: Mutation, indexes: range) -> list[bytes]:
        """Actions that differ from that of a mutation in their index alone."""
        key = (MUTATION_DELETE if type(mutation) is Delete else MUTATION_PUT, cell_count(mutation), mutation.durability)
        if mutation.ttl_ms is not None:  # not kept: each put may have another one
            kind = number(2, MUTATION_PUT) + _ttl(mutation.ttl_ms) + _durability(mutation) + number(8, key[1])
            return [_action(at, kind) for at in indexes]
        kept = self._actions.get(key)
        if kept is None or len(kept) < indexes.stop:
            kind = number(2, key[0]) + _durability(mutation) + number(8, key[1])
            if kept is None:
                if len(self._actions) >= _MAX_KINDS:
                    return [_action(at, kind) for at in indexes]
                kept = self._actions[key] = []
            kept += [_action(at, kind) for at in range(len(kept), indexes.stop)]
        return kept[indexes.start : indexes.stop]


def _has_cells(mutation: Mutation) -> bool:
    """Whether it has cells; the deletion of a whole row has none."""
    return type(mutation) is not Delete or mutation.family is not None


def _action(at: int, mutation: bytes) -> bytes:
    return data(3, number(1, at) + data(2, mutation))


def _ttl(ttl_ms: int) -> bytes:
    """An attribute of a MutationProto: a NameBytesPair."""
    return data(5, data(1, ATTRIBUTE) + data(2, ttl_value(ttl_ms)))


def _durability(mutation: Mutation) -> bytes:
    return number(6, DURABILITIES[mutation.durability])


def failures(answer: bytes, batches: Sequence[Batch]) -> list[BatchFailure]:
    """
    The exceptions in a MultiResponse.

    Raises:
        WireError: it has no result for one of the mutations.
    """
    found: list[BatchFailure] = []
    at = 0
    for batch in batches:
        if at >= len(answer) or answer[at] != _RESULT_KEY:
            raise WireError(f"no result of region {batch.region!r} in an answer")
        size, at = read_varint(answer, at + 1)
        end = at + size
        if end > len(answer):
            raise WireError(f"a result of {size} bytes at byte {at} of {len(answer)}")
        if not _all_stored(answer, at, end, len(batch.indexes)):
            found += _failures_of(answer[at:end], batch)
        at = end
    return found


def _all_stored(answer: bytes, at: int, end: int, mutations: int) -> bool:
    """Whether a RegionActionResult has an empty Result for each mutation, and nothing else but `processed` (3)."""
    matched = _STORED.match(answer, at, end)
    rest = end if matched is None else matched.end()
    if rest != end and not (rest + 2 == end and answer[rest] == _PROCESSED_KEY):
        return False
    indexes = _STORED_INDEX.findall(answer, at, rest)
    return len(indexes) == mutations and frozenset(indexes) == _all_indexes(mutations)


@lru_cache(maxsize=64)
def _all_indexes(mutations: int) -> frozenset[bytes]:
    return frozenset(map(varint, range(mutations)))


def _failures_of(result: bytes, batch: Batch) -> list[BatchFailure]:
    message = Message(result)
    if message.has(2):
        return [BatchFailure(_exception(message.message(2)), batch.indexes, is_of_region=True)]
    found = []
    answered = set()
    for each in message.messages(1):
        at = each.number(1)
        if at >= len(batch.indexes):
            raise WireError(f"a result of mutation {at} of {len(batch.indexes)}")
        answered.add(at)
        if each.has(3):
            error = _exception(each.message(3))
            found.append(BatchFailure(error, [batch.indexes[at]], is_of_region=False))
    if len(answered) != len(batch.indexes):
        raise WireError(f"results of {len(answered)} mutations of {len(batch.indexes)}")
    if len(found) == len(batch.indexes) and all(
        failure.error.kind is Kind.TOO_LARGE or failure.error.is_unclear for failure in found
    ):
        # for one such row HBase or a coprocessor rejects the whole batch, and HBase says so of each row
        return [BatchFailure(found[0].error, batch.indexes, is_of_region=True)]
    return found


def _exception(pair: Message) -> RemoteError:
    """A NameBytesPair of HBase.proto: the class and the text."""
    return RemoteError(pair.text(1), pair.text(2))
