"""HBase with TLS fulfils the contract of stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.testing.stores import StoreContract, StoreFixture
from sinks.hbase.settings import HBaseSettings
from tests.support.authority import Authority
from tests.support.hbase_stores import HBaseStores
from tests.support.local import HBaseServer, jars

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def settings(servers_folder: Path) -> Iterator[HBaseSettings]:
    """Of a cluster that accepts only TLS, and only clients with a certificate."""
    folder = servers_folder / "tls"
    authority = Authority(folder / "authority")
    stores = {
        "keystore": authority.issue("hbase"),
        "truststore": authority.certificate,
    }
    properties = {f"hbase.rpc.tls.{kind}.location": str(file) for kind, file in stores.items()}
    properties |= {f"hbase.rpc.tls.{kind}.type": "PEM" for kind in stores}
    properties |= {
        "hbase.server.netty.tls.enabled": "true",
        "hbase.client.netty.tls.enabled": "true",
        "hbase.server.netty.tls.supportplaintext": "false",
    }
    server = HBaseServer(folder / "hbase", properties=properties, java_options=jars.SHORT_LIVED)
    try:
        server.start()
        server.wait()
        tls = {"ca_file": str(authority.certificate), "key_file": str(authority.issue("client"))}
        yield HBaseSettings.model_validate(
            {"bootstrap_servers": server.bootstrap_servers, "timeout": "60s", "security": {"tls": tls}}
        )
    finally:
        server.stop()


class TestHBaseWithTls(StoreContract):
    @pytest.fixture
    def kit(self, settings: HBaseSettings) -> StoreFixture:
        return HBaseStores(settings)
