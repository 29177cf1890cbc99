"""
Calls of the active master: tables, their families, and changes of them.

Source: MasterService of Master.proto. A change is a procedure, whose number the master returns at once; it is over when
the master says so. Every request for a change has a nonce: if a request is repeated because its answer was lost, the
master recognizes it, and returns the number of the procedure that runs already.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from ingest.api import FamilySpec, NotFoundError, SchemaError, StoreUnavailableError, TableSpec
from ingest.api.notation import shown
from sinks.hbase.client import TableExistsError
from sinks.hbase.errors import schema_error
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.errors import REPEATED, ConnectionLostError, RemoteError, store_error, unavailable
from sinks.hbase.rpc.schema import families_of, family_of, family_schema, name_of, table_name, table_schema
from sinks.hbase.rpc.wire import Message, WireError, data, number

T = TypeVar("T")

_SERVICE = "MasterService"
_FINISHED = 2  # State of GetProcedureResultResponse
_POLL_S = 0.1
"""Between two questions whether a procedure is over; creating a table takes about half a second."""


class Master:
    """
    The active master of a cluster; called by one thread.

    Args:
        attempts: returns those of one call.
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
        # GetTableNamesResponse: table_names 1
        return [name_of(each) for each in self._call("", "GetTableNames", b"").messages(1)]

    def families(self, table: str) -> tuple[FamilySpec, ...]:
        """
        A table's families, by name.

        Raises:
            NotFoundError: there is no such table.
        """
        found = self._described(table)
        if found is None:
            raise NotFoundError(f'there is no table "{table}"')
        return families_of(found)

    def create_table(self, spec: TableSpec) -> None:
        """
        Create a table.

        Raises:
            TableExistsError: there is one with this name.
            StoreError: it could not be created.
        """
        # CreateTableRequest: table_schema 1, split_keys 2, nonce 4
        request = data(1, table_schema(spec)) + b"".join(data(2, split) for split in spec.splits)
        self._change(spec.name, "CreateTable", request)

    def add_family(self, table: str, family: FamilySpec) -> None:
        """
        Add a family to a live table.

        Raises:
            SchemaError: it exists, or the table does not.
        """
        # AddColumnRequest: table_name 1, column_families 2, nonce 4
        self._change(table, "AddColumn", data(1, table_name(table)) + data(2, family_schema(family)))

    def change_family(self, table: str, family: FamilySpec) -> None:
        """
        Alter a family of a live table; attributes that are not in the specification stay as they are.

        Raises:
            SchemaError: there is no such table or family.
        """
        found = self._described(table)
        if found is None:
            raise SchemaError(f'there is no table "{table}"')
        before = family_of(found, family.name)
        if before is None:
            raise SchemaError(f'there is no family {shown(family.name)} in table "{table}"')
        # ModifyColumnRequest: table_name 1, column_families 2, nonce 4
        self._change(table, "ModifyColumn", data(1, table_name(table)) + data(2, family_schema(family, before)))

    def _described(self, table: str) -> Message | None:
        # GetTableDescriptorsRequest: table_names 1; GetTableDescriptorsResponse: table_schema 1
        found = self._call(table, "GetTableDescriptors", data(1, table_name(table))).messages(1)
        return found[0] if found else None

    def _change(self, table: str, method: str, request: bytes) -> None:
        attempts = self._attempts()
        # nonce_group 3 and nonce 4 of every request for a change that this class sends
        nonces = number(3, self._nonce()) + number(4, self._nonce())
        answer = self._repeated(table, method, request + nonces, attempts)
        if not answer.has(1):
            return
        # GetProcedureResultRequest: proc_id 1; GetProcedureResultResponse: state 1, exception 5
        procedure = number(1, answer.number(1))
        while True:
            result = self._repeated(table, "getProcedureResult", procedure, attempts)
            if result.has(5):
                # ForeignExceptionMessage of ErrorHandling.proto: generic_exception 2, with class_name 1 and message 2
                cause = result.message(5).message(2)
                raise _error(RemoteError(cause.text(1), cause.text(2)), table)
            if result.number(1) in {0, _FINISHED}:  # 0: unknown, as it has been over for long
                return
            if not attempts.is_in_time:
                raise StoreUnavailableError(f'the master has not completed {method} of table "{table}" in time')
            self._sleep(_POLL_S)

    def _call(self, table: str, method: str, request: bytes) -> Message:
        return self._repeated(table, method, request, self._attempts())

    def _repeated(self, table: str, method: str, request: bytes, attempts: Attempts) -> Message:
        """The answer; the call is repeated while there is no active master, or another one."""
        while True:
            try:
                address = self._cluster.master(attempts.deadline_s)
                return Message(self._cluster.call(address, _SERVICE, method, request, attempts.deadline_s).message)
            except RemoteError as error:
                if error.kind not in REPEATED or error.name == "TableExistsException":
                    raise _error(error, table) from error
                reason: Exception = error
            except (ConnectionLostError, WireError, StoreUnavailableError) as error:
                reason = error
            self._cluster.forget_master()
            if not attempts.pause():
                raise unavailable(reason, table) from reason


def _error(error: RemoteError, table: str) -> Exception:
    if error.name == "TableExistsException":
        return TableExistsError(f'table "{table}" exists')
    return schema_error(store_error(error, table))
