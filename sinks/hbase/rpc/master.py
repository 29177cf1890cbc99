"""
Calls of the active master: tables, their families, and changes of them.

Source: MasterService of Master.proto. A change is a procedure, whose number the master returns at once; it is over when
the master says so. Every request for a change has a nonce: if a request is repeated because its answer was lost, the
master recognizes it, and returns the number of the procedure that runs already.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

from ingest.api import FamilySpec, NoTableError, NotFoundError, SchemaError, StoreUnavailableError, TableSpec
from ingest.api.notation import shown
from sinks.hbase.errors import TableExistsError, schema_error
from sinks.hbase.protobuf import Message, WireError, data, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, store_error, unavailable
from sinks.hbase.rpc.loadable_table import LoadableTable, loadable_table
from sinks.hbase.rpc.schema import (
    attributes_in,
    families_of,
    family_of,
    family_schema,
    name_of,
    replicated_in,
    table_name,
    table_schema,
    with_attributes,
)

T = TypeVar("T")

_SERVICE = "MasterService"
_FINISHED = 2  # State of GetProcedureResultResponse
_EXISTS = frozenset({"TableExistsException", "NamespaceExistException"})
_POLL_S = 0.1
"""Between two questions whether a procedure is over; creating a table takes about half a second."""


class Master:
    """
    The active master of a cluster; called by one thread.

    Args:
        attempts: returns the attempts of one call.
        nonce: returns a random number of 63 bits.
        sleep: waits so many seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        attempts: Callable[[], Attempts],
        nonce: Callable[[], int],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._attempts = attempts
        self._nonce = nonce
        self._sleep = sleep

    def table_names(self) -> list[str]:
        """Names of all tables of users."""
        return self._repeated("", "GetTableNames", b"", self._attempts(), _table_names)

    def version(self) -> str:
        """The version of the active master, such as 2.6.1; empty if it does not say."""
        # GetClusterStatusRequest: options 1, of which 0 is the version
        return self._repeated("", "GetClusterStatus", number(1, 0), self._attempts(), _version)

    def families(self, table: str) -> tuple[FamilySpec, ...]:
        """
        A table's families, by name.

        Raises:
            NotFoundError: there is no such table.
        """
        for found in self._described(table, families_of):
            return found
        raise NotFoundError(f'there is no table "{table}"')

    def replicated_families(self, table: str) -> tuple[bytes, ...]:
        """Names of a table's families that are replicated to other clusters; none if there is no such table."""
        for found in self._described(table, replicated_in):
            return found
        return ()

    def loadable_table(self, table: str) -> LoadableTable:
        """
        As `loadable_table.loadable_table`.

        Raises:
            NotFoundError: there is no such table.
        """
        for found in self._described(table, loadable_table):
            return found
        raise NotFoundError(f'there is no table "{table}"')

    def create_table(self, spec: TableSpec) -> None:
        """
        Create a table, and its namespace if there is none.

        Raises:
            TableExistsError: there is one with this name.
            StoreError: it could not be created.
        """
        # CreateTableRequest: table_schema 1, split_keys 2, nonce 4
        request = data(1, table_schema(spec)) + b"".join(data(2, split) for split in spec.splits)
        try:
            self._change(spec.name, "CreateTable", request)
        except NoTableError:  # the only reason for it is a missing namespace
            self._create_namespace(spec.name)
            self._change(spec.name, "CreateTable", request)

    def _create_namespace(self, table: str) -> None:
        """Create the namespace of a table; another client may have done so."""
        # CreateNamespaceRequest: namespaceDescriptor 1 with name 1, nonce_group 2, nonce 3
        namespace = data(1, table.partition(":")[0].encode())
        try:
            self._change(table, "CreateNamespace", data(1, namespace), nonces=(2, 3))
        except NamespaceExistsError:
            return

    def add_family(self, table: str, family: FamilySpec) -> None:
        """
        Add a family to a live table.

        Raises:
            SchemaError: it exists.
            NoTableError: there is no such table.
        """
        # AddColumnRequest: table_name 1, column_families 2, nonce 4
        self._change(table, "AddColumn", data(1, table_name(table)) + data(2, family_schema(family)))

    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Alter a family of a live table; attributes that are not in the specification stay as they are.

        Raises:
            SchemaError: there is no such table or family.
        """
        self._change_schema(table, family.name, partial(family_schema, family))

    def attributes(self, table: str) -> dict[bytes, dict[str, str]]:
        """
        As `schema.attributes_in`.

        Raises:
            NotFoundError: there is no such table.
        """
        for found in self._described(table, attributes_in):
            return found
        raise NotFoundError(f'there is no table "{table}"')

    def set_attributes(self, table: str, family: bytes, attributes: Mapping[str, str]) -> None:
        """
        Set attributes of a family of a live table; its options and other attributes stay as they are.

        Raises:
            SchemaError: there is no such table or family, or HBase refuses a value.
        """
        self._change_schema(table, family, lambda before: with_attributes(before, attributes))

    def _change_schema(self, table: str, family: bytes, change: Callable[[Message], bytes]) -> None:
        """Replace the ColumnFamilySchema of a family."""

        def changed(schema: Message) -> bytes | None:
            before = family_of(schema, family)
            return None if before is None else change(before)

        found = self._described(table, changed)
        if not found:
            raise SchemaError(f'there is no table "{table}"')
        if found[0] is None:
            raise SchemaError(f'there is no family {shown(family)} in table "{table}"')
        # ModifyColumnRequest: table_name 1, column_families 2, nonce 4
        self._change(table, "ModifyColumn", data(1, table_name(table)) + data(2, found[0]))

    def _described(self, table: str, read: Callable[[Message], T]) -> list[T]:
        """What is read in a table's TableSchema; empty if there is no such table."""
        # GetTableDescriptorsRequest: table_names 1; GetTableDescriptorsResponse: table_schema 1
        return self._repeated(
            table,
            "GetTableDescriptors",
            data(1, table_name(table)),
            self._attempts(),
            lambda answer: [read(schema) for schema in answer.messages(1)],
        )

    def _change(self, table: str, method: str, request: bytes, nonces: tuple[int, int] = (3, 4)) -> None:
        """Start a procedure and wait for its end; `nonces` are the fields nonce_group and nonce of the request."""
        attempts = self._attempts()
        request += b"".join(number(field, self._nonce()) for field in nonces)
        procedure = self._repeated(table, method, request, attempts, _procedure)
        if procedure is None:
            return
        while True:
            # GetProcedureResultRequest: proc_id 1
            result = self._repeated(table, "getProcedureResult", number(1, procedure), attempts, _result)
            if result.error is not None:
                raise _error(result.error, table)
            if result.state in {0, _FINISHED}:  # 0: unknown, as it has been over for long
                return
            if not attempts.is_in_time:
                raise StoreUnavailableError(f'the master has not completed {method} of table "{table}" in time')
            self._sleep(_POLL_S)

    def _repeated(self, table: str, method: str, request: bytes, attempts: Attempts, read: Callable[[Message], T]) -> T:
        """
        The result in an answer; the call is repeated while there is no active master, or another one.

        Args:
            table: for messages.
            method: of MasterService.
            request: its message.
            attempts: of the operation.
            read: the result in an answer; a WireError is another attempt.
        """
        while True:
            try:
                address = self._cluster.master(attempts.deadline_s)
                answer = self._cluster.call(address, _SERVICE, method, request, attempts.deadline_s)
                return read(Message(answer.message))
            except RemoteError as error:
                if error.kind not in REPEATED or error.name in _EXISTS:
                    raise _error(error, table) from error
                reason: Exception = error
            except (ConnectionLostError, WireError, StoreUnavailableError) as error:
                reason = error
            self._cluster.forget_master()
            if not attempts.pause():
                raise unavailable(reason, table) from reason


class NamespaceExistsError(SchemaError):
    """A namespace exists that is to be created."""

    code = "namespace_exists"
    remedy = "None: it is used."


class _Result(NamedTuple):
    """
    The result of a procedure.

    Attributes:
        error: why it failed; None unless it did.
    """

    state: int
    error: RemoteError | None


def _table_names(answer: Message) -> list[str]:
    """Those in a GetTableNamesResponse: table_names 1."""
    return [name_of(each) for each in answer.messages(1)]


def _version(answer: Message) -> str:
    """That in a GetClusterStatusResponse: cluster_status 1; ClusterStatus: hbase_version 1, with the version 1."""
    return answer.message(1).message(1).text(1)


def _procedure(answer: Message) -> int | None:
    """The number of a procedure, in field 1 of the answer to each request for a change; None if there is none."""
    return answer.number(1) if answer.has(1) else None


def _result(answer: Message) -> _Result:
    """A GetProcedureResultResponse: state 1, exception 5."""
    error = None
    if answer.has(5):
        # ForeignExceptionMessage of ErrorHandling.proto: generic_exception 2, with class_name 1 and message 2
        cause = answer.message(5).message(2)
        error = RemoteError(cause.text(1), cause.text(2))
    return _Result(answer.number(1), error)


def _error(error: RemoteError, table: str) -> Exception:
    if error.name == "TableExistsException":
        return TableExistsError(f'table "{table}" exists')
    if error.name == "NamespaceExistException":
        return NamespaceExistsError(f'the namespace of table "{table}" exists')
    return schema_error(store_error(error, table))
