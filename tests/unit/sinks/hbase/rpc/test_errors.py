"""Exceptions of HBase's servers, by class."""

import pytest

from ingest.api import (
    NoTableError,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    TimestampRefusedError,
    UnclearRefusalError,
    WriteRejectedError,
)
from ingest.api.store_errors import UnknownFamilyError
from sinks.hbase.errors import Kind
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError, store_error, unavailable, write_error

HBASE = "org.apache.hadoop.hbase."


@pytest.mark.parametrize(
    ("name", "text", "kind", "error"),
    [
        ("NotServingRegionException", "", Kind.MOVED, StoreUnavailableError),
        ("exceptions.RegionMovedException", "Region moved to: hostname=h", Kind.MOVED, StoreUnavailableError),
        ("exceptions.FailedSanityCheckException", "Requested row out of range", Kind.MOVED, StoreUnavailableError),
        ("exceptions.FailedSanityCheckException", "Insane", Kind.REJECTED, WriteRejectedError),
        (
            "exceptions.FailedSanityCheckException",
            "Timestamp for KV out of range r/cf:q/2/Put/vlen=1/seqid=0 (too.new=1000)",
            Kind.TOO_NEW,
            TimestampRefusedError,
        ),
        ("regionserver.NoSuchColumnFamilyException", "Column family", Kind.NO_FAMILY, UnknownFamilyError),
        ("RegionTooBusyException", "Over memstore limit", Kind.BUSY, StoreBusyError),
        ("quotas.RpcThrottlingException", "wait 5sec", Kind.BUSY, StoreBusyError),
        ("DoNotRetryIOException", "Cell[x] with size 9 exceeds", Kind.TOO_LARGE, WriteRejectedError),
        ("DoNotRetryIOException", "region is read only", Kind.READ_ONLY, StoreRefusedError),
        ("IOException", "region is read only", Kind.READ_ONLY, StoreRefusedError),
        ("IOException", "another problem", Kind.UNAVAILABLE, StoreUnavailableError),
        ("DoNotRetryIOException", "Field is not a long", Kind.REJECTED, WriteRejectedError),
        ("DoNotRetryIOException", "another problem", Kind.UNAVAILABLE, StoreUnavailableError),
        ("TableNotFoundException", "t", Kind.NO_TABLE, NoTableError),
        ("regionserver.InvalidMutationDurabilityException", "SKIP_WAL", Kind.REPLICATED, StoreRefusedError),
        ("quotas.SpaceLimitingException", "NO_WRITES", Kind.QUOTA, StoreRefusedError),
        ("security.AccessDeniedException", "Insufficient permissions", Kind.DENIED, StoreRefusedError),
        ("UnknownScannerException", "id 5", Kind.SCANNER_GONE, StoreUnavailableError),
        ("ipc.UnsupportedCellCodecException", "", Kind.INCOMPATIBLE, StoreRefusedError),
        ("NewException", "region is read only", Kind.UNAVAILABLE, StoreUnavailableError),
        ("NewException", "of a later version", Kind.UNAVAILABLE, StoreUnavailableError),
    ],
)
def test_class_decides(name: str, text: str, kind: Kind, error: type[Exception]) -> None:
    remote = RemoteError(HBASE + name, f"{HBASE}{name}: {text}\n\tat org.apache.hadoop.hbase.Server.run(Server.java:1)")
    assert remote.kind is kind
    found = store_error(remote, "t")
    assert type(found) is error
    assert "Server.java" not in str(found)


@pytest.mark.parametrize(
    ("name", "text", "is_overloaded", "expected"),
    [
        ("DoNotRetryIOException", "another problem", False, True),
        ("DoNotRetryIOException", "another problem", True, False),
        ("DoNotRetryIOException", "region is read only", False, False),
        ("NewException", "of a later version", False, False),
    ],
)
def test_only_an_unknown_refusal_of_hbase_is_unclear(name: str, text: str, is_overloaded: bool, expected: bool) -> None:
    remote = RemoteError(HBASE + name, f"{HBASE}{name}: {text}", is_overloaded=is_overloaded)
    assert remote.is_unclear is expected
    assert isinstance(write_error(remote, "t"), UnclearRefusalError) is expected


def test_bytes_of_a_row_in_the_text_decide_nothing() -> None:
    remote = RemoteError(
        HBASE + "regionserver.NoSuchColumnFamilyException", "row NotServingRegionException, RegionTooBusy"
    )
    assert remote.kind is Kind.NO_FAMILY
    assert store_error(remote, "t").code == "unknown_family"


def test_overloaded_server_is_busy_whatever_the_exception() -> None:
    remote = RemoteError("java.io.IOException", "", is_overloaded=True)
    assert (remote.kind, remote.reason) == (Kind.BUSY, "server_overloaded")
    assert RemoteError(HBASE + "CallDroppedException", "", is_overloaded=True).reason == "CallDroppedException"


def test_region_that_has_moved_is_looked_up_also_if_its_server_is_overloaded() -> None:
    assert RemoteError(HBASE + "NotServingRegionException", "", is_overloaded=True).kind is Kind.MOVED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number of write requests exceeded - wait 5sec, 30ms", 5.03),
        ("write size limit exceeded - wait 120ms", 0.12),
        ("number of requests exceeded - wait 1min, 2sec, 0ms", 62.0),
        ("number of requests exceeded - wait 2hrs, 3mins, 1sec, 500ms", 7381.5),
        ("number of requests exceeded - wait 3.25sec", 3.25),
        ("number of requests exceeded - wait 4mins, 0.50sec", 240.5),
        ("number of requests exceeded", None),
        ("number of requests exceeded - wait for ever", None),
    ],
)
def test_wait_that_a_throttling_server_requests(text: str, expected: float | None) -> None:
    """As HBase writes a time since HBASE-27799, and before."""
    name = HBASE + "quotas.RpcThrottlingException"
    remote = RemoteError(name, f"{name}: {text}\n\tat org.apache.hadoop.hbase.quotas.TimeBasedLimiter.checkQuota")
    assert (remote.wait_s, remote.reason) == (expected, "RpcThrottlingException")


def test_only_a_throttling_server_requests_a_wait() -> None:
    assert RemoteError(HBASE + "RegionTooBusyException", "row= - wait 5sec, 0ms").wait_s is None


def test_busy_error_says_that_the_client_has_waited() -> None:
    error = store_error(RemoteError(HBASE + "RegionTooBusyException", "Over memstore limit"), "t")
    assert isinstance(error, StoreBusyError)
    assert error.has_waited


def test_operation_that_was_not_completed_in_time() -> None:
    assert isinstance(unavailable(None, "t"), StoreUnavailableError)
    assert str(unavailable(ConnectionLostError("no server"), "t")) == "no server"
    found = unavailable(StoreUnavailableError("no KDC answers", code="kdc_unavailable", hint="check it"), "t")
    assert (found.message, found.code, found.hint) == ("no KDC answers", "kdc_unavailable", "check it")
    assert isinstance(found, StoreUnavailableError)
    assert not found.is_starting
    starting = StoreUnavailableError("no master yet")
    starting.is_starting = True
    assert getattr(unavailable(starting, "t"), "is_starting", False)
    assert "not available" in str(unavailable(RemoteError(HBASE + "NotServingRegionException", "r"), "t"))
