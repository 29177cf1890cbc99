"""A server that speaks a producer's part of Kafka's protocol, and answers as a test says; kafka-python encodes it."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafka.protocol.admin import DescribeConfigsRequest, DescribeConfigsResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, MetadataResponse
from kafka.protocol.producer import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from kafka.record.memory_records import MemoryRecords

from tests.support.rpc_server import frame, framed

_SERVED = {
    ProduceRequest: (ProduceResponse, 9),
    MetadataRequest: (MetadataResponse, 9),
    ApiVersionsRequest: (ApiVersionsResponse, 4),
    InitProducerIdRequest: (InitProducerIdResponse, 4),
    DescribeConfigsRequest: (DescribeConfigsResponse, 4),
}
"""Request -> its response, and the one version that is served."""
_BY_KEY = {request.API_KEY: request for request in _SERVED}
CLUSTER_ID = "c"
_HEAD = struct.Struct(">hhi")
_UNKNOWN_TOPIC = 3


class Produced(NamedTuple):
    """A record of a request."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Sequence[tuple[str, bytes | None]]


class Refusal(NamedTuple):
    """
    How a batch is refused.

    Attributes:
        code: number of the error in Kafka's protocol.
        records: positions of the records at fault -> the broker's words; none if the batch is at fault.
    """

    code: int
    records: dict[int, str] = {}  # noqa: RUF012 - the default of a named tuple, never changed


Answers = Callable[[Sequence[Produced]], Refusal | None]
"""None accepts the batch of one partition; a test may wait in it."""


class KafkaServer:
    """
    One broker on loopback that leads all partitions.

    Args:
        answer: of each batch.
        topics: name -> number of partitions; all others do not exist.

    Attributes:
        batches: all that were received, in their order.
        accepted: their records, if they were accepted.
        connections: how many there were with requests of records.
        sockets: the accepted connections.
        leaderless: topics whose partitions have no leader.
        min_in_sync: the setting `min.insync.replicas` of all topics; each partition has one replica.
    """

    def __init__(self, answer: Answers, topics: dict[str, int]) -> None:
        self._answer = answer
        self._topics = topics
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self.port: int = self._listening.getsockname()[1]
        self.batches: list[Sequence[Produced]] = []
        self.accepted: list[Produced] = []
        self.connections = 0
        self.sockets: list[socket.socket] = []
        self.leaderless: set[str] = set()
        self.min_in_sync = 1
        self._start(self._accept)

    def close(self) -> None:
        """End all connections and threads."""
        for each in (self._listening, *self.sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _start(self, run: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=run, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self._listening.accept()
                self.sockets.append(accepted)
                self._start(lambda accepted=accepted: self._serve(accepted))  # type: ignore[misc]

    def _serve(self, accepted: socket.socket) -> None:
        has_produced = False
        with contextlib.suppress(OSError), accepted:
            while True:
                content = frame(accepted)
                key, version, call = _HEAD.unpack_from(content)
                if _BY_KEY[key] is ProduceRequest and not has_produced:
                    has_produced, self.connections = True, self.connections + 1
                request = _BY_KEY[key].decode(content, version=version, header=True)
                response, served = _SERVED[_BY_KEY[key]]
                assert version == served
                answer = response(version=version, **self._fields(request))
                answer.with_header(correlation_id=call)
                accepted.sendall(framed(bytes(answer.encode(header=True))))

    def _fields(self, request: Any) -> dict[str, Any]:
        match request:
            case ApiVersionsRequest():
                version = ApiVersionsResponse.ApiVersion
                served = [
                    version(api_key=each.API_KEY, min_version=at, max_version=at) for each, (_, at) in _SERVED.items()
                ]
                return {"api_keys": served}
            case InitProducerIdRequest():
                return {"producer_id": 1, "producer_epoch": 0}
            case MetadataRequest():
                return self._metadata(request)
            case DescribeConfigsRequest():
                return self._configs(request)
        return self._produce(request)

    def _metadata(self, request: Any) -> dict[str, Any]:
        broker = MetadataResponse.MetadataResponseBroker(node_id=0, host="127.0.0.1", port=self.port, rack=None)
        names = [topic.name for topic in request.topics or ()]
        kind = MetadataResponse.MetadataResponseTopic
        topics = [
            kind(
                error_code=0 if name in self._topics else _UNKNOWN_TOPIC,
                name=name,
                is_internal=False,
                partitions=[
                    kind.MetadataResponsePartition(
                        error_code=0,
                        partition_index=number,
                        leader_id=-1 if name in self.leaderless else 0,
                        leader_epoch=0,
                        replica_nodes=[0],
                        isr_nodes=[0],
                        offline_replicas=[],
                    )
                    for number in range(self._topics.get(name, 0))
                ],
            )
            for name in names
        ]
        return {"brokers": [broker], "cluster_id": CLUSTER_ID, "controller_id": 0, "topics": topics}

    def _configs(self, request: Any) -> dict[str, Any]:
        kind = DescribeConfigsResponse.DescribeConfigsResult
        setting = kind.DescribeConfigsResourceResult(
            name="min.insync.replicas",
            value=str(self.min_in_sync),
            read_only=False,
            config_source=1,
            is_sensitive=False,
            synonyms=[],
            config_type=3,
            documentation=None,
        )
        results = [
            kind(
                error_code=0,
                error_message=None,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                configs=[setting],
            )
            for each in request.resources
        ]
        return {"throttle_time_ms": 0, "results": results}

    def _produce(self, request: Any) -> dict[str, Any]:
        kind = ProduceResponse.TopicProduceResponse
        topics = []
        for topic in request.topic_data:
            parts = []
            for part in topic.partition_data:
                batch = list(_records(topic.name, part.index, bytes(part.records)))
                self.batches.append(batch)
                refusal = self._answer(batch)
                if refusal is None:
                    self.accepted += batch
                    refusal = Refusal(0)
                each = kind.PartitionProduceResponse
                errors = [
                    each.BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=words)
                    for at, words in refusal.records.items()
                ]
                parts.append(
                    each(
                        index=part.index,
                        error_code=refusal.code,
                        base_offset=-1 if refusal.code else len(self.accepted) - len(batch),
                        log_append_time_ms=-1,
                        log_start_offset=0,
                        record_errors=errors,
                        error_message=None,
                    )
                )
            topics.append(kind(name=topic.name, partition_responses=parts))
        return {"responses": topics}


def _records(topic: str, partition: int, content: bytes) -> Sequence[Produced]:
    found = []
    batches = MemoryRecords(content)
    while (batch := batches.next_batch()) is not None:
        found += [
            Produced(topic, partition, each.key, each.value, each.timestamp, tuple(each.headers)) for each in batch
        ]
    return found
