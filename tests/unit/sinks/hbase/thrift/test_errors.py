"""Every rule from a text of a Thrift server to our error."""

from pathlib import Path
from typing import NamedTuple

import pytest
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from ingest.api import (
    NoTableError,
    NotFoundError,
    SchemaError,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    TimestampRefusedError,
    WriteRejectedError,
)
from ingest.api.store_errors import UnknownFamilyError
from sinks.hbase.errors import TableExistsError, read_error, schema_error
from sinks.hbase.thrift.errors import RULES, error_of, reason_of, rule_for, text_of, translated
from sinks.hbase.thrift.thrift1 import AlreadyExists, HBaseIOError, IllegalArgument

KINDS = {
    "too_large": WriteRejectedError,
    "moved": StoreUnavailableError,
    "timestamp": TimestampRefusedError,
    "sanity": WriteRejectedError,
    "no_family": UnknownFamilyError,
    "no_table": NoTableError,
    "disabled": StoreRefusedError,
    "read_only": StoreRefusedError,
    "replicated": StoreRefusedError,
    "quota": StoreRefusedError,
    "denied": StoreRefusedError,
    "cluster": StoreRefusedError,
    "busy": StoreBusyError,
    "unavailable": StoreUnavailableError,
    "final": WriteRejectedError,
    "unclear": StoreUnavailableError,
    "other": StoreUnavailableError,
}
HBASE = "org.apache.hadoop.hbase."
FAILED = "org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException: Failed "


class Captured(NamedTuple):
    """One file of `captured`."""

    rule: str
    error: type[Exception]
    table: str
    text: str


def captured() -> dict[str, Captured]:
    found = {}
    for file in sorted(Path(__file__).with_name("captured").glob("*.txt")):
        head, _, text = file.read_text().partition("\n\n")
        head_of = dict(line.split(": ", 1) for line in head.splitlines())
        kind = {"IOError": HBaseIOError, "IllegalArgument": IllegalArgument}[head_of["error"]]
        found[file.stem] = Captured(file.stem.partition("-")[0], kind, head_of["table"], text)
    return found


CAPTURED = captured()


def test_every_rule_has_a_text() -> None:
    assert [rule.name for rule in RULES] == list(KINDS)
    assert {one.rule for one in CAPTURED.values()} == set(KINDS)


@pytest.mark.parametrize("name", CAPTURED)
def test_text_of_the_server(name: str) -> None:
    rule, kind, table, text = CAPTURED[name]
    error = translated(kind(message=text.encode()), table=table)
    assert (rule_for(text, table).name, type(error)) == (rule, KINDS[rule])
    assert "\n" not in str(error)
    assert len(str(error)) < 500


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "replicated-puts",
            f"{HBASE}regionserver.InvalidMutationDurabilityException: Mutation's durability is SKIP_WAL",
        ),
        ("no_family-attempts", f"{HBASE}regionserver.NoSuchColumnFamilyException: Column family no does not exist"),
        ("no_table-attempts", f"{HBASE}TableNotFoundException: t1"),
        ("unavailable-initializing", f"{HBASE}PleaseHoldException: Master is initializing"),
        ("unavailable-starting", "Failed 1 action: ConnectException: 1 time, servers with issues: "),
    ],
)
def test_reason_is_that_of_the_last_attempt(name: str, reason: str) -> None:
    assert reason_of(CAPTURED[name].text).startswith(reason)
    assert reason_of(CAPTURED[name].text).count("Exception") == reason.count("Exception")


def test_reason_of_several_attempts_is_the_last_one() -> None:
    text = (
        "org.apache.hadoop.hbase.client.RetriesExhaustedException: Failed after attempts=2, exceptions:\n"
        "2026-11-29T04:57:14.432Z, host,1,2, org.apache.hadoop.hbase.NotServingRegionException: r1 is not online\n"
        "\tat org.apache.hadoop.hbase.X.y(X.java:1)\n\n"
        "2026-11-29T04:57:14.560Z, host,1,2, java.net.ConnectException: Call to host:1 failed, refused\n"
        "\tat org.apache.hadoop.hbase.X.z(X.java:1)\n\n"
        "Caused by: java.net.ConnectException: another line\n"
    )
    assert reason_of(text) == "java.net.ConnectException: Call to host:1 failed, refused"


def test_attempts_that_cannot_be_read_leave_the_first_line() -> None:
    text = "org.apache.hadoop.hbase.client.RetriesExhaustedException: Failed after attempts=1, exceptions:\n?\n"
    assert reason_of(text) == text.partition("\n")[0]


def test_error_of_a_replicated_family_names_the_remedy() -> None:
    error = error_of(CAPTURED["replicated-puts"].text, "t1")
    assert error.message.startswith('a family of table "t1" is replicated')
    assert "column family cf need replication" in error.message
    assert "`durability: skip`" in (error.hint or "")


def test_error_without_a_text_is_unavailable() -> None:
    error = translated(HBaseIOError(message=b""), table="t")
    assert isinstance(error, StoreUnavailableError)
    assert "no reason given" in str(error)


@pytest.mark.parametrize(
    "name",
    ["TableNotFoundException", "is disabled", "region is read only", "SpaceLimitingException", "AccessDeniedException",
     "BadAuthException", "RegionTooBusyException", "NotServingRegionException"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("DoNotRetryIOException: Cell[{name}/cf:q/5/Put/vlen=2/seqid=0] with size 9 exceeds 8", WriteRejectedError),
        ("regionserver.NoSuchColumnFamilyException: Column family {name} does not exist", UnknownFamilyError),
        (
            "exceptions.FailedSanityCheckException: Timestamp for KV out of range {name}/cf:q/5",
            TimestampRefusedError,
        ),
    ],
)
def test_bytes_of_a_row_match_no_other_rule(text: str, error: type[Exception], name: str) -> None:
    assert type(error_of(f"{FAILED}1 action: {HBASE}{text.replace('{name}', name)}", "t")) is error


def test_stack_frames_are_ignored() -> None:
    text = (
        FAILED + "1 action: IOException: 1 time\n\tat org.apache.hadoop.hbase.DoNotRetryIOException.<init>(X.java:1)\n"
    )
    assert rule_for(text, "t").name == "other"


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.hadoop.hbase.DoNotRetryIOException: Zookeeper LIST could not be completed in 10000 ms",
        "org.apache.hadoop.hbase.DoNotRetryIOException: Client already closed",
        "java.lang.IllegalArgumentException: java.net.UnknownHostException: node-7",
    ],
)
def test_problems_of_the_cluster_reject_no_row(text: str) -> None:
    assert type(error_of(FAILED + "1 action: " + text, "t")) is StoreUnavailableError


def test_unknown_family_has_its_code() -> None:
    assert error_of(CAPTURED["no_family-put"].text, "t1").code == "unknown_family"


def test_name_of_another_table_is_not_a_missing_table() -> None:
    assert rule_for(FAILED + "1 action: t1: 1 time", "t") != rule_for(FAILED + "1 action: t1: 1 time", "t1")
    assert rule_for("Failed 1 action: a.b: 1 time", "a.b").name == "no_table"
    assert rule_for("Failed 1 action: axb: 1 time", "a.b").name == "other"
    assert [rule_for(text, "t1").name for text in ("t1", "t11", "")] == ["no_table", "other", "other"]
    assert rule_for("", "").name == "other"


def test_rule_for_rows_wins_in_a_mixed_answer() -> None:
    text = FAILED + "3 actions: NotServingRegionException: 2 times, org.x.NoSuchColumnFamilyException: family z: 1 time"
    assert rule_for(text, "t").name == "no_family"


def test_long_reasons_are_cut() -> None:
    error = translated(IllegalArgument(message=b"java.lang.IllegalArgumentException: " + b"x" * 10_000), table="t")
    assert isinstance(error, WriteRejectedError)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("error", "kind", "expected"),
    [
        (TApplicationException(6, b"Internal error"), StoreRefusedError, "could not process a call"),
        (TApplicationException(1, b"Invalid method name: 'mutateRowsTs'"), StoreRefusedError, "is it a Thrift2 server"),
        (AlreadyExists(message=b"table name already in use"), TableExistsError, "exists"),
        (
            TTransportException(TTransportException.NOT_OPEN, "no"),
            StoreUnavailableError,
            "no server can be reached at h:1",
        ),
        (TTransportException(TTransportException.END_OF_FILE, "read 0"), StoreUnavailableError, "h:1 broke"),
        (TimeoutError("timed out"), StoreUnavailableError, "no answer from h:1"),
        (BrokenPipeError(), StoreUnavailableError, "h:1 broke"),
        (ConnectionResetError(104, "reset"), StoreUnavailableError, "h:1 broke"),
        (EOFError(), StoreUnavailableError, "EOFError"),
        (TProtocolException(4, "bad version"), StoreUnavailableError, "`transport`, `protocol` and `port`"),
    ],
)
def test_error_of_a_connection_is_translated(error: Exception, kind: type[Exception], expected: str) -> None:
    found = translated(error, table="t", where="h:1")
    assert type(found) is kind
    assert expected in str(found)


def test_read_of_a_missing_table_is_not_found() -> None:
    missing = translated(HBaseIOError(message=b"TableNotFoundException: t"), table="t")
    assert isinstance(read_error(missing), NotFoundError)
    rejected = read_error(translated(TApplicationException(6, b"x")))
    assert type(rejected) is StoreRefusedError
    busy = translated(HBaseIOError(message=b"RegionTooBusyException"), table="t")
    assert read_error(busy) is busy


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("org.apache.hadoop.hbase.PleaseHoldException: Master is initializing", StoreUnavailableError),
        ("java.net.ConnectException: Call to address=m:16000 failed", StoreUnavailableError),
        ("org.apache.hadoop.hbase.exceptions.TimeoutIOException: no answer after 60 s", StoreUnavailableError),
        ("org.apache.hadoop.hbase.security.AccessDeniedException: no right to create", StoreRefusedError),
        ("org.apache.hadoop.hbase.InvalidFamilyOperationException: Family 'f' already exists", SchemaError),
        ("java.lang.IllegalArgumentException: Illegal first character <46>", SchemaError),
    ],
)
def test_schema_change_is_retried_if_the_master_is_unavailable(text: str, kind: type) -> None:
    assert type(schema_error(error_of(text, "t"))) is kind


def test_text_that_is_not_utf8() -> None:
    assert text_of(HBaseIOError(message=b"\xff")) == "\ufffd"
