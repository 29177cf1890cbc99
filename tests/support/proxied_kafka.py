"""A Kafka broker with a second listener behind a proxy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.local import KafkaServer, free_ports
from tests.support.proxy import Proxy
from tests.support.servers import Kafka


@contextmanager
def proxied_kafka(folder: Path, proxy: Proxy) -> Iterator[Kafka]:
    """
    A broker that advertises the proxy's address to clients that connect through the proxy.

    Args:
        folder: of the broker.
        proxy: its target is a free port, on which the broker listens.
    """
    kafka = Kafka(folder)
    plain, proxied, (controller,) = kafka.server.port, proxy.target[1], free_ports(1)
    kafka.server = KafkaServer(
        folder,
        properties={
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{proxied},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},PROXIED://127.0.0.1:{proxy.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        },
    )
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.close()
