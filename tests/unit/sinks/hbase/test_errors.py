"""An exception of HBase means the same, whichever protocol brings it."""

import pytest

from ingest.api import StoreUnavailableError, WriteRejectedError
from sinks.hbase.errors import Kind, error_of_kind
from sinks.hbase.rpc.errors import RemoteError, store_error
from sinks.hbase.thrift.errors import error_of


@pytest.mark.parametrize(
    "exception",
    [
        "NotServingRegionException: r",
        "RegionTooBusyException: r",
        "regionserver.NoSuchColumnFamilyException: Column family f does not exist",
        "exceptions.FailedSanityCheckException: Requested row out of range",
        "exceptions.FailedSanityCheckException: Timestamp out of range",
        "ipc.RequestTooBigException: 300 MiB",
        "DoNotRetryIOException: Cell[x] with size 9 exceeds 8",
        "TableNotFoundException: t",
        "TableNotEnabledException: t",
        "DoNotRetryIOException: region is read only",
        "regionserver.InvalidMutationDurabilityException: Mutation's durability is SKIP_WAL",
        "quotas.SpaceLimitingException: NO_WRITES",
        "security.AccessDeniedException: Insufficient permissions",
        "ipc.UnsupportedCellCodecException: c",
        "NewException: of a later version",
    ],
)
def test_both_clients_raise_the_same_error(exception: str) -> None:
    text = f"org.apache.hadoop.hbase.{exception}"
    direct = store_error(RemoteError(text.partition(":")[0], text), "t")
    through_thrift = error_of(text, "t")
    assert type(direct) is type(through_thrift)
    assert (direct.code, direct.hint) == (through_thrift.code, through_thrift.hint)
    assert direct.message.partition(":")[0] == through_thrift.message.partition(":")[0]


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_an_error_that_names_the_reason_or_the_table(kind: Kind) -> None:
    error = error_of_kind(kind, "events", "r" * 1000)
    assert '"events"' in error.message or "r" * 300 in error.message
    assert len(error.message) < 400
    assert "{table}" not in f"{error.message}{error.hint}"


def test_meaning_of_a_moved_region_and_of_a_missing_family() -> None:
    assert type(error_of_kind(Kind.MOVED, "t")) is StoreUnavailableError
    missing = error_of_kind(Kind.NO_FAMILY, "t", "f")
    assert isinstance(missing, WriteRejectedError)
    assert missing.code == "unknown_family"


@pytest.mark.parametrize(
    ("table", "way"),
    [
        ("events", "run 'attr2hbase table apply' if it is declared under `tables`"),
        (
            "shop:events",
            "`bootstrap_servers`, with which it is created, or type into the hbase shell: create_namespace 'shop'",
        ),
    ],
)
def test_missing_table_of_a_namespace_names_the_way_to_create_it(table, way):
    hint = error_of_kind(Kind.NO_TABLE, table).hint
    assert hint is not None
    assert way in hint
