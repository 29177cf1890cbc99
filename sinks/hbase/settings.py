"""Settings of the HBase store, without heavy imports, so that checking a file is quick."""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import ModelWrapValidatorHandler, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ingest.api import ByteSize, Durability, Duration, Model, StoreSettings, option
from ingest.api.settings import DerivedOption
from ingest.formats.addresses import is_this_machine
from sinks.hbase.security import HBaseSecurity
from sinks.hbase.site import Site

_THRIFT_OPTIONS = ("host", "port", "transport", "protocol", "thrift2")
THRIFT_ATTRIBUTES = frozenset({"BLOCKCACHE", "IN_MEMORY"})
"""Attributes of families that a descriptor of the Thrift interface has, besides the options."""
_MAX_PORT = 65535
_STAGING = re.compile(r"/[^?#]*[^?#/]|hdfs://[^/?#@]+/[^?#]+", re.IGNORECASE)
_HOST = re.compile(r"[^\s:;/,\[\]]+")


class Transport(StrEnum):
    """How the Thrift server frames its messages."""

    BUFFERED = "buffered"
    FRAMED = "framed"


class ThriftProtocol(StrEnum):
    """How the Thrift server encodes values."""

    BINARY = "binary"
    COMPACT = "compact"


class Thrift2Settings(Model):
    """Address of a Thrift2 server."""

    host: str = option("Host of the Thrift2 server.", example="hbase1")
    port: int = option("Port of the Thrift2 server.", ge=1, le=65535, example=9091)


class ZooKeeperSettings(Model):
    """ZooKeeper of a cluster; connections to it have neither TLS nor Kerberos, and read what everyone may read."""

    quorum: str = option(
        "Its servers, as `host:port` separated by commas; `hbase.zookeeper.quorum` of the cluster.",
        example="zk1:2181,zk2:2181,zk3:2181",
    )
    znode: str = option("The cluster's znode, `zookeeper.znode.parent`.", default="/hbase")

    @field_validator("quorum")
    @classmethod
    def _has_addresses(cls, value: str) -> str:
        for text in value.split(","):
            _address(text)
        return value

    @field_validator("znode")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if not value.startswith("/") or value.endswith("/") or "//" in value:
            raise PydanticCustomError(
                "wrong_type", '"{text}" is not the path of a znode; write /hbase', {"text": value}
            )
        return value

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """Host and port of each server."""
        return tuple(map(_address, self.quorum.split(",")))


class HBaseSettings(StoreSettings):
    """Options of the hbase store."""

    _derived: tuple[DerivedOption, ...] = PrivateAttr(())

    bootstrap_servers: str | None = option(
        "Masters or region servers, as `host:port` separated by commas, for HBase's native RPC in place of a Thrift "
        "server. One that answers is enough. Needs masters of HBase 2.3 or region servers of HBase 2.5.",
        default=None,
        example="hbase1:16000,hbase2:16000",
    )
    site: str | None = option(
        "Folder with the cluster's own hbase-site.xml and core-site.xml, or the first of them, for HBase's native RPC: "
        "servers or ZooKeeper, principals, protection and certificates are those of the files; other options of the "
        "store win. The files are read with the configuration.",
        default=None,
        example="/etc/hbase/conf",
    )
    zookeeper: ZooKeeperSettings | None = option(
        "ZooKeeper of the cluster, which says where the meta table and the active master are, for HBase's native RPC "
        "in place of `bootstrap_servers`.",
        default=None,
        example={"quorum": "zk1:2181,zk2:2181,zk3:2181"},
    )
    host: str = option("Host of the HBase Thrift server.", default="localhost", example="hbase1")
    port: int = option("Port of the HBase Thrift server.", default=9090, ge=1, le=65535)
    timeout: Duration = option(
        "How long a call may take; a timed-out call is not cancelled and may still execute. Keep it above the Thrift "
        "server's own retries (about 128s with HBase's defaults).",
        default="180s",
        gt=0,
    )
    connections: int = option(
        "Connections of each pipeline in a worker process, with `bootstrap_servers` to each region server; a row key "
        "always uses the same one.",
        default=1,
        ge=1,
    )
    transport: Transport = option(
        "buffered, or framed where the Thrift server runs as nonblocking, hsha or threadedselector.",
        default="buffered",
        strict=False,
    )
    protocol: ThriftProtocol = option(
        "binary, or compact where `hbase.regionserver.thrift.compact` is set.", default="binary", strict=False
    )
    max_cell_bytes: ByteSize = option(
        "Maximum size of a cell, as `hbase.client.keyvalue.maxsize` and `hbase.server.keyvalue.maxsize` of the "
        "cluster; it includes row key, column and 24 bytes of lengths, time and type. Larger cells are not sent.",
        default="10MiB",
        gt=0,
    )
    thrift2: Thrift2Settings | None = option(
        "A Thrift2 server of the cluster, with the same transport and protocol: needed to add and alter families of "
        "live tables, and to create tables with split points.",
        default=None,
        example={"host": "hbase1", "port": 9091},
    )
    staging: str | None = option(
        "Folder for files of bulk loads (`bulk_load` of a table), as HBase's servers and this machine see it: a path, "
        "or `hdfs://NAMENODE:PORT/PATH` in the HDFS of the cluster. Needs HBase's native RPC.",
        default=None,
        example="hdfs://namenode:8020/attr2hbase/staging",
    )
    security: HBaseSecurity = option(
        "Security of the connections; those to a Thrift server have neither TLS nor Kerberos.",
        default={},
        example={"insecure": True},
    )

    @model_validator(mode="wrap")
    @classmethod
    def _with_site(cls, options: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """The options, with those of the cluster's files below them."""
        site = options.get("site") if isinstance(options, dict) else None
        if not isinstance(site, str):
            return handler(options)
        for name in _THRIFT_OPTIONS:
            if name in options:
                raise PydanticCustomError(
                    "conflict",
                    "`{option}` is an option of a Thrift server; leave it out, or leave out `site`",
                    {"option": name},
                )
        files = Site(site)
        if (refusal := files.refusal(options)) is not None:
            raise PydanticCustomError("conflict", "{refusal}", {"refusal": refusal, "option": "site"})
        merged, derived = files.below(options)
        if not _names_servers(merged):
            raise PydanticCustomError(
                "missing_field",
                "the files of `site` name neither hbase.zookeeper.quorum nor masters; write `bootstrap_servers` or "
                "`zookeeper`",
                {"option": "site"},
            )
        if _needs_principal(merged):
            raise PydanticCustomError(
                "missing_field",
                "the cluster of `site` requires Kerberos; write security: {kerberos: {principal: …, keytab: …}}",
                {"option": "site"},
            )
        found = handler(merged)
        found._derived = derived  # noqa: SLF001 - of this class
        return found

    @property
    def derived(self) -> tuple[DerivedOption, ...]:
        """Those of the files of `site`."""
        return self._derived

    @property
    def is_native(self) -> bool:
        """Whether it reaches HBase by HBase's native RPC; else through a Thrift server."""
        return self.bootstrap_servers is not None or self.zookeeper is not None

    @field_validator("staging")
    @classmethod
    def _is_a_folder_of_hbase(cls, value: str | None) -> str | None:
        if value is not None and not _STAGING.fullmatch(value):
            is_file = value.lower().startswith("file:")
            why = "is a URL; a local folder is written as its path alone" if is_file else "is no folder for files"
            form = "write an absolute path, as in /mnt/staging, or hdfs://NAMENODE:PORT/PATH"
            raise PydanticCustomError("wrong_type", f'staging "{{text}}" {why}', {"text": value, "hint": form})
        return value

    @field_validator("bootstrap_servers")
    @classmethod
    def _has_addresses(cls, value: str | None) -> str | None:
        if value is not None:
            for text in value.split(","):
                _address(text)
        return value

    @model_validator(mode="after")
    def _is_of_one_protocol(self) -> Self:
        if self.bootstrap_servers is not None and self.zookeeper is not None:
            raise PydanticCustomError(
                "conflict", "write `bootstrap_servers` or `zookeeper`, not both", {"option": "zookeeper"}
            )
        if not self.is_native:
            if self.security.tls is not None:
                raise PydanticCustomError(
                    "conflict",
                    "a Thrift server has no TLS; connect to a TLS proxy on this machine, or write `bootstrap_servers`",
                    {"option": "security"},
                )
            if self.staging is not None:
                raise PydanticCustomError(
                    "conflict",
                    "a Thrift server loads no files; write `bootstrap_servers` in place of `host` and `port`, or leave "
                    "`staging` out",
                    {"option": "staging"},
                )
            if self.security.kerberos is not None:
                raise PydanticCustomError(
                    "conflict",
                    "a Thrift server has no Kerberos; write `bootstrap_servers` in place of `host` and `port`",
                    {"option": "security"},
                )
            return self
        for name in _THRIFT_OPTIONS:
            if name in self.model_fields_set:
                raise PydanticCustomError(
                    "conflict",
                    "`{option}` is an option of a Thrift server; leave it out, or leave out `{native}`",
                    {"option": name, "native": "zookeeper" if self.bootstrap_servers is None else "bootstrap_servers"},
                )
        return self

    @model_validator(mode="after")
    def _is_protected(self) -> Self:
        if self.security.insecure or self.security.is_encrypted:
            return self
        if self.is_native:
            option = "bootstrap_servers" if self.zookeeper is None else "zookeeper"
            for host, _ in self.addresses:
                if not is_this_machine(host):
                    raise PydanticCustomError(
                        "conflict",
                        'server "{host}" is on another machine, and the connection is not encrypted; {remedy}',
                        {"host": host, "remedy": self.security.remedy, "option": option},
                    )
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

    @model_validator(mode="after")
    def _has_packages(self) -> Self:
        self.security.check_packages()  # last: who installs one should not read of another error afterwards
        return self

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """The bootstrap servers or ZooKeeper; else the Thrift server, and the Thrift2 server if there is one."""
        if self.zookeeper is not None:
            return self.zookeeper.addresses
        if self.bootstrap_servers is not None:
            return tuple(map(_address, self.bootstrap_servers.split(",")))
        thrift2 = () if self.thrift2 is None else ((self.thrift2.host, self.thrift2.port),)
        return ((self.host, self.port), *thrift2)

    @property
    def worker_connections(self) -> int:
        """As `connections` says."""
        return self.connections

    @property
    def max_put_bytes(self) -> int:
        """Half of the maximum message of a framed Thrift server with HBase's defaults."""
        return 1 << 20

    @property
    def creates_tables(self) -> bool:
        """Never: tables are created by `attr2hbase table apply`."""
        return False

    @property
    def creates_families(self) -> bool:
        """Whether families can be added to live tables."""
        return self.unsupported_reason is None

    @property
    def deletes_versions(self) -> bool:
        """Whether one version of a cell can be deleted: a Thrift server deletes all versions up to a time."""
        return self.is_native

    @property
    def unsupported_reason(self) -> tuple[str, str] | None:
        """A Thrift server cannot create families, unless there is a Thrift2 server."""
        if self.thrift2 is not None or self.is_native:
            return None
        return "has no `thrift2`", "add `thrift2: {host: …, port: …}` to the store"

    @property
    def bulk_load_refusal(self) -> tuple[str, str] | None:
        """Files are loaded with HBase's native RPC, without Kerberos, from a folder."""
        if not self.is_native:
            return (
                "is reached through a Thrift server, which loads no files",
                "give the store `bootstrap_servers` in place of `host` and `port`, or leave `bulk_load` out",
            )
        if self.security.kerberos is not None:
            return (
                "has Kerberos, with which HBase needs a delegation token of HDFS for a load, which attr2hbase has not",
                "leave `bulk_load` out",
            )
        if self.staging is None:
            return (
                "names no folder for files",
                "add `staging: /FOLDER`, or hdfs://NAMENODE:PORT/FOLDER, to the store",
            )
        return None

    @property
    def cell_ttl_refusal(self) -> None:
        """None: a mutation has attributes in both protocols."""
        return

    @property
    def without_attributes(self) -> None:
        """None: families of HBase have attributes."""
        return

    def attribute_refusal(self, name: str) -> tuple[str, str] | None:
        """A Thrift server says and sets two of them alone."""
        if self.is_native or name in THRIFT_ATTRIBUTES:
            return None
        return (
            f"is reached through a Thrift server, which has no attribute {name}",
            "give the store `site`, `bootstrap_servers` or `zookeeper` in place of `host` and `port`",
        )

    def durability_refusal(self, durability: Durability) -> tuple[str, str] | None:
        """Thrift only says whether the write-ahead log is used; HBase's native RPC has all durabilities."""
        if self.is_native:
            return None
        refusal = super().durability_refusal(durability)
        if refusal is None:
            return None
        return (
            f"writes through a Thrift server, which has no durability `{durability}`",
            "write `sync` or `skip`, or give the store `bootstrap_servers` in place of `host` and `port`",
        )

    def in_folder(self, folder: Path) -> Self:
        """The same, with absolute paths of the files for TLS and Kerberos."""
        return self.model_copy(update={"security": self.security.in_folder(folder)})

    def with_timeout(self, timeout_s: float) -> Self:
        """The same, with at most this time-out of a call."""
        return self.model_copy(update={"timeout": min(self.timeout, timeout_s)})


def _names_servers(options: Mapping[str, Any]) -> bool:
    return any(options.get(name) is not None for name in ("bootstrap_servers", "zookeeper"))


def _needs_principal(options: Mapping[str, Any]) -> bool:
    security = options.get("security")
    kerberos = security.get("kerberos") if isinstance(security, Mapping) else None
    return isinstance(kerberos, Mapping) and "principal" not in kerberos


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    is_ipv6 = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if is_ipv6 else host
    is_host = host and (":" in host if is_ipv6 else _HOST.fullmatch(host))
    if not colon or not is_host or not port.isdecimal() or not 0 < int(port) <= _MAX_PORT:
        raise PydanticCustomError(
            "wrong_type",
            '"{text}" is not an address; write host:port, several with commas between them',
            {"text": text.strip()},
        )
    return host, int(port)
