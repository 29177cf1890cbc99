"""
F14: a pipeline writes to HBase for half an hour with tickets of five minutes; nothing is lost.

`KERBEROS_MINUTES` is another duration, of six lifetimes.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from ingest.api import FamilySpec, Put, Scan, StoreError, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.names import unique
from tests.support.secured_hbase import SecuredHBase
from tests.support.servers import Kafka
from tests.support.service import Service
from tests.support.waiting import reached

pytestmark = [pytest.mark.fault, pytest.mark.slow]

MINUTES = float(os.environ.get("KERBEROS_MINUTES", "30"))
LIFETIMES = 6
LIFE_S = int(MINUTES * 60 / LIFETIMES)
RATE = 200
"""Events per second."""
RECOVERY_S = 60.0
FRESH_EVERY = 5
"""Seconds between new connections beside the pipeline."""
PIPELINE = "tickets"
CELL = b"f:q"


@pytest.fixture(scope="module")
def secured(servers_folder: Path) -> Iterator[SecuredHBase]:
    with SecuredHBase(servers_folder / "kerberos-tickets").running() as running:
        yield running


class Load:
    """
    Events for a pipeline, and two stores beside it: one that stays open, and one that is opened every few seconds.

    Attributes:
        expected: keys of all rows that are to be in the table.
    """

    def __init__(self, secured: SecuredHBase, kafka: Kafka, principal: str) -> None:
        keytab = secured.kdc.keytab("beside", [principal])
        self.settings = secured.settings(principal=principal, keytab=str(keytab))
        self.table, self.topic = unique("tickets"), kafka.create_topic("tickets", partitions=2)
        self.expected: set[bytes] = set()
        self._port = secured.server.region_server_port
        self._kafka = kafka
        self._sent = self._seconds = 0

    def run(self, seconds: float, service: Service) -> None:
        """Send and write for a time, in which the pipeline always runs and the first connection stays open."""
        with closing(opened(self.settings)) as steady:
            assert reached(lambda: self._has_put(steady), RECOVERY_S, 1.0)
            service.wait_for_state("running", PIPELINE)
            connections = self._connections()
            end_s = time.monotonic() + seconds
            while time.monotonic() < end_s:
                next_s = time.monotonic() + 1
                self._send()
                self._put(steady, b"steady")
                if self._seconds % FRESH_EVERY == 0:
                    with closing(opened(self.settings)) as fresh:
                        self._put(fresh, b"fresh")
                assert service.states() == {PIPELINE: "running"}
                self._seconds += 1
                time.sleep(max(0.0, next_s - time.monotonic()))
            assert connections
            assert connections <= self._connections()

    def _connections(self) -> set[int]:
        """Local ports of the connections of this process to the region server."""
        found = psutil.Process().net_connections(kind="tcp")
        return {each.laddr.port for each in found if each.raddr and each.raddr.port == self._port}

    def _has_put(self, store: HBaseStore) -> bool:
        try:
            self._put(store, b"first")
        except StoreError:
            return False
        return True

    def _send(self) -> None:
        numbers = range(self._sent, self._sent + RATE)
        self._kafka.produce(self.topic, [str(number) for number in numbers])
        self._sent += RATE
        self.expected |= {b"event-%d" % number for number in numbers}

    def _put(self, store: HBaseStore, name: bytes) -> None:
        key = b"%b-%d" % (name, self._seconds)
        store.apply(self.table, [Put(key, {CELL: b"x"}, 1)])
        self.expected.add(key)


def opened(settings: HBaseSettings) -> HBaseStore:
    store = HBaseStore.of(settings)
    store.open()
    return store


def content_of(secured: SecuredHBase, load: Load, kafka: Kafka, principal: str) -> dict[str, Any]:
    """The pipeline file."""
    login = {"principal": principal, "keytab": str(secured.kdc.keytab("pipeline", [principal]))}
    address = secured.server.bootstrap_servers
    return {
        "stores": {"cluster": {"hbase": {"bootstrap_servers": address, "security": {"kerberos": login}}}},
        "tables": {load.table: {"families": {"f": {}}}},
        "pipelines": {
            PIPELINE: {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [load.topic]}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "event-%{body}"}}],
                "sinks": [{"attr2hbase": {"table": load.table, "write_body": CELL.decode()}}],
            }
        },
    }


def test_connections_outlive_tickets_and_new_ones_have_new_tickets(
    secured: SecuredHBase, kafka: Kafka, tmp_path: Path
) -> None:
    kdc, part_s = secured.kdc, MINUTES * 60 / 2
    of_pipeline, beside = (kdc.add(name, max_life_s=LIFE_S) for name in (PIPELINE, "beside"))
    load = Load(secured, kafka, beside)
    with closing(opened(load.settings)) as store:
        store.ensure_table(TableSpec(load.table, (FamilySpec(b"f"),)))
    with Service(tmp_path / "service", content_of(secured, load, kafka, of_pipeline)) as service:
        service.start()
        load.run(part_s, service)
        before = kdc.tickets(of_pipeline)
        secured.restart_hbase()
        load.run(part_s, service)
        service.wait_for_offsets(kafka.ends(load.topic), PIPELINE, load.topic)
        assert service.stop() == 0
    assert kdc.tickets(of_pipeline) > before
    assert kdc.tickets(beside) >= LIFETIMES
    with closing(opened(load.settings)) as store:
        assert {row.key for row in store.scan(load.table, Scan())} == load.expected
