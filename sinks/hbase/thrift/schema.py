"""
Creates tables, and creates and alters families.

The old Thrift interface creates tables without split points and alters no table; Thrift2 can do both. If neither is
possible, the error has the command for the hbase shell.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import thriftpy2
from thriftpy2.thrift import TApplicationException, TClient

from ingest.api import FamilySpec, SchemaError, StoreRefusedError, TableSpec
from ingest.api.notation import shown
from sinks.hbase.errors import schema_error
from sinks.hbase.settings import HBaseSettings, Thrift2Settings, Transport
from sinks.hbase.shell import shell_attributes, shell_change
from sinks.hbase.thrift.connection import THRIFT_PROTOCOLS, THRIFT_TRANSPORTS, Connection
from sinks.hbase.thrift.errors import CONNECTION_ERRORS, UNREADABLE_ANSWERS, error_of, translated
from sinks.hbase.thrift.sockets import Socket
from sinks.hbase.thrift.thrift1 import ColumnDescriptor

_FOREVER_S = 2**31 - 1  # HBase's TTL for cells that never expire
_HAVE_FIELDS = frozenset(
    b"BLOCKCACHE BLOCKSIZE BLOOMFILTER CACHE_BLOOMS_ON_WRITE CACHE_DATA_ON_WRITE CACHE_INDEX_ON_WRITE COMPRESSION "
    b"COMPRESS_TAGS DATA_BLOCK_ENCODING DFS_REPLICATION EVICT_BLOCKS_ON_CLOSE IN_MEMORY KEEP_DELETED_CELLS "
    b"MIN_VERSIONS REPLICATION_SCOPE TTL VERSIONS".split()
)
"""Attributes of a family for which Thrift2 also has fields."""
_OPTIONS = ("bloomFilterType", "compressionType", "maxVersions", "timeToLive")
"""Fields of Thrift2 for the options of a family."""
_FIELDS = {"BLOCKCACHE": "blockCacheEnabled", "IN_MEMORY": "inMemory"}
"""Attributes besides the options (`THRIFT_ATTRIBUTES`) -> fields of a descriptor, in both interfaces."""
_DEFAULTS = {b"INDEX_BLOCK_ENCODING": b"NONE"}
"""Attributes without such a field that every family has, with the values of a new family."""


def create_table(connection: Connection, spec: TableSpec) -> None:
    """
    Create a table through the old interface.

    Raises:
        StoreError: it could not be created.
    """
    # sets every field: the interface's defaults are three versions, no bloom filter and no block cache
    descriptors = [
        ColumnDescriptor(
            name=family.name + b":",
            maxVersions=family.versions,
            compression=family.compression.upper(),
            bloomFilterType=family.bloom.upper(),
            timeToLive=_FOREVER_S if family.ttl_s is None else family.ttl_s,
            **_fields_of({"BLOCKCACHE": "true"} | spec.attributes_of(family.name)),
        )
        for family in spec.families
    ]
    connection.call(lambda client: client.createTable(spec.name.encode(), descriptors), table=spec.name)


def described(descriptor: Any) -> FamilySpec:
    """
    A family from its descriptor in the old interface.

    Raises:
        ValueError: the descriptor lacks a field that every family has.
    """
    ttl_s = descriptor.timeToLive
    if None in (descriptor.name, descriptor.maxVersions, ttl_s, descriptor.compression, descriptor.bloomFilterType):
        raise ValueError("a family of an answer is not complete")
    return FamilySpec(
        name=descriptor.name.rstrip(b":"),
        versions=descriptor.maxVersions,
        ttl_s=ttl_s if 0 < ttl_s < _FOREVER_S else None,
        compression=_word(descriptor.compression),
        bloom=_word(descriptor.bloomFilterType),
    )


def attributes_in(descriptor: Any) -> dict[str, str]:
    """The attributes of a family besides its options that its descriptor has, in the old interface and in Thrift2."""
    return {name: "true" if getattr(descriptor, field) else "false" for name, field in _FIELDS.items()}


def _fields_of(attributes: Mapping[str, str]) -> dict[str, bool]:
    """
    The fields of a descriptor for attributes besides the options.

    Raises:
        SchemaError: a descriptor has no field for one of them.
    """
    if unknown := sorted(attributes.keys() - _FIELDS.keys()):
        raise SchemaError(
            f"a Thrift server cannot set {', '.join(unknown)} of a family",
            hint="give the store `site`, `bootstrap_servers` or `zookeeper` in place of `host` and `port`",
        )
    return {_FIELDS[name]: value.lower() == "true" for name, value in attributes.items()}


def _word(name: bytes | str) -> str:
    return (name.decode() if isinstance(name, bytes) else name).lower()


class Thrift2:
    """
    Schema changes through a Thrift2 server.

    Each call has its own connection: calls are rare, and the server would close an idle one.
    """

    def __init__(self, settings: HBaseSettings, address: Thrift2Settings) -> None:
        self._settings = settings
        self._host, self._port = address.host, address.port
        self._interface = thriftpy2.load(
            str(Path(__file__).with_name("thrift2_ddl.thrift")), module_name="attr2hbase_thrift2_ddl_thrift"
        )

    def create_table(self, spec: TableSpec) -> None:
        """
        Create a table with its split points.

        Raises:
            StoreError: it could not be created.
        """
        descriptor = self._interface.TTableDescriptor(
            tableName=self._name(spec.name),
            columns=[self._family(family, spec.attributes_of(family.name)) for family in spec.families],
        )
        self._call(lambda client: client.createTable(descriptor, list(spec.splits)), spec.name)

    def add_family(self, table: str, family: FamilySpec) -> None:
        """
        Add a family to a live table.

        One family per call, 0.6 s each (measured, HBase 2.6.1). `modifyTable` added eight in 0.65 s, but replaces the
        whole descriptor, so it could remove a family that another client adds at the same time. Of eight concurrent
        calls one was refused.

        Raises:
            StoreError: it could not be added.
        """
        self._call(lambda client: client.addColumnFamily(self._name(table), self._family(family)), table)

    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Alter a family of a live table; attributes that are not in the specification stay unchanged.

        Raises:
            StoreError: it could not be altered.
        """
        wanted = self._family(family)
        fields = {name: getattr(wanted, name) for name in _OPTIONS}
        self._call(lambda client: self._change(client, table, family.name, fields, shell_change(table, family)), table)

    def set_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        """
        Set attributes of a family of a live table; its options and other attributes stay unchanged.

        Raises:
            StoreError: they could not be set.
        """
        fields, command = _fields_of(attributes), shell_attributes(table, family, attributes)
        self._call(lambda client: self._change(client, table, family, fields, command), table)

    def _change(self, client: Any, table: str, family: bytes, fields: Mapping[str, object], command: str) -> None:
        found = client.getTableDescriptor(self._name(table))
        before = next((one for one in found.columns if one.name == family), None)
        if before is None:
            raise SchemaError(f'there is no family {shown(family)} in table "{table}"')
        if self._settings.transport is Transport.FRAMED:
            after = self._without_attributes(before, table, family, command)
        else:
            # the attributes are complete, so the other fields are not needed
            unchanged = {"attributes": before.attributes, "configuration": before.configuration}
            after = self._interface.TColumnFamilyDescriptor(name=family, **unchanged)
        for field, value in fields.items():
            setattr(after, field, value)
        client.modifyColumnFamily(self._name(table), after)

    def _without_attributes(self, descriptor: Any, table: str, family: bytes, command: str) -> Any:
        """The descriptor with fields only: HBase 2.6.1 misreads attributes with the framed transport."""
        attributes = (descriptor.attributes or {}).items() - _DEFAULTS.items()
        if others := sorted(name for name, _ in attributes if name not in _HAVE_FIELDS):
            raise SchemaError(
                f'family {shown(family)} of table "{table}" has attributes that a framed Thrift2 server would '
                f"corrupt: {shown(*others)}",
                hint=f"type into the hbase shell: {command}",
                command=command,
            )
        descriptor.attributes = None
        return descriptor

    def _name(self, table: str) -> Any:
        namespace, colon, name = table.encode().rpartition(b":")
        return self._interface.TTableName(ns=namespace if colon else None, qualifier=name)

    def _family(self, family: FamilySpec, attributes: Mapping[str, str] = MappingProxyType({})) -> Any:
        types = self._interface
        return types.TColumnFamilyDescriptor(
            name=family.name,
            bloomFilterType=getattr(types.TBloomFilterType, family.bloom.upper()),
            compressionType=getattr(types.TCompressionAlgorithm, family.compression.upper()),
            maxVersions=family.versions,
            timeToLive=_FOREVER_S if family.ttl_s is None else family.ttl_s,
            **_fields_of({"BLOCKCACHE": "true"} | dict(attributes)),
        )

    def _call(self, request: Any, table: str) -> None:
        settings = self._settings
        where = f"{self._host}:{self._port}"
        socket = Socket(self._host, self._port, settings.timeout)
        transport = THRIFT_TRANSPORTS[settings.transport.value](socket)
        client = TClient(self._interface.TableService, THRIFT_PROTOCOLS[settings.protocol.value](transport))
        try:
            transport.open()
            try:
                request(client)
            finally:
                transport.close()
        except self._interface.TIOError as error:
            raise schema_error(error_of(error.message or "", table)) from error
        except TApplicationException as error:
            raise StoreRefusedError(f"the Thrift2 server at {where} could not process a call: {error}") from error
        except (*CONNECTION_ERRORS, *UNREADABLE_ANSWERS) as error:
            # each call has a connection of its own
            raise translated(error, where=where, has_answered=False) from error
