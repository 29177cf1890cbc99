"""F14: a pipeline writes to HBase with tickets of five minutes for half an hour, and nothing is lost or delayed."""

import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ingest.api import FamilySpec, Put, Scan, TableSpec
from sinks.hbase.settings import HBaseSettings
from sinks.hbase.store import HBaseStore
from tests.support.names import unique
from tests.support.secured_hbase import SecuredHBase
from tests.support.servers import Kafka
from tests.support.service import Service

pytestmark = [pytest.mark.fault, pytest.mark.slow]

MINUTES = float(os.environ.get("KERBEROS_MINUTES", "30"))
LIFETIMES = 6
LIFE_S = int(MINUTES * 60 / LIFETIMES)
RATE = 200
"""Events per second."""
FRESH_EVERY = 5
"""Seconds between new connections beside the pipeline."""
CELL = b"f:q"


@pytest.fixture(scope="module")
def secured(servers_folder: Path) -> Iterator[SecuredHBase]:
    with SecuredHBase(servers_folder / "kerberos-tickets").running() as running:
        yield running


def opened(settings: HBaseSettings) -> HBaseStore:
    store = HBaseStore(settings)
    store.open()
    return store


def test_connections_outlive_tickets_and_new_ones_have_new_tickets(
    secured: SecuredHBase, kafka: Kafka, tmp_path: Path
) -> None:
    kdc = secured.kdc
    principals = {name: kdc.add(name, max_life_s=LIFE_S) for name in ("pipeline", "beside")}
    keytabs = {name: kdc.keytab(name, [principal]) for name, principal in principals.items()}
    settings = secured.settings(principal=principals["beside"], keytab=str(keytabs["beside"]))
    table, topic = unique("tickets"), kafka.create_topic("tickets", partitions=2)
    login = {"principal": principals["pipeline"], "keytab": str(keytabs["pipeline"])}
    content = {
        "stores": {
            "cluster": {
                "hbase": {
                    "bootstrap_servers": secured.server.bootstrap_servers,
                    "security": {"kerberos": login},
                }
            }
        },
        "tables": {table: {"families": {"f": {}}}},
        "pipelines": {
            "tickets": {
                "source": {"kafka": {"brokers": kafka.brokers, "topics": [topic]}},
                "decorators": [{"value": {"attribute": "2hb_", "value": "event-%{body}"}}],
                "sinks": [{"attr2hbase": {"table": table, "write_body": CELL.decode()}}],
            }
        },
    }
    with closing(opened(settings)) as steady, Service(tmp_path / "service", content) as service:
        steady.ensure_table(TableSpec(table, (FamilySpec(b"f"),)))
        service.start().wait_for_state("running", "tickets")
        sent = seconds = 0
        end_s = time.monotonic() + MINUTES * 60
        while time.monotonic() < end_s:
            next_s = time.monotonic() + 1
            sent += kafka.produce(topic, [str(number) for number in range(sent, sent + RATE)])
            steady.apply(table, [Put(b"steady-%d" % seconds, {CELL: b"x"}, 1)])
            if seconds % FRESH_EVERY == 0:
                with closing(opened(settings)) as fresh:
                    fresh.apply(table, [Put(b"fresh-%d" % seconds, {CELL: b"x"}, 1)])
            assert service.states() == {"tickets": "running"}
            seconds += 1
            time.sleep(max(0.0, next_s - time.monotonic()))
        service.wait_for_offsets(kafka.ends(topic), "tickets", topic)
        assert service.stop() == 0
        expected = {b"event-%d" % number for number in range(sent)}
        expected |= {b"steady-%d" % number for number in range(seconds)}
        expected |= {b"fresh-%d" % number for number in range(0, seconds, FRESH_EVERY)}
        assert {row.key for row in steady.scan(table, Scan())} == expected
    for principal in principals.values():
        # the first ticket, and a new one after half of the lifetime of each
        assert kdc.tickets(principal) >= LIFETIMES, kdc.requests
