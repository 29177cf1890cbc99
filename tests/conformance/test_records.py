"""Every record that the product stores as JSON: read as it was written, and refused by one error if it is damaged."""

import re
from collections import Counter
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.api import FamilySpec
from ingest.api.schemas import SchemaType
from ingest.durable.lease import Grant
from ingest.durable.record import Record, UnreadableRecordError
from ingest.formats.cell_types import CellType
from ingest.formats.column_types import ColumnTypes
from ingest.kafka.large_batches import LargeBatch
from ingest.registry.cache import CachedSchema
from ingest.service.kafka.positions import ResetNote
from ingest.service.kafka.query_guard import _Findings
from ingest.service.replay.plan import BatchKind, ReplayBatch
from ingest.service.replay.state import ReplayTotals, _Plan
from ingest.service.replay.update_replay import UnfinishedReplay
from sinks.archive.placement import LastCommit
from sinks.archive.rewrites import Announcement
from sinks.blobs.blob_options import BlobCompression
from sinks.blobs.status import BlobState, BlobStatus
from sinks.bootstrap.progress import BootstrapProgress, Stage
from sinks.dumps.checksum import TableChecksum
from sinks.dumps.layout import FileFormat
from sinks.dumps.listing import RunPlan
from sinks.dumps.manifest import DumpedPart, DumpedTable, Manifest, TableFile
from sinks.dumps.pins import Pin
from sinks.feed.change_feed import ChangeFeed, MergeRequest, Shard, SplitRequest
from sinks.feed.leases import GroupRecord, ShardLease
from sinks.owning.committed_position import CommittedPosition, FormerOwners
from sinks.rewriting.counted_letters import CountedLetters, CountedRun
from sinks.rewriting.rolled_back import RolledBack
from sinks.rewriting.unfinished_rollback import UnfinishedRollback
from sinks.rocksdb.tables import TableRecord
from sinks.updates.intervals import Interval
from sinks.updates.withdrawn import Withdrawn

ROOT = Path(__file__).parents[2]
COMMITTED = CommittedPosition(-1, {"t": {"0": 7}}, {"t": "id"})
SHARDS = Shard(1, b"", b"\xff", 5, 9), Shard(2, b"\xff", None, 9, parents=(1,))
EXAMPLES: list[Record] = [
    Announcement("id", "day=1", 3, "re-run of a", 9),
    BlobStatus(BlobState.STORING, 1, 2, 3, BlobCompression.ZSTD, 4, 5, store_id="s", nonce="n"),
    Grant("id", "process 1 on host", 5, 3),
    ResetNote("2026-01-01", recount=False),
    LastCommit("name", 7, ("a/b", "c")),
    ReplayTotals(1, 2, 3, dropped=Counter(filter=2), has_changed=True),
    TableRecord({b"\xff:": FamilySpec(b"\xff:", 3, 60, "lz4", "none"), b"f": FamilySpec(b"f")}, 8),
    UnfinishedReplay(1, 2, [["t", 0, 5, ["sink"]]], "f1"),
    _Findings(5, (LargeBatch("t", 0, 1, 2, 3, 4, "gzip", 5, 6),)),
    _Plan({"from": 1}, "f1", {"t": "id"}, (ReplayBatch(BatchKind.PART, 1, 5, {("t", 0): (3, 5)}),)),
    BootstrapProgress(
        "/dumps", "d", "t", Stage.LOADING, checksum=TableChecksum(1, 2, 2**127), positions={1: None, 2: "token"}
    ),
    Manifest(
        "d",
        "id",
        0,
        1_424_736_000_123,
        FileFormat.ZSTD,
        {
            "t": DumpedTable(
                (TableFile("f", 2, 30, "00ff", b"a\xff", b"b"),),
                True,
                (FamilySpec(b"\xff", ttl_s=6),),
                {"a": "f:a utf8"},
                types=ColumnTypes({b"f:\xff": CellType.INT32}),
            ),
            "empty": DumpedTable(()),
        },
        {"t": {"feed": "s"}},
        "attr2hbase 0",
    ),
    Pin("id", "d", "owner", 1_424_736_000_123),
    RunPlan("id", 5, ("t",), FileFormat.GZIP, {"t": {"last": 1}}),
    DumpedPart("t", 3, None),
    CountedLetters((CountedRun(1, 2, "sink", {("t\udcff", 0): [(3, 5), (7, 8)]}),), (Interval(1, 2),), 0),
    ChangeFeed("id", 5, 60_000, SHARDS, (SplitRequest(2, b"\x00"), MergeRequest((1, 2))), 7),
    ShardLease("p", "worker", 3, "v", (4, 5), 1, "holder", "id"),
    GroupRecord("feed", {1: "SHARD_END", 12: "x"}, is_begun=True, id="id"),
    FormerOwners({"p": COMMITTED}),
    COMMITTED,
    RolledBack((Interval(1, 2), Interval(5, 5))),
    Withdrawn((Interval(1, 2), Interval(5, 5))),
    UnfinishedRollback(Interval(1, 5), (Interval(1, 2), Interval(5, 5))),
    CachedSchema("https://r", 7, SchemaType.AVRO, b'"int"', (b"\xff",)),
]
each_record = pytest.mark.parametrize("record", EXAMPLES, ids=lambda each: type(each).__name__)


def test_each_record_has_an_example() -> None:
    files = [*ROOT.glob("ingest/**/*.py"), *ROOT.glob("sinks/**/*.py")]
    declared = [name for path in files for name in re.findall(r"\nclass (\w+)\(\s*Record\b", path.read_text())]
    assert sorted(declared) == sorted(type(each).__name__ for each in EXAMPLES)


@each_record
def test_record_is_read_as_it_was_written(record: Record) -> None:
    content = record.to_bytes()
    assert type(record).of(content, "place") == record
    assert type(record).of(record.to_text(), "place").to_bytes() == content


@each_record
def test_content_without_a_number_is_of_0_2_0(record: Record) -> None:
    content = orjson.loads(record.to_bytes())
    del content["format"]
    if isinstance(record, Grant | ResetNote | TableRecord | ShardLease | GroupRecord):
        assert type(record).of(orjson.dumps(content), "place") == record
    else:
        assert refused(record, orjson.dumps(content)).message.endswith("cannot be read: format: Field required")


@each_record
@pytest.mark.parametrize("number", [0, -5, True, False, 1.0, 1.5, "1", [], {}, None])
def test_format_is_a_number_from_1_on(record: Record, number: object) -> None:
    content = {**orjson.loads(record.to_bytes()), "format": number}
    reason = f"its format is {orjson.dumps(number).decode()}, not a number from 1 on"
    assert refused(record, orjson.dumps(content)).message.endswith(f'"place" cannot be read: {reason}')


@each_record
@pytest.mark.parametrize("content", ["[]", "1", "null", '"format"', "true"])
def test_content_that_is_no_object_is_refused(record: Record, content: str) -> None:
    assert refused(record, content.encode()).message.endswith('"place" cannot be read: it is no JSON object')


@each_record
def test_later_format_is_refused_by_its_number(record: Record) -> None:
    content = orjson.loads(record.to_bytes())
    known = content["format"]
    error = refused(record, orjson.dumps({**content, "format": known + 1}))
    assert error.message.endswith(f'"place" cannot be read: it has format {known + 1}, this version reads {known}')
    assert error.hint is not None
    assert error.hint.startswith("use the version that wrote it, or a later one; else ")


@each_record
def test_unknown_field_is_refused(record: Record) -> None:
    assert (
        "unknown_field"
        in refused(record, orjson.dumps({**orjson.loads(record.to_bytes()), "unknown_field": 1})).message
    )


@each_record
def test_each_field_is_required(record: Record) -> None:
    content = orjson.loads(record.to_bytes())
    for name in content.keys() - {"format"}:
        left = orjson.dumps({other: content[other] for other in content if other != name})
        assert refused(record, left).message.endswith(f'"place" cannot be read: {name}: Field required')


@each_record
def test_each_start_of_its_content_is_refused(record: Record) -> None:
    content = record.to_bytes()
    for length in range(len(content.rstrip())):
        refused(record, content[:length])


@each_record
@given(data=st.data())
def test_byte_that_breaks_its_json_is_refused(record: Record, data: st.DataObject) -> None:
    content = record.to_bytes()
    at = data.draw(st.integers(0, len(content.rstrip()) - 1))
    refused(record, content[:at] + b"\x01" + content[at + 1 :])  # JSON has no control character


@each_record
@given(
    content=st.one_of(
        st.binary(),
        st.recursive(
            st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
            lambda each: st.lists(each) | st.dictionaries(st.text(), each),
        ).map(orjson.dumps),
    )
)
def test_other_content_is_refused(record: Record, content: bytes) -> None:
    refused(record, content)


def refused(record: Record, content: bytes) -> UnreadableRecordError:
    with pytest.raises(UnreadableRecordError, match="cannot be read: ") as caught:
        type(record).of(content, "place")
    return caught.value


def test_grant_of_0_2_0_without_a_field_is_refused_by_its_name() -> None:
    with pytest.raises(UnreadableRecordError, match=r'the lease "place" cannot be read: beat: Field required;'):
        Grant.of(b'{"owner": "a", "since_ms": 5}', "place")


def test_note_of_a_reset_by_0_2_0_is_read() -> None:
    assert ResetNote.of(b'{"built_in": "a"}', "place") == ResetNote("a", recount=True)
