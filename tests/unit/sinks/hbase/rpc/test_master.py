"""Calls of the active master, and the procedures that they start."""

from collections.abc import Callable, Iterator

import pytest

from ingest.api import FamilySpec, NotFoundError, SchemaError, StoreRefusedError, StoreUnavailableError, TableSpec
from sinks.hbase.errors import TableExistsError
from sinks.hbase.protobuf import Message, data, number
from sinks.hbase.rpc.attempts import Attempts
from sinks.hbase.rpc.cluster import Cluster
from sinks.hbase.rpc.master import Master
from sinks.hbase.rpc.schema import table_name, table_schema
from tests.support.rows_server import master_answer
from tests.support.rpc_server import Request, RpcServer

HBASE = "org.apache.hadoop.hbase."
SPEC = TableSpec("t", (FamilySpec(b"f"),), splits=(b"m",))


class FalseMaster:
    """
    A server that is the active master.

    Attributes:
        answers: method -> the next frames of its answers; the last one is repeated.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[Callable[[Request], bytes | None]]] = {}
        self.server = RpcServer(self._answer)
        self.cluster = Cluster([self.server.address], may_leave_machine=False)
        self.cluster.open()
        nonces = iter(range(1, 100))
        self.master = Master(
            self.cluster,
            lambda: Attempts(0.5, sleep=lambda _seconds: None),
            lambda: next(nonces),
            sleep=lambda _seconds: None,
        )

    def requests(self, method: str) -> list[Message]:
        return [Message(each.parameter) for each in self.server.requests if each.method == method]

    def close(self) -> None:
        self.cluster.close()
        self.server.close()

    def _answer(self, request: Request) -> bytes | None:
        if request.method == "GetActiveMaster":
            return master_answer(request, self.server.address)
        answers = self.answers[request.method]
        return (answers.pop(0) if len(answers) > 1 else answers[0])(request)


@pytest.fixture
def false() -> Iterator[FalseMaster]:
    made = FalseMaster()
    yield made
    made.close()


def answer(message: bytes) -> Callable[[Request], bytes]:
    return lambda request: request.answer(message)


def failure(name: str) -> Callable[[Request], bytes]:
    return lambda request: request.failure(HBASE + name, "text")


def test_change_waits_for_its_procedure(false: FalseMaster) -> None:
    false.answers = {"CreateTable": [answer(number(1, 17))], "getProcedureResult": [answer(number(1, 1))] * 2}
    false.answers["getProcedureResult"].append(answer(number(1, 2)))
    false.master.create_table(SPEC)
    (created,) = false.requests("CreateTable")
    assert (created.data(1), created.all_data(2)) == (table_schema(SPEC), [b"m"])
    assert [each.number(1) for each in false.requests("getProcedureResult")] == [17, 17, 17]


def test_repeated_request_has_the_same_nonces(false: FalseMaster) -> None:
    false.answers = {
        "CreateTable": [failure("PleaseHoldException"), lambda _request: None, answer(number(1, 17))],
        "getProcedureResult": [answer(number(1, 2))],
    }
    false.master.create_table(SPEC)
    assert [(each.number(3), each.number(4)) for each in false.requests("CreateTable")] == [(1, 2)] * 3


def test_procedure_that_failed(false: FalseMaster) -> None:
    cause = data(1, f"{HBASE}InvalidFamilyOperationException".encode()) + data(2, b"family f exists")
    false.answers = {
        "AddColumn": [answer(number(1, 17))],
        "getProcedureResult": [answer(number(1, 2) + data(5, data(2, cause)))],
    }
    with pytest.raises(SchemaError, match="family f exists"):
        false.master.add_family("t", FamilySpec(b"f"))


def test_procedure_that_does_not_end_in_time(false: FalseMaster) -> None:
    """On a busy machine the last answer may be late."""
    false.answers = {"CreateTable": [answer(number(1, 17))], "getProcedureResult": [answer(number(1, 1))]}
    with pytest.raises(StoreUnavailableError, match=r"has not completed CreateTable|no answer from .* in time"):
        false.master.create_table(SPEC)


def test_table_that_exists_and_master_that_is_not_there(false: FalseMaster) -> None:
    false.answers = {"CreateTable": [failure("TableExistsException")]}
    with pytest.raises(TableExistsError):
        false.master.create_table(SPEC)
    false.answers = {"CreateTable": [failure("ipc.ServerNotRunningYetException")]}
    with pytest.raises(StoreUnavailableError):
        false.master.create_table(SPEC)


def test_missing_table_and_family(false: FalseMaster) -> None:
    false.answers = {"GetTableDescriptors": [answer(b"")]}
    with pytest.raises(NotFoundError):
        false.master.families("t")
    with pytest.raises(SchemaError, match='no table "t"'):
        false.master.change_family("t", FamilySpec(b"f"))
    false.answers = {"GetTableDescriptors": [answer(data(1, table_schema(SPEC)))]}
    assert false.master.families("t") == SPEC.families
    with pytest.raises(SchemaError, match='no family "g"'):
        false.master.change_family("t", FamilySpec(b"g"))


UNREADABLE = {
    "GetTableNames": [number(1, 5), data(1, b"\xff"), data(1, number(2, 5))],
    "GetTableDescriptors": [number(1, 5), data(1, b"\xff"), data(1, data(3, b"\xff")), data(1, data(3, number(1, 5)))],
    "CreateTable": [data(1, b"17"), b"\xff"],
    "getProcedureResult": [data(1, b"2"), number(5, 1), data(5, b"\xff"), data(5, data(2, number(1, 5)))],
}
"""Answers that are no messages, and messages with fields of other types."""


@pytest.mark.parametrize(
    ("method", "message"), [(method, message) for method, messages in UNREADABLE.items() for message in messages]
)
def test_answer_that_cannot_be_read_is_another_attempt(false: FalseMaster, method: str, message: bytes) -> None:
    good = {
        "GetTableNames": answer(data(1, table_name("t"))),
        "GetTableDescriptors": answer(data(1, table_schema(SPEC))),
        "CreateTable": answer(number(1, 17)),
        "ModifyColumn": answer(b""),
        "getProcedureResult": answer(number(1, 2)),
    }

    def operations() -> None:
        assert false.master.table_names() == ["t"]
        assert false.master.families("t") == SPEC.families
        false.master.change_family("t", FamilySpec(b"f", versions=3))
        false.master.create_table(SPEC)

    false.answers = {name: [each] for name, each in good.items()}
    false.answers[method] = [answer(message), answer(message), good[method]]
    operations()
    false.answers[method] = [answer(message)]
    with pytest.raises(StoreUnavailableError):
        operations()


def test_version_is_that_of_the_master(false: FalseMaster) -> None:
    status = data(1, data(1, data(1, b"3.0.0-alpha-4")))
    false.answers = {"GetClusterStatus": [failure("PleaseHoldException"), answer(status)]}
    assert false.master.version() == "3.0.0-alpha-4"
    assert [each.has(1) for each in false.requests("GetClusterStatus")] == [True, True]


def test_families_with_a_scope_are_replicated(false: FalseMaster) -> None:
    def family(name: bytes, *attributes: tuple[bytes, bytes]) -> bytes:
        pairs = (data(2, data(1, key) + data(2, value)) for key, value in attributes)
        return data(3, data(1, name) + b"".join(pairs))

    families = (
        family(b"far", (b"VERSIONS", b"1"), (b"REPLICATION_SCOPE", b"1")),
        family(b"near", (b"REPLICATION_SCOPE", b"0")),
        family(b"old"),
    )
    schema = data(1, table_name("t")) + b"".join(families)
    false.answers = {"GetTableDescriptors": [answer(data(1, schema)), answer(b"")]}
    assert false.master.replicated_families("t") == (b"far",)
    assert false.master.replicated_families("none") == ()


def test_missing_namespace_is_created(false: FalseMaster) -> None:
    spec = TableSpec("shop:t", (FamilySpec(b"f"),))
    false.answers = {
        "CreateTable": [failure("NamespaceNotFoundException"), answer(number(1, 18))],
        "CreateNamespace": [answer(number(1, 17))],
        "getProcedureResult": [answer(number(1, 2))],
    }
    false.master.create_table(spec)
    (created,) = false.requests("CreateNamespace")
    assert (created.message(1).data(1), created.has(2), created.has(3)) == (b"shop", True, True)
    assert len(false.requests("CreateTable")) == 2
    false.answers["CreateTable"] = [failure("NamespaceNotFoundException"), answer(number(1, 18))]
    false.answers["CreateNamespace"] = [failure("NamespaceExistException")]  # another client was faster
    false.master.create_table(spec)


def test_namespace_that_may_not_be_created(false: FalseMaster) -> None:
    false.answers = {
        "CreateTable": [failure("NamespaceNotFoundException")],
        "CreateNamespace": [failure("security.AccessDeniedException")],
    }
    with pytest.raises(StoreRefusedError):
        false.master.create_table(TableSpec("shop:t", (FamilySpec(b"f"),)))
