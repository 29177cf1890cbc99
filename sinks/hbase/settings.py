"""Settings of the HBase store; imports nothing heavy, so checking a file stays quick."""

from enum import StrEnum
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Duration, Model, StoreSettings, option
from ingest.formats.addresses import is_this_machine


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


class ThriftSecurity(Model):
    """How a connection to HBase is protected: it has no TLS, so only to this machine, unless `insecure: true`."""

    insecure: bool = option("True allows Thrift servers on other machines.", default=False)


class HBaseSettings(StoreSettings):
    """Options of the hbase store."""

    host: str = option("Host of the HBase Thrift server.", default="localhost", example="hbase1")
    port: int = option("Port of the HBase Thrift server.", default=9090, ge=1, le=65535)
    timeout: Duration = option(
        "How long a call may take. Keep it above the Thrift server's own retries (about 128s with HBase's defaults): "
        "a timed-out call is not cancelled and may still execute.",
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
        "A Thrift2 server beside it (same transport and protocol): needed to add and alter families of live tables, "
        "and to create tables with split points.",
        default=None,
        example={"host": "hbase1", "port": 9091},
    )
    security: ThriftSecurity = option(
        "A connection to a Thrift server has no TLS.", default={}, example={"insecure": True}
    )

    @model_validator(mode="after")
    def _is_protected(self) -> Self:
        if self.security.insecure:
            return self
        hosts = {"host": self.host} | ({"thrift2": self.thrift2.host} if self.thrift2 is not None else {})
        for name, host in hosts.items():
            if not is_this_machine(host):
                raise PydanticCustomError(
                    "conflict",
                    'Thrift server "{host}" is on another machine and there is no TLS; connect to a TLS proxy on this '
                    "machine, or add security: {insecure: true} if the network is trusted",
                    {"host": host, "option": name},
                )
        return self

    @property
    def worker_connections(self) -> int:
        """As `connections` says."""
        return self.connections

    @property
    def max_put_bytes(self) -> int:
        """Half of what a framed Thrift server takes with HBase's defaults."""
        return 1 << 20

    @property
    def creates_tables(self) -> bool:
        """Never: tables are created by `ingest table apply`."""
        return False

    @property
    def unsupported_reason(self) -> tuple[str, str] | None:
        """The first Thrift server alone cannot create any."""
        if self.thrift2 is not None:
            return None
        return "has no `thrift2`", "add `thrift2: {host: …, port: …}` to the store"

    def with_timeout(self, timeout_s: float) -> Self:
        """The same, with this as the longest time-out of a call."""
        return self.model_copy(update={"timeout": min(self.timeout, timeout_s)})
