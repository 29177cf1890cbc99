"""Exceptions of HBase's servers, by class."""

import pytest

from ingest.api import (
    NoTableError,
    StoreBusyError,
    StoreRefusedError,
    StoreUnavailableError,
    WriteRejectedError,
)
from sinks.hbase.errors import Kind
from sinks.hbase.rpc.errors import ConnectionLostError, RemoteError, store_error, unavailable

HBASE = "org.apache.hadoop.hbase."


@pytest.mark.parametrize(
    ("name", "text", "kind", "error"),
    [
        ("NotServingRegionException", "", Kind.MOVED, StoreUnavailableError),
        ("exceptions.RegionMovedException", "Region moved to: hostname=h", Kind.MOVED, StoreUnavailableError),
        ("exceptions.FailedSanityCheckException", "Requested row out of range", Kind.MOVED, StoreUnavailableError),
        ("exceptions.FailedSanityCheckException", "Timestamp out of range", Kind.REJECTED, WriteRejectedError),
        ("regionserver.NoSuchColumnFamilyException", "Column family", Kind.NO_FAMILY, WriteRejectedError),
        ("RegionTooBusyException", "Over memstore limit", Kind.BUSY, StoreBusyError),
        ("quotas.RpcThrottlingException", "wait 5sec", Kind.BUSY, StoreBusyError),
        ("DoNotRetryIOException", "Cell[x] with size 9 exceeds", Kind.TOO_LARGE, WriteRejectedError),
        ("DoNotRetryIOException", "region is read only", Kind.READ_ONLY, StoreRefusedError),
        ("DoNotRetryIOException", "another problem", Kind.UNAVAILABLE, StoreUnavailableError),
        ("TableNotFoundException", "t", Kind.NO_TABLE, NoTableError),
        ("quotas.SpaceLimitingException", "NO_WRITES", Kind.QUOTA, StoreRefusedError),
        ("security.AccessDeniedException", "Insufficient permissions", Kind.DENIED, StoreRefusedError),
        ("UnknownScannerException", "id 5", Kind.SCANNER_GONE, StoreUnavailableError),
        ("ipc.UnsupportedCellCodecException", "", Kind.INCOMPATIBLE, StoreRefusedError),
        ("NewException", "of a later version", Kind.UNAVAILABLE, StoreUnavailableError),
    ],
)
def test_class_decides(name: str, text: str, kind: Kind, error: type[Exception]) -> None:
    remote = RemoteError(HBASE + name, f"{HBASE}{name}: {text}\n\tat org.apache.hadoop.hbase.Server.run(Server.java:1)")
    assert remote.kind is kind
    found = store_error(remote, "t")
    assert type(found) is error
    assert "Server.java" not in str(found)


def test_bytes_of_a_row_in_the_text_decide_nothing() -> None:
    remote = RemoteError(
        HBASE + "regionserver.NoSuchColumnFamilyException", "row NotServingRegionException, RegionTooBusy"
    )
    assert remote.kind is Kind.NO_FAMILY
    assert store_error(remote, "t").code == "unknown_family"


def test_overloaded_server_is_busy_whatever_the_exception() -> None:
    assert RemoteError("java.io.IOException", "", is_overloaded=True).kind is Kind.BUSY


def test_operation_that_was_not_completed_in_time() -> None:
    assert isinstance(unavailable(None, "t"), StoreUnavailableError)
    assert str(unavailable(ConnectionLostError("no server"), "t")) == "no server"
    found = unavailable(StoreUnavailableError("no KDC answers", code="kdc_unavailable", hint="check it"), "t")
    assert (found.message, found.code, found.hint) == ("no KDC answers", "kdc_unavailable", "check it")
    assert "not available" in str(unavailable(RemoteError(HBASE + "NotServingRegionException", "r"), "t"))
