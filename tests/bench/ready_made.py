"""A producer of prepared record batches, which uses almost none of the CPU that is measured."""

import socket
import struct
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from kafka.record.default_records import DefaultRecordBatchBuilder

_PRODUCE, _VERSION = 0, 3
_TIMEOUT_MS = 30_000
_MAX_BYTES = 1_000_000  # default limit of a broker
_NOT_LEADER = 6
_RETRY_S = 0.1  # as a producer's retry.backoff.ms


def batch(records: Iterable[tuple[bytes | None, bytes]]) -> bytes:
    """
    Keys and values as a record batch in a broker's format; the broker assigns the offsets.

    Raises:
        ValueError: the batch is larger than a broker accepts.
    """
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=False, producer_id=-1, producer_epoch=-1, base_sequence=-1,
        batch_size=_MAX_BYTES,
    )  # fmt: skip
    now_ms = time.time_ns() // 1_000_000
    for number, (key, value) in enumerate(records):
        if builder.append(number, timestamp=now_ms, key=key, value=value, headers=[]) is None:
            raise ValueError(f"with record {number} the batch has more than {_MAX_BYTES} bytes")
    return bytes(builder.build())


class ReadyMade:
    """
    Sends batches to one broker; used by one thread.

    kafka-python's producer would build the batches itself, at 20 us a record.

    Source: Kafka's protocol guide, Produce version 3.
    """

    def __init__(self, port: int, topic: str) -> None:
        self._topic = topic.encode()
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_MS / 1000)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, batches: Mapping[int, bytes]) -> dict[int, int]:
        """
        Send batches (partition -> batch) and wait for the response.

        A batch for a partition without a leader is sent again, as is needed just after a topic was created.

        Returns:
            partition -> offset of the first record of its batch.
        """
        found: dict[int, int] = {}
        deadline = time.monotonic() + _TIMEOUT_MS / 1000
        while True:
            waiting: dict[int, bytes] = {}
            for partition, (error, offset) in self._request(batches).items():
                if error == _NOT_LEADER and time.monotonic() < deadline:
                    waiting[partition] = batches[partition]
                elif error:
                    raise RuntimeError(f"the broker refused a batch for partition {partition}: error {error}")
                else:
                    found[partition] = offset
            if not waiting:
                return found
            batches = waiting
            time.sleep(_RETRY_S)

    def _request(self, batches: Mapping[int, bytes]) -> dict[int, tuple[int, int]]:
        """Partition -> (error, offset of the first record of its batch)."""
        parts = [struct.pack(">hhihhhii", _PRODUCE, _VERSION, 0, -1, -1, 1, _TIMEOUT_MS, 1)]
        parts.append(struct.pack(">h", len(self._topic)) + self._topic + struct.pack(">i", len(batches)))
        for partition, written in batches.items():
            parts += (struct.pack(">ii", partition, len(written)), written)
        request = b"".join(parts)
        self._socket.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", self._read(4))
        answer = self._read(size)
        at = 8 + 2 + len(self._topic)  # after the correlation id, the number of topics and the name of the topic
        (count,) = struct.unpack_from(">i", answer, at)
        found: dict[int, tuple[int, int]] = {}
        for index in range(count):
            partition, error, offset, _ = struct.unpack_from(">ihqq", answer, at + 4 + 22 * index)
            found[partition] = (error, offset)
        return found

    def _read(self, count: int) -> bytes:
        found = bytearray()
        while len(found) < count:
            piece = self._socket.recv(count - len(found))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            found += piece
        return bytes(found)
