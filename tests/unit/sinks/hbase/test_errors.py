"""Every row of the table from what a Thrift server says to our errors; the texts are those of a real HBase 2.6.1."""

import pytest
from thriftpy2.protocol.exc import TProtocolException
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from ingest.api import (
    NotFoundError,
    SchemaError,
    StoreBusyError,
    StoreError,
    StoreRefusedError,
    StoreUnavailableError,
    WriteRejectedError,
)
from sinks.hbase.errors import RULES, changing, reading, rule_for, said, text_of, translated
from sinks.hbase.thrift1 import AlreadyExists, HBaseIOError, IllegalArgument

FAILED = "org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException: Failed "
SAID = {
    "no_family": [
        FAILED + "1 action: org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family z does not "
        "exist in region t1,,1795246311686.e58d. in table 't1'",
    ],
    "no_table": [
        FAILED + "1 action: t1: 1 time, servers with issues: null\n\tat org.apache.hadoop.hbase.client.BatchErrors",
        FAILED + "2 actions: t1: 2 times, servers with issues: null",
        "org.apache.hadoop.hbase.TableNotFoundException: t1",
        "org.apache.hadoop.hbase.NamespaceNotFoundException: org.apache.hadoop.hbase.NamespaceNotFoundException: ns1",
    ],
    "disabled": ["org.apache.hadoop.hbase.TableNotEnabledException: t1 is disabled."],
    "denied": ["org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions for user 'u'"],
    "too_large": [
        "java.lang.IllegalArgumentException: KeyValue size too large",
        "org.apache.hadoop.hbase.DoNotRetryIOException: Cell with size 20 exceeds limit of 10 bytes",
        "org.apache.hadoop.hbase.DoNotRetryIOException: Cell[r/cf:q/1/Put/vlen=11/seqid=0] with size 20 exceeds limit",
    ],
    "busy": [FAILED + "3 actions: RegionTooBusyException: 3 times, servers with issues: localhost,1,1"],
    "away": [
        FAILED + "1 action: NotServingRegionException: 1 time, servers with issues: localhost,34873,1795246116979",
        (
            "org.apache.hadoop.hbase.client.RetriesExhaustedException: Failed after attempts=7, exceptions:\n2026, "
            "RpcRetryingCaller{}, org.apache.hadoop.hbase.PleaseHoldException: Master is initializing"
        ),
        "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException: (a DoNotRetryIOException)",
    ],
    "final": [
        "org.apache.hadoop.hbase.DoNotRetryIOException: java.lang.UnsatisfiedLinkError",
        "java.lang.IllegalArgumentException: Illegal character code:32, < > at 2",
    ],
    "other": [FAILED + "1 action: IOException: 1 time, servers with issues: null", ""],
}
KINDS = {
    "no_family": WriteRejectedError,
    "no_table": StoreRefusedError,
    "disabled": StoreRefusedError,
    "denied": StoreRefusedError,
    "too_large": WriteRejectedError,
    "busy": StoreBusyError,
    "away": StoreUnavailableError,
    "final": WriteRejectedError,
    "other": StoreUnavailableError,
}


def test_every_rule_has_a_case() -> None:
    assert [rule.name for rule in RULES] == list(SAID) == list(KINDS)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in SAID.items() for text in texts])
def test_text_of_the_server(name: str, text: str) -> None:
    error = translated(HBaseIOError(message=text.encode()), table="t1")
    assert (rule_for(text, "t1").name, type(error)) == (name, KINDS[name])
    assert "\n" not in str(error)


def test_another_tables_name_is_not_taken_for_a_missing_table() -> None:
    assert rule_for(FAILED + "1 action: t1: 1 time", "t") != rule_for(FAILED + "1 action: t1: 1 time", "t1")
    assert rule_for("Failed 1 action: a.b: 1 time", "a.b").name == "no_table"
    assert rule_for("Failed 1 action: axb: 1 time", "a.b").name == "other"


def test_long_reasons_are_cut() -> None:
    error = translated(IllegalArgument(message=b"java.lang.IllegalArgumentException: " + b"x" * 10_000), table="t")
    assert isinstance(error, WriteRejectedError)
    assert len(str(error)) < 400


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (TApplicationException(6, b"Internal error"), WriteRejectedError, "could not work with a call"),
        (AlreadyExists(message=b"table name already in use"), StoreError, "exists"),
        (
            TTransportException(TTransportException.NOT_OPEN, "no"),
            StoreUnavailableError,
            "nobody can be reached at h:1",
        ),
        (TTransportException(TTransportException.END_OF_FILE, "read 0"), StoreUnavailableError, "h:1 broke"),
        (TimeoutError("timed out"), StoreUnavailableError, "no answer from h:1"),
        (BrokenPipeError(), StoreUnavailableError, "h:1 broke"),
        (ConnectionResetError(104, "reset"), StoreUnavailableError, "h:1 broke"),
        (EOFError(), StoreUnavailableError, "EOFError"),
        (TProtocolException(4, "bad version"), StoreUnavailableError, "`transport` and `protocol`"),
    ],
)
def test_connection(error: Exception, kind: type[Exception], says: str) -> None:
    found = translated(error, table="t", where="h:1")
    assert type(found) is kind
    assert says in str(found)


def test_a_question_to_a_missing_table_finds_nothing() -> None:
    missing = translated(HBaseIOError(message=b"TableNotFoundException: t"), table="t")
    assert isinstance(reading(missing, "t"), NotFoundError)
    rejected = reading(translated(TApplicationException(6, b"x")), "t")
    assert type(rejected) is StoreRefusedError
    busy = translated(HBaseIOError(message=b"RegionTooBusyException"), table="t")
    assert reading(busy, "t") is busy


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
def test_a_change_of_a_table_waits_for_a_master_that_is_away(text: str, kind: type) -> None:
    assert type(changing(said(text, "t"))) is kind


def test_text_that_is_not_utf8() -> None:
    assert text_of(HBaseIOError(message=b"\xff")) == "\ufffd"
