"""How the benchmark's producer handles responses of a broker."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.bench.ready_made import ReadyMade


@contextmanager
def broker(*answers: dict[int, tuple[int, int]]) -> Iterator[tuple[int, list[int]]]:
    """A broker with these responses (partition -> error, offset): its port, and the batches of each request."""
    batch_counts: list[int] = []

    def serve() -> None:
        with listening.accept()[0] as peer:
            for answer in answers:
                with peer.makefile("rb") as stream:
                    request = stream.read(struct.unpack(">i", stream.read(4))[0])
                # follows version, correlation id, client id, transaction, acks, timeout, one topic and its name
                batch_counts.append(struct.unpack_from(">i", request, 24 + len("topic"))[0])
                body = struct.pack(">iih", 0, 1, len("topic")) + b"topic" + struct.pack(">i", len(answer))
                body += b"".join(struct.pack(">ihqq", p, error, at, -1) for p, (error, at) in answer.items())
                peer.sendall(struct.pack(">i", len(body)) + body)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1], batch_counts
        thread.join()


def test_only_the_batch_of_a_partition_without_leader_is_resent():
    with broker({0: (6, -1), 1: (0, 4)}, {0: (6, -1)}, {0: (0, 7)}) as (port, counts), ReadyMade(port, "topic") as made:
        assert made.send({0: b"a", 1: b"b"}) == {0: 7, 1: 4}
    assert counts == [2, 1, 1]


def test_other_errors_are_raised():
    refused = pytest.raises(RuntimeError, match="partition 0: error 10")
    with broker({0: (10, -1)}) as (port, _), ReadyMade(port, "topic") as made, refused:
        made.send({0: b"a"})
