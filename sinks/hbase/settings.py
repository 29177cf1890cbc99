"""What can be set about HBase; imports nothing heavy, so checking a file stays quick."""

from enum import StrEnum
from typing import Self

from ingest.api import ByteSize, Duration, Model, StoreSettings, option


class Transport(StrEnum):
    """How the Thrift server frames its messages."""

    BUFFERED = "buffered"
    FRAMED = "framed"


class Protocol(StrEnum):
    """How the Thrift server writes values."""

    BINARY = "binary"
    COMPACT = "compact"


class Thrift2Settings(Model):
    """Where a Thrift2 server listens."""

    host: str = option("Host of the Thrift2 server.", example="hbase1")
    port: int = option("Port of the Thrift2 server.", ge=1, le=65535, example=9091)


class HBaseSettings(StoreSettings):
    """Options of the hbase store."""

    host: str = option("Host of the HBase Thrift server.", default="localhost", example="hbase1")
    port: int = option("Port of the HBase Thrift server.", default=9090, ge=1, le=65535)
    timeout: Duration = option(
        "How long a call may take. Keep it above the Thrift server's own retries (about 128s with HBase's defaults): "
        "a call that was given up may still be carried out.",
        default="180s",
        gt=0,
    )
    connections: int = option(
        "Connections of each pipeline in a worker process; a row key always uses the same one.", default=1, ge=1
    )
    transport: Transport = option(
        "buffered, or framed where the Thrift server runs as nonblocking, hsha or threadedselector.",
        default="buffered",
        strict=False,
    )
    protocol: Protocol = option(
        "binary, or compact where `hbase.regionserver.thrift.compact` is set.", default="binary", strict=False
    )
    max_cell_bytes: ByteSize = option(
        "Largest cell, as `hbase.client.keyvalue.maxsize` and `hbase.server.keyvalue.maxsize` of the cluster say; row "
        "key, column and 24 bytes of lengths, time and type count too. A larger one is refused before it is sent.",
        default="10MiB",
        gt=0,
    )
    thrift2: Thrift2Settings | None = option(
        "A Thrift2 server beside it (same transport and protocol): lets families of live tables be added and changed, "
        "and tables be made with splits.",
        default=None,
        example={"host": "hbase1", "port": 9091},
    )

    @property
    def worker_connections(self) -> int:
        """As `connections` says."""
        return self.connections

    @property
    def max_put_bytes(self) -> int:
        """Half of what a framed Thrift server takes with HBase's defaults."""
        return 1 << 20

    @property
    def why_no_families(self) -> tuple[str, str] | None:
        """Through the first Thrift server alone none can be made."""
        if self.thrift2 is not None:
            return None
        return "has no `thrift2`", "add `thrift2: {host: …, port: …}` to the store"

    def impatient(self, timeout_s: float) -> Self:
        """The same, but no call waits for longer."""
        return self.model_copy(update={"timeout": min(self.timeout, timeout_s)})
